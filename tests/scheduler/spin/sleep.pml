/*
 * How the clock thread sleeps until the earliest deadline of all shards: src/scheduler/sleeper.h.
 *
 * Two threads schedule three tasks for any ticks in two shards, and one of them then asks
 * for attention by a kick; time passes whenever it likes; the clock thread pops the due timers.
 *
 * Shown: no deadline that a call of schedule has returned for is slept through, no kick is
 * lost, everything is popped in the end; and, by the search for cycles, that there is no way
 * to be awake for ever.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_NO_PREPARE        armed_tick does not become NEVER before the sleep
 *   MUTANT_PREPARE_LATE      it does so only after the wake_ticks were read
 *   MUTANT_PUBLISH_LATE      wake_tick is stored after the look at armed_tick
 *   MUTANT_NO_ANNOUNCE       nobody looks at armed_tick
 *   MUTANT_NO_SECOND_LOOK    wake_at does not look at armed_tick again under the lock
 *   MUTANT_SLEEP_ARMS_ALWAYS sleep does not look at what wake_at has armed since prepare
 *   MUTANT_NO_KICKED_FLAG    a kick leaves no mark for the clock thread that is awake
 *   MUTANT_STALE_WAKE_TICK   goes round: wake_tick stays as it was when all that is due was popped
 */
#include "sleeper.pml"

#define LAST_TICK 2
#define SHARDS    2
#define TASKS     3

/* Of a task. In the wheel of its shard: STARTED, ANNOUNCED. */
#define UNBORN    0
#define STARTED   1
#define ANNOUNCED 2
#define POPPED    3

/* One holding of the lock of a shard has one access that can be seen without that lock, the
 * store to wake_tick, and so is one step. */
byte wake_tick[SHARDS] = NEVER;

byte stage[TASKS];
byte tick_of[TASKS];

bool word; /* what the kick is for */
bool heard;
bool slept_through;

/* start_timer */
inline publish(task, shard)
{
    wake_tick[shard] = (tick_of[task] < wake_tick[shard] -> tick_of[task] : wake_tick[shard])
}

/* elapse_task_schedule_at: elapse__shard_admit under the lock, then elapse__announce. */
inline schedule(task, shard)
{
    atomic {
        if
        :: tick_of[task] = 0
        :: tick_of[task] = 1
        :: tick_of[task] = 2
        fi;
        stage[task] = STARTED;
#ifndef MUTANT_PUBLISH_LATE
        publish(task, shard)
#endif
    };
#ifndef MUTANT_NO_ANNOUNCE
    sleeper_wake_at(tick_of[task]);
#endif
#ifdef MUTANT_PUBLISH_LATE
    d_step { publish(task, shard) };
#endif
    d_step {
        if
        :: stage[task] == STARTED -> stage[task] = ANNOUNCED
        :: else -> tick_of[task] = 0 /* a difference that matters no more */
        fi
    }
}

active proctype schedules_two()
{
    schedule(0, 0);
    schedule(1, 1)
}

active proctype schedules_and_kicks()
{
    schedule(2, 1);
    word = true;
    sleeper_kick()
}

active proctype time_passes()
{
    do
    :: now < LAST_TICK -> now++
    :: now == LAST_TICK -> break
    od
}

#define IN_WHEEL (stage[task] == STARTED || stage[task] == ANNOUNCED)

/* elapse__shard_take_due until it says NONE: then elapse_wheel_next becomes wake_tick. The
 * wheel of the shard holds the tasks from `first` to `last`. */
inline take_due(shard, first, last)
{
    d_step {
        least = NEVER;
        task = first;
        do
        :: task <= last ->
            if
            :: IN_WHEEL && tick_of[task] <= now_tick ->
                if
                :: stage[task] == ANNOUNCED -> tick_of[task] = 0
                :: else -> skip
                fi;
                stage[task] = POPPED
            :: IN_WHEEL && tick_of[task] > now_tick && tick_of[task] < least ->
                least = tick_of[task]
            :: else -> skip
            fi;
            task++
        :: else -> break
        od;
#ifndef MUTANT_STALE_WAKE_TICK
        wake_tick[shard] = least;
#endif
        task = 0;
        least = 0
    }
}

/* clock_main, with elapse__deliver and sleep_until_needed. */
active proctype clock_thread()
{
    byte now_tick;
    byte task;
    byte least;
    byte earliest;
    do
    :: true ->
        heard = word;
        now_tick = now;
        do
        :: wake_tick[0] <= now_tick -> take_due(0, 0, 0)
        :: else -> break
        od;
        do
        :: wake_tick[1] <= now_tick -> take_due(1, 1, 2)
        :: else -> break
        od;
        now_tick = 0;
#if !defined MUTANT_PREPARE_LATE && !defined MUTANT_NO_PREPARE
        sleeper_prepare();
#endif
        /* elapse__earliest_wakes */
        earliest = wake_tick[0];
        d_step {
            if
            :: wake_tick[1] < earliest -> earliest = wake_tick[1]
            :: else -> skip
            fi
        };
#ifdef MUTANT_PREPARE_LATE
        sleeper_prepare();
#endif
        sleeper_sleep(earliest);
        earliest = 0
    od
}

#define SLEPT_THROUGH(task) (stage[task] == ANNOUNCED && tick_of[task] < timer)

/* Whatever happens meanwhile: once schedule has returned, a clock thread that sleeps has
 * its timer set for that task's tick or an earlier one. */
active proctype never_slept_through()
{
end_unbroken:
    atomic {
        asleep && (SLEPT_THROUGH(0) || SLEPT_THROUGH(1) || SLEPT_THROUGH(2)) ->
        slept_through = true;
        assert(!slept_through)
    }
}

/* When nothing moves any more, and so the clock thread sleeps. */
active proctype at_rest()
{
    timeout ->
    assert(asleep);
    assert(!word || heard);
    assert(armed_tick <= wake_tick[0] && armed_tick <= wake_tick[1]);
    assert(stage[0] == POPPED && stage[1] == POPPED && stage[2] == POPPED)
}
