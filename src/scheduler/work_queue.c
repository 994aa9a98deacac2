#include "work_queue.h"

enum elapse_error elapse__work_queue_init(struct elapse__work_queue *queue, unsigned capacity,
                                          const struct elapse_allocator *memory)
{
    *queue = (struct elapse__work_queue){.capacity = capacity};
    queue->ring =
        elapse__allocate(memory, _Alignof(struct elapse_handle), capacity * sizeof *queue->ring);
    if (queue->ring == NULL)
        return ELAPSE_ERROR_MEMORY;
    if (elapse__os->lock_init(&queue->lock) == 0) {
        if (elapse__os->condition_init(&queue->filled) == 0) {
            if (elapse__os->condition_init(&queue->quiet) == 0)
                return ELAPSE_OK;
            elapse__condition_free(&queue->filled);
        }
        elapse__lock_free(&queue->lock);
    }
    elapse__release(memory, queue->ring, capacity * sizeof *queue->ring);
    return ELAPSE_ERROR_SYSTEM;
}

void elapse__work_queue_free(struct elapse__work_queue *queue,
                             const struct elapse_allocator *memory)
{
    elapse__condition_free(&queue->quiet);
    elapse__condition_free(&queue->filled);
    elapse__lock_free(&queue->lock);
    elapse__release(memory, queue->ring, queue->capacity * sizeof *queue->ring);
}

unsigned elapse__work_queue_room(struct elapse__work_queue *queue)
{
    elapse__lock(&queue->lock);
    unsigned room = queue->capacity - queue->count;
    queue->clock_waits = room == 0;
    elapse__unlock(&queue->lock);
    return room;
}

/* With the lock held: whether a worker is to be woken now. */
static bool shall_wake(struct elapse__work_queue *queue)
{
    if (queue->count == 0 || queue->asleep == 0 || queue->waking)
        return false;
    queue->waking = true;
    return true;
}

unsigned elapse__work_queue_put(struct elapse__work_queue *queue,
                                const struct elapse_handle *handles, unsigned count)
{
    elapse__lock(&queue->lock);
    for (unsigned i = 0; i < count; i++)
        queue->ring[(queue->first + queue->count++) % queue->capacity] = handles[i];
    unsigned waiting = queue->count;
    unsigned idle = queue->idle;
    bool wake = shall_wake(queue);
    elapse__unlock(&queue->lock);
    if (wake)
        elapse__condition_signal(&queue->filled);
    return waiting > idle ? waiting - idle : 0;
}

void elapse__work_queue_count_worker(struct elapse__work_queue *queue, bool made)
{
    elapse__lock(&queue->lock);
    if (made)
        queue->idle++;
    else
        queue->idle--;
    elapse__unlock(&queue->lock);
}

bool elapse__work_queue_take(struct elapse__work_queue *queue, bool *busy,
                             struct elapse_handle *handle, bool *kick)
{
    *kick = false;
    elapse__lock(&queue->lock);
    if (*busy) {
        queue->busy--;
        queue->idle++;
        if (queue->busy == 0 && queue->count == 0)
            elapse__condition_broadcast(&queue->quiet);
    }
    *busy = false;
    while (queue->count == 0 && !queue->ending) {
        queue->asleep++;
        elapse__condition_wait(&queue->filled, &queue->lock);
        queue->asleep--;
        queue->waking = false;
    }
    if (!queue->ending) {
        *handle = queue->ring[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        queue->busy++;
        queue->idle--;
        *busy = true;
        *kick = queue->clock_waits && queue->count <= queue->capacity / 2;
        if (*kick)
            queue->clock_waits = false;
    }
    bool wake = shall_wake(queue);
    elapse__unlock(&queue->lock);
    if (wake)
        elapse__condition_signal(&queue->filled);
    return *busy;
}

void elapse__work_queue_wait_quiet(struct elapse__work_queue *queue)
{
    elapse__lock(&queue->lock);
    while (queue->busy > 0 || queue->count > 0)
        elapse__condition_wait(&queue->quiet, &queue->lock);
    elapse__unlock(&queue->lock);
}

void elapse__work_queue_end(struct elapse__work_queue *queue, bool ending)
{
    elapse__lock(&queue->lock);
    queue->ending = ending;
    elapse__condition_broadcast(&queue->filled);
    elapse__unlock(&queue->lock);
}
