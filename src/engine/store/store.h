/*
 * The store is what <elapse/queue.h> offers. It consists of the pure queue and the journal, one
 * lock and three threads.
 *
 *      threads of the user --> lock --> queue    decides; appends records to the journal's group
 *                               |        |
 *      commit thread     -------+--> journal     writes and syncs groups, without the lock; so does
 *                               |                a thread of the user that waits for one
 *      background thread -------+--> journal     makes spares and cleans, without the lock
 *      clock thread      -------+--> queue       makes jobs ready when an alarm goes off; the loop
 *                                                of the server does so without such a thread
 *
 * A thread that changes something wakes the threads that wait for that change, and no others
 * (wake.c).
 *
 * Life of a store. Only a store that is `alive` takes all commands. A store in a cluster has two
 * more states (log.h):
 *
 *      opening --> alive --> stopped --> closing --> (freed)
 *                    |           |          ^
 *                    +-----------+----------+
 *                    +-> broken ------------+   the journal has failed: commands answer BROKEN
 *
 *   stopped   no job is put or handed out; all other commands work, those of workers too
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

/* Records for which no thread waits are written within LINGER_MS, or when they have
 * LINGER_BYTES. */
enum { ELAPSE__STORE_LINGER_MS = 5, ELAPSE__STORE_LINGER_BYTES = 1 << 18 };

/* The thread of a lane of the journal. A lane (src/engine/journal/lanes.h) is a row of operations,
 * for commits or for the background. */
struct elapse__store_lane {
    struct elapse__condition condition;
    bool asleep;  /* the thread waits, and nobody has woken it */
    bool lingers; /* the thread looks again within LINGER_MS even if nobody wakes it */
    bool busy;    /* the thread of the lane, or one that leads (wake.c), performs an operation */
};

/* A thread that waits in reserve: a reserver. The struct lies on the thread's stack. */
struct elapse__store_sleeper {
    struct elapse__ring_node ring_node; /* must be first */
    struct elapse__condition condition;
    const struct elapse__queue_reserve *reserve;
    bool woken; /* somebody woke the thread, and the struct has left the ring */
};

struct elapse_queue {
    struct elapse__lock lock;
    struct elapse__condition progress;
    uint32_t progress_waiters;
    uint32_t room_waiters; /* threads in `progress` that wait for room in the journal */
    struct elapse__store_lane lanes[ELAPSE__JOURNAL_LANES];
    uint64_t seen_position;         /* the last position when the commit thread began to sleep */
    struct elapse__operation offer; /* an operation for the background thread */
    bool has_offer;
    struct elapse__ring_node sleepers; /* reservers, the one that came first in front */
    uint64_t woken;                    /* reservers that were woken and have not run yet */
    uint64_t readied; /* elapse__queue_readied() when the sleepers were last looked at */
    bool looks_again; /* look at the sleepers again although no job became ready */
    struct elapse__engine engine;
    struct elapse__os_alarm alarms[ELAPSE__STORE_ALARMS];
    uint64_t alarm_boot_ms; /* the times that the alarms are set to */
    int64_t alarm_wall_ms;
    struct elapse__os_alarm news; /* the descriptor that the user may watch */
    bool watched;                 /* the user has asked for that descriptor */
    struct elapse__os_thread commit_thread;
    struct elapse__os_thread background_thread;
    struct elapse__os_thread clock_thread;
    bool has_clock_thread;  /* false: the caller watches the alarms, and turns the queue */
    _Atomic uint32_t calls; /* calls under way, even before they have the lock; falls under it */
    bool stopped;           /* no job is put or handed out any more */
    bool closing;           /* the store takes no command any more */
    bool stopping;          /* the threads of the journal end when all is durable */
    bool background_ended;  /* the background thread makes no more groups */
    bool abandoned;         /* the threads end at once: open has failed, or the node was fenced */
    bool follows;           /* groups come from a log (log.h) */
    bool fenced;
    struct elapse__histogram syncs;              /* microseconds that each sync of a group took */
    struct elapse__histogram writes;             /* bytes of each write of a group */
    char memory_path[ELAPSE__MEMORY_PATH_BYTES]; /* for a queue in memory; else empty */
    bool has_lock;
    unsigned condition_count; /* how many of `progress` and the lanes' conditions were made */
};

