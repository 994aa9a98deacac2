/*
 * The full work queue: src/scheduler/work_queue.c, clock_thread.c, workers.c.
 *
 * More tasks are due than the queue holds. The clock thread moves what there is room for,
 * notes when there is none (clock_waits), and sleeps without a deadline; workers, of which the
 * second is made when needed, take, kick at half, and run; a thread schedules more tasks meanwhile.
 * Or, with fewer tasks, the system may refuse to make the second worker until the clock thread
 * has slept once, with a time-out; then it tries again.
 * All of them are due at tick 1, which is now. Each even task waits inside its action
 * until the next one has begun, as tasks of users may that need two workers and have them.
 *
 * Shown: every task runs, none twice; whatever waits in the queue has a worker to come, as long
 * as there may be more; nobody waits for ever; and, by the search for cycles, nobody goes round for
 * ever, be the queue as full as it may.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_NO_KICK           workers do not kick
 *   MUTANT_NO_KICKED_FLAG    a kick leaves no mark for the clock thread that is awake
 *   MUTANT_CLOCK_WAITS_LATE  clock_waits is set in a holding of the lock of its own
 *   MUTANT_FULL_AND_AWAKE    goes round: with the queue full the clock thread sleeps until the deadline of a task that is due
 *   MUTANT_NO_WAKE_TICK      popping the last due task leaves wake_tick at NEVER when that was
 *                            not looked for: when the room ended with it
 *   MUTANT_NO_CHAIN          a worker that takes a handle does not wake the next for those left
 *   MUTANT_WAKING_STAYS      a worker that comes round does not say so
 *   MUTANT_WAKE_BEFORE_PUT   whom to wake is found out before the handles are in the queue
 *   MUTANT_WAIT_LATE         a worker releases the lock before it begins to wait
 *   MUTANT_ONE_WORKER        the second worker is not made
 *   MUTANT_NO_RETRY          after a refusal the clock thread sleeps without a time-out (fault 4)
 *   MUTANT_REFUSED_COUNTS    a worker that was refused remains counted
 *   MUTANT_IDLE_STAYS        a worker that takes a handle remains counted as idle
 */
#define NOW_AT_START 1
#ifdef MUTANT_NO_RETRY
#define SLEEPER_GIVES_UP false -> skip
#else
#define SLEEPER_GIVES_UP refused -> skip
#endif
#include "sleeper.pml"

#ifdef SHORT
#define TASKS    3
#define EARLY    2 /* of them are there at the start */
#else
#define TASKS    4
#define EARLY    3
#endif
#define CAPACITY 2
#define WORKERS  2
#define DUE_TICK NOW_AT_START

/* The shard. The wheel holds the tasks from `popped` to `scheduled`. One holding of its lock
 * has one access to wake_tick, and is one step. */
byte scheduled = EARLY;
byte popped;
byte wake_tick = DUE_TICK;

/* The work queue. One holding of its lock is one step too. */
chan queue = [CAPACITY] of { byte };
byte idle = 1;
bool clock_waits;
byte asleep_workers;
bool waking;
byte workers_made = 1; /* worker_count */
bool may_refuse;        /* the system, until the clock thread has slept once */
byte tasks = TASKS;     /* that there will be */
bool was_refused;       /* and counts all the same */

/* The condition `filled`: how many wait for it, and how many of them were signalled and do
 * not have the lock yet. Besides, one may wake up for no reason. */
byte waiting;
byte signalled;
bool may_wake_falsely = true;

byte begun[TASKS];
byte done;

/* shall_wake, with the lock held; the signal itself comes after it. */
inline see_whom_to_wake()
{
    wake = nempty(queue) && asleep_workers > 0 && !waking;
    waking = waking || wake
}

/* pthread_cond_signal(&queue->filled), if somebody is to be woken. */
inline signal_filled()
{
    d_step {
        if
        :: wake && waiting > signalled -> signalled++
        :: else -> skip
        fi;
        wake = false
    }
}

/* ---- the clock thread ---- */

/* elapse__work_queue_room */
inline look_for_room()
{
#ifdef MUTANT_CLOCK_WAITS_LATE
    room = CAPACITY - len(queue);
    clock_waits = (room == 0)
#else
    d_step { room = CAPACITY - len(queue); clock_waits = (room == 0) }
#endif
}

/* deliver_some: elapse__shard_take_due as often as there is room. Only the call that finds
 * nothing sets wake_tick anew. */
inline take_due()
{
    d_step {
        first = popped;
        do
        :: count < room && popped < scheduled -> popped++; count++
        :: else -> break
        od;
        if
#ifdef MUTANT_NO_WAKE_TICK
        :: true -> wake_tick = NEVER
#else
        :: count < room -> wake_tick = NEVER
        :: else -> skip
#endif
        fi
    }
}

#define WITHOUT_WORKER (len(queue) > idle -> len(queue) - idle : 0)

/* elapse__workers_make for one. No other thread sees that the worker counts before it is made. */
inline make_worker()
{
    if
    :: d_step { idle++; workers_made++; refused = false }
    :: d_step { may_refuse || refused ->
            may_refuse = false;
#ifdef MUTANT_REFUSED_COUNTS
            idle++; workers_made++;
            was_refused = true;
#endif
            refused = true }
    fi
}

