/*
 * Pull mode: src/scheduler/pull.c, with the sleeper of sleeper.h, and how close.c ends it.
 *
 * Threads take, one task at a time, and time passes whenever it likes. What happens besides is one
 * of these:
 *
 *   CLOSED        the scheduler is closed at any time; the shard may be closed before, and its tasks
 *                 taken first (ELAPSE_CLOSE_RUN_DELAYED)
 *   TWO_TASKS     after the first task has been scheduled there is a second, for any tick
 *   THREE_TAKERS  more than one waits for the turn to sleep
 *
 * Two threads take, in THREE_TAKERS three. They wait in take: one without end, again and again
 * until take returns that the scheduler is closed; the others once, until they give up, which they do
 * when they like, or not at all. Or both wait by the descriptor and then take without waiting:
 * one again and again, one once. Where these meet with CLOSED, the task is scheduled while the
 * scheduler is started and closed, elsewhere the first one before it is started.
 *
 * Shown: no deadline that a call of schedule has returned for is slept through, neither by the thread that
 * sleeps for all nor by those that wait for the descriptor; the turn to sleep is never lost, also if
 * the thread that was woken for it has reached its time-out, and never two have it; one deadline wakes one
 * thread, and another one wakes only because a thread has left with the turn; each task is taken
 * once or collected by closing, and not before its time; closing collects when no thread sleeps and
 * all that was taken is done, wakes all threads that wait in take, and no thread touches the alarms
 * after it; and, by the search for cycles, no thread goes round for ever.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_TURN_KEPT         a thread that gives up does not pass the turn on
 *   MUTANT_NOT_TOLD          the turn is free, and no thread is woken
 *   MUTANT_ALL_TOLD          all threads that wait for the turn are woken (fault 6)
 *   MUTANT_TURN_AT_WAKE      the turn is passed on by each thread that wakes (fault 6)
 *   MUTANT_LATE_LEAVES_TURN  a thread at the end of its time does not take the turn that is free
 *   MUTANT_WAIT_LATE         the lock of pulling is released before the wait for the turn begins
 *   MUTANT_TWO_SLEEP         the turn is taken although another thread has it
 *   MUTANT_NO_ANNOUNCE       schedule does not see to the alarms
 *   MUTANT_START_NOT_ARMED   start does not set the alarms
 *   MUTANT_NOT_ARMED         goes round: a take that does not wait does not set the alarms
 *   MUTANT_ALARM_ROBBED      it does so while somebody sleeps
 *   MUTANT_ALARM_NO_PREPARE  and without making armed_tick NEVER
 *   MUTANT_ALARM_EARLY       and looks for the earliest deadline before that
 *   MUTANT_RESET_LAST        and makes unreadable what went off meanwhile
 *   MUTANT_ALARM_CLOSED      and when closing has begun
 *   MUTANT_CLOSE_NO_KICK     close does not wake the thread that sleeps
 *   MUTANT_SLEEP_CLOSED      a thread that is about to wait does not look whether closing has begun
 *   MUTANT_CLOSE_EARLY       close does not wait until nobody sleeps
 *   MUTANT_CLOSE_SILENT      close does not leave the descriptor readable
 *   MUTANT_NOT_DONE          close does not wait until all that was taken is done
 *   MUTANT_TAKE_CLOSED       a task is taken when closing has begun
 *   MUTANT_DUE_CLOSED        goes round: a thread that finds a due task then looks again
 *   MUTANT_TAKE_REFUSED      goes round: no task is taken out of a closed shard, though closing waits for it
 */
#define SLEEPER_GIVES_UP patience == TIMED -> gave_up = true
#include "sleeper.pml"

#define LAST_TICK 1
#define TASKS     2
#define TAKERS    3
#define CLOSER    TAKERS /* among the threads that wait for the turn */

/* What happens. */
mtype = { CLOSED, TWO_TASKS, THREE_TAKERS };

/* How long a take waits. */
mtype = { ENDLESS, TIMED, AT_ONCE };

/* Of a task. In the wheel of its shard: STARTED, ANNOUNCED. REFUSED is also what there is not in
 * this run. */
mtype = { STARTED, ANNOUNCED, TAKEN, COLLECTED, REFUSED };

mtype stage[TASKS];
byte tick_of[TASKS];

/* The shard. */
byte wake_tick = NEVER;
bool shard_closed;
byte running; /* taken and not done */

bool pull_lock;
bool turn_taken;
bool waiting[TAKERS + 1]; /* for pull_turn */

mtype kind;
bool by_descriptor;
bool closing;
bool closed;
byte at_descriptor; /* so many takers wait for it */
byte left;          /* so many have left */
byte takers = 2;
bool slept_through;
byte wakes_due;     /* threads that have left with the turn, and have woken no other yet */

