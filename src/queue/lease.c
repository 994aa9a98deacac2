#include <errno.h>

#include "commands.h"

/* Returns the entry whose lease the holder has. The entry is RESERVED or SHADOW. Returns NULL if
 * the lease has ended. */
static struct elapse__queue_entry *held_entry(struct elapse__queue *queue,
                                              struct elapse__queue_now now,
                                              const struct elapse__queue_holder *holder)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    struct elapse__queue_entry *entry = elapse__queue_named(queue, holder->id);
    if (entry == NULL)
        return NULL;
    if (!elapse__queue_is_leased(elapse__queue_state_of(entry)))
        return NULL;
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    /* The next turn will end this lease. */
    if (side->begun && entry->timer.deadline <= elapse__queue_present(queue, false))
        return NULL;
    if (holder->connection != NULL)
        return side->connection == holder->connection ? entry : NULL;
    return side->life == holder->lease.life && side->lease == holder->lease.number ? entry : NULL;
}

bool elapse__queue_is_leased_by(struct elapse__queue *queue, struct elapse__queue_now now,
                                const struct elapse__queue_holder *holder)
{
    const struct elapse__queue_entry *entry = held_entry(queue, now, holder);
    return entry != NULL && elapse__queue_state_of(entry) == ELAPSE__QUEUE_RESERVED;
}

/* Cuts a text that is too long, at the end of a character of UTF-8. */
static struct elapse__queue_text cut_error(struct elapse__queue_text text)
{
    const unsigned char *bytes = text.bytes;
    if (text.size <= ELAPSE__QUEUE_ERROR_BYTES_MAX)
        return text;
    text.size = ELAPSE__QUEUE_ERROR_BYTES_MAX;
    for (unsigned most = 3; most > 0 && (bytes[text.size] & 0xC0) == 0x80; most--)
        text.size--;
    return text;
}

/* Begins the group of a command of a worker. If there is no room for the error that the worker
 * tells, drops the error. */
static bool begin_group(struct elapse__queue *queue, struct elapse__queue_holder *holder)
{
    uint64_t bytes = elapse__record_bytes_max(ELAPSE__QUEUE_SMALL_MAX, 0) + holder->error.size;
    int error = ENOSPC;
    bool has_room = holder->error.size > 0 && !queue->options.old_records &&
                    !(queue->transaction != NULL && queue->transaction->drops_errors) &&
                    elapse__queue_error_room(queue);
    if (has_room && queue->transaction != NULL)
        error = 0; /* the group of the transaction has begun, with room for the text */
    else if (has_room)
        error = queue->sink->begin(queue->sink, bytes, ELAPSE__RECORD_FOR_GROWTH);
    if (error == 0 || error == EAGAIN)
        return error == 0;
    holder->error.size = 0;
    return elapse__queue_begin_relief(queue);
}

/* Begins a command of a worker. Finds the job, and begins a group if the job is RESERVED. If the
 * job is a shadow and `ends` is true, ends the shadow. If there is nothing more to do, returns NULL
 * and stores the answer. */
static struct elapse__queue_entry *begin_held(struct elapse__queue *queue,
                                              struct elapse__queue_now now,
                                              struct elapse__queue_holder *holder, bool ends,
                                              struct elapse__queue_answer *answer)
{
    struct elapse__queue_entry *entry = held_entry(queue, now, holder);
    holder->error = cut_error(holder->error);
    *answer = elapse__queue_say(ELAPSE__QUEUE_GONE, holder->id);
    if (entry == NULL)
        return NULL;
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW) {
        answer->result = ELAPSE__QUEUE_CANCELLED;
        if (ends)
            elapse__queue_end_shadow(queue, entry);
        return NULL;
    }
    answer->result = ELAPSE__QUEUE_REFUSED;
    if (!begin_group(queue, holder))
        return NULL;
    /* The worker sends a command about the job, so the hand-out has reached the worker. */
    elapse__queue_side_of(queue, entry)->replayed = 0;
    answer->result = ELAPSE__QUEUE_OK;
    return entry;
}

