/*
 * Runs transactions. A command allocates what it needs before it changes anything, so it does all
 * or nothing. A transaction does the same for all of its changes:
 *
 *      look at the leases --> prepare every change --> begin the group --> make the changes --> end
 *            |                      |                        |
 *            +--> GONE              +--> an error            +--> REFUSED      nothing has changed
 *
 * Each change has what it needs, whatever the changes before it have done. A put has its entry and
 * everything that belongs to it (put.c). A tube that may get a ready job is held, and has room in
 * its heap. The table of ids has room for the id of each put.
 */
#include "transact.h"

#include <errno.h>

#include "commands.h"

struct elapse__queue_answer elapse__queue_change(struct elapse__queue *queue,
                                                 struct elapse__queue_now now,
                                                 const struct elapse__queue_change *change)
{
    const struct elapse__queue_change_named *named = &change->named;
    const struct elapse__queue_change_held *held = &change->held;
    switch (change->verb) {
    case ELAPSE__QUEUE_PUT:
        return elapse__queue_put(queue, now, &change->put);
    case ELAPSE__QUEUE_CANCEL:
        return elapse__queue_cancel_key(queue, now, named->tube, named->key);
    case ELAPSE__QUEUE_CANCEL_ID:
        return elapse__queue_cancel_id(queue, now, named->id);
    case ELAPSE__QUEUE_RESCHEDULE:
        return elapse__queue_reschedule_key(queue, now, named->tube, named->key, named->time);
    case ELAPSE__QUEUE_RESCHEDULE_ID:
        return elapse__queue_reschedule_id(queue, now, named->id, named->time);
    case ELAPSE__QUEUE_KICK_ID:
        return elapse__queue_kick_any_id(queue, now, named->id);
    case ELAPSE__QUEUE_ARRIVE:
        return elapse__queue_arrive(queue, now, &change->arrival);
    case ELAPSE__QUEUE_ACK:
        return elapse__queue_ack(queue, now, held->holder);
    case ELAPSE__QUEUE_NACK:
        return elapse__queue_nack_after(queue, now, held->holder, held->delay_ms);
    case ELAPSE__QUEUE_NACK_IN:
        return elapse__queue_nack_in(queue, now, held->holder, held->delay_ms);
    case ELAPSE__QUEUE_EXTEND:
        return elapse__queue_extend(queue, now, held->holder);
    case ELAPSE__QUEUE_BURY:
        return elapse__queue_bury(queue, now, held->holder, NULL);
    case ELAPSE__QUEUE_LEASED:
        ELAPSE__ASSERT(queue->transaction != NULL);
        break;
    }
    return elapse__queue_say(ELAPSE__QUEUE_OK, held->holder.id);
}

/* Returns how many bytes of the text of an error are written. */
static uint64_t error_bytes(const struct elapse__queue_change *change)
{
    bool fails = change->verb == ELAPSE__QUEUE_NACK || change->verb == ELAPSE__QUEUE_NACK_IN ||
                 change->verb == ELAPSE__QUEUE_BURY;
    uint64_t size = fails ? change->held.holder.error.size : 0;
    return size < ELAPSE__QUEUE_ERROR_BYTES_MAX ? size : ELAPSE__QUEUE_ERROR_BYTES_MAX;
}

uint64_t elapse__queue_change_bytes(const struct elapse__queue_change *change)
{
    if (change->verb == ELAPSE__QUEUE_PUT)
        return elapse__queue_put_bytes(&change->put);
    if (change->verb == ELAPSE__QUEUE_LEASED)
        return 0;
    uint64_t small = elapse__record_bytes_max(ELAPSE__QUEUE_SMALL_MAX, 0);
    return change->verb == ELAPSE__QUEUE_ARRIVE
               ? small + elapse__queue_arrival_token_bytes(&change->arrival)
               : small + error_bytes(change);
}

/* A transaction that is being prepared. */
struct plan {
    const struct elapse__queue_change *changes;
    uint32_t count;
    uint32_t puts;
    uint32_t tokens;
    uint32_t known; /* puts and arrivals whose tokens are known: they store nothing */
    uint64_t bytes;
    uint64_t error_bytes; /* how many of `bytes` are texts of errors */
    bool drops_errors;    /* the disk has no room for the texts of errors */
    struct room {
        struct elapse__queue_prepared put;
        struct elapse__queue_tube *tube;   /* a held tube with room in its heap; NULL: none */
        struct elapse__queue_group *group; /* a held group with room in its heap; NULL: none */
    } * rooms;                             /* one element for each change */
};

