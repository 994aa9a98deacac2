/*
 * By which limit the jobs of a tube and of a group are held back, and for how long.
 */
#include "fixture.h"

#include <string.h>

#include "tubes.h"

static void limit(struct fixture *f, struct elapse__queue_limits limits)
{
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    ok(f);
}

static void put_in(struct fixture *f, const char *group, unsigned jobs)
{
    struct elapse__queue_put some = job("b");
    some.group = text(group);
    for (unsigned i = 0; i < jobs; i++)
        put(f, some, ELAPSE__QUEUE_SCHEDULED);
}

static void assert_name(struct elapse__queue_text name, const char *expected)
{
    assert_int_equal(name.size, strlen(expected));
    assert_memory_equal(name.bytes, expected, name.size);
}

/* The tube has so many jobs that are held back, by this limit. */
static void held(struct fixture *f, uint64_t jobs, const char *by)
{
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    assert_int_equal(statistics.held, jobs);
    assert_name(statistics.held_by, by);
}

static struct elapse__queue_group_view view_of(struct fixture *f, const char *group)
{
    struct elapse__queue_group_view view;
    uint32_t cursor = 0, most = UINT32_MAX;
    do
        assert_true(elapse__queue_groups(f->queue, f->now, text("t"), &cursor, &most, &view));
    while (view.name.size != strlen(group) || memcmp(view.name.bytes, group, view.name.size) != 0);
    return view;
}

static void group_held(struct fixture *f, const char *group, uint32_t jobs, const char *by,
                       uint64_t left_ms)
{
    struct elapse__queue_group_view view = view_of(f, group);
    assert_int_equal(view.held, jobs);
    assert_name(view.held_by, by);
    assert_int_equal(view.held_left_ms, left_ms);
}

QUEUE_TEST(a_tube_tells_which_of_its_limits_holds_it_back)
{
    put_in(f, "a", 4);
    held(f, 0, "");
    limit(f, (struct elapse__queue_limits){.concurrency = 3});
    held(f, 1, "concurrency");
    limit(f, (struct elapse__queue_limits){.concurrency = 3, .rate = {1, 1000, 2}});
    held(f, 2, "rate"); /* it lets fewer run */
    take(f);
    take(f);
    held(f, 2, "rate");
    pass(f, 2000);
    held(f, 1, "concurrency");
    limit(f, (struct elapse__queue_limits){.concurrency = 3, .group_concurrency = 2});
    held(f, 2, "group_concurrency");
    limit(f, (struct elapse__queue_limits){.group_concurrency = 2, .group_rate = {1, 1000, 1}});
    held(f, 2, "groups"); /* GROUPS tells which */
    limit(f, (struct elapse__queue_limits){.group_order = true});
    held(f, 2, "group_order");
    limit(f, (struct elapse__queue_limits){.group_concurrency = 9});
    held(f, 0, "");
}

QUEUE_TEST(a_group_tells_which_limit_of_each_group_holds_it_back)
{
    limit(f, (struct elapse__queue_limits){.group_concurrency = 1});
    put_in(f, "a", 3);
    put_in(f, "b", 1);
    group_held(f, "a", 2, "group_concurrency", 0);
    group_held(f, "b", 0, "", 0);
    take(f);
    group_held(f, "a", 2, "group_concurrency", 0);
    limit(f, (struct elapse__queue_limits){.group_order = true});
    group_held(f, "a", 2, "group_order", 0);
    limit(f, (struct elapse__queue_limits){.concurrency = 1});
    held(f, 3, "concurrency"); /* that is a limit of the tube, not of its groups */
    group_held(f, "a", 0, "", 0);
}

QUEUE_TEST(a_group_tells_when_its_rate_lets_a_job_run)
{
    limit(f, (struct elapse__queue_limits){.group_rate = {1, 5000, 1}});
    put_in(f, "a", 3);
    group_held(f, "a", 2, "group_rate", 0); /* one may run now */
    take(f);
    group_held(f, "a", 2, "group_rate", 5000);
    held(f, 2, "group_rate");
    pass(f, 2000);
    group_held(f, "a", 2, "group_rate", 3000);
    limit(f, (struct elapse__queue_limits){.group_concurrency = 1, .group_rate = {1, 5000, 1}});
    group_held(f, "a", 2, "group_concurrency", 0); /* no token helps while that job runs */
    pass(f, 3000);
    limit(f, (struct elapse__queue_limits){.group_rate = {1, 5000, 1}});
    group_held(f, "a", 1, "group_rate", 0);
}

QUEUE_TEST(a_group_tells_how_long_its_first_job_is_due)
{
    limit(f, (struct elapse__queue_limits){.group_order = true});
    put_in(f, "a", 1);
    assert_int_equal(view_of(f, "a").overdue_ms, 0);
    pass(f, 3000);
    put_in(f, "a", 1);
    assert_int_equal(view_of(f, "a").overdue_ms, 3000);
    take(f);
    assert_int_equal(view_of(f, "a").overdue_ms, 0);
    pass(f, 500);
    group_held(f, "a", 1, "group_order", 0);
    assert_int_equal(view_of(f, "a").overdue_ms, 500);
}

TEST_MAIN("queue_held")