enum elapse__queue_result elapse__queue_lease_begin(struct elapse__queue *queue,
                                                    struct elapse__queue_now now,
                                                    struct elapse__queue_holder holder)
{
    struct elapse__queue_entry *entry = held_entry(queue, now, &holder);
    if (entry == NULL)
        return ELAPSE__QUEUE_GONE;
    if (!elapse__queue_side_of(queue, entry)->begun)
        elapse__queue_start_ttr(queue, entry);
    return ELAPSE__QUEUE_OK;
}

static void undo_lease(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    struct elapse__queue_tick due = elapse__queue_due_of(queue, entry);
    ELAPSE__ASSERT_THAT(side->reserves, >, 0);
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_RESERVED);
    side->handed_out = side->handed_out_before;
    side->reserves--;
    if (side->recurrence != NULL)
        side->recurrence->missed = side->recurrence->reported;
    elapse__queue_wait_again(queue, entry, due, true);
}

struct elapse__queue_answer elapse__queue_lease_undo(struct elapse__queue *queue,
                                                     struct elapse__queue_now now,
                                                     struct elapse__queue_holder holder)
{
    const struct elapse__queue_entry *entry = held_entry(queue, now, &holder);
    if (entry != NULL && elapse__queue_side_of(queue, entry)->begun)
        return elapse__queue_say(ELAPSE__QUEUE_GONE, holder.id);
    return elapse__queue_lease_withdraw(queue, now, holder);
}

struct elapse__queue_answer elapse__queue_lease_withdraw(struct elapse__queue *queue,
                                                         struct elapse__queue_now now,
                                                         struct elapse__queue_holder holder)
{
    struct elapse__queue_answer answer;
    struct elapse__queue_entry *entry = begin_held(queue, now, &holder, true, &answer);
    /* A lease that does not begin would never end. */
    if (entry == NULL && answer.result == ELAPSE__QUEUE_REFUSED)
        (void)elapse__queue_lease_begin(queue, now, holder);
    if (entry == NULL)
        return answer;
    undo_lease(queue, entry);
    answer.position = elapse__queue_end(queue);
    return answer;
}

struct elapse__queue_answer elapse__queue_ack(struct elapse__queue *queue,
                                              struct elapse__queue_now now,
                                              struct elapse__queue_holder holder)
{
    struct elapse__queue_answer answer;
    struct elapse__queue_entry *entry = begin_held(queue, now, &holder, true, &answer);
    if (answer.result == ELAPSE__QUEUE_CANCELLED)
        answer.result = ELAPSE__QUEUE_OK;
    if (entry == NULL)
        return answer;
    queue->totals.deletes++;
    elapse__queue_tube_of(queue, entry)->totals.deletes++;
    elapse__queue_tell(queue, entry, ELAPSE__OUTCOME_DONE);
    elapse__queue_end_occurrence(queue, entry, true);
    answer.position = elapse__queue_end(queue);
    return answer;
}

/* Ends the group of a hand-out that failed. If the worker tells an error, the record of the failure
 * is not written yet, and is written here. By now the job may have ended, or may wait for its next
 * occurrence. */
static uint64_t end_failure(struct elapse__queue *queue, const struct elapse__queue_holder *holder)
{
    struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, holder->id);
    if (holder->error.size > 0 && entry == NULL)
        elapse__queue_write_delete(queue, holder->id);
    else if (holder->error.size > 0 && !elapse__queue_side_of(queue, entry)->handed_out)
        elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);
    else if (holder->error.size > 0)
        elapse__queue_write_error(queue, entry, holder->error, queue->now.wall_ms);
    return elapse__queue_end(queue);
}

struct elapse__queue_answer elapse__queue_nack(struct elapse__queue *queue,
                                               struct elapse__queue_now now,
                                               struct elapse__queue_holder holder)
{
    return elapse__queue_nack_after(queue, now, holder, 0);
}

