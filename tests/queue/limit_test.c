/*
 * Limits: how many jobs of a tube run at a time. A job runs while a worker has it, also after it
 * was cancelled, and across a restart.
 */
#include "fixture.h"

#include "tubes.h"

static void limit(struct fixture *f, const char *tube, uint32_t concurrency)
{
    struct elapse__queue_limits limits = {.concurrency = concurrency};
    assert_ok(elapse__queue_limit(f->queue, f->now, text(tube), &limits).result);
    ok(f);
}

static struct elapse__queue_statistics count(struct fixture *f)
{
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    return statistics;
}

static uint64_t put_one(struct fixture *f)
{
    return put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
}

QUEUE_TEST(no_more_jobs_run_than_the_limit_says)
{
    limit(f, "t", 2);
    for (unsigned i = 0; i < 4; i++)
        put_one(f);
    struct elapse__queue_handed first = take(f);
    take(f);
    nothing_ready(f);
    assert_int_equal(count(f).ready, 2);
    assert_int_equal(count(f).held, 2);
    assert_int_equal(count(f).running, 2);
    assert_int_equal(elapse__queue_ready(f->queue), 0);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&first)).result);
    assert_int_equal(elapse__queue_ready(f->queue), 1);
    take(f);
    nothing_ready(f);
}

QUEUE_TEST(a_reserve_of_many_gets_the_places_that_are_free)
{
    struct elapse__queue_handed handed[4];
    struct elapse__queue_text name = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &name, .tube_count = 1, .count = 4, .begin = true};
    uint32_t taken = 0;
    limit(f, "t", 3);
    for (unsigned i = 0; i < 5; i++)
        put_one(f);
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, handed, &taken).result);
    assert_int_equal(taken, 3);
    assert_true(handed[0].is_limited);
}

QUEUE_TEST(each_end_of_a_lease_frees_its_place)
{
    limit(f, "t", 1);
    for (unsigned i = 0; i < 6; i++)
        put_one(f);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack_in(f->queue, f->now, holder(&handed), 1000000).result);
    handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    handed = take(f);
    assert_ok(elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed)).result);
    handed = take(f);
    nothing_ready(f);
    pass(f, 10000); /* its ttr */
    handed = take(f);
    nothing_ready(f);
    assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, 6, NULL, true, &handed).result,
                     ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(a_cancelled_job_keeps_its_place_until_its_lease_ends)
{
    limit(f, "t", 1);
    struct elapse__queue_put some = keyed("k", ELAPSE__QUEUE_REPLACE);
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    uint64_t second = put(f, some, ELAPSE__QUEUE_REPLACED); /* the key is free at once */
    nothing_ready(f);
    restart(f, 0);
    pass(f, 0);
    assert_int_equal(count(f).running, 1);
    nothing_ready(f);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    restart(f, 0);
    pass(f, 0);
    nothing_ready(f);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(take(f).id, second);
    restart(f, 0); /* the end of the shadow is in the log */
    assert_int_equal(count(f).running, 1);
}

QUEUE_TEST(a_shadow_of_an_earlier_life_ends_with_its_lease)
{
    limit(f, "t", 1);
    uint64_t id = put_one(f);
    put_one(f);
    take(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_RUNNING);
    restart(f, 4000);
    pass(f, 5000);
    nothing_ready(f);
    pass(f, 1000);
    take(f);
}

/* Makes the cron expression of each record one that cannot be read. */
static void break_expressions(struct log *log, const char *expression)
{
    size_t size = strlen(expression);

    for (size_t i = 0; i < log->count; i++) {
        const struct elapse__record *record = &log->records[i].record;
        unsigned char *fields = (unsigned char *)(uintptr_t)record->fields;
        for (size_t at = 0; at + size <= record->fields_size; at++)
            if (memcmp(fields + at, expression, size) == 0)
                fields[at] = 'x';
    }
}

