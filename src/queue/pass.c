/*
 * Moves groups to where a new limit wants them. A LIMIT, and some starts, leave all groups of a
 * tube where they stood before; until each has been looked at, the tube hands out nothing. There
 * may be very many groups, so a turn looks at a bounded number of places of their table. All tubes
 * whose groups are moved share one pass, which goes round and round over the table:
 *
 *      place    1   2   3   ...   fresh - 1        queue->pass is round << 32 | the last place
 *               ----------> queue->pass ----->
 *
 * A tube joins the end of the ring `moving`, and notes where the pass is then. It leaves the ring
 * when the pass has come there again. So the tubes leave in the order in which they have joined,
 * and K tubes, if they join together, take P + K steps. P is how many places the table has: for all
 * tubes and groups of the queue, whichever tubes are moved.
 *
 * In a tube whose groups have an order, jobs of one group must not overtake each other after a
 * start, at which jobs become ready by their due times, a thousand at a time. Such tubes wait in
 * the ring `behind` until all is ready that was due when the queue was opened. Such a tube waits
 * there, too, if there is no memory for one more ready job: it is tried again soon, and no other
 * job of the tube goes first.
 */
#include "commands.h"

#define ROUND (UINT64_C(1) << 32)

static struct elapse__queue_tube *first_tube(const struct elapse__queue *queue,
                                             const struct elapse__ring_node *ring)
{
    ELAPSE__ASSERT(!elapse__ring_empty(ring));
    const struct elapse__queue_turns *turns =
        (const void *)((const unsigned char *)ring->next -
                       offsetof(struct elapse__queue_turns, moving));
    struct elapse__queue_tube *tube = elapse__queue_tube_at(queue, turns->tube);
    ELAPSE__ASSERT(tube->turns == turns);
    return tube;
}

static void take_out(struct elapse__queue_turns *turns)
{
    (void)elapse__ring_remove(&turns->moving);
    turns->moving.next = NULL;
}

/* Counts what may be handed out, and tells it. */
static void tell(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    elapse__queue_count_held(queue, tube);
    queue->freed++;
    elapse__queue_watch_tell(queue, tube);
}

/* The pass goes on while there are tubes in the ring. */
static void set_alarm(struct elapse__queue *queue)
{
    struct elapse_timer *timer = &queue->pass_alarm.timer;
    if (elapse__ring_empty(&queue->moving))
        (void)elapse_wheel_stop(&queue->clocks.alarms, timer);
    else if (!elapse_timer_pending(timer))
        elapse_wheel_start(&queue->clocks.alarms, timer, elapse__queue_present(queue, false));
}

void elapse__queue_pass_init(struct elapse__queue *queue)
{
    queue->pass_alarm = (struct elapse__queue_alarm){.kind = ELAPSE__QUEUE_ALARM_GROUPS};
    elapse__ring_init(&queue->moving);
    elapse__ring_init(&queue->behind);
}

void elapse__queue_groups_begin(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    struct elapse__queue_turns *turns = tube->turns;
    ELAPSE__ASSERT(tube->record != NULL);
    if (turns == NULL) {
        tell(queue, tube);
        return;
    }
    if (elapse__queue_is_moving(tube))
        take_out(turns);
    else
        tube->holds++;
    turns->pass = queue->pass;
    elapse__ring_append(queue->is_behind && elapse__queue_is_ordered(tube) ? &queue->behind
                                                                           : &queue->moving,
                        &turns->moving);
    elapse__queue_count_held(queue, tube);
    set_alarm(queue);
}

/* All groups of a tube have been looked at. The tube may end by that. */
static void end_move(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    take_out(tube->turns);
    elapse__queue_turns_trim(queue, tube);
    tell(queue, tube);
    elapse__queue_tube_record_settle(queue, tube);
    elapse__queue_tube_release(queue, tube);
}

/* Goes on by one place, or to the next round. */
static void visit(struct elapse__queue *queue)
{
    uint32_t number = (uint32_t)queue->pass + 1;
    if (number >= queue->tubes.fresh) {
        queue->pass = (queue->pass / ROUND + 1) * ROUND;
        return;
    }
    queue->pass++;
    const struct elapse__queue_place *place = elapse__queue_place_at(queue, number);
    if (place->kind != ELAPSE__QUEUE_PLACE_GROUP)
        return;
    struct elapse__queue_group *group = place->at.group;
    struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
    if (elapse__queue_is_moving(tube) && elapse__queue_group_rate_look(queue, group))
        elapse__queue_turns_place(queue, tube, group);
}

void elapse__queue_groups_move(struct elapse__queue *queue, uint32_t *most)
{
    for (; *most > 0 && !elapse__ring_empty(&queue->moving); --*most) {
        struct elapse__queue_tube *tube = first_tube(queue, &queue->moving);
        ELAPSE__ASSERT_THAT(tube->turns->pass, <=, queue->pass);
        if (queue->pass - tube->turns->pass >= ROUND)
            end_move(queue, tube);
        else
            visit(queue);
    }
    set_alarm(queue);
}

/* ---- starts ---- */

/* Returns whether a job is still to become ready that was due when the queue was opened, or for
 * which there was no memory. If the wall clock was set back since, such a job may be due no more.
 */
static bool is_behind(const struct elapse__queue *queue)
{
    const struct elapse__queue_clocks *clocks = &queue->clocks;
    uint64_t wall = elapse__queue_present(queue, true);
    if (wall > queue->behind_wall)
        wall = queue->behind_wall;
    return elapse__queue_present(queue, false) < queue->behind_boot ||
           clocks->stage != ELAPSE__QUEUE_STEADY ||
           elapse_wheel_next(&clocks->boot) <= queue->behind_boot ||
           elapse_wheel_next(&clocks->wall) <= wall;
}

bool elapse__queue_catch_up(struct elapse__queue *queue, uint32_t *most)
{
    if (queue->is_behind && is_behind(queue))
        return false;
    queue->is_behind = false;
    for (uint32_t tubes = 0; tubes < ELAPSE__QUEUE_TURN_MAX; tubes++) {
        if (elapse__ring_empty(&queue->behind))
            break;
        elapse__queue_groups_begin(queue, first_tube(queue, &queue->behind));
    }
    elapse__queue_groups_move(queue, most);
    return !elapse__ring_empty(&queue->behind);
}

void elapse__queue_order_waits(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                               struct elapse__queue_tick due, uint64_t wait_ms)
{
    uint64_t boot = elapse__queue_present(queue, false) + wait_ms;
    if (!elapse__queue_is_ordered(tube) || tube->turns == NULL)
        return;
    if (queue->behind_boot < boot)
        queue->behind_boot = boot;
    if (due.by_wall && queue->behind_wall < due.tick)
        queue->behind_wall = due.tick;
    queue->is_behind = true;
    elapse__queue_groups_begin(queue, tube);
}

void elapse__queue_open_order(struct elapse__queue *queue)
{
    struct elapse__queue_tube *tube = NULL;
    uint32_t number = 0;
    queue->behind_boot = elapse__queue_present(queue, false);
    queue->behind_wall = elapse__queue_present(queue, true);
    queue->is_behind = is_behind(queue);
    while ((tube = elapse__queue_next_tube(queue, &number)) != NULL)
        if (elapse__queue_is_ordered(tube))
            elapse__queue_groups_begin(queue, tube);
}
