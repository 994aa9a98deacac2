/*
 * Schedules many tasks. Takes the lock of a shard once for up to 64 tasks.
 */
#include "../base/assert.h"
#include "admission.h"
#include "now.h"

/* How many tasks of a batch are scheduled before the lock is released. */
enum { BATCHED_AT_ONCE = 64 };

/* A task of a batch that is being scheduled. */
struct batched {
    struct elapse__admission admission;
    struct elapse__shard *shard; /* NULL: this task is finished */
    enum elapse__admitted admitted;
};

static void prefetch_keys(const struct elapse__shard *shard, const struct batched *batched,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (batched[i].shard == shard && batched[i].admission.key != NULL)
            elapse__key_index_prefetch_bucket(&shard->keys, batched[i].admission.key_hash);
    }
    for (size_t i = 0; i < count; i++) {
        if (batched[i].shard == shard && batched[i].admission.key != NULL)
            elapse__key_index_prefetch_key(&shard->keys, batched[i].admission.key_hash);
    }
}

/* Admits all tasks that belong to the shard of the first task, in their order. */
static void admit_shard(struct elapse_scheduler *scheduler, struct elapse_batch_task *tasks,
                        struct batched *batched, size_t count)
{
    struct elapse__shard *shard = batched[0].shard;
    ELAPSE__ASSERT(shard != NULL);
    ELAPSE__ASSERT_THAT(count, <=, BATCHED_AT_ONCE);
    elapse__shard_lock(shard);
    prefetch_keys(shard, batched, count);
    for (size_t i = 0; i < count; i++) {
        if (batched[i].shard != shard)
            continue;
        batched[i].admitted =
            elapse__admission_admit(scheduler, shard, &batched[i].admission, &tasks[i].error);
        if (tasks[i].error == ELAPSE_OK || tasks[i].error == ELAPSE_ERROR_KEY_PENDING)
            tasks[i].handle = batched[i].admission.handle;
    }
    elapse__shard_unlock(shard);
    for (size_t i = 0; i < count; i++) {
        if (batched[i].shard != shard)
            continue;
        batched[i].shard = NULL;
        elapse__admission_conclude(scheduler, &batched[i].admission, batched[i].admitted);
    }
}

static void schedule_some(struct elapse_scheduler *scheduler, struct elapse_batch_task *tasks,
                          size_t count)
{
    struct batched batched[BATCHED_AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        batched[i].shard = NULL;
        tasks[i].error = ELAPSE_ERROR_ARGUMENT;
        if (!elapse__deadline_is_meant(scheduler, tasks[i].deadline_ns, false))
            continue;
        tasks[i].error = elapse__admission_prepare(
            scheduler, &tasks[i].task, (struct elapse__deadline){tasks[i].deadline_ns, false},
            &batched[i].admission, &batched[i].shard);
        if (tasks[i].error != ELAPSE_OK)
            batched[i].shard = NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (batched[i].shard != NULL)
            admit_shard(scheduler, &tasks[i], &batched[i], count - i);
    }
}

enum elapse_error elapse_task_schedule_batch(struct elapse_scheduler *scheduler,
                                             struct elapse_batch_task *tasks, size_t count)
{
    for (size_t first = 0; first < count; first += BATCHED_AT_ONCE) {
        size_t some = count - first < BATCHED_AT_ONCE ? count - first : BATCHED_AT_ONCE;
        schedule_some(scheduler, &tasks[first], some);
    }
    for (size_t i = 0; i < count; i++) {
        if (tasks[i].error != ELAPSE_OK)
            return tasks[i].error;
    }
    return ELAPSE_OK;
}
