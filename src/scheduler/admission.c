#include "admission.h"

#include "../base/assert.h"
#include "callback.h"
#include "ticks.h"

struct elapse__shard *elapse__shard_of_thread(struct elapse_scheduler *scheduler)
{
    static _Atomic unsigned threads;
    /* The number of this thread, from 1; 0 if it has no number yet. */
    static _Thread_local unsigned number;
    if (number == 0)
        number = atomic_fetch_add(&threads, 1) + 1;
    return &scheduler->shards[(number - 1) % scheduler->options.shards];
}

static bool recurs_validly(const struct elapse_task *task)
{
    switch (task->recurrence) {
    case ELAPSE_RECUR_NEVER:
        return task->period_ns == 0 && task->if_missed == ELAPSE_MISSED_SKIP;
    case ELAPSE_RECUR_PERIOD:
    case ELAPSE_RECUR_AFTER_EACH:
        return task->period_ns >= 1 && task->period_ns <= ELAPSE_PERIOD_NS_MAX;
    case ELAPSE_RECUR_CRON:
        return task->period_ns == 0 && task->if_missed != ELAPSE_MISSED_DELAY;
    }
    return false;
}

bool elapse__task_is_valid(const struct elapse_scheduler *scheduler, const struct elapse_task *task,
                           bool wall_clock)
{
    bool has_key = task->key_bytes > 0;
    bool with_period =
        task->recurrence == ELAPSE_RECUR_PERIOD || task->recurrence == ELAPSE_RECUR_AFTER_EACH;
    bool by_cron = task->recurrence == ELAPSE_RECUR_CRON;
    bool cannot_be_by_wall_clock =
        with_period || task->slack_ns > 0 || task->if_missed == ELAPSE_MISSED_DELAY;
    bool has_action = task->action != NULL || scheduler->options.pull;
    bool may_begin = !scheduler->options.refuse_before_start ||
                     atomic_load(&scheduler->life) >= (int)ELAPSE__LIFE_STARTED;
    bool has_one_destructor = task->destroy == NULL || task->ended == NULL;
    return may_begin && has_action && has_one_destructor && (task->key != NULL) == has_key &&
           task->key_bytes <= ELAPSE_KEY_BYTES_MAX &&
           (task->if_key_pending == ELAPSE_KEY_REPLACE || task->if_key_pending == ELAPSE_KEY_KEEP ||
            task->if_key_pending == ELAPSE_KEY_FAIL) &&
           (task->if_missed == ELAPSE_MISSED_SKIP || task->if_missed == ELAPSE_MISSED_BURST ||
            task->if_missed == ELAPSE_MISSED_DELAY) &&
           (task->zone == ELAPSE_ZONE_UTC || task->zone == ELAPSE_ZONE_LOCAL) &&
           recurs_validly(task) && !(wall_clock ? cannot_be_by_wall_clock : by_cron);
}

bool elapse__task_is_plain(const struct elapse_scheduler *scheduler, const struct elapse_task *task,
                           bool wall_clock)
{
    return task->key == NULL && task->destroy == NULL && task->ended == NULL &&
           task->recurrence == ELAPSE_RECUR_NEVER && !wall_clock &&
           scheduler->options.lease_ns == 0;
}

/* Releases the memory that the shard has not taken. */
static void discard(struct elapse_scheduler *scheduler, struct elapse__admission *admission)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    if (admission->extra != NULL) {
        elapse__release(memory, admission->extra->recurrence, sizeof *admission->extra->recurrence);
        elapse__release(memory, admission->extra->lease, sizeof *admission->extra->lease);
    }
    elapse__release(memory, admission->extra, sizeof *admission->extra);
    elapse__key_release(admission->key, memory);
}

static bool make_recurrence(struct elapse_scheduler *scheduler, struct elapse__admission *admission,
                            struct elapse__deadline deadline)
{
    const struct elapse_task *task = admission->task;
    struct elapse__recurrence *recurrence = elapse__allocate(
        &scheduler->options.allocator, _Alignof(struct elapse__recurrence), sizeof *recurrence);
    if (recurrence == NULL)
        return false;
    *recurrence = (struct elapse__recurrence){
        .kind = task->recurrence,
        .if_missed = task->if_missed,
        .wall_clock = deadline.wall_clock,
        .period_ns = task->period_ns,
        .occurrence_ns = deadline.ns,
        .zone = task->zone,
    };
    if (task->recurrence == ELAPSE_RECUR_CRON)
        recurrence->cron = *task->cron;
    admission->extra->recurrence = recurrence;
    return true;
}

