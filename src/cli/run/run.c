/*
 * The state of a run: its end, and its times.
 */
#include "run.h"

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
