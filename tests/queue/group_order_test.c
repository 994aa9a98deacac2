/*
 * The order of each group: a job that runs, or waits after a hand-out, holds back its group.
 */
#include "fixture.h"

#include "tables.h"
#include "tubes.h"

static void limit(struct fixture *f, const struct elapse__queue_limits *limits)
{
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), limits).result);
    ok(f);
}

static void order(struct fixture *f)
{
    limit(f, &(struct elapse__queue_limits){.group_order = true});
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

/* Fails a job that then waits for a time. */
static void give_back(struct fixture *f, const struct elapse__queue_handed *handed,
                      uint64_t wait_ms)
{
    assert_ok(elapse__queue_nack_in(f->queue, f->now, holder(handed), wait_ms).result);
    ok(f);
}

QUEUE_TEST(a_group_hands_out_one_job_after_the_other)
{
    uint64_t a[2], b[2], alone[2];
    order(f);
    for (size_t i = 0; i < 2; i++) {
        a[i] = put_in(f, "a");
        b[i] = put_in(f, "b");
        alone[i] = put_in(f, "");
    }
    struct elapse__queue_handed first = expect(f, a[0]);
    assert_true(first.is_limited); /* a crash must not forget it */
    expect(f, b[0]);
    expect(f, alone[0]); /* jobs without a group have no order */
    expect(f, alone[1]);
    nothing_ready(f);
    assert_int_equal(count(f).held, 2);
    acknowledge(f, &first);
    assert_int_equal(elapse__queue_ready(f->queue), 1);
    expect(f, a[1]);
    nothing_ready(f);
}

QUEUE_TEST(a_retry_is_not_overtaken)
{
    uint64_t first = put_in(f, "a"), second = put_in(f, "a"), other = put_in(f, "b");
    order(f);
    for (unsigned i = 0; i < 3; i++) {
        struct elapse__queue_handed handed = expect(f, first);
        give_back(f, &handed, 5000);
        if (i == 0) {
            handed = expect(f, other);
            acknowledge(f, &handed);
        }
        nothing_ready(f);
        assert_int_equal(count(f).held, 1);
        pass(f, 4999);
        nothing_ready(f);
        pass(f, 1);
    }
    struct elapse__queue_handed handed = expect(f, first);
    pass(f, 10000); /* its lease ends */
    handed = expect(f, first);
    acknowledge(f, &handed);
    expect(f, second);
}

/* A job that has never been handed out holds back nobody, however old it is. */
QUEUE_TEST(a_job_for_later_holds_back_nobody)
{
    struct elapse__queue_put later = job("b");
    later.group = text("a");
    later.when = ELAPSE__QUEUE_IN;
    later.delay_ms = 60000;
    order(f);
    uint64_t old = put(f, later, ELAPSE__QUEUE_SCHEDULED);
    uint64_t young = put_in(f, "a");
    struct elapse__queue_handed handed = expect(f, young);
    pass(f, 0);
    acknowledge(f, &handed);
    put_in(f, "a");
    pass(f, 60000);
    expect(f, old); /* ready now, and the oldest */
}

QUEUE_TEST(each_end_of_a_wait_lets_the_group_go_on)
{
    struct elapse__queue_watch watch;
    uint64_t id[5];
    order(f);
    for (size_t i = 0; i < 5; i++)
        id[i] = put_in(f, "a");
    assert_ok(elapse__queue_watch_begin(f->queue, text("t"), &watch));
    for (size_t i = 0; i < 4; i++) {
        struct elapse__queue_handed handed = expect(f, id[i]);
        give_back(f, &handed, 1000000);
        (void)elapse__queue_watch_next(f->queue); /* the end of the lease may have told it */
        elapse__queue_watch_ask(f->queue, &watch);
        assert_false(elapse__queue_watch_has_news(f->queue));
        nothing_ready(f);
        if (i == 0) {
            assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id[i]).result,
                             ELAPSE__QUEUE_REMOVED);
        } else if (i == 1) {
            assert_ok(elapse__queue_kick_id(f->queue, f->now, id[i]).result);
            handed = expect(f, id[i]);
            assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
        } else if (i == 2) {
            assert_ok(
                elapse__queue_reserve_id(f->queue, f->now, id[i], NULL, true, &handed).result);
            acknowledge(f, &handed);
        } else {
            pass(f, 1000000);
            assert_true(elapse__queue_watch_has_news(f->queue));
            handed = expect(f, id[i]);
            acknowledge(f, &handed);
        }
        ok(f);
        assert_true(elapse__queue_watch_has_news(f->queue));
        assert_ptr_equal(elapse__queue_watch_next(f->queue), &watch);
    }
    elapse__queue_watch_end(f->queue, &watch);
    expect(f, id[4]);
}

