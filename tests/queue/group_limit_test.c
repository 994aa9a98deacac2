/*
 * The limit of each group: how many jobs of one group run at a time.
 */
#include "fixture.h"

#include "tubes.h"

static void limit(struct fixture *f, uint32_t concurrency, uint32_t group_concurrency)
{
    struct elapse__queue_limits limits = {
        .concurrency = concurrency,
        .group_concurrency = group_concurrency,
    };
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    ok(f);
}

static struct elapse__queue_statistics count(struct fixture *f)
{
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    return statistics;
}

static uint64_t put_in(struct fixture *f, const char *group)
{
    struct elapse__queue_put some = job("b");
    some.group = text(group);
    return put(f, some, ELAPSE__QUEUE_SCHEDULED);
}

/* Takes a job, and expects that it is this one. */
static struct elapse__queue_handed expect(struct fixture *f, uint64_t id)
{
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.id, id);
    return handed;
}

static void acknowledge(struct fixture *f, const struct elapse__queue_handed *handed)
{
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(handed)).result);
    ok(f);
}

/* Ready jobs that no reserve would hand out are not the next one. */
QUEUE_TEST(peek_shows_no_job_while_the_limit_holds_all_back)
{
    struct elapse__queue_view view;
    limit(f, 0, 1);
    uint64_t a[] = {put_in(f, "a"), put_in(f, "a")};
    struct elapse__queue_handed first = expect(f, a[0]);
    for (unsigned with_another = 0; with_another < 2; with_another++) {
        if (with_another == 1) {
            uint64_t alone = put_in(f, "");
            assert_ok(elapse__queue_peek_ready(f->queue, f->now, text("t"), &view));
            assert_int_equal(view.id, alone);
            expect(f, alone);
        }
        assert_int_equal(count(f).ready, 1);
        assert_int_equal(elapse__queue_peek_ready(f->queue, f->now, text("t"), &view),
                         ELAPSE__QUEUE_GONE);
        nothing_ready(f);
    }
    acknowledge(f, &first);
    assert_ok(elapse__queue_peek_ready(f->queue, f->now, text("t"), &view));
    assert_int_equal(view.id, a[1]);
}

QUEUE_TEST(no_two_jobs_of_a_group_run_at_once)
{
    uint64_t a[2], b[2], alone[2];
    limit(f, 0, 1);
    for (size_t i = 0; i < 2; i++) {
        a[i] = put_in(f, "a");
        b[i] = put_in(f, "b");
        alone[i] = put_in(f, "");
    }
    struct elapse__queue_handed first = expect(f, a[0]);
    assert_true(first.is_limited); /* a crash must not forget it */
    struct elapse__queue_handed second = expect(f, b[0]);
    expect(f, alone[0]);
    expect(f, alone[1]); /* the limit does not hold for jobs without a group */
    nothing_ready(f);
    assert_int_equal(count(f).held, 2);
    assert_int_equal(count(f).running, 4);
    assert_int_equal(elapse__queue_ready(f->queue), 0);
    acknowledge(f, &second);
    assert_int_equal(elapse__queue_ready(f->queue), 1);
    expect(f, b[1]);
    nothing_ready(f);
    acknowledge(f, &first);
    expect(f, a[1]);
}

QUEUE_TEST(held_counts_what_neither_limit_lets_run)
{
    limit(f, 3, 2);
    for (unsigned i = 0; i < 5; i++)
        put_in(f, "a");
    assert_int_equal(count(f).held, 3);
    for (unsigned i = 0; i < 2; i++)
        put_in(f, "b");
    assert_int_equal(count(f).held, 4); /* 3 places for 2 of a and 2 of b */
    limit(f, 0, 2);
    assert_int_equal(count(f).held, 3);
    take(f);
    take(f);
    assert_int_equal(count(f).held, 3);
    assert_int_equal(elapse__queue_ready(f->queue), 2);
}

