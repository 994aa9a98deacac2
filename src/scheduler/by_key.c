/*
 * Cancels and reschedules by key. The task is found and changed while the lock is held once, so
 * that no other call can put another task in its place in between.
 */
#include "by_key.h"

#include "../base/assert.h"
#include "callback.h"
#include "now.h"
#include "reschedule.h"

struct elapse__shard *elapse__task_lock_by_key(struct elapse_scheduler *scheduler, const void *key,
                                               size_t key_bytes, struct elapse_handle *handle)
{
    if (key_bytes == 0 || key_bytes > ELAPSE_KEY_BYTES_MAX)
        return NULL;
    uint64_t hash = elapse__key_hash(&scheduler->hash_secret, key, key_bytes);
    struct elapse__shard *shard = elapse__shard_of_key(scheduler, hash);
    elapse__shard_lock(shard);
    const struct elapse__key *found = elapse__key_index_find(&shard->keys, key, key_bytes, hash);
    const struct elapse__task *task = NULL;
    if (found != NULL) /* a key that only a destructor uses has no task */
        task = found->pending != NULL ? found->pending : found->running;
    if (task == NULL) {
        elapse__shard_unlock(shard);
        return NULL;
    }
    ELAPSE__ASSERT(elapse__key_of(task) == found);
    *handle = elapse__handle_of(shard, task);
    return shard;
}

enum elapse_cancel elapse_task_cancel_key(struct elapse_scheduler *scheduler, const void *key,
                                          size_t key_bytes)
{
    struct elapse_handle handle;
    struct elapse__ended_task ended;
    struct elapse__shard *shard = elapse__task_lock_by_key(scheduler, key, key_bytes, &handle);
    if (shard == NULL)
        return ELAPSE_CANCEL_GONE;
    elapse__ended_task_init(&ended);
    enum elapse_cancel answer = elapse__shard_cancel(shard, handle, &ended);
    ELAPSE__ASSERT_THAT(answer, !=, ELAPSE_CANCEL_GONE);
    elapse__shard_unlock(shard);
    elapse__ended_task_dispose(scheduler, &ended);
    return answer;
}

enum elapse_error elapse_task_reschedule_key_at(struct elapse_scheduler *scheduler, const void *key,
                                                size_t key_bytes, uint64_t deadline_ns)
{
    struct elapse_handle handle;
    if (!elapse__deadline_is_meant(scheduler, deadline_ns, false))
        return ELAPSE_ERROR_ARGUMENT;
    struct elapse__shard *shard = elapse__task_lock_by_key(scheduler, key, key_bytes, &handle);
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    struct elapse__move move = {.deadline_ns = deadline_ns};
    return elapse__reschedule_locked(scheduler, shard, handle, &move);
}

enum elapse_error elapse_task_reschedule_key_after(struct elapse_scheduler *scheduler,
                                                   const void *key, size_t key_bytes,
                                                   uint64_t delay_ns)
{
    if (!elapse__delay_is_meant(delay_ns))
        return ELAPSE_ERROR_ARGUMENT;
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    return elapse_task_reschedule_key_at(scheduler, key, key_bytes,
                                         elapse_deadline_after(now_ns, delay_ns));
}
