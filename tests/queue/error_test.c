/*
 * What a worker says when it fails lies on the disk, in a record of its own that is live by itself.
 */
#include "fixture.h"

#include <errno.h>

#include "fields.h"
#include "transact.h"
#include "tubes.h"

static const struct log_record *record_of(struct fixture *f, uint64_t position)
{
    for (size_t i = f->log.tail; i < f->log.count; i++)
        if (f->log.records[i].position == position)
            return &f->log.records[i];
    fail_msg("there is no record at %llu", (unsigned long long)position);
    return NULL;
}

/* Expects this error of a job; NULL: none. Returns when it was told. */
static int64_t expect_error(struct fixture *f, uint64_t id, const char *error)
{
    struct elapse__queue_told told = look(f, id).told;
    struct elapse__queue_fields fields;
    ok(f);
    assert_false(told.lease_ended);
    if (error == NULL) {
        assert_int_equal(told.position, 0);
        return 0;
    }
    assert_int_not_equal(told.position, 0);
    const struct log_record *found = record_of(f, told.position);
    assert_true(elapse__queue_fields_decode(&fields, &found->record));
    assert_int_equal(fields.id, id);
    assert_int_equal(found->record.body_size, strlen(error));
    assert_memory_equal(found->record.body, error, strlen(error));
    return fields.error_ms;
}

static struct elapse__queue_holder says(const struct elapse__queue_handed *handed,
                                        const char *error)
{
    struct elapse__queue_holder held = holder(handed);
    held.error = text(error);
    return held;
}

/* Returns the live bytes of all CHANGEs. */
static int64_t live_errors(const struct log *log)
{
    int64_t live = 0;
    for (size_t i = 0; i < log->count; i++)
        if (log->records[i].record.type == ELAPSE__RECORD_CHANGE)
            live += log->records[i].live;
    return live;
}

/* Expects that the job has the error of a lease that ended by itself, and no text on the disk. */
static void expect_lease_ended(struct fixture *f, uint64_t id)
{
    struct elapse__queue_told told = look(f, id).told;
    ok(f);
    assert_true(told.lease_ended);
    assert_int_equal(told.position, 0);
    assert_int_equal(live_errors(&f->log), 0);
}

static void nack(struct fixture *f, const char *error)
{
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack(f->queue, f->now, says(&handed, error)).result);
    ok(f);
}

static void clean_all(struct fixture *f)
{
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count - f->log.tail));
    ok(f);
}

QUEUE_TEST(the_last_error_stays_with_its_time)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    expect_error(f, id, NULL);
    nack(f, "first");
    pass(f, 1000);
    nack(f, "second");
    int64_t told_ms = f->now.wall_ms;
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_CHANGE), 2);
    pass(f, 1000);
    nack(f, "");
    assert_int_equal(expect_error(f, id, "second"), told_ms);
    for (unsigned i = 0; i < 3; i++) {
        restart(f, 1000);
        assert_int_equal(expect_error(f, id, "second"), told_ms);
        clean_all(f);
        assert_int_equal(expect_error(f, id, "second"), told_ms);
    }
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(expect_error(f, id, "second"), told_ms);
    restart(f, 0);
    clean_all(f);
    assert_int_equal(expect_error(f, id, "second"), told_ms);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(live_errors(&f->log), 0);
}

QUEUE_TEST(each_way_to_fail_takes_an_error)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    struct elapse__queue_holder held = says(&handed, "soon again");
    assert_ok(elapse__queue_nack_in(f->queue, f->now, held, 50).result);
    expect_error(f, id, "soon again");
    pass(f, 50);
    handed = take(f);
    held = says(&handed, "later");
    assert_ok(elapse__queue_nack_after(f->queue, f->now, held, 70).result);
    expect_error(f, id, "later");
    pass(f, 70);
    handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, says(&handed, "never"), NULL).result);
    expect_error(f, id, "never");
    assert_string_equal(look(f, id).reason, "a worker buried it");
    restart(f, 0);
    expect_error(f, id, "never");
}

