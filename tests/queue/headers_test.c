/*
 * Headers lie behind the body in the record of a job. Nothing that counts bodies counts them.
 */
#include "fixture.h"

#include "fields.h"

enum {
    SECOND = 8 + 2,    /* the second word of parts, behind the id and the first one */
    EARLIER_ERROR = 2, /* a bit of it */
};

static struct elapse__queue_put with_headers(const char *body, const char *headers)
{
    struct elapse__queue_put put = job(body);
    put.headers = text(headers);
    return put;
}

/* Expects body and headers in the record of a job. */
static void expect_record(struct fixture *f, uint64_t id, const char *body, const char *headers)
{
    struct elapse__queue_view view = look(f, id);
    struct elapse__queue_fields fields;
    size_t place = 0;
    while (place < f->log.count && f->log.records[place].position != view.position)
        place++;
    assert_true(place < f->log.count);
    const struct log_record *found = &f->log.records[place];
    assert_true(elapse__queue_fields_decode(&fields, &found->record));
    struct elapse__queue_text got = elapse__queue_body_of(&found->record, &fields);
    assert_int_equal(got.size, strlen(body));
    assert_memory_equal(got.bytes, body, got.size);
    got = elapse__queue_headers_of(&found->record, &fields);
    assert_int_equal(got.size, strlen(headers));
    assert_memory_equal(got.bytes, headers, got.size);
}

QUEUE_TEST(sizes_and_statistics_count_the_body_alone)
{
    struct elapse__queue_statistics statistics;
    uint64_t id = put(f, with_headers("body", "{\"a\":\"b\"}"), ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(look(f, id).body_size, 4);
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    assert_int_equal(statistics.body_bytes, 4);
    assert_int_equal(take(f).body_size, 4);
    restart(f, 0);
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    assert_int_equal(statistics.body_bytes, 4);
    expect_record(f, id, "body", "{\"a\":\"b\"}");
}

QUEUE_TEST(a_copy_of_cleaning_has_the_headers)
{
    uint64_t id = put(f, with_headers("body", "some headers"), ELAPSE__QUEUE_SCHEDULED);
    uint64_t empty = put(f, with_headers("", "alone"), ELAPSE__QUEUE_SCHEDULED);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    expect_record(f, id, "body", "some headers");
    expect_record(f, empty, "", "alone");
    restart(f, 0);
    expect_record(f, id, "body", "some headers");
}

QUEUE_TEST(a_damaged_body_is_copied_without_headers)
{
    uint64_t id = put(f, with_headers("body", "some headers"), ELAPSE__QUEUE_SCHEDULED);
    struct log_record damaged = f->log.records[0];
    damaged.record.body = NULL;
    assert_ok(elapse__queue_clean(f->queue, f->now, damaged.position, &damaged.record));
    f->log.tail = 1;
    expect_record(f, id, "", "");
    assert_true(log_clean(&f->log, f->queue, f->now, 1));
    restart(f, 0);
    assert_int_equal(look(f, id).body_size, 0);
}

QUEUE_TEST(debounce_has_the_new_headers)
{
    struct elapse__queue_put put_one = with_headers("one", "first");
    put_one.key = text("k");
    put_one.if_key = ELAPSE__QUEUE_DEBOUNCE;
    put_one.delay_ms = 1000;
    put_one.debounce_max_ms = 5000;
    uint64_t id = put(f, put_one, ELAPSE__QUEUE_SCHEDULED);
    put_one.body = text("two");
    put_one.headers = text("");
    put(f, put_one, ELAPSE__QUEUE_REPLACED);
    expect_record(f, id, "two", "");
}

QUEUE_TEST(headers_have_at_most_4096_bytes)
{
    char letters[ELAPSE__QUEUE_HEADERS_BYTES_MAX + 1];
    struct elapse__queue_put some = job("body");
    memset(letters, 'h', sizeof letters);
    some.headers = (struct elapse__queue_text){letters, sizeof letters};
    assert_string_equal(elapse__queue_put(f->queue, f->now, &some).fault,
                        "headers have at most 4096 bytes");
    some.headers.size--;
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
}

/* In a cluster in which a program of 0.2 may be, none is written that it would refuse. */
QUEUE_TEST(a_log_of_old_records_takes_no_headers)
{
    struct elapse__queue_put some = with_headers("body", "headers");
    f->options.old_records = true;
    restart(f, 0);
    assert_string_equal(elapse__queue_put(f->queue, f->now, &some).fault,
                        "upgrade all nodes first");
    assert_int_equal(f->log.count, 0);
    some.headers.size = 0;
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
}

/* What this program does not know is damage: to leave it out would change the job. */
QUEUE_TEST(unknown_bits_are_refused)
{
    uint64_t id = put(f, with_headers("body", "headers"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_fields fields;
    unsigned char bytes[ELAPSE__QUEUE_FIELDS_MAX];
    struct elapse__record record = f->log.records[0].record;
    assert_int_equal(id, 1);
    memcpy(bytes, record.fields, record.fields_size);
    record.fields = bytes;
    assert_true(elapse__queue_fields_decode(&fields, &record));
    for (unsigned bit = 0; bit < 16; bit++) {
        if (bit == EARLIER_ERROR)
            continue;
        bytes[SECOND + bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_false(elapse__queue_fields_decode(&fields, &record));
        bytes[SECOND + bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (unsigned bit = 1; bit < 8; bit++) {
        record.flags = (uint8_t)(1 << bit);
        assert_false(elapse__queue_fields_decode(&fields, &record));
    }
    record.flags = 0;
    record.body_size = 6; /* shorter than the headers */
    assert_false(elapse__queue_fields_decode(&fields, &record));
}

TEST_MAIN("queue_headers")
