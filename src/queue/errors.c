/*
 * Keeps where the texts of errors lie. For each job whose last error a worker has told, a table has
 * the position of the record with the text. The table is apart from the jobs, so a job without an
 * error takes no memory for it. The record of an error is live by itself, and may outlive the PUT
 * of its job in the log:
 *
 *      PUT 5   CHANGE 5 with an error   ...   PUT 5 again, by cleaning
 *
 * When the first PUT has been cleaned away, a replay meets the error before its job. So the table
 * takes errors of jobs that are not there yet. At the end of the replay, the errors whose job has
 * not come are dropped.
 */
#include "tables.h"

enum { ERRORS_CHUNK_BITS = 8 };

static struct elapse__queue_error *error_at(const struct elapse__queue *queue, uint32_t number)
{
    return elapse__queue_slab_at(&queue->errors, number);
}

static uint32_t *error_link(void *owner, uint32_t number)
{
    return &error_at(owner, number)->link;
}

static uint64_t hash_of_id(uint64_t id)
{
    id *= UINT64_C(0x9E3779B97F4A7C15);
    return id ^ id >> 32;
}

static uint64_t error_hash(void *owner, uint32_t number)
{
    return hash_of_id(error_at(owner, number)->id);
}

static const struct elapse__queue_index_owner error_calls = {error_link, error_hash};

void elapse__queue_errors_init(struct elapse__queue *queue)
{
    elapse__queue_slab_init(&queue->errors, ERRORS_CHUNK_BITS, sizeof(struct elapse__queue_error),
                            ELAPSE__QUEUE_ITEMS_MAX);
    elapse__queue_index_init(&queue->error_index, &error_calls, queue);
}

static uint32_t find(const struct elapse__queue *queue, uint64_t id)
{
    uint64_t hash = hash_of_id(id);
    uint32_t number =
        queue->errors.count == 0 ? 0 : elapse__queue_index_first(&queue->error_index, hash);
    while (number != 0 && error_at(queue, number)->id != id)
        number = elapse__queue_index_next(&queue->error_index, number, hash);
    return number;
}

const struct elapse__queue_error *elapse__queue_error_find(const struct elapse__queue *queue,
                                                           uint64_t id)
{
    uint32_t number = find(queue, id);
    return number == 0 ? NULL : error_at(queue, number);
}

bool elapse__queue_error_room(struct elapse__queue *queue)
{
    return elapse__queue_index_prepare(&queue->error_index, &queue->memory) &&
           elapse__queue_slab_reserve(&queue->errors, &queue->memory);
}

void elapse__queue_error_set(struct elapse__queue *queue, uint64_t id, uint64_t position,
                             uint32_t size)
{
    uint32_t number = find(queue, id);
    ELAPSE__ASSERT(position != 0 && size != 0);
    if (number != 0) {
        const struct elapse__queue_error *old = error_at(queue, number);
        queue->sink->live(queue->sink, old->position, -(int64_t)old->size);
    } else {
        number = elapse__queue_slab_take(&queue->errors, &queue->memory);
        ELAPSE__ASSERT_THAT(number, !=, 0); /* the caller has made room */
        error_at(queue, number)->id = id;
        elapse__queue_index_insert(&queue->error_index, number, &queue->memory);
    }
    error_at(queue, number)->position = position;
    error_at(queue, number)->size = size;
    queue->sink->live(queue->sink, position, (int64_t)size);
}

static void end_error(struct elapse__queue *queue, uint32_t number)
{
    struct elapse__queue_error *error = error_at(queue, number);
    ELAPSE__ASSERT(error->id != 0 && error->position != 0); /* it has not ended before */
    queue->sink->live(queue->sink, error->position, -(int64_t)error->size);
    elapse__queue_index_remove(&queue->error_index, number, &queue->memory);
    error->id = 0;
    elapse__queue_slab_give(&queue->errors, number);
}

void elapse__queue_error_end(struct elapse__queue *queue, uint64_t id)
{
    uint32_t number = find(queue, id);
    if (number != 0)
        end_error(queue, number);
}

void elapse__queue_set_failure(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               enum elapse__queue_failure failure)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (queue->options.old_records)
        failure = ELAPSE__QUEUE_FAILURE_NONE;
    /* A replay may meet the error before the job. */
    bool may_have = !queue->open || (side != NULL && side->failure == ELAPSE__QUEUE_FAILURE_TOLD);
    ELAPSE__ASSERT(side != NULL || failure == ELAPSE__QUEUE_FAILURE_NONE);
    if (may_have && failure != ELAPSE__QUEUE_FAILURE_TOLD)
        elapse__queue_error_end(queue, elapse__queue_id(entry));
    if (side != NULL)
        side->failure = (uint32_t)failure & ELAPSE__QUEUE_FAILURE_MASK;
}

/* ---- the end of a replay ---- */

static bool has_job(const struct elapse__queue *queue, const struct elapse__queue_error *error)
{
    return elapse__queue_entry_find(&queue->jobs, error->id) != NULL;
}

void elapse__queue_errors_open(struct elapse__queue *queue)
{
    for (uint32_t number = 1; number < queue->errors.fresh; number++)
        if (error_at(queue, number)->id != 0 && !has_job(queue, error_at(queue, number)))
            end_error(queue, number);
}

void elapse__queue_errors_forget(struct elapse__queue *queue, uint64_t position)
{
    for (uint32_t number = 1; number < queue->errors.fresh; number++) {
        const struct elapse__queue_error *error = error_at(queue, number);
        if (error->id == 0 || error->position >= position)
            continue;
        struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, error->id);
        if (entry != NULL)
            elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
        else
            end_error(queue, number);
    }
}
