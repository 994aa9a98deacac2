/*
 * The end of a run, and its times.
 */
#include "run.h"

#include <stdio.h>

#include <elapse/cron.h>

#include "../../base/assert.h"

struct run_times run_times_of(const struct run_timer *timer, const struct elapse_run *firing)
{
    uint64_t offset_ns = firing->wall_clock ? 0 : timer->run->unix_offset_ns;
    struct run_times times = {
        .due_unix_ns = firing->intended_ns + offset_ns,
        .fired_unix_ns = firing->wall_clock ? firing->actual_ns : elapse__os_wall_clock_ns(),
        .late_us = (firing->actual_ns - firing->intended_ns) / 1000,
    };

    ELAPSE__ASSERT(firing->actual_ns >= firing->intended_ns);
    if (timer->passed_unix_ns > 0) {
        times.due_unix_ns = timer->passed_unix_ns;
        times.late_us = (times.fired_unix_ns - times.due_unix_ns) / 1000;
    }
    return times;
}

/*
 * Returns the moment of a time without a zone. The moment is the next one of a cron expression that
 * names this time. So the rules of cron expressions for changes of the clock are valid here, too.
 * For a date the search begins two days before it, because local time is at most 25 hours from UTC.
 */
uint64_t run_moment_of_local(const struct run *run, const struct timestamp_local *local)
{
    enum { NANOSECONDS_A_SECOND = 1000000000, TWO_DAYS_S = 2 * 86400 };
    char expression[96];
    struct elapse_cron cron;
    int64_t moment_s =
        (int64_t)(elapse_scheduler_wall_clock_ns(run->scheduler) / NANOSECONDS_A_SECOND);

    if (local->has_date) {
        moment_s = local->as_utc_s - TWO_DAYS_S;
        (void)snprintf(expression, sizeof expression, "%d %d %d %d %d *", local->second,
                       local->minute, local->hour, local->day, local->month);
    } else {
        (void)snprintf(expression, sizeof expression, "%d %d %d * * *", local->second,
                       local->minute, local->hour);
    }
    if (elapse_cron_parse(&cron, expression, NULL) != ELAPSE_OK ||
        !elapse_cron_next(&cron, run->options->zone, moment_s, &moment_s))
        return UINT64_MAX - 1; /* after the year 9999 */
    if (moment_s < 0)
        return 0;
    const int64_t last_s = (int64_t)(UINT64_MAX / NANOSECONDS_A_SECOND) - 1;
    return (uint64_t)(moment_s < last_s ? moment_s : last_s) * NANOSECONDS_A_SECOND +
           local->fraction_ns;
}

void run_wake(const struct run *run)
{
    ELAPSE__ASSERT(run->wake_event >= 0);
    elapse__os_event_set(run->wake_event);
}

void run_close_one(struct run *run)
{
    uint64_t open = atomic_fetch_sub(&run->open, 1);

    ELAPSE__ASSERT(open > 0);
    if (open == 1)
        run_wake(run);
}
