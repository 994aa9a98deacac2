/*
 * A store whose groups lie in a replicated log. journal/log.h says how the journal does it, and why
 * recovery is possible; this is what it means for the queue, and for threads.
 *
 *      the log (one thread of the cluster's shell)          the store
 *      apply     ------> elapse__store_follow    ------>    journal and queue, as a replay
 *      rebuild   ------> elapse__store_rebuild   ------>    both are empty, by one group
 *      own       ------> elapse__store_own       ------>    a life begins
 *      submit    <------ log->submit             <------    commit lane: a group
 *      confirmed ------> elapse__store_confirmed ------>    it is written here, replies leave
 *      trim      <------ log->trim               <------    the tail has moved
 *      fenced    ------> elapse__store_fenced    ------>    pending groups are put aside
 *
 * Life of a store with a log
 *
 *      opening --> following --own--> alive --fenced--> fenced --> closing
 *                      |                 |                            ^
 *                      +-----------------+----------------------------+
 *
 *   following   Takes groups of the log, and no commands (CLOSED). The queue is as during a replay:
 *               no timer runs, nothing is ready, no lease begins; nothing is cleaned.
 *   alive       As without a log, but for the gate of replies: a group is acknowledged when the log
 *               has confirmed it and it is written here. The life's number is the first record in
 *               the log, so every reply of this life waits for it, hand-outs included (Q4).
 *   fenced      Takes nothing. Close it, and open it again: it follows from the last confirmed
 *               group. What commands were answered before is in the log; what waits for an answer
 *               may or may not be.
 *
 * Times. What the queue knows by the wall clock alone (due times, ends of leases) it knows after a
 * take-over as after a restart, so the nodes' clocks have to agree. elapse__store_place tells the
 * newest time in the log.
 *
 * Limits. A group of the log has to fit into a segment here: segments must not be smaller than the
 * owner's. Pauses of tubes are not in the log. A body that rots on the owner's disk is lost for all
 * nodes once the owner has copied its job.
 */
#ifndef ELAPSE__STORE_LOG_H
#define ELAPSE__STORE_LOG_H

#include "../engine.h"
#include "../journal/log.h"

struct elapse_queue;

/* ---- the store: any thread; not from within calls of the log ---- */

/* Follow, rebuild and own, as the functions of the engine with these names do. These calls wait for
 * room for a while: after DISK_FULL the caller may try again. CLOSED: the store does not follow.
 * ARGUMENT: the bytes are no group of this format, or too long. */
enum elapse_error elapse__store_follow(struct elapse_queue *store,
                                       const struct elapse__engine_group *group);
enum elapse_error elapse__store_rebuild(struct elapse_queue *store);
enum elapse_error elapse__store_own(struct elapse_queue *store);

/* The next group goes to the log even if it has no records: it may carry something else. */
void elapse__store_push(struct elapse_queue *store);

/* elapse__store_set_time was called: looks again at what is due. */
void elapse__store_time_was_set(struct elapse_queue *store);

/* The group that was submitted is in the log. */
void elapse__store_confirmed(struct elapse_queue *store);

/* The node does not own the log any more, or will not submit any more: no command is answered any
 * more, and groups that were not confirmed are put into the file `journal/aside-<epoch>-<group>`.
 * Waits for the operation that is under way. Returns OK; or SYSTEM or DISK_FULL: nothing, or not
 * all of it, could be put aside. */
enum elapse_error elapse__store_fenced(struct elapse_queue *store, uint64_t epoch);

/* What the cluster has to know at the start: the end of what this node has; `confirmed`: the last
 * group that is durable in the log, for sure. */
struct elapse__store_place {
    uint64_t local_group, local_hash;
    uint64_t confirmed_group, confirmed_hash;
    int64_t wall_ms; /* the newest time in the log, by the clock of the owner then */
};

void elapse__store_place(struct elapse_queue *store, struct elapse__store_place *place);

#endif