QUEUE_TEST(an_error_outlives_the_record_of_its_job)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    /* The PUT goes, and its copy lies behind the error. */
    assert_true(log_clean(&f->log, f->queue, f->now, 1));
    assert_true(look(f, id).position > look(f, id).told.position);
    restart(f, 0);
    expect_error(f, id, "text");
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_REMOVED);
    restart(f, 0);
    assert_int_equal(live_errors(&f->log), 0);
}

QUEUE_TEST(an_error_whose_job_ended_is_no_error_of_a_replay)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    (void)elapse__queue_cancel_id(f->queue, f->now, id);
    /* What is left of the job in the log is its error and its end; then its error alone. */
    assert_true(log_clean(&f->log, f->queue, f->now, 1));
    restart(f, 0);
    assert_int_equal(live_errors(&f->log), 0);
    f->log.count--;
    restart(f, 0);
    assert_int_equal(live_errors(&f->log), 0);
    f->log.count++;
}

QUEUE_TEST(a_lease_that_ends_by_itself_says_so)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    take(f);
    pass(f, 10000);
    expect_lease_ended(f, id);
    restart(f, 0);
    expect_lease_ended(f, id);
    clean_all(f);
    restart(f, 0);
    expect_lease_ended(f, id);
}

QUEUE_TEST(a_failure_without_an_error_keeps_that_a_lease_ended)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    take(f);
    pass(f, 10000);
    nack(f, "");
    expect_lease_ended(f, id);
    for (unsigned i = 0; i < 3; i++) {
        restart(f, 1000);
        expect_lease_ended(f, id);
        clean_all(f);
        expect_lease_ended(f, id);
    }
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack_in(f->queue, f->now, holder(&handed), 50).result);
    expect_lease_ended(f, id);
    pass(f, 50);
    handed = take(f);
    f->log.refusals = 1;
    assert_ok(elapse__queue_nack(f->queue, f->now, says(&handed, "lost")).result);
    expect_lease_ended(f, id);
    restart(f, 1000);
    handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    expect_lease_ended(f, id);
    restart(f, 0);
    expect_lease_ended(f, id);
    assert_ok(elapse__queue_kick_id(f->queue, f->now, id).result);
    expect_error(f, id, NULL);
    nack(f, "again");
    expect_error(f, id, "again");
}

QUEUE_TEST(a_new_beginning_has_no_error)
{
    struct elapse__queue_put put_it = keyed("k", ELAPSE__QUEUE_DEBOUNCE);
    uint64_t id = put(f, put_it, ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    assert_int_equal(put(f, put_it, ELAPSE__QUEUE_REPLACED), id);
    expect_error(f, id, NULL);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, says(&handed, "text"), NULL).result);
    assert_ok(elapse__queue_kick_id(f->queue, f->now, id).result);
    expect_error(f, id, NULL);
    nack(f, "text");
    put_it = keyed("k", ELAPSE__QUEUE_REPLACE);
    id = put(f, put_it, ELAPSE__QUEUE_REPLACED);
    expect_error(f, id, NULL);
    assert_int_equal(live_errors(&f->log), 0);
}

QUEUE_TEST(the_next_occurrence_has_no_error)
{
    struct elapse__queue_put put_it = job("b");
    put_it.when = ELAPSE__QUEUE_EVERY;
    put_it.period_ms = 60000;
    put_it.retry = 2;
    uint64_t id = put(f, put_it, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 60000);
    nack(f, "once");
    expect_error(f, id, "once");
    nack(f, "twice");
    expect_error(f, id, NULL);
    assert_int_equal(look(f, id).failures, 1);
    assert_int_equal(live_errors(&f->log), 0);
    restart(f, 0);
    expect_error(f, id, NULL);
}

QUEUE_TEST(a_shadow_has_no_error)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_RUNNING);
    assert_int_equal(live_errors(&f->log), 0);
    assert_int_equal(elapse__queue_nack(f->queue, f->now, says(&handed, "text")).result,
                     ELAPSE__QUEUE_CANCELLED);
    assert_int_equal(live_errors(&f->log), 0);
}