#define IN_WHEEL(task) (stage[task] == STARTED || stage[task] == ANNOUNCED)

/* pthread_cond_broadcast(&pull_turn), under its lock */
inline tell_all()
{
    waiting[0] = false;
    waiting[1] = false;
    waiting[2] = false;
    waiting[CLOSER] = false;
    wakes_due = (closing -> 0 : wakes_due)
}

/* ---- scheduling ---- */

/* elapse_task_schedule_at for task 1: elapse__shard_admit under the lock, then elapse__announce. */
proctype schedules()
{
    atomic {
        if
        :: tick_of[1] = 0
        :: tick_of[1] = 1
        fi;
        if
        :: shard_closed -> stage[1] = REFUSED; tick_of[1] = NEVER
        :: else ->
            stage[1] = STARTED;
            wake_tick = (tick_of[1] < wake_tick -> tick_of[1] : wake_tick)
        fi
    };
#ifndef MUTANT_NO_ANNOUNCE
    sleeper_wake_at(tick_of[1]);
#endif
    d_step {
        if
        :: stage[1] == STARTED -> stage[1] = ANNOUNCED
        :: else -> tick_of[1] = 0 /* a difference that matters no more */
        fi
    }
}

active proctype time_passes()
{
    do
    :: now < LAST_TICK -> now++
    :: now == LAST_TICK -> break
    od
}

/* ---- taking ---- */

#ifdef MUTANT_TAKE_CLOSED
#define MAY_TAKE true
#elif defined MUTANT_TAKE_REFUSED
#define MAY_TAKE (!shard_closed)
#else
#define MAY_TAKE (!closing)
#endif

#define IS_DUE(task) (IN_WHEEL(task) && tick_of[task] <= now_tick)

inline take_task(task)
{
    if
    :: stage[task] == ANNOUNCED -> tick_of[task] = 0
    :: else -> skip
    fi;
    stage[task] = TAKEN;
    running++;
    got = true
}

/* take_from: one holding of the lock, with at most one access to wake_tick. */
inline take_from()
{
    d_step {
        if
        :: MAY_TAKE && IS_DUE(0) && !(IS_DUE(1) && tick_of[1] < tick_of[0]) -> take_task(0)
        :: MAY_TAKE && IS_DUE(1) && !(IS_DUE(0) && tick_of[0] <= tick_of[1]) -> take_task(1)
        :: MAY_TAKE && !IS_DUE(0) && !IS_DUE(1) ->
            wake_tick = (IN_WHEEL(0) || IN_WHEEL(1) -> LAST_TICK : NEVER) /* it is not due */
        :: !MAY_TAKE -> skip
        fi
    }
}

/* take_due */
inline take_due()
{
    do
    :: wake_tick <= now_tick ->
        take_from();
        if
        :: got -> break
#ifdef MUTANT_DUE_CLOSED
        :: !got -> skip
#else
        :: !got && closing -> break
        :: !got && !closing -> skip
#endif
        fi
    :: wake_tick > now_tick -> break
    od;
    now_tick = 0
}

#ifdef MUTANT_ALARM_ROBBED
#define SOMEBODY_SLEEPS false
#else
#define SOMEBODY_SLEEPS turn_taken
#endif
#ifdef MUTANT_ALARM_CLOSED
#define CLOSING_BEGAN false
#else
#define CLOSING_BEGAN closing
#endif

/* elapse__sleeper_reset */
inline reset()
{
    d_step { assert(!closed); timer = (timer <= now -> NEVER : timer) }
}

/* What set_alarms does under the lock of pulling. */
inline set_under_lock()
{
#ifdef MUTANT_ALARM_EARLY
    earliest = wake_tick; /* elapse__earliest_wakes */
#endif
#ifndef MUTANT_RESET_LAST
    reset();
#endif
#ifndef MUTANT_ALARM_NO_PREPARE
    sleeper_prepare();
#endif
#ifndef MUTANT_ALARM_EARLY
    earliest = wake_tick; /* elapse__earliest_wakes */
#endif
    sleeper_set(earliest);
#ifdef MUTANT_RESET_LAST
    reset();
#endif
    d_step { earliest = 0; pull_lock = false }
}

inline set_alarms()
{
    if
    :: atomic { !pull_lock && (SOMEBODY_SLEEPS || CLOSING_BEGAN) -> skip }
    :: atomic { !pull_lock && !(SOMEBODY_SLEEPS || CLOSING_BEGAN) -> pull_lock = true };
        set_under_lock()
    fi
}

#ifdef MUTANT_TWO_SLEEP
#define MY_TURN true
#else
#define MY_TURN (!turn_taken)
#endif
#ifdef MUTANT_SLEEP_CLOSED
#define MAY_WAIT true
#else
#define MAY_WAIT (!closing)
#endif

