/*
 * What the tests of wall-clock times share.
 */
#ifndef ELAPSE_TESTS_WALL_H
#define ELAPSE_TESTS_WALL_H

#include "fixture.h"

/* The beginning of 2030. */
#define WALL_NS (UINT64_C(1893456000) * ELAPSE_SECOND_NS)

/* On manual time, with the wall clock at this. */
static inline struct elapse_scheduler *wall_new(uint64_t unix_ns, unsigned shards)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, shards);

    assert_ok(elapse_scheduler_set_wall_clock(scheduler, unix_ns));
    assert_int_equal(elapse_scheduler_wall_clock_ns(scheduler), unix_ns);
    return scheduler;
}

#define WALL_TEST(function) SCHEDULER_TEST(function, wall_new(WALL_NS, 1))

static inline struct elapse_handle schedule_by_wall_clock(struct elapse_scheduler *scheduler,
                                                          struct elapse_task task, uint64_t unix_ns)
{
    struct elapse_handle handle = {0, 0, 0};

    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, unix_ns, &handle));
    assert_false(zero_handle(handle));
    return handle;
}

#endif
