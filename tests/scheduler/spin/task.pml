/*
 * The states of a task, as src/scheduler/task.h draws them, while everybody is at it: a clock
 * thread that finds it due, two workers, a thread that reschedules it twice, one that cancels
 * it, one that cancels it and waits for its end, one that closes the scheduler, and one that
 * makes a new task in the same place once that is free. Cancels of other tasks take the timer of one
 * that is UNLINKING out of the wheel. When a task is due does not matter here: it may be
 * at any time.
 *
 * A handle is the generation of its place in the task table. The work queue holds handles, also
 * such as are out of date, and the same one more than once. Each of its places has a number, and the
 * task keeps the number of its newest place. All else is guarded by the lock of the shard, so that
 * one holding of it is one step.
 *
 * Shown: an action begins only if no cancel has said that it will not, never twice at once, and
 * once for every arming that was not withdrawn; never because of an older place in the queue while there
 * is a newer one, which would be out of order; closing that runs due tasks leaves no task in the
 * queue; each task ends exactly once, and its destructor
 * runs exactly once; after a cancel has said that the action neither runs nor will, it does
 * not; a stale handle does nothing; and everybody comes to an end.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_NO_STATE_CHECK     a worker runs the task that it finds, whatever its state
 *   MUTANT_OLD_PLACE          any place of the task in the queue counts (fault 3)
 *   MUTANT_TWO_STEPS          QUEUED is checked in one holding of the lock, and becomes
 *                             RUNNING in the next
 *   MUTANT_NO_GENERATION      a handle is taken for the task that is in its place now
 *   MUTANT_AGAIN_STAYS        cancel of a running task leaves `runs_again` as it is
 *   MUTANT_CANCELLED_AGAIN    reschedule does not look at `cancelled`
 *   MUTANT_AGAIN_READ_BEFORE  finish looks at `runs_again` in a holding of its own
 *   MUTANT_NO_BROADCAST       the end of a task does not wake the threads that wait for it
 *   MUTANT_WAIT_ONCE          cancel_wait takes any wake-up for the end
 *   MUTANT_WAIT_LATE          cancel_wait releases the lock before it begins to wait
 *   MUTANT_UNLINKING_IS_DUE   a due timer is taken for that of a task that is pending,
 *                             though the task is UNLINKING
 *   MUTANT_TAKE_OUT_ANY       the task in the place of one that was UNLINKING is taken out, in
 *                             any state
 *   MUTANT_QUEUE_ENDED_FIRST  close ends the queue before it runs due tasks
 *   MUTANT_COLLECT_EARLY      close collects the remaining tasks while there are still workers
 */
#define WORKERS  2
#define CAPACITY 2
#define TASKS    2 /* one after the other in the same place: handles 0 and 1 */

mtype = { FREE, UNLINKING, PENDING, QUEUED, RUNNING };
mtype = { REMOVED, STILL_RUNNING, GONE };

/* The place in the task table, and the shard. */
mtype state = PENDING;
byte generation;
byte entries; /* of this place in the ring of tasks that are UNLINKING, or were */
bool runs_again;
bool cancelled;
bool waited;
bool closed;

/* The condition `ended`, on which one thread waits. */
bool waiting;
bool woken;

/* The work queue, guarded by a lock of its own. */
chan queue = [CAPACITY] of { byte, byte }; /* handle and number */
byte queue_number; /* of the newest place of the task */
byte busy;
bool ending;

bool clock_ending;
bool clock_left;
byte workers_left;

/* What users can see and were promised, for each handle. */
byte acting[TASKS];    /* its action is being called, so many times at once */
bool barred[TASKS];    /* a cancel was answered: the action begins no more */
bool over[TASKS];      /* and is not running either */
bool owed[TASKS] = { true, false }; /* armed, and neither begun nor withdrawn since */
bool ended[TASKS];
bool destroyed[TASKS];
byte made = 1;

#define IN_USE (state != FREE && state != UNLINKING)

/* elapse__shard_find */
#ifdef MUTANT_NO_GENERATION
#define FOUND(handle) IN_USE
#else
#define FOUND(handle) (IN_USE && generation == handle)
#endif

/* end, with elapse__task_revoke: the next handle is another. If its timer is in the wheel still,
 * the place is not free yet. */
inline end_task()
{
    assert(!ended[generation] && !owed[generation] && acting[generation] == 0);
    ended[generation] = true;
    generation++;
    queue_number = 0; /* a place of a stale handle does not count anyway */
    if
    :: state == PENDING -> state = UNLINKING; entries++
    :: else -> state = FREE
    fi
}

