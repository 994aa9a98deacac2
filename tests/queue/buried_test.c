/*
 * The end of dead letters: limits of a tube drop buried jobs beyond a number, or after a time.
 */
#include "ended.h"
#include "fixture.h"
#include "tubes.h"

enum { DAY_MS = 86400000 };

static void limit(struct fixture *f, uint32_t count, uint64_t age_ms)
{
    struct elapse__queue_limits limits = {.buried = count, .buried_age_ms = age_ms};
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    ok(f);
}

static uint64_t bury(struct fixture *f, struct elapse__queue_put some)
{
    uint64_t id = put(f, some, ELAPSE__QUEUE_SCHEDULED);
    pass(f, some.period_ms);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.id, id);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    ok(f);
    return id;
}

static uint64_t bury_one(struct fixture *f)
{
    return bury(f, job("b"));
}

static struct elapse__queue_statistics count(struct fixture *f)
{
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    return statistics;
}

QUEUE_TEST(without_a_limit_nothing_is_dropped)
{
    uint64_t id = bury_one(f);
    pass(f, 10 * (uint64_t)DAY_MS);
    assert_true(exists(f, id));
    assert_int_equal(elapse__queue_statistics(f->queue).buried_dropped, 0);
}

QUEUE_TEST(the_oldest_beyond_the_number_are_dropped)
{
    limit(f, 2, 0);
    uint64_t first = bury_one(f);
    uint64_t second = bury_one(f);
    pass(f, DAY_MS);
    assert_true(exists(f, first));
    uint64_t third = bury_one(f);
    pass(f, 0);
    assert_false(exists(f, first));
    assert_true(exists(f, second) && exists(f, third));
    assert_int_equal(count(f).buried_dropped, 1);
    assert_int_equal(count(f).buried, 2);
    restart(f, 0); /* the end is in the log */
    assert_false(exists(f, first));
    struct elapse__queue_limits limits;
    assert_ok(elapse__queue_limits_of(f->queue, text("t"), &limits));
    assert_int_equal(limits.buried, 2);
    ok(f);
}

QUEUE_TEST(a_job_is_dropped_at_its_age_and_not_before)
{
    uint64_t first = bury_one(f);
    pass(f, 1000);
    uint64_t second = bury_one(f);
    limit(f, 0, DAY_MS); /* the first was buried before */
    pass(f, DAY_MS - 1001);
    assert_true(exists(f, first));
    pass(f, 1);
    assert_false(exists(f, first));
    pass(f, 999);
    assert_true(exists(f, second));
    pass(f, 1);
    assert_false(exists(f, second));
    assert_int_equal(count(f).buried_dropped, 2);
}

QUEUE_TEST(the_age_goes_on_across_restarts_and_cleaning)
{
    limit(f, 0, DAY_MS);
    uint64_t id = bury_one(f);
    pass(f, DAY_MS / 4);
    restart(f, DAY_MS / 4);
    pass(f, 0);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    ok(f);
    restart(f, DAY_MS / 4);
    pass(f, DAY_MS / 4 - 10);
    assert_true(exists(f, id));
    pass(f, 20); /* a restart rounds */
    assert_false(exists(f, id));
}

/* Cleaning writes the record of the older job behind that of the younger one. */
QUEUE_TEST(the_order_of_burying_outlasts_cleaning)
{
    uint64_t first = bury_one(f);
    size_t records = f->log.count;
    pass(f, 5);
    uint64_t second = bury_one(f);
    pass(f, 5);
    assert_true(log_clean(&f->log, f->queue, f->now, records));
    restart(f, 0);
    limit(f, 1, 0);
    pass(f, 0);
    assert_false(exists(f, first));
    assert_true(exists(f, second));
}

QUEUE_TEST(a_kick_takes_a_job_out)
{
    limit(f, 1, DAY_MS);
    uint64_t first = bury_one(f);
    assert_ok(elapse__queue_kick_id(f->queue, f->now, first).result);
    ok(f);
    pass(f, DAY_MS);
    assert_true(exists(f, first));
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    pass(f, DAY_MS - 1); /* from the second burying on */
    assert_true(exists(f, first));
    pass(f, 1);
    assert_false(exists(f, first));
}

