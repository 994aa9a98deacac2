/*
 * The nodes of a cluster have stores whose groups lie in a replicated log. src/engine/journal/log.h
 * says how the journal works with a log, and why recovery is possible. This header says what the
 * log means for the queue and for threads.
 *
 *      the log (one thread of the cluster's shell)          the store
 *      apply     ------> elapse__store_follow    ------>    journal and queue, as a replay
 *      rebuild   ------> elapse__store_rebuild   ------>    both are empty, by one group
 *      own       ------> elapse__store_own       ------>    a life begins
 *      submit    <------ log->submit             <------    commit lane: a group
 *      confirmed ------> elapse__store_confirmed ------>    the group is written, replies leave
 *      trim      <------ log->trim               <------    the tail has moved
 *      fenced    ------> elapse__store_fenced    ------>    pending groups are put aside
 *
 * Life of a store with a log
 *
 *      opening --> following --own--> alive --fenced--> fenced --> closing
 *                      |                 |                            ^
 *                      +-----------------+----------------------------+
 *
 *   following   The store takes groups of the log, and answers commands with CLOSED. The queue is
 *               as during a replay: no timer runs, no job is ready, and no lease begins. The
 *               journal does not clean.
 *   alive       The store works as without a log, but replies leave later. A group is acknowledged
 *               when the log has confirmed it and it is written here. The first record that a life
 *               puts into the log is the number of the life. So every reply of the life waits for
 *               this record, hand-outs included (Q4 of docs/promises.md).
 *   fenced      The store takes nothing, because the node does not own the log any more. The caller
 *               closes the store and opens it again. Then the store follows from the last confirmed
 *               group on. Commands that were answered are in the log. Commands that wait for their
 *               answer may or may not be in the log.
 *
 * Times. Due times and ends of leases are in the cluster's time (now.h), which is the same at all
 * nodes. After a take-over the new owner treats them as after a restart. elapse__store_place tells
 * the newest time in the log.
 *
 * Limits. A group of the log has to fit into a segment here, so segments must not be smaller than
 * the owner's. Pauses of tubes are not in the log. If a body is damaged on the owner's disk, and
 * the owner's cleaning copies the job, then the body is lost for all nodes.
 */
#ifndef ELAPSE__STORE_LOG_H
#define ELAPSE__STORE_LOG_H

#include "../engine.h"
#include "../journal/log.h"

struct elapse_queue;

/* ---- the store: any thread may call these, but no function of the log may ---- */

/* These functions call the function of engine.h with the same last word. They wait for room in the
 * journal for a while. After DISK_FULL the caller may try again. CLOSED says that the store does
 * not follow a log. ARGUMENT says that the bytes are no group of this format, or too long. */
enum elapse_error elapse__store_follow(struct elapse_queue *store,
                                       const struct elapse__engine_group *group);
enum elapse_error elapse__store_rebuild(struct elapse_queue *store);
enum elapse_error elapse__store_own(struct elapse_queue *store);

/* Submits a group to the log even if it has no records. The caller has something else that has to
 * go with a group, such as rows of the inbox. */
void elapse__store_push(struct elapse_queue *store);

/* Looks again which jobs are due. Call this after elapse__store_set_time. */
void elapse__store_time_was_set(struct elapse_queue *store);

/* Notes that the group that was submitted is in the log. */
void elapse__store_confirmed(struct elapse_queue *store);

/* Returns whether the log has everything that this life has changed, leases included. */
bool elapse__store_is_logged(struct elapse_queue *store);

/* Returns the position before which everything lies that this life has changed until now. */
uint64_t elapse__store_appended(struct elapse_queue *store);

/* Returns whether the log has everything before a position that elapse__store_appended has
 * returned, and it is written here. */
bool elapse__store_is_logged_before(struct elapse_queue *store, uint64_t position);

/* Ends the life of the store, because the node does not own the log any more, or will not submit
 * groups any more. From now on no command is answered. Puts the groups that were not confirmed
 * aside, into the file `journal/aside-<epoch>-<group>`. Waits for the operation that is under way.
 * Returns OK. Returns SYSTEM or DISK_FULL if not all groups could be put aside. */
enum elapse_error elapse__store_fenced(struct elapse_queue *store, uint64_t epoch);

/* What a node needs to know of its store at the start: the last group that this node has (`local`),
 * and the last group that is certainly durable in the log (`confirmed`). */
struct elapse__store_place {
    uint64_t local_group, local_hash;
    uint64_t confirmed_group, confirmed_hash;
    int64_t wall_ms; /* the newest time in the log, by the clock of its owner then */
};

void elapse__store_place(struct elapse_queue *store, struct elapse__store_place *place);

#endif
