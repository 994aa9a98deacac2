/*
 * A journal whose groups lie in a replicated log, too. Without a log nothing of this happens.
 *
 * Two homes of one group
 *
 *      owner      records -> group -> submitted to the log -> confirmed -> written here -> reply
 *      follower   the log's next group -> the same records in a group of its own -> written here
 *
 *   log     groups with numbers from 1, chained by hashes; the same for all nodes (src/cluster).
 *   place   where in the log a journal's group lies: number and hash. LOG_PLACE, the last record
 *           before the COMMIT, says the place, and what the group says in the log beside its
 *           records. So a database that lost groups can get them back, byte by byte, from a node's
 *           files. A group without an owner's records repeats the place of the group before it.
 *   tail    of the log: the first group that is needed. Each group carries the tail as it is once
 *           that group is in the log.
 *
 * Invariants, beside those of journal.h
 *
 *   L1  A group with records is written here only when the log has it: confirmed, or read from it.
 *       So the files never hold a change that the log lacks. The exception is the last group of a
 *       follower, which the database may lose (then the journal forgets all).
 *   L2  One group is submitted at a time, in the order of the journal. So the groups of the log are
 *       the groups of the journal that have records (or were pushed), one for one. The last whole
 *       LOG_PLACE says which of them the files have.
 *   L3  Each segment that has a group has a LOG_PLACE. The head's, or that of the segment before,
 *       is in use. So the place is not lost with a segment that is retired.
 *   L4  All live records lie in groups from the log's tail on: the tail of a group is the first
 *       group of the segment that its COMMIT calls the tail, or an earlier one.
 *   L5  A follower cleans nothing. It retires a segment without live bytes. Records that it counts
 *       as live below the tail of the log belong to what has ended without a record: its owner
 *       forgets them first.
 *   L6  A group that the log did not confirm is never written here. When the node is fenced, the
 *       group is put aside, and the journal is closed, and opened again as it was before that
 *       group.
 *
 * States (of the commit lane; journal.h has the others)
 *
 *      IDLE --a group with records, and this node owns--> SUBMITTING --taken--> SUBMITTED
 *      SUBMITTED --confirmed--> WRITING
 *      any but FAILED --fenced, or not taken--> FENCED: no operation begins any more
 *
 * Why recovery is possible
 *
 *   crash of the process, power cut   The files end with some group, and say where it lies (L2).
 *                      Groups that the log has beyond that one are read from the log. So groups are
 *                      acknowledged when they are written, not synced: the log has them.
 *   crash between confirmation and writing   The same.
 *   torn local end     The same. Segments before the head were synced before it began, and the
 *                      tail of the log is at most the first group of the head: the log still has
 *                      what was torn.
 *   the log went back  LOG_PLACE with `forgets`: one durable group makes all before it nothing,
 *                      so a crash leaves either all of the old or nothing of it.
 *   the files are lost, or too old   The node begins with an empty journal, and reads the log from
 *                      its tail on (L4).
 *
 * A journal with places has version 4 of the format in its headers (or 2, see frame.h). Opened
 * without a log, for reading, such a journal takes no records, because these would not be in the
 * log.
 */
#ifndef ELAPSE__JOURNAL_LOG_H
#define ELAPSE__JOURNAL_LOG_H

#include "journal.h"
#include "portable.h"

/* What the journal asks of the log. The calls must not call the journal. */
struct elapse__journal_log {
    void *context;
    uint64_t genesis; /* the hash before group 1 */

    /* Returns the hash of a group, behind the group with the hash `previous`. */
    uint64_t (*next_hash)(uint64_t previous, const void *bytes, size_t size);

    /* Takes the next group. Called without the caller's lock, from a thread of the commit lane. The
     * bytes stay as they are until elapse__journal_confirmed or elapse__journal_fence, one of which
     * follows, from any thread, perhaps before this returns. Everything that was appended before
     * `position` is in this group or in one before it. Returns false if the log takes no more. */
    bool (*submit)(void *context, const void *bytes, size_t size, uint64_t position);

    /* Groups with lower numbers are needed no more. Called with the caller's lock. */
    void (*trim)(void *context, uint64_t tail);
};

/* Returns whether groups of the log may come: the journal has a log, and this node does not own it
 * yet. */
bool elapse__journal_follows(const struct elapse__journal *journal);

/* Returns whether the journal's groups lie in a log. */
bool elapse__journal_is_placed(const struct elapse__journal *journal);

/* Returns the place of the last group that was applied, or submitted and confirmed. */
struct elapse__journal_place elapse__journal_place(const struct elapse__journal *journal);

/* Says that the records appended last, between one begin and end of the sink, are those of this
 * group of the log, and closes the group. Requires that the journal follows, and that the group is
 * the log's next one. Returns 0; or, only if nothing was appended, an error of the sink's begin. */
int elapse__journal_followed(struct elapse__journal *journal,
                             const struct elapse__journal_place *place);

/* Called when the log's tail has come to this group: the owner of the log has nothing live below
 * it. If this journal counts something as live there, returns the position below which nothing is
 * live; otherwise 0. */
uint64_t elapse__journal_dead_below(const struct elapse__journal *journal, uint64_t tail);

/* Appends one group that makes everything before it nothing. The owner of the journal has to forget
 * everything in the same moment. Requires that the journal follows. Returns 0, or an error of the
 * sink's begin. */
int elapse__journal_forget(struct elapse__journal *journal);

/* Says that this node owns the log, and has applied all of it: from now on groups are submitted. */
void elapse__journal_own(struct elapse__journal *journal);

/* Makes the journal submit the next group even if it has no records. */
void elapse__journal_push(struct elapse__journal *journal);

/* Says that the group that was submitted is in the log, for good. */
void elapse__journal_confirmed(struct elapse__journal *journal);

/* Says that this node does not own the log any more: no operation begins from now on. Operations
 * under way have to be completed, and the journal freed. */
void elapse__journal_fence(struct elapse__journal *journal);
bool elapse__journal_is_fenced(const struct elapse__journal *journal);

/* Writes the groups that were not confirmed into the file `aside-<epoch>-<group>` beside the
 * segments, for people to read: each as its size in 8 bytes, little-endian, and then as it would
 * lie in the log. Requires that the journal is fenced, and no operation of the commit lane under
 * way. Returns 0, also if there are none; or an error number. */
int elapse__journal_put_aside(struct elapse__journal *journal, uint64_t epoch);

/* Fails the journal, because its owner could not apply a group of the log as a whole. */
void elapse__journal_give_up(struct elapse__journal *journal, int error);

#endif
