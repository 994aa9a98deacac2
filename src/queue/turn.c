#include "commands.h"

enum { MOVES_A_TURN = 4000 };

/* A turn under way, and how much it may still do. */
struct turning {
    struct elapse__queue *queue;
    struct elapse__queue_turned done;
    uint32_t jobs;
    uint32_t drops; /* of buried jobs, beside the others: those come due */
    uint32_t moves; /* steps of groups_move, beside the others, too */
};

/* Returns the next due timer of a wheel, or NULL; a long cascade waits for the next turn. */
static struct elapse_timer *pop_timer(struct turning *turning, struct elapse_wheel *wheel)
{
    if (turning->jobs == 0 || !elapse_wheel_cascade(wheel, MOVES_A_TURN)) {
        turning->done.more |= elapse_wheel_next(wheel) <= elapse_wheel_now(wheel);
        return NULL;
    }
    struct elapse_timer *timer = elapse_wheel_pop(wheel);
    if (timer == NULL)
        return NULL;
    ELAPSE__ASSERT_THAT(timer->deadline, <=, elapse_wheel_now(wheel)); /* never early */
    turning->jobs--;
    uint64_t deadline = timer->deadline;
    elapse_timer_init(timer);
    timer->deadline = deadline;
    return timer;
}

static void make_ready(struct turning *turning, struct elapse__queue_entry *entry)
{
    struct elapse__queue *queue = turning->queue;
    struct elapse__queue_tick due = {elapse__queue_by_wall(entry), entry->timer.deadline};
    ELAPSE__ASSERT_THAT(due.tick, <=, elapse__queue_present(queue, due.by_wall));
    if (elapse__queue_has_expired(queue, entry)) {
        elapse__queue_drop_expired(queue, entry);
        turning->done.expired++;
        return;
    }
    elapse__queue_leave_state(queue, entry);
    elapse__queue_enter_waiting(queue, entry, due);
    turning->done.ready++;
}

/* Ends a lease whose ttr has passed. If the sink refuses, a replay learns that from the lease's
 * end. */
static void time_out(struct turning *turning, struct elapse__queue_entry *entry)
{
    struct elapse__queue *queue = turning->queue;
    ELAPSE__ASSERT(elapse__queue_is_leased(elapse__queue_state_of(entry)));
    ELAPSE__ASSERT(elapse__queue_side_of(queue, entry)->begun);
    turning->done.ended++;
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW) {
        elapse__queue_end_shadow(queue, entry);
        return;
    }
    bool write = elapse__queue_begin_relief(queue);
    elapse__queue_side_of(queue, entry)->timeouts++;
    elapse__queue_tube_of(queue, entry)->totals.timeouts++;
    queue->totals.timeouts++;
    elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_LEASE_ENDED);
    elapse__queue_fail_attempt(queue, entry, 0, write);
    if (write)
        (void)elapse__queue_end(queue);
}

static void come_due(struct turning *turning, struct elapse_timer *timer)
{
    struct elapse__queue_entry *entry = elapse__queue_entry_of(timer);
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_DELAYED)
        make_ready(turning, entry);
    else
        time_out(turning, entry);
}

/* How late the earliest timer of a wheel is, at most. */
static uint64_t lateness(const struct elapse_wheel *wheel)
{
    uint64_t next = elapse_wheel_next(wheel);
    return next <= elapse_wheel_now(wheel) ? elapse_wheel_now(wheel) - next : 0;
}

/* Takes the timers that are due, each time from the wheel whose earliest timer is more overdue.
 * Unless `steady`, leaves the wheel of the wall clock alone. */
static void turn_entries(struct turning *turning, bool steady)
{
    struct elapse__queue_clocks *clocks = &turning->queue->clocks;
    for (;;) {
        bool wall_first = steady && lateness(&clocks->wall) > lateness(&clocks->boot);
        struct elapse_timer *timer = pop_timer(turning, wall_first ? &clocks->wall : &clocks->boot);
        if (timer == NULL && steady)
            timer = pop_timer(turning, wall_first ? &clocks->boot : &clocks->wall);
        if (timer == NULL)
            return;
        come_due(turning, timer);
    }
}

static void turn_expiries(struct turning *turning)
{
    struct elapse__queue *queue = turning->queue;
    const struct elapse_timer *timer = NULL;
    while ((timer = pop_timer(turning, &queue->clocks.expiry)) != NULL) {
        const struct elapse__queue_side *side = (const void *)timer;
        elapse__queue_drop_expired(queue, elapse__queue_entry_at(&queue->jobs, side->entry));
        turning->done.expired++;
    }
}

