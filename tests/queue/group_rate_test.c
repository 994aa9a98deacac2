/*
 * The rate of each group: how many jobs of one group are handed out in a time.
 */
#include "fixture.h"

#include "inner.h"
#include "tubes.h"

static void limit(struct fixture *f, const struct elapse__queue_limits *limits)
{
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), limits).result);
    ok(f);
}

static void rate(struct fixture *f, uint64_t count, uint64_t period_ms, uint64_t burst)
{
    limit(f, &(struct elapse__queue_limits){.group_rate = {count, period_ms, burst}});
}

static struct elapse__queue_statistics count(struct fixture *f)
{
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    return statistics;
}

/* Without the checks of put(), which replay the whole log. */
static void put_in(struct fixture *f, const char *group, unsigned jobs)
{
    struct elapse__queue_put some = job("b");
    some.group = text(group);
    for (unsigned i = 0; i < jobs; i++)
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
}

/* Takes all that may be handed out now, and returns how many. */
static unsigned take_all(struct fixture *f)
{
    struct elapse__queue_text name = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &name, .tube_count = 1, .count = 1000, .begin = true};
    static struct elapse__queue_handed handed[1000];
    uint32_t taken = 0;
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, handed, &taken).result);
    for (uint32_t i = 0; i < taken; i++)
        assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed[i])).result);
    return taken;
}

static uint32_t groups_listed(struct fixture *f)
{
    struct elapse__queue_group_view view;
    uint32_t cursor = 0, most = UINT32_MAX, listed = 0;
    while (elapse__queue_groups(f->queue, f->now, text("t"), &cursor, &most, &view))
        listed++;
    return listed;
}

QUEUE_TEST(each_group_has_a_bucket_of_its_own)
{
    rate(f, 1, 1000, 3);
    put_in(f, "a", 10);
    put_in(f, "b", 2);
    put_in(f, "", 5); /* the rate does not hold for jobs without a group */
    assert_int_equal(count(f).held, 7);
    assert_int_equal(elapse__queue_ready(f->queue), 10);
    assert_int_equal(take_all(f), 3 + 2 + 5);
    ok(f);
    assert_int_equal(count(f).held, 7);
    assert_int_equal(elapse__queue_ready(f->queue), 0);
    put_in(f, "b", 2);
    assert_int_equal(count(f).held, 8); /* b has one token left */
    assert_int_equal(take_all(f), 1);
    pass(f, 999);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 2);
    pass(f, 5000); /* no more than the burst is saved */
    put_in(f, "b", 9);
    assert_int_equal(take_all(f), 6);
    ok(f);
}

QUEUE_TEST(a_rate_of_each_group_is_exact_where_the_period_is_no_multiple)
{
    rate(f, 7, 1000, 1);
    put_in(f, "a", 800);
    unsigned taken = 0;
    for (unsigned ms = 0; ms < 100000; ms++) {
        taken += take_all(f);
        f->now.boot_ms++;
        f->now.wall_ms++;
        while (elapse__queue_turn(f->queue, f->now).more)
            ;
    }
    assert_int_equal(taken, 700);
}

QUEUE_TEST(a_blocked_group_keeps_its_turn_and_lets_others_pass)
{
    rate(f, 1, 1000, 1);
    put_in(f, "a", 3); /* 1 to 3 */
    put_in(f, "b", 1); /* 4 */
    assert_int_equal(take(f).id, 1);
    put_in(f, "c", 2); /* 5, 6: its turn comes behind that of a */
    assert_int_equal(take(f).id, 4);
    assert_int_equal(take(f).id, 5);
    nothing_ready(f);
    pass(f, 1000);
    assert_int_equal(take(f).id, 2);
    assert_int_equal(take(f).id, 6);
    nothing_ready(f);
}

