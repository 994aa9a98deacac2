/*
 * The contender `libuv`: its timers, in one loop on one thread, used as its manual says: with
 * uv_timer_t in the program's own memory, uv_timer_start, uv_timer_stop, and uv_timer_again for
 * time-outs that are postponed. The loop reads the clock once a turn, and counts delays from
 * that reading. The manual asks programs to call uv_update_time when a turn takes a millisecond
 * or more. S1 and S6 do so every 1000 timers; S3 does so before each timer, because it compares
 * lateness with the clock.
 *
 * In S3 an idle handle schedules a batch of timers at each turn of the loop, because no timer
 * fires while the loop does not turn.
 *
 * Semantics: delays are in milliseconds and count from a time that was rounded down, so a timer
 * can fire up to 1 ms early. Stopping removes the timer from the heap at once. The program owns
 * the timer's memory.
 */
#include <stdlib.h>
#include <uv.h>

#include "race.h"

enum { BETWEEN_CLOCKS = 1000, AT_ONE_TURN = 200 };

struct facility {
    struct race_handles all; /* pointers to the timers */
    uv_loop_t loop;
    uv_timer_t waker; /* ends idling */
    uv_idle_t scheduler;
    uv_timer_t *timers;
    uv_timer_t **handles; /* to the timers, in the order in which they are cancelled */
    struct race_delivery *delivery;
};

/* Asks uv_strerror for errors only: for other numbers it allocates a text. */
static void must(int status)
{
    if (status != 0)
        race_fail(uv_strerror(status));
}

static uint64_t to_ms(uint64_t ns)
{
    return (ns + 999999) / 1000000;
}

static void *open_loop(const struct race_options *options, size_t timers)
{
    struct facility *facility = race_allocate_touched(1, sizeof *facility);
    (void)options;
    facility->timers = race_allocate(timers, sizeof facility->timers[0]);
    facility->handles = race_allocate_touched(timers, sizeof(uv_timer_t *));
    for (size_t i = 0; i < timers; i++)
        facility->handles[i] = &facility->timers[i];
    facility->all = (struct race_handles){facility->handles, timers, sizeof(uv_timer_t *)};
    must(uv_loop_init(&facility->loop));
    facility->loop.data = facility;
    must(uv_timer_init(&facility->loop, &facility->waker));
    must(uv_idle_init(&facility->loop, &facility->scheduler));
    return facility;
}

static void close_handle(uv_handle_t *handle, void *argument)
{
    (void)argument;
    uv_close(handle, NULL);
}

static void close_loop(void *argument)
{
    struct facility *facility = argument;
    uv_walk(&facility->loop, close_handle, NULL);
    (void)uv_run(&facility->loop, UV_RUN_DEFAULT);
    must(uv_loop_close(&facility->loop));
    free(facility->timers);
    free(facility->handles);
    free(facility);
}

static void run_far(uv_timer_t *timer)
{
    (void)timer;
    race_far_action();
}

/* Timers that all have one delay will be postponed (S6). Their delay is also their period,
 * because uv_timer_again uses the period as the new delay. */
static void schedule(void *argument, size_t first, size_t count, struct race_delays delays,
                     struct generator *generator)
{
    struct facility *facility = argument;
    for (size_t i = first; i < first + count; i++) {
        uv_timer_t *timer = &facility->timers[i];
        uint64_t delay_ms = to_ms(race_delay_ns(delays, generator));
        if (i % BETWEEN_CLOCKS == 0)
            uv_update_time(&facility->loop);
        must(uv_timer_init(&facility->loop, timer));
        must(uv_timer_start(timer, run_far, delay_ms, delays.span_ns == 0 ? delay_ms : 0));
    }
}

static size_t pending(void *argument)
{
    struct facility *facility = argument;
    size_t active = 0;
    for (size_t i = 0; i < facility->all.count; i++)
        active += uv_is_active((const uv_handle_t *)&facility->timers[i]) != 0;
    return active;
}

static bool cancel_one(void *argument, size_t index)
{
    struct facility *facility = argument;
    return uv_timer_stop(facility->handles[index]) == 0;
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
    uv_update_time(&facility->loop);
    for (size_t i = 0; i < count; i++)
        restarted += uv_timer_again(&facility->timers[below(generator, facility->all.count)]) == 0;
    return restarted;
}

/* ---- S3 ---- */

static void stop_loop(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static void run_note(uv_timer_t *timer)
{
    struct facility *facility = timer->loop->data;
    race_note(timer->data);
    if (++facility->delivery->fired == facility->delivery->count)
        uv_stop(timer->loop);
}

static void schedule_some(uv_idle_t *scheduler)
{
    struct facility *facility = scheduler->loop->data;
    struct race_delivery *delivery = facility->delivery;
    for (unsigned i = 0; i < AT_ONE_TURN && delivery->scheduled < delivery->count; i++) {
        uv_timer_t *timer = &facility->timers[delivery->scheduled];
        timer->data = &delivery->notes[delivery->scheduled];
        must(uv_timer_init(&facility->loop, timer));
        uint64_t delay_ms = to_ms(race_next_delay_ns(delivery));
        uv_update_time(&facility->loop);
        must(uv_timer_start(timer, run_note, delay_ms, 0));
    }
    if (delivery->scheduled == delivery->count)
        (void)uv_idle_stop(scheduler);
}

static void deliver(void *argument, struct race_delivery *delivery)
{
    struct facility *facility = argument;
    facility->delivery = delivery;
    must(uv_idle_start(&facility->scheduler, schedule_some));
    uint64_t overdue_ms = to_ms(race_overdue_ns(delivery) - clock_ns());
    uv_update_time(&facility->loop);
    must(uv_timer_start(&facility->waker, stop_loop, overdue_ms, 0));
    (void)uv_run(&facility->loop, UV_RUN_DEFAULT);
    must(uv_timer_stop(&facility->waker));
}

static void idle(void *argument, uint64_t for_ns)
{
    struct facility *facility = argument;
    uv_update_time(&facility->loop);
    must(uv_timer_start(&facility->waker, stop_loop, to_ms(for_ns), 0));
    (void)uv_run(&facility->loop, UV_RUN_DEFAULT);
}

const struct race_contender race_contender = {
    .name = "libuv",
    .threads_may_share = false,
    .cancel_unlinks = true,
    .has_restart = true,
    .open = open_loop,
    .close = close_loop,
    .schedule = schedule,
    .pending = pending,
    .cancel = cancel,
    .restart = restart,
    .deliver = deliver,
    .idle = idle,
};
