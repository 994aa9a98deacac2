/*
 * The moves of a job between its states. elapse__queue_leave_state takes a job out of the structure
 * that its state keeps it in; one of enter_... puts it into the next:
 *
 *      DELAYED    the wheel of its clock, or the ring `unplaced`
 *      READY      the heap of its tube, or its group; with EXPIRE also the wheel `expiry`
 *      RESERVED   the wheel `boot` once its lease has begun; the ring of its connection
 *      BURIED     the ring of its tube
 *      SHADOW     as RESERVED
 */
#include "moves.h"

/* How long a job waits that found no room in the heap of its tube. */
enum { READY_AGAIN_MS = 100 };

/* The ready jobs of a group are counted where they are kept, and the others are DELAYED. Of those,
 * the ones that wait after a hand-out are counted. Requires that the state is set. */
static void count_in_group(const struct elapse__queue *queue,
                           const struct elapse__queue_entry *entry,
                           struct elapse__queue_group *group, enum elapse__queue_state state,
                           int change)
{
    if (group == NULL)
        return;
    if (elapse__queue_is_retry(queue, entry))
        group->retries += (uint32_t)change;
    else if (elapse__queue_is_leased(state))
        group->running += (uint32_t)change;
    else if (state == ELAPSE__QUEUE_BURIED)
        group->buried += (uint32_t)change;
    ELAPSE__ASSERT_THAT(group->running + group->buried + group->retries, <=, group->references);
}

static void count_state(struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                        enum elapse__queue_state state, int change)
{
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    uint64_t *totals[] = {
        [ELAPSE__QUEUE_DELAYED] = &queue->totals.delayed,
        [ELAPSE__QUEUE_READY] = &queue->totals.ready,
        [ELAPSE__QUEUE_RESERVED] = &queue->totals.reserved,
        [ELAPSE__QUEUE_BURIED] = &queue->totals.buried,
        [ELAPSE__QUEUE_SHADOW] = &queue->totals.shadows,
    };
    ELAPSE__ASSERT_THAT(state, !=, ELAPSE__QUEUE_FREE);
    ELAPSE__ASSERT(change > 0 || tube->counts[state] > 0);
    ELAPSE__ASSERT(change > 0 || *totals[state] > 0);
    tube->counts[state] += (uint64_t)change;
    *totals[state] += (uint64_t)change;
    if (state != ELAPSE__QUEUE_READY)
        count_in_group(queue, entry, elapse__queue_group_of(queue, tube, entry), state, change);
    if (state == ELAPSE__QUEUE_READY)
        elapse__queue_block_around(entry)->ready += (uint32_t)change;
    else if (state == ELAPSE__QUEUE_BURIED)
        elapse__queue_block_around(entry)->buried += (uint32_t)change;
    if (state == ELAPSE__QUEUE_READY && entry->priority < ELAPSE__QUEUE_URGENT_BELOW) {
        tube->urgent += (uint32_t)change;
        queue->totals.urgent += (uint64_t)change;
    }
    if (tube->record != NULL)
        elapse__queue_count_held(queue, tube);
}

static void enter_state(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                        enum elapse__queue_state state)
{
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_FREE);
    elapse__queue_set_state(entry, state);
    count_state(queue, entry, state, 1);
}

void elapse__queue_count_in(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    if (queue->counters == NULL)
        return;
    bool by_wall = elapse__queue_by_wall(entry);
    struct elapse__queue_counters *counters = &queue->counters[by_wall];
    uint64_t tick = entry->timer.deadline + ELAPSE__FORECAST_SHIFT;
    ELAPSE__ASSERT((entry->tube_state & ELAPSE__QUEUE_COUNTED) == 0);
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_DELAYED)
        entry->tube_state |= elapse__queue_count_delayed(
            counters, tick, elapse__queue_present(queue, by_wall) + ELAPSE__FORECAST_SHIFT);
    else
        entry->tube_state |= elapse__queue_count_ready(counters, tick);
}

/* Takes a job out of the counters that it is in. */
static void count_out(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    uint32_t bits = entry->tube_state & ELAPSE__QUEUE_COUNTED;
    if (bits == 0)
        return;
    ELAPSE__ASSERT(queue->counters != NULL);
    struct elapse__queue_counters *counters = &queue->counters[elapse__queue_by_wall(entry)];
    uint64_t tick = entry->timer.deadline + ELAPSE__FORECAST_SHIFT;
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_DELAYED)
        elapse__queue_uncount_delayed(counters, tick, bits);
    else
        elapse__queue_uncount_ready(counters, tick);
    entry->tube_state &= ~ELAPSE__QUEUE_COUNTED;
}

