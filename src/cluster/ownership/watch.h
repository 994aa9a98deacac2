/*
 * Watches the row of a partition of which this node has no copy: since when nothing has changed,
 * and the witness (R11 of partition.h). The functions are pure.
 *
 *      elapse__watch_connect(...)                a new session
 *      elapse__watch_take(...)                   each row that was read
 *      elapse__watch_doubts(...) --> read the hash before the next group -->
 * elapse__watch_prove(...)
 *
 * A node that finds its witness lost opens the partition. Then the rules of partition.h mark the
 * row.
 */
#ifndef ELAPSE__OWNERSHIP_WATCH_H
#define ELAPSE__OWNERSHIP_WATCH_H

#include "balance.h"

/* Begins as zeros, with the witness of an earlier life. */
struct elapse__watch {
    struct elapse__partition_witness witness;
    bool has_row;
    bool has_met_witness; /* the log of this session has the witness */
    bool is_lost;         /* the log of this session lacks the witness */
    uint64_t epoch, beat, last_group, last_hash;
    uint64_t unchanged_since_ms;
};

/* Called when another session begins. */
void elapse__watch_connect(struct elapse__watch *watch);

/* Returns whether the view is of a database that may be used (R7): the one of the witness, on its
 * timeline or a higher one. An operator who lets a node use another system changes the witness. */
bool elapse__watch_trusts(const struct elapse__watch *watch,
                          const struct elapse__balance_view *view);

/* Takes a row. `view` says which system and timeline it is of. A row of a database that may not be
 * used is ignored. */
void elapse__watch_take(struct elapse__watch *watch, const struct elapse__balance_view *view,
                        const struct elapse__balance_row *row, uint64_t now_ms);

/* Returns whether the session's log has to be compared with the witness. If so, `*group` is the
 * group whose hash_of_previous has to be read. */
bool elapse__watch_doubts(const struct elapse__watch *watch, uint64_t *group);

/* Takes that hash. `has_group` is false if the log has no such group any more. */
void elapse__watch_prove(struct elapse__watch *watch, bool has_group, uint64_t hash_of_previous);

/* Returns for how long the row has not changed, or 0 if no row was seen. */
uint64_t elapse__watch_idle_ms(const struct elapse__watch *watch, uint64_t now_ms);

#endif
