#include "commands.h"

/* Returns how many bytes the buckets take that a hand-out writes. */
static uint64_t bucket_bytes(bool writes_bucket, bool writes_group)
{
    uint64_t bytes = 0;
    if (writes_bucket)
        bytes += elapse__record_bytes_max(ELAPSE__QUEUE_SETTINGS_BYTES_MAX, 0);
    if (writes_group)
        bytes += elapse__record_bytes_max(ELAPSE__QUEUE_GROUP_NEXT_BYTES_MAX, 0);
    return bytes;
}

/* Hands out a job, in a group of its own. Returns OK, NO_MEMORY or REFUSED. */
static enum elapse__queue_result hand_out(struct elapse__queue *queue,
                                          struct elapse__queue_entry *entry,
                                          const struct elapse__queue_connection *connection,
                                          uint32_t name, bool begin,
                                          struct elapse__queue_handed *handed, uint64_t *position)
{
    struct elapse__queue_side *side = elapse__queue_side_get(queue, entry);
    if (side == NULL)
        return ELAPSE__QUEUE_NO_MEMORY;
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    bool writes_bucket = elapse__queue_writes_bucket(tube);
    bool writes_group = elapse__queue_writes_group(tube, group);
    if (!elapse__queue_group_rate_reserve(queue, tube, group))
        return ELAPSE__QUEUE_NO_MEMORY;
    if (!elapse__queue_begin(queue, 1, bucket_bytes(writes_bucket, writes_group),
                             ELAPSE__RECORD_FOR_LEASE))
        return ELAPSE__QUEUE_REFUSED;
    struct elapse__queue_tick due = elapse__queue_due_of(queue, entry);
    const struct elapse__queue_profile *profile = elapse__queue_profile_of(queue, entry);
    ELAPSE__ASSERT(!elapse__queue_is_leased(elapse__queue_state_of(entry)));
    elapse__queue_leave_state(queue, entry);
    if (tube->record != NULL)
        elapse__queue_take_token(queue, tube);
    elapse__queue_group_take_token(queue, tube, group);
    elapse__queue_enter_reserved(queue, entry, due, connection);
    elapse__queue_turn_passes(queue, tube, entry);
    side->lease = ++queue->last_lease;
    side->life = queue->life;
    side->reserves++;
    if (connection == NULL) {
        side->holder = name;
        elapse__queue_name_share(queue, name);
    }
    if (side->recurrence != NULL) {
        side->recurrence->reported = side->recurrence->missed;
        side->recurrence->missed = 0;
    }
    if (begin)
        elapse__queue_start_ttr(queue, entry);
    *handed = (struct elapse__queue_handed){
        .id = elapse__queue_id(entry),
        .lease = {.life = side->life, .number = side->lease},
        .position = elapse__queue_position(entry),
        .body_size = elapse__queue_body_size(entry),
        .priority = entry->priority,
        .due_ms = elapse__queue_tick_to_ms(queue, due.by_wall, side->due),
        .ttr_ms = profile->ttr_ms,
        .attempt = side->attempts + 1,
        .missed = side->recurrence != NULL ? side->recurrence->reported : 0,
        .retry = profile->retry,
        .await = elapse__queue_await_of(side),
        .recurring = side->recurrence != NULL,
        .is_limited = elapse__queue_is_limited(tube) || writes_bucket || writes_group,
        .tube = {tube->name, tube->name_size},
    };
    elapse__queue_write_state(queue, entry, ELAPSE__RECORD_LEASE);
    if (writes_bucket)
        elapse__queue_write_tube(queue, tube);
    if (writes_group)
        elapse__queue_write_group_next(queue, group);
    *position = elapse__queue_end(queue);
    return ELAPSE__QUEUE_OK;
}

/* Of the jobs that each tube would hand out next, returns the one with the least (priority, id);
 * NULL: no job may be handed out. */
static struct elapse__queue_entry *first_entry(const struct elapse__queue *queue,
                                               struct elapse__queue_tube *const *tubes,
                                               size_t count)
{
    struct elapse__queue_heap_item first = {.entry = 0};
    for (size_t i = 0; i < count; i++) {
        if (!elapse__queue_may_hand_out(tubes[i]))
            continue;
        struct elapse__queue_heap_item item = elapse__queue_first_ready(queue, tubes[i]);
        if (first.entry == 0 || elapse__queue_heap_before(&item, &first))
            first = item;
    }
    return first.entry == 0 ? NULL : elapse__queue_entry_at(&queue->jobs, first.entry);
}

/* Makes a job that is ready wait. The copy of its record may get longer by that, so the job needs a
 * side record. Returns false if there is no memory for one. */
static bool put_aside(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                      uint64_t delay_ms)
{
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_READY);
    if (elapse__queue_side_get(queue, entry) == NULL)
        return false;
    struct elapse__queue_tick due = {false, elapse__queue_after(queue, delay_ms)};
    elapse__queue_wait_again(queue, entry, due, false);
    return true;
}

/* Returns for how long the record of the job is not to be read; 0: it may be. */
static uint64_t unread_ms(const struct elapse__queue *queue,
                          const struct elapse__queue_reserve *reserve,
                          const struct elapse__queue_entry *entry)
{
    return reserve->unread_ms == NULL
               ? 0
               : reserve->unread_ms(reserve->context, queue->now, elapse__queue_position(entry));
}

