/*
 * Stores the present of a queue, and translates a time of one clock into a time of the other.
 */
#include "tables.h"

void elapse__queue_take_now(struct elapse__queue *queue, struct elapse__queue_now now)
{
    /* The greatest time of the boot-time clock. It is so small that no sum overflows. */
    const uint64_t boot_ms_max = UINT64_C(1) << 60;
    if (now.boot_ms > boot_ms_max)
        now.boot_ms = boot_ms_max;
    if (now.boot_ms < queue->now.boot_ms)
        now.boot_ms = queue->now.boot_ms;
    if (now.wall_ms > ELAPSE__QUEUE_WALL_MS_MAX)
        now.wall_ms = ELAPSE__QUEUE_WALL_MS_MAX;
    if (now.wall_ms < -ELAPSE__QUEUE_WALL_MS_MAX)
        now.wall_ms = -ELAPSE__QUEUE_WALL_MS_MAX;
    ELAPSE__ASSERT_THAT(now.boot_ms, >=, queue->now.boot_ms);
    queue->now = now;
}

int64_t elapse__queue_tick_to_ms(const struct elapse__queue *queue, bool by_wall, uint64_t tick)
{
    if (by_wall)
        return elapse__queue_wall_ms(tick);
    return queue->now.wall_ms + (int64_t)(tick - elapse__queue_boot_tick(queue->now.boot_ms));
}

uint64_t elapse__queue_ms_to_tick(const struct elapse__queue *queue, bool by_wall, int64_t wall_ms)
{
    uint64_t tick = elapse__queue_wall_tick(wall_ms);
    if (by_wall)
        return tick;
    return elapse__queue_boot_tick(queue->now.boot_ms) +
           (tick - elapse__queue_present(queue, true));
}
