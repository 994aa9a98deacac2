/*
 * Tests of the walk over all tubes in slices, and of the overdue time of a tube: for how long its
 * oldest ready job has been due.
 */
#include "fixture.h"

#include "random.h"

enum { TUBES = 1000, SLICE = 64, STEPS = 6000, BURST = 3500 };

/* ---- walking ---- */

static struct elapse__queue_text numbered(unsigned number, char room[16])
{
    return (struct elapse__queue_text){room, (size_t)snprintf(room, 16, "n%u", number)};
}

QUEUE_TEST(a_walk_looks_at_no_more_places_than_allowed)
{
    char room[16];
    for (unsigned i = 0; i < TUBES; i++)
        assert_ok(elapse__queue_tube_hold(f->queue, numbered(i, room)));
    for (unsigned i = 0; i < TUBES; i++)
        if (i % (TUBES / 2) != TUBES / 2 - 1)
            elapse__queue_tube_drop(f->queue, numbered(i, room));
    uint32_t cursor = 0;
    unsigned found = 0;
    unsigned slices = 0;
    do {
        uint32_t before = cursor;
        uint32_t most = SLICE;
        while (most > 0) {
            found += elapse__queue_tubes(f->queue, &cursor, &most).size > 0;
            if (cursor == 0)
                break;
        }
        assert_true(cursor == 0 || cursor - before == SLICE);
        slices++;
    } while (cursor != 0);
    assert_int_equal(found, 2);
    assert_int_equal(slices, TUBES / SLICE + 1);
    elapse__queue_tube_drop(f->queue, numbered(TUBES / 2 - 1, room));
    elapse__queue_tube_drop(f->queue, numbered(TUBES - 1, room));
}

/* ---- the oldest ready job ---- */

static uint64_t overdue(struct fixture *f)
{
    struct elapse__queue_statistics statistics;
    return elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics) ==
                   ELAPSE__QUEUE_OK
               ? statistics.overdue_ms
               : 0;
}

QUEUE_TEST(a_job_that_is_overtaken_is_the_oldest)
{
    struct elapse__queue_put urgent = job("urgent");
    assert_int_equal(overdue(f), 0);
    uint64_t id = put(f, job("patient"), ELAPSE__QUEUE_SCHEDULED);
    pass(f, 5000);
    urgent.priority = 0;
    put(f, urgent, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 100);
    assert_int_equal(overdue(f), 5100);
    (void)take(f);
    assert_int_equal(overdue(f), 5100);
    assert_int_equal(take(f).id, id);
    assert_int_equal(overdue(f), 0);
}

QUEUE_TEST(jobs_of_both_clocks_are_compared)
{
    struct elapse__queue_put at = job("at");
    at.when = ELAPSE__QUEUE_AT;
    at.at_ms = f->now.wall_ms - 700;
    uint64_t in = put(f, job("in"), ELAPSE__QUEUE_SCHEDULED);
    uint64_t id = put(f, at, ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(overdue(f), (uint64_t)(f->now.wall_ms - look(f, id).due_ms));
    pass(f, 1000);
    /* The wall clock is set forward, so a job that goes by this clock is older. */
    f->now.wall_ms += 60000;
    assert_int_equal(overdue(f), (uint64_t)(f->now.wall_ms - look(f, id).due_ms));
    assert_true(overdue(f) >= 61000);
    (void)elapse__queue_cancel_id(f->queue, f->now, id);
    assert_int_equal(overdue(f), 1000);
    /* The comparison by `ok` needs this: a replay does not know that the clock was set. */
    (void)elapse__queue_cancel_id(f->queue, f->now, in);
    ok(f);
}

/* Returns the overdue time of the tube, found by a look at every job. */
static uint64_t overdue_by_list(struct fixture *f)
{
    enum { ROOM = 256 };
    const struct elapse__queue_filter ready = {.tube = text("t"), .state = ELAPSE__QUEUE_READY};
    struct elapse__queue_view views[ROOM];
    uint32_t cursor = 0;
    int64_t most = 0;
    do {
        uint32_t count =
            elapse__queue_list(f->queue, f->now, &ready, &cursor, UINT32_MAX, views, ROOM);
        for (uint32_t i = 0; i < count; i++)
            if (f->now.wall_ms - views[i].due_ms > most)
                most = f->now.wall_ms - views[i].due_ms;
    } while (cursor != 0);
    return (uint64_t)most;
}

static void go_on(struct fixture *f, uint64_t ms)
{
    f->now.boot_ms += ms;
    f->now.wall_ms += (int64_t)ms;
}

/* Does as `put` of the fixture, but does not replay the whole log. */
static void put_quickly(struct fixture *f, const struct elapse__queue_put *some)
{
    assert_int_equal(elapse__queue_put(f->queue, f->now, some).result, ELAPSE__QUEUE_SCHEDULED);
}

/* Does as `take` of the fixture, but does not replay the log. Returns whether there was a job. */
static bool take_quickly(struct fixture *f, struct elapse__queue_handed *handed)
{
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 1, .begin = true};
    uint32_t count = 0;
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, handed, &count).result);
    return count == 1;
}

