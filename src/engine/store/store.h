/*
 * The store: what <elapse/queue.h> offers, made of the pure queue and the journal, by one lock and
 * three threads.
 *
 *      threads of the user --> lock --> queue    decides; appends records to the journal's group
 *                               |        |
 *      commit thread     -------+--> journal     writes and syncs groups, without the lock; so does
 *                               |                a thread of the user that waits for one
 *      background thread -------+--> journal     makes spares and cleans, without the lock
 *      clock thread      -------+--> queue       makes jobs ready when an alarm goes off; the loop
 *                                                of the server does so without such a thread
 *
 * The caller that changes something wakes those that wait for it, and nobody else: wake.c.
 *
 * Life of a store. Only `alive` takes all commands (log.h has two more states, of a cluster):
 *
 *      opening --> alive --> stopped --> closing --> (freed)
 *                    |           |          ^
 *                    +-----------+----------+
 *                    +-> broken ------------+   the journal has failed: commands answer BROKEN
 *
 *   stopped   nothing is put or handed out; the verbs of workers, and all others, go on
 */
#ifndef ELAPSE__STORE_H
#define ELAPSE__STORE_H

#include <stdatomic.h>

#include <elapse/queue.h>

#include "../../base/histogram.h"
#include "../../base/ring.h"
#include "../../os/memory_files.h"
#include "../../os/os.h"
#include "../engine.h"
#include "now.h"

#define ELAPSE__STORE_NS_PER_MS UINT64_C(1000000)

enum elapse__store_alarm {
    ELAPSE__STORE_ALARM_BOOT, /* the first due time by the boot-time clock */
    ELAPSE__STORE_ALARM_WALL, /* the first due time by the wall clock */
    ELAPSE__STORE_ALARM_END,  /* the clock thread is to end */
    ELAPSE__STORE_ALARMS,
};

/* Records that no thread waits for are written within LINGER_MS, or when they have LINGER_BYTES. */
enum { ELAPSE__STORE_LINGER_MS = 5, ELAPSE__STORE_LINGER_BYTES = 1 << 18 };

/* The thread of a lane of the journal (journal.h): commit, or background. */
struct elapse__store_lane {
    struct elapse__condition condition;
    bool asleep;  /* the thread waits, and has not been woken */
    bool lingers; /* the thread looks again within LINGER_MS, even if nothing wakes it */
    bool busy;    /* the thread, or a thread that leads (wake.c), performs an operation */
};

/* A thread that waits in reserve (a reserver). The struct lies on the thread's stack. */
struct elapse__store_sleeper {
    struct elapse__ring_node ring_node; /* first */
    struct elapse__condition condition;
    const struct elapse__queue_reserve *reserve;
    bool woken; /* the thread was woken, and the struct is not in the ring any more */
};

struct elapse_queue {
    struct elapse__lock lock;
    struct elapse__condition progress;
    uint32_t progress_waiters;
    uint32_t room_waiters; /* progress waiters that wait for room in the journal */
    struct elapse__store_lane lanes[ELAPSE__JOURNAL_LANES];
    uint64_t seen_position;         /* of the last record, when the commit thread began to sleep */
    struct elapse__operation offer; /* for the background thread */
    bool has_offer;
    struct elapse__ring_node sleepers; /* reservers, the one that came first in front */
    uint64_t woken;                    /* reservers that have been woken, and have not run yet */
    uint64_t readied; /* elapse__queue_readied() when the sleepers were looked at */
    bool looks_again; /* the sleepers are to be looked at again although nothing was readied */
    struct elapse__engine engine;
    struct elapse__os_alarm alarms[ELAPSE__STORE_ALARMS];
    uint64_t alarm_boot_ms; /* the times that the alarms are set to */
    int64_t alarm_wall_ms;
    struct elapse__os_alarm news; /* the descriptor that the user may watch */
    bool watched;                 /* the user has asked for the descriptor */
    struct elapse__os_thread commit_thread;
    struct elapse__os_thread background_thread;
    struct elapse__os_thread clock_thread;
    bool has_clock_thread;  /* otherwise the owner watches the alarms, and turns the queue */
    _Atomic uint32_t calls; /* of users' threads that are under way, also before they have the lock;
                               falls under the lock alone */
    bool stopped;           /* nothing is put or handed out any more */
    bool closing;           /* no command is taken any more */
    bool stopping;          /* the threads of the journal end when all is durable */
    bool background_ended;  /* the background thread makes no more groups */
    bool abandoned;         /* the threads end at once: open has failed, or the node was fenced */
    bool follows;           /* groups come from a log: log.h */
    bool fenced;
    struct elapse__histogram syncs;              /* microseconds of each sync of a group */
    struct elapse__histogram writes;             /* bytes of each write of a group */
    char memory_path[ELAPSE__MEMORY_PATH_BYTES]; /* of a queue in memory; otherwise empty */
    bool has_lock;
    unsigned condition_count; /* how many of `progress` and the lanes' conditions were made */
};

