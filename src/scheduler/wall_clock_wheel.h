/*
 * The wheel of a shard for wall-clock times. The wall clock can be set back, but the time of a
 * wheel cannot. So when the wall clock was set back, the wheel is built anew, some timers at a
 * time, which keeps each holding of the lock short:
 *
 *      STEADY --- the wall clock is behind the wheel ---> COLLECTING
 *        ^                                                    | all timers are out of the wheel
 *        |                                                    v
 *        +------- all timers are in the wheel again ------ PLACING (the wheel is made anew)
 *
 * Timers that are in no wheel meanwhile are in a chain, and their tasks are marked `unplaced`. No
 * task is taken until the wheel is STEADY again. A task that is cancelled while it is in the chain
 * stays there, UNLINKING.
 *
 * Some time may pass after the wall clock was set back and before the wheel is built anew. A new
 * deadline in between may have passed by the time of the wheel, and not by the wall clock. The
 * wheel then keeps its own time in place of the deadline. So each timer is placed by the occurrence
 * of its task, not by the deadline that the wheel has kept; and `wake_tick` is lowered to the tick
 * of that occurrence.
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

/* The lock of the shard guards all of it; wake_tick may be read without the lock. */
struct elapse__wall_clock_wheel {
    _Atomic uint64_t wake_tick; /* no timer of this wheel is due before this tick */
    struct elapse_wheel *wheel; /* NULL: no task of the shard has had a wall-clock time yet */
    enum elapse__wall_clock_stage stage;
    struct elapse__task *first; /* of the chain, by when.next; NULL: it is empty */
    struct elapse__task *last;
};

/* Makes a wheel. Requires that no lock is held. Returns NULL if there is no memory. */
struct elapse_wheel *elapse__wall_clock_wheel_make(uint64_t now_tick,
                                                   const struct elapse_allocator *memory);

/* Starts the timer of a task that has a wall-clock time. Requires that there is a wheel. */
void elapse__wall_clock_wheel_start(struct elapse__wall_clock_wheel *wall_clock,
                                    struct elapse__task *task, uint64_t tick);

/* Starts the timer of a task again, which may be pending or in the chain. Requires that the task is
 * PENDING and its occurrence is the new one. */
void elapse__wall_clock_wheel_move(struct elapse__wall_clock_wheel *wall_clock,
                                   struct elapse__task *task, uint64_t tick);

/* Builds the wheel anew if the wall clock, at `now_tick`, is behind it; moves up to `most` timers.
 * Returns true when the wheel is STEADY and not ahead of the wall clock. Gives tasks that were
 * cancelled in the chain back to `tasks`. */
bool elapse__wall_clock_wheel_follow(struct elapse__wall_clock_wheel *wall_clock, uint64_t now_tick,
                                     uint64_t tick_ns, unsigned most,
                                     struct elapse__task_table *tasks);

#endif
