/*
 * Notes the row of the partition in the database, and compares it with what this node has and
 * knows.
 */
#ifndef ELAPSE__OWNERSHIP_ROW_H
#define ELAPSE__OWNERSHIP_ROW_H

#include "role.h"

/* Notes the row as the database has it now. */
void elapse__row_note(struct elapse__partition *partition, const struct elapse__partition_row *row);

/* Takes the witness from two rows of one connection: the noted one, if there is one, and this one,
 * which is newer and not noted yet. */
void elapse__row_witness(struct elapse__partition *partition,
                         const struct elapse__partition_row *row);

/* Forgets the witness. */
void elapse__row_forget_witness(struct elapse__partition *partition);

/* Returns whether the noted row lacks what this node knows to be durable. */
bool elapse__row_has_lost(const struct elapse__partition *partition);

/* Returns whether the noted row lacks what this node has itself, and not only its witness. */
bool elapse__row_has_lost_own(const struct elapse__partition *partition);

/* Stops the partition, because the noted row lacks what this node knows to be durable. */
void elapse__row_stop_for_loss(struct elapse__partition *partition);

/* Stops the partition if this row has a mark (R11). Returns whether the row has a mark. */
bool elapse__row_is_marked(struct elapse__partition *partition,
                           const struct elapse__partition_row *row);

/* Decides by the noted row. Stops the partition if groups are lost, or if the row has a mark.
 * Begins a rebuild if what this node has is not the beginning of the log. */
void elapse__row_judge_end(struct elapse__partition *partition);

/* Remembers that in this epoch the log continued what this node has. */
void elapse__row_see_epoch(struct elapse__partition *partition, uint64_t epoch);

/* Begins a rebuild: forgets the groups that this node has. The next groups come from the tail
 * on. */
void elapse__row_rebuild(struct elapse__partition *partition);

#endif