/* A thread wakes that waited for the turn. */
inline wake_up()
{
    assert(closing || wakes_due > 0);
    wakes_due = (wakes_due > 0 -> wakes_due - 1 : 0)
}

#ifdef MUTANT_LATE_LEAVES_TURN
#define MAY_HAVE_TURN (!late)
#else
#define MAY_HAVE_TURN true
#endif

/* wait_for_turn. A thread that was woken may reach its time-out before it has the lock again. */
inline wait_for_turn()
{
    do
    :: atomic { !pull_lock && MAY_WAIT && MY_TURN ->
            assert(!turn_taken); turn_taken = MAY_HAVE_TURN; has_turn = MAY_HAVE_TURN; break }
    :: atomic { !pull_lock && !MAY_WAIT -> break }
    :: atomic { !pull_lock && MAY_WAIT && !MY_TURN && late -> break }
    :: atomic { !pull_lock && MAY_WAIT && !MY_TURN && !late ->
#ifdef MUTANT_WAIT_LATE
        skip };
        atomic { true ->
#endif
            waited = true; waiting[me] = true };
end_turn:
        if
        :: atomic { !waiting[me] -> wake_up() }
        :: atomic { !waiting[me] && patience == TIMED -> wake_up(); late = true; gave_up = true }
        :: atomic { waiting[me] && patience == TIMED ->
                waiting[me] = false; late = true; gave_up = true }
        fi
    od;
    late = false
}

/* pthread_cond_signal(&pull_turn): any of the threads that wait */
inline tell_one()
{
    if
    :: waiting[0] -> waiting[0] = false
    :: waiting[1] -> waiting[1] = false
    :: waiting[2] -> waiting[2] = false
    :: waiting[CLOSER] -> waiting[CLOSER] = false
    :: !waiting[0] && !waiting[1] && !waiting[2] && !waiting[CLOSER] ->
        wakes_due = (wakes_due > 0 -> wakes_due - 1 : 0)
    fi
}

#ifdef MUTANT_TURN_KEPT
#define TURN_KEPT gave_up
#else
#define TURN_KEPT false
#endif
#ifdef MUTANT_ALL_TOLD
#define TELL_ALL true
#else
#define TELL_ALL closing
#endif

/* pass_turn_on */
inline pass_turn_on()
{
    atomic { !pull_lock ->
        assert(turn_taken);
        turn_taken = TURN_KEPT;
        has_turn = false;
#ifndef MUTANT_NOT_TOLD
        if
        :: TELL_ALL -> tell_all()
        :: !TELL_ALL -> tell_one()
        fi
#endif
    }
}

/* elapse_task_take_batch for one task, with take_or_wait: in the end `got`, or `told` that it is
 * closed, or neither. */
inline take()
{
    gave_up = patience == AT_ONCE;
    do
    :: atomic { closing -> told = true; break }
    :: atomic { !closing -> now_tick = now };
        take_due();
        if
        :: got -> break
        :: atomic { !got && closing -> told = true; break }
        :: !got && !closing -> skip
        fi;
#ifndef MUTANT_NOT_ARMED
        if
        :: patience == AT_ONCE -> set_alarms()
        :: else -> skip
        fi;
#endif
        if
        :: patience == TIMED -> gave_up = true /* it may have been too long */
        :: true -> skip
        fi;
        if
        :: gave_up -> break
        :: else -> skip
        fi;
        if
        :: !has_turn -> wait_for_turn()
        :: else -> skip
        fi;
        if
        :: has_turn && !waited ->
            sleeper_prepare();
            earliest = wake_tick; /* elapse__earliest_wakes */
            assert(!closed && !asleep);
            sleeper_sleep(earliest);
            earliest = 0;
#ifdef MUTANT_TURN_AT_WAKE
            pass_turn_on();
#endif
        :: else -> skip
        fi;
        waited = false
    od;
    if
    :: has_turn -> d_step { wakes_due++ }; pass_turn_on()
    :: else -> skip
    fi;
    gave_up = false
}

/* elapse_task_done */
inline done()
{
    d_step { assert(running > 0); running--; got = false }
}

inline wait_for_descriptor()
{
    at_descriptor++;
end_descriptor:
    atomic { timer <= now -> at_descriptor-- }
}