QUEUE_TEST(a_token_of_a_group_is_news)
{
    struct elapse__queue_watch watch;
    assert_ok(elapse__queue_watch_begin(f->queue, text("t"), &watch));
    rate(f, 1, 100, 2);
    put_in(f, "a", 4);
    assert_int_equal(take_all(f), 2);
    elapse__queue_watch_ask(f->queue, &watch);
    assert_false(elapse__queue_watch_has_news(f->queue));
    uint64_t readied = elapse__queue_readied(f->queue);
    assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, f->now.boot_ms + 100);
    pass(f, 100);
    assert_true(elapse__queue_watch_has_news(f->queue));
    assert_int_equal(elapse__queue_readied(f->queue), readied + 1);
    assert_ptr_equal(elapse__queue_watch_next(f->queue), &watch);
    pass(f, 100); /* the bucket is full, and nothing turns for it any more */
    assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, UINT64_MAX);
    assert_int_equal(take_all(f), 2);
    elapse__queue_watch_end(f->queue, &watch);
}

QUEUE_TEST(a_group_without_jobs_is_forgotten_when_its_bucket_is_full)
{
    rate(f, 1, 1000, 2);
    put_in(f, "a", 3);
    assert_int_equal(take_all(f), 2);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, 3).result, ELAPSE__QUEUE_REMOVED);
    ok(f);
    /* Nobody sees the group, which has no jobs; but its bucket is there. */
    assert_int_equal(count(f).groups, 0);
    assert_int_equal(groups_listed(f), 0);
    pass(f, 1000);
    put_in(f, "a", 3);
    assert_int_equal(count(f).groups, 1);
    assert_int_equal(groups_listed(f), 1);
    assert_int_equal(take_all(f), 1);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, 5).result, ELAPSE__QUEUE_REMOVED);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, 6).result, ELAPSE__QUEUE_REMOVED);
    assert_true(f->queue->buckets.count == 1 && f->queue->group_index.count == 1);
    pass(f, 2000);
    assert_true(f->queue->buckets.count == 0 && f->queue->group_index.count == 0);
}

/* A group that is there for its bucket alone counts as one of --max-groups. */
QUEUE_TEST(groups_that_are_remembered_count)
{
    struct elapse__queue_put some = job("b");
    f->queue->options.groups_max = 1;
    rate(f, 1, 1000, 1);
    put_in(f, "a", 1);
    assert_int_equal(take_all(f), 1);
    some.group = text("b");
    assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result, ELAPSE__QUEUE_GROUPS_FULL);
    put_in(f, "a", 1);
    pass(f, 1000);
    assert_int_equal(take_all(f), 1);
    pass(f, 1000);
    put_in(f, "b", 1);
}

QUEUE_TEST(a_reserve_by_id_takes_a_token_of_its_group)
{
    struct elapse__queue_handed handed;
    rate(f, 1, 100, 1);
    put_in(f, "a", 2);
    put_in(f, "b", 1);
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, 2, NULL, true, &handed).result);
    assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, 1, NULL, true, &handed).result,
                     ELAPSE__QUEUE_GONE);
    assert_int_equal(take_all(f), 1);
    pass(f, 100);
    assert_int_equal(take_all(f), 1);
    ok(f);
}

QUEUE_TEST(an_undo_gives_no_token_of_the_group_back)
{
    rate(f, 1, 100, 1);
    put_in(f, "a", 1);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(take_all(f), 0);
    pass(f, 100);
    assert_int_equal(take_all(f), 1);
}

QUEUE_TEST(after_each_start_the_buckets_of_a_fast_rate_are_empty)
{
    rate(f, 1, 10000, 3);
    put_in(f, "a", 10);
    for (unsigned i = 0; i < 2; i++) {
        if (i == 1)
            elapse__queue_stop(f->queue, f->now);
        restart(f, 0);
        put_in(f, "new", 5);
        put_in(f, "", 1);
        assert_int_equal(count(f).held, count(f).ready - 1);
        assert_int_equal(take_all(f), 1);
        pass(f, 9999);
        assert_int_equal(take_all(f), 0);
        pass(f, 1);
        assert_int_equal(take_all(f), 2);
        pass(f, 10000);
        assert_int_equal(take_all(f), 2);
    }
}