/* ---- what the transaction may do ---- */

static bool leases_hold(struct elapse__queue *queue, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct elapse__queue_change *change = &plan->changes[i];
        if (change->verb == ELAPSE__QUEUE_LEASED &&
            !elapse__queue_is_leased_by(queue, queue->now, &change->held.holder))
            return false;
    }
    return true;
}

/* Returns whether a change is a put or an arrival whose token is known before the transaction. It
 * stores nothing, so it needs no room. */
static bool is_known(const struct elapse__queue *queue, const struct elapse__queue_change *change)
{
    struct elapse__hash_128 hash;
    if (change->verb == ELAPSE__QUEUE_PUT)
        return elapse__queue_knows_token(queue, queue->now, change->put.token);
    return change->verb == ELAPSE__QUEUE_ARRIVE &&
           elapse__queue_arrival_is_known(queue, &change->arrival, &hash);
}

static void count_needs(const struct elapse__queue *queue, struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct elapse__queue_change *change = &plan->changes[i];
        if (is_known(queue, change)) {
            plan->known++;
            continue;
        }
        bool puts = change->verb == ELAPSE__QUEUE_PUT;
        plan->puts += puts;
        plan->tokens += puts && change->put.token.size > 0;
        plan->tokens += change->verb == ELAPSE__QUEUE_ARRIVE && change->arrival.token.size > 0;
        plan->bytes += elapse__queue_change_bytes(change);
        plan->error_bytes += error_bytes(change);
    }
}

/* Tests the limits. Counts as if each put that is not known made a job and a token, and nothing
 * ended. */
static enum elapse__queue_result check_limits(struct elapse__queue *queue, const struct plan *plan)
{
    ELAPSE__ASSERT_THAT(plan->puts, <=, plan->count);
    ELAPSE__ASSERT_THAT(plan->tokens, <=, plan->count);
    ELAPSE__ASSERT_THAT(plan->error_bytes, <=, plan->bytes);
    uint64_t last_id = queue->last_id + ((uint64_t)plan->puts + 1) * queue->options.partitions;
    if (plan->tokens > 0 && !elapse__queue_tokens_fit(queue, plan->tokens))
        return ELAPSE__QUEUE_TOKENS_FULL;
    if (plan->puts == 0)
        return ELAPSE__QUEUE_OK;
    if (queue->jobs.count + plan->puts > queue->options.jobs_max || last_id > ELAPSE__QUEUE_ID_MAX)
        return ELAPSE__QUEUE_LIMIT;
    return ELAPSE__QUEUE_OK;
}

/* ---- room ---- */

/* Holds a tube, and makes room for one more ready job in its heap. Returns false if there is no
 * memory. */
static bool keep_tube(struct elapse__queue *queue, struct room *room,
                      struct elapse__queue_tube *tube)
{
    if (!elapse__queue_heap_keep(&tube->ready, &queue->memory))
        return false;
    tube->holds++;
    room->tube = tube;
    return true;
}

/* Makes room for a job that may become ready. The room is in its group, or in its tube if the job
 * has no group. */
static bool keep_place(struct elapse__queue *queue, struct room *room,
                       const struct elapse__queue_entry *entry)
{
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    /* The tube is held first, because give_room needs the tube as long as the group is held. */
    if (!keep_tube(queue, room, tube))
        return false;
    if (group == NULL)
        return true;
    if (!elapse__queue_turns_keep(queue, group))
        return false;
    group->references++;
    room->group = group;
    return true;
}

/* Makes room for the job of a change by its id. The change may make the job ready. */
static bool keep_job(struct elapse__queue *queue, struct room *room, uint64_t id, bool kicks)
{
    struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, id);
    if (entry == NULL)
        return true;
    return (!kicks || elapse__queue_side_get(queue, entry) != NULL) &&
           keep_place(queue, room, entry);
}

/* Makes room for the job of a change by its key. If the transaction itself puts the job, the put
 * has the room. */