/* The destructor runs */
inline destroy(handle)
{
    d_step { assert(!destroyed[handle]); destroyed[handle] = true }
}

/* ---- the clock thread and the workers ---- */

#ifdef MUTANT_UNLINKING_IS_DUE
#define IS_DUE (state == PENDING || state == UNLINKING)
#else
#define IS_DUE (state == PENDING)
#endif

/* elapse__shard_take_due, under the lock, and elapse__work_queue_put after it. Only one
 * thread puts, so that the room that it has seen remains. */
inline deliver_if_due()
{
    d_step { IS_DUE && nfull(queue) ->
        state = QUEUED; queue_number++; due = generation; due_number = queue_number };
    d_step { queue!due, due_number; due = 0; due_number = 0 }
}

/* The same where the due task is UNLINKING. */
inline free_if_due()
{
    d_step { state == UNLINKING -> state = FREE }
}

/* clock_main. It looks at clock_ending only now and then. */
active proctype clock_thread()
{
    byte due;
    byte due_number;
    do
    :: deliver_if_due()
    :: free_if_due()
    :: clock_ending -> break
    od;
    clock_left = true
}

/* elapse__shard_begin */
inline begin()
{
    assert(!barred[generation] && owed[generation]);
    assert(!(queue ?? [eval(generation), _])); /* there is no newer place */
    owed[generation] = false;
    state = RUNNING;
    running = generation
}

/* elapse__shard_finish */
#ifdef MUTANT_AGAIN_READ_BEFORE
#define RUNS_AGAIN run_again
#else
#define RUNS_AGAIN runs_again
#endif
inline finish()
{
    if
    :: RUNS_AGAIN ->
        runs_again = false;
        state = PENDING
    :: else ->
#ifndef MUTANT_NO_BROADCAST
        woken = woken || (waited && waiting);
#endif
        end_task();
        has_ended = true
    fi
}

#ifdef MUTANT_NO_STATE_CHECK
#define MAY_BEGIN FOUND(handle)
#elif defined MUTANT_OLD_PLACE
#define MAY_BEGIN (FOUND(handle) && state == QUEUED)
#else
#define MAY_BEGIN (FOUND(handle) && state == QUEUED && queue_number == number)
#endif

/* elapse__run_queued with run and perform. */
inline run_queued()
{
    if
#ifdef MUTANT_TWO_STEPS
    :: MAY_BEGIN -> d_step { begin() };
#else
    :: d_step { MAY_BEGIN -> begin() };
#endif
        d_step { acting[running]++; assert(acting[running] == 1 && !over[running]) };
        acting[running]--;
#ifdef MUTANT_AGAIN_READ_BEFORE
        run_again = runs_again;
#endif
        d_step { finish() };
        if
        :: has_ended -> destroy(running)
        :: else -> skip
        fi
    :: !MAY_BEGIN -> skip
    fi;
    d_step { running = 0; has_ended = false; handle = 0; number = 0 }
}

/* worker_main. What elapse__work_queue_take does with `busy` when it is called again is
 * here the end of a turn. */
active [WORKERS] proctype worker()
{
    byte handle;
    byte number;
    byte running;
    bool has_ended;
#ifdef MUTANT_AGAIN_READ_BEFORE
    bool run_again;
#endif
    do
    :: ending -> break
    :: d_step { !ending && nempty(queue) -> queue?handle, number; busy++ };
        run_queued();
        busy--
    od;
    workers_left++
}

/* ---- threads of the user ---- */

#ifdef MUTANT_CANCELLED_AGAIN
#define REFUSED_AGAIN false
#else
#define REFUSED_AGAIN cancelled
#endif

/* elapse__shard_reschedule */
inline reschedule(handle)
{
    d_step {
        if
        :: closed || !FOUND(handle) || (state == RUNNING && REFUSED_AGAIN) -> skip
        :: else ->
            assert(!barred[handle] && !ended[handle]);
            owed[handle] = true;
            if
            :: state == RUNNING -> runs_again = true
            :: else -> state = PENDING
            fi
        fi
    }
}

active proctype reschedules()
{
#ifndef SHORT
    reschedule(0);
#endif
    reschedule(0)
}

/* elapse__shard_cancel, withdraw_again included, to be done in one step. */
inline cancel_under_lock(handle)
{
    if
    :: !FOUND(handle) ->
        answer = GONE;
        over[handle] = true
    :: FOUND(handle) && state == RUNNING ->
        assert(!ended[handle]);
        answer = STILL_RUNNING;
#ifndef MUTANT_AGAIN_STAYS
        runs_again = false;
#endif
        owed[handle] = false;
        cancelled = true
    :: else ->
        assert(!ended[handle]);
        answer = REMOVED;
        over[handle] = true;
        owed[handle] = false;
        end_task()
    fi;
    barred[handle] = true;
    assert(!over[handle] || acting[handle] == 0)
}

