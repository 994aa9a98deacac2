/*
 * The two wheels of a shard: src/scheduler/shard_run.c, wall_clock_wheel.c, due_search.c, and how
 * pull.c, clock_thread.c and run.c read the clocks for them.
 *
 * Two threads take due tasks out of one shard, as takers do in pull mode and the clock thread does in
 * the other modes, or one thread runs them in order, as step and close do. Tasks by one of the
 * clocks, the load, are due all the time, until the load ends. Beside them there are two tasks by
 * the wall clock, or one by the monotonic clock. The wall clock goes forward whenever it likes and is
 * set back at most twice, though not beside a load by the monotonic clock. If it was set back behind the wheel, the wheel is built anew: its timers
 * are moved into a chain and then back, one timer for each holding of the lock.
 *
 * How a thread sleeps is left to sleep.pml: here it goes on when a wake_tick has come.
 *
 * Shown: no task begins before its time; no due task waits while more than a few of the load
 * begin; the wheel is built anew at most once for each time that the clock was set back; in the end all
 * that is due was taken, so no wake_tick is too late; and, by the search for cycles, no thread
 * looks for due tasks for ever where there are none.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_MONOTONIC_FIRST       a shard looks into the monotonic wheel first, always (fault 1)
 *   MUTANT_WALL_CLOCK_FIRST      it looks into the wall-clock wheel first, always
 *   MUTANT_ORDER_MONOTONIC_FIRST in order, tasks by the monotonic clock come first (fault 1)
 *   MUTANT_READ_BEFORE_LOCK      a thread reads the wall clock before it has the lock (fault 2)
 *   MUTANT_LOOKED_BEFORE         goes round: a thread goes on looking by the time that it read at first
 *   MUTANT_NOT_FOLLOWED          the wheel stays as it is when the clock was set back
 *   MUTANT_NOT_CLIPPED           in order, a deadline counts that the clock was set back from
 *   MUTANT_STARTED_SILENTLY      a task that is started does not lower wake_tick
 */
#define NEVER     9
#define LAST      2 /* the wall clock goes no further */
#define TASKS     2
#define TURNS_MAX 9 /* of the load, while another task is due */

mtype = { STEADY, COLLECTING, PLACING };
mtype = { IDLE, IN_WHEEL, CHAINED, BEGUN };
mtype = { NONE, MORE, TASK };

/* The wall clock. The monotonic clock stands still: all its tasks are due. */
byte wall = 1;
byte set_backs = 2; /* so many times at most */
byte set_back;      /* so many times */

/* The shard. The load is in one of its wheels and counts as due at tick 0. */
bool wall_clock_first;
byte wake_tick = NEVER;
byte wall_wake_tick = NEVER;
mtype stage = STEADY;
byte wheel_now = 1;
byte rebuilt;

mtype where[TASKS] = IDLE;
byte deadline[TASKS];

bool in_order; /* one thread runs the tasks in order */
bool order_wall_clock_first;
bool load = true;
bool load_by_wall_clock;
bool monotonic_waits; /* the task beside a load by the wall clock */
byte behind;          /* so many of the load have begun while another task was due */

#define STARTED(task) (where[task] == IN_WHEEL || where[task] == CHAINED)
/* Due for a thread that looks by the time begun_wall. */
#define DUE(task) (STARTED(task) && deadline[task] <= wall && deadline[task] <= begun_wall)
#define OTHER_DUE (monotonic_waits || DUE(0) || DUE(1))
#define MONOTONIC_DUE (monotonic_waits || (load && !load_by_wall_clock))

/* ---- the wheels, under the lock ---- */

inline begin_load()
{
    due = TASK;
    behind = (OTHER_DUE -> behind + 1 : 0);
    assert(behind <= TURNS_MAX)
}

inline begin_task(task)
{
    assert(deadline[task] <= wall);
    where[task] = BEGUN;
    deadline[task] = 0;
    due = TASK;
    behind = 0
}

/* take_by_monotonic */
inline take_by_monotonic()
{
    if
    :: monotonic -> /* until.monotonic is not NEVER */
        if
        :: monotonic_waits -> monotonic_waits = false; due = TASK; behind = 0
        :: !monotonic_waits && load && !load_by_wall_clock -> begin_load()
        :: else -> skip
        fi
    :: else -> skip
    fi
}

inline collect_one()
{
    if
    :: where[0] == IN_WHEEL -> where[0] = CHAINED
    :: where[0] != IN_WHEEL && where[1] == IN_WHEEL -> where[1] = CHAINED
    :: else -> skip
    fi
}