QUEUE_TEST(a_reserve_by_id_keeps_the_order)
{
    struct elapse__queue_handed handed;
    uint64_t first = put_in(f, "a"), second = put_in(f, "a");
    order(f);
    assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, second, NULL, true, &handed).result,
                     ELAPSE__QUEUE_GONE);
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, first, NULL, true, &handed).result);
    assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, second, NULL, true, &handed).result,
                     ELAPSE__QUEUE_GONE);
    give_back(f, &handed, 1000);
    assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, second, NULL, true, &handed).result,
                     ELAPSE__QUEUE_GONE);
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, first, NULL, true, &handed).result);
    acknowledge(f, &handed);
    expect(f, second);
}

QUEUE_TEST(a_cancelled_job_holds_back_its_group_until_its_lease_ends)
{
    struct elapse__queue_put some = keyed("k", ELAPSE__QUEUE_REPLACE);
    some.group = text("a");
    order(f);
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    uint64_t second = put(f, some, ELAPSE__QUEUE_REPLACED);
    nothing_ready(f);
    restart(f, 0);
    nothing_ready(f);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    restart(f, 0);
    nothing_ready(f);
    acknowledge(f, &handed);
    expect(f, second);
}

/* What runs, and what waits for its retry, is in the log. */
QUEUE_TEST(an_order_is_there_after_a_restart)
{
    struct elapse__queue_limits limits;
    uint64_t first = put_in(f, "a"), second = put_in(f, "a");
    put_in(f, "b");
    put_in(f, "b");
    order(f);
    struct elapse__queue_handed handed = expect(f, first);
    give_back(f, &handed, 5000);
    handed = take(f);
    restart(f, 1000);
    assert_ok(elapse__queue_limits_of(f->queue, text("t"), &limits));
    assert_true(limits.group_order);
    nothing_ready(f);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    restart(f, 1000);
    nothing_ready(f);
    acknowledge(f, &handed);
    take(f);
    pass(f, 3000);
    handed = expect(f, first);
    acknowledge(f, &handed);
    expect(f, second);
    limit(f, &(struct elapse__queue_limits){0});
    restart(f, 0);
    assert_ok(elapse__queue_limits_of(f->queue, text("t"), &limits));
    assert_false(limits.group_order);
}

QUEUE_TEST(an_order_that_begins_waits_for_all_that_runs)
{
    uint64_t id[4];
    for (size_t i = 0; i < 4; i++)
        id[i] = put_in(f, "a");
    struct elapse__queue_handed first = expect(f, id[0]), second = expect(f, id[1]);
    order(f);
    nothing_ready(f);
    acknowledge(f, &first);
    nothing_ready(f);
    give_back(f, &second, 1000);
    nothing_ready(f);
    limit(f, &(struct elapse__queue_limits){.group_concurrency = 2});
    expect(f, id[2]);
    expect(f, id[3]);
}

QUEUE_TEST(a_lesser_priority_comes_first_when_the_group_goes_on)
{
    struct elapse__queue_put urgent = job("b");
    urgent.group = text("a");
    urgent.priority = 1;
    order(f);
    uint64_t first = put_in(f, "a");
    struct elapse__queue_handed handed = expect(f, first);
    uint64_t second = put(f, urgent, ELAPSE__QUEUE_SCHEDULED);
    nothing_ready(f);
    give_back(f, &handed, 1000);
    nothing_ready(f);
    pass(f, 1000);
    expect(f, second);
}

/* After a start jobs become ready a thousand at a time, and those of one millisecond in any order.
 * Until all are ready that were due, a tube with an order hands out nothing. */
