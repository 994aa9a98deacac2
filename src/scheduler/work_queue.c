#include "work_queue.h"

enum elapse_error elapse__work_queue_init(struct elapse__work_queue *queue, unsigned capacity,
                                          const struct elapse_allocator *memory)
{
    *queue = (struct elapse__work_queue){.capacity = capacity};
    queue->ring =
        elapse__allocate(memory, _Alignof(struct elapse_handle), capacity * sizeof *queue->ring);
    if (queue->ring == NULL)
        return ELAPSE_ERROR_MEMORY;
    if (pthread_mutex_init(&queue->lock, NULL) == 0) {
        if (pthread_cond_init(&queue->filled, NULL) == 0) {
            if (pthread_cond_init(&queue->quiet, NULL) == 0)
                return ELAPSE_OK;
            (void)pthread_cond_destroy(&queue->filled);
        }
        (void)pthread_mutex_destroy(&queue->lock);
    }
    elapse__release(memory, queue->ring, capacity * sizeof *queue->ring);
    return ELAPSE_ERROR_SYSTEM;
}

void elapse__work_queue_free(struct elapse__work_queue *queue,
                             const struct elapse_allocator *memory)
{
    (void)pthread_cond_destroy(&queue->quiet);
    (void)pthread_cond_destroy(&queue->filled);
    (void)pthread_mutex_destroy(&queue->lock);
    elapse__release(memory, queue->ring, queue->capacity * sizeof *queue->ring);
}

unsigned elapse__work_queue_room(struct elapse__work_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    unsigned room = queue->capacity - queue->count;
    queue->clock_waits = room == 0;
    (void)pthread_mutex_unlock(&queue->lock);
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
    (void)pthread_mutex_lock(&queue->lock);
    for (unsigned i = 0; i < count; i++)
        queue->ring[(queue->first + queue->count++) % queue->capacity] = handles[i];
    unsigned waiting = queue->count;
    unsigned idle = queue->idle;
    bool wake = shall_wake(queue);
    (void)pthread_mutex_unlock(&queue->lock);
    if (wake)
        (void)pthread_cond_signal(&queue->filled);
    return waiting > idle ? waiting - idle : 0;
}

void elapse__work_queue_count_worker(struct elapse__work_queue *queue, bool made)
{
    (void)pthread_mutex_lock(&queue->lock);
    if (made)
        queue->idle++;
    else
        queue->idle--;
    (void)pthread_mutex_unlock(&queue->lock);
}

bool elapse__work_queue_take(struct elapse__work_queue *queue, bool *busy,
                             struct elapse_handle *handle, bool *kick)
{
    *kick = false;
    (void)pthread_mutex_lock(&queue->lock);
    if (*busy) {
        queue->busy--;
        queue->idle++;
        if (queue->busy == 0 && queue->count == 0)
            (void)pthread_cond_broadcast(&queue->quiet);
    }
    *busy = false;
    while (queue->count == 0 && !queue->ending) {
        queue->asleep++;
        (void)pthread_cond_wait(&queue->filled, &queue->lock);
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
    (void)pthread_mutex_unlock(&queue->lock);
    if (wake)
        (void)pthread_cond_signal(&queue->filled);
    return *busy;
}

void elapse__work_queue_wait_quiet(struct elapse__work_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->busy > 0 || queue->count > 0)
        (void)pthread_cond_wait(&queue->quiet, &queue->lock);
    (void)pthread_mutex_unlock(&queue->lock);
}

void elapse__work_queue_end(struct elapse__work_queue *queue, bool ending)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->ending = ending;
    (void)pthread_cond_broadcast(&queue->filled);
    (void)pthread_mutex_unlock(&queue->lock);
}
