#include "work_queue.h"

#include "../base/assert.h"

/* What must hold whenever the lock is taken or released. */
static void check(const struct elapse__work_queue *queue)
{
    (void)queue;
    ELAPSE__ASSERT_LOCK_HELD(&queue->lock);
    ELAPSE__ASSERT_THAT(queue->count, <=, queue->capacity);
    ELAPSE__ASSERT_THAT(queue->first, <, queue->capacity);
    ELAPSE__ASSERT_THAT(queue->asleep, <=, queue->idle);
    ELAPSE__ASSERT(!queue->waking || queue->asleep > 0);
}

static void lock_queue(struct elapse__work_queue *queue)
{
    elapse__lock(&queue->lock);
    check(queue);
}

static void unlock_queue(struct elapse__work_queue *queue)
{
    check(queue);
    elapse__unlock(&queue->lock);
}

enum elapse_error elapse__work_queue_init(struct elapse__work_queue *queue, unsigned capacity,
                                          const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(capacity, >, 0);
    *queue = (struct elapse__work_queue){.capacity = capacity};
    queue->ring =
        elapse__allocate(memory, _Alignof(struct elapse__queued), capacity * sizeof *queue->ring);
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
    ELAPSE__ASSERT_THAT(queue->idle, ==, 0);
    ELAPSE__ASSERT_THAT(queue->busy, ==, 0);
    elapse__condition_free(&queue->quiet);
    elapse__condition_free(&queue->filled);
    elapse__lock_free(&queue->lock);
    elapse__release(memory, queue->ring, queue->capacity * sizeof *queue->ring);
}

unsigned elapse__work_queue_room(struct elapse__work_queue *queue)
{
    lock_queue(queue);
    unsigned room = queue->capacity - queue->count;
    queue->clock_waits = room == 0;
    unlock_queue(queue);
    return room;
}

/* Returns whether the caller must wake a worker once it has released the lock. Requires the lock.
 */
static bool must_wake(struct elapse__work_queue *queue)
{
    ELAPSE__ASSERT_LOCK_HELD(&queue->lock);
    if (queue->count == 0 || queue->asleep == 0 || queue->waking)
        return false;
    queue->waking = true;
    return true;
}

/* Requires the lock. */
static unsigned without_worker(const struct elapse__work_queue *queue)
{
    return queue->count > queue->idle ? queue->count - queue->idle : 0;
}

unsigned elapse__work_queue_put(struct elapse__work_queue *queue,
                                const struct elapse__queued *queued, unsigned count)
{
    lock_queue(queue);
    ELAPSE__ASSERT_THAT(count, >, 0);
    ELAPSE__ASSERT_THAT(count, <=, queue->capacity - queue->count);
    for (unsigned i = 0; i < count; i++)
        queue->ring[(queue->first + queue->count++) % queue->capacity] = queued[i];
    unsigned without = without_worker(queue);
    bool wake = must_wake(queue);
    unlock_queue(queue);
    if (wake)
        elapse__condition_signal(&queue->filled);
    return without;
}

unsigned elapse__work_queue_without_worker(struct elapse__work_queue *queue)
{
    lock_queue(queue);
    unsigned without = without_worker(queue);
    unlock_queue(queue);
    return without;
}

void elapse__work_queue_count_worker(struct elapse__work_queue *queue, bool made)
{
    lock_queue(queue);
    ELAPSE__ASSERT(made || queue->idle > 0);
    if (made)
        queue->idle++;
    else
        queue->idle--;
    unlock_queue(queue);
}

/* Requires the lock. */
static bool is_quiet(const struct elapse__work_queue *queue)
{
    return queue->busy == 0 && (queue->count == 0 || queue->ending);
}

bool elapse__work_queue_take(struct elapse__work_queue *queue, bool *busy,
                             struct elapse__queued *queued, bool *kick)
{
    *kick = false;
    lock_queue(queue);
    if (*busy) {
        ELAPSE__ASSERT_THAT(queue->busy, >, 0);
        queue->busy--;
        queue->idle++;
        if (is_quiet(queue))
            elapse__condition_broadcast(&queue->quiet);
    }
    *busy = false;
    while (queue->count == 0 && !queue->ending) {
        queue->asleep++;
        check(queue);
        elapse__condition_wait(&queue->filled, &queue->lock);
        ELAPSE__ASSERT_THAT(queue->asleep, >, 0);
        queue->asleep--;
        queue->waking = false;
    }
    if (!queue->ending) {
        ELAPSE__ASSERT_THAT(queue->count, >, 0);
        ELAPSE__ASSERT_THAT(queue->idle, >, 0);
        *queued = queue->ring[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        queue->busy++;
        queue->idle--;
        *busy = true;
        *kick = queue->clock_waits && queue->count <= queue->capacity / 2;
        if (*kick)
            queue->clock_waits = false;
    }
    bool wake = must_wake(queue);
    unlock_queue(queue);
    if (wake)
        elapse__condition_signal(&queue->filled);
    return *busy;
}

bool elapse__work_queue_wait_quiet(struct elapse__work_queue *queue, uint64_t until_ns)
{
    bool in_time = true;
    lock_queue(queue);
    while (!is_quiet(queue) && in_time)
        in_time = elapse__condition_wait_at_most(&queue->quiet, &queue->lock, until_ns);
    bool quiet = is_quiet(queue);
    unlock_queue(queue);
    return quiet;
}

void elapse__work_queue_end(struct elapse__work_queue *queue, bool ending)
{
    lock_queue(queue);
    queue->ending = ending;
    elapse__condition_broadcast(&queue->filled);
    unlock_queue(queue);
}
