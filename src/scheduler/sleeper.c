#include "sleeper.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <elapse/timer.h>

#include "ticks.h"

bool elapse__sleeper_init(struct elapse__sleeper *sleeper, uint64_t tick_ns)
{
    sleeper->timer = -1;
    sleeper->kicked = false;
    sleeper->tick_ns = tick_ns;
    atomic_init(&sleeper->armed_tick, 0);
    return pthread_mutex_init(&sleeper->lock, NULL) == 0;
}

void elapse__sleeper_free(struct elapse__sleeper *sleeper)
{
    elapse__sleeper_close(sleeper);
    (void)pthread_mutex_destroy(&sleeper->lock);
}

bool elapse__sleeper_open(struct elapse__sleeper *sleeper, clockid_t clock)
{
    sleeper->timer = timerfd_create(clock, TFD_CLOEXEC);
    return sleeper->timer >= 0;
}

/* A kick that comes later finds no timer. */
void elapse__sleeper_close(struct elapse__sleeper *sleeper)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    if (sleeper->timer >= 0)
        (void)close(sleeper->timer);
    sleeper->timer = -1;
    atomic_store(&sleeper->armed_tick, 0);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

/* With the lock held. Tick 0 is long over. */
static void arm(struct elapse__sleeper *sleeper, uint64_t tick)
{
    uint64_t begins_ns = elapse__tick_begins_ns(tick, sleeper->tick_ns);
    struct itimerspec when = {0};
    if (begins_ns == 0)
        begins_ns = 1; /* 0 would mean never */
    if (begins_ns <= INT64_MAX) {
        when.it_value.tv_sec = (time_t)(begins_ns / 1000000000);
        when.it_value.tv_nsec = (long)(begins_ns % 1000000000);
    }
    (void)timerfd_settime(sleeper->timer, TFD_TIMER_ABSTIME, &when, NULL);
    atomic_store(&sleeper->armed_tick, tick);
}

void elapse__sleeper_prepare(struct elapse__sleeper *sleeper)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    atomic_store(&sleeper->armed_tick, ELAPSE_NEVER);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

void elapse__sleeper_sleep(struct elapse__sleeper *sleeper, uint64_t tick)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    bool kicked = sleeper->kicked;
    sleeper->kicked = false;
    /* Since prepare somebody may have armed it for an earlier tick. */
    if (!kicked && tick < atomic_load(&sleeper->armed_tick))
        arm(sleeper, tick);
    (void)pthread_mutex_unlock(&sleeper->lock);
    if (!kicked) {
        uint64_t expirations;
        while (read(sleeper->timer, &expirations, sizeof expirations) < 0 && errno == EINTR)
            continue;
    }
    (void)pthread_mutex_lock(&sleeper->lock);
    atomic_store(&sleeper->armed_tick, 0);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

void elapse__sleeper_wake_at(struct elapse__sleeper *sleeper, uint64_t tick)
{
    if (tick >= atomic_load(&sleeper->armed_tick))
        return;
    (void)pthread_mutex_lock(&sleeper->lock);
    if (tick < atomic_load(&sleeper->armed_tick))
        arm(sleeper, tick);
    (void)pthread_mutex_unlock(&sleeper->lock);
}

void elapse__sleeper_kick(struct elapse__sleeper *sleeper)
{
    (void)pthread_mutex_lock(&sleeper->lock);
    sleeper->kicked = true;
    if (sleeper->timer >= 0 && atomic_load(&sleeper->armed_tick) != 0)
        arm(sleeper, 0);
    (void)pthread_mutex_unlock(&sleeper->lock);
}
