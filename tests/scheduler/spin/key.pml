/*
 * Tasks with one key: src/scheduler/shard_schedule.c, shard_change.c, shard_run.c, shard_steps.c,
 * callback.c, close.c.
 *
 * Task 0 has the key and recurs at most twice. Another thread schedules task 1 with the same key,
 * replacing the pending task, and then cancels it; a third thread schedules task 2, which replaces the
 * pending task or keeps it; a fourth one moves task 0 twice, or closes the scheduler and lets all tasks
 * run. Two workers run due tasks. Either all tasks have destructors, or none has. The lock of the shard
 * guards everything, so one holding of it is one step.
 *
 * Shown: with one key no two actions run at once, and none begins while a destructor runs; a task that was
 * replaced never begins again, not even if its successor was cancelled; the key names the task
 * that is pending, and there is at most one; `pending` counts it, and its count is 0 in the end;
 * each task ends once and is destroyed once; a task that waits for the key runs; and the
 * key is dropped in the end, and not while it is in use. Closing leaves no task that waits for the key.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_REVIVED         a task that was replaced while it ran may be moved (fault 5)
 *   MUTANT_REPLACED_AGAIN  a task that was replaced while it ran recurs
 *   MUTANT_BESIDE          a task that runs may be moved while its successor is pending
 *   MUTANT_KEY_NOT_HELD    a task begins while a destructor runs
 *   MUTANT_RUNS_BESIDE     a task begins while another one with its key runs
 *   MUTANT_NOT_STARTED     a task that waits is not started when the action returns
 *   MUTANT_NOT_RELEASED    it is not started when the destructor returns
 *   MUTANT_KEY_DROPPED     the key is dropped when a task ends, although it is in use
 *   MUTANT_COUNTED_TWICE   replacing a task counts the new one as well
 *   MUTANT_CLOSE_DROPS     close does not look for a task that waits while a destructor runs
 *   MUTANT_CLOSE_NOT_TOLD  it does, and the end of the destructor does not wake it
 *   MUTANT_CLOSE_LATE      it looks how many keys were released after it has seen that a task waits
 */
#define TASKS 3
#define NOBODY 9

mtype = { UNMADE, PENDING, WAITING, QUEUED, RUNNING, ENDED };

bool have_destructors;
mtype state[TASKS] = UNMADE;
bool runs_again[TASKS];
bool cancelled[TASKS];
byte occurrences = 2; /* of task 0, left */

/* The key, while it is in the index. */
bool key_exists = true;
byte key_pending = NOBODY;
byte key_running = NOBODY;
byte key_destroying;

byte pending;
bool moved; /* the task that runs was rescheduled meanwhile */
byte busy;  /* workers that have a task */

bool closes;
bool closed; /* and all tasks are to run */
bool clock_ended;
bool collected;
byte keys_released;

/* What users were promised. */
byte acting;             /* actions under way */
byte destructing;        /* destructors under way */
bool replaced[TASKS];    /* and so never begins again */
bool destroyed[TASKS];

#define NOT_RUNNING(task) \
    (state[task] == PENDING || state[task] == WAITING || state[task] == QUEUED)
#define IS_PENDING(task) (NOT_RUNNING(task) || (state[task] == RUNNING && runs_again[task]))
#ifdef MUTANT_KEY_NOT_HELD
#define IN_USE (key_running != NOBODY)
#elif defined MUTANT_RUNS_BESIDE
#define IN_USE (key_destroying > 0)
#else
#define IN_USE (key_running != NOBODY || key_destroying > 0)
#endif

/* What holds whenever the lock is released. */
inline check()
{
    assert(pending == IS_PENDING(0) + IS_PENDING(1) + IS_PENDING(2));
    assert(pending <= 1 && (pending == 1) == (key_pending != NOBODY));
    assert(key_exists || (pending == 0 && key_running == NOBODY && key_destroying == 0))
}

/* ---- steps under the lock ---- */

/* elapse__shard_end. Its destructor must follow. */
inline end_task(task)
{
    assert(state[task] != ENDED && !runs_again[task]);
    state[task] = ENDED;
    destroyed[task] = !have_destructors;
    key_destroying = key_destroying + have_destructors
}

