/*
 * Does the work of an owner: takes over, appends, beats, and finds out whether an unclear write has
 * happened.
 */
#ifndef ELAPSE__OWNERSHIP_OWN_H
#define ELAPSE__OWNERSHIP_OWN_H

#include "row.h"

/* These functions take the results of READ_ROW, TAKE_OVER, BEAT and APPEND at a node that owns the
 * partition, certainly or perhaps. */
void elapse__own_looked(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);
void elapse__own_taken(struct elapse__partition *partition,
                       const struct elapse__statement_result *result);
void elapse__own_beaten(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);
void elapse__own_appended(struct elapse__partition *partition,
                          const struct elapse__statement_result *result);

/* Called when the group was made of rows of the inbox and some of these rows have gone (R10). */
void elapse__own_lost_rows(struct elapse__partition *partition);

/* Begins to own the partition if this node has all groups of the log. */
void elapse__own_look_for_end(struct elapse__partition *partition);

/* Returns whether a table of the log is to be made now. */
bool elapse__own_needs_table(const struct elapse__partition *partition);

/* Returns whether tables of the log may be dropped now. */
bool elapse__own_may_drop(const struct elapse__partition *partition);

#endif
