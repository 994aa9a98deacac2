/*
 * Does the work of a follower: reads the row and the log, and takes over.
 */
#ifndef ELAPSE__OWNERSHIP_FOLLOW_H
#define ELAPSE__OWNERSHIP_FOLLOW_H

#include "own.h"

/* Takes the row that a follower has read. */
void elapse__follow_row(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);

/* Takes groups of the log that a follower has read, or an owner that catches up has read. */
void elapse__follow_log(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);

/* Returns whether the log of this connection has to be compared with the witness before this node
 * has read so far (R11). The group after the witness has the hash of the witness. */
bool elapse__follow_doubts_witness(const struct elapse__partition *partition);

/* Returns whether this node may take over now. */
bool elapse__follow_may_take_over(const struct elapse__partition *partition);

/* Returns when this node may take over if nothing changes, or UINT64_MAX for never. */
uint64_t elapse__follow_take_over_ms(const struct elapse__partition *partition);

#endif
