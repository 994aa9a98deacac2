/*
 * Workers that leave when they have been idle for long enough: src/scheduler/work_queue.c,
 * workers.c, clock_thread.c, close.c.
 *
 * The clock thread puts tasks into the queue, one at a time, and makes a worker when more are
 * queued than workers are idle; the system may refuse one of them. A worker that waits may find at
 * any moment that its time is up. Then it leaves, if the queue is empty, if more workers are there
 * than must stay, and if none is being made; otherwise it waits without a time limit. A worker that
 * leaves joins the one that left before it. In the end the scheduler is closed: all threads are
 * joined, those that are about to leave included. Before that, it waits until all tasks have run,
 * as closing by RUN_DUE does.
 *
 * Shown: every task runs, none twice; one worker always stays; each thread is joined once, after it
 * was made and after it has ended; a number is free when a worker is to be made; a worker that must
 * stay does not wake up again and again; nobody waits for ever.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_LEAVES_WITH_TASK  a worker whose time is up leaves although the queue has a handle
 *   MUTANT_LEAVES_IN_TWO     a worker decides in one holding of the lock, and stops counting in another
 *   MUTANT_LAST_LEAVES       fewer workers stay than must
 *   MUTANT_COUNTS_ON         a worker that has left still counts as idle
 *   MUTANT_LEAVES_EARLY      a worker leaves while another is being made
 *   MUTANT_JOINS_NOBODY      a worker that leaves does not join the one before it
 *   MUTANT_CLOSE_FORGETS     close does not join the worker that left last
 *   MUTANT_FREE_BEFORE_JOIN  a number is free before its thread was joined
 *   MUTANT_WAKES_AGAIN       goes round: a worker that must stay waits with a time limit again
 *   MUTANT_WAKING_STAYS      a worker whose time is up does not say that it has come round
 */
#define WORKERS  3
#define STAY     1
#ifdef SHORT
#define TASKS    3
#else
#define TASKS    4
#endif
#define NOBODY   255

/* The work queue. A holding of its lock is one step. */
byte queued;      /* handles in it */
byte idle;
byte busy;
byte asleep;
byte waiting;     /* for the condition `filled`; `signalled` of them are woken and have no lock yet */
byte signalled;
bool waking;
bool making;
bool ending;
byte left = NOBODY;
byte done;

/* The threads of workers, by number. */
bool is_used[WORKERS]; /* read without the lock */
bool is_known[WORKERS]; /* thread_start has stored the thread */
bool has_ended[WORKERS];
bool is_joined[WORKERS];
bool has_left[WORKERS]; /* because it was idle */
byte made;
bool may_refuse = true;
bool closed;

#define PRESENT (idle + busy)

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

#define MUST_WAKE (queued > 0 && asleep > 0 && !waking)

/* join_worker */
inline join_worker(number)
{
    assert(is_used[number]);
    assert(is_known[number]);
    assert(!is_joined[number]);
#ifdef MUTANT_FREE_BEFORE_JOIN
    is_used[number] = false;
#endif
    d_step { has_ended[number] -> is_joined[number] = true };
    d_step { is_known[number] = false; is_used[number] = false }
}

/* ---- a worker ---- */

/* let_leave */
inline let_leave()
{
#ifndef MUTANT_COUNTS_ON
    idle--;
#endif
    assert(PRESENT >= STAY);
    assert(queued == 0); /* a handle has as many workers to come as when it was put in */
    has_left[number] = true;
    to_join = left;
    left = number;
    leaves = true
}

#ifdef MUTANT_LEAVES_WITH_TASK
#define NOTHING_CAME true
#else
#define NOTHING_CAME (queued == 0 && !ending)
#endif
#ifdef MUTANT_LAST_LEAVES
#define MAY_LEAVE (PRESENT >= STAY)
#else
#define MAY_LEAVE (PRESENT > STAY)
#endif
#ifdef MUTANT_LEAVES_EARLY
#define IS_MAKING false
#else
#define IS_MAKING making
#endif
#ifdef MUTANT_WAKING_STAYS
#define COME_ROUND waiting--; asleep--; sleeps = false
#else
#define COME_ROUND waiting--; asleep--; sleeps = false; waking = false
#endif

/* elapse__work_queue_take with the lock held: takes a handle, or begins to wait. */
inline take_or_wait()
{
    if
    :: ending -> skip
    :: !ending && queued > 0 ->
        queued--; idle--; busy++;
        has_task = true;
        wake = MUST_WAKE;
        waking = waking || wake
    :: else ->
        asleep++; waiting++;
        sleeps = true
    fi
}

