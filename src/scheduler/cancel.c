/*
 * What is done with a handle: reschedule, cancel, wait, look up.
 */
#include "scheduler.h"

#include <time.h>

#include "inside.h"
#include "ticks.h"

/* Handles of a batch within one holding of a lock. */
enum { HANDLES_AT_ONCE = 64 };

/* ---- reschedule ---- */

static enum elapse_error reschedule(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                                    struct elapse_handle handle, uint64_t deadline_ns)
{
    uint64_t tick = elapse__tick_of_deadline(deadline_ns, scheduler->options.tick_ns);
    elapse__shard_lock(shard);
    bool started;
    enum elapse_error error = elapse__shard_reschedule(shard, handle, deadline_ns, tick, &started);
    elapse__shard_unlock(shard);
    if (started)
        elapse__announce(scheduler, (struct elapse__ticks){tick, ELAPSE_NEVER});
    return error;
}

enum elapse_error elapse_task_reschedule_at(struct elapse_scheduler *scheduler,
                                            struct elapse_handle handle, uint64_t deadline_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    elapse__shard_prefetch(shard, handle);
    return reschedule(scheduler, shard, handle, deadline_ns);
}

enum elapse_error elapse_task_reschedule_after(struct elapse_scheduler *scheduler,
                                               struct elapse_handle handle, uint64_t delay_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    elapse__shard_prefetch(shard, handle); /* while the clock is read */
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    return reschedule(scheduler, shard, handle, elapse_deadline_after(now_ns, delay_ns));
}

/* ---- cancel ---- */

enum elapse_cancel elapse_task_cancel(struct elapse_scheduler *scheduler,
                                      struct elapse_handle handle)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    struct elapse__remains remains = {0};
    if (shard == NULL)
        return ELAPSE_CANCEL_GONE;
    elapse__shard_prefetch(shard, handle);
    elapse__shard_lock(shard);
    enum elapse_cancel answer = elapse__shard_cancel(shard, handle, &remains);
    elapse__shard_unlock(shard);
    if (remains.extra != NULL)
        elapse__let_go(scheduler, &remains);
    return answer;
}

/* Waits with the shard's lock held; false when the time has passed. NULL: no end. */
static bool wait_for_an_end(struct elapse__shard *shard, const struct timespec *until)
{
    if (until == NULL)
        return pthread_cond_wait(&shard->ended, &shard->lock) == 0;
    return pthread_cond_timedwait(&shard->ended, &shard->lock, until) == 0;
}

/* Waits, with the shard's lock held, until the task that runs has ended. */
static enum elapse_cancel wait_for(struct elapse__shard *shard, struct elapse_handle handle,
                                   const struct timespec *until)
{
    struct elapse__task *task = elapse__shard_find(shard, handle);
    while (task != NULL) {
        task->waited = true;
        bool in_time = wait_for_an_end(shard, until);
        task = elapse__shard_find(shard, handle);
        if (!in_time)
            break;
    }
    return task == NULL ? ELAPSE_CANCEL_GONE : ELAPSE_CANCEL_RUNNING;
}

static struct timespec monotonic_after(uint64_t delay_ns)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_sec += (time_t)(delay_ns / ELAPSE_SECOND_NS);
    now.tv_nsec += (long)(delay_ns % ELAPSE_SECOND_NS);
    if (now.tv_nsec >= (long)ELAPSE_SECOND_NS) {
        now.tv_nsec -= (long)ELAPSE_SECOND_NS;
        now.tv_sec++;
    }
    return now;
}

enum elapse_cancel elapse_task_cancel_wait(struct elapse_scheduler *scheduler,
                                           struct elapse_handle handle, uint64_t timeout_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    struct elapse__remains remains = {0};
    bool self = elapse__is_inside_task(scheduler, handle);
    struct timespec until = {0};
    if (shard == NULL)
        return ELAPSE_CANCEL_GONE;
    if (timeout_ns != ELAPSE_NEVER)
        until = monotonic_after(timeout_ns);
    elapse__shard_lock(shard);
    enum elapse_cancel answer = elapse__shard_cancel(shard, handle, &remains);
    if (answer == ELAPSE_CANCEL_RUNNING)
        answer = self ? ELAPSE_CANCEL_SELF
                      : wait_for(shard, handle, timeout_ns == ELAPSE_NEVER ? NULL : &until);
    elapse__shard_unlock(shard);
    elapse__let_go(scheduler, &remains);
    return answer;
}