QUEUE_TEST(a_full_disk_drops_the_error_and_takes_the_failure)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_GROWTH);
    struct elapse__queue_handed handed = take(f);
    f->log.refusals = 1;
    assert_ok(elapse__queue_nack(f->queue, f->now, says(&handed, "lost")).result);
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_RELIEF);
    expect_error(f, id, "text");
    assert_int_equal(look(f, id).attempts, 2);
    nack(f, "");
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_RELIEF);
    handed = take(f);
    f->log.refusals = 2;
    assert_int_equal(elapse__queue_nack(f->queue, f->now, says(&handed, "lost")).result,
                     ELAPSE__QUEUE_REFUSED);
    ok(f);
}

QUEUE_TEST(a_journal_that_is_busy_is_asked_again)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    f->log.refusals = 1;
    f->log.refusal = EAGAIN;
    assert_int_equal(elapse__queue_nack(f->queue, f->now, says(&handed, "text")).result,
                     ELAPSE__QUEUE_REFUSED);
    ok(f);
    assert_ok(elapse__queue_nack(f->queue, f->now, says(&handed, "text")).result);
    expect_error(f, handed.id, "text");
}

QUEUE_TEST(a_long_error_is_cut_at_the_end_of_a_character)
{
    char letters[ELAPSE__QUEUE_ERROR_BYTES_MAX + 6];
    for (unsigned wide = 0; wide < 5; wide++) {
        uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
        memset(letters, 'x', sizeof letters);
        letters[sizeof letters - 1] = '\0';
        /* A character of 4 bytes that ends `wide` bytes behind the limit. */
        char *place = letters + ELAPSE__QUEUE_ERROR_BYTES_MAX - 4 + wide;
        memcpy(place, "\xF0\x9F\x98\x80", 4);
        nack(f, letters);
        letters[wide == 0 ? ELAPSE__QUEUE_ERROR_BYTES_MAX
                          : ELAPSE__QUEUE_ERROR_BYTES_MAX - 4 + wide] = '\0';
        expect_error(f, id, letters);
        assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result,
                         ELAPSE__QUEUE_REMOVED);
    }
}

QUEUE_TEST(an_error_that_is_no_text_is_kept_as_it_is)
{
    char bytes[ELAPSE__QUEUE_ERROR_BYTES_MAX + 10];
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    memset(bytes, '\x80', sizeof bytes);
    struct elapse__queue_handed handed = take(f);
    struct elapse__queue_holder held = holder(&handed);
    held.error = (struct elapse__queue_text){bytes, sizeof bytes};
    assert_ok(elapse__queue_nack(f->queue, f->now, held).result);
    assert_in_range(record_of(f, look(f, id).told.position)->record.body_size,
                    ELAPSE__QUEUE_ERROR_BYTES_MAX - 3, ELAPSE__QUEUE_ERROR_BYTES_MAX);
}

QUEUE_TEST(an_old_log_gets_no_errors)
{
    f->options.old_records = true;
    restart(f, 0);
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    expect_error(f, id, NULL);
    take(f);
    pass(f, 10000);
    assert_false(look(f, id).told.lease_ended);
    restart(f, 0);
    assert_false(look(f, id).told.lease_ended);
}

QUEUE_TEST(errors_count_as_what_they_take)
{
    char letters[ELAPSE__QUEUE_ERROR_BYTES_MAX + 1] = "";
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    for (size_t size = 1; size <= ELAPSE__QUEUE_ERROR_BYTES_MAX; size += 93) {
        memset(letters, 'e', size);
        letters[size] = '\0';
        nack(f, letters);
        const struct elapse__record *record = &record_of(f, look(f, id).told.position)->record;
        int64_t bytes = (int64_t)elapse__frame_bytes(record->fields_size, record->body_size);
        assert_int_equal(live_errors(&f->log), bytes);
        restart(f, 0);
        assert_int_equal(live_errors(&f->log), bytes);
    }
}

