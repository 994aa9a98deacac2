/*
 * The contenders `libevent` and `libevent-precise`: the timers of libevent, in one event base on
 * one thread, used as its manual says: with evtimer_new, event_add (which also postpones a
 * pending timer), event_del, and a common time-out where thousands of timers have one delay, as
 * in S6. The base reads the clock at the beginning of a turn, and counts delays from that
 * reading. S3 updates the reading before each timer (event_base_update_cache_time), because it
 * compares lateness with the clock.
 *
 * This file is built twice: for `libevent` with its defaults, which use the system's coarse
 * clock, and for `libevent-precise` with EVENT_BASE_FLAG_PRECISE_TIMER.
 *
 * In S3 an event that is active again at each turn schedules a batch of timers, because no timer
 * fires while the loop does not turn.
 *
 * Semantics: delays are in microseconds, but the coarse clock advances in steps of some
 * milliseconds, and a timer can fire early by as much. Deleting an event removes it from the
 * heap at once. Freeing it is not timed.
 */
#include <event2/event.h>
#include <stdlib.h>

#include "race.h"

#ifndef RACE_PRECISE
#error "RACE_PRECISE must be 0 or 1"
#endif

enum { AT_ONE_TURN = 200 };

struct facility {
    struct race_handles all; /* pointers to the events */
    struct event_base *base;
    struct event *scheduler;
    struct event *waker;
    struct event **handles;
    struct race_delivery *delivery;
    struct timeval common; /* stands for the delay that all timers have, if they have one */
};

static void must(int status)
{
    race_must(status == 0, "libevent refused a call");
}

static struct timeval to_timeval(uint64_t ns)
{
    uint64_t us = (ns + 999) / 1000;
    return (struct timeval){
        .tv_sec = (time_t)(us / 1000000),
        .tv_usec = (suseconds_t)(us % 1000000),
    };
}

static void schedule_some(evutil_socket_t descriptor, short what, void *argument);
static void stop_loop(evutil_socket_t descriptor, short what, void *argument);

static struct event *new_timer(struct facility *facility, event_callback_fn callback, void *context)
{
    struct event *timer = evtimer_new(facility->base, callback, context);
    race_must(timer != NULL, "no memory");
    return timer;
}

static void *open_base(const struct race_options *options, size_t timers)
{
    struct facility *facility = race_allocate_touched(1, sizeof *facility);
    struct event_config *config = event_config_new();
    (void)options;
    race_must(config != NULL, "no memory");
    if (RACE_PRECISE)
        must(event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER));
    facility->base = event_base_new_with_config(config);
    event_config_free(config);
    race_must(facility->base != NULL, "no event base");
    facility->handles = race_allocate_touched(timers, sizeof(struct event *));
    facility->all = (struct race_handles){facility->handles, timers, sizeof(struct event *)};
    facility->scheduler = new_timer(facility, schedule_some, facility);
    facility->waker = new_timer(facility, stop_loop, facility);
    return facility;
}

static void close_base(void *argument)
{
    struct facility *facility = argument;
    for (size_t i = 0; i < facility->all.count; i++) {
        if (facility->handles[i] != NULL)
            event_free(facility->handles[i]);
    }
    event_free(facility->scheduler);
    event_free(facility->waker);
    event_base_free(facility->base);
    free(facility->handles);
    free(facility);
}

static void run_far(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    (void)argument;
    race_far_action();
}

static void use_common_timeout(struct facility *facility, uint64_t delay_ns)
{
    struct timeval delay = to_timeval(delay_ns);
    const struct timeval *common = event_base_init_common_timeout(facility->base, &delay);
    race_must(common != NULL, "no common time-out");
    facility->common = *common;
}

static void schedule(void *argument, size_t first, size_t count, struct race_delays delays,
                     struct generator *generator)
{
    struct facility *facility = argument;
    bool common = delays.span_ns == 0;
    if (common)
        use_common_timeout(facility, delays.least_ns);
    for (size_t i = first; i < first + count; i++) {
        struct timeval delay = to_timeval(race_delay_ns(delays, generator));
        facility->handles[i] = new_timer(facility, run_far, NULL);
        must(event_add(facility->handles[i], common ? &facility->common : &delay));
    }
}

static size_t pending(void *argument)
{
    struct facility *facility = argument;
    size_t added = 0;
    for (size_t i = 0; i < facility->all.count; i++)
        added += evtimer_pending(facility->handles[i], NULL) != 0;
    return added;
}

static bool cancel_one(void *argument, size_t index)
{
    struct facility *facility = argument;
    return evtimer_del(facility->handles[index]) == 0;
}

static size_t cancel(void *facility)
{
    return race_cancel_each(facility, cancel_one);
}

static size_t restart(void *argument, size_t count, uint64_t delay_ns, struct generator *generator)
{
    struct facility *facility = argument;
    size_t restarted = 0;
    (void)delay_ns;
    for (size_t i = 0; i < count; i++) {
        struct event *timer = facility->handles[below(generator, facility->all.count)];
        restarted += event_add(timer, &facility->common) == 0;
    }
    return restarted;
}

/* ---- S3 ---- */

static void stop_loop(evutil_socket_t descriptor, short what, void *argument)
{
    struct facility *facility = argument;
    (void)descriptor;
    (void)what;
    must(event_base_loopbreak(facility->base));
}

static struct facility *delivering;

static void run_note(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    race_note(argument);
    if (++delivering->delivery->fired == delivering->delivery->count)
        must(event_base_loopbreak(delivering->base));
}

static void schedule_some(evutil_socket_t descriptor, short what, void *argument)
{
    struct facility *facility = argument;
    struct race_delivery *delivery = facility->delivery;
    const struct timeval at_once = {0, 0};
    (void)descriptor;
    (void)what;
    for (unsigned i = 0; i < AT_ONE_TURN && delivery->scheduled < delivery->count; i++) {
        size_t number = delivery->scheduled;
        facility->handles[number] = new_timer(facility, run_note, &delivery->notes[number]);
        struct timeval delay = to_timeval(race_next_delay_ns(delivery));
        must(event_base_update_cache_time(facility->base));
        must(event_add(facility->handles[number], &delay));
    }
    if (delivery->scheduled < delivery->count)
        must(event_add(facility->scheduler, &at_once));
}

static void deliver(void *argument, struct race_delivery *delivery)
{
    struct facility *facility = argument;
    const struct timeval at_once = {0, 0};
    facility->delivery = delivery;
    delivering = facility;
    struct timeval overdue = to_timeval(race_overdue_ns(delivery) - clock_ns());
    must(event_add(facility->scheduler, &at_once));
    must(event_add(facility->waker, &overdue));
    must(event_base_dispatch(facility->base));
    must(event_del(facility->waker));
}

static void idle(void *argument, uint64_t for_ns)
{
    struct facility *facility = argument;
    struct timeval delay = to_timeval(for_ns);
    must(event_add(facility->waker, &delay));
    must(event_base_dispatch(facility->base));
}

const struct race_contender race_contender = {
    .name = RACE_PRECISE ? "libevent-precise" : "libevent",
    .threads_may_share = false,
    .cancel_unlinks = true,
    .has_restart = true,
    .open = open_base,
    .close = close_base,
    .schedule = schedule,
    .pending = pending,
    .cancel = cancel,
    .restart = restart,
    .deliver = deliver,
    .idle = idle,
};