QUEUE_TEST(each_end_of_a_lease_lets_its_group_run)
{
    limit(f, 0, 1);
    for (unsigned i = 0; i < 6; i++)
        put_in(f, "a");
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack_in(f->queue, f->now, holder(&handed), 1000000).result);
    handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    handed = take(f);
    assert_ok(elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed)).result);
    take(f);
    nothing_ready(f);
    pass(f, 10000); /* its ttr */
    handed = take(f);
    nothing_ready(f);
    assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, 6, NULL, true, &handed).result,
                     ELAPSE__QUEUE_GONE);
    uint64_t other = put_in(f, "b");
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, other, NULL, true, &handed).result);
    put_in(f, "b");
    nothing_ready(f); /* a job that was taken by its id has a place, too */
}

QUEUE_TEST(a_cancelled_job_keeps_the_place_of_its_group)
{
    struct elapse__queue_put some = keyed("k", ELAPSE__QUEUE_REPLACE);
    some.group = text("a");
    limit(f, 0, 1);
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    uint64_t second = put(f, some, ELAPSE__QUEUE_REPLACED);
    uint64_t other = put_in(f, "b");
    expect(f, other);
    nothing_ready(f);
    restart(f, 0);
    pass(f, 0);
    assert_int_equal(count(f).running, 2);
    nothing_ready(f);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    restart(f, 0);
    pass(f, 0);
    nothing_ready(f);
    acknowledge(f, &handed);
    expect(f, second);
    restart(f, 0); /* the end of the shadow is in the log */
    assert_int_equal(count(f).running, 2);
}

/* A hand-out of the life before has the place of its group. */
QUEUE_TEST(a_limit_of_groups_is_there_after_a_restart)
{
    struct elapse__queue_limits limits;
    limit(f, 0, 1);
    put_in(f, "a");
    put_in(f, "a");
    struct elapse__queue_handed handed = take(f);
    restart(f, 0);
    pass(f, 0);
    assert_ok(elapse__queue_limits_of(f->queue, text("t"), &limits));
    assert_int_equal(limits.group_concurrency, 1);
    nothing_ready(f);
    acknowledge(f, &handed);
    take(f);
    limit(f, 0, 0);
    restart(f, 0);
    assert_ok(elapse__queue_limits_of(f->queue, text("t"), &limits));
    assert_int_equal(limits.group_concurrency, 0);
}

QUEUE_TEST(a_new_limit_holds_for_the_groups_that_are_there)
{
    struct elapse__queue_handed handed[3];
    for (unsigned i = 0; i < 8; i++)
        put_in(f, "a");
    for (unsigned i = 0; i < 3; i++)
        handed[i] = take(f);
    limit(f, 0, 2); /* lower than what runs: nothing ends, nothing begins */
    nothing_ready(f);
    acknowledge(f, &handed[0]);
    nothing_ready(f);
    acknowledge(f, &handed[1]);
    take(f);
    nothing_ready(f);
    limit(f, 0, 3);
    take(f);
    nothing_ready(f);
    limit(f, 0, 1);
    nothing_ready(f);
    limit(f, 0, 0);
    take(f);
    take(f);
    assert_int_equal(count(f).held, 0);
}

QUEUE_TEST(a_blocked_group_keeps_its_turn)
{
    struct elapse__queue_handed handed[2];
    uint64_t a[3], b[3];
    limit(f, 0, 1);
    for (size_t i = 0; i < 3; i++) {
        a[i] = put_in(f, "a");
        b[i] = put_in(f, "b");
    }
    handed[0] = expect(f, a[0]);
    handed[1] = expect(f, b[0]);
    acknowledge(f, &handed[1]); /* b is free first, and a has waited for longer */
    acknowledge(f, &handed[0]);
    expect(f, a[1]);
    expect(f, b[1]);
    nothing_ready(f);
}