/* wait_until_filled, when the time is up and the worker has the lock again. */
inline time_is_up()
{
    COME_ROUND;
    if
    :: NOTHING_CAME && !IS_MAKING && MAY_LEAVE ->
#ifdef MUTANT_LEAVES_IN_TWO
        decided = true
#else
        let_leave()
#endif
    :: else ->
#ifndef MUTANT_WAKES_AGAIN
        /* `making`: it waits with a limit once more. */
        again = (queued == 0 && !ending && IS_MAKING);
        limited = again;
#endif
        take_or_wait()
    fi
}

proctype worker(byte number)
{
    byte to_join = NOBODY;
    bool wake;
    bool sleeps;
    bool has_task;
    bool leaves;
    bool limited = true;
    bool again;
#ifdef MUTANT_LEAVES_IN_TWO
    bool decided;
#endif
    do
    :: true ->
        d_step {
            if /* come_back */
            :: has_task -> busy--; idle++; has_task = false
            :: else -> skip
            fi;
            limited = true;
            take_or_wait()
        };
        do
        :: sleeps && !again ->
end_idle:
            if
            :: d_step { signalled > 0 -> signalled--; COME_ROUND; take_or_wait() }
            :: d_step { limited && waiting > signalled -> time_is_up() }
            fi
        :: again -> /* no more often than its time passes while a worker is being made */
progress_again:
            again = false
#ifdef MUTANT_LEAVES_IN_TWO
        :: decided -> d_step { decided = false; let_leave() }
#endif
        :: else -> break
        od;
        signal_filled();
        if
        :: has_task ->
            d_step { done++; assert(done <= TASKS) }
        :: else -> break
        fi
    od;
#ifndef MUTANT_JOINS_NOBODY
    if
    :: leaves && to_join != NOBODY -> join_worker(to_join)
    :: else -> skip
    fi;
#endif
    has_ended[number] = true
}

/* ---- the clock thread, and then the thread that closes ---- */

/* free_number */
inline find_number()
{
    if
    :: !is_used[0] -> number = 0
    :: is_used[0] && !is_used[1] -> number = 1
    :: is_used[0] && is_used[1] && !is_used[2] -> number = 2
    :: else ->
        d_step { number = left; left = NOBODY };
        assert(number != NOBODY);
        join_worker(number)
    fi
}

/* make_worker. The thread runs before thread_start has stored it. */
inline make_worker()
{
    find_number();
    d_step { making = true; idle++; is_used[number] = true };
    if
    :: atomic {
        has_left[number] = false;
        is_joined[number] = false;
        has_ended[number] = false;
        made++;
        run worker(number) };
        is_known[number] = true;
        making = false
    :: d_step { may_refuse && made > 0 ->
        may_refuse = false;
        is_used[number] = false;
        making = false; idle-- }
    fi;
    number = 0
}

#define WITHOUT_WORKER (queued > idle)

active proctype clock_thread()
{
    byte number;
    byte put;
    bool wake;
    do
    :: made == 0 || (WITHOUT_WORKER && PRESENT < WORKERS) ->
        make_worker() /* by start; for a task; or again, after a refusal */
    :: else ->
        if
        :: put == TASKS -> break
        :: else ->
            d_step {
                queued++;
                put++;
                wake = MUST_WAKE;
                waking = waking || wake
            };
            signal_filled()
        fi
    od;
    /* elapse__work_queue_wait_quiet */
    busy == 0 && queued == 0;
    assert(done == TASKS);
    /* elapse__workers_end */
    d_step { ending = true; signalled = waiting };
#ifndef MUTANT_CLOSE_FORGETS
    d_step { number = left; left = NOBODY };
    if
    :: number != NOBODY -> join_worker(number)
    :: else -> skip
    fi;
#endif
    number = 0;
    do
    :: number < WORKERS ->
        if
        :: is_used[number] ->
            assert(!has_left[number]); /* all but one of these are joined already */
            join_worker(number)
        :: else -> skip
        fi;
        number++
    :: else -> break
    od;
    assert(left == NOBODY);
    assert(busy == 0 && asleep == 0);
    closed = true
}

/* Nobody is left, and nothing. */
active proctype at_rest()
{
    timeout ->
    assert(closed);
    assert(!is_used[0] && !is_used[1] && !is_used[2])
}
