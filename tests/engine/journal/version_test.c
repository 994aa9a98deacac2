/*
 * Tests segments of an older version of the format, and records that this program does not know.
 */
#include <errno.h>
#include <xxhash.h>

#include "../../../src/base/little_endian.h"
#include "../../../src/engine/journal/examine.h"
#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum { SEGMENT_BITS = 14, SEGMENT = 1 << SEGMENT_BITS, BODY = 900, JOBS = 3 };

static struct owner owner;
static struct elapse__journal_refusal refusal;

static bool open_journal(void)
{
    return owner_open(&owner, &sim_disk_files, SEGMENT_BITS, 0, &refusal);
}

static void work(void)
{
    while (elapse__journal_work(owner.journal))
        continue;
    owner_acknowledge(&owner);
}

static void close_journal(void)
{
    elapse__journal_free(owner.journal);
    sim_disk_end_process();
}

/* Makes a journal with some jobs, whose process is killed. */
static void make_journal(void)
{
    sim_disk_begin(1);
    owner_begin(&owner);
    assert_true(open_journal());
    work();
    for (unsigned i = 0; i < JOBS; i++)
        assert_int_equal(owner_put_durably(&owner, BODY), 0);
    close_journal();
}

static uint8_t *segment_bytes(unsigned number)
{
    char name[ELAPSE__FILE_NAME_BYTES];
    size_t size;
    (void)snprintf(name, sizeof name, "%u.log", number);
    return sim_disk_content("data/journal", name, &size);
}

static uint32_t version_of(unsigned number)
{
    return (uint32_t)elapse__little_endian_load(segment_bytes(number) + 8, 4);
}

/* Gives the first segment the version that a program of 0.2.0 wrote. */
static void make_old(void)
{
    struct elapse__segment_header header;
    uint32_t version;
    uint8_t *bytes = segment_bytes(1);
    assert_int_equal(elapse__segment_header_decode(bytes, &header, &version), ELAPSE__HEADER_WHOLE);
    elapse__little_endian_store(bytes + 8, 1, 4);
    elapse__little_endian_store(bytes + 64, XXH3_64bits(bytes, 64), 8);
}

/* Gives the last PUT of the first segment a type that this program does not know, as a later one
 * would have written it. Returns where that lies. */
static uint64_t make_unknown(uint8_t type)
{
    uint8_t *bytes = segment_bytes(1);
    struct elapse__segment_header header;
    uint32_t version;
    assert_int_equal(elapse__segment_header_decode(bytes, &header, &version), ELAPSE__HEADER_WHOLE);
    uint64_t offset = ELAPSE__SEGMENT_HEADER_BYTES, last = 0;
    struct elapse__frame frame;
    for (; elapse__frame_decode(bytes + offset, &frame); offset += frame.bytes)
        last = frame.type == ELAPSE__RECORD_PUT ? offset : last;
    assert_int_not_equal(last, 0);
    uint64_t position = UINT64_C(1) << SEGMENT_BITS | last;
    assert_true(elapse__frame_decode(bytes + last, &frame));
    bytes[last + 22] = type;
    elapse__little_endian_store(
        bytes + last,
        XXH3_64bits_withSeed(bytes + last + 8, (size_t)16 + frame.fields_size,
                             elapse__identity_seed(&header.identity) + position),
        8);
    return last;
}

/* An older program must not cut what it does not know: a later one has acknowledged it. */
TEST(a_whole_record_of_an_unknown_type_is_damage_and_no_torn_end)
{
    const uint8_t types[] = {0, 11, 200};
    for (size_t i = 0; i < sizeof types; i++) {
        make_journal();
        (void)make_unknown(types[i]);
        assert_false(open_journal());
        assert_int_equal(refusal.fault, ELAPSE__FAULT_RECORD);
        assert_string_equal(refusal.file, "1.log");
        sim_disk_end();
    }
}

TEST(a_record_of_an_unknown_type_that_is_torn_is_cut)
{
    make_journal();
    uint64_t offset = make_unknown(200);
    segment_bytes(1)[offset]++;
    assert_true(open_journal());
    close_journal();
    sim_disk_end();
}

TEST(segments_have_the_next_version)
{
    make_journal();
    assert_int_equal(version_of(1), 3);
    sim_disk_end();
}

TEST(a_journal_of_an_older_version_goes_on_in_a_segment_of_this_one)
{
    make_journal();
    make_old();
    assert_true(open_journal());
    assert_int_equal(owner.live_count, JOBS);
    work();
    assert_int_equal(owner_put_durably(&owner, BODY), 0);
    assert_int_equal(version_of(2), 3);
    close_journal();
    assert_true(open_journal());
    assert_int_equal(owner.live_count, JOBS + 1);
    assert_null(owner_read_all(&owner));
    close_journal();
    sim_disk_end();
}

static void collect_spare(void *context, const char *name)
{
    char(*spare)[ELAPSE__FILE_NAME_BYTES] = context;
    if (strncmp(name, "spare-", strlen("spare-")) == 0)
        (void)snprintf(*spare, sizeof *spare, "%s", name);
}

static void remove_spares(void)
{
    for (;;) {
        char name[ELAPSE__FILE_NAME_BYTES] = "";
        sim_disk_names("data/journal", collect_spare, &name);
        if (name[0] == '\0')
            return;
        assert_true(sim_disk_remove("data/journal", name));
    }
}

/* Without a spare the new life goes on in the old segment. Growth and settings, which may have what
 * an older program does not know, wait until there is a spare. */
TEST(an_old_segment_takes_no_growth)
{
    make_journal();
    make_old();
    remove_spares();
    assert_true(open_journal());
    assert_int_equal(owner_put(&owner, BODY, ELAPSE__RECORD_FOR_GROWTH), EAGAIN);
    assert_int_equal(owner_put(&owner, BODY, ELAPSE__RECORD_FOR_SETTING), EAGAIN);
    assert_int_equal(owner_delete(&owner, 1), 0);
    work();
    assert_null(segment_bytes(2));
    assert_int_equal(owner_put_durably(&owner, BODY), 0);
    assert_int_equal(version_of(2), 3);
    close_journal();
    sim_disk_end();
}

/* As soon as there is a spare, everything goes to a segment of this version. */
TEST(an_old_segment_is_left_as_soon_as_there_is_a_spare)
{
    make_journal();
    make_old();
    remove_spares();
    assert_true(open_journal());
    work();
    assert_int_equal(owner_delete(&owner, 1), 0);
    work();
    assert_int_equal(version_of(2), 3);
    close_journal();
    sim_disk_end();
}

TEST_MAIN("journal_version")
