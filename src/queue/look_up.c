#include "commands.h"

static const char *text_of_reason(uint32_t reason)
{
    static const char *const texts[] = {
        [ELAPSE__QUEUE_REASON_NONE] = "",
        [ELAPSE__QUEUE_REASON_WORKER] = "a worker buried it",
        [ELAPSE__QUEUE_REASON_RETRIES] = "no retry was left",
        [ELAPSE__QUEUE_REASON_ZONE] = "its time zone or expression cannot be read",
        [ELAPSE__QUEUE_REASON_DAMAGED] = "its body is damaged",
    };
    ELAPSE__ASSERT_THAT(reason, <, sizeof texts / sizeof *texts);
    return texts[reason];
}

static struct elapse__queue_told told_of(const struct elapse__queue *queue,
                                         const struct elapse__queue_entry *entry)
{
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    struct elapse__queue_told told = {.position = 0};
    if (side == NULL)
        return told;
    told.lease_ended = side->failure == ELAPSE__QUEUE_FAILURE_LEASE_ENDED;
    if (side->failure != ELAPSE__QUEUE_FAILURE_TOLD)
        return told;
    const struct elapse__queue_error *error =
        elapse__queue_error_find(queue, elapse__queue_id(entry));
    ELAPSE__ASSERT(error != NULL); /* invariant 15 */
    told.position = error->position;
    told.size = error->size;
    return told;
}

struct elapse__queue_told elapse__queue_told(const struct elapse__queue *queue, uint64_t id)
{
    const struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, id);
    return entry == NULL ? (struct elapse__queue_told){.position = 0} : told_of(queue, entry);
}

void elapse__queue_fill_view(const struct elapse__queue *queue,
                             const struct elapse__queue_entry *entry,
                             struct elapse__queue_view *view)
{
    struct elapse__queue_fields fields;
    elapse__queue_describe(queue, entry, &fields);
    enum elapse__queue_state state = elapse__queue_state_of(entry);
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    *view = (struct elapse__queue_view){
        .id = fields.id,
        .state = state,
        .position = elapse__queue_position(entry),
        .body_size = elapse__queue_body_size(entry),
        .priority = fields.priority,
        .due_ms = fields.due_ms,
        .by_wall_clock = fields.by_wall,
        .recurring = fields.recurring,
        .ttr_ms = fields.ttr_ms,
        .expire_ms = fields.expire_ms,
        .retry = fields.retry,
        .backoff_min_ms = fields.backoff_min_ms,
        .backoff_max_ms = fields.backoff_max_ms,
        .lease = fields.lease,
        .attempts = fields.attempts,
        .missed = fields.missed,
        .await = fields.await,
        .waits = fields.awaits == ELAPSE__QUEUE_AWAITS_WAITING,
        .has_due = !fields.no_due,
        .failures = fields.failures,
        .reserves = fields.reserves,
        .timeouts = fields.timeouts,
        .releases = fields.releases,
        .buries = fields.buries,
        .kicks = fields.kicks,
        .reason = text_of_reason(fields.reason),
        .holder = elapse__queue_name_of(queue, fields.id, fields.lease),
        .tube = fields.tube,
        .told = told_of(queue, entry),
    };
    const struct elapse__queue_group *group =
        elapse__queue_group_of(queue, elapse__queue_tube_of(queue, entry), entry);
    if (group != NULL)
        view->group = (struct elapse__queue_text){group->name, group->name_size};
    if (side != NULL && side->handed_out)
        view->release_ms = side->expiry.deadline;
    bool leased = elapse__queue_is_leased(state);
    if (fields.no_due)
        return;
    if (state == ELAPSE__QUEUE_DELAYED && fields.by_wall) {
        uint64_t present = elapse__queue_present(queue, true);
        view->left_ms = entry->timer.deadline > present ? entry->timer.deadline - present : 0;
    } else if (state == ELAPSE__QUEUE_DELAYED || (leased && side->begun)) {
        view->left_ms = elapse__queue_left(queue, queue->now, entry->timer.deadline);
    } else if (leased) {
        view->left_ms = fields.ttr_ms;
    }
}

static enum elapse__queue_result view_entry(const struct elapse__queue *queue,
                                            const struct elapse__queue_entry *entry,
                                            struct elapse__queue_view *view)
{
    if (entry == NULL)
        return ELAPSE__QUEUE_GONE;
    elapse__queue_fill_view(queue, entry, view);
    return view->state == ELAPSE__QUEUE_SHADOW ? ELAPSE__QUEUE_RUNNING : ELAPSE__QUEUE_OK;
}

enum elapse__queue_result elapse__queue_look_up_id(struct elapse__queue *queue,
                                                   struct elapse__queue_now now, uint64_t id,
                                                   struct elapse__queue_view *view)
{
    elapse__queue_take_now(queue, now);
    return view_entry(queue, elapse__queue_entry_find(&queue->jobs, id), view);
}

bool elapse__queue_locate(const struct elapse__queue *queue, uint64_t id, uint64_t *position,
                          uint32_t *body_size)
{
    const struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, id);
    if (entry == NULL || elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW)
        return false;
    *position = elapse__queue_position(entry);
    *body_size = elapse__queue_body_size(entry);
    return true;
}

enum elapse__queue_result elapse__queue_look_up_key(struct elapse__queue *queue,
                                                    struct elapse__queue_now now,
                                                    struct elapse__queue_text tube,
                                                    struct elapse__queue_text key,
                                                    struct elapse__queue_view *view)
{
    elapse__queue_take_now(queue, now);
    if (!elapse__queue_text_fits(tube, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX) ||
        !elapse__queue_text_fits(key, 1, ELAPSE__QUEUE_KEY_BYTES_MAX))
        return ELAPSE__QUEUE_GONE;
    struct elapse__hash_128 hash = elapse__queue_key_hash(queue, tube, key);
    return view_entry(queue, elapse__queue_key_find(queue, hash, true), view);
}

enum elapse__queue_result elapse__queue_peek_ready(struct elapse__queue *queue,
                                                   struct elapse__queue_now now,
                                                   struct elapse__queue_text name,
                                                   struct elapse__queue_view *view)
{
    elapse__queue_take_now(queue, now);
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    /* The limits of the groups may hold all ready jobs back. */
    if (tube == NULL || !elapse__queue_has_first(tube))
        return ELAPSE__QUEUE_GONE;
    return view_entry(
        queue, elapse__queue_entry_at(&queue->jobs, elapse__queue_first_ready(queue, tube).entry),
        view);
}

enum elapse__queue_result elapse__queue_peek_buried(struct elapse__queue *queue,
                                                    struct elapse__queue_now now,
                                                    struct elapse__queue_text name,
                                                    struct elapse__queue_view *view)
{
    elapse__queue_take_now(queue, now);
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    if (tube == NULL || elapse__ring_empty(&tube->buried))
        return ELAPSE__QUEUE_GONE;
    return view_entry(queue, elapse__queue_entry_of(elapse__ring_timer(tube->buried.next)), view);
}
