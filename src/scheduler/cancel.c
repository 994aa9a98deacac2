/*
 * Cancels tasks by their handles: one task, one task and then waits for its end, or many tasks.
 */
#include "../base/assert.h"
#include "callback.h"
#include "scheduler.h"
#include "shard_change.h"

/* How many handles of a batch are handled before the lock is released. */
enum { HANDLES_AT_ONCE = 64 };

enum elapse_cancel elapse_task_cancel(struct elapse_scheduler *scheduler,
                                      struct elapse_handle handle)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    struct elapse__ended_task ended;
    if (shard == NULL)
        return ELAPSE_CANCEL_GONE;
    elapse__shard_prefetch(shard, handle);
    elapse__ended_task_init(&ended);
    elapse__shard_lock(shard);
    enum elapse_cancel answer = elapse__shard_cancel(shard, handle, &ended);
    elapse__shard_unlock(shard);
    elapse__ended_task_dispose(scheduler, &ended);
    return answer;
}

bool elapse_run_cancelled(const struct elapse_run *run)
{
    struct elapse__shard *shard = elapse__shard_of_handle(run->scheduler, run->handle);
    ELAPSE__ASSERT(shard != NULL);
    if (atomic_load(&run->scheduler->hurries))
        return true;
    elapse__shard_lock(shard);
    const struct elapse__task *task = elapse__shard_find(shard, run->handle);
    bool cancelled = task == NULL || task->cancelled;
    elapse__shard_unlock(shard);
    return cancelled;
}

/* Waits until a running task has ended. Requires the lock. */
static enum elapse_cancel wait_for(struct elapse__shard *shard, struct elapse_handle handle,
                                   uint64_t until_ns)
{
    struct elapse__task *task = elapse__shard_find(shard, handle);
    while (task != NULL) {
        ELAPSE__ASSERT(elapse__is_running(task));
        ELAPSE__ASSERT(task->cancelled);
        task->waited = true;
        bool in_time = elapse__shard_wait_for_an_end(shard, until_ns);
        task = elapse__shard_find(shard, handle);
        if (!in_time)
            break;
    }
    return task == NULL ? ELAPSE_CANCEL_GONE : ELAPSE_CANCEL_RUNNING;
}

enum elapse_cancel elapse_task_cancel_wait(struct elapse_scheduler *scheduler,
                                           struct elapse_handle handle, uint64_t timeout_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    struct elapse__ended_task ended;
    bool self = elapse__in_action_of(scheduler, handle);
    if (shard == NULL)
        return ELAPSE_CANCEL_GONE;
    uint64_t until_ns = ELAPSE_NEVER;
    if (timeout_ns != ELAPSE_NEVER)
        until_ns = elapse_deadline_after(elapse__os->clock_ns(ELAPSE__OS_MONOTONIC), timeout_ns);
    elapse__ended_task_init(&ended);
    elapse__shard_lock(shard);
    enum elapse_cancel answer = elapse__shard_cancel(shard, handle, &ended);
    if (answer == ELAPSE_CANCEL_RUNNING)
        answer = self ? ELAPSE_CANCEL_SELF : wait_for(shard, handle, until_ns);
    elapse__shard_unlock(shard);
    elapse__ended_task_dispose(scheduler, &ended);
    return answer;
}

/* Cancels all tasks that are in the shard of the first task, and marks their answers as given. */
static size_t cancel_shard(struct elapse_scheduler *scheduler, const struct elapse_handle *handles,
                           enum elapse_cancel *answers, bool *answered, size_t count)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handles[0]);
    struct elapse__ended_task ended[HANDLES_AT_ONCE];
    size_t removed = 0;
    if (shard == NULL) {
        answers[0] = ELAPSE_CANCEL_GONE;
        answered[0] = true;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        elapse__ended_task_init(&ended[i]);
        if (handles[i].shard == shard->number)
            elapse__shard_prefetch(shard, handles[i]);
    }
    elapse__shard_lock(shard);
    for (size_t i = 0; i < count; i++) {
        if (answered[i] || handles[i].shard != shard->number)
            continue;
        answers[i] = elapse__shard_cancel(shard, handles[i], &ended[i]);
        answered[i] = true;
        removed += answers[i] == ELAPSE_CANCEL_REMOVED;
    }
    elapse__shard_unlock(shard);
    for (size_t i = 0; i < count; i++)
        elapse__ended_task_dispose(scheduler, &ended[i]);
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
