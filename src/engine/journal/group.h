/*
 * Groups until they are written to the disk, and the spares that become their segments.
 */
#ifndef ELAPSE__JOURNAL_GROUP_H
#define ELAPSE__JOURNAL_GROUP_H

#include "space.h"

/* ---- group.c ---- */

/* Makes the sink to which the owner appends. */
void elapse__sink_init(struct elapse__record_sink *sink);

/* Adds a group that has only a COMMIT, unless another group forms. Returns whether there is such a
 * group. */
bool elapse__group_add_empty(struct elapse__journal *journal, enum elapse__record_purpose purpose);

/* Closes the group that forms, and returns it. Requires that the group has records. */
struct elapse__group *elapse__group_close(struct elapse__journal *journal);

/* Adds a group that has only this LOG_PLACE, after all others. Returns 0, or an error of begin. */
int elapse__group_add_mark(struct elapse__journal *journal,
                           const struct elapse__journal_place *place);

/* Returns the group that has to be written next, or NULL. */
struct elapse__group *elapse__group_waiting(const struct elapse__journal *journal);

/* Closes the group that has to be written next, and takes it. Requires that there is such a
 * group. */
struct elapse__group *elapse__group_take(struct elapse__journal *journal);
void elapse__group_release(struct elapse__journal *journal, struct elapse__group *group);

/* Frees the memory that no group uses now. */
void elapse__groups_rest(struct elapse__journal *journal);
void elapse__groups_free(struct elapse__journal *journal);

/* ---- place.c ---- */

/* Notes that the segments have no groups of the log and no live bytes any more. */
void elapse__log_forget(struct elapse__journal *journal);

/* Notes that this group of the log lies at this position, or before it. */
void elapse__log_note_group(struct elapse__journal *journal, uint64_t position, uint64_t group);

/* Takes a LOG_PLACE from the files. Returns 0, or an error of the owner. */
int elapse__journal_log_replay_place(struct elapse__journal *journal, uint64_t position,
                                     const struct elapse__journal_place *place);

/* Gives the group in flight its COMMIT, and its LOG_PLACE if it needs one. After that the group may
 * be written. */
void elapse__commit_write(struct elapse__journal *journal);

/* ---- spare.c ---- */

/* Returns whether a file may be written again (F5 of journal.h) and has all of its blocks. */
bool elapse__journal_file_is_reusable(const struct elapse__journal *journal,
                                      const struct elapse__file_status *status);

/* Takes a spare. Returns false if there is none. */
bool elapse__spare_take(struct elapse__journal *journal, struct elapse__spare *spare);
void elapse__spare_add(struct elapse__journal *journal, struct elapse__spare spare);

/* Begins to make a spare. Returns false if there are enough spares, or if none can be made now. */
bool elapse__spare_start(struct elapse__journal *journal);
void elapse__spare_next(struct elapse__journal *journal, struct elapse__operation *operation);
void elapse__spare_completed(struct elapse__journal *journal,
                             const struct elapse__operation *operation);

#endif
