/*
 * Marks a database that lost groups: rule R11 of partition.h.
 */
#ifndef ELAPSE__OWNERSHIP_MARK_H
#define ELAPSE__OWNERSHIP_MARK_H

#include "row.h"

/* Stores the next statement of the role MARKING. */
void elapse__mark_next(const struct elapse__partition *partition,
                       struct elapse__statement *statement);

/* These functions take results in MARKING: of READ_ROW, READ_LOG and MARK. */
void elapse__mark_looked(struct elapse__partition *partition,
                         const struct elapse__statement_result *result);
void elapse__mark_compared(struct elapse__partition *partition,
                           const struct elapse__statement_result *result);
void elapse__mark_written(struct elapse__partition *partition,
                          const struct elapse__statement_result *result);

/* Ends MARKING, and stops. Called when there is nothing to mark, when the row has its mark, or when
 * no time is left. */
void elapse__mark_end(struct elapse__partition *partition);

#endif