QUEUE_TEST(a_slow_rate_of_each_group_is_kept_across_a_crash)
{
    rate(f, 1, 3600000, 1);
    put_in(f, "a", 3);
    put_in(f, "b", 1);
    struct elapse__queue_handed handed = take(f);
    assert_true(handed.is_limited); /* the reply waits for its own record */
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(take_all(f), 1); /* that of b, which has no job any more */
    unsigned taken = 0;
    for (unsigned minute = 0; minute < 59; minute++) {
        restart(f, 60000);
        ok(f);
        if (minute % 2 == 0)
            assert_true(log_clean(&f->log, f->queue, f->now, 6));
        if (minute % 10 == 0) {
            put_in(f, "b", 1);
            put_in(f, "", 1);
        }
        pass(f, 0);
        taken += take_all(f);
    }
    assert_int_equal(taken, 6); /* those without a group */
    restart(f, 60000);
    assert_int_equal(take_all(f), 2);
    assert_int_equal(f->queue->buckets.count, 2);
    restart(f, 3600000);
    assert_int_equal(f->queue->buckets.count, 0);
    pass(f, 0);
    assert_int_equal(take_all(f), 2);
}

/* The TUBE of a group counts as live until its bucket is full, and no longer. */
/* Returns the live bytes of the records of tubes and groups. */
static int64_t live_tubes(const struct fixture *f)
{
    int64_t live = 0;
    for (size_t i = 0; i < f->log.count; i++)
        if (f->log.records[i].record.type == ELAPSE__RECORD_TUBE)
            live += f->log.records[i].live;
    return live;
}

QUEUE_TEST(the_record_of_a_bucket_is_live_while_it_is_needed)
{
    rate(f, 1, 60000, 1);
    int64_t live = live_tubes(f), with_one = 0;
    put_in(f, "a", 2);
    assert_int_equal(take_all(f), 1);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, 2).result, ELAPSE__QUEUE_REMOVED);
    with_one = live_tubes(f);
    assert_true(with_one > live);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    assert_int_equal(live_tubes(f), with_one);
    pass(f, 60000);
    assert_int_equal(live_tubes(f), live);
    put_in(f, "a", 1);
    assert_int_equal(take_all(f), 1);
    assert_int_equal(live_tubes(f), with_one);
    limit(f, &(struct elapse__queue_limits){0});
    assert_int_equal(live_tubes(f), 0);
    assert_int_equal(elapse__queue_tube_statistics(f->queue, f->now, text("t"),
                                                   &(struct elapse__queue_statistics){0}),
                     ELAPSE__QUEUE_GONE);
    restart(f, 0);
    assert_int_equal(elapse__queue_tube_count(f->queue), 0);
    assert_int_equal(f->queue->group_index.count, 0);
}

QUEUE_TEST(a_rate_that_was_taken_away_forgets_its_buckets)
{
    rate(f, 1, 3600000, 1);
    put_in(f, "a", 2);
    assert_int_equal(take_all(f), 1);
    limit(f, &(struct elapse__queue_limits){.concurrency = 5});
    assert_int_equal(f->queue->buckets.count, 0);
    rate(f, 1, 3600000, 1);
    restart(f, 0);
    pass(f, 0);
    assert_int_equal(take_all(f), 1);
}

enum { HOUR_MS = 3600000 };
static const uint64_t month_ms = (uint64_t)30 * 24 * HOUR_MS;

/* The first rate's bucket is in the log, and would hold its group back for a month. */
QUEUE_TEST(a_bucket_from_before_a_fast_rate_does_not_come_back)
{
    for (unsigned i = 0; i < 3; i++) {
        rate(f, 1, month_ms, 1);
        put_in(f, "a", 2);
        assert_int_equal(take_all(f), 1);
        int64_t with_bucket = live_tubes(f);
        if (i == 0)
            rate(f, 1, 1000, 1);
        else
            limit(f, &(struct elapse__queue_limits){0});
        assert_true(live_tubes(f) < with_bucket); /* cleaning drops the bucket */
        if (i == 2)
            restart(f, 0);
        rate(f, 1, month_ms, 1);
        restart(f, 1000);
        assert_int_equal(take_all(f), 1);
        restart(f, (int64_t)month_ms);
    }
}

