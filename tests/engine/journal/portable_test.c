/*
 * Tests the form that groups have in a replicated log. Each group is read as it was written, and
 * other bytes are not accepted as a group.
 */
#include "../../../src/engine/journal/frame.h"
#include "../../../src/engine/journal/portable.h"
#include "../../support/test.h"

enum { ROOM = 1 << 16 };

static const char *const fields[] = {"f", "", "fields", "0123456789abcdef"};
static const char *const bodies[] = {"", "a body", "b", ""};

static struct elapse__record record_of(unsigned i)
{
    return (struct elapse__record){
        .type = (enum elapse__record_type)(ELAPSE__RECORD_PUT + i),
        .flags = (uint8_t)(i * 3),
        .fields_size = (uint16_t)strlen(fields[i]),
        .body_size = (uint32_t)strlen(bodies[i]),
        .fields = fields[i],
        .body = bodies[i][0] == '\0' ? NULL : bodies[i],
    };
}

/* Makes frames of `count` records. Returns their size. */
static size_t make_frames(unsigned count, uint8_t *frames)
{
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        struct elapse__record record = record_of(i);
        elapse__frame_encode(&record, 4096 + size, 99, frames + size);
        size += (size_t)elapse__frame_bytes(record.fields_size, record.body_size);
    }
    return size;
}

static const struct elapse__portable_facts facts = {
    .tail = UINT64_C(0x1122334455667788), .next_id = 77, .wall_ms = -5};

TEST(test_a_group_is_read_as_it_was_written)
{
    static uint8_t frames[ROOM], bytes[ROOM];
    for (unsigned count = 0; count <= 4; count++) {
        size_t frames_size = make_frames(count, frames);
        size_t size = elapse__portable_encode(&facts, frames, frames_size, bytes);
        struct elapse__portable portable;
        struct elapse__record record;
        assert_true(size <= ELAPSE__PORTABLE_HEADER_BYTES + frames_size);
        assert_true(elapse__portable_open(&portable, bytes, size));
        assert_int_equal(portable.records, count);
        assert_true(portable.frame_bytes >= frames_size);
        assert_int_equal(portable.facts.tail, facts.tail);
        assert_int_equal(portable.facts.next_id, facts.next_id);
        assert_int_equal(portable.facts.wall_ms, facts.wall_ms);
        for (unsigned i = 0; i < count; i++) {
            struct elapse__record expected = record_of(i);
            assert_true(elapse__portable_next(&portable, &record));
            assert_int_equal(record.type, expected.type);
            assert_int_equal(record.flags, expected.flags);
            assert_int_equal(record.fields_size, expected.fields_size);
            assert_memory_equal(record.fields, expected.fields, expected.fields_size);
            assert_int_equal(record.body_size, expected.body_size);
            assert_int_equal(record.body == NULL, expected.body == NULL);
            if (record.body != NULL)
                assert_memory_equal(record.body, expected.body, expected.body_size);
        }
        assert_false(elapse__portable_next(&portable, &record));
    }
}

/* The same records at another position, in another journal, are the same bytes. */
TEST(test_a_place_leaves_no_trace)
{
    static uint8_t frames[ROOM], bytes[ROOM], others[ROOM];
    struct elapse__record record = record_of(2);
    size_t size = (size_t)elapse__frame_bytes(record.fields_size, record.body_size);
    elapse__frame_encode(&record, 4096, 99, frames);
    size_t portable = elapse__portable_encode(&facts, frames, size, bytes);
    elapse__frame_encode(&record, 65536, 7, frames);
    assert_int_equal(elapse__portable_encode(&facts, frames, size, others), portable);
    assert_memory_equal(bytes, others, portable);
}

TEST(test_the_layout)
{
    static uint8_t frames[ROOM], bytes[ROOM];
    static const uint8_t expected[] = {
        1,    0,    0,    0,    1, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33,
        0x22, 0x11, 77,   0,    0, 0, 0, 0, 0,    0,    0xfb, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1,    0,    1,    0,    'f',
    };
    size_t size = elapse__portable_encode(&facts, frames, make_frames(1, frames), bytes);
    assert_int_equal(size, sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
}

TEST(test_a_cut_group_is_refused)
{
    static uint8_t frames[ROOM], bytes[ROOM];
    size_t size = elapse__portable_encode(&facts, frames, make_frames(4, frames), bytes);
    for (size_t cut = 0; cut < size; cut++) {
        struct elapse__portable portable;
        uint8_t *copy = malloc(cut + 1); /* of exactly this size, for the sanitizers */
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        assert_false(elapse__portable_open(&portable, copy, cut));
        free(copy);
    }
}

TEST(test_a_changed_group_is_refused_or_stays_within)
{
    static uint8_t frames[ROOM], bytes[ROOM];
    size_t size = elapse__portable_encode(&facts, frames, make_frames(4, frames), bytes);
    for (size_t at = 0; at < size * 8; at++) {
        struct elapse__portable portable;
        struct elapse__record record;
        bytes[at / 8] ^= (uint8_t)(1U << at % 8);
        if (elapse__portable_open(&portable, bytes, size)) {
            while (elapse__portable_next(&portable, &record)) {
                assert_true(record.type <= ELAPSE__RECORD_LAST &&
                            elapse__record_has_owner(record.type));
                assert_true((const uint8_t *)record.fields + record.fields_size <= bytes + size);
            }
            assert_true(at / 8 >= 8); /* version and count */
        }
        bytes[at / 8] ^= (uint8_t)(1U << at % 8);
    }
}

TEST_MAIN("portable")