/* ---- life ---- */

/* What the server wants from elapse__store_open beside what elapse_queue_open offers. */
struct elapse__store_wishes {
    const struct elapse__files *files; /* NULL: those of the system */
    void *context;
    /* Says whether the life may begin; NULL: it may. `header_wall_ms` is when the newest header was
     * written, by the wall clock; 0: the journal is new. The call may wait. If it returns false,
     * open fails with CLOSED. */
    bool (*may_begin)(void *context, int64_t header_wall_ms);
    /* The store makes no clock thread. The caller waits for the alarms that elapse__store_due
     * tells, and turns the queue. */
    bool turns_itself;
    bool foresees; /* elapse__queue_foresee and elapse__queue_overdue_ms are wanted */
    uint32_t partitions, partition;        /* each id is `partition` modulo `partitions` (0: 1) */
    bool hash_tags;                        /* as in struct elapse__queue_options */
    const struct elapse__journal_log *log; /* the replicated log of the groups: log.h; NULL: none */
    bool new_records;                      /* with a log: no program of 0.2 reads it */
};

/* Opens a store as elapse_queue_open does, with the wishes of the server. */
enum elapse_error elapse__store_open(const char *directory,
                                     const struct elapse_queue_options *options,
                                     const struct elapse__store_wishes *wishes,
                                     struct elapse_queue **queue, struct elapse_queue_fault *fault);

/* Returns whether the journal has failed. Requires the lock. */
static inline bool elapse__store_is_broken(const struct elapse_queue *store)
{
    return elapse__journal_error(store->engine.journal) != 0;
}

/* Returns OK; or CLOSED or BROKEN if the store takes no command. Requires the lock. */
static inline enum elapse_error elapse__store_life_error(const struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (store->closing || store->follows || store->fenced)
        return ELAPSE_ERROR_CLOSED;
    return elapse__store_is_broken(store) ? ELAPSE_ERROR_BROKEN : ELAPSE_OK;
}

/* Returns whether jobs may be put and handed out, which a store that has stopped does not do: OK,
 * CLOSED or BROKEN. Requires the lock. */
static inline enum elapse_error elapse__store_may_hand_out(const struct elapse_queue *store)
{
    return store->stopped ? ELAPSE_ERROR_CLOSED : elapse__store_life_error(store);
}

/* ---- due times, for an owner that turns the queue itself ---- */

/* Returns the descriptor of an alarm, BOOT or WALL: it is readable when a job may be due by that
 * clock. Returns ELAPSE__OS_NO_DESCRIPTOR if the store has a clock thread, which turns the
 * queue. */
int elapse__store_due(const struct elapse_queue *store, enum elapse__store_alarm alarm);

/* Makes the descriptor unreadable. The turn that follows takes what is due, and sets the alarm
 * again. */
void elapse__store_due_quiet(struct elapse_queue *store, enum elapse__store_alarm alarm);

/* The caller is about to turn the queue because this alarm went off. Requires the lock. */
void elapse__store_due_begin(struct elapse_queue *store, enum elapse__store_alarm alarm);

/* ---- calls (command.c) ---- */

/* Begins a call, and takes the lock. The store is not released before elapse__store_depart. A
 * thread may arrive again within a call, when it does not have the lock. */
void elapse__store_arrive(struct elapse_queue *store);

/* Ends the call, and releases the lock. */
void elapse__store_depart(struct elapse_queue *store);

/* Begins a command, as elapse__store_arrive begins a call. Returns OK; or CLOSED or BROKEN: then
 * the lock is not held. */
enum elapse_error elapse__store_enter(struct elapse_queue *store);

/* Ends a command: calls elapse__store_pass_on (wake.h) and elapse__store_depart. */
void elapse__store_leave(struct elapse_queue *store);

#endif
