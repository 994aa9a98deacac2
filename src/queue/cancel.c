#include "commands.h"

enum elapse__queue_result elapse__queue_cancel_entry(struct elapse__queue *queue,
                                                     struct elapse__queue_entry *entry)
{
    enum elapse__queue_state state = elapse__queue_state_of(entry);
    if (state == ELAPSE__QUEUE_SHADOW)
        return ELAPSE__QUEUE_RUNNING;
    ELAPSE__ASSERT_THAT(state, !=, ELAPSE__QUEUE_FREE);
    if (state == ELAPSE__QUEUE_RESERVED &&
        elapse__queue_is_limited(elapse__queue_tube_of(queue, entry))) {
        elapse__queue_become_shadow(queue, entry, true);
        elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);
        return ELAPSE__QUEUE_RUNNING;
    }
    elapse__queue_write_delete(queue, elapse__queue_id(entry));
    if (state == ELAPSE__QUEUE_RESERVED) {
        elapse__queue_become_shadow(queue, entry, false);
        return ELAPSE__QUEUE_RUNNING;
    }
    elapse__queue_end_job(queue, entry);
    return ELAPSE__QUEUE_REMOVED;
}

struct elapse__queue_answer elapse__queue_cancel_found(struct elapse__queue *queue,
                                                       struct elapse__queue_entry *entry)
{
    ELAPSE__ASSERT(queue->open);
    if (entry == NULL)
        return elapse__queue_say(ELAPSE__QUEUE_GONE, 0);
    uint64_t id = elapse__queue_id(entry);
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW)
        return elapse__queue_say(ELAPSE__QUEUE_RUNNING, id);
    if (!elapse__queue_begin_relief(queue))
        return elapse__queue_say(ELAPSE__QUEUE_REFUSED, id);
    queue->totals.cancelled++;
    elapse__queue_tube_of(queue, entry)->totals.cancelled++;
    elapse__queue_tell(queue, entry, ELAPSE__OUTCOME_CANCELLED);
    struct elapse__queue_answer answer =
        elapse__queue_say(elapse__queue_cancel_entry(queue, entry), id);
    answer.position = elapse__queue_end(queue);
    return answer;
}

/* Returns the job with a key. If no job has the key, returns a shadow that had the key, or NULL if
 * there is none. */
static struct elapse__queue_entry *job_of_key(const struct elapse__queue *queue,
                                              struct elapse__queue_text tube,
                                              struct elapse__queue_text key)
{
    if (!elapse__queue_text_fits(tube, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX) ||
        !elapse__queue_text_fits(key, 1, ELAPSE__QUEUE_KEY_BYTES_MAX))
        return NULL;
    return elapse__queue_key_find(queue, elapse__queue_key_hash(queue, tube, key), true);
}

struct elapse__queue_answer elapse__queue_cancel_key(struct elapse__queue *queue,
                                                     struct elapse__queue_now now,
                                                     struct elapse__queue_text tube,
                                                     struct elapse__queue_text key)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    return elapse__queue_cancel_found(queue, job_of_key(queue, tube, key));
}

struct elapse__queue_answer elapse__queue_cancel_id(struct elapse__queue *queue,
                                                    struct elapse__queue_now now, uint64_t id)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    return elapse__queue_cancel_found(queue, elapse__queue_named(queue, id));
}

/* ---- reschedule ---- */

const char *elapse__queue_time_fault(struct elapse__queue_time time)
{
    if (time.when == ELAPSE__QUEUE_IN)
        return time.delay_ms <= (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX
                   ? NULL
                   : "a delay is at most 292 years";
    if (time.when != ELAPSE__QUEUE_AT)
        return "a job is rescheduled to a delay or a time";
    return time.at_ms >= -ELAPSE__QUEUE_WALL_MS_MAX && time.at_ms <= ELAPSE__QUEUE_WALL_MS_MAX
               ? NULL
               : "a time is at most that of the year 9999";
}

static struct elapse__queue_answer reschedule_job(struct elapse__queue *queue,
                                                  struct elapse__queue_entry *entry,
                                                  struct elapse__queue_time time)
{
    const char *fault = elapse__queue_time_fault(time);
    if (fault != NULL)
        return elapse__queue_fault(fault);
    if (entry == NULL)
        return elapse__queue_say(ELAPSE__QUEUE_GONE, 0);
    uint64_t id = elapse__queue_id(entry);
    if (elapse__queue_is_leased(elapse__queue_state_of(entry)))
        return elapse__queue_say(ELAPSE__QUEUE_RUNNING, id);
    struct elapse__queue_tick due = {true, 0};
    if (time.when == ELAPSE__QUEUE_AT)
        due.tick = elapse__queue_wall_tick(time.at_ms);
    else
        due = (struct elapse__queue_tick){false, elapse__queue_after(queue, time.delay_ms)};
    if (!elapse__queue_waiting_room(queue, entry, due))
        return elapse__queue_say(ELAPSE__QUEUE_NO_MEMORY, id);
    if (!elapse__queue_begin_relief(queue))
        return elapse__queue_say(ELAPSE__QUEUE_REFUSED, id);
    elapse__queue_wait_again(queue, entry, due, true);
    return (struct elapse__queue_answer){
        .result = ELAPSE__QUEUE_RESCHEDULED, .id = id, .position = elapse__queue_end(queue)};
}

struct elapse__queue_answer elapse__queue_reschedule_key(struct elapse__queue *queue,
                                                         struct elapse__queue_now now,
                                                         struct elapse__queue_text tube,
                                                         struct elapse__queue_text key,
                                                         struct elapse__queue_time time)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    return reschedule_job(queue, job_of_key(queue, tube, key), time);
}

struct elapse__queue_answer elapse__queue_reschedule_id(struct elapse__queue *queue,
                                                        struct elapse__queue_now now, uint64_t id,
                                                        struct elapse__queue_time time)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    return reschedule_job(queue, elapse__queue_named(queue, id), time);
}
