/*
 * What sleep.pml, queue.pml and pull.pml have in common: src/scheduler/sleeper.c, with each access that another
 * thread can see as a step of its own. The atomic accesses of the code are sequentially
 * consistent, and so are the interleavings that Spin tries.
 *
 * Taking a lock is one step with the first access under it, and giving it back one with
 * the last, which leaves the outcomes as they are and the states few. A lock that is held for
 * one step only needs no giving back.
 *
 * Time is `now`, in ticks; the model that includes this lets it pass.
 */
#define NEVER 9

bool sleeper_lock;
bool kicked;
byte armed_tick;
byte timer = NEVER; /* the timerfd: readable from this tick on */
#ifndef NOW_AT_START
#define NOW_AT_START 0
#endif
byte now = NOW_AT_START;
bool asleep;        /* the clock thread is in read, or about to be */

/* elapse__sleeper_prepare */
inline sleeper_prepare()
{
    atomic { !sleeper_lock -> armed_tick = NEVER }
}

/* What sleep compares with. */
#ifdef MUTANT_SLEEP_ARMS_ALWAYS
#define ARMED_SINCE_PREPARE NEVER + 1
#else
#define ARMED_SINCE_PREPARE armed_tick
#endif

/* elapse__sleeper_sleep. It can be called from one place: `asleep` tells its two halves
 * apart. An expiry is undone by read, or by setting the timer anew, and by nothing else:
 * timerfd_create(2). What it does when the time-out has passed, where there is one, is
 * SLEEPER_GIVES_UP. */
inline sleeper_sleep(tick)
{
    if
    :: atomic { !sleeper_lock && kicked -> kicked = false }
    :: atomic { !sleeper_lock && !kicked && tick >= ARMED_SINCE_PREPARE -> asleep = true }
    :: atomic { !sleeper_lock && !kicked && tick < ARMED_SINCE_PREPARE ->
            sleeper_lock = true; timer = tick };
        atomic { armed_tick = tick; sleeper_lock = false; asleep = true }
    fi;
    if
    :: asleep ->
end_asleep:
#ifdef SLEEPER_GIVES_UP
        if
        :: atomic { timer <= now -> asleep = false }
        :: atomic { SLEEPER_GIVES_UP -> asleep = false }
        fi;
        d_step { timer = (timer <= now -> NEVER : timer) }
#else
        atomic { timer <= now -> timer = NEVER; asleep = false }
#endif
    :: else -> skip
    fi;
    atomic { !sleeper_lock -> armed_tick = 0 }
}

/* The value that is compared under the lock. */
#ifdef MUTANT_NO_SECOND_LOOK
#define ARMED_AT_SECOND_LOOK NEVER
#else
#define ARMED_AT_SECOND_LOOK armed_tick
#endif

/* elapse__sleeper_set, and what wake_at does under the lock: arm_earlier */
inline sleeper_set(tick)
{
    if
    :: atomic { !sleeper_lock && tick >= ARMED_AT_SECOND_LOOK -> skip }
    :: atomic { !sleeper_lock && tick < ARMED_AT_SECOND_LOOK ->
            sleeper_lock = true; timer = tick };
        atomic { armed_tick = tick; sleeper_lock = false }
    fi
}

/* elapse__sleeper_wake_at */
inline sleeper_wake_at(tick)
{
    if
    :: tick >= armed_tick -> skip
    :: tick < armed_tick -> sleeper_set(tick)
    fi
}

#ifdef MUTANT_NO_KICKED_FLAG
#define MARK_KICKED skip
#else
#define MARK_KICKED kicked = true
#endif

/* elapse__sleeper_kick */
inline sleeper_kick()
{
    if
    :: atomic { !sleeper_lock && armed_tick == 0 -> MARK_KICKED }
    :: atomic { !sleeper_lock && armed_tick != 0 ->
            sleeper_lock = true; MARK_KICKED; timer = 0 };
        atomic { armed_tick = 0; sleeper_lock = false }
    fi
}
