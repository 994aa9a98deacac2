#include "now.h"

#include "due_search.h"
#include "ticks.h"

enum elapse__os_clock elapse__system_clock(const struct elapse_scheduler *scheduler)
{
    return scheduler->options.clock == ELAPSE_CLOCK_BOOTTIME ? ELAPSE__OS_BOOTTIME
                                                             : ELAPSE__OS_MONOTONIC;
}

uint64_t elapse_scheduler_now_ns(const struct elapse_scheduler *scheduler)
{
    if (scheduler->options.clock == ELAPSE_CLOCK_MANUAL)
        return atomic_load(&scheduler->manual_now_ns);
    return elapse__os->clock_ns(elapse__system_clock(scheduler));
}

uint64_t elapse_scheduler_wall_clock_ns(const struct elapse_scheduler *scheduler)
{
    if (scheduler->options.clock == ELAPSE_CLOCK_MANUAL)
        return atomic_load(&scheduler->manual_wall_clock_ns);
    return elapse__os->clock_ns(ELAPSE__OS_WALL_CLOCK);
}

enum elapse_error elapse_scheduler_set_wall_clock(struct elapse_scheduler *scheduler,
                                                  uint64_t unix_ns)
{
    if (scheduler->options.clock != ELAPSE_CLOCK_MANUAL)
        return ELAPSE_ERROR_ARGUMENT;
    atomic_store(&scheduler->manual_wall_clock_ns, unix_ns);
    return ELAPSE_OK;
}

/* Converts a wall-clock time to the monotonic clock, by the present difference of the two
 * clocks. */
static uint64_t monotonic_time_of(const struct elapse_scheduler *scheduler, uint64_t wall_clock_ns)
{
    uint64_t now_ns = elapse_scheduler_wall_clock_ns(scheduler);
    uint64_t delay_ns = wall_clock_ns > now_ns ? wall_clock_ns - now_ns : 0;
    return elapse_deadline_after(elapse_scheduler_now_ns(scheduler),
                                 wall_clock_ns == ELAPSE_NEVER ? ELAPSE_NEVER : delay_ns);
}

uint64_t elapse_scheduler_next_ns(struct elapse_scheduler *scheduler)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    struct elapse__ticks wakes = elapse__earliest_wakes(scheduler);
    uint64_t monotonic_ns = elapse__tick_begins_ns(wakes.monotonic, tick_ns);
    if (wakes.wall_clock == ELAPSE_NEVER)
        return monotonic_ns;
    uint64_t wall_clock_ns =
        monotonic_time_of(scheduler, elapse__tick_begins_ns(wakes.wall_clock, tick_ns));
    return wall_clock_ns < monotonic_ns ? wall_clock_ns : monotonic_ns;
}

uint64_t elapse__time_for(const struct elapse_scheduler *scheduler, bool wall_clock)
{
    return wall_clock ? elapse_scheduler_wall_clock_ns(scheduler)
                      : elapse_scheduler_now_ns(scheduler);
}

bool elapse__deadline_is_near(const struct elapse_scheduler *scheduler, uint64_t deadline_ns,
                              bool wall_clock)
{
    uint64_t now_ns = elapse__time_for(scheduler, wall_clock);
    return deadline_ns <= now_ns || deadline_ns - now_ns <= INT64_MAX;
}

struct elapse__ticks elapse__now_in_shard(const struct elapse_scheduler *scheduler,
                                          const struct elapse__shard *shard,
                                          struct elapse__ticks now)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    if (shard->wall_clock.wheel != NULL && !shard->runs_all)
        now.wall_clock = elapse__tick_of_now(elapse_scheduler_wall_clock_ns(scheduler),
                                             scheduler->options.tick_ns);
    return now;
}

struct elapse__ticks elapse__now_if_set_back(const struct elapse_scheduler *scheduler,
                                             struct elapse__ticks now)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    uint64_t wall_clock_ns = elapse_scheduler_wall_clock_ns(scheduler);
    if (wall_clock_ns < elapse__tick_begins_ns(now.wall_clock, tick_ns) && !scheduler->runs_all)
        now.wall_clock = elapse__tick_of_now(wall_clock_ns, tick_ns);
    return now;
}
