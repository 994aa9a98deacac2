/*
 * A journal whose groups lie in a replicated log, too. Nothing in this header applies to a journal
 * without a log.
 *
 * Two homes of one group
 *
 *      owner      records -> group -> submitted to the log -> confirmed -> written here -> reply
 *      follower   the log's next group -> the same records in a group of its own -> written here
 *
 *   log     groups with numbers from 1, chained by hashes. All nodes have the same log
 *           (src/cluster).
 *   place   where a group of the journal lies in the log: a number and a hash. LOG_PLACE is the
 *           last record before the COMMIT. It has the place, and what the group has in the log
 *           beside its records. So a database that lost groups can get them back from a node's
 *           files, byte by byte. A group without an owner's records repeats the place of the group
 *           before it.
 *   tail    of the log: the first group that is needed. Each group has the tail that is right when
 *           that group is in the log.
 *
 * Invariants, in addition to those of journal.h
 *
 *   L1  A group with records is written here only when the log has it: the group was confirmed, or
 *       read from the log. So the files never have a change that the log lacks. The exception is
 *       the last group of a follower, which the database may lose. Then the journal forgets
 *       everything.
 *   L2  One group is submitted at a time, in the order of the journal. So the groups of the log are
 *       the groups of the journal that have records (or were pushed), one for one. The last whole
 *       LOG_PLACE says which of them the files have.
 *   L3  Each segment that has a group has a LOG_PLACE. Recovery uses the one in the head or in the
 *       segment before the head. So the place is not lost with a segment that is retired.
 *   L4  All live records lie in groups from the log's tail on. The tail that a group names is the
 *       first group of the segment that its COMMIT names as the tail, or an earlier group.
 *   L5  A follower does not clean. It retires a segment without live bytes. If it counts records
 *       below the log's tail as live, these belong to something that has ended without a record.
 *       The owner of the journal forgets them first.
 *   L6  A group that the log did not confirm is never written here. When the node is fenced, the
 *       group is put aside. The journal is closed, and opened again without that group.
 *
 * States (of the commit lane; journal.h has the others)
 *
 *      IDLE --a group with records, and this node owns--> SUBMITTING --taken--> SUBMITTED
 *      SUBMITTED --confirmed--> WRITING
 *      any but FAILED --fenced, or not taken--> FENCED: no operation begins any more
 *
 * Why recovery is possible
 *
 *   crash of the process, power cut The files end with some group, and say where in the log it lies
 *                      (L2). The groups after it are read from the log. So a group may be
 *                      acknowledged when it is written and not yet synced, because the log has it.
 *   crash between confirmation and writing   The same.
 *   torn local end     The same. Segments before the head were synced before it began, and the
 *                      tail of the log is at most the first group of the head: the log still has
 *                      what was torn.
 *   the log went back  A LOG_PLACE with `forgets` makes all groups before it invalid. It lies in
 *                      one group, so a crash leaves either all of the old groups or none.
 *   the files are lost, or too old   The node begins with an empty journal, and reads the log from
 *                      its tail on (L4).
 *
 * A journal with places has version 4 of the format in its headers, or 2 (frame.h). If it is opened
 * without a log, for reading, it takes no records, because the log would not have them.
 */
#ifndef ELAPSE__JOURNAL_LOG_H
#define ELAPSE__JOURNAL_LOG_H

#include "journal.h"
#include "portable.h"

/* The functions of the log. They must not call the journal. */
struct elapse__journal_log {
    void *context;
    uint64_t genesis; /* the hash before group 1 */

    /* Returns the hash of a group. `previous` is the hash of the group before. */
    uint64_t (*next_hash)(uint64_t previous, const void *bytes, size_t size);

    /* Takes the next group. Called without the caller's lock, from a thread of the commit lane. The
     * bytes must not change until elapse__journal_confirmed or elapse__journal_fence. One of these
     * follows, from any thread, perhaps before this function returns. Everything that was appended
     * before `position` is in this group or in an earlier one. Returns false if the log takes no
     * more groups. */
    bool (*submit)(void *context, const void *bytes, size_t size, uint64_t position);

    /* Groups with lower numbers are needed no more. Called while the caller's lock is held. */
    void (*trim)(void *context, uint64_t tail);
};

/* Returns whether groups of the log may come. They may if the journal has a log and this node does
 * not own it yet. */
bool elapse__journal_follows(const struct elapse__journal *journal);

/* Returns whether the groups of the journal lie in a log. */
bool elapse__journal_is_placed(const struct elapse__journal *journal);

/* Returns the place of the last group that was applied, or that was submitted and confirmed. */
struct elapse__journal_place elapse__journal_place(const struct elapse__journal *journal);

/* Says that the records of the last group of the sink are those of this group of the log, and
 * closes the group. Requires that the journal follows, and that the group is the next one of the
 * log. Returns 0. If nothing was appended, may return an error of the sink's begin. */
int elapse__journal_followed(struct elapse__journal *journal,
                             const struct elapse__journal_place *place);

/* Called when the log's tail has come to this group, so that the owner of the log has nothing live
 * below it. If this journal counts records below it as live, returns the position below which
 * nothing is live. If not, returns 0. */
uint64_t elapse__journal_dead_below(const struct elapse__journal *journal, uint64_t tail);

/* Appends a group that makes all groups before it invalid. The owner of the journal has to forget
 * everything at the same moment. Requires that the journal follows. Returns 0, or an error of the
 * sink's begin. */
int elapse__journal_forget(struct elapse__journal *journal);

/* Says that this node owns the log and has applied all of its groups. From now on the journal
 * submits groups. */
void elapse__journal_own(struct elapse__journal *journal);

/* Makes the journal submit the next group even if it has no records. */
void elapse__journal_push(struct elapse__journal *journal);

/* Says that the group that was submitted is certainly in the log. */
void elapse__journal_confirmed(struct elapse__journal *journal);

/* Returns whether the log has all records: no group waits until it is submitted or confirmed. */
bool elapse__journal_is_logged(const struct elapse__journal *journal);

/* Returns the position before which all records lie that were appended until now. */
uint64_t elapse__journal_appended(const struct elapse__journal *journal);

/* Returns whether the log has all records before a position that elapse__journal_appended has
 * returned, and they are written here. */
bool elapse__journal_is_logged_before(const struct elapse__journal *journal, uint64_t position);

/* Says that this node does not own the log any more. No operation begins from now on. The caller
 * has to complete the operations under way, and to free the journal. */
void elapse__journal_fence(struct elapse__journal *journal);
bool elapse__journal_is_fenced(const struct elapse__journal *journal);

/* Writes the groups that were not confirmed into the file `aside-<epoch>-<group>` beside the
 * segments, for people to read. Each group has its size in 8 bytes, little-endian, and then its
 * bytes as they would lie in the log. Requires that the journal is fenced, and that the commit lane
 * has no operation under way. Returns 0, also if there are no such groups, or an error number. */
int elapse__journal_put_aside(struct elapse__journal *journal, uint64_t epoch);

/* Fails the journal, because its owner could not apply all of a group of the log. */
void elapse__journal_give_up(struct elapse__journal *journal, int error);

#endif
