/*
 * When the jobs of a queue come due: how many in each second, minute, hour and day.
 */
#ifndef ELAPSE__QUEUE_FORECAST_H
#define ELAPSE__QUEUE_FORECAST_H

#include "queue.h"

enum {
    ELAPSE__QUEUE_FORECAST_SECONDS = 60,
    ELAPSE__QUEUE_FORECAST_MINUTES = 60,
    ELAPSE__QUEUE_FORECAST_HOURS = 48,
    ELAPSE__QUEUE_FORECAST_DAYS = 365,
};

/* How many delayed jobs come due in each second, minute, hour and day of the wall clock in UTC. The
 * first second is the one that has begun; so is the first minute, hour and day. A job with a delay
 * may be counted half a second too early or too late, and in minutes, hours and days half a minute.
 */
struct elapse__queue_forecast {
    uint64_t seconds[ELAPSE__QUEUE_FORECAST_SECONDS];
    uint64_t minutes[ELAPSE__QUEUE_FORECAST_MINUTES];
    uint64_t hours[ELAPSE__QUEUE_FORECAST_HOURS];
    uint64_t days[ELAPSE__QUEUE_FORECAST_DAYS];
};

/* Counts the jobs of a forecast. All counts are 0 unless the option `foresees` was set. A job that
 * was put more than 36 hours before it is due is counted in a second of its minute, perhaps not in
 * its own second. A job that was put more than two years before it is due is not counted. Hours and
 * days are 0 unless `is_long`, which costs some 0.2 ms. */
void elapse__queue_foresee(struct elapse__queue *queue, struct elapse__queue_now now, bool is_long,
                           struct elapse__queue_forecast *forecast);

#endif
