/*
 * The journal decides by the live bytes of a segment what to clean. These tests check that the
 * bytes that the queue counts as live are the bytes that the records of its jobs take.
 */
#include "fixture.h"

enum { BODY_MAX = 80, KEY_MAX = 200, STEP = 7 };

static uint64_t bytes_of(const struct log_record *record)
{
    return elapse__frame_bytes(record->record.fields_size, record->record.body_size);
}

QUEUE_TEST(live_bytes_are_those_of_the_records)
{
    char letters[KEY_MAX];
    uint64_t bytes = 0;
    memset(letters, 'x', sizeof letters);
    for (size_t body = 0; body < BODY_MAX; body += STEP) {
        for (size_t key = 1; key < KEY_MAX; key += STEP) {
            struct elapse__queue_put some = job("");
            letters[0] = (char)('a' + body / STEP);
            some.body = (struct elapse__queue_text){letters, body};
            some.key = (struct elapse__queue_text){letters, key};
            assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                             ELAPSE__QUEUE_SCHEDULED);
            bytes += bytes_of(&f->log.records[f->log.count - 1]);
        }
    }
    assert_int_equal(log_live(&f->log), bytes);
    restart(f, 0);
    assert_int_equal(log_live(&f->log), bytes);
}

static void expect_all_to_count(const struct log *log)
{
    for (size_t i = 0; i < log->count; i++)
        assert_int_equal(log->records[i].live, bytes_of(&log->records[i]));
}

QUEUE_TEST(tokens_count_as_what_they_take)
{
    struct elapse__queue_put some = job("body");
    some.token = text("token");
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(f->log.count, 2);
    expect_all_to_count(&f->log);
    restart(f, 0);
    expect_all_to_count(&f->log);
}

/* The queue keeps the size of a record without its body in 6 bits. So long texts are rounded up. */
QUEUE_TEST(long_texts_count_as_a_little_more)
{
    struct elapse__queue_put some = job("body");
    char letters[ELAPSE__QUEUE_KEY_BYTES_MAX];
    memset(letters, 'x', sizeof letters);
    some.tube = (struct elapse__queue_text){letters, ELAPSE__QUEUE_TUBE_BYTES_MAX};
    some.key = (struct elapse__queue_text){letters, ELAPSE__QUEUE_KEY_BYTES_MAX};
    some.tag = (struct elapse__queue_text){letters, ELAPSE__QUEUE_KEY_BYTES_MAX};
    for (unsigned i = 0; i < 130; i++) {
        some.key.size--;
        put(f, some, ELAPSE__QUEUE_SCHEDULED);
        const struct log_record *record = &f->log.records[f->log.count - 1];
        assert_in_range(record->live, bytes_of(record), bytes_of(record) * 8 / 7 + 16);
        assert_int_equal(record->live % 8, 0);
    }
}

QUEUE_TEST(headers_count_as_what_they_take)
{
    char letters[ELAPSE__QUEUE_HEADERS_BYTES_MAX];
    memset(letters, 'h', sizeof letters);
    for (size_t size = 1; size <= sizeof letters; size += 39) {
        struct elapse__queue_put some = job("body");
        some.headers = (struct elapse__queue_text){letters, size};
        put(f, some, ELAPSE__QUEUE_SCHEDULED);
        const struct log_record *record = &f->log.records[f->log.count - 1];
        assert_in_range(record->live, bytes_of(record), bytes_of(record) * 8 / 7 + 16);
    }
    int64_t live = log_live(&f->log);
    restart(f, 0);
    assert_int_equal(log_live(&f->log), live);
}

TEST_MAIN("live")