/* Returns the job that comes out first. Drops jobs that have expired, and puts jobs aside, up to
 * `*drops` jobs. */
static struct elapse__queue_entry *first_job(struct elapse__queue *queue,
                                             const struct elapse__queue_reserve *reserve,
                                             struct elapse__queue_tube *const *tubes, size_t count,
                                             uint32_t *drops)
{
    for (;;) {
        struct elapse__queue_entry *entry = first_entry(queue, tubes, count);
        if (entry == NULL)
            return NULL;
        bool has_expired = elapse__queue_has_expired(queue, entry);
        uint64_t delay_ms = has_expired ? 0 : unread_ms(queue, reserve, entry);
        if (!has_expired && delay_ms == 0)
            return entry;
        if (*drops == 0)
            return NULL;
        --*drops;
        if (has_expired)
            elapse__queue_drop_expired(queue, entry);
        else if (!put_aside(queue, entry, delay_ms))
            return entry;
    }
}

static const char *reserve_fault(const struct elapse__queue_reserve *reserve)
{
    if (reserve->tube_count < 1 || reserve->tube_count > ELAPSE__QUEUE_RESERVE_MAX)
        return "reserve takes 1 to 1000 tubes";
    if (reserve->count < 1 || reserve->count > ELAPSE__QUEUE_RESERVE_MAX)
        return "reserve takes a count from 1 to 1000";
    for (size_t i = 0; i < reserve->tube_count; i++)
        if (!elapse__queue_text_fits(reserve->tubes[i], 1, ELAPSE__QUEUE_TUBE_BYTES_MAX))
            return "the tube's name must have 1 to 200 bytes";
    return NULL;
}

struct elapse__queue_answer elapse__queue_reserve(struct elapse__queue *queue,
                                                  struct elapse__queue_now now,
                                                  const struct elapse__queue_reserve *reserve,
                                                  struct elapse__queue_handed *handed,
                                                  uint32_t *count)
{
    struct elapse__queue_tube *tubes[ELAPSE__QUEUE_RESERVE_MAX];
    size_t found = 0;
    uint32_t drops = ELAPSE__QUEUE_TURN_MAX;
    struct elapse__queue_answer answer = {.result = ELAPSE__QUEUE_OK};
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    *count = 0;
    const char *fault = reserve_fault(reserve);
    if (fault != NULL)
        return elapse__queue_fault(fault);
    for (size_t i = 0; i < reserve->tube_count; i++) {
        struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, reserve->tubes[i]);
        if (tube == NULL)
            continue;
        tube->holds++; /* the tube may lose its last job here */
        tubes[found++] = tube;
    }
    while (*count < reserve->count) {
        struct elapse__queue_entry *entry = first_job(queue, reserve, tubes, found, &drops);
        if (entry == NULL)
            break;
        enum elapse__queue_result result =
            hand_out(queue, entry, reserve->connection, reserve->name, reserve->begin,
                     &handed[*count], &answer.position);
        if (result != ELAPSE__QUEUE_OK) {
            answer.result = *count > 0 ? ELAPSE__QUEUE_OK : result;
            break;
        }
        ++*count;
    }
    for (size_t i = 0; i < found; i++)
        elapse__queue_tube_release(queue, tubes[i]);
    return answer;
}

uint64_t elapse__queue_readied(const struct elapse__queue *queue)
{
    return queue->readied + queue->freed;
}

uint64_t elapse__queue_came_due(const struct elapse__queue *queue)
{
    return queue->readied;
}

bool elapse__queue_has_ready(const struct elapse__queue *queue,
                             const struct elapse__queue_reserve *reserve)
{
    if (queue->totals.ready == queue->held)
        return false;
    for (size_t i = 0; i < reserve->tube_count; i++) {
        const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, reserve->tubes[i]);
        if (tube != NULL && elapse__queue_may_hand_out(tube))
            return true;
    }
    return false;
}

uint64_t elapse__queue_ready(const struct elapse__queue *queue)
{
    ELAPSE__ASSERT_THAT(queue->totals.ready, >=, queue->held);
    return queue->totals.ready - queue->held;
}

struct elapse__queue_answer elapse__queue_reserve_id(struct elapse__queue *queue,
                                                     struct elapse__queue_now now, uint64_t id,
                                                     struct elapse__queue_connection *connection,
                                                     bool begin,
                                                     struct elapse__queue_handed *handed)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, id);
    if (entry == NULL)
        return elapse__queue_say(ELAPSE__QUEUE_GONE, id);
    enum elapse__queue_state state = elapse__queue_state_of(entry);
    if (elapse__queue_is_leased(state))
        return elapse__queue_say(ELAPSE__QUEUE_RUNNING, id);
    if (state == ELAPSE__QUEUE_READY && elapse__queue_has_expired(queue, entry)) {
        elapse__queue_drop_expired(queue, entry);
        return elapse__queue_say(ELAPSE__QUEUE_GONE, id);
    }
    const struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    if (!elapse__queue_lets_run(tube) || !elapse__queue_turns_let_run(queue, tube, entry))
        return elapse__queue_say(ELAPSE__QUEUE_GONE, id);
    struct elapse__queue_answer answer = elapse__queue_say(ELAPSE__QUEUE_OK, id);
    answer.result = hand_out(queue, entry, connection, 0, begin, handed, &answer.position);
    return answer;
}