QUEUE_TEST(a_damaged_error_is_dropped_by_cleaning)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    struct log_record *told = (void *)(uintptr_t)record_of(f, look(f, id).told.position);
    struct elapse__record damaged = told->record;
    damaged.body = NULL;
    assert_ok(elapse__queue_clean(f->queue, f->now, told->position, &damaged));
    assert_int_equal(look(f, id).told.position, 0);
    assert_int_equal(live_errors(&f->log), 0);
    nack(f, "again");
}

/* ---- in a transaction ---- */

static struct elapse__queue_change
fails(enum elapse__queue_verb verb, const struct elapse__queue_handed *handed, const char *error)
{
    struct elapse__queue_change change = {.verb = verb};
    change.held.holder = says(handed, error);
    return change;
}

static enum elapse__queue_result
transact(struct fixture *f, const struct elapse__queue_change *changes, uint32_t count)
{
    struct elapse__queue_answer answers[3];
    enum elapse__queue_result result =
        elapse__queue_transact(f->queue, f->now, changes, count, answers).result;
    ok(f);
    for (uint32_t i = 0; i < count && result == ELAPSE__QUEUE_OK; i++)
        assert_true(answers[i].result <= ELAPSE__QUEUE_SCHEDULED);
    return result;
}

QUEUE_TEST(a_transaction_keeps_the_errors_of_its_jobs)
{
    char letters[ELAPSE__QUEUE_ERROR_BYTES_MAX + 100];
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    uint64_t other = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f), second = take(f);
    memset(letters, 'x', sizeof letters);
    letters[sizeof letters - 1] = '\0';
    const struct elapse__queue_change changes[] = {fails(ELAPSE__QUEUE_NACK_IN, &handed, letters),
                                                   fails(ELAPSE__QUEUE_BURY, &second, "b")};
    unsigned groups = f->log.groups;
    assert_ok(transact(f, changes, 2));
    assert_int_equal(f->log.groups, groups + 1);
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_GROWTH);
    letters[ELAPSE__QUEUE_ERROR_BYTES_MAX] = '\0';
    for (unsigned i = 0; i < 2; i++) {
        expect_error(f, id, letters);
        expect_error(f, other, "b");
        restart(f, 0);
        clean_all(f);
    }
}

QUEUE_TEST(a_full_disk_drops_the_errors_of_a_transaction)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    const struct elapse__queue_change changes[] = {fails(ELAPSE__QUEUE_NACK, &handed, "lost"),
                                                   {.verb = ELAPSE__QUEUE_PUT, .put = job("b")}};
    f->log.refusals = 1;
    assert_int_equal(transact(f, changes, 2), ELAPSE__QUEUE_REFUSED);
    f->log.refusals = 1;
    assert_ok(transact(f, changes, 1));
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_RELIEF);
    expect_error(f, id, NULL);
    assert_int_equal(look(f, id).attempts, 1);
}

QUEUE_TEST(a_busy_journal_refuses_a_transaction_with_an_error)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    const struct elapse__queue_change change = fails(ELAPSE__QUEUE_NACK, &handed, "text");
    f->log.refusals = 1;
    f->log.refusal = EAGAIN;
    assert_int_equal(transact(f, &change, 1), ELAPSE__QUEUE_REFUSED);
    assert_ok(transact(f, &change, 1));
    expect_error(f, handed.id, "text");
}

/* A job whose tube has a limit leaves a record of its lease when it is cancelled. */
QUEUE_TEST(a_cancelled_job_that_keeps_its_place_has_no_error)
{
    const struct elapse__queue_limits limits = {.concurrency = 1};
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    nack(f, "text");
    take(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_RUNNING);
    for (unsigned i = 0; i < 2; i++) {
        ok(f);
        assert_int_equal(look(f, id).told.position, 0);
        restart(f, 0);
        clean_all(f);
    }
}

TEST_MAIN("error")
