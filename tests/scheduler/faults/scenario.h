/*
 * A scenario: does what a user does with a scheduler, from new to free, while calls fail, and
 * checks what must hold even so.
 */
#ifndef ELAPSE_TESTS_SCENARIO_H
#define ELAPSE_TESTS_SCENARIO_H

#include <stdatomic.h>

#include "inject.h"

struct scenario {
    bool manual;   /* time is manual: no threads */
    bool pull;     /* due tasks are taken, on this thread: no other threads */
    bool onward;   /* all calls after the first failure fail too */
    bool memory;   /* the allocator fails */
    bool thread;   /* the start of a thread fails */
    unsigned turn; /* the number of the scenario: it chooses the way of closing */
};

enum { THINGS = 2000 };

/* The context of a task: what became of it. */
struct thing {
    bool used;
    bool accepted;
    bool has_destructor;
    bool far; /* its deadline never comes */
    bool removed;
    struct elapse_handle handle;
    _Atomic unsigned runs;
    _Atomic unsigned destroyed;
    _Atomic unsigned handed_back;
};

struct play {
    const struct scenario *scenario;
    struct elapse_scheduler *scheduler;
    struct thing things[THINGS];
    unsigned used;
    unsigned threads_before;
    unsigned files_before;
    uint64_t failures_at_start; /* how many calls had failed when start returned */
};

/* Plays a scenario. Checks that no task is lost, and that no memory and no thread is left behind.
 */
void scenario_play(const struct scenario *scenario);

/* ---- pull.c ---- */

/* Checks that no task can be taken: before start, after a start that failed, and (with CLOSED as
 * the error) after closing. */
void pull_expect_nothing(struct elapse_scheduler *scheduler, enum elapse_error error);

/* Takes tasks, in three ways in turn, until no more than `far` tasks are pending. */
void pull_take_all(struct play *play, uint64_t far);

/* Schedules a task that recurs and a task with a wall-clock time, which only pull.c knows of. Takes
 * both, and cancels the first. */
void pull_take_others(struct play *play);

/* ---- recurring.c ---- */

/* Schedules tasks that recur by a period, after each run and by a cron expression, and one with a
 * wall-clock time; lets them run, and ends them. Not in pull mode. */
void recurring_play(struct play *play);

#endif