QUEUE_TEST(another_slow_rate_is_kept_as_it_came_to_a_group)
{
    rate(f, 1, month_ms, 1);
    put_in(f, "a", 3);
    assert_int_equal(take_all(f), 1);
    rate(f, 1, HOUR_MS, 1);
    rate(f, 1, month_ms, 1);
    restart(f, HOUR_MS - 1);
    assert_true(log_clean(&f->log, f->queue, f->now, 6));
    restart(f, 0);
    assert_int_equal(take_all(f), 0);
    restart(f, 1);
    assert_int_equal(take_all(f), 1);
    restart(f, (int64_t)month_ms - 1);
    assert_int_equal(take_all(f), 0);
    restart(f, 1);
    assert_int_equal(take_all(f), 1);
}

/* A process ends before another rate has come to all groups: none runs too early. */
QUEUE_TEST(a_crash_while_another_rate_comes_fills_no_bucket)
{
    enum { MANY = 2000 };
    struct elapse__queue_put some = job("b");
    struct elapse__queue_limits limits = {.group_rate = {1, month_ms, 1}};
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    for (uint32_t i = 0; i < 2 * MANY; i++) {
        uint32_t name = i / 2;
        some.group = (struct elapse__queue_text){&name, sizeof name};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    for (unsigned taken = 0; taken < MANY; taken += 1000)
        assert_int_equal(take_all(f), 1000);
    limits.group_rate = (struct elapse__queue_rate){7, 7 * (uint64_t)HOUR_MS, 1};
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    restart(f, HOUR_MS - 1);
    assert_int_equal(take_all(f), 0);
    restart(f, 1);
    assert_in_range(take_all(f), 990, 1000); /* groups that the rate had come to */
    assert_int_equal(take_all(f), 0);
    /* To the others it came after the first start, and the second one changed nothing. */
    restart(f, HOUR_MS - 1);
    assert_int_equal(take_all(f), 1000);
    assert_in_range(take_all(f), 1, 10);
}

/* A job of the group "a" takes its token. Then another rate is set, and comes to as many groups as
 * a command looks at. The group "a" is not among them, and is the first one after a start. */
static void begin_another_rate(struct fixture *f, const struct elapse__queue_limits *another,
                               unsigned jobs)
{
    struct elapse__queue_put other = job("b");
    struct elapse__queue_limits limits = {.group_rate = {1, HOUR_MS, 1}, .group_concurrency = 5};
    rate(f, 1, HOUR_MS, 1);
    put_in(f, "a", jobs);
    assert_int_equal(take_all(f), 1);
    other.delay_ms = 12 * month_ms;
    for (uint32_t name = 0; name < 2100; name++) {
        other.group = (struct elapse__queue_text){&name, sizeof name};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &other).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    size_t records = f->log.count;
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), another).result);
    assert_int_equal(f->log.count, records + 1); /* the settings, and no bucket */
}

/* The old rate's token comes before the next start: the group has what came since, and no more. */
QUEUE_TEST(a_crash_while_another_rate_comes_saves_no_burst)
{
    const uint64_t day_ms = 24 * (uint64_t)HOUR_MS;
    struct elapse__queue_limits limits = {.group_rate = {1, day_ms, 5}};
    begin_another_rate(f, &limits, 20);
    restart(f, 2 * HOUR_MS);
    assert_int_equal(take_all(f), 1); /* of a day, an hour has passed since that token */
    assert_int_equal(take_all(f), 0);
    pass(f, day_ms - HOUR_MS - 1);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 1);
}

/* The token comes after the start, and before the first turn. */
QUEUE_TEST(a_token_between_a_start_and_its_first_turn_saves_no_burst)
{
    struct elapse__queue_limits limits = {.group_rate = {1, 24 * (uint64_t)HOUR_MS, 5}};
    begin_another_rate(f, &limits, 20);
    reopen(f, HOUR_MS - 5);
    pass(f, 10);
    assert_int_equal(take_all(f), 1);
    assert_int_equal(take_all(f), 0);
}

