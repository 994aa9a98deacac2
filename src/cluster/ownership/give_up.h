/*
 * Decides when a node gives up the files of a copy that it has left. The functions are pure.
 *
 *      left --a while later: set aside, renamed--> aside --an hour later at the earliest--> removed
 *
 * Definitions
 *
 *   files      the directory of a partition of which this node has no copy any more. They were
 *              compared with the log, and closed (src/cluster/serve/copies.c).
 *   end        the last group of the files.
 *   continued  the log of this session has the end of the files, by its hash. The end may be
 *              trimmed later. So a place that continues it stands for it: each place that is
 *              durable by the rows of a session whose log has the place before (watch.h).
 *
 * Rules. They are asked when the files are set aside, and again when they are removed.
 *
 *   G1  The partition has a list of replicas. Files are set aside only if the list does not name
 *       this node. Nobody opens them afterwards: a node that is to have a copy again makes it
 *       anew, and removes the old files all the same.
 *   G2  An owner that lives and is ready stands in the row, and `followers` + 1 nodes that the
 *       list names live and are ready, the owner counted. Without an owner the last ready node
 *       may be the one that is about to take over, and nobody follows it.
 *   G3  The row has no mark, and no words of a node that misses groups.
 *   G4  The files are continued. A log that is as long may be another one. A log that was trimmed
 *       behind the place cannot be compared: such files stay, until an operator removes them. So
 *       do those of another system than the database (R7 of partition.h).
 *   G5  The view of this node is calm (B3 of balance.h), and moves are not paused.
 *   G6  Before the view was read by which files are set aside, this session has written that this
 *       node is not ready. So of two nodes that give up the same partition, the one that looks
 *       later does not count the other. Files that are aside make no node ready.
 *   G7  After the view was read, a write of this session was confirmed (partition.h). So the next
 *       server that is promoted has the view, too, or it is the wrong one.
 *   G8  Files are set aside when this life has seen them left for a sixth of `keep_ms`, because
 *       the node may get the copy again, and need not read the log then. They are removed when
 *       this life has seen them aside for `keep_ms`.
 *
 * Lists need no fence for that. By G2 and G6 so many nodes have complete copies, whatever the
 * lists say and whoever writes them: a node counts what others have, and not what they are to
 * have. A list that is wrong makes a node give up files that it has to make anew.
 */
#ifndef ELAPSE__OWNERSHIP_GIVE_UP_H
#define ELAPSE__OWNERSHIP_GIVE_UP_H

#include "watch.h"

/* The files of a partition. */
struct elapse__give_up {
    bool has_files;
    bool is_aside;            /* they were renamed */
    uint64_t since_ms;        /* since when this life has seen them so */
    bool is_unknown;          /* the log was trimmed behind the place */
    struct elapse__watch end; /* its witness is a place that continues the end of the files */
};

/* Begins to watch files. `end` is their end, or a place that continues it. */
void elapse__give_up_begin(struct elapse__give_up *files,
                           const struct elapse__partition_witness *end, bool is_aside,
                           uint64_t now_ms);

/* Called when another session begins. */
void elapse__give_up_connect(struct elapse__give_up *files);

/* Takes a row, as elapse__watch_take does. Afterwards elapse__watch_doubts of `files->end` says
 * whether the log has to be asked. */
void elapse__give_up_take(struct elapse__give_up *files, const struct elapse__balance_view *view,
                          const struct elapse__balance_row *row, uint64_t now_ms);

/* Takes the answer of the log (elapse__watch_prove). */
void elapse__give_up_prove(struct elapse__give_up *files, bool has_group,
                           uint64_t hash_of_previous);

/* Returns whether the log is known to continue the files (G4). */
bool elapse__give_up_is_continued(const struct elapse__give_up *files);

/* Why files are not given up now. X(NAME, words) */
#define ELAPSE__GIVE_UP_ANSWERS(X)                                                        \
    X(YES, "they are given up")                                                           \
    X(NO_FILES, "there are none")                                                         \
    X(NAMED, "this node is to have a copy")                                               \
    X(NOT_CALM, "moves are paused, or the view of this node is not calm")                 \
    X(MARKED, "groups of the partition are lost")                                         \
    X(NO_OWNER, "no living node owns the partition")                                      \
    X(FEW_COPIES, "not enough other nodes are ready for the partition")                   \
    X(OTHER_SYSTEM, "they are of another system than the database")                       \
    X(OTHER_LOG, "the log has other groups")                                              \
    X(UNKNOWN, "the log was trimmed behind their last group, so nobody can compare them") \
    X(NOT_COMPARED, "they were not compared in this session yet")                         \
    X(EARLY, "it is too early")

enum elapse__give_up_answer {
#define ELAPSE__GIVE_UP_ANSWER(name, words) ELAPSE__GIVE_UP_##name,
    ELAPSE__GIVE_UP_ANSWERS(ELAPSE__GIVE_UP_ANSWER)
#undef ELAPSE__GIVE_UP_ANSWER
};

struct elapse__give_up_options {
    uint32_t followers; /* 0: all nodes follow, and nothing is given up */
    uint64_t keep_ms;   /* how long files stay aside (G8) */
    bool is_calm;
};

/* Returns whether the files may be set aside, or removed if they are aside, by all rules but G6 and
 * G7, which the caller has to keep. If not, returns the first reason. */
enum elapse__give_up_answer elapse__give_up_ask(const struct elapse__give_up *files,
                                                const struct elapse__balance_view *view,
                                                uint32_t partition, int me,
                                                const struct elapse__give_up_options *options,
                                                uint64_t now_ms);

/* Returns the words for an answer. */
const char *elapse__give_up_words(enum elapse__give_up_answer answer);

#endif