static bool make_lease(struct elapse_scheduler *scheduler, struct elapse__admission *admission)
{
    struct elapse__lease *lease = elapse__allocate(&scheduler->options.allocator,
                                                   _Alignof(struct elapse__lease), sizeof *lease);
    if (lease == NULL)
        return false;
    *lease = (struct elapse__lease){0};
    admission->extra->lease = lease;
    return true;
}

/* Allocates the memory that a task needs if it is not plain. */
static enum elapse_error make_extra(struct elapse_scheduler *scheduler,
                                    struct elapse__admission *admission,
                                    struct elapse__deadline deadline)
{
    const struct elapse_task *task = admission->task;
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    admission->extra =
        elapse__allocate(memory, _Alignof(struct elapse__task_extra), sizeof *admission->extra);
    if (admission->extra == NULL)
        return ELAPSE_ERROR_MEMORY;
    *admission->extra = (struct elapse__task_extra){
        .destructor = {.destroy = task->destroy, .ended = task->ended},
    };
    if (task->key != NULL)
        admission->key = elapse__key_make(task->key, task->key_bytes, admission->key_hash, memory);
    bool made = task->key == NULL || admission->key != NULL;
    if (deadline.wall_clock || task->recurrence != ELAPSE_RECUR_NEVER)
        made = made && make_recurrence(scheduler, admission, deadline);
    if (scheduler->options.lease_ns > 0)
        made = made && make_lease(scheduler, admission);
    if (made)
        return ELAPSE_OK;
    discard(scheduler, admission);
    return ELAPSE_ERROR_MEMORY;
}

uint64_t elapse__latest_tick(const struct elapse_task *task, uint64_t deadline_ns, uint64_t tick_ns)
{
    return task->slack_ns == 0 ? 0 : elapse_deadline_after(deadline_ns, task->slack_ns) / tick_ns;
}

enum elapse_error elapse__admission_prepare(struct elapse_scheduler *scheduler,
                                            const struct elapse_task *task,
                                            struct elapse__deadline deadline,
                                            struct elapse__admission *admission,
                                            struct elapse__shard **shard)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    if (!elapse__task_is_valid(scheduler, task, deadline.wall_clock))
        return ELAPSE_ERROR_ARGUMENT;
    admission->task = task;
    admission->plain = elapse__task_is_plain(scheduler, task, deadline.wall_clock);
    admission->wall_clock = deadline.wall_clock;
    admission->tick = elapse__tick_of_deadline(deadline.ns, tick_ns);
    admission->latest_tick = elapse__latest_tick(task, deadline.ns, tick_ns);
    admission->key_hash = 0;
    admission->extra = NULL;
    admission->key = NULL;
    admission->handle = (struct elapse_handle){0};
    elapse__ended_task_init(&admission->replaced);
    if (task->key != NULL) {
        admission->key_hash = elapse__key_hash(&scheduler->hash_secret, task->key, task->key_bytes);
        *shard = elapse__shard_of_key(scheduler, admission->key_hash);
    } else {
        *shard = elapse__shard_of_thread(scheduler);
    }
    return admission->plain ? ELAPSE_OK : make_extra(scheduler, admission, deadline);
}

enum elapse_error elapse__make_room(struct elapse_scheduler *scheduler, struct elapse__shard *shard)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    uint32_t capacity = elapse__task_table_capacity_needed(&shard->tasks);
    if (capacity == UINT32_MAX)
        return ELAPSE_ERROR_LIMIT;
    struct elapse__task_room room;
    elapse__shard_unlock(shard);
    bool made = elapse__task_room_make(&room, capacity, memory);
    elapse__shard_lock(shard);
    if (!made)
        return ELAPSE_ERROR_MEMORY;
    elapse__task_table_grow(&shard->tasks, &room);
    if (room.tasks == NULL && room.blocks == NULL)
        return ELAPSE_OK;
    elapse__shard_unlock(shard);
    elapse__task_room_release(&room, memory);
    elapse__shard_lock(shard);
    return ELAPSE_OK;
}