/* Ends the lease of an entry: its timer, its connection, its name. */
static void end_lease(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                      struct elapse__queue_side *side)
{
    ELAPSE__ASSERT_THAT(side->lease, !=, 0);
    ELAPSE__ASSERT(!elapse_timer_pending(&entry->timer) || side->begun);
    (void)elapse_wheel_stop(&queue->clocks.boot, &entry->timer);
    if (side->connection != NULL)
        (void)elapse__ring_remove(&side->lease_node);
    else
        elapse__queue_name_drop(queue, side->holder);
    side->lease_node = (struct elapse__ring_node){NULL, NULL};
    side->connection = NULL;
    side->lease = 0;
    side->life = 0;
    side->begun = 0;
    side->replayed = 0;
}

/* A job that ran, or waited for its retry, has left its state. If the tube has a limit, it may have
 * another job to hand out. */
static void free_place(struct elapse__queue *queue, const struct elapse__queue_entry *entry)
{
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    if (!elapse__queue_is_limited(tube))
        return;
    elapse__queue_turns_stand(queue, tube, entry);
    queue->freed++;
    elapse__queue_watch_tell(queue, tube);
}

void elapse__queue_leave_state(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    enum elapse__queue_state state = elapse__queue_state_of(entry);
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    bool blocked = elapse__queue_is_leased(state) ||
                   (elapse__queue_is_retry(queue, entry) &&
                    elapse__queue_is_ordered(elapse__queue_tube_of(queue, entry)));
    count_state(queue, entry, state, -1);
    if (state == ELAPSE__QUEUE_SHADOW)
        entry->tube_state &= ~ELAPSE__QUEUE_HAS_PLACE;
    count_out(queue, entry);
    switch (state) {
    case ELAPSE__QUEUE_DELAYED:
        elapse__queue_clocks_stop(&queue->clocks, entry, elapse__queue_by_wall(entry));
        break;
    case ELAPSE__QUEUE_READY:
        elapse__queue_wait_end(elapse__queue_tube_of(queue, entry), entry);
        elapse__queue_ready_remove(queue, elapse__queue_tube_of(queue, entry), entry);
        if (side != NULL)
            (void)elapse_wheel_stop(&queue->clocks.expiry, &side->expiry);
        break;
    case ELAPSE__QUEUE_BURIED:
        ELAPSE__ASSERT(side != NULL);
        (void)elapse__ring_remove(&entry->timer.keep.ring_node);
        elapse__queue_tube_of(queue, entry)->buried_recurring -= side->recurrence != NULL;
        side->reason = ELAPSE__QUEUE_REASON_NONE;
        side->buried = 0;
        break;
    default:
        ELAPSE__ASSERT(side != NULL);
        end_lease(queue, entry, side);
    }
    uint64_t deadline = entry->timer.deadline;
    elapse_timer_init(&entry->timer);
    entry->timer.deadline = deadline;
    elapse__queue_set_state(entry, ELAPSE__QUEUE_FREE);
    if (blocked)
        free_place(queue, entry);
}

/* Returns whether a job has no due time, because it waits for arrivals alone. */
static bool has_no_due(const struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                       struct elapse__queue_tick due)
{
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (due.tick != ELAPSE__QUEUE_NO_DUE)
        return false;
    ELAPSE__ASSERT(side != NULL && side->awaits == ELAPSE__QUEUE_AWAITS_WAITING);
    ELAPSE__ASSERT(!due.by_wall);
    (void)side;
    return true;
}

/* A job that waited for arrivals is released: from now on it has missed those that have not come.
 * Returns its due time, which is now if it had none. */
static struct elapse__queue_tick release(const struct elapse__queue *queue,
                                         struct elapse__queue_entry *entry,
                                         struct elapse__queue_tick due)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (has_no_due(queue, entry, due))
        due.tick = elapse__queue_present(queue, false);
    if (side != NULL && side->awaits == ELAPSE__QUEUE_AWAITS_WAITING)
        side->awaits = ELAPSE__QUEUE_AWAITS_MISSED;
    return due;
}