/* elapse__shard_drop_idle_key */
inline drop_idle_key()
{
    if
#ifdef MUTANT_KEY_DROPPED
    :: key_pending == NOBODY -> key_exists = false
    :: key_pending != NOBODY -> skip
#else
    :: key_pending == NOBODY && key_running == NOBODY && key_destroying == 0 ->
        assert(key_exists);
        key_exists = false
    :: else -> skip
#endif
    fi
}

/* elapse__shard_start_waiting */
inline start_waiting()
{
    if
    :: key_pending != NOBODY && !IN_USE ->
        if
        :: state[key_pending] == WAITING -> state[key_pending] = PENDING
        :: else -> skip
        fi
    :: else -> skip
    fi
}

/* elapse__ended_task_dispose: the destructor, then elapse__shard_release_key and, without the lock,
 * note_released_key. */
inline dispose(task)
{
    d_step { assert(!destroyed[task]); destroyed[task] = true; destructing++ };
    d_step {
        destructing--;
        assert(key_destroying > 0);
        key_destroying--;
#ifndef MUTANT_NOT_RELEASED
        start_waiting();
#endif
        drop_idle_key();
        tells = closed;
        check()
    };
    if
    :: d_step { tells ->
            tells = false;
#ifndef MUTANT_CLOSE_NOT_TOLD
            keys_released++
#endif
        }
    :: else -> skip
    fi
}

/* elapse__shard_cancel_next_run */
inline cancel_next_run(task)
{
    if
    :: runs_again[task] ->
        assert(key_pending == task);
        runs_again[task] = false;
        pending--;
        key_pending = NOBODY
    :: else -> skip
    fi
}

/* ---- workers ---- */

/* elapse__shard_take_due, and then the queue */
inline take_due(task, by_closer)
{
    d_step {
        state[task] == PENDING && clock_ended == by_closer;
        if
        :: IN_USE -> state[task] = WAITING
        :: else -> state[task] = QUEUED
        fi
    }
}

/* elapse__shard_begin */
inline begin(task)
{
    assert(!replaced[task] && !cancelled[task] && key_pending == task);
    assert(acting == 0 && destructing == 0 && key_running == NOBODY);
    state[task] = RUNNING;
    key_pending = NOBODY;
    key_running = task;
    if
    :: task == 0 && occurrences > 0 -> runs_again[task] = true; key_pending = task
    :: else -> pending--
    fi;
    acting++;
    busy++;
    moved = false;
    check()
}

/* elapse__shard_finish */
inline finish(task)
{
    acting--;
    if
    :: runs_again[task] && !moved && (occurrences == 0 || closed) -> cancel_next_run(task)
    :: runs_again[task] && !moved && occurrences > 0 && !closed -> occurrences--
    :: else -> skip
    fi;
    key_running = NOBODY;
    if
    :: runs_again[task] -> runs_again[task] = false; state[task] = PENDING
    :: else ->
        end_task(task);
        ended = task;
#ifndef MUTANT_NOT_STARTED
        start_waiting();
#endif
        drop_idle_key()
    fi;
    check()
}

/* The rest of run: the action returns. */
inline run_on()
{
    d_step { finish(task) };
    if
    :: ended != NOBODY && have_destructors -> dispose(task)
    :: else -> skip
    fi;
    d_step { ended = NOBODY; task = 0; busy-- }
}

proctype worker()
{
    byte task;
    byte ended = NOBODY;
    bool tells;
end_idle:
    do
    :: take_due(0, false)
    :: take_due(1, false)
    :: take_due(2, false)
    :: d_step { state[0] == QUEUED -> task = 0; begin(0) }; run_on()
    :: d_step { state[1] == QUEUED -> task = 1; begin(1) }; run_on()
    :: d_step { state[2] == QUEUED -> task = 2; begin(2) }; run_on()
    od
}

/* ---- threads of the user ---- */

/* replace, in elapse__shard_admit */
inline replace_pending()
{
    old = key_pending;
    key_pending = NOBODY;
    replaced[old] = true;
    if
    :: state[old] == RUNNING ->
#ifndef MUTANT_REPLACED_AGAIN
        runs_again[old] = false;
#endif
#ifndef MUTANT_REVIVED
        cancelled[old] = true;
#endif
        old = NOBODY
    :: else -> end_task(old)
    fi
}

