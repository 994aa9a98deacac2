/*
 * Groups until they go to the disk, and the spares that they go to.
 */
#ifndef ELAPSE__JOURNAL_GROUP_H
#define ELAPSE__JOURNAL_GROUP_H

#include "space.h"

/* ---- group.c ---- */

/* Makes the sink that the owner appends to. */
void elapse__sink_init(struct elapse__record_sink *sink);

/* Adds a group that has only a COMMIT, unless another group forms. Returns whether there is one. */
bool elapse__group_add_empty(struct elapse__journal *journal, enum elapse__record_purpose purpose);

/* Closes the group that forms, and returns it. Requires that it has records. */
struct elapse__group *elapse__group_close(struct elapse__journal *journal);

/* Adds a group that has only this LOG_PLACE, behind all others. Returns 0, or an error of begin. */
int elapse__group_add_mark(struct elapse__journal *journal,
                           const struct elapse__journal_place *place);

/* Returns the group that is to be written next, or NULL. */
struct elapse__group *elapse__group_waiting(const struct elapse__journal *journal);

/* Closes the group that is to be written next, and takes it. Requires that there is one. */
struct elapse__group *elapse__group_take(struct elapse__journal *journal);
void elapse__group_release(struct elapse__journal *journal, struct elapse__group *group);

/* Releases the memory that no group uses now. */
void elapse__groups_rest(struct elapse__journal *journal);
void elapse__groups_free(struct elapse__journal *journal);

/* ---- place.c ---- */

/* Notes that the segments have nothing of the log any more, and nothing that is live. */
void elapse__log_forget(struct elapse__journal *journal);

/* Notes that this group of the log lies at this position, or before it. */
void elapse__log_note_group(struct elapse__journal *journal, uint64_t position, uint64_t group);

/* Takes in a LOG_PLACE of the files. Returns 0, or an error of the owner. */
int elapse__journal_log_replay_place(struct elapse__journal *journal, uint64_t position,
                                     const struct elapse__journal_place *place);

/* Gives the group in flight its LOG_PLACE, if it needs one, and its COMMIT. After that the group
 * may be written. */
void elapse__commit_write(struct elapse__journal *journal);

/* ---- spare.c ---- */

/* Returns whether a file may be written again (F5), and has all of its blocks. */
bool elapse__journal_file_is_reusable(const struct elapse__journal *journal,
                                      const struct elapse__file_status *status);

/* Takes a spare. Returns false if there is none. */
bool elapse__spare_take(struct elapse__journal *journal, struct elapse__spare *spare);
void elapse__spare_add(struct elapse__journal *journal, struct elapse__spare spare);

/* Begins to make a spare. Returns false if there are enough, or none can be made now. */
bool elapse__spare_start(struct elapse__journal *journal);
void elapse__spare_next(struct elapse__journal *journal, struct elapse__operation *operation);
void elapse__spare_completed(struct elapse__journal *journal,
                             const struct elapse__operation *operation);

#endif
