/*
 * Waiting for a task to end: src/scheduler/wait.c, shard_steps.c, callback.c, cancel.c.
 *
 * One task runs, perhaps once more, and ends: because its action has returned, or because it was
 * cancelled before it began. The thread that ends it calls its destructor without a lock, and then
 * takes the lock to say so. Two threads wait for it at any time, and one of them may have cancelled
 * it before, as a program does that unloads a module.
 *
 * Shown: when a wait returns, the action does not run and never will, and the destructor has
 * returned; every wait returns.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_NO_DESTRUCTOR     a wait is over when the task has ended, whatever its destructor does
 *   MUTANT_MARK_AFTERWARDS   the mark that a thread waits is made in a holding of the lock of its own
 *   MUTANT_MARK_TASK_ONLY    a thread that comes during the destructor makes no mark
 *   MUTANT_MARK_LOST         the mark is lost when the task runs again
 *   MUTANT_SAID_EARLY        the end of the destructor is said before it is called
 *   MUTANT_ONE_WOKEN         the end wakes one of the threads that wait
 *   MUTANT_WAIT_LATE         a thread releases the lock before it begins to wait
 */
#define WAITERS 2

mtype = { PENDING, RUNNING, GONE };

/* The shard. A holding of its lock is one step. */
mtype state = PENDING;
bool cancelled;
bool waited;          /* of the task */
bool is_ending;       /* it is in the list of those that are being destroyed */
bool ending_waited;   /* its mark there */
bool runs_again;
byte waiting;         /* for the condition `ended` */
byte woken;           /* of these: they take the lock next */

bool in_action;
bool destroyed;       /* the destructor has returned */
byte returned;

inline broadcast()
{
#ifdef MUTANT_ONE_WOKEN
    woken = (waiting > woken -> woken + 1 : woken)
#else
    woken = waiting
#endif
}

/* elapse__shard_end, with note_destroying */
inline end_task()
{
    state = GONE;
    is_ending = true;
    ending_waited = waited;
    if
    :: waited -> broadcast()
    :: else -> skip
    fi
}

/* elapse__shard_note_destroyed */
inline note_destroyed()
{
    d_step {
        is_ending = false;
        if
        :: ending_waited -> broadcast()
        :: else -> skip
        fi
    }
}

/* elapse__ended_task_dispose. No lock is held. */
inline dispose()
{
#ifdef MUTANT_SAID_EARLY
    note_destroyed();
#endif
    destroyed = true;
#ifndef MUTANT_SAID_EARLY
    note_destroyed()
#endif
}

/* run, in run.c */
active proctype worker()
{
    bool ends;
    do
    :: atomic { state == PENDING -> state = RUNNING; runs_again = false };
        in_action = true;
        in_action = false;
        d_step {
            if
            :: runs_again && !cancelled ->
                state = PENDING;
#ifdef MUTANT_MARK_LOST
                waited = false
#endif
            :: else -> end_task(); ends = true
            fi
        };
        if
        :: ends -> dispose(); break
        :: else -> skip
        fi
    :: state == GONE -> break
    od
}

/* A thread that may have the running task run once more. */
active proctype mover()
{
    if
    :: d_step { state == RUNNING && !cancelled -> runs_again = true }
    :: true -> skip
    fi
}

/* elapse__shard_cancel, and the destructor of what was removed */
inline cancel()
{
    d_step {
        if
        :: state == PENDING -> end_task(); removed = true
        :: state == RUNNING -> cancelled = true; runs_again = false
        :: else -> skip
        fi
    };
    if
    :: removed -> dispose()
    :: else -> skip
    fi
}

/* is_over: it tells, and makes the mark. */
inline look()
{
    if
    :: state != GONE ->
        over = false;
#ifndef MUTANT_MARK_AFTERWARDS
        waited = true
#endif
#ifndef MUTANT_NO_DESTRUCTOR
    :: state == GONE && is_ending ->
        over = false;
#ifndef MUTANT_MARK_TASK_ONLY
        ending_waited = true
#endif
#endif
    :: else -> over = true
    fi
}

inline look_and_wait()
{
    look();
#ifndef MUTANT_WAIT_LATE
    if
    :: !over -> waiting++
    :: else -> skip
    fi
#endif
}

/* elapse_task_wait. The first of these cancels the task before. */
active [WAITERS] proctype waiter()
{
    bool over;
    bool removed;
    if
    :: _pid % 2 == 0 -> cancel()
    :: true -> skip
    fi;
    d_step { look_and_wait() };
    do
    :: !over ->
#ifdef MUTANT_WAIT_LATE
        waiting++;
#endif
#ifdef MUTANT_MARK_AFTERWARDS
        waited = true;
#endif
        d_step { woken > 0 -> woken--; waiting--; look_and_wait() }
    :: else -> break
    od;
    assert(state == GONE && !in_action && destroyed);
    returned++
}

active proctype at_rest()
{
    timeout ->
    assert(returned == WAITERS);
    assert(waiting == 0)
}
