/*
 * Functions that the tests of tasks that recur share.
 */
#ifndef ELAPSE_TESTS_RECURRING_H
#define ELAPSE_TESTS_RECURRING_H

#include "fixture.h"

static inline struct elapse_task recurring(size_t number, enum elapse_recurrence recurrence,
                                           uint64_t period_ns, enum elapse_missed if_missed)
{
    struct elapse_task task = task_with_end(number);

    task.recurrence = recurrence;
    task.period_ns = period_ns;
    task.if_missed = if_missed;
    return task;
}

static inline struct elapse_task periodic(size_t number, uint64_t period_ns)
{
    return recurring(number, ELAPSE_RECUR_PERIOD, period_ns, ELAPSE_MISSED_SKIP);
}

/* Checks the run with this index in the log. */
static inline void expect_run(uint64_t index, uint64_t number, uint64_t intended_ns,
                              uint64_t actual_ns, uint64_t missed)
{
    struct elapse_run run = run_at(index).run;

    assert_int_equal(run.number, number);
    assert_int_equal(run.intended_ns, intended_ns);
    assert_int_equal(run.actual_ns, actual_ns);
    assert_int_equal(run.missed, missed);
    assert_false(run.wall_clock);
}

#endif