struct elapse__queue_answer elapse__queue_nack_after(struct elapse__queue *queue,
                                                     struct elapse__queue_now now,
                                                     struct elapse__queue_holder holder,
                                                     uint64_t least_ms)
{
    struct elapse__queue_answer answer;
    if (least_ms > (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX)
        return elapse__queue_fault("a delay is at most 292 years");
    struct elapse__queue_entry *entry = begin_held(queue, now, &holder, true, &answer);
    if (entry == NULL)
        return answer;
    elapse__queue_fail_attempt(queue, entry, least_ms, holder.error.size == 0);
    answer.position = end_failure(queue, &holder);
    return answer;
}

/* Ends the lease, and lets the job wait for the delay that the worker gives. If the worker gives a
 * priority, this is the release of beanstalkd, and counts as a release. */
static struct elapse__queue_answer give_back(struct elapse__queue *queue,
                                             struct elapse__queue_now now,
                                             struct elapse__queue_holder holder,
                                             const uint32_t *priority, uint64_t delay_ms)
{
    struct elapse__queue_answer answer;
    if (delay_ms > (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX)
        return elapse__queue_fault("a delay is at most 292 years");
    struct elapse__queue_entry *entry = begin_held(queue, now, &holder, true, &answer);
    if (entry == NULL)
        return answer;
    if (priority != NULL) {
        struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
        entry->priority = *priority;
        side->releases++;
        side->expiry.deadline = delay_ms;
    }
    elapse__queue_wait_again(
        queue, entry, (struct elapse__queue_tick){false, elapse__queue_after(queue, delay_ms)},
        holder.error.size == 0);
    answer.position = end_failure(queue, &holder);
    return answer;
}

struct elapse__queue_answer elapse__queue_nack_in(struct elapse__queue *queue,
                                                  struct elapse__queue_now now,
                                                  struct elapse__queue_holder holder,
                                                  uint64_t delay_ms)
{
    return give_back(queue, now, holder, NULL, delay_ms);
}

struct elapse__queue_answer elapse__queue_release(struct elapse__queue *queue,
                                                  struct elapse__queue_now now,
                                                  struct elapse__queue_holder holder,
                                                  uint32_t priority, uint64_t delay_ms)
{
    return give_back(queue, now, holder, &priority, delay_ms);
}

struct elapse__queue_answer elapse__queue_extend(struct elapse__queue *queue,
                                                 struct elapse__queue_now now,
                                                 struct elapse__queue_holder holder)
{
    struct elapse__queue_answer answer;
    struct elapse__queue_entry *entry = begin_held(queue, now, &holder, false, &answer);
    if (entry == NULL)
        return answer;
    elapse__queue_start_ttr(queue, entry);
    elapse__queue_write_state(queue, entry, ELAPSE__RECORD_LEASE);
    answer.position = elapse__queue_end(queue);
    return answer;
}

struct elapse__queue_answer elapse__queue_bury(struct elapse__queue *queue,
                                               struct elapse__queue_now now,
                                               struct elapse__queue_holder holder,
                                               const uint32_t *priority)
{
    struct elapse__queue_answer answer;
    struct elapse__queue_entry *entry = begin_held(queue, now, &holder, true, &answer);
    if (entry == NULL)
        return answer;
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (priority != NULL)
        entry->priority = *priority;
    side->attempts++;
    side->buries++;
    elapse__queue_bury_job(queue, entry, ELAPSE__QUEUE_REASON_WORKER, holder.error.size == 0);
    answer.position = end_failure(queue, &holder);
    return answer;
}

struct elapse__queue_answer elapse__queue_delete(struct elapse__queue *queue,
                                                 struct elapse__queue_now now, uint64_t id,
                                                 const struct elapse__queue_connection *connection)
{
    ELAPSE__ASSERT(connection != NULL);
    ELAPSE__ASSERT(queue->transaction == NULL); /* it would not find what it has put itself */
    struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, id);
    enum elapse__queue_state state =
        entry != NULL ? elapse__queue_state_of(entry) : ELAPSE__QUEUE_FREE;
    if (elapse__queue_is_leased(state))
        return elapse__queue_ack(queue, now,
                                 (struct elapse__queue_holder){.id = id, .connection = connection});
    struct elapse__queue_tube *tube = entry != NULL ? elapse__queue_tube_of(queue, entry) : NULL;
    if (tube != NULL)
        tube->holds++;
    elapse__queue_take_now(queue, now);
    struct elapse__queue_answer answer = elapse__queue_cancel_found(queue, entry);
    if (answer.result == ELAPSE__QUEUE_REMOVED) {
        answer.result = ELAPSE__QUEUE_OK;
        queue->totals.deletes++;
        ELAPSE__ASSERT(tube != NULL); /* the job was there, so its tube was too */
        tube->totals.deletes++;
    }
    if (tube != NULL)
        elapse__queue_tube_release(queue, tube);
    return answer;
}

struct elapse__queue_answer elapse__queue_bury_damaged(struct elapse__queue *queue,
                                                       struct elapse__queue_now now, uint64_t id)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, id);
    if (entry == NULL || elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW)
        return elapse__queue_say(ELAPSE__QUEUE_GONE, id);
    const struct elapse__queue_side *side = elapse__queue_side_get(queue, entry);
    if (side == NULL)
        return elapse__queue_say(ELAPSE__QUEUE_NO_MEMORY, id);
    if (!elapse__queue_begin_relief(queue)) {
        if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_RESERVED && !side->begun)
            elapse__queue_start_ttr(queue, entry);
        return elapse__queue_say(ELAPSE__QUEUE_REFUSED, id);
    }
    elapse__queue_bury_job(queue, entry, ELAPSE__QUEUE_REASON_DAMAGED, true);
    return (struct elapse__queue_answer){
        .result = ELAPSE__QUEUE_OK, .id = id, .position = elapse__queue_end(queue)};
}