void elapse__queue_enter_delayed(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                 struct elapse__queue_tick due)
{
    enter_state(queue, entry, ELAPSE__QUEUE_DELAYED);
    elapse__queue_set_by_wall(entry, due.by_wall);
    if (elapse__queue_is_retry(queue, entry) &&
        elapse__queue_is_ordered(elapse__queue_tube_of(queue, entry)))
        elapse__queue_turns_stand(queue, elapse__queue_tube_of(queue, entry), entry);
    if (has_no_due(queue, entry, due)) {
        entry->timer.deadline = due.tick;
        return;
    }
    elapse__queue_clocks_start(&queue->clocks, entry, due.by_wall, due.tick,
                               elapse__queue_present(queue, true));
    elapse__queue_count_in(queue, entry);
}

void elapse__queue_enter_replayed(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  struct elapse__queue_tick due)
{
    ELAPSE__ASSERT(!queue->open);
    enter_state(queue, entry, ELAPSE__QUEUE_DELAYED);
    elapse__queue_set_by_wall(entry, due.by_wall);
    entry->timer.deadline = due.tick;
}

/* Starts the timer that drops the job unless it is handed out first. */
static void start_expiry(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                         struct elapse__queue_tick due)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    uint64_t expire_ms = elapse__queue_profile_of(queue, entry)->expire_ms;
    ELAPSE__ASSERT(expire_ms == 0 || side != NULL);
    if (expire_ms == 0 || side->handed_out)
        return;
    ELAPSE__ASSERT(!elapse_timer_pending(&side->expiry)); /* invariant 6 */
    uint64_t present = elapse__queue_present(queue, due.by_wall);
    uint64_t end = due.tick + elapse__queue_whole(queue, expire_ms);
    uint64_t left_ms = end > present ? end - present : 0;
    elapse_wheel_start(&queue->clocks.expiry, &side->expiry,
                       elapse__queue_present(queue, false) + left_ms);
}

/* Requires room for a ready job. */
static void enter_ready(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                        struct elapse__queue_tick due)
{
    ELAPSE__ASSERT(queue->open);
    ELAPSE__ASSERT_THAT(due.tick, <=, elapse__queue_present(queue, due.by_wall));
    due = release(queue, entry, due);
    enter_state(queue, entry, ELAPSE__QUEUE_READY);
    elapse__queue_set_by_wall(entry, due.by_wall);
    entry->timer.deadline = due.tick;
    elapse__queue_count_in(queue, entry);
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    elapse__queue_ready_add(queue, tube, entry);
    elapse__queue_wait_begin(tube, entry);
    queue->readied++;
    elapse__queue_watch_tell(queue, tube);
    start_expiry(queue, entry, due);
}

void elapse__queue_enter_waiting(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                 struct elapse__queue_tick due)
{
    uint64_t present = elapse__queue_present(queue, due.by_wall);
    if (due.tick > present) {
        elapse__queue_enter_delayed(queue, entry, due);
    } else if (elapse__queue_waiting_room(queue, entry, due)) {
        enter_ready(queue, entry, due);
    } else {
        due.tick = present + READY_AGAIN_MS;
        elapse__queue_enter_delayed(queue, entry, due);
        elapse__queue_order_waits(queue, elapse__queue_tube_of(queue, entry), due, READY_AGAIN_MS);
    }
}

void elapse__queue_enter_buried(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                struct elapse__queue_tick due, enum elapse__queue_reason reason)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    ELAPSE__ASSERT(side != NULL);
    ELAPSE__ASSERT_THAT((int)reason, <=, (int)ELAPSE__QUEUE_REASON_MASK);
    ELAPSE__ASSERT(!elapse_timer_pending(&entry->timer)); /* invariant 4 */
    due = release(queue, entry, due);
    enter_state(queue, entry, ELAPSE__QUEUE_BURIED);
    elapse__queue_set_by_wall(entry, due.by_wall);
    entry->timer.deadline = due.tick;
    side->reason = (uint32_t)reason & ELAPSE__QUEUE_REASON_MASK;
    side->buried = queue->open ? elapse__queue_present(queue, false) : ELAPSE__QUEUE_BURIED_UNKNOWN;
    elapse__ring_append(&tube->buried, &entry->timer.keep.ring_node);
    tube->buried_recurring += side->recurrence != NULL;
    if (queue->open)
        elapse__queue_expect_drop(queue, tube, 0);
}