/* The journal takes no records before the queue has told that it is open. */
QUEUE_TEST(a_start_writes_nothing_before_its_first_turn)
{
    struct elapse__queue_limits limits = {.group_rate = {1, 60000, 1}, .group_order = true};
    begin_another_rate(f, &limits, 1);
    size_t records = f->log.count;
    reopen(f, 0); /* no job is behind its time, so nothing holds up the pass */
    assert_int_equal(f->log.count, records);
    pass(f, 0);
    assert_int_equal(f->log.count, records + 1);
    put_in(f, "a", 1);
    assert_int_equal(take_all(f), 0);
    pass(f, 60000);
    assert_int_equal(take_all(f), 1);
}

static void ignore_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    (void)sink;
    (void)position;
    (void)change;
}

/* Replays the log, and returns how many groups there are at its end, before the queue is opened. */
static uint32_t groups_replayed(struct fixture *f)
{
    struct elapse__queue_options options = f->options;
    struct elapse__record_sink sink = f->log.sink;
    sink.live = ignore_live;
    options.sink = &sink;
    struct elapse__queue *queue = elapse__queue_new(&options);
    assert_non_null(queue);
    assert_ok(log_replay(&f->log, queue));
    assert_int_equal(queue->group_index.count, queue->tubes.count - queue->tube_index.count);
    uint32_t groups = queue->group_index.count;
    elapse__queue_free(queue);
    return groups;
}

/* The log has very many groups, of which few were remembered at a time. */
QUEUE_TEST(a_replay_forgets_groups_whose_buckets_are_full)
{
    enum { GROUPS = 5000, AT_A_TIME = 60 };
    struct elapse__queue_put some = job("b");
    rate(f, 1, 60000, 1);
    for (uint32_t i = 0; i < GROUPS; i++) {
        some.group = (struct elapse__queue_text){&i, sizeof i};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
        assert_int_equal(take_all(f), 1);
        f->now.boot_ms += 60000 / AT_A_TIME;
        f->now.wall_ms += 60000 / AT_A_TIME;
        while (elapse__queue_turn(f->queue, f->now).more)
            ;
        assert_true(f->queue->group_index.count <= AT_A_TIME);
    }
    assert_in_range(groups_replayed(f), AT_A_TIME, AT_A_TIME + AT_A_TIME / 3 + 2);
    restart(f, 1);
    assert_in_range(f->queue->group_index.count, AT_A_TIME - 2, AT_A_TIME);
}

QUEUE_TEST(a_replay_forgets_buckets_that_are_void)
{
    for (int i = 0; i < 2; i++) {
        struct elapse__queue_put some = job("b");
        rate(f, 1, month_ms, 1);
        for (uint32_t group = 0; group < 1000; group++) {
            some.group = (struct elapse__queue_text){&group, sizeof group};
            assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                             ELAPSE__QUEUE_SCHEDULED);
        }
        assert_int_equal(take_all(f), 1000);
        assert_true(groups_replayed(f) >= 1000);
        if (i == 0)
            rate(f, 1, 1000, 1);
        else
            limit(f, &(struct elapse__queue_limits){0});
        some.tube = text("u");
        struct elapse__queue_limits limits = {.group_rate = {1, month_ms, 1000}};
        assert_ok(elapse__queue_limit(f->queue, f->now, some.tube, &limits).result);
        some.group = text("a");
        for (unsigned take = 0; take < 300; take++) {
            struct elapse__queue_handed handed;
            uint64_t id = elapse__queue_put(f->queue, f->now, &some).id;
            assert_ok(elapse__queue_reserve_id(f->queue, f->now, id, NULL, true, &handed).result);
            assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
        }
        assert_int_equal(groups_replayed(f), 1);
        restart(f, 0);
        limits.group_rate = (struct elapse__queue_rate){0};
        assert_ok(elapse__queue_limit(f->queue, f->now, some.tube, &limits).result);
        limit(f, &limits);
        assert_int_equal(elapse__queue_tube_count(f->queue), 0);
        assert_true(log_clean(&f->log, f->queue, f->now, f->log.count - f->log.tail));
    }
}

