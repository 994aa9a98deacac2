/*
 * Looking up tasks by key and by handle.
 */
#include "scheduler.h"
#include "shard_run.h"

bool elapse_task_find(struct elapse_scheduler *scheduler, const void *key, size_t key_bytes,
                      struct elapse_handle *handle)
{
    if (key_bytes == 0 || key_bytes > ELAPSE_KEY_BYTES_MAX)
        return false;
    uint64_t hash = elapse__key_hash(&scheduler->hash_secret, key, key_bytes);
    struct elapse__shard *shard = elapse__shard_of_key(scheduler, hash);
    elapse__shard_lock(shard);
    const struct elapse__key *found = elapse__key_index_find(&shard->keys, key, key_bytes, hash);
    const struct elapse__task *task = NULL;
    if (found != NULL) /* a key that only a destructor still uses has neither */
        task = found->pending != NULL ? found->pending : found->running;
    if (task != NULL)
        *handle = elapse__handle_of(shard, task);
    elapse__shard_unlock(shard);
    return task != NULL;
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