static void put_some(struct fixture *f, struct random_source *source)
{
    struct elapse__queue_put some = job("x");
    some.priority = (uint32_t)random_below(source, 4);
    some.delay_ms = random_one_in(source, 3) ? random_below(source, 3000) : 0;
    if (random_one_in(source, 4)) {
        some.when = ELAPSE__QUEUE_AT;
        some.at_ms = f->now.wall_ms - 500 + (int64_t)random_below(source, 4000);
    }
    put_quickly(f, &some);
}

/* Takes a job, if one is ready. Then ends it, gives it back, or lets its lease run out. */
static void take_some(struct fixture *f, struct random_source *source)
{
    struct elapse__queue_handed handed;
    if (!take_quickly(f, &handed))
        return;
    if (random_one_in(source, 3))
        (void)elapse__queue_release(f->queue, f->now, holder(&handed), 3,
                                    random_one_in(source, 2) ? 0 : 400);
    else if (random_one_in(source, 2))
        (void)elapse__queue_ack(f->queue, f->now, holder(&handed));
}

QUEUE_TEST(the_oldest_is_exact_whatever_happens)
{
    struct random_source source = {.state = 7};
    for (unsigned step = 0; step < STEPS; step++) {
        switch (random_below(&source, 8)) {
        case 0:
        case 1:
            put_some(f, &source);
            break;
        case 2:
        case 3:
        case 4:
            take_some(f, &source);
            break;
        case 5:
            (void)elapse__queue_kick_id(
                f->queue, f->now, 1 + random_below(&source, elapse__queue_last_id(f->queue) + 1));
            break;
        case 6:
            (void)elapse__queue_cancel_id(
                f->queue, f->now, 1 + random_below(&source, elapse__queue_last_id(f->queue) + 1));
            break;
        default:
            go_on(f, random_below(&source, 200));
        }
        if (random_one_in(&source, 4))
            (void)elapse__queue_turn(f->queue, f->now);
        assert_int_equal(overdue(f), overdue_by_list(f));
        if (step % 1000 == 0)
            ok(f);
    }
}

QUEUE_TEST(a_backlog_stays_in_order_behind_new_jobs)
{
    struct elapse__queue_put late = job("late");
    const struct elapse__queue_put fresh = job("new");
    for (unsigned i = 0; i < BURST; i++) {
        late.delay_ms = 1 + i % 100;
        put_quickly(f, &late);
    }
    go_on(f, 10000);
    uint64_t longest = 0;
    bool more = true;
    while (more) {
        more = elapse__queue_turn(f->queue, f->now).more;
        put_quickly(f, &fresh);
        go_on(f, 1);
        assert_int_equal(overdue(f), overdue_by_list(f));
        if (overdue(f) > longest)
            longest = overdue(f);
    }
    assert_true(longest > 9990);
    /* The jobs leave in the order of their ids; the oldest is always known. */
    struct elapse__queue_handed handed;
    for (unsigned i = 0; take_quickly(f, &handed); i++)
        if (i % 8 == 0)
            assert_int_equal(overdue(f), overdue_by_list(f));
    ok(f);
}

/* The queue searches the place of a job from the end of the list and from the job before it. The
 * place of the last job here is far from both. */
QUEUE_TEST(one_that_is_older_than_all_is_the_oldest)
{
    struct elapse__queue_put at = job("at");
    at.when = ELAPSE__QUEUE_AT;
    for (unsigned i = 0; i < BURST; i++) {
        at.at_ms = f->now.wall_ms - BURST + i;
        put_quickly(f, &at);
    }
    at.at_ms = f->now.wall_ms - BURST / 2;
    put_quickly(f, &at);
    at.at_ms = f->now.wall_ms - 3600000;
    put_quickly(f, &at);
    assert_int_equal(overdue(f), overdue_by_list(f));
    assert_true(overdue(f) >= 3600000);
    ok(f);
}

TEST_MAIN("tubes")