inline place_one()
{
    if
    :: where[0] == CHAINED -> where[0] = IN_WHEEL
    :: where[0] != CHAINED && where[1] == CHAINED -> where[1] = IN_WHEEL
    :: else -> skip
    fi
}

#ifdef MUTANT_NOT_FOLLOWED
#define BEHIND_WHEEL false
#else
#define BEHIND_WHEEL (now_wall < wheel_now)
#endif

/* elapse__wall_clock_wheel_follow; in the end the stage is STEADY and the wheel is not ahead, or
 * there is more to do. */
inline follow()
{
    if
    :: stage == STEADY && BEHIND_WHEEL ->
        stage = COLLECTING;
        rebuilt++;
        assert(rebuilt <= set_back)
    :: else -> skip
    fi;
    if
    :: stage == COLLECTING ->
        collect_one();
        if
        :: where[0] != IN_WHEEL && where[1] != IN_WHEEL -> stage = PLACING; wheel_now = now_wall
        :: else -> due = MORE
        fi
    :: else -> skip
    fi;
    if
    :: stage == PLACING ->
        place_one();
        if
        :: where[0] != CHAINED && where[1] != CHAINED -> stage = STEADY
        :: else -> due = MORE
        fi
    :: else -> skip
    fi;
    if
    :: stage == STEADY && BEHIND_WHEEL -> due = MORE
    :: else -> skip
    fi
}

#define IN_WHEEL_AND_DUE(task) (where[task] == IN_WHEEL && deadline[task] <= wheel_now)

/* take_by_wall_clock */
inline take_by_wall_clock()
{
    if
    :: until_wall != NEVER ->
        follow();
        if
        :: due == NONE ->
            wheel_now = (until_wall > wheel_now -> until_wall : wheel_now);
            if
            :: load && load_by_wall_clock -> begin_load()
            :: !(load && load_by_wall_clock) && IN_WHEEL_AND_DUE(0) &&
                    !(IN_WHEEL_AND_DUE(1) && deadline[1] < deadline[0]) -> begin_task(0)
            :: !(load && load_by_wall_clock) && IN_WHEEL_AND_DUE(1) &&
                    !(IN_WHEEL_AND_DUE(0) && deadline[0] <= deadline[1]) -> begin_task(1)
            :: else -> skip
            fi
        :: else -> skip
        fi
    :: else -> skip
    fi
}

#define WHEEL_KNOWS (stage == STEADY && now_wall >= wheel_now)

/* elapse__shard_note_next */
inline note_next()
{
    wake_tick = (MONOTONIC_DUE -> 0 : NEVER);
    if
    :: WHEEL_KNOWS ->
        wall_wake_tick = NEVER;
        if
        :: where[0] == IN_WHEEL -> wall_wake_tick = deadline[0]
        :: else -> skip
        fi;
        if
        :: where[1] == IN_WHEEL && deadline[1] < wall_wake_tick -> wall_wake_tick = deadline[1]
        :: else -> skip
        fi;
        if
        :: load && load_by_wall_clock -> wall_wake_tick = 0
        :: else -> skip
        fi
    :: else -> skip
    fi
}

/* elapse__shard_take_due: `monotonic` and `until_wall` say how far each wheel goes, `now_wall` is the
 * time by the wall clock. */
inline take_due()
{
    due = NONE;
#ifdef MUTANT_MONOTONIC_FIRST
    wall_clock_first = false;
#endif
#ifdef MUTANT_WALL_CLOCK_FIRST
    wall_clock_first = true;
#endif
    if
    :: wall_clock_first ->
        take_by_wall_clock();
        if
        :: due == NONE -> take_by_monotonic(); wall_clock_first = true
        :: else -> wall_clock_first = false
        fi
    :: !wall_clock_first ->
        take_by_monotonic();
        if
        :: due == NONE -> take_by_wall_clock(); wall_clock_first = false
        :: else -> wall_clock_first = true
        fi
    fi;
    if
    :: due == NONE -> note_next()
    :: else -> skip
    fi
}

/* ---- threads that take ---- */

#ifdef MUTANT_READ_BEFORE_LOCK
#define READ_IN_SHARD now_wall
#else
#define READ_IN_SHARD wall
#endif

/* take_from of pull.c: a holding of the lock ends when there is more to do, or a task was taken. */
inline take_from()
{
    do
    :: d_step { true ->
            now_wall = READ_IN_SHARD; /* elapse__now_in_shard */
            monotonic = true;
            until_wall = now_wall;
            take_due();
            monotonic = false; until_wall = 0; now_wall = begun_wall };
        if
        :: due == MORE -> skip
        :: due == TASK -> due = NONE;
progress_taken:
            break
        :: due == NONE -> break
        fi
    od
}

