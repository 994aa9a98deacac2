/*
 * Leases in pull mode: src/scheduler/lease.c, pull.c, close.c.
 *
 * Two tasks with one key are due, so the second waits until the first has ended. Two threads take;
 * one of them may die with a task, once, and each may be late: it says that it is done after its
 * lease has expired, or when the other has taken the task already. A thread may extend its lease,
 * another one may cancel a task that is taken, and in the end the scheduler is closed, which may
 * come at any time. A lease lasts a tick. It begins in a holding of the lock of its own, after the
 * one that takes the task: a thread that takes a batch takes from other shards in between, and any
 * time may pass.
 *
 * Shown: a task that is held is handed out to nobody else, nor is one whose batch is not complete; done and extending answer GONE to a
 * thread that holds the task no more; each task ends once, a cancelled one is not handed out again,
 * and a dead thread keeps neither its task nor its key; a thread that sleeps wakes up for the end
 * of a lease; close waits for the threads that hold a task, and not for a dead one.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_DONE_LATE         done counts although the lease has expired
 *   MUTANT_DONE_BY_HANDLE    done counts although the task was taken by another thread meanwhile
 *   MUTANT_EXTEND_LATE       a lease that has expired can be extended
 *   MUTANT_DEAD_KEEPS        goes round: a take does not look for leases that have expired
 *   MUTANT_FINISHING_TAKEN   a task that is being finished is still in the list of leases
 *   MUTANT_CANCELLED_TAKEN   a cancelled task whose lease has expired is handed out again
 *   MUTANT_NO_WAKE           nobody wakes up for the end of a lease
 *   MUTANT_CLOSE_WAITS       close waits for leases that have expired
 *   MUTANT_CLOSE_TAKES       close does not wait for leases that are held
 *   MUTANT_LEASE_AT_TAKING   a lease begins when its task is taken, and the take goes on
 *   MUTANT_CLOSE_NOT_TOLD    close waits for a task without a lease, and is not told when that begins
 */
#define TASKS 2
#ifdef SHORT
#define LAST  1 /* the clock stops */
#else
#define LAST  2
#endif
#define NEVER 255

mtype = { DUE, RUNNING, FINISHING, GONE };

byte now;

/* The shard. A holding of its lock is one step. */
mtype state[TASKS] = DUE;
bool cancelled[TASKS];
byte number[TASKS];    /* how often it was taken */
byte until[TASKS];     /* while it is in the list of leases; 0: it is not in it */
byte wake_tick;
bool closed;
bool told;             /* `ended` of the shard: close looks again */

byte ended[TASKS];
bool may_die = true;
bool may_extend = true;
byte holder[TASKS];    /* the thread to which it was handed out last, from 1 */
bool collected;

/* A task that was taken and whose lease has not begun, or has not expired. */
#define IS_HELD(t) (state[t] == RUNNING && (until[t] == 0 || until[t] > now))
#define HAS_EXPIRED(t) (until[t] > 0 && until[t] <= now)
#define KEY_IS_FREE(t) (state[1 - t] != RUNNING && state[1 - t] != FINISHING)

/* elapse__shard_finish of what does not run again */
inline end_task(t)
{
    state[t] = GONE;
    until[t] = 0;
    ended[t]++;
    assert(ended[t] == 1);
    told = true;
    wake_tick = 0 /* the other one may have waited for the key */
}

/* elapse__lease_begin */
inline begin_lease(t)
{
    until[t] = now + 1;
#ifndef MUTANT_NO_WAKE
    wake_tick = (until[t] < wake_tick -> until[t] : wake_tick);
#endif
#ifndef MUTANT_CLOSE_NOT_TOLD
    told = true
#endif
}

/* add_begun: describing what was taken */
inline hand_out(t)
{
    assert(KEY_IS_FREE(t));
    assert(state[t] != FINISHING);
    state[t] = RUNNING;
    number[t]++;
    until[t] = 0;
#ifdef MUTANT_LEASE_AT_TAKING
    begin_lease(t);
#endif
    holder[t] = _pid;
    mine = number[t];
    task = t
}

#ifdef MUTANT_NO_WAKE
#define LEASE_WAKES(t) false
#else
#define LEASE_WAKES(t) (until[t] > 0)
#endif

/* elapse__shard_note_next */
inline note_next()
{
    wake_tick = NEVER;
    if
    :: LEASE_WAKES(0) -> wake_tick = until[0]
    :: else -> skip
    fi;
    if
    :: LEASE_WAKES(1) && until[1] < wake_tick -> wake_tick = until[1]
    :: else -> skip
    fi
}

/* take_one: a lease that has expired, or a due task. One step; at most one of the two tasks can
 * have a lease. */