static bool keep_named(struct elapse__queue *queue, struct room *room,
                       struct elapse__queue_text name, struct elapse__queue_text key)
{
    /* No job has a name that is too long, so the change will answer GONE. */
    if (!elapse__queue_text_fits(name, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX) ||
        !elapse__queue_text_fits(key, 1, ELAPSE__QUEUE_KEY_BYTES_MAX))
        return true;
    struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    if (tube == NULL)
        return true;
    struct elapse__queue_entry *entry =
        elapse__queue_key_find(queue, elapse__queue_key_hash(queue, name, key), false);
    return entry == NULL ? keep_tube(queue, room, tube) : keep_place(queue, room, entry);
}

/* Makes the token of an arrival, and room for its job, which the arrival may make ready. */
static bool keep_arrival(struct elapse__queue *queue, struct room *room,
                         const struct elapse__queue_arrival *arrival)
{
    if (arrival->token.size > 0) {
        room->put.token = elapse__queue_token_make(queue);
        if (room->put.token == 0)
            return false;
    }
    return keep_named(queue, room, arrival->tube, arrival->key);
}

static enum elapse__queue_result prepare(struct elapse__queue *queue, struct room *room,
                                         const struct elapse__queue_change *change,
                                         const char **fault)
{
    bool fits = true;
    if (change->verb == ELAPSE__QUEUE_PUT) {
        enum elapse__queue_result result =
            elapse__queue_put_prepare(queue, &change->put, &room->put, fault);
        if (result != ELAPSE__QUEUE_OK)
            return result;
        fits = keep_place(queue, room, room->put.built.entry);
    } else if (change->verb == ELAPSE__QUEUE_RESCHEDULE) {
        fits = keep_named(queue, room, change->named.tube, change->named.key);
    } else if (change->verb == ELAPSE__QUEUE_ARRIVE) {
        fits = keep_arrival(queue, room, &change->arrival);
    } else if (change->verb == ELAPSE__QUEUE_RESCHEDULE_ID ||
               change->verb == ELAPSE__QUEUE_KICK_ID) {
        fits = keep_job(queue, room, change->named.id, change->verb == ELAPSE__QUEUE_KICK_ID);
    } else if (change->verb == ELAPSE__QUEUE_NACK || change->verb == ELAPSE__QUEUE_NACK_IN) {
        fits = keep_job(queue, room, change->held.holder.id, false);
    }
    return fits ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_NO_MEMORY;
}

static void give_room(struct elapse__queue *queue, struct room *room)
{
    if (room->put.built.tube != NULL)
        elapse__queue_put_unprepare(queue, &room->put);
    else if (room->put.token != 0)
        elapse__queue_token_give(queue, room->put.token);
    if (room->group != NULL) {
        elapse__queue_turns_unkeep(queue, room->group);
        elapse__queue_group_leave(queue, room->group);
    }
    if (room->tube == NULL)
        return;
    elapse__queue_heap_unkeep(&room->tube->ready, &queue->memory);
    elapse__queue_tube_release(queue, room->tube);
}

static void give_rooms(struct elapse__queue *queue, struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++)
        give_room(queue, &plan->rooms[i]);
    elapse__release_locked(&queue->memory, plan->rooms, plan->count * sizeof *plan->rooms);
}

/* Begins the group. The group counts as growth if a job is put, a token is kept or an error is
 * told. If only the texts of errors have no room, drops these texts. */
static bool begin_group(struct elapse__queue *queue, struct plan *plan)
{
    bool tells = plan->error_bytes > 0 && !queue->options.old_records;
    if (plan->puts + plan->tokens > 0)
        return elapse__queue_begin(queue, 0, plan->bytes, ELAPSE__RECORD_FOR_GROWTH);
    int error =
        tells ? queue->sink->begin(queue->sink, plan->bytes, ELAPSE__RECORD_FOR_GROWTH) : ENOSPC;
    if (error == 0 || error == EAGAIN)
        return error == 0;
    plan->bytes -= plan->error_bytes;
    plan->drops_errors = true;
    return elapse__queue_begin(queue, 0, plan->bytes, ELAPSE__RECORD_FOR_RELIEF);
}

