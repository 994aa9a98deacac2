/*
 * Says which role may follow which, and does what a change of the role requires.
 */
#ifndef ELAPSE__OWNERSHIP_ROLE_H
#define ELAPSE__OWNERSHIP_ROLE_H

#include "state.h"

/* Returns whether a node in this role holds an epoch, certainly or perhaps. */
bool elapse__role_has_epoch(enum elapse__partition_role role);

/* Returns whether the partition has ended or stopped. No statement follows then. */
bool elapse__role_is_final(enum elapse__partition_role role);

/* Enters a role. Requires that the diagram of partition.h has this change. */
void elapse__partition_enter(struct elapse__partition *partition, enum elapse__partition_role role);

/* Reads the row as soon as nothing is under way. */
void elapse__partition_poll_now(struct elapse__partition *partition);

/* Closes the connection. If `elsewhere`, the next connection goes to the next host. */
void elapse__partition_drop_link(struct elapse__partition *partition, bool elsewhere);

/* Called when the outcome of the statement under way is unclear: perhaps the database has done it,
 * or will do it later. */
void elapse__partition_unclear(struct elapse__partition *partition, enum elapse__complaint why);

/* Called when this node does not own the partition any more. */
void elapse__partition_lose(struct elapse__partition *partition);

/* Leaves HANDING_OVER, because the database has answered or it is too late. */
void elapse__partition_left(struct elapse__partition *partition);

/* Becomes a follower. If the process is about to end, ends the partition instead. */
void elapse__partition_follow(struct elapse__partition *partition);

/* Ends the partition, and gives the group that was not confirmed back to the owner of this
 * object. */
void elapse__partition_end(struct elapse__partition *partition);

/* Stops the partition. If groups are lost, marks the row first. */
void elapse__partition_stop(struct elapse__partition *partition, enum elapse__partition_stop stop);

/* Enters STOPPED, and tells the owner of this object why. */
void elapse__partition_stop_now(struct elapse__partition *partition);

#endif