#define MAY_BE_DUE(tick) (wake_tick == 0 || wall_wake_tick <= (tick))

/* A thread that takes again and again. It sleeps until a task may be due. */
proctype takes()
{
    byte now_wall;
    byte until_wall;
    bool monotonic;
    mtype due = NONE;
    byte begun_wall;
end_asleep:
    do
    :: d_step { MAY_BE_DUE(wall) -> now_wall = wall; begun_wall = wall };
        /* take_due of pull.c, elapse__deliver */
        do
        :: d_step { MAY_BE_DUE(begun_wall) -> now_wall = begun_wall };
            take_from();
#ifndef MUTANT_LOOKED_BEFORE
            atomic { begun_wall = wall; now_wall = wall }
#endif
        :: d_step { !MAY_BE_DUE(begun_wall) -> now_wall = 0; begun_wall = 0 }; break
        od
    od
}

/* elapse__first_due */
inline first_due()
{
    found = true;
    by_wall_clock = wall_wake_tick <= begun_wall && (wake_tick != 0 || order_wall_clock_first);
    order_wall_clock_first = !by_wall_clock;
    if
    :: by_wall_clock -> until_wall = wall_wake_tick; monotonic = false
    :: !by_wall_clock && wake_tick == 0 -> until_wall = NEVER; monotonic = true
    :: else -> found = false
    fi
#ifdef MUTANT_ORDER_MONOTONIC_FIRST
    ;
    order_wall_clock_first = false
#endif
}

/* elapse__run_due_in_order, again and again, with run_some for one task. */
proctype runs_in_order()
{
    byte now_wall;
    byte until_wall;
    bool monotonic;
    mtype due = NONE;
    byte begun_wall;
    bool by_wall_clock;
    bool found;
end_asleep:
    do
    :: d_step { MAY_BE_DUE(wall) -> begun_wall = wall };
        do
        :: d_step { begun_wall = (wall < begun_wall -> wall : begun_wall); first_due() };
            if
            :: found -> skip
            :: else -> break
            fi;
            do
            :: d_step { true ->
                    now_wall = wall;
#ifndef MUTANT_NOT_CLIPPED
                    until_wall =
                        (until_wall != NEVER && until_wall > now_wall -> now_wall : until_wall);
#endif
                    take_due();
                    now_wall = 0 };
                if
                :: due == MORE -> skip
                :: due == TASK -> due = NONE;
progress_ran:
                    break
                :: due == NONE -> break
                fi
            od;
            atomic { until_wall = 0; monotonic = false; by_wall_clock = false }
        od;
        atomic { begun_wall = 0; until_wall = 0; monotonic = false; found = false }
    od
}

/* ---- what happens besides ---- */

/* elapse__wall_clock_wheel_start */
inline start(task)
{
    d_step {
        where[task] = (stage == PLACING -> CHAINED : IN_WHEEL);
#ifndef MUTANT_STARTED_SILENTLY
        wall_wake_tick = (deadline[task] < wall_wake_tick -> deadline[task] : wall_wake_tick)
#endif
    }
}

proctype schedules()
{
    if
    :: deadline[0] = 1
    :: deadline[0] = 2
    fi;
    start(0);
    if
    :: deadline[1] = 1
    :: deadline[1] = 2
    fi;
    start(1)
}

proctype time_passes()
{
end_no_more:
    do
    :: wall < LAST -> wall++
    :: wall == LAST && set_back == set_backs -> break
    od
}

proctype sets_the_clock()
{
    do
    :: set_back < set_backs -> d_step { wall > 0 -> wall = 0; set_back++ }
    :: set_back == set_backs -> break
    od
}

proctype ends_the_load()
{
    load = false
}

init {
    atomic {
        if
        :: in_order = true; run runs_in_order()
        :: run takes(); run takes()
        fi;
        if
        :: load_by_wall_clock = true; monotonic_waits = true; wake_tick = 0; wall_wake_tick = 0
        :: wake_tick = 0; set_backs = 0; run schedules()
        :: load = false; run schedules()
        fi;
        run time_passes();
        run sets_the_clock();
        if
        :: load -> run ends_the_load()
        :: else -> skip
        fi
    }
}

/* When nothing moves any more, the clock is at LAST. */
active proctype at_rest()
{
    timeout ->
    assert(wall == LAST && !monotonic_waits && !load);
    assert(load_by_wall_clock || (where[0] == BEGUN && where[1] == BEGUN));
    assert(stage == STEADY && rebuilt <= set_back)
}