/* Prepares every change, and begins the group. If this fails, nothing has changed. */
static enum elapse__queue_result make_rooms(struct elapse__queue *queue, struct plan *plan,
                                            const char **fault)
{
    size_t bytes = plan->count * sizeof *plan->rooms;
    enum elapse__queue_result result = ELAPSE__QUEUE_OK;
    plan->rooms = elapse__allocate_locked(&queue->memory, _Alignof(struct room), bytes);
    if (plan->rooms == NULL)
        return ELAPSE__QUEUE_NO_MEMORY;
    for (uint32_t i = 0; i < plan->count; i++)
        plan->rooms[i] = (struct room){.tube = NULL};
    for (uint32_t i = 0; i < plan->count && result == ELAPSE__QUEUE_OK; i++) {
        /* Few transactions are sent again, so few look for their tokens twice here. */
        if (plan->known == 0 || !is_known(queue, &plan->changes[i]))
            result = prepare(queue, &plan->rooms[i], &plan->changes[i], fault);
    }
    uint64_t next_id = queue->last_id + queue->options.partitions;
    if (result == ELAPSE__QUEUE_OK && plan->puts > 0 &&
        !elapse__queue_ids_reserve_many(&queue->jobs.ids, next_id, plan->puts, &queue->memory))
        result = ELAPSE__QUEUE_NO_MEMORY;
    if (result == ELAPSE__QUEUE_OK && !begin_group(queue, plan))
        result = ELAPSE__QUEUE_REFUSED;
    if (result != ELAPSE__QUEUE_OK)
        give_rooms(queue, plan);
    return result;
}

/* ---- the changes ---- */

static void make_changes(struct elapse__queue *queue, const struct plan *plan,
                         struct elapse__queue_answer *answers)
{
    struct elapse__queue_transaction transaction = {
        .last_id = queue->last_id, .bytes_left = plan->bytes, .drops_errors = plan->drops_errors};
    queue->transaction = &transaction;
    for (uint32_t i = 0; i < plan->count; i++) {
        transaction.prepared = &plan->rooms[i].put;
        answers[i] = elapse__queue_change(queue, queue->now, &plan->changes[i]);
        ELAPSE__ASSERT_THAT(answers[i].position, ==, 0);
        ELAPSE__ASSERT(answers[i].result <= ELAPSE__QUEUE_KEY_TAKEN);
    }
    queue->transaction = NULL;
}

/* Returns a phrase that says what is wrong with a change. Returns NULL if nothing is wrong. */
static const char *fault_of(const struct elapse__queue *queue,
                            const struct elapse__queue_change *change)
{
    bool has_time =
        change->verb == ELAPSE__QUEUE_RESCHEDULE || change->verb == ELAPSE__QUEUE_RESCHEDULE_ID;
    bool has_delay = change->verb == ELAPSE__QUEUE_NACK || change->verb == ELAPSE__QUEUE_NACK_IN;
    if (change->verb == ELAPSE__QUEUE_PUT)
        return elapse__queue_put_fault(queue, &change->put);
    if (change->verb == ELAPSE__QUEUE_ARRIVE)
        return elapse__queue_arrival_fault(queue, &change->arrival);
    if (has_time)
        return elapse__queue_time_fault(change->named.time);
    return has_delay && change->held.delay_ms > (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX
               ? "a delay is at most 292 years"
               : NULL;
}

static const char *first_fault(const struct elapse__queue *queue, const struct plan *plan)
{
    const char *fault = plan->count <= ELAPSE__QUEUE_CHANGES_MAX ? NULL : "too many changes";
    for (uint32_t i = 0; i < plan->count && fault == NULL; i++)
        fault = fault_of(queue, &plan->changes[i]);
    return fault;
}

struct elapse__queue_answer elapse__queue_transact(struct elapse__queue *queue,
                                                   struct elapse__queue_now now,
                                                   const struct elapse__queue_change *changes,
                                                   uint32_t count,
                                                   struct elapse__queue_answer *answers)
{
    struct plan plan = {.changes = changes, .count = count};
    ELAPSE__ASSERT(queue->open && queue->transaction == NULL);
    elapse__queue_take_now(queue, now);
    const char *fault = first_fault(queue, &plan);
    if (fault != NULL)
        return elapse__queue_fault(fault);
    if (!leases_hold(queue, &plan))
        return elapse__queue_say(ELAPSE__QUEUE_GONE, 0);
    count_needs(queue, &plan);
    enum elapse__queue_result result = check_limits(queue, &plan);
    if (result == ELAPSE__QUEUE_OK && count > 0)
        result = make_rooms(queue, &plan, &fault);
    struct elapse__queue_answer answer = elapse__queue_say(result, 0);
    answer.fault = fault;
    if (result != ELAPSE__QUEUE_OK || count == 0)
        return answer;
    make_changes(queue, &plan, answers);
    answer.position = elapse__queue_end(queue);
    give_rooms(queue, &plan);
    return answer;
}
