#include "shard_schedule.h"

#include "../base/assert.h"
#include "shard_steps.h"

/*
 * Ends the pending task of a key because a new task replaces it. If the task is running, only its
 * next run is ended. The key stays in the index, for a moment without a pending task. The count
 * `pending` does not change: the new task counts in place of the old one, so that the limit cannot
 * refuse it.
 */
static void replace(struct elapse__shard *shard, struct elapse__key *key,
                    struct elapse__ended_task *ended)
{
    struct elapse__task *old = key->pending;
    ELAPSE__ASSERT(old != NULL);
    ELAPSE__ASSERT(elapse__key_of(old) == key);
    key->pending = NULL;
    shard->replaced++;
    if (elapse__is_running(old)) {
        old->runs_again = false;
        old->cancelled = true; /* without this mark, a reschedule could revive the old task */
        old->extra->replaced = true;
        return;
    }
    elapse__shard_end(shard, old, ELAPSE_END_REPLACED, ended);
}

/* Decides about a task whose key already has a pending task. */
static enum elapse__admitted admit_beside(struct elapse__shard *shard, struct elapse__key *key,
                                          struct elapse__admission *admission,
                                          enum elapse_error *error)
{
    ELAPSE__ASSERT(key->pending != NULL);
    switch (admission->task->if_key_pending) {
    case ELAPSE_KEY_KEEP:
        admission->handle = elapse__handle_of(shard, key->pending);
        return ELAPSE__ADMIT_KEPT;
    case ELAPSE_KEY_FAIL:
        admission->handle = elapse__handle_of(shard, key->pending);
        *error = ELAPSE_ERROR_KEY_PENDING;
        return ELAPSE__ADMIT_REFUSED;
    case ELAPSE_KEY_REPLACE:
        break;
    }
    replace(shard, key, &admission->replaced);
    return ELAPSE__ADMITTED;
}

/* Makes the task the pending task of its key. `key` is the key in the index; NULL if the key is
 * new. */
static void take_key(struct elapse__shard *shard, struct elapse__admission *admission,
                     struct elapse__key *key, struct elapse__task *task)
{
    if (key == NULL) {
        key = admission->key;
        admission->key = NULL;
        elapse__key_index_insert(&shard->keys, key);
    }
    ELAPSE__ASSERT(key->pending == NULL);
    ELAPSE__ASSERT(task->extra != NULL);
    key->pending = task;
    task->extra->key = key;
}

static bool may_admit(const struct elapse__shard *shard, enum elapse_error *error)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    if (shard->closed)
        *error = ELAPSE_ERROR_CLOSED;
    return !shard->closed;
}

/* Takes a task out of the table, and fills in its fields. The caller must start its timer. Requires
 * that the table has room, and that the task was counted as pending. */
static struct elapse__task *take_task(struct elapse__shard *shard,
                                      const struct elapse_task *described,
                                      struct elapse__task_extra *extra)
{
    struct elapse__task *task = elapse__task_table_take(&shard->tasks);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_FREE);
    ELAPSE__ASSERT_THAT(shard->pending, >, 0);
    task->action = described->action;
    task->context = described->context;
    task->extra = extra;
    if (extra != NULL && extra->lease != NULL)
        extra->lease->task = task;
    task->runs_again = false;
    task->cancelled = false;
    task->waited = false;
    elapse_timer_init(&task->when.timer);
    shard->scheduled++;
    return task;
}

/* Returns the tick in the window of the slack that makes tasks share ticks (coalescing). */
static uint64_t chosen_tick(const struct elapse__shard *shard, uint64_t tick, uint64_t latest_tick)
{
    if (latest_tick <= tick)
        return tick;
    return elapse_deadline_in_window(elapse_wheel_now(&shard->wheel), tick, latest_tick);
}

enum elapse__admitted elapse__shard_admit(struct elapse__shard *shard,
                                          struct elapse__admission *admission,
                                          enum elapse_error *error)
{
    const struct elapse_task *described = admission->task;
    struct elapse__key *key = NULL;
    ELAPSE__ASSERT((admission->key != NULL) == (described->key != NULL));
    ELAPSE__ASSERT(admission->plain == (admission->extra == NULL));
    if (!may_admit(shard, error))
        return ELAPSE__ADMIT_REFUSED;
    if (!elapse__task_table_has_room(&shard->tasks))
        return ELAPSE__ADMIT_NO_ROOM;
    if (admission->wall_clock && shard->wall_clock.wheel == NULL)
        return ELAPSE__ADMIT_NO_WALL_CLOCK_WHEEL;
    if (admission->key != NULL)
        key = elapse__key_index_find(&shard->keys, described->key, described->key_bytes,
                                     admission->key_hash);
    if (key != NULL && key->pending != NULL) {
        enum elapse__admitted beside = admit_beside(shard, key, admission, error);
        if (beside != ELAPSE__ADMITTED)
            return beside;
    } else if (!elapse__shard_count_pending(shard)) {
        *error = ELAPSE_ERROR_LIMIT;
        return ELAPSE__ADMIT_REFUSED;
    }

    struct elapse__task *task = take_task(shard, described, admission->extra);
    admission->extra = NULL;
    if (admission->key != NULL)
        take_key(shard, admission, key, task);
    if (admission->latest_tick > admission->tick) {
        admission->tick = chosen_tick(shard, admission->tick, admission->latest_tick);
        elapse__shard_note_moved(task, elapse__tick_begins_ns(admission->tick, shard->tick_ns));
    }
    elapse__shard_start_timer(shard, task, admission->tick);
    admission->handle = elapse__handle_of(shard, task);
    return ELAPSE__ADMITTED;
}

enum elapse__admitted elapse__shard_admit_plain(struct elapse__shard *shard,
                                                struct elapse__plain_admission *admission,
                                                enum elapse_error *error)
{
    if (!may_admit(shard, error))
        return ELAPSE__ADMIT_REFUSED;
    if (!elapse__task_table_has_room(&shard->tasks))
        return ELAPSE__ADMIT_NO_ROOM;
    if (!elapse__shard_count_pending(shard)) {
        *error = ELAPSE_ERROR_LIMIT;
        return ELAPSE__ADMIT_REFUSED;
    }
    struct elapse__task *task = take_task(shard, admission->task, NULL);
    admission->tick = chosen_tick(shard, admission->tick, admission->latest_tick);
    elapse__shard_start_timer(shard, task, admission->tick);
    admission->handle = elapse__handle_of(shard, task);
    return ELAPSE__ADMITTED;
}
