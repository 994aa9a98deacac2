#include "sleeper.h"

#include <elapse/timer.h>

#include "../base/assert.h"

static void init_alarm(struct elapse__alarm *alarm)
{
    alarm->os.descriptor = ELAPSE__OS_NO_DESCRIPTOR;
    atomic_init(&alarm->armed_tick, 0);
}

static bool is_open(const struct elapse__alarm *alarm)
{
    return alarm->os.descriptor != ELAPSE__OS_NO_DESCRIPTOR;
}

bool elapse__sleeper_init(struct elapse__sleeper *sleeper, uint64_t tick_ns)
{
    ELAPSE__ASSERT_THAT(tick_ns, >, 0);
    init_alarm(&sleeper->monotonic);
    init_alarm(&sleeper->wall_clock);
    sleeper->kick.descriptor = ELAPSE__OS_NO_DESCRIPTOR;
    sleeper->kicked = false;
    sleeper->tick_ns = tick_ns;
    return elapse__os->lock_init(&sleeper->lock) == 0;
}

void elapse__sleeper_free(struct elapse__sleeper *sleeper)
{
    elapse__sleeper_close(sleeper);
    elapse__lock_free(&sleeper->lock);
}

bool elapse__sleeper_open(struct elapse__sleeper *sleeper, enum elapse__os_clock clock)
{
    ELAPSE__ASSERT_THAT(clock, !=, ELAPSE__OS_WALL_CLOCK);
    ELAPSE__ASSERT(!is_open(&sleeper->monotonic));
    ELAPSE__ASSERT(!is_open(&sleeper->wall_clock));
    if (elapse__os->alarm_open(&sleeper->monotonic.os, clock) == 0 &&
        elapse__os->alarm_open(&sleeper->wall_clock.os, ELAPSE__OS_WALL_CLOCK) == 0 &&
        elapse__os->alarm_open(&sleeper->kick, ELAPSE__OS_NO_CLOCK) == 0 &&
        /* The alarms are set once as a test: an alarm that cannot be set would let every deadline
         * pass. */
        elapse__os->alarm_set(&sleeper->monotonic.os, ELAPSE__OS_NEVER) == 0 &&
        elapse__os->alarm_set(&sleeper->wall_clock.os, ELAPSE__OS_NEVER) == 0)
        return true;
    elapse__sleeper_close(sleeper);
    return false;
}

bool elapse__sleeper_watch(const struct elapse__sleeper *sleeper, int *descriptor)
{
    const struct elapse__os_alarm alarms[] = {
        sleeper->monotonic.os,
        sleeper->wall_clock.os,
        sleeper->kick,
    };
    ELAPSE__ASSERT(is_open(&sleeper->monotonic));
    ELAPSE__ASSERT(is_open(&sleeper->wall_clock));
    return elapse__os->alarms_watch(alarms, 3, descriptor) == 0;
}

static void close_alarm(struct elapse__alarm *alarm)
{
    if (is_open(alarm))
        elapse__os->alarm_close(&alarm->os);
    atomic_store(&alarm->armed_tick, 0);
}

void elapse__sleeper_close(struct elapse__sleeper *sleeper)
{
    elapse__lock_inner(&sleeper->lock);
    close_alarm(&sleeper->monotonic);
    close_alarm(&sleeper->wall_clock);
    if (sleeper->kick.descriptor != ELAPSE__OS_NO_DESCRIPTOR)
        elapse__os->alarm_close(&sleeper->kick);
    elapse__unlock(&sleeper->lock);
}

/* Sets the alarm to `tick` if that is earlier than the tick for which the alarm is set. Returns
 * false if the system refuses to set it; then armed_tick does not change. Requires the lock. */
static bool arm_earlier(const struct elapse__sleeper *sleeper, struct elapse__alarm *alarm,
                        uint64_t tick)
{
    ELAPSE__ASSERT_LOCK_HELD(&sleeper->lock);
    if (tick >= atomic_load(&alarm->armed_tick))
        return true;
    ELAPSE__ASSERT(is_open(alarm));
    if (elapse__os->alarm_set(&alarm->os, elapse__tick_begins_ns(tick, sleeper->tick_ns)) != 0)
        return false;
    atomic_store(&alarm->armed_tick, tick);
    return true;
}

/* Ends the sleep of the clock thread, or makes its next sleep end at once. Requires the lock. */
static void kick(struct elapse__sleeper *sleeper)
{
    ELAPSE__ASSERT_LOCK_HELD(&sleeper->lock);
    sleeper->kicked = true;
    bool awake = atomic_load(&sleeper->monotonic.armed_tick) == 0;
    if (!awake && sleeper->kick.descriptor != ELAPSE__OS_NO_DESCRIPTOR)
        (void)elapse__os->alarm_set(&sleeper->kick, 0); /* never refused: see os.h */
}