/* Cleaning may copy the settings of a tube behind the buckets of its groups. */
QUEUE_TEST(a_bucket_before_the_settings_of_its_tube_counts)
{
    rate(f, 1, month_ms, 1);
    put_in(f, "a", 9);
    put_in(f, "b", 9);
    for (unsigned i = 0; i < 9; i++) { /* each is passed by the sweep of the others */
        if (i > 0)
            pass(f, month_ms);
        assert_int_equal(take_all(f), 2);
        assert_true(log_clean(&f->log, f->queue, f->now, f->log.count - f->log.tail - 4));
        restart(f, 0);
        assert_int_equal(take_all(f), 0);
    }
}

QUEUE_TEST(a_wall_clock_that_was_set_back_makes_no_wait_of_a_group_longer)
{
    rate(f, 1, 3600000, 1);
    put_in(f, "a", 3);
    assert_int_equal(take_all(f), 1);
    restart(f, -1000 * INT64_C(3600000));
    put_in(f, "a", 1); /* the others are due by the wall clock */
    pass(f, 3600000);
    assert_int_equal(take_all(f), 1);
}

QUEUE_TEST(another_rate_comes_to_each_group)
{
    rate(f, 1, 1000, 2);
    put_in(f, "a", 20);
    put_in(f, "b", 1);
    assert_int_equal(take_all(f), 3);
    put_in(f, "b", 19);
    rate(f, 1, 1000, 2); /* the same again changes nothing */
    assert_int_equal(count(f).held, 36);
    rate(f, 1, 5000, 3); /* b has a token: its bucket is full; that of a comes when it would have */
    assert_int_equal(take_all(f), 3);
    pass(f, 999);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 1);
    rate(f, 1, 100, 1); /* and no later than by the new rate */
    pass(f, 99);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 2);
    limit(f, &(struct elapse__queue_limits){.group_concurrency = 1});
    assert_int_equal(take_all(f), 2);
    assert_int_equal(take_all(f), 2);
    rate(f, 0, 0, 0);
    int running = (int)count(f).running; /* before the last job, with which the tube goes */
    assert_int_equal(take_all(f), 40 - 3 - 3 - 1 - 2 - 4 - running);
}

QUEUE_TEST(another_rate_soon_after_a_start_brings_nothing_forward)
{
    rate(f, 1, 10000, 5);
    restart(f, 0);
    put_in(f, "a", 9);
    rate(f, 1, 20000, 5);
    pass(f, 9999);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 1);
    restart(f, 0);
    put_in(f, "b", 9);
    rate(f, 1, 1000, 5);
    pass(f, 999);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 2);
}

QUEUE_TEST(all_limits_hold_together)
{
    limit(f, &(struct elapse__queue_limits){.concurrency = 3,
                                            .rate = {4, 1000, 4},
                                            .group_concurrency = 1,
                                            .group_rate = {1, 500, 2}});
    put_in(f, "a", 9);
    put_in(f, "b", 9);
    put_in(f, "", 9);
    assert_int_equal(take_all(f), 3); /* one of a, one of b, one without a group */
    assert_int_equal(take_all(f), 1); /* the tube has one token left */
    pass(f, 250);
    assert_int_equal(take_all(f), 1);
    pass(f, 10000);
    assert_int_equal(take_all(f), 3);
    ok(f);
}

QUEUE_TEST(a_rate_of_groups_out_of_its_range_is_refused)
{
    static const struct elapse__queue_rate wrong[] = {
        {0, 1, 0},
        {0, 0, 1},
        {1, 0, 1},
        {1, 1, 0},
        {2, 1, 1},
        {1, 1, 100000001},
        {100000001, 1, 100000000},
        {1, (uint64_t)ELAPSE__QUEUE_RATE_PERIOD_MS_MAX + 1, 1},
    };
    static const struct elapse__queue_rate right[] = {
        {1, 1, 1},
        {2, 1, 2},
        {100000000, 1, 100000000},
        {1, ELAPSE__QUEUE_RATE_PERIOD_MS_MAX, 100000000},
        {100000000, ELAPSE__QUEUE_RATE_PERIOD_MS_MAX, 100000000},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct elapse__queue_limits limits = {.group_rate = wrong[i]};
        assert_int_equal(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result,
                         ELAPSE__QUEUE_ARGUMENT);
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        rate(f, right[i].count, right[i].period_ms, right[i].burst);
        put_in(f, "a", 1);
        assert_int_equal(take_all(f), 1);
        ok(f);
        pass(f, (uint64_t)ELAPSE__QUEUE_RATE_PERIOD_MS_MAX);
    }
}

