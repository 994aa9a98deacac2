/*
 * Declares the functions of the lowest layer of this room. They call no other layer.
 * serve_cluster.h lists the layers.
 */
#ifndef ELAPSE__CLUSTER_SERVE_BASE_H
#define ELAPSE__CLUSTER_SERVE_BASE_H

#include "inner.h"

/* ---- errand.c ---- */

/* Makes a lock and its condition. Returns false if the system refuses. Even then the caller has to
 * call elapse__cluster_monitor_close. */
bool elapse__cluster_monitor_open(struct elapse__cluster_monitor *monitor);

/* Frees the lock and the condition, if they were made. */
void elapse__cluster_monitor_close(struct elapse__cluster_monitor *monitor);

/* Starts a thread. Returns false if the system refuses. Even then the caller has to call
 * elapse__cluster_errand_stop. */
bool elapse__cluster_errand_start(struct elapse__cluster_errand *errand,
                                  void *(*main)(void *argument), struct elapse__cluster *cluster);

/* Called by the thread as its last act, while it holds the lock. */
void elapse__cluster_errand_end(struct elapse__cluster_errand *errand);

/* Ends the thread, if there is one, and frees the lock and the condition. Waits a little for the
 * thread. Returns false, and frees nothing, if the thread still waits for the database or a name
 * server then. */
bool elapse__cluster_errand_stop(struct elapse__cluster_errand *errand);

/* ---- together.c ---- */

enum { ELAPSE__CLUSTER_TOGETHER = 16 };

typedef void elapse__cluster_call(void *context, uint32_t number);

/* Calls call(context, number) once for each number below `count`. Up to ELAPSE__CLUSTER_TOGETHER
 * calls run at a time, on this thread and on others. Returns when all calls have returned. If the
 * system refuses a thread, fewer calls run at a time. */
void elapse__cluster_each(uint32_t count, elapse__cluster_call *call, void *context);

/* ---- begin.c ---- */

/* Runs call(context, 0) on another thread, and returns when the call has returned. If a signal asks
 * the process to end meanwhile, ends the process at once. Requires that no partition has a
 * runner. */
void elapse__cluster_begin(struct elapse__cluster *cluster, elapse__cluster_call *call,
                           void *context);

/* ---- inbox_errand.c ---- */

/* Asks one database server after the other for the facts of the queue, until a server has answered.
 * Returns false if a signal asks the process to end. */
bool elapse__cluster_read_queue(struct elapse__cluster *cluster);

/* The main function of the thread that asks again and again whether the database has an inbox. */
void *elapse__cluster_errand_inbox(void *argument);

/* Called on the thread of the loop. If elapse__cluster_errand_inbox has found something new, logs
 * the news and wakes the runners. */
void elapse__cluster_errand_inbox_look(struct elapse__cluster *cluster);

/* ---- addresses.c ---- */

/* The main function of the thread that looks up the names of hosts. */
void *elapse__addresses_errand(void *argument);

/* Called on the thread of the loop. Stores an address of the owner of a partition. Returns whether
 * an address is known. If not, `*why` says why, or is NULL while the name is being looked up. */
bool elapse__addresses_find(struct elapse__cluster_partition *partition,
                            struct elapse__os_address *found, const char **why);

/* Says that no node answered at the address. The next call of elapse__addresses_find stores another
 * address, if the owner has one. */
void elapse__addresses_failed(struct elapse__cluster_partition *partition);

/* ---- notices.c ---- */

/* Wakes the loop to look at the partition. */
static inline void elapse__cluster_partition_wake_loop(struct elapse__cluster_partition *partition)
{
    elapse__os_event_set(partition->cluster->event);
}

/* Leaves a line for the log. Any thread may call this. */
__attribute__((format(printf, 3, 4))) void
elapse__cluster_partition_say(struct elapse__cluster_partition *partition,
                              enum elapse__logger_level level, const char *format, ...);

/* Called on the thread of the loop: logs the lines that were left. */
void elapse__cluster_partition_log(struct elapse__cluster_partition *partition);

/* ---- check.c ---- */

/* Tests the invariants of a partition. Any thread that holds no lock may call this. Returns 0, or
 * the number of the first broken invariant (check.c). */
unsigned elapse__cluster_partition_check(struct elapse__cluster_partition *partition);

/* ---- figures.c ---- */

/* Fills `cluster->shown`, the figures of src/server/loop/cluster.h. */
void elapse__cluster_show(struct elapse__cluster *cluster);

/* These functions return a word for a role, or for a complaint. */
const char *elapse__cluster_role(enum elapse__partition_role role);
const char *elapse__cluster_complaint(enum elapse__complaint complaint);

/* Returns in words what is wrong with a clock, or "" for nothing. */
const char *elapse__cluster_clock(enum elapse__clock_verdict verdict);

/* Returns in words why a partition must not go on. */
const char *elapse__cluster_stop(enum elapse__partition_stop stop);

/* ---- options.c ---- */

/* Returns whether the options are valid. If not, logs why. */
bool elapse__cluster_check_options(struct elapse__cluster *cluster);

/* Chooses the address at which other nodes reach this node, and the name of this node. Requires
 * that the listeners are open. If there is no such address, logs why and returns false. */
bool elapse__cluster_choose_address(struct elapse__cluster *cluster);

/* ---- receive.c ---- */

/* Receives up to `room` bytes from a peer that is ready. Returns how many bytes came. */
size_t elapse__cluster_receive(struct elapse__cluster *cluster, struct elapse__peer *peer,
                               size_t room);

#endif
