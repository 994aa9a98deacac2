/*
 * What is asked of whole tubes, beside what queue.h has: their groups, and their limits.
 */
#ifndef ELAPSE__QUEUE_TUBES_H
#define ELAPSE__QUEUE_TUBES_H

#include "queue.h"
#include "rate.h"

/* A group of a tube, and its jobs. */
struct elapse__queue_group_view {
    struct elapse__queue_text name;           /* valid until the next call */
    uint32_t delayed, ready, running, buried; /* a worker has those that run, cancelled or not */
    uint32_t held;                     /* of those that are ready, by the limits of each group */
    struct elapse__queue_text held_by; /* the limit that holds them, as LIMIT names it; or empty */
    uint64_t held_left_ms;             /* until the rate lets one run; 0: not the rate holds them */
    uint64_t overdue_ms;               /* for how long the first ready job has been due */
};

/* Looks for a group of a tube as elapse__queue_tubes looks for tubes. Returns whether one was
 * found, and stores it in `*view`. */
bool elapse__queue_groups(const struct elapse__queue *queue, struct elapse__queue_now now,
                          struct elapse__queue_text name, uint32_t *cursor, uint32_t *most,
                          struct elapse__queue_group_view *view);

/* Sets the limits of a tube, all at once; those that are 0 do not limit. Makes the tube if there is
 * none. Returns OK, or an error. */
struct elapse__queue_limits {
    uint32_t concurrency;           /* so many jobs of the tube have a worker at a time, at most */
    struct elapse__queue_rate rate; /* so many are handed out in a time, at most */
    uint32_t group_concurrency;     /* so many jobs of each group have a worker, at most */
    bool group_order; /* one job of each group runs, and none while one waits for a retry */
    struct elapse__queue_rate group_rate; /* so many of each group are handed out in a time */
    uint32_t buried;                      /* so many are buried, at most: the oldest are dropped */
    uint64_t buried_age_ms;               /* and those that have been buried for so long */
};
struct elapse__queue_answer elapse__queue_limit(struct elapse__queue *queue,
                                                struct elapse__queue_now now,
                                                struct elapse__queue_text name,
                                                const struct elapse__queue_limits *limits);

/* Stores the limits of a tube. Returns OK, or GONE if there is no such tube. */
enum elapse__queue_result elapse__queue_limits_of(const struct elapse__queue *queue,
                                                  struct elapse__queue_text name,
                                                  struct elapse__queue_limits *limits);

/* Writes what only a clean stop knows: how full the buckets of the rates are. Requires that nothing
 * is handed out afterwards. */
void elapse__queue_stop(struct elapse__queue *queue, struct elapse__queue_now now);

#endif