/* Cancels all handles that name the shard of the first, and marks their answers as given. */
static size_t cancel_shard(struct elapse_scheduler *scheduler, const struct elapse_handle *handles,
                           enum elapse_cancel *answers, bool *answered, size_t count)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handles[0]);
    struct elapse__remains remains[HANDLES_AT_ONCE] = {0};
    size_t removed = 0;
    if (shard == NULL) {
        answers[0] = ELAPSE_CANCEL_GONE;
        answered[0] = true;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (handles[i].shard == shard->number)
            elapse__shard_prefetch(shard, handles[i]);
    }
    elapse__shard_lock(shard);
    for (size_t i = 0; i < count; i++) {
        if (answered[i] || handles[i].shard != shard->number)
            continue;
        answers[i] = elapse__shard_cancel(shard, handles[i], &remains[i]);
        answered[i] = true;
        removed += answers[i] == ELAPSE_CANCEL_REMOVED;
    }
    elapse__shard_unlock(shard);
    for (size_t i = 0; i < count; i++)
        elapse__let_go(scheduler, &remains[i]);
    return removed;
}

size_t elapse_task_cancel_batch(struct elapse_scheduler *scheduler,
                                const struct elapse_handle *handles, size_t count,
                                enum elapse_cancel *answers)
{
    size_t removed = 0;
    for (size_t first = 0; first < count; first += HANDLES_AT_ONCE) {
        size_t some = count - first < HANDLES_AT_ONCE ? count - first : HANDLES_AT_ONCE;
        enum elapse_cancel own[HANDLES_AT_ONCE];
        enum elapse_cancel *given = answers == NULL ? own : &answers[first];
        bool answered[HANDLES_AT_ONCE] = {0};
        for (size_t i = 0; i < some; i++) {
            if (!answered[i])
                removed +=
                    cancel_shard(scheduler, &handles[first + i], &given[i], &answered[i], some - i);
        }
    }
    return removed;
}

/* ---- look up ---- */

bool elapse_task_find(struct elapse_scheduler *scheduler, const void *key, size_t key_bytes,
                      struct elapse_handle *handle)
{
    if (key_bytes == 0 || key_bytes > ELAPSE_KEY_BYTES_MAX)
        return false;
    uint64_t hash = elapse__key_hash(&scheduler->hash_secret, key, key_bytes);
    struct elapse__shard *shard = elapse__shard_of_key(scheduler, hash);
    elapse__shard_lock(shard);
    const struct elapse__key *found = elapse__key_index_find(&shard->keys, key, key_bytes, hash);
    if (found != NULL) {
        const struct elapse__task *task = found->pending != NULL ? found->pending : found->running;
        *handle = elapse__handle_of(shard, task);
    }
    elapse__shard_unlock(shard);
    return found != NULL;
}

enum elapse_task_state elapse_task_look_up(struct elapse_scheduler *scheduler,
                                           struct elapse_handle handle, uint64_t *deadline_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    enum elapse_task_state state = ELAPSE_TASK_GONE;
    uint64_t due_ns = ELAPSE_NEVER;
    if (shard != NULL) {
        elapse__shard_lock(shard);
        const struct elapse__task *task = elapse__shard_find(shard, handle);
        if (task != NULL) {
            bool running = elapse__is_running(task);
            state = running ? ELAPSE_TASK_RUNNING : ELAPSE_TASK_PENDING;
            due_ns = elapse__shard_deadline_ns(shard, task);
        }
        elapse__shard_unlock(shard);
    }
    if (deadline_ns != NULL)
        *deadline_ns = due_ns;
    return state;
}