QUEUE_TEST(a_kick_and_an_undo_pass_no_limit_and_keep_turns)
{
    uint64_t a[3];
    limit(f, 0, 1);
    for (size_t i = 0; i < 3; i++)
        a[i] = put_in(f, "a");
    struct elapse__queue_handed handed = expect(f, a[0]);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    handed = expect(f, a[1]);
    uint64_t b = put_in(f, "b");
    assert_ok(elapse__queue_kick_id(f->queue, f->now, a[0]).result);
    assert_int_equal(state_of(f, a[0]), ELAPSE__QUEUE_READY);
    /* The turn of "a" was drawn with its hand-out, before "b" came. */
    assert_ok(elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed)).result);
    ok(f);
    expect(f, a[0]);
    expect(f, b);
    nothing_ready(f);
}

/* Whoever waits is told when the group may run and not before. */
QUEUE_TEST(a_group_that_may_run_is_news)
{
    struct elapse__queue_watch watch;
    limit(f, 0, 1);
    uint64_t first = put_in(f, "a");
    struct elapse__queue_handed handed = expect(f, first);
    assert_ok(elapse__queue_watch_begin(f->queue, text("t"), &watch));
    elapse__queue_watch_ask(f->queue, &watch);
    put_in(f, "a");
    assert_false(elapse__queue_watch_has_news(f->queue));
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, first).result,
                     ELAPSE__QUEUE_RUNNING);
    assert_false(elapse__queue_watch_has_news(f->queue));
    uint64_t readied = elapse__queue_readied(f->queue);
    acknowledge(f, &handed);
    assert_true(elapse__queue_watch_has_news(f->queue));
    assert_true(elapse__queue_readied(f->queue) > readied);
    take(f);
    assert_ptr_equal(elapse__queue_watch_next(f->queue), &watch);
    elapse__queue_watch_ask(f->queue, &watch);
    put_in(f, "a");
    assert_false(elapse__queue_watch_has_news(f->queue));
    limit(f, 0, 2);
    assert_true(elapse__queue_watch_has_news(f->queue));
    elapse__queue_watch_end(f->queue, &watch);
}

/* ---- very many groups ---- */

enum { MANY = 100000, FEW = 3000 };

/* Puts two jobs of each of many groups, and takes one of each. */
static void put_many(struct fixture *f, uint32_t groups)
{
    struct elapse__queue_put some = job("b");
    struct elapse__queue_text name = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &name, .tube_count = 1, .count = 1, .begin = true};
    f->options.groups_max = groups;
    restart(f, 0);
    for (uint32_t i = 0; i < 2 * groups; i++) {
        uint32_t group = i % groups;
        some.group = (struct elapse__queue_text){&group, sizeof group};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    for (uint32_t i = 0; i < groups; i++) {
        struct elapse__queue_handed handed;
        uint32_t taken = 0;
        assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &taken).result);
        assert_int_equal(taken, 1);
    }
}

/* Gives the groups a limit, and returns after how many turns all have it. Until then nothing is
 * handed out, and the queue asks for the next turn. */
static uint32_t turns_of_limit(struct fixture *f, uint32_t group_concurrency)
{
    struct elapse__queue_limits limits = {.group_concurrency = group_concurrency};
    struct elapse__queue_text name = text("t");
    struct elapse__queue_reserve reserve = {.tubes = &name, .tube_count = 1, .count = 1};
    struct elapse__queue_watch watch;
    uint32_t turns = 0;
    bool more = true;
    assert_ok(elapse__queue_limit(f->queue, f->now, name, &limits).result);
    assert_int_equal(elapse__queue_check(f->queue), 0);
    assert_ok(elapse__queue_watch_begin(f->queue, name, &watch));
    elapse__queue_watch_ask(f->queue, &watch);
    while (more) {
        assert_true(elapse__queue_next_due(f->queue).boot_ms <= f->now.boot_ms);
        assert_false(elapse__queue_has_ready(f->queue, &reserve));
        assert_false(elapse__queue_watch_has_news(f->queue));
        assert_int_equal(count(f).held, MANY);
        more = elapse__queue_turn(f->queue, f->now).more;
        turns++;
    }
    assert_true(elapse__queue_next_due(f->queue).boot_ms > f->now.boot_ms);
    assert_int_equal(elapse__queue_watch_has_news(f->queue),
                     elapse__queue_has_ready(f->queue, &reserve));
    elapse__queue_watch_end(f->queue, &watch);
    assert_int_equal(elapse__queue_check(f->queue), 0);
    return turns;
}

