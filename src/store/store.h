/*
 * The store: what <elapse/queue.h> offers, made of the pure queue and the journal, by one lock and
 * three threads.
 *
 *      threads of the user --> lock --> queue    decides; appends records to the journal's group
 *                               |        |
 *      commit thread     -------+--> journal     writes and syncs groups, without the lock
 *      background thread -------+--> journal     makes spares and cleans, without the lock
 *      clock thread      -------+--> queue       makes jobs ready when an alarm goes off
 *
 * Conditions: `changed` wakes the users' threads that wait (a job is ready, something became
 * durable, the journal has room, the end); `work` wakes the threads of the journal.
 *
 * Life of a store. Only `alive` takes commands:
 *
 *      opening --> alive --> closing --> (freed)
 *                    |          ^
 *                    +-> broken-+      the journal has failed: every command answers BROKEN
 */
#ifndef ELAPSE__STORE_STORE_H
#define ELAPSE__STORE_STORE_H

#include <stdatomic.h>

#include <elapse/queue.h>

#include "../os/os.h"
#include "joint.h"
#include "now.h"

#define ELAPSE__STORE_NS_PER_MS UINT64_C(1000000)

enum elapse__store_alarm {
    ELAPSE__STORE_ALARM_BOOT, /* the first due time by the boot-time clock */
    ELAPSE__STORE_ALARM_WALL, /* the first due time by the wall clock */
    ELAPSE__STORE_ALARM_END,  /* the clock thread is to end */
    ELAPSE__STORE_ALARMS,
};

struct elapse_queue {
    struct elapse__lock lock;
    struct elapse__condition changed;
    struct elapse__condition work;
    struct elapse__joint joint;
    struct elapse__os_alarm alarms[ELAPSE__STORE_ALARMS];
    uint64_t alarm_boot_ms; /* what the alarms are set to */
    int64_t alarm_wall_ms;
    struct elapse__os_alarm news; /* the descriptor that the user may watch */
    bool watched;                 /* the user has asked for it */
    struct elapse__os_thread commit_thread;
    struct elapse__os_thread background_thread;
    struct elapse__os_thread clock_thread;
    _Atomic uint32_t calls; /* of users' threads that are under way, also before they have the lock;
                               falls under the lock alone */
    bool closing;           /* no command is taken any more */
    bool stopping;          /* the threads of the journal end when all is durable */
    bool background_ended;  /* the background thread makes no more groups */
    bool abandoned;         /* they end at once: open has failed */
    bool has_locks;
};

/* ---- life ---- */

/* Returns whether the journal has failed. Requires the lock. */
static inline bool elapse__store_is_broken(const struct elapse_queue *store)
{
    return elapse__journal_error(store->joint.journal) != 0;
}

/* ---- threads (threads.c) ---- */

void *elapse__store_commit_main(void *store);
void *elapse__store_background_main(void *store);
void *elapse__store_clock_main(void *argument);

/* ---- what all commands share (command.c) ---- */

/* Begins a call: the store is not released before it departs. Takes the lock. Calls may be within
 * each other, but the thread has the lock once. */
void elapse__store_arrive(struct elapse_queue *store);

/* Ends the call, and releases the lock. */
void elapse__store_depart(struct elapse_queue *store);

/* Begins a command: arrives. Returns OK; or CLOSED or BROKEN, and then the lock is not held.
 */
enum elapse_error elapse__store_enter(struct elapse_queue *store);

/* Ends a command: sets the alarms, wakes the journal, and departs. */
void elapse__store_leave(struct elapse_queue *store);

/* Sets an alarm earlier, if the queue has something to do before it goes off. The clock thread sets
 * it later again. Requires the lock. */
void elapse__store_set_alarms(struct elapse_queue *store);

/* Wakes all users' threads that wait, and makes the descriptor readable. Requires the lock. */
void elapse__store_tell(struct elapse_queue *store);

/* Waits until something has changed, for at most until `until_ns` by the monotonic clock. Returns
 * OK, TIMEOUT, CLOSED or BROKEN. Requires the lock, and holds it again at the end. */
enum elapse_error elapse__store_wait(struct elapse_queue *store, uint64_t until_ns);

/* Returns when a wait of `timeout_ms` from now ends, by the monotonic clock. */
uint64_t elapse__store_until_ns(uint64_t timeout_ms);

/* Waits until everything up to `position` is durable. Requires the lock. */
enum elapse_error elapse__store_wait_durable(struct elapse_queue *store, uint64_t position,
                                             uint64_t until_ns);

/* Runs a command of the queue until the journal takes it: the journal may have to write first.
 * Translates the answer. */
enum elapse_error elapse__store_run(struct elapse_queue *store, elapse__joint_command *command,
                                    const void *arguments, struct elapse_answer *answer);

/* Translates a result of the queue. */
enum elapse_error elapse__store_error(const struct elapse_queue *store,
                                      enum elapse__queue_result result);

/* A text of the queue from a C string; empty for NULL. */
struct elapse__queue_text elapse__store_text(const char *text);

#endif
