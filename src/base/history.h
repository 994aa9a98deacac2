/*
 * Keeps what a server has done in each minute of its last day, and how many jobs it had then: a
 * ring of points in memory. It is pure: samples and the time come in.
 */
#ifndef ELAPSE__BASE_HISTORY_H
#define ELAPSE__BASE_HISTORY_H

#include <stdbool.h>

#include "histogram.h"

enum {
    ELAPSE__HISTORY_POINTS = 1440,
    ELAPSE__HISTORY_SPAN_MS = 60000, /* the least time of a point */
};

#define ELAPSE__HISTORY_UNKNOWN UINT64_MAX

/* What a server has now, and what it has done since its start. Begin with zeros; each core adds its
 * part. */
struct elapse__history_sample {
    uint64_t delayed, ready, reserved, buried; /* jobs now */
    uint64_t overdue_ms;                       /* how long the oldest ready job has been due */
    uint64_t put, came_due, handed_out, done, cancelled; /* jobs since the start */
    struct elapse__histogram lateness; /* milliseconds from due to handed out, since the start */
};

/* A minute. */
struct elapse__history_point {
    uint64_t at_ms;   /* its end, by the wall clock */
    uint64_t span_ms; /* how long it was: a minute, or longer if the process could not run */
    uint64_t delayed, ready, reserved, buried, overdue_ms; /* at its end */
    uint64_t put, came_due, handed_out, done, cancelled;   /* jobs in it */
    uint64_t late_p99_ms, late_max_ms; /* of the jobs that were handed out in it, the greatest value
                                          of a bucket; UNKNOWN: none was */
};

/* Begins as zeros. 159 KiB. All fields are private. */
struct elapse__history {
    bool has_begun;
    uint64_t began_ms; /* the minute that runs, by the boot-time clock */
    struct elapse__history_sample before;
    unsigned count; /* of points, up to ELAPSE__HISTORY_POINTS */
    unsigned next;  /* the place of the next point */
    struct elapse__history_point points[ELAPSE__HISTORY_POINTS];
};

_Static_assert(sizeof(struct elapse__history) <= 200 * 1000, "a day takes at most 200 kB");

/* Returns whether the minute that runs is over, so that a sample is wanted; true before the first
 * sample. `boot_ms` is of the boot-time clock, and does not go back. */
bool elapse__history_is_due(const struct elapse__history *history, uint64_t boot_ms);

/* Takes a sample. The first one begins the first minute; each further one ends a minute and begins
 * the next. The oldest point goes when there is no room. If a count is less than before, because a
 * partition has gone, the minute has none. Requires that a sample is due. */
void elapse__history_add(struct elapse__history *history,
                         const struct elapse__history_sample *sample, int64_t wall_ms,
                         uint64_t boot_ms);

/* Returns how many of the last `most` points there are. NULL has none. */
unsigned elapse__history_count(const struct elapse__history *history, unsigned most);

/* Returns point number `place` of the last `count` points, the oldest of them first. Requires a
 * place below the count, and so many points. */
const struct elapse__history_point *elapse__history_at(const struct elapse__history *history,
                                                       unsigned count, unsigned place);

#endif