/* Notes that the clock thread is awake (`tick` is 0), or about to sleep (ELAPSE_NEVER). */
static void set_armed(struct elapse__sleeper *sleeper, uint64_t tick)
{
    ELAPSE__ASSERT(tick == 0 || tick == ELAPSE_NEVER);
    elapse__lock_inner(&sleeper->lock);
    atomic_store(&sleeper->monotonic.armed_tick, tick);
    atomic_store(&sleeper->wall_clock.armed_tick, tick);
    elapse__unlock(&sleeper->lock);
}

void elapse__sleeper_prepare(struct elapse__sleeper *sleeper)
{
    set_armed(sleeper, ELAPSE_NEVER);
}

void elapse__sleeper_reset(struct elapse__sleeper *sleeper)
{
    ELAPSE__ASSERT(is_open(&sleeper->monotonic));
    ELAPSE__ASSERT(is_open(&sleeper->wall_clock));
    elapse__os->alarm_reset(&sleeper->monotonic.os);
    elapse__os->alarm_reset(&sleeper->wall_clock.os);
    elapse__os->alarm_reset(&sleeper->kick);
}

/* Sets both alarms, unless another thread has set them to earlier ticks since prepare. Returns
 * false if the system refuses one of them. Requires the lock. */
static bool arm_both(struct elapse__sleeper *sleeper, struct elapse__ticks until)
{
    bool monotonic = arm_earlier(sleeper, &sleeper->monotonic, until.monotonic);
    bool wall_clock = arm_earlier(sleeper, &sleeper->wall_clock, until.wall_clock);
    return monotonic && wall_clock;
}

/* Returns how long it is, by the clock of the alarm, until `tick`. The clock thread waits so long
 * for an alarm that could not be set. Requires the lock. */
static uint64_t time_without_alarm(const struct elapse__sleeper *sleeper,
                                   const struct elapse__alarm *alarm, uint64_t tick)
{
    ELAPSE__ASSERT_LOCK_HELD(&sleeper->lock);
    if (atomic_load(&alarm->armed_tick) <= tick)
        return ELAPSE_NEVER;
    uint64_t begins_ns = elapse__tick_begins_ns(tick, sleeper->tick_ns);
    uint64_t now_ns = elapse__os->clock_ns(alarm->os.clock);
    return begins_ns > now_ns ? begins_ns - now_ns : 0;
}

void elapse__sleeper_sleep(struct elapse__sleeper *sleeper, struct elapse__ticks until,
                           uint64_t timeout_ns)
{
    const struct elapse__os_alarm alarms[] = {
        sleeper->monotonic.os,
        sleeper->wall_clock.os,
        sleeper->kick,
    };
    elapse__lock_inner(&sleeper->lock);
    ELAPSE__ASSERT(is_open(&sleeper->monotonic));
    bool kicked = sleeper->kicked;
    sleeper->kicked = false;
    if (kicked)
        elapse__os->alarm_reset(&sleeper->kick);
    else if (!arm_both(sleeper, until)) {
        uint64_t monotonic_ns = time_without_alarm(sleeper, &sleeper->monotonic, until.monotonic);
        uint64_t wall_clock_ns =
            time_without_alarm(sleeper, &sleeper->wall_clock, until.wall_clock);
        timeout_ns = monotonic_ns < timeout_ns ? monotonic_ns : timeout_ns;
        timeout_ns = wall_clock_ns < timeout_ns ? wall_clock_ns : timeout_ns;
    }
    elapse__unlock(&sleeper->lock);
    if (!kicked) {
        /* If the wait fails, or a signal ends it, the clock thread only wakes early. */
        (void)elapse__os->alarms_wait(alarms, 3, timeout_ns);
        elapse__sleeper_reset(sleeper);
    }
    set_armed(sleeper, 0);
}

void elapse__sleeper_set(struct elapse__sleeper *sleeper, struct elapse__ticks until)
{
    elapse__lock_inner(&sleeper->lock);
    if (!arm_both(sleeper, until))
        kick(sleeper); /* the descriptor becomes readable early, and the program looks again */
    elapse__unlock(&sleeper->lock);
}

void elapse__sleeper_wake_at(struct elapse__sleeper *sleeper, struct elapse__ticks ticks)
{
    if (ticks.monotonic >= atomic_load(&sleeper->monotonic.armed_tick) &&
        ticks.wall_clock >= atomic_load(&sleeper->wall_clock.armed_tick))
        return;
    elapse__lock_inner(&sleeper->lock);
    if (!arm_both(sleeper, ticks))
        kick(sleeper);
    elapse__unlock(&sleeper->lock);
}

void elapse__sleeper_kick(struct elapse__sleeper *sleeper)
{
    elapse__lock_inner(&sleeper->lock);
    kick(sleeper);
    elapse__unlock(&sleeper->lock);
}

void elapse__sleeper_stay_readable(struct elapse__sleeper *sleeper)
{
    elapse__lock_inner(&sleeper->lock);
    if (sleeper->kick.descriptor != ELAPSE__OS_NO_DESCRIPTOR)
        (void)elapse__os->alarm_set(&sleeper->kick, 0);
    elapse__unlock(&sleeper->lock);
}
