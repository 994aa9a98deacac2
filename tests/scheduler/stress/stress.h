/*
 * The stress test: threads that call everything at once on a scheduler with the real clock. Each
 * task has a record, from which the test checks at the end that no task was lost.
 *
 * A record is the context of one task. It belongs to the round and outlives the task, so that a
 * call that comes too late is detected, and does not read freed memory.
 *
 *      main.c        options, rounds until the time is up, summary
 *      round.c       one scheduler: new, start, threads, rest, close, free
 *      accounts.c    what must be true of every record once the scheduler is closed
 *      operations.c  what a thread or an action may do, drawn at random
 *      record.c      what actions and destructors do, and what they find wrong
 *      verbs.c       more of that: changing a recurrence, waiting for an end, listing
 *      watchdog.c    stops a round that does not go on
 *      takers.c      pull mode: threads that take, and do what workers do elsewhere
 */
#ifndef ELAPSE_TESTS_STRESS_H
#define ELAPSE_TESTS_STRESS_H

#include <pthread.h>
#include <stdatomic.h>

#include <elapse/scheduler.h>

#include "random.h"

enum {
    RECORDS = 12000,              /* the most tasks of a round */
    KEYS = 300,                   /* keys that are looked up. Their tasks have destructors */
    PLAIN_KEYS = 100,             /* keys of tasks without destructors. They are never looked up */
    HISTORY = 8,                  /* the most deadlines that a task is given */
    OWN_KEYS = KEYS + PLAIN_KEYS, /* from here on: keys that one record has alone */
    LOCKS = 256,                  /* they guard the histories */
    BATCH = 100,                  /* more tasks than the scheduler handles under one lock */
    THREADS_MAX = 64,
};

/* Beyond the end of any round: a task with such a deadline ends only by a cancel, a replacement or
 * closing. */
static const uint64_t far_ns = 1000 * ELAPSE_SECOND_NS;

/* A deadline that was asked for. If a delay or slack was given, only its bounds are known. */
struct asked {
    uint64_t low_ns;
    uint64_t high_ns;       /* the end of the tick that the latest one falls into */
    uint64_t asked_ns;      /* when the call returned that asked for it */
    uint64_t superseded_ns; /* when the call returned that asked for another; NEVER: none has */
    bool rescheduled;       /* it is not the first one */
};

/* How a task ended, as far as its destructor can know. */
enum end {
    END_NONE,
    END_RAN,
    END_REMOVED,
    END_REPLACED,
    END_KEPT_AWAY, /* by ELAPSE_KEY_KEEP */
    END_DROPPED,
};

enum outcome {
    OUTCOME_UNUSED,
    OUTCOME_ACCEPTED,
    OUTCOME_KEPT_AWAY,
    OUTCOME_REFUSED,
};

struct record {
    struct round *round;
    uint32_t number;
    int key; /* -1: none; from KEYS on: a plain one; from OWN_KEYS on: its own */
    bool has_destructor;
    bool tells_reason; /* its destructor is `ended` */
    bool wall_clock;   /* its times are those of the wall clock */
    enum elapse_recurrence recurrence;
    enum elapse_missed if_missed;
    uint64_t period_ns;
    enum elapse_zone zone;   /* CRON */
    bool handle_known_first; /* the scheduler itself stores `handle` */
    _Atomic int outcome;     /* enum outcome */
    struct elapse_handle handle;

    struct asked history[HISTORY]; /* guarded by a lock of the round */
    unsigned asked_count;

    _Atomic bool active;     /* its action is under way; means nothing with leases */
    _Atomic uint64_t taking; /* with leases: the number of the lease that was given out last; 0: it
                                is done */
    _Atomic uint64_t lease_until_ns;
    _Atomic bool over;              /* a cancel answered REMOVED or GONE, and has returned */
    _Atomic bool cancelled;         /* a cancel has been answered, in any way */
    _Atomic uint64_t returned_ns;   /* when its action last did */
    _Atomic uint64_t last_begin_ns; /* no run begins after this: a cancel has returned */
    _Atomic uint32_t runs;          /* actions begun */
    _Atomic uint32_t rescheduled;   /* successfully */
    _Atomic uint32_t removed;       /* cancels answered REMOVED */
    _Atomic uint32_t destroyed;
    _Atomic uint32_t handed_back;
    _Atomic int end;    /* enum end */
    _Atomic int reason; /* enum elapse_end, as its destructor got it */
};

