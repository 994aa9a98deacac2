/*
 * Does the work of an owner: takes over, appends, beats, and finds out what an unclear outcome was.
 */
#ifndef ELAPSE__OWNERSHIP_OWN_H
#define ELAPSE__OWNERSHIP_OWN_H

#include "row.h"

/* Take the results of READ_ROW, TAKE_OVER, BEAT and APPEND, at a node that owns the partition, or
 * perhaps owns it. */
void elapse__own_looked(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);
void elapse__own_taken(struct elapse__partition *partition,
                       const struct elapse__statement_result *result);
void elapse__own_beaten(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);
void elapse__own_appended(struct elapse__partition *partition,
                          const struct elapse__statement_result *result);

/* Called when rows of the inbox that the group was made of are not there any more (R10). */
void elapse__own_lost_rows(struct elapse__partition *partition);

/* Begins to own if what this node has is all of the log. */
void elapse__own_look_for_end(struct elapse__partition *partition);

/* Returns whether a table of the log is to be made now. */
bool elapse__own_needs_table(const struct elapse__partition *partition);

/* Returns whether tables of the log may be dropped now. */
bool elapse__own_may_drop(const struct elapse__partition *partition);

#endif