QUEUE_TEST(a_start_keeps_the_order_of_very_many_jobs)
{
    enum { MANY = 5000 };
    struct elapse__queue_put some = job("b");
    struct elapse__queue_text name = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &name, .tube_count = 1, .count = 1, .begin = true};
    struct elapse__queue_handed handed;
    uint32_t taken = 0;
    uint64_t expected = 0;
    some.group = text("a");
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    for (uint64_t id = 1; id < MANY; id += 3) /* their entries are used again, out of order */
        assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result,
                         ELAPSE__QUEUE_REMOVED);
    for (unsigned i = 0; i < MANY / 3; i++)
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    order(f);
    struct elapse__queue *next = elapse__queue_new(&f->options);
    elapse__queue_used_id(next, elapse__queue_last_id(f->queue));
    elapse__queue_free(f->queue);
    f->queue = next;
    for (size_t i = 0; i < f->log.count; i++)
        f->log.records[i].live = 0;
    f->life++;
    assert_ok(log_replay(&f->log, next));
    assert_ok(elapse__queue_replay_done(next, f->now, f->life));
    for (unsigned turns = 0; turns < MANY / 1000 + 1; turns++) {
        /* By its id no job passes those that have not become ready yet. */
        assert_int_equal(
            elapse__queue_reserve_id(next, f->now, elapse__queue_last_id(next), NULL, true, &handed)
                .result,
            ELAPSE__QUEUE_GONE);
        (void)elapse__queue_turn(next, f->now);
        do {
            assert_ok(elapse__queue_reserve(next, f->now, &reserve, &handed, &taken).result);
            if (taken == 0)
                break;
            assert_true(handed.id > expected);
            expected = handed.id;
            assert_ok(elapse__queue_ack(next, f->now, holder(&handed)).result);
        } while (elapse__queue_jobs(next) > 0);
    }
    assert_int_equal(elapse__queue_jobs(next), 0);
}

static uint64_t steps_of_pass(const struct elapse__queue *queue)
{
    return (queue->pass >> 32) * queue->tubes.fresh + (uint32_t)queue->pass;
}

/* After a start all tubes are looked at in one pass over the table of groups, of which each turn
 * does a part. */
QUEUE_TEST(very_many_tubes_are_moved_in_one_pass)
{
    enum { TUBES = 2500, GROUPS = 4, JOBS = TUBES * GROUPS };
    struct elapse__queue_put some = job("b");
    unsigned turns = 0, may_hand_out = 0, left = 0, behind = 0;
    uint64_t begun = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
        uint32_t tube = i % TUBES, group = i / TUBES;
        some.tube = (struct elapse__queue_text){&tube, sizeof tube};
        some.group = (struct elapse__queue_text){&group, sizeof group};
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    for (uint32_t tube = 0; tube < TUBES; tube++) {
        struct elapse__queue_limits limits = {.group_order = true};
        struct elapse__queue_text name = {&tube, sizeof tube};
        assert_ok(elapse__queue_limit(f->queue, f->now, name, &limits).result);
    }
    struct elapse__queue *next = elapse__queue_new(&f->options);
    elapse__queue_used_id(next, elapse__queue_last_id(f->queue));
    elapse__queue_free(f->queue);
    f->queue = next;
    for (size_t i = 0; i < f->log.count; i++)
        f->log.records[i].live = 0;
    f->life++;
    assert_ok(log_replay(&f->log, next));
    assert_ok(elapse__queue_replay_done(next, f->now, f->life));
    while (may_hand_out < TUBES) {
        struct elapse__queue_tube *tube = NULL;
        uint32_t number = 0;
        uint64_t before = steps_of_pass(next);
        unsigned behind_before = behind;
        (void)elapse__queue_turn(next, f->now);
        turns++;
        assert_true(steps_of_pass(next) - before <= 1000);
        behind = 0;
        for (struct elapse__ring_node *node = next->behind.next; node != &next->behind;
             node = node->next)
            behind++;
        assert_true(turns == 1 || behind + 1000 >= behind_before);
        if (begun == 0 && behind < TUBES)
            begun = before + 1;
        left = may_hand_out;
        may_hand_out = 0;
        while ((tube = elapse__queue_next_tube(next, &number)) != NULL)
            may_hand_out += elapse__queue_may_hand_out(tube);
        assert_true(may_hand_out - left <= 1000);
    }
    /* The last tubes begin in the third turn, and the pass goes round once from there. */
    assert_true(steps_of_pass(next) + 1 - begun <= next->tubes.fresh + 3000);
    assert_true(turns <= JOBS / 1000 + (JOBS + TUBES + TUBES) / 1000 + 4);
    assert_int_equal(elapse__queue_next_due(next).boot_ms, UINT64_MAX);
}

static bool has_memory;

static void *allocate_if(size_t alignment, size_t bytes, void *context)
{
    (void)context;
    return has_memory ? aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                      : NULL;
}

