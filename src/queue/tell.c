#include "commands.h"

void elapse__queue_on_end(struct elapse__queue *queue, elapse__queue_ended_function *ended,
                          void *context)
{
    queue->ended = ended;
    queue->ended_context = context;
}

void elapse__queue_tell(const struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                        enum elapse__queue_outcome outcome)
{
    if (queue->ended == NULL)
        return;
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    const struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    struct elapse__queue_tick due = elapse__queue_due_of(queue, entry);
    bool is_leased = elapse__queue_is_leased(elapse__queue_state_of(entry));
    uint64_t ttr_ms = elapse__queue_profile_of(queue, entry)->ttr_ms;
    struct elapse__queue_ended ended = {
        .id = elapse__queue_id(entry),
        .position = elapse__queue_position(entry),
        .body_size = elapse__queue_body_size(entry),
        .outcome = outcome,
        .attempts = side == NULL ? 0 : side->attempts,
        .recurring = side != NULL && side->recurrence != NULL,
        .was_begun = is_leased && side->begun && entry->timer.deadline >= ttr_ms,
        .due_ms = elapse__queue_tick_to_ms(queue, due.by_wall, due.tick),
        .ended_ms = queue->now.wall_ms,
        .tube = {tube->name, tube->name_size},
    };
    /* If the hand-out has failed, it was counted before. */
    ended.attempts += is_leased && outcome != ELAPSE__OUTCOME_FAILED;
    if (ended.was_begun)
        ended.begun_ms = elapse__queue_tick_to_ms(queue, false, entry->timer.deadline - ttr_ms);
    /* The end of a lease is rounded up to a whole millisecond, so its beginning may lie after the
     * end. */
    if (ended.was_begun && ended.begun_ms > ended.ended_ms)
        ended.begun_ms = ended.ended_ms;
    queue->ended(queue->ended_context, &ended);
}
