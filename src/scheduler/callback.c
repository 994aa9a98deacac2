#include "callback.h"

#include "../base/assert.h"

static _Thread_local const struct elapse__callback *innermost;

void elapse__callback_enter(struct elapse__callback *callback,
                            const struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    ELAPSE__ASSERT(callback != innermost);
    *callback = (struct elapse__callback){innermost, scheduler, handle};
    innermost = callback;
}

void elapse__callback_leave(const struct elapse__callback *callback)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    ELAPSE__ASSERT(innermost == callback);
    innermost = callback->outer;
}

void elapse__destroy(const struct elapse_scheduler *scheduler,
                     const struct elapse__destructor *destructor, void *context,
                     enum elapse_end reason, struct elapse_handle handle)
{
    struct elapse__callback callback;
    if (!elapse__has_destructor(destructor))
        return;
    elapse__callback_enter(&callback, scheduler, handle);
    if (destructor->ended != NULL)
        destructor->ended(context, reason);
    else
        destructor->destroy(context);
    elapse__callback_leave(&callback);
}

/* ---- keys that destructors release ---- */

uint64_t elapse__keys_released(struct elapse_scheduler *scheduler)
{
    elapse__lock(&scheduler->step_lock);
    uint64_t released = scheduler->keys_released;
    elapse__unlock(&scheduler->step_lock);
    return released;
}

bool elapse__wait_for_released_key(struct elapse_scheduler *scheduler, uint64_t before,
                                   uint64_t until_ns)
{
    bool in_time = true;
    elapse__lock(&scheduler->step_lock);
    ELAPSE__ASSERT_THAT(scheduler->keys_released, >=, before);
    while (scheduler->keys_released == before && in_time)
        in_time =
            elapse__condition_wait_at_most(&scheduler->step_over, &scheduler->step_lock, until_ns);
    bool released = scheduler->keys_released != before;
    elapse__unlock(&scheduler->step_lock);
    return released;
}

/* Counts a released key, and wakes the thread that waits for one. */
static void note_released_key(struct elapse_scheduler *scheduler)
{
    elapse__lock(&scheduler->step_lock);
    scheduler->keys_released++;
    elapse__condition_broadcast(&scheduler->step_over);
    elapse__unlock(&scheduler->step_lock);
}

/* ---- ended tasks ---- */

/* Notes that the context is destroyed, and releases the key that the ended task held. Wakes the
 * clock thread for the task that waits for that key or, once closing has begun, the thread that
 * closes. */
static void conclude_end(struct elapse_scheduler *scheduler, struct elapse__ended_task *ended)
{
    struct elapse__ended_task released = {0};
    struct elapse__ticks started = {ELAPSE_NEVER, ELAPSE_NEVER};
    elapse__shard_lock(ended->shard);
    elapse__shard_note_destroyed(ended->shard, ended);
    if (ended->held_key != NULL)
        started = elapse__shard_release_key(ended->shard, ended->held_key, &released);
    bool tells_close = ended->held_key != NULL && ended->shard->closed;
    elapse__shard_unlock(ended->shard);
    elapse__scheduler_wake_at(scheduler, started);
    if (tells_close)
        note_released_key(scheduler);
    elapse__key_release(released.key, &scheduler->options.allocator);
}

void elapse__ended_task_dispose(struct elapse_scheduler *scheduler,
                                struct elapse__ended_task *ended)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    ELAPSE__ASSERT_NO_LOCK_HELD();
    if (ended->extra == NULL)
        return;
    ELAPSE__ASSERT(ended->key == NULL || ended->key->pending == NULL);
    ELAPSE__ASSERT(ended->key == NULL || !elapse__key_is_in_use(ended->key));
    ELAPSE__ASSERT(ended->held_key == NULL || ended->shard != NULL);
    elapse__key_release(ended->key, memory);
    elapse__release(memory, ended->recurrence, sizeof *ended->recurrence);
    elapse__release(memory, ended->lease, sizeof *ended->lease);
    elapse__release(memory, ended->extra, sizeof *ended->extra);
    elapse__destroy(scheduler, &ended->destructor, ended->context, ended->reason, ended->handle);
    if (ended->shard != NULL)
        conclude_end(scheduler, ended);
}

bool elapse__in_callback(const struct elapse_scheduler *scheduler)
{
    const struct elapse__callback *callback = innermost;
    while (callback != NULL && callback->scheduler != scheduler)
        callback = callback->outer;
    return callback != NULL;
}

bool elapse__in_action_of(const struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    const struct elapse__callback *callback = innermost;
    while (callback != NULL &&
           (callback->scheduler != scheduler || callback->handle.index != handle.index ||
            callback->handle.generation != handle.generation ||
            callback->handle.shard != handle.shard))
        callback = callback->outer;
    return callback != NULL;
}