enum phase {
    PHASE_BUSY,
    PHASE_REST, /* no thread begins an operation; due tasks run */
    PHASE_END,
};

/* The value of `takers` if each round draws how many threads take. Most rounds draw none. */
enum { TAKERS_DRAWN = -1 };

struct configuration {
    uint64_t seed;
    uint64_t operations; /* 0: as long as `seconds` */
    uint64_t seconds;
    unsigned threads;
    unsigned workers;
    unsigned shards;
    unsigned queue_tasks;
    int takers; /* or TAKERS_DRAWN; 0: no round is in pull mode */
};

struct counters {
    _Atomic uint64_t operations;
    _Atomic uint64_t tasks;
    _Atomic uint64_t runs;
    _Atomic uint64_t recurring_runs;
    _Atomic uint64_t cancels[4];    /* by enum elapse_cancel */
    _Atomic uint64_t ends[5];       /* by enum elapse_end, of destructors that get a reason */
    _Atomic uint64_t moves;         /* successful rescheduling and changes */
    _Atomic uint64_t unmoved;       /* earlier and later, where the other way was wanted */
    _Atomic uint64_t waits;         /* for the end of a task, that ended well */
    _Atomic uint64_t lists;         /* gone through to their ends */
    _Atomic uint64_t left_leases;   /* taken, and never done */
    _Atomic uint64_t late_leases;   /* done was too late */
    _Atomic uint64_t paused_closes; /* that timed out */
    _Atomic uint64_t rounds;
    _Atomic uint64_t pull_rounds; /* of these, those in pull mode */
};

struct round {
    const struct configuration *configuration;
    struct counters *counters;
    uint64_t seed;
    struct elapse_scheduler *scheduler;
    uint64_t tick_ns;
    uint64_t pending_max;
    enum elapse_close how;
    unsigned takers; /* 0: it is not in pull mode */
    uint64_t lease_ns;
    bool starts;   /* the scheduler is started before the threads are made */
    bool has_cron; /* a task comes due each second */
    bool rests;    /* before it is closed, there is a time in which no thread calls anything */
    _Atomic bool started;
    uint64_t begun_ns;
    uint64_t begun_wall_clock_ns;
    struct elapse_cron cron;  /* each second */
    uint64_t operations_each; /* before the closing thread goes on to close */
    _Atomic int phase;        /* enum phase */
    _Atomic unsigned resting;
    _Atomic bool closing; /* close is about to be called */
    _Atomic bool closed;  /* close has returned */
    uint64_t close_begun_ns;
    uint64_t close_begun_wall_clock_ns;

    struct record *records; /* RECORDS of them */
    _Atomic uint32_t used;
    _Atomic(struct record *) *published; /* RECORDS of them: whose handle may be used */
    _Atomic uint32_t published_count;
    pthread_mutex_t locks[LOCKS];
    _Atomic bool key_active[KEYS + PLAIN_KEYS];
    _Atomic bool key_cancelled[KEYS]; /* a cancel by this key was answered that it is running */

    /* To be compared with the statistics. */
    _Atomic uint64_t runs, rescheduled, removed, handed_back, attempts;
    _Atomic uint64_t recurring_runs; /* of these runs, those of tasks that recur */
};

/* The call in which this thread is. A destructor reads from it why it is called. */
enum call {
    CALL_SCHEDULE,
    CALL_BATCH,
    CALL_CANCEL,
    CALL_CLOSE,
};

struct frame {
    struct frame *outer;
    enum call call;
    const struct record *first; /* SCHEDULE, BATCH: the first of `count` records to be scheduled */
    size_t count;
    struct record *destroyed; /* the last one destroyed in this call */
    unsigned destructions;
};

/* ---- main.c ---- */

/* Prints what is wrong and how to repeat the run, and ends the process. */
_Noreturn void fault(const struct round *round, const struct record *record, const char *what);

static inline void must(bool good, const struct round *round, const struct record *record,
                        const char *what)
{
    if (!good)
        fault(round, record, what);
}

