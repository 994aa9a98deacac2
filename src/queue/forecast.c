/*
 * Makes the forecast: how many jobs become due in each second and each minute that comes. It is
 * made from the counters of counters.h.
 */
#include <string.h>

#include "forecast.h"
#include "tables.h"

_Static_assert((ELAPSE__QUEUE_ORIGIN + ELAPSE__FORECAST_SHIFT) % 86400000 == 0,
               "days and minutes begin where the clock has them");

enum { SECONDS_A_MINUTE = 60, MINUTES_AN_HOUR = 60, MINUTES_A_DAY = 1440 };

/* The counters of one clock, and how the forecast reads them. The buckets of the forecast are
 * seconds and minutes of the wall clock. A bucket of the boot-time clock lies across two buckets of
 * the forecast. It is counted in the bucket in which its middle lies. */
struct view {
    const struct elapse__queue_counters *counters;
    uint64_t second, minute;           /* the present second and minute of this clock */
    uint64_t wall_second, wall_minute; /* the present second and minute of the wall clock */
    int64_t seconds_on, minutes_on; /* added to a time of this clock, gives one of the wall clock */
};

static int64_t floor_divide(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

static struct view view_of(const struct elapse__queue_counters *counters, uint64_t present,
                           uint64_t wall)
{
    int64_t offset = (int64_t)(wall - present);

    return (struct view){
        .counters = counters,
        .second = present / ELAPSE__FORECAST_MS_A_SECOND,
        .minute = present / ELAPSE__FORECAST_MS_A_MINUTE,
        .wall_second = wall / ELAPSE__FORECAST_MS_A_SECOND,
        .wall_minute = wall / ELAPSE__FORECAST_MS_A_MINUTE,
        .seconds_on =
            floor_divide(offset + ELAPSE__FORECAST_MS_A_SECOND / 2, ELAPSE__FORECAST_MS_A_SECOND),
        .minutes_on =
            floor_divide(offset + ELAPSE__FORECAST_MS_A_MINUTE / 2, ELAPSE__FORECAST_MS_A_MINUTE),
    };
}

/* Adds up the counts from `begin` to `end`. The range does not wrap around the end of `counts`, so
 * the compiler can add many counts at once. */
static uint64_t sum_run(const uint32_t *counts, uint64_t begin, uint64_t end)
{
    uint64_t sum = 0;

    ELAPSE__ASSERT_THAT(end, <=, ELAPSE__FORECAST_MINUTES);
    for (uint64_t i = begin; i < end; i++)
        sum += counts[i];
    return sum;
}

/* Returns how many jobs are due in `count` minutes of the wall clock from `first` on. Jobs of
 * earlier minutes count for the present minute. */
static uint64_t in_minutes(const struct view *view, uint64_t first, uint32_t count)
{
    uint64_t begin = first - (uint64_t)view->minutes_on;
    uint64_t end = begin + count;
    const uint32_t *counts = view->counters->minutes;

    if (first <= view->wall_minute || begin < view->minute)
        begin = view->minute;
    if (begin >= end)
        return 0;
    uint64_t place = begin % ELAPSE__FORECAST_MINUTES;
    uint64_t until = place + (end - begin);
    if (until <= ELAPSE__FORECAST_MINUTES)
        return sum_run(counts, place, until);
    return sum_run(counts, place, ELAPSE__FORECAST_MINUTES) +
           sum_run(counts, 0, until - ELAPSE__FORECAST_MINUTES);
}

static uint64_t in_second(const struct view *view, uint64_t wall_second)
{
    uint64_t begin = wall_second - (uint64_t)view->seconds_on;
    uint64_t end = begin + 1;
    uint64_t sum = 0;

    if (wall_second <= view->wall_second || begin < view->second)
        begin = view->second;
    for (uint64_t second = begin; second < end; second++)
        sum += view->counters->seconds[second % ELAPSE__FORECAST_SECONDS];
    return sum;
}

/* Spreads the jobs of a minute whose second nobody knows over the seconds of that minute. */
static void spread(const struct view *view, uint64_t minute,
                   struct elapse__queue_forecast *forecast)
{
    uint64_t first = minute * SECONDS_A_MINUTE;
    uint64_t end = first + SECONDS_A_MINUTE;
    uint64_t left = view->counters->minutes[minute % ELAPSE__FORECAST_MINUTES];
    uint64_t known = 0;

    for (uint64_t second = first; second < end; second++)
        known += view->counters->seconds[second % ELAPSE__FORECAST_SECONDS];
    left = left > known ? left - known : 0;
    for (uint64_t at = first < view->second ? view->second : first; at < end && left > 0; at++) {
        uint64_t share = (left + end - at - 1) / (end - at);
        int64_t place = (int64_t)(at - view->wall_second) + view->seconds_on;
        left -= share;
        if (place < ELAPSE__QUEUE_FORECAST_SECONDS)
            forecast->seconds[place < 0 ? 0 : place] += share;
    }
}

static void add_clock(const struct view *view, bool is_long,
                      struct elapse__queue_forecast *forecast)
{
    uint64_t hour = view->wall_minute / MINUTES_AN_HOUR;
    uint64_t day = view->wall_minute / MINUTES_A_DAY;

    for (uint32_t i = 0; i < ELAPSE__QUEUE_FORECAST_SECONDS; i++)
        forecast->seconds[i] += in_second(view, view->wall_second + i);
    spread(view, view->minute, forecast);
    spread(view, view->minute + 1, forecast);
    for (uint32_t i = 0; i < ELAPSE__QUEUE_FORECAST_MINUTES; i++)
        forecast->minutes[i] += in_minutes(view, view->wall_minute + i, 1);
    for (uint32_t i = 0; is_long && i < ELAPSE__QUEUE_FORECAST_HOURS; i++)
        forecast->hours[i] += in_minutes(view, (hour + i) * MINUTES_AN_HOUR, MINUTES_AN_HOUR);
    for (uint32_t i = 0; is_long && i < ELAPSE__QUEUE_FORECAST_DAYS; i++)
        forecast->days[i] += in_minutes(view, (day + i) * MINUTES_A_DAY, MINUTES_A_DAY);
}

static uint64_t shifted_present(const struct elapse__queue *queue, bool by_wall)
{
    return elapse__queue_present(queue, by_wall) + ELAPSE__FORECAST_SHIFT;
}

void elapse__queue_foresee(struct elapse__queue *queue, struct elapse__queue_now now, bool is_long,
                           struct elapse__queue_forecast *forecast)
{
    elapse__queue_take_now(queue, now);
    memset(forecast, 0, sizeof *forecast);
    if (queue->counters == NULL)
        return;
    for (unsigned by_wall = 0; by_wall < 2; by_wall++) {
        struct view view = view_of(&queue->counters[by_wall], shifted_present(queue, by_wall != 0),
                                   shifted_present(queue, true));
        add_clock(&view, is_long, forecast);
    }
}

/* Returns the second at which the oldest ready job was due. Returns `now` if there is no ready job.
 */
static uint64_t oldest_ready(struct elapse__queue_counters *counters, uint64_t now)
{
    uint64_t first = now < ELAPSE__FORECAST_READY ? 0 : now - ELAPSE__FORECAST_READY + 1;

    if (counters->ready_count == 0)
        return now;
    if (counters->oldest_ready < first)
        counters->oldest_ready = first;
    /* The loop passes each second only once, unless an older job becomes ready. */
    while (counters->oldest_ready < now &&
           counters->ready[counters->oldest_ready % ELAPSE__FORECAST_READY] == 0)
        counters->oldest_ready++;
    return counters->oldest_ready;
}

uint64_t elapse__queue_overdue_ms(struct elapse__queue *queue, struct elapse__queue_now now)
{
    uint64_t most = 0;

    elapse__queue_take_now(queue, now);
    for (unsigned by_wall = 0; queue->counters != NULL && by_wall < 2; by_wall++) {
        uint64_t present = shifted_present(queue, by_wall != 0);
        uint64_t oldest =
            oldest_ready(&queue->counters[by_wall], present / ELAPSE__FORECAST_MS_A_SECOND);
        /* The job may have been due at the end of its second. */
        uint64_t due = (oldest + 1) * ELAPSE__FORECAST_MS_A_SECOND - 1;
        if (present > due && present - due > most)
            most = present - due;
    }
    return most;
}