/* The bucket of a group has a token again, or is full. */
static void look_at_group(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                          struct elapse__queue_group *group)
{
    if (!elapse__queue_group_rate_look(queue, group)) {
        elapse__queue_turns_trim(queue, tube);
        return;
    }
    elapse__queue_turns_place(queue, tube, group);
    elapse__queue_count_held(queue, tube);
    queue->freed++;
    elapse__queue_watch_tell(queue, tube);
}

/* A pause has ended, a bucket has a token again, groups are to be moved, or buried jobs dropped. A
 * move that is not at its end comes again in the next turn. */
static void turn_alarms(struct turning *turning)
{
    struct elapse__queue *queue = turning->queue;
    const struct elapse_timer *timer = NULL;
    while (turning->moves > 0 && (timer = pop_timer(turning, &queue->clocks.alarms)) != NULL) {
        const struct elapse__queue_alarm *alarm = (const void *)timer;
        if (alarm->kind == ELAPSE__QUEUE_ALARM_GROUPS) {
            elapse__queue_groups_move(queue, &turning->moves);
            continue;
        }
        struct elapse__queue_tube *tube = elapse__queue_tube_at(queue, alarm->number);
        if (alarm->kind == ELAPSE__QUEUE_ALARM_BURIED) {
            uint32_t dropped = elapse__queue_drop_buried(queue, tube, &turning->drops);
            turning->done.dropped += dropped;
            continue;
        }
        if (alarm->kind == ELAPSE__QUEUE_ALARM_GROUP_TOKEN) {
            look_at_group(queue, tube, elapse__queue_group_at(queue, alarm->number));
            continue;
        }
        if (alarm->kind == ELAPSE__QUEUE_ALARM_OPENING) {
            elapse__queue_groups_begin(queue, tube);
            continue;
        }
        elapse__queue_count_held(queue, tube);
        elapse__queue_watch_tell(queue, tube);
        queue->freed++;
        if (alarm->kind != ELAPSE__QUEUE_ALARM_TOKEN)
            elapse__queue_pause_end(queue, tube);
    }
}

struct elapse__queue_turned elapse__queue_turn(struct elapse__queue *queue,
                                               struct elapse__queue_now now)
{
    struct turning turning = {.queue = queue,
                              .jobs = ELAPSE__QUEUE_TURN_MAX,
                              .drops = ELAPSE__QUEUE_TURN_MAX,
                              .moves = ELAPSE__QUEUE_TURN_MAX};
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    uint64_t boot_tick = elapse__queue_present(queue, false);
    uint64_t wall_tick = elapse__queue_present(queue, true);
    bool steady = elapse__queue_clocks_follow(&queue->clocks, wall_tick, ELAPSE__QUEUE_TURN_MAX);
    elapse_wheel_advance(&queue->clocks.boot, boot_tick);
    elapse_wheel_advance(&queue->clocks.expiry, boot_tick);
    elapse_wheel_advance(&queue->clocks.alarms, boot_tick);
    if (steady)
        elapse_wheel_advance(&queue->clocks.wall, wall_tick);
    turn_alarms(&turning);
    turn_entries(&turning, steady);
    turn_expiries(&turning);
    turning.done.more |= elapse__queue_catch_up(queue, &turning.moves);
    turning.done.more |= turning.moves == 0;
    turning.done.more |= !steady;
    turning.done.more |= elapse__queue_tokens_expire(queue, boot_tick, ELAPSE__QUEUE_TURN_MAX);
    return turning.done;
}

static void take_sooner(uint64_t *soonest, uint64_t tick)
{
    if (tick < *soonest)
        *soonest = tick;
}

struct elapse__queue_due elapse__queue_next_due(const struct elapse__queue *queue)
{
    const struct elapse__queue_clocks *clocks = &queue->clocks;
    struct elapse__queue_due due = {UINT64_MAX, INT64_MAX};
    uint64_t boot = elapse_wheel_next(&clocks->boot);
    take_sooner(&boot, elapse_wheel_next(&clocks->expiry));
    take_sooner(&boot, elapse_wheel_next(&clocks->alarms));
    take_sooner(&boot, elapse__queue_token_next(queue));
    uint64_t wall = elapse_wheel_next(&clocks->wall);
    /* The job that these tubes wait for may be gone, or have become ready before. */
    if (!elapse__ring_empty(&queue->behind))
        take_sooner(&boot, queue->behind_boot);
    if (clocks->stage != ELAPSE__QUEUE_STEADY)
        take_sooner(&boot, elapse__queue_present(queue, false));
    if (boot != ELAPSE_NEVER)
        due.boot_ms = boot > ELAPSE__QUEUE_ORIGIN ? boot - ELAPSE__QUEUE_ORIGIN : 0;
    if (wall != ELAPSE_NEVER)
        due.wall_ms = elapse__queue_wall_ms(wall);
    return due;
}