proctype taker(byte me; mtype patience)
{
    byte now_tick;
    byte earliest;
    bool due;
    bool got;
    bool more; /* until take returns that no task is due */
    bool told;
    bool gave_up;
    bool has_turn;
    bool waited; /* for the turn */
    bool late;   /* its time was over before it had the turn */
    do
    :: true ->
        if
        :: by_descriptor && !more -> wait_for_descriptor()
        :: else -> skip
        fi;
        take();
        if
        :: told -> break
        :: else -> more = got
        fi;
        if
        :: got -> done()
        :: else -> skip
        fi;
        if
        :: me != 0 -> break
        :: else -> skip
        fi
    od;
    left++
}

/* Once start has returned. */
inline run_takers()
{
    atomic {
        if
        :: by_descriptor -> run taker(0, AT_ONCE); run taker(1, AT_ONCE)
        :: !by_descriptor -> run taker(0, ENDLESS); run taker(1, TIMED)
        :: !by_descriptor && kind != THREE_TAKERS -> run taker(0, ENDLESS); run taker(1, AT_ONCE)
        fi;
        if
        :: kind == THREE_TAKERS -> run taker(2, TIMED)
        :: kind == CLOSED -> run closes()
        :: else -> skip
        fi
    }
}

/* elapse_scheduler_start, with elapse__pull_start. */
proctype starts()
{
    byte earliest;
#ifndef MUTANT_START_NOT_ARMED
    atomic { !pull_lock -> pull_lock = true };
    set_under_lock();
#endif
    run_takers()
}

/* ---- closing ---- */

/* close_as, with run_delayed and elapse__pull_end. */
proctype closes()
{
    if
    :: shard_closed = true;
       atomic { !IN_WHEEL(0) && !IN_WHEEL(1) && running == 0 -> closing = true }
    :: closing = true
    fi;
    wakes_due = 0;
    shard_closed = true;
#ifndef MUTANT_CLOSE_NO_KICK
    sleeper_kick();
#endif
    atomic { !pull_lock -> tell_all() };
#ifndef MUTANT_CLOSE_EARLY
    do
    :: atomic { !waiting[CLOSER] && !pull_lock && turn_taken -> waiting[CLOSER] = true }
    :: atomic { !waiting[CLOSER] && !pull_lock && !turn_taken -> break }
    od;
#endif
#ifndef MUTANT_CLOSE_SILENT
    /* elapse__sleeper_stay_readable */
    atomic { !sleeper_lock && !pull_lock -> timer = 0; armed_tick = 0 }
#endif
#ifndef MUTANT_NOT_DONE
    running == 0;
#endif
    atomic {
        assert(running == 0);
        if
        :: IN_WHEEL(0) -> stage[0] = COLLECTED; tick_of[0] = 0
        :: else -> skip
        fi;
        if
        :: IN_WHEEL(1) -> stage[1] = COLLECTED; tick_of[1] = 0
        :: else -> skip
        fi
    };
    wake_tick = NEVER;
    atomic { assert(!asleep && !pull_lock); closed = true }
}

/* ---- all of it ---- */

init {
    atomic {
        if
        :: kind = CLOSED
        :: kind = CLOSED; by_descriptor = true
        :: kind = TWO_TASKS; by_descriptor = true
#ifndef SHORT
        :: kind = THREE_TAKERS; takers = 3
#endif
        :: kind = TWO_TASKS
        fi;
        if
        :: kind == CLOSED && by_descriptor -> stage[0] = REFUSED
        :: else -> stage[0] = ANNOUNCED; tick_of[0] = 1; wake_tick = 1
        fi;
        if
        :: kind == TWO_TASKS || (kind == CLOSED && by_descriptor) -> run schedules()
        :: else -> stage[1] = REFUSED
        fi;
        run starts()
    }
}

/* ---- the claims ---- */

#define SLEPT_THROUGH(task) (stage[task] == ANNOUNCED && tick_of[task] < timer)
#define ALL_SLEEP (asleep || (by_descriptor && left + at_descriptor == takers && at_descriptor > 0))

/* Whatever happens meanwhile: once schedule has returned, the alarm that is slept by, or that all
 * wait for, is set for that task's tick or an earlier one. */
active proctype never_slept_through()
{
end_unbroken:
    atomic {
        !closing && ALL_SLEEP && (SLEPT_THROUGH(0) || SLEPT_THROUGH(1)) ->
        slept_through = true;
        assert(!slept_through)
    }
}

/* When nothing moves any more. */
active proctype at_rest()
{
    timeout ->
    assert(stage[0] == TAKEN || stage[0] == REFUSED || (closed && stage[0] == COLLECTED));
    assert(stage[1] == TAKEN || stage[1] == REFUSED || (closed && stage[1] == COLLECTED));
    assert(closing == closed && running == 0 && !pull_lock && !sleeper_lock);
    assert(!closed || left == takers);
    assert(closed || by_descriptor || (left == takers - 1 && asleep && turn_taken));
    assert(closed || !by_descriptor || left + at_descriptor == takers)
}
