/*
 * Decides what becomes of a job when a hand-out ends: the next occurrence of a recurring job, the
 * retry after a failure, and the end of a job that nobody took in time.
 */
#include "commands.h"

void elapse__queue_end_occurrence(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  bool write)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    struct elapse__queue_recurrence *recurrence = side != NULL ? side->recurrence : NULL;
    uint64_t missed = 0;
    if (recurrence != NULL && recurrence->broken) {
        elapse__queue_bury_job(queue, entry, ELAPSE__QUEUE_REASON_ZONE, write);
        return;
    }
    if (recurrence == NULL ||
        !elapse__queue_recurrence_next(recurrence, queue->now.wall_ms, &missed)) {
        if (write)
            elapse__queue_write_delete(queue, elapse__queue_id(entry));
        elapse__queue_end_job(queue, entry);
        return;
    }
    ELAPSE__ASSERT_THAT(recurrence->occurrence_ms, >, queue->now.wall_ms);
    queue->totals.missed += missed;
    elapse__queue_tube_of(queue, entry)->totals.missed += missed;
    elapse__queue_leave_state(queue, entry);
    side->attempts = 0;
    side->handed_out = 0;
    elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
    struct elapse__queue_tick due = {true, elapse__queue_wall_tick(recurrence->occurrence_ms)};
    elapse__queue_enter_delayed(queue, entry, due);
    if (write)
        elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);
}

/* Returns how long a job waits before its next attempt. All attempts so far have failed. The wait
 * is chosen at random from [max(min, w / 2), w], where w is the smaller one of `max` and min x
 * 2^attempts. */
static uint64_t back_off_ms(struct elapse__queue *queue,
                            const struct elapse__queue_profile *profile, uint32_t attempts)
{
    uint64_t least = profile->backoff_min_ms;
    uint64_t most = profile->backoff_max_ms;
    uint64_t wait_ms = least;
    for (uint32_t i = 0; i < attempts && wait_ms < most && wait_ms > 0; i++)
        wait_ms *= 2;
    if (wait_ms > most)
        wait_ms = most;
    uint64_t from = wait_ms / 2 > least ? wait_ms / 2 : least;
    ELAPSE__ASSERT_THAT(from, <=, wait_ms);
    return from + elapse__queue_random(queue) % (wait_ms - from + 1);
}

void elapse__queue_fail_attempt(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                uint64_t least_ms, bool write)
{
    const struct elapse__queue_profile *profile = elapse__queue_profile_of(queue, entry);
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_RESERVED);
    /* The hand-out of a lease of an earlier life may never have reached its worker. */
    if (!side->replayed)
        side->attempts++;
    if (profile->retry > 0 && side->attempts >= profile->retry) {
        if (side->recurrence == NULL) {
            queue->totals.dead++;
            elapse__queue_tube_of(queue, entry)->totals.dead++;
            elapse__queue_bury_job(queue, entry, ELAPSE__QUEUE_REASON_RETRIES, write);
            return;
        }
        side->recurrence->failures++;
        queue->totals.failures++;
        elapse__queue_tube_of(queue, entry)->totals.failures++;
        elapse__queue_tell(queue, entry, ELAPSE__OUTCOME_FAILED);
        elapse__queue_end_occurrence(queue, entry, write);
        return;
    }
    uint64_t wait_ms = back_off_ms(queue, profile, side->attempts);
    struct elapse__queue_tick due = {
        false, elapse__queue_after(queue, wait_ms > least_ms ? wait_ms : least_ms)};
    elapse__queue_wait_again(queue, entry, due, write);
}

bool elapse__queue_has_expired(const struct elapse__queue *queue,
                               const struct elapse__queue_entry *entry)
{
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    uint64_t expire_ms = elapse__queue_profile_of(queue, entry)->expire_ms;
    if (expire_ms == 0 || side == NULL || side->handed_out)
        return false;
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_READY)
        return elapse_timer_deadline(&side->expiry) <= elapse__queue_present(queue, false);
    struct elapse__queue_tick due = elapse__queue_due_of(queue, entry);
    return due.tick != ELAPSE__QUEUE_NO_DUE && due.tick + elapse__queue_whole(queue, expire_ms) <=
                                                   elapse__queue_present(queue, due.by_wall);
}

void elapse__queue_drop_expired(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    /* If the sink refuses the group, the job is dropped without a record. After a restart the job
     * has expired again, so the record is not needed. */
    bool write = elapse__queue_begin_relief(queue);
    ELAPSE__ASSERT(!elapse__queue_is_leased(elapse__queue_state_of(entry)));
    queue->totals.expired++;
    elapse__queue_tube_of(queue, entry)->totals.expired++;
    elapse__queue_tell(queue, entry, ELAPSE__OUTCOME_EXPIRED);
    struct elapse__queue_recurrence *recurrence = elapse__queue_side_of(queue, entry)->recurrence;
    if (recurrence != NULL && recurrence->missed < UINT32_MAX)
        recurrence->missed++;
    elapse__queue_end_occurrence(queue, entry, write);
    if (write)
        (void)elapse__queue_end(queue);
}