void elapse__queue_enter_reserved(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  struct elapse__queue_tick due,
                                  const struct elapse__queue_connection *connection)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    ELAPSE__ASSERT(side != NULL);
    ELAPSE__ASSERT_THAT(side->lease, ==, 0); /* invariant 5 */
    ELAPSE__ASSERT(side->connection == NULL);
    ELAPSE__ASSERT(!elapse_timer_pending(&side->expiry)); /* invariant 6 */
    due = release(queue, entry, due);
    enter_state(queue, entry, ELAPSE__QUEUE_RESERVED);
    elapse__queue_set_by_wall(entry, due.by_wall);
    side->due = due.tick;
    side->handed_out_before = side->handed_out;
    if (!side->handed_out)
        side->expiry.deadline = 0;
    side->handed_out = 1;
    side->connection = connection;
    if (connection != NULL)
        elapse__ring_append((struct elapse__ring_node *)(uintptr_t)&connection->leases,
                            &side->lease_node);
}

void elapse__queue_start_lease(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               uint64_t lasts_ms)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    ELAPSE__ASSERT(side != NULL);
    ELAPSE__ASSERT(elapse__queue_is_leased(elapse__queue_state_of(entry)));
    ELAPSE__ASSERT_THAT(side->lease, !=, 0);
    side->begun = 1;
    elapse_wheel_start(&queue->clocks.boot, &entry->timer, elapse__queue_after(queue, lasts_ms));
}

void elapse__queue_start_ttr(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    elapse__queue_start_lease(queue, entry, elapse__queue_profile_of(queue, entry)->ttr_ms);
}

void elapse__queue_become_shadow(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                 bool keeps_record)
{
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_RESERVED);
    count_state(queue, entry, ELAPSE__QUEUE_RESERVED, -1);
    elapse__queue_count_live(queue, entry, false);
    elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
    elapse__queue_set_state(entry, ELAPSE__QUEUE_SHADOW);
    if (keeps_record) {
        entry->tube_state |= ELAPSE__QUEUE_HAS_PLACE;
        elapse__queue_count_live(queue, entry, true);
    }
    count_state(queue, entry, ELAPSE__QUEUE_SHADOW, 1);
}

void elapse__queue_end_job(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    if (elapse__queue_has_record(entry))
        elapse__queue_count_live(queue, entry, false);
    elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
    elapse__queue_leave_state(queue, entry);
    elapse__queue_extras_end(queue, entry);
    struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    if (group != NULL)
        elapse__queue_group_leave(queue, group);
    elapse__queue_entry_end(&queue->jobs, entry, &queue->memory);
    elapse__queue_tube_end_if_empty(queue, tube);
}

bool elapse__queue_waiting_room(struct elapse__queue *queue,
                                const struct elapse__queue_entry *entry,
                                struct elapse__queue_tick due)
{
    return due.tick > elapse__queue_present(queue, due.by_wall) ||
           elapse__queue_ready_reserve(queue, entry);
}

struct elapse__queue_tick elapse__queue_due_of(const struct elapse__queue *queue,
                                               const struct elapse__queue_entry *entry)
{
    bool is_leased = elapse__queue_is_leased(elapse__queue_state_of(entry));
    return (struct elapse__queue_tick){
        .by_wall = elapse__queue_by_wall(entry),
        .tick = is_leased ? elapse__queue_side_of(queue, entry)->due : entry->timer.deadline,
    };
}

void elapse__queue_count_live(struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                              bool live)
{
    int64_t bytes = elapse__queue_live_bytes(entry);
    uint64_t body_bytes = elapse__queue_body_size(entry);
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);

    ELAPSE__ASSERT_THAT(elapse__queue_position(entry), !=, 0);
    ELAPSE__ASSERT(elapse__queue_has_record(entry)); /* invariant 14 */
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW)
        body_bytes = 0; /* the statistics leave shadows out */
    ELAPSE__ASSERT(live || tube->body_bytes >= body_bytes);
    tube->body_bytes += live ? body_bytes : -body_bytes;
    uint64_t excess = elapse__queue_live_excess(entry);
    ELAPSE__ASSERT(live || queue->live_excess >= excess);
    queue->live_excess += live ? excess : -excess;
    queue->sink->live(queue->sink, elapse__queue_position(entry), live ? bytes : -bytes);
}