QUEUE_TEST(many_are_dropped_in_slices)
{
    enum { JOBS = 2 * ELAPSE__QUEUE_TURN_MAX + 10 };
    for (unsigned i = 0; i < JOBS; i++) {
        put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
        struct elapse__queue_handed handed = take(f);
        assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    }
    limit(f, 1, 0);
    struct elapse__queue_put later = job("b");
    later.delay_ms = 1;
    put(f, later, ELAPSE__QUEUE_SCHEDULED);
    f->now.boot_ms++;
    f->now.wall_ms++;
    struct elapse__queue_turned turned = elapse__queue_turn(f->queue, f->now);
    assert_int_equal(turned.dropped, ELAPSE__QUEUE_TURN_MAX);
    assert_int_equal(turned.ready, 1); /* what is due does not wait for them */
    ok(f);
    struct elapse__queue_due due = elapse__queue_next_due(f->queue);
    assert_int_equal(due.boot_ms, f->now.boot_ms + 1);
    pass(f, 1);
    assert_int_equal(count(f).buried, JOBS - 2 * ELAPSE__QUEUE_TURN_MAX);
    pass(f, 1);
    assert_int_equal(count(f).buried, 1);
    assert_int_equal(count(f).buried_dropped, JOBS - 1);
}

QUEUE_TEST(a_full_disk_drops_nothing_until_there_is_room)
{
    limit(f, 1, 0);
    uint64_t first = bury_one(f);
    bury_one(f);
    f->log.refusals = 1;
    pass(f, 0);
    assert_int_equal(f->log.refusals, 0);
    assert_true(exists(f, first));
    assert_int_equal(count(f).buried_dropped, 0);
    pass(f, 999);
    assert_true(exists(f, first));
    pass(f, 1);
    assert_false(exists(f, first));
}

/* It would never run again. */
QUEUE_TEST(a_job_that_recurs_is_no_dead_letter)
{
    struct elapse__queue_put every = job("b");
    every.when = ELAPSE__QUEUE_EVERY;
    every.period_ms = 1000;
    limit(f, 1, DAY_MS);
    uint64_t recurs = bury(f, every);
    uint64_t first = bury_one(f);
    pass(f, 0);
    assert_true(exists(f, first)); /* one alone counts */
    uint64_t second = bury_one(f);
    pass(f, 0);
    assert_false(exists(f, first));
    assert_true(exists(f, recurs) && exists(f, second));
    pass(f, 2 * (uint64_t)DAY_MS);
    ok(f);
    assert_false(exists(f, second));
    assert_int_equal(state_of(f, recurs), ELAPSE__QUEUE_BURIED);
    restart(f, 2 * (int64_t)DAY_MS);
    pass(f, 0);
    assert_int_equal(state_of(f, recurs), ELAPSE__QUEUE_BURIED);
}

/* Programs of before did not write when a job was buried. */
QUEUE_TEST(without_its_time_a_job_counts_from_the_start)
{
    f->options.old_records = true;
    restart(f, 0);
    pass(f, 0);
    uint64_t id = bury_one(f);
    f->options.old_records = false;
    restart(f, 5 * (int64_t)DAY_MS);
    limit(f, 0, DAY_MS);
    pass(f, DAY_MS - 1);
    assert_true(exists(f, id));
    pass(f, 1);
    assert_false(exists(f, id));
}

QUEUE_TEST(without_its_time_a_job_is_older_than_those_that_have_one)
{
    f->options.old_records = true;
    restart(f, 0);
    pass(f, 0);
    uint64_t first = bury_one(f);
    f->options.old_records = false;
    restart(f, 0);
    pass(f, 10);
    uint64_t second = bury_one(f);
    restart(f, DAY_MS / 2);
    limit(f, 2, DAY_MS);
    uint64_t third = bury_one(f);
    pass(f, 0);
    assert_false(exists(f, first));
    assert_true(exists(f, third));
    pass(f, DAY_MS / 2 - 10);
    assert_true(exists(f, second));
    pass(f, 20);
    assert_false(exists(f, second));
    assert_true(exists(f, third));
}

static enum elapse__queue_outcome outcome;
static unsigned told;

static void note(void *context, const struct elapse__queue_ended *ended)
{
    assert_null(context);
    outcome = ended->outcome;
    told++;
}

QUEUE_TEST(what_is_dropped_is_told)
{
    told = 0;
    elapse__queue_on_end(f->queue, note, NULL);
    limit(f, 1, 0);
    bury_one(f);
    bury_one(f);
    pass(f, 0);
    assert_int_equal(told, 1);
    assert_int_equal(outcome, ELAPSE__OUTCOME_DROPPED);
}

TEST_MAIN("buried")
