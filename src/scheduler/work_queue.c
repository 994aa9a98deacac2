#include "work_queue.h"

#include "../base/assert.h"

/* Asserts what must hold whenever the lock is taken or released. */
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
    *queue = (struct elapse__work_queue){
        .capacity = capacity,
        .idle_ns = ELAPSE__OS_NEVER,
        .left = ELAPSE__NO_WORKER,
    };
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

void elapse__work_queue_let_leave(struct elapse__work_queue *queue, uint64_t idle_ns, unsigned stay)
{
    lock_queue(queue);
    ELAPSE__ASSERT_THAT(idle_ns, >, 0);
    ELAPSE__ASSERT_THAT(queue->idle, ==, 0);
    queue->idle_ns = idle_ns;
    queue->stay = stay;
    unlock_queue(queue);
}

unsigned elapse__work_queue_room(struct elapse__work_queue *queue)
{
    lock_queue(queue);
    unsigned room = queue->capacity - queue->count;
    queue->clock_waits = room == 0;
    unlock_queue(queue);
    return room;
}

/* Returns whether the caller must wake a worker after it has released the lock. Requires the
 * lock. */
static bool must_wake(struct elapse__work_queue *queue)
{
    ELAPSE__ASSERT_LOCK_HELD(&queue->lock);
    if (queue->count == 0 || queue->asleep == 0 || queue->waking)
        return false;
    queue->waking = true;
    return true;
}

/* Returns how many more handles are queued than there are idle workers. Requires the lock. */
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

void elapse__work_queue_expect_worker(struct elapse__work_queue *queue)
{
    lock_queue(queue);
    ELAPSE__ASSERT(!queue->making);
    queue->making = true;
    queue->idle++;
    unlock_queue(queue);
}

void elapse__work_queue_worker_made(struct elapse__work_queue *queue, bool made)
{
    lock_queue(queue);
    ELAPSE__ASSERT(queue->making);
    queue->making = false;
    if (!made) {
        ELAPSE__ASSERT_THAT(queue->idle, >, 0);
        queue->idle--;
    }
    unlock_queue(queue);
}

unsigned elapse__work_queue_workers(struct elapse__work_queue *queue)
{
    lock_queue(queue);
    unsigned workers = queue->idle + queue->busy;
    unlock_queue(queue);
    return workers;
}

/* Returns whether no worker is busy, and the queue is empty or ending. Requires the lock. */
static bool is_quiet(const struct elapse__work_queue *queue)
{
    return queue->busy == 0 && (queue->count == 0 || queue->ending);
}

/* Counts the worker as idle again. Requires the lock. */
static void come_back(struct elapse__work_queue *queue, struct elapse__worker *worker)
{
    if (!worker->busy)
        return;
    ELAPSE__ASSERT_THAT(queue->busy, >, 0);
    worker->busy = false;
    queue->busy--;
    queue->idle++;
    if (is_quiet(queue))
        elapse__condition_broadcast(&queue->quiet);
}

/* Returns until when a worker waits that becomes idle now. */
static uint64_t idle_until_ns(const struct elapse__work_queue *queue)
{
    if (queue->idle_ns == ELAPSE__OS_NEVER)
        return ELAPSE__OS_NEVER;
    return elapse_deadline_after(elapse__os->clock_ns(ELAPSE__OS_MONOTONIC), queue->idle_ns);
}

/* Waits until there is a handle, or the queue is ending. Returns false if the worker must leave
 * because it was idle for too long. Requires the lock; releases it while it waits. */
static bool wait_until_filled(struct elapse__work_queue *queue)
{
    if (queue->count > 0 || queue->ending)
        return true;
    uint64_t until_ns = idle_until_ns(queue);
    while (queue->count == 0 && !queue->ending) {
        queue->asleep++;
        check(queue);
        bool in_time = elapse__condition_wait_at_most(&queue->filled, &queue->lock, until_ns);
        ELAPSE__ASSERT_THAT(queue->asleep, >, 0);
        queue->asleep--;
        queue->waking = false;
        if (in_time || queue->count > 0 || queue->ending)
            continue;
        if (queue->making)
            until_ns = idle_until_ns(queue);
        else if (queue->idle + queue->busy > queue->stay)
            return false;
        else
            until_ns = ELAPSE__OS_NEVER; /* the worker stays, and waits without a limit */
    }
    return true;
}

/* Stops counting a worker that leaves. Requires the lock. */
static void let_leave(struct elapse__work_queue *queue, struct elapse__worker *worker)
{
    ELAPSE__ASSERT_LOCK_HELD(&queue->lock);
    ELAPSE__ASSERT_THAT(queue->count, ==, 0);
    ELAPSE__ASSERT_THAT(queue->idle, >, 0);
    ELAPSE__ASSERT(!queue->making);
    queue->idle--;
    worker->left = true;
    worker->to_join = queue->left;
    queue->left = worker->number;
}

bool elapse__work_queue_take(struct elapse__work_queue *queue, struct elapse__worker *worker,
                             struct elapse__queued *queued, bool *kick)
{
    *kick = false;
    lock_queue(queue);
    come_back(queue, worker);
    if (!wait_until_filled(queue)) {
        let_leave(queue, worker);
    } else if (!queue->ending) {
        ELAPSE__ASSERT_THAT(queue->count, >, 0);
        ELAPSE__ASSERT_THAT(queue->idle, >, 0);
        *queued = queue->ring[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        queue->busy++;
        queue->idle--;
        worker->busy = true;
        *kick = queue->clock_waits && queue->count <= queue->capacity / 2;
        if (*kick)
            queue->clock_waits = false;
    }
    bool wake = must_wake(queue);
    unlock_queue(queue);
    if (wake)
        elapse__condition_signal(&queue->filled);
    return worker->busy;
}

unsigned elapse__work_queue_take_left(struct elapse__work_queue *queue)
{
    lock_queue(queue);
    unsigned left = queue->left;
    queue->left = ELAPSE__NO_WORKER;
    unlock_queue(queue);
    return left;
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

void elapse__work_queue_end(struct elapse__work_queue *queue)
{
    lock_queue(queue);
    queue->ending = true;
    elapse__condition_broadcast(&queue->filled);
    unlock_queue(queue);
}

void elapse__work_queue_forget_workers(struct elapse__work_queue *queue)
{
    lock_queue(queue);
    ELAPSE__ASSERT_THAT(queue->busy, ==, 0);
    ELAPSE__ASSERT_THAT(queue->asleep, ==, 0);
    ELAPSE__ASSERT_THAT(queue->left, ==, ELAPSE__NO_WORKER);
    queue->idle = 0;
    queue->ending = false;
    unlock_queue(queue);
}