/* elapse_task_cancel */
active proctype cancels()
{
    mtype answer;
    d_step { cancel_under_lock(0) };
    if
    :: answer == REMOVED -> destroy(0)
    :: else -> skip
    fi
}

#ifdef MUTANT_WAIT_ONCE
#define HAS_ENDED true
#else
#define HAS_ENDED !FOUND(0)
#endif

/* What wait_for does with the lock, first and after each wake-up. */
inline look(time_is_up)
{
    waiting = false;
    woken = false;
    if
    :: HAS_ENDED ->
        answer = GONE;
        over[0] = true;
        assert(acting[0] == 0)
    :: else ->
        if
        :: !time_is_up ->
            waited = true;
#ifndef MUTANT_WAIT_LATE
            waiting = true
#endif
        :: else -> waits = false
        fi
    fi
}

/* elapse_task_cancel_wait and wait_for, with or without a time-out. Waiting releases the lock
 * and begins to wait in one step; it ends when woken, or once for no reason. */
active proctype cancels_and_waits()
{
    mtype answer;
    bool waits = true;
    bool has_timeout;
    bool may_wake_falsely = true;
    if
    :: has_timeout = true
    :: has_timeout = false
    fi;
    d_step {
        cancel_under_lock(0);
        if
        :: answer == STILL_RUNNING ->
            waited = true;
#ifndef MUTANT_WAIT_LATE
            waiting = true
#endif
        :: else -> skip
        fi
    };
    do
    :: waits && answer == STILL_RUNNING ->
#ifdef MUTANT_WAIT_LATE
        waiting = true;
#endif
        if
        :: d_step { woken -> look(false) }
        :: d_step { may_wake_falsely -> may_wake_falsely = false; look(false) }
        :: d_step { has_timeout -> look(true) }
        fi
    :: else -> break
    od;
    if
    :: answer == REMOVED -> destroy(0)
    :: else -> skip
    fi
}

#ifdef MUTANT_TAKE_OUT_ANY
#define MAY_TAKE_OUT true
#else
#define MAY_TAKE_OUT (state == UNLINKING)
#endif

/* unlink_task, when enough other tasks are cancelled; or elapse__shard_unlink_all. */
active proctype cancels_others()
{
end_idle:
    do
    :: d_step { entries > 0 ->
            entries--;
            if
            :: MAY_TAKE_OUT -> state = FREE
            :: else -> skip
            fi }
    od
}

/* elapse__shard_admit: takes the place again when it is free. */
active proctype schedules_anew()
{
    if
    :: d_step { !closed && state == FREE && generation == 1 ->
            state = PENDING; owed[1] = true; made = 2;
            runs_again = false; cancelled = false; waited = false }
    :: closed -> skip
    fi
}

/* ---- closing ---- */

/* elapse__work_queue_wait_quiet */
#define QUIET (busy == 0 && empty(queue))

/* close_as: elapse__work_queue_end, close_shards, elapse__clock_thread_end, run_due_tasks,
 * elapse__workers_end, collect_all. */
active proctype closes()
{
    byte due;
    byte due_number;
    bool drops;
    if
    :: atomic { drops = true; ending = true }; /* ELAPSE_CLOSE_DROP */
        closed = true
#ifdef MUTANT_QUEUE_ENDED_FIRST
    :: ending = true;
        closed = true
#else
    :: closed = true /* ELAPSE_CLOSE_RUN_DUE */
#endif
    fi;
    clock_ending = true;
    clock_left;
    if
    :: drops -> skip
    :: !drops ->
        do
        :: deliver_if_due(); QUIET
        :: true -> break
        od;
        QUIET
    fi;
    ending = true;
#ifndef MUTANT_COLLECT_EARLY
    workers_left == WORKERS;
#endif
    due = generation;
    if
    :: d_step { IN_USE ->
            assert(state != RUNNING && (drops || state != QUEUED));
            owed[generation] = false; end_task() };
        destroy(due)
    :: !IN_USE -> skip
    fi
}

active proctype at_rest()
{
    timeout ->
    assert(!IN_USE && generation == made && workers_left == WORKERS);
    assert(ended[0] && destroyed[0] && !owed[0]);
    assert(made == 1 || (ended[1] && destroyed[1] && !owed[1]))
}