/* elapse__shard_admit; `old`: a task that was replaced and must be destroyed */
inline admit(task, keeps)
{
    d_step {
        if
        :: closed || (key_pending != NOBODY && keeps) ->
            state[task] = ENDED;
            destroyed[task] = true
        :: else ->
            if
            :: key_pending != NOBODY -> replace_pending();
#ifdef MUTANT_COUNTED_TWICE
                pending++
#endif
            :: else -> pending++
            fi;
            key_exists = true;
            key_pending = task;
            state[task] = PENDING
        fi;
        check()
    };
    if
    :: old != NOBODY && have_destructors -> dispose(old)
    :: else -> skip
    fi;
    old = NOBODY
}

/* elapse__shard_cancel, and the destructor */
inline cancel(task)
{
    d_step {
        if
        :: NOT_RUNNING(task) ->
            pending--;
            key_pending = NOBODY;
            old = task;
            end_task(task);
            drop_idle_key()
        :: state[task] == RUNNING -> cancel_next_run(task); cancelled[task] = true
        :: else -> skip
        fi;
        check()
    };
    if
    :: old != NOBODY && have_destructors -> dispose(old)
    :: else -> skip
    fi;
    old = NOBODY
}

proctype replaces_and_cancels()
{
    byte old = NOBODY;
    bool tells;
    admit(1, false);
    cancel(1)
}

proctype keeps_or_replaces()
{
    byte old = NOBODY;
    bool tells;
    bool keeps;
    if
    :: keeps = true
    :: true -> skip
    fi;
    admit(2, keeps)
}

#ifdef MUTANT_BESIDE
#define SUPERSEDED false
#else
#define SUPERSEDED (key_pending != NOBODY && key_pending != 0)
#endif

/* elapse__shard_reschedule for task 0 */
inline reschedule()
{
    d_step {
        if
        :: state[0] == RUNNING && !cancelled[0] && !SUPERSEDED ->
            if
            :: !runs_again[0] -> pending++; runs_again[0] = true; key_pending = 0
            :: else -> skip
            fi;
            moved = true
        :: NOT_RUNNING(0) -> state[0] = PENDING
        :: else -> skip
        fi;
        check()
    }
}

proctype moves()
{
    reschedule();
    reschedule()
}

#define ANY(what) (state[0] == what || state[1] == what || state[2] == what)

/* close_as, with run_tasks and wait_for_keys */
proctype closes_it()
{
    byte before;
    closed = true;
    clock_ended = true;
deliver:
    do
    :: take_due(0, true)
    :: take_due(1, true)
    :: take_due(2, true)
    :: !ANY(PENDING) -> break
    od;
    !ANY(QUEUED) && !ANY(RUNNING) && busy == 0; /* elapse__work_queue_wait_quiet */
#ifndef MUTANT_CLOSE_DROPS
look:
    before = keys_released;
    if
    :: ANY(PENDING) -> goto deliver
    :: else -> skip
    fi;
    if
    :: ANY(WAITING) ->
#ifdef MUTANT_CLOSE_LATE
        before = keys_released;
#endif
        keys_released != before;
        goto look
    :: else -> before = 0
    fi;
#endif
    if
    :: ANY(PENDING) -> goto deliver
    :: else -> skip
    fi;
    d_step { assert(!ANY(WAITING) && !ANY(QUEUED) && !ANY(RUNNING)); collected = true }
}

init {
    atomic {
        if
        :: have_destructors = true
        :: true -> skip
        fi;
        state[0] = PENDING;
        pending = 1;
        key_pending = 0;
        run worker();
        run worker();
        run replaces_and_cancels();
        run keeps_or_replaces();
        if
        :: run moves()
        :: closes = true; run closes_it()
        fi
    }
}

/* When nothing moves any more. */
active proctype at_rest()
{
    timeout ->
    assert(state[0] == ENDED && state[1] == ENDED && state[2] == ENDED);
    assert(destroyed[0] && destroyed[1] && destroyed[2] && destructing == 0);
    assert(pending == 0 && !key_exists && acting == 0 && busy == 0);
    assert(collected == closes)
}