/* A program may not know the zone of a cron expression that the one before it knew. */
QUEUE_TEST(a_cancelled_job_does_not_come_back_when_its_expression_cannot_be_read)
{
    struct elapse__queue_put nightly = job("b");

    limit(f, "t", 1);
    nightly.when = ELAPSE__QUEUE_CRON;
    nightly.cron = text("0-59 * * * *");
    uint64_t id = put(f, nightly, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 120000);
    take(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_RUNNING);
    break_expressions(&f->log, "0-59 * * * *");
    restart(f, 0);
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
    assert_int_equal(count(f).running, 1);
}

QUEUE_TEST(a_limit_is_there_after_a_restart)
{
    limit(f, "t", 1);
    restart(f, 0);
    struct elapse__queue_limits limits;
    assert_ok(elapse__queue_limits_of(f->queue, text("t"), &limits));
    assert_int_equal(limits.concurrency, 1);
    put_one(f);
    put_one(f);
    take(f);
    nothing_ready(f);
    limit(f, "t", 0);
    take(f);
    restart(f, 0);
    assert_ok(elapse__queue_limits_of(f->queue, text("t"), &limits));
    assert_int_equal(limits.concurrency, 0);
    assert_int_equal(elapse__queue_limits_of(f->queue, text("u"), &limits), ELAPSE__QUEUE_GONE);
    limit(f, "u", 0); /* nothing is made that says nothing */
    assert_int_equal(elapse__queue_limits_of(f->queue, text("u"), &limits), ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(below_what_runs_nothing_ends_and_nothing_begins)
{
    for (unsigned i = 0; i < 4; i++)
        put_one(f);
    struct elapse__queue_handed first = take(f);
    struct elapse__queue_handed second = take(f);
    limit(f, "t", 1);
    nothing_ready(f);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&first)).result);
    nothing_ready(f);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&second)).result);
    take(f);
    nothing_ready(f);
    limit(f, "t", 2);
    take(f);
}

QUEUE_TEST(a_limit_holds_for_all_groups_together)
{
    struct elapse__queue_put some = job("b");
    limit(f, "t", 1);
    some.group = text("a");
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    some.group = text("b");
    uint64_t other = put(f, some, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    nothing_ready(f);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(take(f).id, other);
}

/* Whoever waits is told when a place is free and not before. */
QUEUE_TEST(a_free_place_is_news)
{
    struct elapse__queue_watch watch;
    limit(f, "t", 1);
    put_one(f);
    put_one(f);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_watch_begin(f->queue, text("t"), &watch));
    elapse__queue_watch_ask(f->queue, &watch);
    uint64_t readied = elapse__queue_readied(f->queue);
    put_one(f);
    assert_false(elapse__queue_watch_has_news(f->queue));
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    assert_true(elapse__queue_watch_has_news(f->queue));
    assert_true(elapse__queue_readied(f->queue) > readied);
    elapse__queue_watch_end(f->queue, &watch);
}

QUEUE_TEST(limits_are_refused)
{
    struct elapse__queue_limits limits = {.concurrency = 1};
    f->options.partitions = 2;
    restart(f, 0);
    assert_string_equal(elapse__queue_limit(f->queue, f->now, text("t"), &limits).fault,
                        "groups and limits need a queue with one partition, or one made with "
                        "--hash-tags");
    f->options.hash_tags = true;
    restart(f, 0);
    assert_non_null(elapse__queue_limit(f->queue, f->now, text("t"), &limits).fault);
    assert_ok(elapse__queue_limit(f->queue, f->now, text("{eu}"), &limits).result);
    f->options.partitions = 1;
    f->options.old_records = true;
    restart(f, 0);
    assert_string_equal(elapse__queue_limit(f->queue, f->now, text("t"), &limits).fault,
                        "upgrade all nodes first");
    assert_int_equal(elapse__queue_limit(f->queue, f->now, text(""), &limits).result,
                     ELAPSE__QUEUE_ARGUMENT);
}

TEST_MAIN("queue_limit")
