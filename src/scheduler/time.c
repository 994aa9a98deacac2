/*
 * What time it is: by the scheduler's own clock and by the wall clock, or as step says.
 */
#include <time.h>

#include "delivery.h"
#include "inside.h"
#include "scheduler.h"

/* The wall clock passes 2^31 seconds in 2038, and cron goes on to the year 9999. */
_Static_assert(sizeof(time_t) >= 8, "compile with -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64");

clockid_t elapse__system_clock(const struct elapse_scheduler *scheduler)
{
    return scheduler->options.clock == ELAPSE_CLOCK_BOOTTIME ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
}

uint64_t elapse_scheduler_now_ns(const struct elapse_scheduler *scheduler)
{
    if (scheduler->options.clock == ELAPSE_CLOCK_MANUAL)
        return atomic_load(&scheduler->manual_now_ns);
    struct timespec now = {0};
    (void)clock_gettime(elapse__system_clock(scheduler), &now);
    return (uint64_t)now.tv_sec * ELAPSE_SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t elapse_scheduler_wall_clock_ns(const struct elapse_scheduler *scheduler)
{
    if (scheduler->options.clock == ELAPSE_CLOCK_MANUAL)
        return atomic_load(&scheduler->manual_wall_clock_ns);
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * ELAPSE_SECOND_NS + (uint64_t)now.tv_nsec;
}

enum elapse_error elapse_scheduler_set_wall_clock(struct elapse_scheduler *scheduler,
                                                  uint64_t unix_ns)
{
    if (scheduler->options.clock != ELAPSE_CLOCK_MANUAL)
        return ELAPSE_ERROR_ARGUMENT;
    atomic_store(&scheduler->manual_wall_clock_ns, unix_ns);
    return ELAPSE_OK;
}

/* A wall-clock time by the scheduler's own clock, as the two stand now. */
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

static enum elapse_error begin_step(struct elapse_scheduler *scheduler)
{
    enum elapse_error error = ELAPSE_OK;
    (void)pthread_mutex_lock(&scheduler->step_lock);
    if (scheduler->stepping)
        error = ELAPSE_ERROR_BUSY;
    else if (atomic_load(&scheduler->life) >= (int)ELAPSE__LIFE_CLOSING)
        error = ELAPSE_ERROR_CLOSED;
    else
        scheduler->stepping = true;
    (void)pthread_mutex_unlock(&scheduler->step_lock);
    return error;
}

static void end_step(struct elapse_scheduler *scheduler)
{
    (void)pthread_mutex_lock(&scheduler->step_lock);
    scheduler->stepping = false;
    (void)pthread_cond_broadcast(&scheduler->step_over);
    (void)pthread_mutex_unlock(&scheduler->step_lock);
}

/* The wall clock goes along. */
static void go_on_to(struct elapse_scheduler *scheduler, uint64_t now_ns)
{
    uint64_t before_ns = atomic_load(&scheduler->manual_now_ns); /* nobody else writes it */
    if (now_ns <= before_ns)
        return;
    atomic_store(&scheduler->manual_now_ns, now_ns);
    /* Another thread may set it at the same time. */
    uint64_t wall_clock_ns = atomic_load(&scheduler->manual_wall_clock_ns);
    while (!atomic_compare_exchange_weak(&scheduler->manual_wall_clock_ns, &wall_clock_ns,
                                         elapse_deadline_after(wall_clock_ns, now_ns - before_ns)))
        continue;
}

enum elapse_error elapse_scheduler_step(struct elapse_scheduler *scheduler, uint64_t now_ns,
                                        size_t *ran)
{
    if (scheduler->options.clock != ELAPSE_CLOCK_MANUAL)
        return ELAPSE_ERROR_ARGUMENT;
    if (elapse__is_inside(scheduler))
        return ELAPSE_ERROR_IN_ACTION;
    enum elapse_error error = begin_step(scheduler);
    if (error != ELAPSE_OK)
        return error;
    go_on_to(scheduler, now_ns);
    size_t count = 0;
    if (!scheduler->options.pull) /* there nothing is run: what is due can be taken */
        count =
            elapse__run_due_in_order(scheduler, elapse__now(scheduler), &scheduler->clock_ending);
    if (ran != NULL)
        *ran = count;
    end_step(scheduler);
    return ELAPSE_OK;
}
