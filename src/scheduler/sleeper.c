#include "sleeper.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <elapse/timer.h>

static void init_alarm(struct elapse__alarm *alarm, bool on_wall_clock)
{
    alarm->timer = -1;
    alarm->on_wall_clock = on_wall_clock;
    atomic_init(&alarm->armed_tick, 0);
}

bool elapse__sleeper_init(struct elapse__sleeper *sleeper, uint64_t tick_ns)
{
    init_alarm(&sleeper->monotonic, false);
    init_alarm(&sleeper->wall_clock, true);
    sleeper->kicked = false;
    sleeper->tick_ns = tick_ns;
    return pthread_mutex_init(&sleeper->lock, NULL) == 0;
}

void elapse__sleeper_free(struct elapse__sleeper *sleeper)
{
    elapse__sleeper_close(sleeper);
    (void)pthread_mutex_destroy(&sleeper->lock);
}

bool elapse__sleeper_open(struct elapse__sleeper *sleeper, clockid_t clock)
{
    sleeper->monotonic.timer = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);
    if (sleeper->monotonic.timer >= 0) {
        sleeper->wall_clock.timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        if (sleeper->wall_clock.timer >= 0)
            return true;
    }
    elapse__sleeper_close(sleeper);
    return false;
}

static void close_alarm(struct elapse__alarm *alarm)
{
    if (alarm->timer >= 0)
        (void)close(alarm->timer);
    alarm->timer = -1;
    atomic_store(&alarm->armed_tick, 0);
}

/* A kick that comes later finds no timer. */
void elapse__sleeper_close(struct elapse__sleeper *sleeper)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    close_alarm(&sleeper->monotonic);
    close_alarm(&sleeper->wall_clock);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

/* With the lock held. Tick 0 is long over. */
static void arm(const struct elapse__sleeper *sleeper, struct elapse__alarm *alarm, uint64_t tick)
{
    uint64_t begins_ns = elapse__tick_begins_ns(tick, sleeper->tick_ns);
    struct itimerspec when = {0};
    int flags = TFD_TIMER_ABSTIME;
    if (alarm->on_wall_clock)
        flags |= TFD_TIMER_CANCEL_ON_SET;
    if (begins_ns == 0)
        begins_ns = 1; /* 0 would mean never */
    if (begins_ns <= INT64_MAX) {
        when.it_value.tv_sec = (time_t)(begins_ns / 1000000000);
        when.it_value.tv_nsec = (long)(begins_ns % 1000000000);
    }
    (void)timerfd_settime(alarm->timer, flags, &when, NULL);
    atomic_store(&alarm->armed_tick, tick);
}

/* With the lock held: the alarm is to go off no later than when `tick` begins. */
static void arm_earlier(const struct elapse__sleeper *sleeper, struct elapse__alarm *alarm,
                        uint64_t tick)
{
    if (tick < atomic_load(&alarm->armed_tick))
        arm(sleeper, alarm, tick);
}

static void set_armed(struct elapse__sleeper *sleeper, uint64_t tick)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    atomic_store(&sleeper->monotonic.armed_tick, tick);
    atomic_store(&sleeper->wall_clock.armed_tick, tick);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

void elapse__sleeper_prepare(struct elapse__sleeper *sleeper)
{
    set_armed(sleeper, ELAPSE_NEVER);
}

/* Makes the alarm unreadable again. That it went off, or that the wall clock was set
 * (ECANCELED), is all the same. */
static void reset(const struct elapse__alarm *alarm)
{
    uint64_t expirations;
    ssize_t read_bytes = read(alarm->timer, &expirations, sizeof expirations);
    (void)read_bytes;
}

void elapse__sleeper_reset(struct elapse__sleeper *sleeper)
{
    reset(&sleeper->monotonic);
    reset(&sleeper->wall_clock);
}

/* With the lock held, after prepare: somebody may have armed them for earlier ticks since. */
static void arm_both(struct elapse__sleeper *sleeper, struct elapse__ticks until)
{
    arm_earlier(sleeper, &sleeper->monotonic, until.monotonic);
    arm_earlier(sleeper, &sleeper->wall_clock, until.wall_clock);
}

void elapse__sleeper_sleep(struct elapse__sleeper *sleeper, struct elapse__ticks until,
                           const struct timespec *timeout)
{
    struct pollfd alarms[] = {
        {.fd = sleeper->monotonic.timer, .events = POLLIN},
        {.fd = sleeper->wall_clock.timer, .events = POLLIN},
    };
    (void)pthread_mutex_lock(&sleeper->lock);
    bool kicked = sleeper->kicked;
    sleeper->kicked = false;
    if (!kicked)
        arm_both(sleeper, until);
    (void)pthread_mutex_unlock(&sleeper->lock);
    if (!kicked) {
        /* Should it fail, or a signal end it, the next round comes early. */
        (void)ppoll(alarms, 2, timeout, NULL);
        elapse__sleeper_reset(sleeper);
    }
    set_armed(sleeper, 0);
}

void elapse__sleeper_set(struct elapse__sleeper *sleeper, struct elapse__ticks until)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    arm_both(sleeper, until);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

void elapse__sleeper_wake_at(struct elapse__sleeper *sleeper, struct elapse__ticks ticks)
{
    if (ticks.monotonic >= atomic_load(&sleeper->monotonic.armed_tick) &&
        ticks.wall_clock >= atomic_load(&sleeper->wall_clock.armed_tick))
        return;
    (void)pthread_mutex_lock(&sleeper->lock);
    arm_earlier(sleeper, &sleeper->monotonic, ticks.monotonic);
    arm_earlier(sleeper, &sleeper->wall_clock, ticks.wall_clock);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

void elapse__sleeper_kick(struct elapse__sleeper *sleeper)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    sleeper->kicked = true;
    if (sleeper->monotonic.timer >= 0 && atomic_load(&sleeper->monotonic.armed_tick) != 0)
        arm(sleeper, &sleeper->monotonic, 0);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

void elapse__sleeper_stay_readable(struct elapse__sleeper *sleeper)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    if (sleeper->monotonic.timer >= 0)
        arm(sleeper, &sleeper->monotonic, 0);
    (void)pthread_mutex_unlock(&sleeper->lock);
}