/* Lets the key index grow if it needs a segment. Without the segment the index is only slower, so a
 * lack of memory is no error. Requires the lock; releases it and takes it again. */
static void make_segment(struct elapse_scheduler *scheduler, struct elapse__shard *shard)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    size_t buckets = elapse__key_index_segment_needed(&shard->keys);
    if (buckets == 0)
        return;
    elapse__shard_unlock(shard);
    struct elapse__key_bucket *segment = elapse__key_segment_make(buckets, memory);
    elapse__shard_lock(shard);
    if (segment == NULL || elapse__key_index_grow(&shard->keys, segment, buckets))
        return;
    elapse__shard_unlock(shard);
    elapse__release(memory, segment, buckets * sizeof *segment);
    elapse__shard_lock(shard);
}

/* Makes the shard's wheel for wall-clock times. Requires the lock; releases it and takes it
 * again. */
static enum elapse_error make_wall_clock_wheel(struct elapse_scheduler *scheduler,
                                               struct elapse__shard *shard)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT(shard->wall_clock.wheel == NULL);
    elapse__shard_unlock(shard);
    struct elapse_wheel *wheel =
        elapse__wall_clock_wheel_make(elapse__now(scheduler).wall_clock, memory);
    elapse__shard_lock(shard);
    if (wheel == NULL)
        return ELAPSE_ERROR_MEMORY;
    if (shard->wall_clock.wheel == NULL) {
        shard->wall_clock.wheel = wheel;
        return ELAPSE_OK;
    }
    /* Another thread has made the wheel meanwhile. */
    elapse__shard_unlock(shard);
    elapse__release(memory, wheel, sizeof *wheel);
    elapse__shard_lock(shard);
    return ELAPSE_OK;
}

enum elapse__admitted elapse__admission_admit(struct elapse_scheduler *scheduler,
                                              struct elapse__shard *shard,
                                              struct elapse__admission *admission,
                                              enum elapse_error *error)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    if (admission->key != NULL)
        make_segment(scheduler, shard);
    for (;;) {
        *error = ELAPSE_OK;
        enum elapse__admitted admitted = elapse__shard_admit(shard, admission, error);
        if (admitted == ELAPSE__ADMIT_NO_ROOM)
            *error = elapse__make_room(scheduler, shard);
        else if (admitted == ELAPSE__ADMIT_NO_WALL_CLOCK_WHEEL)
            *error = make_wall_clock_wheel(scheduler, shard);
        else
            return admitted;
        if (*error != ELAPSE_OK)
            return ELAPSE__ADMIT_REFUSED;
    }
}

void elapse__admission_conclude(struct elapse_scheduler *scheduler,
                                struct elapse__admission *admission, enum elapse__admitted admitted)
{
    struct elapse__destructor destructor = {0};
    void *context = NULL;
    ELAPSE__ASSERT_NO_LOCK_HELD();
    ELAPSE__ASSERT(admitted != ELAPSE__ADMITTED || admission->extra == NULL);
    if (admitted == ELAPSE__ADMIT_KEPT) {
        destructor.destroy = admission->task->destroy;
        destructor.ended = admission->task->ended;
        context = admission->task->context;
    }
    if (admitted == ELAPSE__ADMITTED) {
        struct elapse__shard *shard = &scheduler->shards[admission->handle.shard];
        struct elapse__ticks ticks = {ELAPSE_NEVER, admission->tick};
        if (!admission->wall_clock)
            ticks = (struct elapse__ticks){elapse__shard_wake_for(shard, admission->tick),
                                           ELAPSE_NEVER};
        elapse__scheduler_wake_at(scheduler, ticks);
    }
    if (admission->plain)
        return;
    discard(scheduler, admission);
    elapse__ended_task_dispose(scheduler, &admission->replaced);
    elapse__destroy(scheduler, &destructor, context, ELAPSE_END_KEPT_OUT,
                    (struct elapse_handle){0});
}