static void release_it(void *memory, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    free(memory);
}

/* Lets a time pass, without the comparison with the log: a job that is tried again is due later
 * than the log says. Then takes a job. Returns its id; 0: there is none. */
static uint64_t taken_after(struct fixture *f, uint64_t ms)
{
    struct elapse__queue_text name = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &name, .tube_count = 1, .count = 1, .begin = true};
    struct elapse__queue_handed handed;
    uint32_t taken = 0;
    f->now.boot_ms += ms;
    f->now.wall_ms += (int64_t)ms;
    while (elapse__queue_turn(f->queue, f->now).more)
        ;
    assert_int_equal(elapse__queue_check(f->queue), 0);
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &taken).result);
    if (taken == 0)
        return 0;
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    return handed.id;
}

/* A group keeps four ready jobs inside, and needs memory for the fifth. */
QUEUE_TEST(without_memory_for_a_moment_no_job_is_overtaken)
{
    struct elapse_allocator memory = {allocate_if, release_it, NULL};
    struct elapse__queue_put later = job("b");
    has_memory = true;
    f->options.memory = &memory;
    restart(f, 0);
    order(f);
    for (int by_wall = 0; by_wall < 2; by_wall++) {
        later.group = text("a");
        later.when = by_wall ? ELAPSE__QUEUE_AT : ELAPSE__QUEUE_IN;
        later.delay_ms = 1000;
        later.at_ms = f->now.wall_ms + 1000;
        uint64_t first = put(f, later, ELAPSE__QUEUE_SCHEDULED);
        for (unsigned i = 1; i < 5; i++)
            put_in(f, "a");
        has_memory = false;
        for (unsigned i = 0; i < 3; i++) { /* it comes due, and is tried again and again */
            assert_int_equal(taken_after(f, i == 0 ? 1000 : 100), 0);
            assert_int_equal(taken_after(f, 1), 0);
        }
        has_memory = true;
        for (uint64_t id = first; id < first + 5; id++)
            assert_int_equal(taken_after(f, id == first ? 100 : 0), id);
    }
}

/* What a tube waits for may be gone before the time at which it is tried again; or it may be ready
 * by the wall clock when the other clock is one millisecond before that time. */
QUEUE_TEST(a_tube_that_had_no_memory_goes_on_in_any_case)
{
    struct elapse_allocator memory = {allocate_if, release_it, NULL};
    struct elapse__queue_put later = job("b");
    has_memory = true;
    f->options.memory = &memory;
    restart(f, 0);
    order(f);
    for (int by_wall = 0; by_wall < 2; by_wall++) {
        later.group = text("a");
        later.when = by_wall ? ELAPSE__QUEUE_AT : ELAPSE__QUEUE_IN;
        later.delay_ms = 1000;
        later.at_ms = f->now.wall_ms + 1000;
        uint64_t first = put(f, later, ELAPSE__QUEUE_SCHEDULED);
        for (unsigned i = 1; i < 5; i++)
            put_in(f, "a");
        has_memory = false;
        assert_int_equal(taken_after(f, 1000), 0);
        has_memory = true;
        uint64_t end_ms = f->now.boot_ms + 100;
        if (by_wall) {
            f->now.wall_ms++;
            assert_int_equal(taken_after(f, 99), 0);
            assert_int_equal(state_of(f, first), ELAPSE__QUEUE_READY);
        } else {
            assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, first).result,
                             ELAPSE__QUEUE_REMOVED);
            assert_int_equal(taken_after(f, 0), 0);
        }
        assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, end_ms);
        /* A command that comes before the turn changes nothing. */
        f->now.boot_ms = end_ms;
        assert_int_equal(state_of(f, first + 1), ELAPSE__QUEUE_READY);
        assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, end_ms);
        for (uint64_t id = by_wall ? first : first + 1; id < first + 5; id++)
            assert_int_equal(taken_after(f, 0), id);
        assert_true(elapse__queue_next_due(f->queue).boot_ms > f->now.boot_ms);
    }
}

QUEUE_TEST(what_comes_due_later_holds_up_no_start)
{
    struct elapse__queue_put other = job("b");
    order(f);
    uint64_t first = put_in(f, "a");
    other.tube = text("u");
    other.when = ELAPSE__QUEUE_IN;
    other.delay_ms = 1;
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    restart(f, 0);
    expect(f, first);
}

TEST_MAIN("queue_group_order")