/* The command and each turn look at no more than 1,000 places of groups and tubes. */
QUEUE_TEST(very_many_groups_get_a_limit_in_slices)
{
    put_many(f, MANY);
    assert_in_range(turns_of_limit(f, 1), MANY / 1000 - 1, MANY / 1000 + 1);
    assert_int_equal(count(f).held, MANY);
    assert_in_range(turns_of_limit(f, 2), MANY / 1000 - 1, MANY / 1000 + 1);
    assert_int_equal(count(f).held, 0);
    assert_in_range(turns_of_limit(f, 1), MANY / 1000 - 1, MANY / 1000 + 1);
    assert_in_range(turns_of_limit(f, 0), MANY / 1000 - 1, MANY / 1000 + 1);
    assert_int_equal(count(f).held, 0);
}

/* While groups are moved, another limit begins anew, and jobs come, run and go. */
QUEUE_TEST(a_limit_may_change_while_groups_are_moved)
{
    struct elapse__queue_limits limits = {.group_concurrency = 1};
    struct elapse__queue_handed handed;
    put_many(f, FEW);
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    (void)elapse__queue_turn(f->queue, f->now);
    limits.group_concurrency = 3;
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    (void)elapse__queue_turn(f->queue, f->now);
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, id, NULL, true, &handed).result);
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, 2 * FEW, NULL, true, &handed).result);
    acknowledge(f, &handed);
    limits.group_concurrency = 0;
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    pass(f, 0);
    assert_int_equal(count(f).held, 0);
    take(f);
}

/* Tubes share one pass over the table, which each of them joins where the pass is. */
QUEUE_TEST(a_tube_may_join_the_pass_anywhere)
{
    struct elapse__queue_put other = job("b");
    struct elapse__queue_limits limits = {.group_concurrency = 1};
    struct elapse__queue_text name = text("u");
    struct elapse__queue_statistics statistics;
    other.tube = name;
    other.group = text("first"); /* the pass is behind its place when the tube joins */
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    other.tube = text("t");
    for (uint32_t i = 0; i < FEW; i++) {
        other.group = (struct elapse__queue_text){&i, sizeof i};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &other).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    (void)elapse__queue_turn(f->queue, f->now);
    assert_ok(elapse__queue_limit(f->queue, f->now, name, &limits).result);
    for (bool more = true; more;) {
        more = elapse__queue_turn(f->queue, f->now).more;
        assert_int_equal(elapse__queue_check(f->queue), 0);
    }
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, name, &statistics));
    assert_int_equal(statistics.held, 1);
}

/* All jobs go while groups are moved. */
QUEUE_TEST(a_tube_may_empty_while_groups_are_moved)
{
    struct elapse__queue_put some = job("b");
    struct elapse__queue_limits limits = {.group_concurrency = 1};
    for (uint32_t i = 0; i < FEW; i++) {
        some.group = (struct elapse__queue_text){&i, sizeof i};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    limits.group_concurrency = 0;
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    for (uint32_t id = 1; id <= FEW; id++)
        assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result,
                         ELAPSE__QUEUE_REMOVED);
    assert_int_equal(count(f).groups, 0);
    ok(f);
    pass(f, 0);
    assert_int_equal(elapse__queue_tube_statistics(f->queue, f->now, text("t"),
                                                   &(struct elapse__queue_statistics){0}),
                     ELAPSE__QUEUE_GONE);
}

TEST_MAIN("queue_group_limit")
