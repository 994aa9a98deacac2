/*
 * The wheel of a shard for wall-clock times. It is like the other one, but that its time can be set
 * back, which a wheel's cannot. Then it is built anew, some timers at a time, so that the lock is
 * not held for long:
 *
 *      STEADY --- the time is before the wheel's ---> COLLECTING
 *        ^                                                | all timers are out of the wheel
 *        |                                                v
 *        +------- all are in again ------------------ PLACING (a new wheel of this time)
 *
 * In between timers wait in a chain, marked `unplaced`. Nothing is due meanwhile: take_due first
 * finishes this. A task that is cancelled in the chain stays there, UNLINKING.
 *
 * Between the moment that the wall clock is set back and this, the wheel takes new deadlines that
 * it thinks have passed for its own time. So what is placed is the task's own occurrence, never
 * what the wheel has kept; and `wake_tick` is lowered to the former.
 */
#ifndef ELAPSE__WALL_CLOCK_WHEEL_H
#define ELAPSE__WALL_CLOCK_WHEEL_H

#include <stdatomic.h>

#include <elapse/wheel.h>

#include "../base/allocator.h"
#include "task_table.h"

enum elapse__wall_clock_stage {
    ELAPSE__WALL_CLOCK_STEADY,
    ELAPSE__WALL_CLOCK_COLLECTING,
    ELAPSE__WALL_CLOCK_PLACING,
};

/* Guarded by the shard's lock, but for reading wake_tick. */
struct elapse__wall_clock_wheel {
    _Atomic uint64_t wake_tick; /* as a shard's */
    struct elapse_wheel *wheel; /* NULL: no task of the shard has had a wall-clock time yet */
    enum elapse__wall_clock_stage stage;
    struct elapse__task *first; /* of the chain, by when.next; NULL: it is empty */
    struct elapse__task *last;
};

/* A wheel to be taken in, made without the lock; NULL if there is no memory. */
struct elapse_wheel *elapse__wall_clock_wheel_make(uint64_t now_tick,
                                                   const struct elapse_allocator *memory);

/* Starts the timer of a task that has a wall-clock time. There is a wheel. */
void elapse__wall_clock_wheel_start(struct elapse__wall_clock_wheel *wall_clock,
                                    struct elapse__task *task, uint64_t tick);

/* Moves up to `most` timers towards being STEADY at `now_tick`. Returns true when it is. Tasks that
 * were cancelled in the chain go back to `tasks`. */
bool elapse__wall_clock_wheel_follow(struct elapse__wall_clock_wheel *wall_clock, uint64_t now_tick,
                                     uint64_t tick_ns, unsigned most,
                                     struct elapse__task_table *tasks);

#endif
