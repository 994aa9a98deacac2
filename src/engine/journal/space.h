/*
 * The table of segments, the names of files, and the rules for who may take which space.
 */
#ifndef ELAPSE__JOURNAL_SPACE_H
#define ELAPSE__JOURNAL_SPACE_H

#include "core.h"

/* ---- segments.c ---- */

/* These functions store the name of a file, which takes ELAPSE__FILE_NAME_BYTES. */
void elapse__name_segment(char *name, uint64_t number);
void elapse__name_spare(char *name, uint64_t number);
void elapse__name_new(char *name, uint64_t number);

/* Makes room in the table for one more segment. Returns false if there is no memory. */
bool elapse__segments_reserve(struct elapse__journal *journal);

/* Adds the next segment. Requires room in the table. */
void elapse__segments_add(struct elapse__journal *journal, int file);

/* Takes the first segment out of the table. Requires that the segment lies below the tail, and that
 * nobody reads it. */
void elapse__segments_drop_first(struct elapse__journal *journal);

/* Returns the segment with this number, or NULL. */
struct elapse__segment *elapse__segments_find(const struct elapse__journal *journal,
                                              uint64_t number);

/* Returns the size of all segments from the tail to that of the next record. */
uint64_t elapse__segments_bytes(const struct elapse__journal *journal);

/* ---- unread.c ---- */

/* Counts a failed read of the disk. */
void elapse__journal_count_failed_read(struct elapse__journal *journal, uint64_t position);

/* Returns how many places in the log could not be read when they were last tried. */
uint64_t elapse__unread_places(const struct elapse__journal *journal);

/* ---- room.c ---- */

/* Returns by how many bytes the copies of all live records may be longer than the records. */
uint64_t elapse__growth_bytes(const struct elapse__journal *journal);

/* Returns how many spares are held for deletes and copies. */
unsigned elapse__spares_held(const struct elapse__journal *journal);

/* Returns how many spares there should be: those that are held, and one for the next segment. */
unsigned elapse__spares_wanted(const struct elapse__journal *journal);

/* Returns whether records of this purpose may be appended. `crossing` says that they need a new
 * segment. */
bool elapse__journal_admits(const struct elapse__journal *journal,
                            enum elapse__record_purpose purpose, bool crossing);

/* Returns whether the tail has to be cleaned now. */
bool elapse__clean_is_needed(const struct elapse__journal *journal);

/* Returns whether a file will be free soon, because cleaning is under way or the tail has moved. */
bool elapse__clean_frees_a_file(const struct elapse__journal *journal);

#endif