/* ---- connections ---- */

void elapse__queue_connection_init(struct elapse__queue_connection *connection)
{
    elapse__ring_init(&connection->leases);
    connection->name = 0;
}

bool elapse__queue_connection_close(struct elapse__queue *queue, struct elapse__queue_now now,
                                    struct elapse__queue_connection *connection, uint32_t most)
{
    elapse__queue_take_now(queue, now);
    for (; most > 0 && !elapse__ring_empty(&connection->leases); most--) {
        struct elapse__queue_side *side = (void *)((unsigned char *)connection->leases.next -
                                                   offsetof(struct elapse__queue_side, lease_node));
        struct elapse__queue_entry *entry = elapse__queue_entry_at(&queue->jobs, side->entry);
        ELAPSE__ASSERT(side->connection == connection);
        ELAPSE__ASSERT(elapse__queue_is_leased(elapse__queue_state_of(entry))); /* invariant 5 */
        /* A shadow ends without a record, also when its ttr has passed. */
        if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW) {
            elapse__queue_end_shadow(queue, entry);
            continue;
        }
        bool write = elapse__queue_begin_relief(queue);
        if (write && !side->begun) {
            undo_lease(queue, entry);
        } else {
            elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_LEASE_ENDED);
            elapse__queue_fail_attempt(queue, entry, 0, write);
        }
        if (write)
            (void)elapse__queue_end(queue);
    }
    return elapse__ring_empty(&connection->leases);
}

uint64_t elapse__queue_connection_soonest(const struct elapse__queue *queue,
                                          const struct elapse__queue_connection *connection,
                                          uint32_t most)
{
    uint64_t soonest = ELAPSE_NEVER;
    const struct elapse__ring_node *ring_node = connection->leases.next;
    for (; most > 0 && ring_node != &connection->leases; most--, ring_node = ring_node->next) {
        const struct elapse__queue_side *side =
            (const void *)((const unsigned char *)ring_node -
                           offsetof(struct elapse__queue_side, lease_node));
        const struct elapse__queue_entry *entry = elapse__queue_entry_at(&queue->jobs, side->entry);
        if (side->begun && entry->timer.deadline < soonest)
            soonest = entry->timer.deadline;
    }
    return soonest == ELAPSE_NEVER ? UINT64_MAX : soonest - ELAPSE__QUEUE_ORIGIN;
}