inline take_one()
{
    task = NEVER;
    more = false;
    if
    :: closed -> skip
#ifndef MUTANT_DEAD_KEEPS
#ifdef MUTANT_CANCELLED_TAKEN
    :: !closed && HAS_EXPIRED(0) -> assert(!cancelled[0]); hand_out(0)
    :: !closed && HAS_EXPIRED(1) -> assert(!cancelled[1]); hand_out(1)
#else
    :: !closed && HAS_EXPIRED(0) && !cancelled[0] -> hand_out(0)
    :: !closed && HAS_EXPIRED(1) && !cancelled[1] -> hand_out(1)
    :: !closed && HAS_EXPIRED(0) && cancelled[0] -> end_task(0); more = true
    :: !closed && HAS_EXPIRED(1) && cancelled[1] -> end_task(1); more = true
#endif
#endif
    :: !closed && state[0] == DUE && KEY_IS_FREE(0) -> hand_out(0)
    :: !closed && state[0] != DUE && state[1] == DUE && KEY_IS_FREE(1) -> hand_out(1)
    :: else -> note_next()
    fi
}

/* find_taken */
#ifdef MUTANT_DONE_LATE
#define HOLDS (state[task] == RUNNING && number[task] == mine)
#elif defined(MUTANT_DONE_BY_HANDLE)
#define HOLDS (state[task] == RUNNING && until[task] > now)
#else
#define HOLDS (state[task] == RUNNING && number[task] == mine && until[task] > now)
#endif
#ifdef MUTANT_EXTEND_LATE
#define MAY_EXTEND (state[task] == RUNNING && number[task] == mine)
#else
#define MAY_EXTEND HOLDS
#endif
/* What has to be so when one of them says yes. */
#define TRULY_HOLDS (holder[task] == _pid && number[task] == mine && until[task] > now)

active [2] proctype taker()
{
    byte task;
    byte mine;
    bool more;
    bool holds;
    do
    :: closed -> break
    :: !closed ->
        d_step { take_one() };
        if
        :: task == NEVER && !more ->
            /* the sleep: until wake_tick, or close */
end_asleep:
            wake_tick <= now || closed
        :: task == NEVER && more -> more = false
        :: task != NEVER ->
            /* begin_leases */
            d_step {
                assert(state[task] == RUNNING && number[task] == mine);
                begin_lease(task)
            };
            if
            :: d_step { may_die && until[task] <= LAST -> may_die = false; mine = 0; task = 0 };
                break
            :: d_step { may_extend && MAY_EXTEND && now + 1 <= LAST ->
                assert(TRULY_HOLDS);
                until[task] = now + 1;
                may_extend = false }
            :: true -> skip
            fi;
            /* finish_taken: in two holdings of the lock */
            d_step {
                holds = HOLDS;
                assert(!holds || TRULY_HOLDS);
                mine = 0;
                if
                :: holds ->
                    state[task] = FINISHING;
#ifndef MUTANT_FINISHING_TAKEN
                    until[task] = 0
#endif
                :: else -> task = 0
                fi
            };
            if
            :: d_step { holds -> assert(!collected); end_task(task); holds = false; task = 0 }
            :: else -> skip
            fi
        fi
    od
}

active proctype clock()
{
    do
    :: now < LAST -> now++
    :: else -> break
    od
}

active proctype canceller()
{
    if
    :: d_step { state[0] == RUNNING -> cancelled[0] = true }
    :: true -> skip
    fi
}

#ifdef MUTANT_CLOSE_WAITS
#define ANY_HELD (state[0] == RUNNING || state[1] == RUNNING || state[0] == FINISHING || state[1] == FINISHING)
#elif defined(MUTANT_CLOSE_TAKES)
#define ANY_HELD (state[0] == FINISHING || state[1] == FINISHING)
#else
#define ANY_HELD (IS_HELD(0) || IS_HELD(1) || state[0] == FINISHING || state[1] == FINISHING)
#endif

/* leases_until_ns: when the last lease of the list ends */
#ifdef MUTANT_CLOSE_WAITS
#define LEASES_UNTIL NEVER
#else
#define LATER_LEASE (until[0] > until[1] -> until[0] : until[1])
#define LEASES_UNTIL (LATER_LEASE == 0 -> NEVER : LATER_LEASE)
#endif

/* It may come before the tasks have run, or when there is nothing left to do. */
active proctype closer()
{
    byte t;
    byte limit;
    bool early;
    if
    :: true -> early = true
    :: true -> skip
    fi;
    early || (ended[0] == 1 && ended[1] == 1);
    closed = true;
    /* wait_for_takers; what has expired and was cancelled is ended there */
    do
    :: d_step { ANY_HELD -> told = false; limit = LEASES_UNTIL };
        told || now >= limit
    :: d_step { !ANY_HELD -> collected = true; limit = 0 };
        break
    od;
    do
    :: t < TASKS ->
        d_step {
            assert(!IS_HELD(t));
            if
            :: state[t] != GONE -> end_task(t)
            :: else -> skip
            fi;
            t++
        }
    :: else -> break
    od
}

active proctype at_rest()
{
    timeout ->
    assert(ended[0] == 1 && ended[1] == 1)
}
