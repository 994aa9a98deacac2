#include "clocks.h"

#include "../base/ring.h"

bool elapse__queue_clocks_init(struct elapse__queue_clocks *clocks, uint64_t boot_tick,
                               uint64_t wall_tick)
{
    clocks->stage = ELAPSE__QUEUE_STEADY;
    elapse__ring_init(&clocks->unplaced);
    clocks->least_unplaced = ELAPSE_NEVER;
    return elapse_wheel_init(&clocks->boot, boot_tick) == ELAPSE_OK &&
           elapse_wheel_init(&clocks->wall, wall_tick) == ELAPSE_OK &&
           elapse_wheel_init(&clocks->expiry, boot_tick) == ELAPSE_OK &&
           elapse_wheel_init(&clocks->alarms, boot_tick) == ELAPSE_OK;
}

static void add_unplaced(struct elapse__queue_clocks *clocks, struct elapse_timer *timer,
                         uint64_t tick)
{
    ELAPSE__ASSERT(!elapse_timer_pending(timer));
    timer->deadline = tick;
    elapse__ring_append(&clocks->unplaced, &timer->keep.ring_node);
    if (tick < clocks->least_unplaced)
        clocks->least_unplaced = tick;
}

void elapse__queue_clocks_start(struct elapse__queue_clocks *clocks,
                                struct elapse__queue_entry *entry, bool by_wall, uint64_t tick,
                                uint64_t now_tick)
{
    ELAPSE__ASSERT(!elapse_timer_pending(&entry->timer));
    if (!by_wall) {
        elapse_wheel_start(&clocks->boot, &entry->timer, tick);
        return;
    }
    /* The wall clock is behind the wheel if it was set back. Then a deadline after `now_tick` may
     * lie before the time of the wheel. The wheel would make such a timer due at once, before the
     * wall clock has come to the deadline. */
    if (now_tick < elapse_wheel_now(&clocks->wall) && clocks->stage == ELAPSE__QUEUE_STEADY)
        clocks->stage = ELAPSE__QUEUE_COLLECTING;
    if (clocks->stage != ELAPSE__QUEUE_STEADY)
        add_unplaced(clocks, &entry->timer, tick);
    else
        elapse_wheel_start(&clocks->wall, &entry->timer, tick);
}

void elapse__queue_clocks_stop(struct elapse__queue_clocks *clocks,
                               struct elapse__queue_entry *entry, bool by_wall)
{
    if (elapse_timer_pending(&entry->timer)) {
        (void)elapse_wheel_stop(by_wall ? &clocks->wall : &clocks->boot, &entry->timer);
        return;
    }
    /* The timer is in no wheel. If it is in the ring `unplaced`, it has neighbours. Otherwise it is
     * in no ring and has none: the turn of the queue has popped the timer and initialised it, or
     * the timer was not started, because the job only waits for arrivals. */
    if (entry->timer.keep.ring_node.next == NULL)
        return;
    ELAPSE__ASSERT(by_wall);
    ELAPSE__ASSERT_THAT(clocks->stage, !=, ELAPSE__QUEUE_STEADY);
    (void)elapse__ring_remove(&entry->timer.keep.ring_node);
}

struct collecting_timers {
    struct elapse__queue_clocks *clocks;
    uint32_t left;
};

static bool collect_entry(struct elapse_timer *timer, void *context)
{
    struct collecting_timers *collecting = context;
    uint64_t tick = timer->deadline;
    (void)elapse_wheel_stop(&collecting->clocks->wall, timer);
    add_unplaced(collecting->clocks, timer, tick);
    return --collecting->left > 0;
}

static void place_entries(struct elapse__queue_clocks *clocks, uint32_t most)
{
    ELAPSE__ASSERT_THAT(clocks->stage, ==, ELAPSE__QUEUE_PLACING);
    for (; most > 0 && !elapse__ring_empty(&clocks->unplaced); most--) {
        struct elapse_timer *timer = elapse__ring_timer(clocks->unplaced.next);
        uint64_t tick = timer->deadline;
        ELAPSE__ASSERT_THAT(tick, >=, clocks->least_unplaced);
        (void)elapse__ring_remove(&timer->keep.ring_node);
        elapse_timer_init(timer);
        elapse_wheel_start(&clocks->wall, timer, tick);
    }
    if (!elapse__ring_empty(&clocks->unplaced))
        return;
    clocks->stage = ELAPSE__QUEUE_STEADY;
    clocks->least_unplaced = ELAPSE_NEVER;
}

bool elapse__queue_clocks_follow(struct elapse__queue_clocks *clocks, uint64_t wall_tick,
                                 uint32_t most)
{
    ELAPSE__ASSERT_THAT(most, >, 0);
    /* The wall clock was set back, so that it is behind the wheel. If the stage is PLACING, this
     * happened while timers were placed. Then the timers that were placed are collected again. */
    if (wall_tick < elapse_wheel_now(&clocks->wall) && clocks->stage != ELAPSE__QUEUE_COLLECTING)
        clocks->stage = ELAPSE__QUEUE_COLLECTING;
    if (clocks->stage == ELAPSE__QUEUE_COLLECTING) {
        struct collecting_timers collecting = {clocks, most};
        elapse_wheel_for_each(&clocks->wall, collect_entry, &collecting);
        if (elapse_wheel_count(&clocks->wall) > 0)
            return false;
        /* The new wheel begins no later than the least deadline in the ring. If it began later, it
         * would replace each deadline before its time by this time. Then the order of these
         * deadlines would be lost. */
        ELAPSE__ASSERT_THAT(elapse_wheel_count(&clocks->wall), ==, 0);
        uint64_t begin = clocks->least_unplaced < wall_tick ? clocks->least_unplaced : wall_tick;
        enum elapse_error error = elapse_wheel_init(&clocks->wall, begin);
        ELAPSE__ASSERT_THAT(error, ==, ELAPSE_OK); /* the same call made this wheel before */
        (void)error;
        clocks->stage = ELAPSE__QUEUE_PLACING;
        return false;
    }
    ELAPSE__ASSERT(clocks->stage == ELAPSE__QUEUE_PLACING || elapse__ring_empty(&clocks->unplaced));
    if (clocks->stage == ELAPSE__QUEUE_PLACING)
        place_entries(clocks, most);
    return clocks->stage == ELAPSE__QUEUE_STEADY;
}
