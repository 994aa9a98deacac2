/*
 * Rule R12 of partition.h: keeps the cluster's time, and decides from what the database's clock
 * said whose wall clock is wrong. The functions are pure.
 *
 * Definitions
 *
 *   cluster's time  this node's boot-time clock plus `offset_ms`. It is the time of the database's
 *                   clock while this node believes that clock. Due times in the log are of the
 *                   cluster's time, whichever node wrote them. So a new owner compares them with
 *                   the clock by which they were written.
 *   ahead           this node's wall clock minus the database's clock.
 *   apart           the two clocks differ by more than ELAPSE__CLOCK_APART_MS, in either direction.
 *
 * This node follows the database's clock as long as that clock does not jump, whatever this node's
 * wall clock says, because somebody may set a wall clock at any moment. When the database's clock
 * jumps so that the two clocks are apart, this node does not follow the jump. When the two clocks
 * are apart from the beginning, this node follows the database's clock until other nodes say that
 * the database's clock is wrong. The beginning is that of the process: a partition that begins
 * later gets the time that other partitions of this node have. Otherwise a node with a wrong wall
 * clock would believe that clock as soon as only nodes that are wrong alike live.
 */
#ifndef ELAPSE__OWNERSHIP_CLOCK_H
#define ELAPSE__OWNERSHIP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ELAPSE__CLOCK_WARN_MS = 500,   /* the program warns of a clock that differs by more */
    ELAPSE__CLOCK_APART_MS = 5000, /* schema.sql has the same number */
    ELAPSE__CLOCK_JUMP_MS = 500,   /* a clock that moves more between two looks has jumped */
    ELAPSE__CLOCK_SLACK_MS = 20,   /* a smaller difference is not corrected */
};

enum elapse__clock_verdict {
    ELAPSE__CLOCK_RIGHT,    /* right, or not known yet */
    ELAPSE__CLOCK_OFF,      /* differs from the database's clock by more than WARN_MS */
    ELAPSE__CLOCK_APART,    /* apart; the other nodes have not answered yet */
    ELAPSE__CLOCK_WRONG,    /* apart, and wrong: this node owns nothing */
    ELAPSE__CLOCK_DATABASE, /* apart, as the other nodes are too: the database's clock is wrong */
};

/* One look at the database's clock. Times in milliseconds. */
struct elapse__clock_look {
    uint64_t sent_ms, received_ms; /* by this node's boot-time clock */
    int64_t wall_ms;               /* this node's wall clock when the answer came; 0: no look */
    int64_t first_ms,
        last_ms; /* the database's clock: the first time and the last time that it was read */
};

/* What the other nodes that are alive say. */
struct elapse__clock_others {
    uint64_t living;
    uint64_t right;    /* how many of the living nodes are not apart */
    uint64_t agreeing; /* how many of the living nodes are not apart from this node's wall clock */
};

/* The cluster's time, as this node knows it. */
struct elapse__clock_time {
    bool is_known;     /* if not, the other fields are 0 */
    int64_t offset_ms; /* the cluster's time minus this node's boot-time clock */
    bool is_borrowed;  /* this node's wall clock has been apart since the first look */
};

struct elapse__clock {
    struct elapse__clock_time time;
    bool has_look; /* a look was taken; `time` may be known from another partition before */
    int64_t wall_offset_ms;  /* this node's wall clock minus its boot-time clock */
    int64_t ahead_ms;        /* of the possible values of "ahead", the one nearest to 0 */
    uint64_t apart_since_ms; /* the time since which the clocks are apart */
    uint64_t ask_ms;         /* when to ask the other nodes next */
    int64_t told_ahead_ms;   /* the value of `ahead_ms` that the other nodes were told last */
    bool is_judged, is_wrong;
};

/* Begins with the time that another partition of this node has, if that time is known. Requires
 * that the clock is zeros. */
void elapse__clock_begin(struct elapse__clock *clock, const struct elapse__clock_time *time);

/* Takes a look at the database's clock. Ignores a look during which a clock was set. */
void elapse__clock_take(struct elapse__clock *clock, const struct elapse__clock_look *look);

/* Returns when this node must tell the other nodes `ahead_ms` and ask for theirs. Returns 0 for
 * now, and UINT64_MAX before the first look. */
uint64_t elapse__clock_ask_ms(const struct elapse__clock *clock);

/* Notes that the question to the other nodes is sent now. The next question is due half a lease
 * later. */
void elapse__clock_asked(struct elapse__clock *clock, uint64_t now_ms, uint32_t lease_ms);

/* Takes the answer to a question that left at `sent_ms`. Ignores an answer that came before the
 * other nodes had a lease of time to see what this node has seen. */
void elapse__clock_hear(struct elapse__clock *clock, uint64_t sent_ms, uint32_t lease_ms,
                        const struct elapse__clock_others *others);

enum elapse__clock_verdict elapse__clock_verdict(const struct elapse__clock *clock);

/* Returns whether a node of this verdict may take a partition over. */
bool elapse__clock_permits(enum elapse__clock_verdict verdict);

/* Returns whether this node may take a partition over. */
bool elapse__clock_may_take(const struct elapse__clock *clock);

#endif
