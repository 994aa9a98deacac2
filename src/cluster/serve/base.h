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

/* Waits until this time, or until the errand has to stop. Requires the lock. */
void elapse__cluster_errand_rest(struct elapse__cluster_errand *errand, uint64_t until_ns);

/* Leaves a line for the log, in place of one that was not taken yet, and wakes the loop. Requires
 * the lock. */
void elapse__cluster_errand_note(struct elapse__cluster *cluster,
                                 struct elapse__cluster_errand *errand,
                                 enum elapse__logger_level level, const char *text);

/* Called by the loop. Writes the line into the log, if the thread has left one. Returns whether it
 * has. */
bool elapse__cluster_errand_log(struct elapse__cluster *cluster,
                                struct elapse__cluster_errand *errand);

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

/* ---- nodes_errand.c ---- */

/* Makes the arrays of `cluster->nodes`, and reads of which partitions this node is to have copies.
 * Asks the database server `host` first. Without lists these are all partitions: in a database
 * without the tables, or if the role has no right to read them, which is logged. Returns false,
 * with words, if no server tells, or if there is no memory: then the caller asks again. Called
 * before the thread begins. */
bool elapse__cluster_read_lists(struct elapse__cluster *cluster, unsigned host,
                                struct elapse__schema_why *why);

/* Frees the arrays. Requires that the thread has ended, or was never started. */
void elapse__cluster_nodes_free(struct elapse__cluster *cluster);

/* The main function of the thread that tells the other nodes of this one, and balances. */
void *elapse__cluster_errand_nodes(void *argument);

/* Called on the thread of the loop. Tells that thread what the loop knows. Stores in each partition
 * what the thread wants, and logs its line. */
void elapse__cluster_errand_nodes_look(struct elapse__cluster *cluster);

/* ---- witnesses.c ---- */

/* Reads the witnesses of earlier lives, and takes what the directories know that were left. If the
 * file cannot be used, logs why, and goes on without it. Returns false if there is no memory. */
bool elapse__cluster_witnesses_make(struct elapse__cluster *cluster);

/* Frees the witnesses. Requires that the thread has ended, or was never started. */
void elapse__cluster_witnesses_free(struct elapse__cluster *cluster);

/* The main function of the thread that writes the witnesses. */
void *elapse__cluster_errand_witnesses(void *argument);

/* Called on the thread of the loop: logs the line of that thread. */
void elapse__cluster_witnesses_look(struct elapse__cluster *cluster);

/* Return and note the witness of a partition. Any thread that holds no lock may call these, while
 * the thread above runs. */
struct elapse__partition_witness
elapse__cluster_witness(const struct elapse__cluster_partition *partition);
void elapse__cluster_note_witness(const struct elapse__cluster_partition *partition,
                                  const struct elapse__partition_witness *witness);

/* ---- aside.c ---- */

/* Finds the files that earlier lives have set aside, and removes those that were about to be
 * removed. Called when the partitions were made. */
void elapse__cluster_find_aside(struct elapse__cluster *cluster);

/* Returns the files of a kind that the partition has. Requires that neither a
 * copier nor a remover runs. */
struct elapse__cluster_files
elapse__cluster_files(const struct elapse__cluster_partition *partition, unsigned kind);

/* Renames the directory of a partition that was left, so that no life opens it any more. Called on
 * the copier's thread. If it fails, logs why; then the directory is as it was. */
void elapse__cluster_set_aside(struct elapse__cluster_partition *partition);

/* Removes the directory that was set aside. Called on the remover's thread. If it fails, logs
 * why. */
void elapse__cluster_remove_aside(struct elapse__cluster_partition *partition);

/* Writes into the directories that were left or set aside which place continues their ends now, so
 * that the next life can go on from there. Called when the loop, the copiers and
 * the removers have ended. */
void elapse__cluster_note_continued(struct elapse__cluster *cluster);

/* ---- addresses.c ---- */

/* The main function of the thread that looks up the names of hosts. */
void *elapse__addresses_errand(void *argument);

/* Called on the thread of the loop. Stores an address of the owner of a partition, and in `host`
 * whose certificate the owner has, or "" if it is reached without TLS. Returns whether an address
 * is known. If not, `*why` says why, or is NULL while the name is being looked up. */
bool elapse__addresses_find(struct elapse__cluster_partition *partition,
                            struct elapse__os_address *found, char host[ELAPSE__LOOP_HOST_BYTES],
                            const char **why);

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

/* Returns whether this node could take over the partition that it follows: its clock permits a
 * take-over (R12), and it did not just lack room to serve the partition. */
bool elapse__cluster_could_take_over(const struct elapse__cluster_partition *partition,
                                     const struct elapse__partition_figures *seen);

/* Notes when the last write was sent that the database has confirmed. Called once a second, and
 * before the figure is shown, because a runner that has lost its lease knows the time no more. */
void elapse__cluster_note_confirmed(struct elapse__cluster_partition *partition);

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