/* ---- record.c ----
 *
 * Not every task may have everything happen to it, so that the records tell how each task ended,
 * and the counts of the scheduler can be compared exactly:
 *
 *   - With a key of even number a pending task may be replaced. There, a task that recurs is
 *     not cancelled, and one that runs once is not moved: a recurring one that ends by its run was
 *     replaced during that run, and no other one is replaced while it runs.
 *   - A task without a destructor is moved only if it has no key and closing hands tasks back. Then
 *     those that are left are known; else a task that has not run was dropped. With plain
 *     keys, tasks are replaced only where closing hands back: one that has not run was replaced.
 */

/* Whether tasks with this key, or -1, may be replaced. */
bool key_is_replaced(const struct round *round, int key);
bool record_may_be_moved(const struct record *record);
bool record_may_be_cancelled(const struct record *record);

struct frame *frame_enter(struct frame *frame, enum call call, const struct record *first,
                          size_t count);
void frame_leave(struct frame *frame);

/* The random numbers of the calling thread. */
struct random_source *random_of_thread(const struct round *round);

struct record *record_take(struct round *round);
void record_lock(struct record *record);
void record_unlock(struct record *record);

/* Returns a deadline that lies between `low_ns` and `high_ns`, and that the scheduler rounds up to
 * a tick. */
struct asked asked_between(const struct round *round, uint64_t low_ns, uint64_t high_ns);

/* Notes that no further run may begin: a cancel has returned with RUNNING. */
void record_runs_no_more(struct record *record);

/* Returns the deadline in force, which may be NEVER. */
const struct asked *record_in_force(const struct record *record);

void record_action(void *context, const struct elapse_run *run);

/* The two parts of record_action. In pull mode time passes between them. */
void record_begin(struct record *record, const struct elapse_run *run,
                  const struct elapse_taken *taken);
void record_work(struct record *record, const struct elapse_run *run);

/* Ends a run that was taken, on any thread. `handle` is that of the run. */
void record_done(struct record *record, const struct elapse_taken *taken);

void record_destroy(void *context);
void record_ended(void *context, enum elapse_end reason);
void record_hand_back(const struct elapse_handed_back *handed_back, void *context);
size_t key_bytes_of(int key, char bytes[16]);

/* ---- operations.c ---- */

/* Does one operation, or one batch. `inside`: called from an action or a destructor. */
void operate(struct round *round, struct random_source *source, bool inside);

/* Does something at random that an action may do with its own task. */
void operate_on_own(struct record *record, struct random_source *source);

/* Cancels the action's own task, by the handle of its run, and checks the answers. */
void cancel_own(struct record *record, struct elapse_handle handle, struct random_source *source);

/* Notes what a cancel has answered. `was_over`: as it was before the call. */
void note_answer(struct round *round, struct record *record, enum elapse_cancel answer,
                 bool was_over);

/* Returns a record whose handle is known; NULL if there is none yet. */
struct record *draw_record(struct round *round, struct random_source *source);

/* ---- verbs.c ---- */

/* Notes the outcome of a call that was to move the task to the last deadline of its history.
 * Requires the lock of the record. */
void record_moved(struct record *record, enum elapse_error error, bool moved);

void change_recurrence(struct record *record, struct random_source *source);
void run_now(struct record *record);
void wait_for_end(struct record *record, struct random_source *source, bool inside);
void list_all(struct round *round, struct random_source *source);

/* ---- watchdog.c ---- */

/* From here on a round must go on: otherwise it prints the accounts and aborts. NULL: no round. */
void watchdog_watch(const struct round *round);

/* ---- accounts.c ---- */

/* Returns the number of tasks that only a cancel, a replacement or closing can end. Requires that
 * all threads rest. */
uint64_t accounts_far(const struct round *round);

/* Checks all records, and the statistics against them. */
void accounts_check(struct round *round, const struct elapse_statistics *statistics);

/* ---- takers.c ---- */

struct takers;

/* Starts the threads that take. Requires that the scheduler of the round is started. */
struct takers *takers_begin(struct round *round);

/* Waits until each of them got ELAPSE_ERROR_CLOSED. */
void takers_end(struct takers *takers);

/* Checks that no take gets a task. Requires that the scheduler is not started yet, or closed. */
void takers_expect_nothing(const struct round *round, enum elapse_error error);

/* ---- round.c ---- */

void round_run(const struct configuration *configuration, struct counters *counters, uint64_t seed);

#endif