/* The most of one group in any window of a second, over a minute with starts at random. */
QUEUE_TEST(no_window_has_more_of_a_group_than_the_rate_says)
{
    enum { MS = 60000, WINDOW = 1000, COUNT = 50, BURST = 3 };
    static unsigned taken[MS];
    unsigned window = 0, most = 0, all = 0, random = 1;
    rate(f, COUNT, WINDOW, BURST);
    for (unsigned ms = 0; ms < MS; ms++) {
        random = random * 1664525 + 1013904223;
        if (ms % 4000 == 0)
            put_in(f, "a", 230);
        if (random >> 21 == 0) { /* each two seconds */
            if (random % 2 == 0)
                elapse__queue_stop(f->queue, f->now);
            restart(f, 0);
        }
        taken[ms] = elapse__queue_ready(f->queue) > 0 ? take_all(f) : 0;
        all += taken[ms];
        window += taken[ms] - (ms >= WINDOW ? taken[ms - WINDOW] : 0);
        most = window > most ? window : most;
        f->now.boot_ms++;
        f->now.wall_ms++;
        while (elapse__queue_turn(f->queue, f->now).more)
            ;
        if (ms % 5000 == 0)
            assert_true(log_clean(&f->log, f->queue, f->now, 2000));
    }
    print_message("the most of a group in a window of a second: %u; %u in a minute\n", most, all);
    assert_in_range(most, COUNT, COUNT + BURST - 1);
    assert_in_range(all, 2800, 3000);
}

enum { MANY = 100000 };

QUEUE_TEST(very_many_blocked_groups_come_back_in_slices)
{
    struct elapse__queue_put some = job("b");
    for (uint32_t i = 0; i < MANY; i++) {
        some.group = (struct elapse__queue_text){&i, sizeof i};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    struct elapse__queue_limits limits = {.group_rate = {1, 1000, 1}};
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    while (elapse__queue_turn(f->queue, f->now).more)
        ;
    assert_int_equal(count(f).held, 0);
    for (unsigned taken = 0; taken < MANY; taken += 1000)
        assert_int_equal(take_all(f), 1000);
    for (uint32_t i = 0; i < MANY; i++) {
        some.group = (struct elapse__queue_text){&i, sizeof i};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    assert_int_equal(count(f).held, MANY);
    assert_int_equal(elapse__queue_check(f->queue), 0);
    f->now.boot_ms += 1000;
    f->now.wall_ms += 1000;
    for (uint64_t held = MANY; held > 0; held = count(f).held) {
        (void)elapse__queue_turn(f->queue, f->now);
        assert_in_range(held - count(f).held, 0, 1000);
    }
    assert_int_equal(elapse__queue_check(f->queue), 0);
}

/* A LIMIT comes to very many groups in slices, which end groups that have only a bucket. */
QUEUE_TEST(a_rate_may_be_taken_away_from_very_many_groups)
{
    struct elapse__queue_put some = job("b");
    struct elapse__queue_limits limits = {.group_rate = {1, 3600000, 1}};
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    for (uint32_t i = 0; i < 5000; i++) {
        some.group = (struct elapse__queue_text){&i, sizeof i};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    for (unsigned taken = 0; taken < 5000; taken += 1000)
        assert_int_equal(take_all(f), 1000);
    assert_int_equal(f->queue->group_index.count, 5000);
    limits.group_rate = (struct elapse__queue_rate){0};
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    assert_int_equal(elapse__queue_check(f->queue), 0);
    while (elapse__queue_turn(f->queue, f->now).more)
        assert_int_equal(elapse__queue_check(f->queue), 0);
    assert_int_equal(f->queue->group_index.count, 0);
    assert_int_equal(elapse__queue_tube_count(f->queue), 0);
    ok(f);
}

TEST_MAIN("queue_group_rate")
