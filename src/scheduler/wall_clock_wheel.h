/*
 * The wheel of a shard for wall-clock times. The wall clock can be set back, but the time of a
 * wheel cannot. So the wheel is built anew after the wall clock was set back. Only some timers are
 * moved at a time, so that no thread holds the lock for long:
 *
 *      STEADY --- the wall clock is behind the wheel ---> COLLECTING
 *        ^                                                    | all timers are out of the wheel
 *        |                                                    v
 *        +------- all timers are in the wheel again ------ PLACING (the wheel is made anew)
 *
 * Meanwhile, timers that are in no wheel are in a chain, and their tasks are marked `unplaced`. No
 * task is taken until the wheel is STEADY again. A task that is cancelled while it is in the chain
 * stays there, in the state UNLINKING of task.h.
 *
 * Some time may pass after the wall clock was set back and before the wheel is built anew. In this
 * time, a new deadline may have passed by the time of the wheel, but not by the wall clock. Then
 * the wheel keeps its own time in place of the deadline. So each timer is placed by the occurrence
 * of its task, and not by the deadline that the wheel has kept. `wake_tick` is lowered to the tick
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

/* The lock of the shard guards this struct. Only wake_tick may be read without the lock. */
struct elapse__wall_clock_wheel {
    _Atomic uint64_t wake_tick; /* no timer of this wheel is due before this tick */
    struct elapse_wheel *wheel; /* NULL: no task of the shard has had a wall-clock time yet */
    enum elapse__wall_clock_stage stage;
    struct elapse__task *first; /* the first task of the chain, which is linked by when.next; NULL:
                                   the chain is empty */
    struct elapse__task *last;
};

/* Makes a wheel. Requires that no lock is held. Returns NULL if there is no memory. */
struct elapse_wheel *elapse__wall_clock_wheel_make(uint64_t now_tick,
                                                   const struct elapse_allocator *memory);

/* Starts the timer of a task that has a wall-clock time. Requires that there is a wheel. */
void elapse__wall_clock_wheel_start(struct elapse__wall_clock_wheel *wall_clock,
                                    struct elapse__task *task, uint64_t tick);

/* Starts the timer of a task again. The timer may be pending, or the task may be in the chain.
 * Requires that the task is PENDING, and that the recurrence of the task has the new occurrence. */
void elapse__wall_clock_wheel_move(struct elapse__wall_clock_wheel *wall_clock,
                                   struct elapse__task *task, uint64_t tick);

/* Builds the wheel anew if it is ahead of the wall clock, which stands at `now_tick`. Moves up to
 * `most` timers. Returns true when the wheel is STEADY and not ahead of the wall clock. Gives tasks
 * that were cancelled in the chain back to `tasks`. */
bool elapse__wall_clock_wheel_follow(struct elapse__wall_clock_wheel *wall_clock, uint64_t now_tick,
                                     uint64_t tick_ns, unsigned most,
                                     struct elapse__task_table *tasks);

#endif
