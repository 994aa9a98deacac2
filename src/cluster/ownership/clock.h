/*
 * Rule R12 of partition.h: keeps the cluster's time, and judges whose wall clock is wrong, by what
 * the database's clock said. The functions are pure.
 *
 * Definitions
 *
 *   cluster's time  this node's boot-time clock plus `offset_ms`: what the database's clock shows,
 *                   while that is believed. Due times in the log are of this time, whichever node
 *                   wrote them, so a new owner judges them by the clock by which they were written.
 *   ahead           this node's wall clock minus the database's. Positive: this node's is ahead.
 *   apart           ahead is more than ELAPSE__CLOCK_APART_MS, one way or the other.
 *
 * This node follows the database's clock as long as that clock goes on steadily, whatever this
 * node's wall clock says: a wall clock may be set at any moment. When the database's clock jumps,
 * this node's wall clock decides: if the two are apart, this node does not follow the jump. If the
 * two are apart from the beginning, this node follows the database's clock until other nodes say
 * that it is the database's clock that is wrong.
 */
#ifndef ELAPSE__OWNERSHIP_CLOCK_H
#define ELAPSE__OWNERSHIP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ELAPSE__CLOCK_WARN_MS = 500,   /* operators are warned of a clock that is further off */
    ELAPSE__CLOCK_APART_MS = 5000, /* schema.sql knows this number, too */
    ELAPSE__CLOCK_JUMP_MS = 500,   /* no clock drifts so much between two looks */
    ELAPSE__CLOCK_SLACK_MS = 20,   /* a smaller difference is not corrected */
};

enum elapse__clock_verdict {
    ELAPSE__CLOCK_RIGHT,    /* or not known yet */
    ELAPSE__CLOCK_OFF,      /* more than WARN_MS from the database's */
    ELAPSE__CLOCK_APART,    /* apart, and the others have not said yet what they see */
    ELAPSE__CLOCK_WRONG,    /* apart: this node owns nothing */
    ELAPSE__CLOCK_DATABASE, /* apart, and the other nodes see the same: the database is wrong */
};

/* One look at the database's clock. Times in milliseconds. */
struct elapse__clock_look {
    uint64_t sent_ms, received_ms; /* by this node's boot-time clock */
    int64_t wall_ms;               /* this node's wall clock when the answer came; 0: no look */
    int64_t first_ms, last_ms;     /* the database's clock, after sending and before receiving */
};

/* What the other living nodes say. */
struct elapse__clock_others {
    uint64_t living;
    uint64_t right;    /* how many of them are not apart */
    uint64_t agreeing; /* how many of them are not apart from this node's wall clock */
};

struct elapse__clock {
    bool is_known;
    int64_t offset_ms;
    bool is_borrowed;       /* `offset_ms` is by a database that was apart when it was seen first */
    int64_t wall_offset_ms; /* this node's wall clock minus its boot-time clock */
    int64_t ahead_ms;       /* of the possible values, the one nearest to 0 */
    uint64_t apart_since_ms; /* since when the clocks are apart */
    uint64_t ask_ms;         /* when the next question is due */
    int64_t told_ahead_ms;   /* `ahead_ms` as the other nodes were told last */
    bool is_judged, is_wrong;
};

/* Takes a look. Ignores a look during which a clock was set. */
void elapse__clock_take(struct elapse__clock *clock, const struct elapse__clock_look *look);

/* Returns when to tell the other nodes `ahead_ms`, and to ask for theirs; 0: now. */
uint64_t elapse__clock_ask_ms(const struct elapse__clock *clock);

/* Says that the question is sent now. The next one is due half a lease later. */
void elapse__clock_asked(struct elapse__clock *clock, uint64_t now_ms, uint32_t lease_ms);

/* Takes the answer to a question that left at `sent_ms`. The answer counts only if the other nodes
 * had a lease to see what this node has seen. */
void elapse__clock_hear(struct elapse__clock *clock, uint64_t sent_ms, uint32_t lease_ms,
                        const struct elapse__clock_others *others);

enum elapse__clock_verdict elapse__clock_verdict(const struct elapse__clock *clock);

/* Returns whether this node may take a partition over. */
bool elapse__clock_may_take(const struct elapse__clock *clock);

#endif