/* elapse__work_queue_put, and a worker for the first that has none. */
inline put()
{
#ifdef MUTANT_WAKE_BEFORE_PUT
    d_step { see_whom_to_wake() };
#endif
    d_step {
        queue!first;
        if
        :: count > 1 -> queue!(first + 1)
        :: else -> skip
        fi;
#ifndef MUTANT_WAKE_BEFORE_PUT
        see_whom_to_wake();
#endif
        without_worker = WITHOUT_WORKER
    };
    signal_filled();
#ifndef MUTANT_ONE_WORKER
    if
    :: without_worker > 0 && workers_made < WORKERS -> make_worker()
    :: else -> skip
    fi;
#endif
    d_step { first = 0; count = 0; without_worker = 0 }
}

/* make_missing_workers: at most one, since there are only two. */
inline make_missing_workers()
{
#ifndef MUTANT_ONE_WORKER
    if
    :: atomic { WITHOUT_WORKER > 0 && workers_made < WORKERS -> make_worker() }
    :: WITHOUT_WORKER == 0 || workers_made == WORKERS -> refused = false
    fi
#else
    skip
#endif
}

/* clock_main, with elapse__deliver and deliver_and_sleep. */
active proctype clock_thread()
{
    bool refused;
    byte room;
    byte count;
    byte first;
    byte without_worker;
    byte tick;
    bool wake;
    do
    :: true ->
        do
        :: wake_tick <= DUE_TICK ->
            look_for_room();
            if
            :: room == 0 -> tick = NEVER; break
            :: else ->
                take_due();
                if
                :: count > 0 -> put()
                :: else -> skip
                fi
            fi
        :: else -> tick = 0; break
        od;
        room = 1;
        make_missing_workers();
        sleeper_prepare();
        /* elapse__earliest_wakes, unless the queue is full */
#ifndef MUTANT_FULL_AND_AWAKE
        if
        :: tick == 0 -> tick = wake_tick
        :: else -> skip
        fi;
#else
        tick = wake_tick;
#endif
        sleeper_sleep(tick);
        d_step { tick = 0; refused = false }
    od
}

/* ---- the workers ---- */

/* What elapse__work_queue_take does once there is a handle. */
inline take_handle()
{
    queue?handle;
#ifndef MUTANT_IDLE_STAYS
    idle--;
#endif
    kick = clock_waits && len(queue) <= CAPACITY / 2;
    clock_waits = clock_waits && !kick;
#ifndef MUTANT_NO_CHAIN
    see_whom_to_wake()
#endif
}

/* What a worker does when it has the lock, at first and each time that it was woken. */
inline take_or_wait()
{
    if
    :: nempty(queue) -> take_handle()
    :: empty(queue) ->
        asleep_workers++;
        sleeps = true;
#ifndef MUTANT_WAIT_LATE
        waiting++
#endif
    fi
}

#ifdef MUTANT_WAKING_STAYS
#define COME_ROUND asleep_workers--; sleeps = false
#else
#define COME_ROUND asleep_workers--; sleeps = false; waking = false
#endif

/* elapse__work_queue_take. Waiting releases the lock and begins to wait in one step;
 * it ends with having the lock again. */
inline take()
{
    d_step { take_or_wait() };
    do
    :: sleeps ->
#ifdef MUTANT_WAIT_LATE
        waiting++;
#endif
end_idle:
        if
        :: d_step { signalled > 0 -> signalled--; waiting--; COME_ROUND; take_or_wait() }
        :: d_step { may_wake_falsely && waiting > signalled ->
                may_wake_falsely = false; waiting--; COME_ROUND; take_or_wait() }
        fi
    :: else -> break
    od;
    signal_filled()
}

/* worker_main, with elapse__run_queued. */
proctype worker()
{
    byte handle;
    byte tick;
    bool kick;
    bool wake;
    bool sleeps;
    do
    :: true ->
        take();
        if
#ifndef MUTANT_NO_KICK
        :: kick -> sleeper_kick()
#endif
        :: else -> skip
        fi;
        d_step { kick = false; begun[handle]++; assert(begun[handle] == 1) };
        if
        :: handle % 2 == 1 || handle + 1 == tasks -> skip
        :: handle % 2 == 0 && handle + 1 < tasks ->
            begun[handle + 1] > 0 || handle + 1 == tasks
        fi;
        /* elapse__announce */
        d_step { done++; handle = 0; tick = wake_tick };
        sleeper_wake_at(tick);
        /* the beginning of elapse__work_queue_take */
        d_step { tick = 0; idle++ }
    od
}

/* The second one begins when it is made. */
active proctype births()
{
    run worker();
    if
    :: workers_made == 2 && !was_refused -> run worker()
    fi
}

/* ---- a thread of the user ---- */

active proctype schedules()
{
    if
    :: d_step { tasks = EARLY; may_refuse = true }
    :: true -> skip
    fi;
    do
    :: scheduled < tasks ->
        d_step { scheduled++; wake_tick = DUE_TICK };
        sleeper_wake_at(DUE_TICK)
    :: else -> break
    od
}

active proctype at_rest()
{
    timeout ->
    assert(done == tasks);
    assert(asleep && idle == workers_made && empty(queue))
}