/* ---- life ---- */

/* What the server may ask of elapse__store_open in addition to what elapse_queue_open offers. */
struct elapse__store_wishes {
    const struct elapse__files *files; /* NULL: those of the system */
    void *context;
    /* Returns whether the life may begin. `header_wall_ms` is the wall-clock time of the newest
     * header, or 0 if the journal is new. The function may wait. If it returns false, open fails
     * with CLOSED. NULL: the life may begin. */
    bool (*may_begin)(void *context, int64_t header_wall_ms);
    /* The store makes no clock thread. The caller waits for the alarms of elapse__store_due, and
     * turns the queue. */
    bool turns_itself;
    bool foresees; /* the caller needs elapse__queue_foresee and elapse__queue_overdue_ms */
    uint32_t partitions, partition;        /* each id modulo `partitions` (0: 1) is `partition` */
    bool hash_tags;                        /* the same as in struct elapse__queue_options */
    const struct elapse__journal_log *log; /* the replicated log (log.h); NULL: none */
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

/* Returns OK, or CLOSED or BROKEN if the store takes no command. Requires the lock. */
static inline enum elapse_error elapse__store_life_error(const struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (store->closing || store->follows || store->fenced)
        return ELAPSE_ERROR_CLOSED;
    return elapse__store_is_broken(store) ? ELAPSE_ERROR_BROKEN : ELAPSE_OK;
}

/* Returns OK if jobs may be put and handed out, or else CLOSED or BROKEN. A stopped store does
 * neither. Requires the lock. */
static inline enum elapse_error elapse__store_may_hand_out(const struct elapse_queue *store)
{
    return store->stopped ? ELAPSE_ERROR_CLOSED : elapse__store_life_error(store);
}

/* ---- due times, for a caller that turns the queue itself ---- */

/* Returns the descriptor of an alarm, BOOT or WALL. It is readable when a job may be due by that
 * clock. Returns ELAPSE__OS_NO_DESCRIPTOR if the store has a clock thread. */
int elapse__store_due(const struct elapse_queue *store, enum elapse__store_alarm alarm);

/* Makes the descriptor unreadable. The turn that follows takes the jobs that are due, and sets the
 * alarm again. */
void elapse__store_due_quiet(struct elapse_queue *store, enum elapse__store_alarm alarm);

/* Called before the caller turns the queue because this alarm went off. Requires the lock. */
void elapse__store_due_begin(struct elapse_queue *store, enum elapse__store_alarm alarm);

/* ---- calls (command.c) ---- */

/* Begins a call, and takes the lock. The store is not freed before elapse__store_depart. A thread
 * may call this again within a call, while it does not hold the lock. */
void elapse__store_arrive(struct elapse_queue *store);

/* Ends the call, and releases the lock. */
void elapse__store_depart(struct elapse_queue *store);

/* Begins a command, as elapse__store_arrive begins a call. Returns OK. After CLOSED or BROKEN the
 * caller does not hold the lock. */
enum elapse_error elapse__store_enter(struct elapse_queue *store);

/* Ends a command: calls elapse__store_pass_on (wake.h) and elapse__store_depart. */
void elapse__store_leave(struct elapse_queue *store);

/* Ends a command as elapse__store_leave does, but signals the commit thread after it has released
 * the lock. A thread that is signalled before finds the lock taken and sleeps again, which costs
 * each of the two threads another system call. Requires that no other thread closes the store. */
void elapse__store_leave_as_owner(struct elapse_queue *store);

#endif
