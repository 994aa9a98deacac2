/*
 * Scheduling: one task, or many.
 *
 * What a task needs is made without the lock: a block for the task table, a copy of
 * the key, a segment of the key index. Then, under the lock, it is admitted or it is not; when
 * the table turns out to be full, the lock is released, room is made, and all begins
 * anew.
 */
#include "scheduler.h"

#include "../cron/next.h"
#include "inside.h"
#include "ticks.h"

/* Tasks of a batch within one holding of a lock. */
enum { BATCHED_AT_ONCE = 64 };

/* ---- the shard of a thread ---- */

struct elapse__shard *elapse__shard_of_thread(struct elapse_scheduler *scheduler)
{
    static _Atomic unsigned threads;
    static _Thread_local unsigned number; /* from 1 */
    if (number == 0)
        number = atomic_fetch_add(&threads, 1) + 1;
    return &scheduler->shards[(number - 1) % scheduler->options.shards];
}

/* ---- without the lock ---- */

/* A deadline, by the scheduler's own clock or by the wall clock. */
struct deadline {
    uint64_t ns;
    bool wall_clock;
};

static bool recurs_validly(const struct elapse_task *task)
{
    switch (task->recurrence) {
    case ELAPSE_RECUR_NEVER:
        return true;
    case ELAPSE_RECUR_PERIOD:
    case ELAPSE_RECUR_AFTER_EACH:
        return task->period_ns >= 1 && task->period_ns <= ELAPSE_PERIOD_NS_MAX;
    case ELAPSE_RECUR_CRON:
        return task->if_missed != ELAPSE_MISSED_DELAY;
    }
    return false;
}

static bool valid(const struct elapse_scheduler *scheduler, const struct elapse_task *task,
                  bool wall_clock)
{
    bool has_key = task->key_bytes > 0;
    bool with_period =
        task->recurrence == ELAPSE_RECUR_PERIOD || task->recurrence == ELAPSE_RECUR_AFTER_EACH;
    bool by_cron = task->recurrence == ELAPSE_RECUR_CRON;
    bool cannot_be_by_wall_clock =
        with_period || task->slack_ns > 0 || task->if_missed == ELAPSE_MISSED_DELAY;
    bool has_action = task->action != NULL || scheduler->options.pull;
    return has_action && (task->key != NULL) == has_key &&
           task->key_bytes <= ELAPSE_KEY_BYTES_MAX &&
           (task->if_key_pending == ELAPSE_KEY_REPLACE || task->if_key_pending == ELAPSE_KEY_KEEP ||
            task->if_key_pending == ELAPSE_KEY_FAIL) &&
           (task->if_missed == ELAPSE_MISSED_SKIP || task->if_missed == ELAPSE_MISSED_BURST ||
            task->if_missed == ELAPSE_MISSED_DELAY) &&
           (task->zone == ELAPSE_ZONE_UTC || task->zone == ELAPSE_ZONE_LOCAL) &&
           recurs_validly(task) && !(wall_clock ? cannot_be_by_wall_clock : by_cron);
}

/* Nothing but the task itself has to be made for it. */
static bool is_plain(const struct elapse_task *task, bool wall_clock)
{
    return task->key == NULL && task->destroy == NULL && task->recurrence == ELAPSE_RECUR_NEVER &&
           !wall_clock;
}

static void discard(struct elapse_scheduler *scheduler, struct elapse__admission *admission)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    if (admission->extra != NULL)
        elapse__release(memory, admission->extra->recurrence, sizeof *admission->extra->recurrence);
    elapse__release(memory, admission->extra, sizeof *admission->extra);
    elapse__key_release(admission->key, memory);
}

static bool make_recurrence(struct elapse_scheduler *scheduler, struct elapse__admission *admission,
                            struct deadline deadline)
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

/* Makes what the task needs besides its 64 bytes. */
static enum elapse_error make_extra(struct elapse_scheduler *scheduler,
                                    struct elapse__admission *admission, struct deadline deadline)
{
    const struct elapse_task *task = admission->task;
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    admission->extra =
        elapse__allocate(memory, _Alignof(struct elapse__task_extra), sizeof *admission->extra);
    if (admission->extra == NULL)
        return ELAPSE_ERROR_MEMORY;
    *admission->extra = (struct elapse__task_extra){.destroy = task->destroy};
    if (task->key != NULL)
        admission->key = elapse__key_make(task->key, task->key_bytes, admission->key_hash, memory);
    bool made = task->key == NULL || admission->key != NULL;
    if (deadline.wall_clock || task->recurrence != ELAPSE_RECUR_NEVER)
        made = made && make_recurrence(scheduler, admission, deadline);
    if (made)
        return ELAPSE_OK;
    discard(scheduler, admission);
    return ELAPSE_ERROR_MEMORY;
}

/* The last tick that the slack allows; 0: there is no slack. */
static uint64_t latest_tick(const struct elapse_task *task, uint64_t deadline_ns, uint64_t tick_ns)
{
    return task->slack_ns == 0 ? 0 : elapse_deadline_after(deadline_ns, task->slack_ns) / tick_ns;
}

/* Makes an admission out of a description, and finds the shard it is for. */
static enum elapse_error prepare_admission(struct elapse_scheduler *scheduler,
                                           const struct elapse_task *task, struct deadline deadline,
                                           struct elapse__admission *admission,
                                           struct elapse__shard **shard)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    if (!valid(scheduler, task, deadline.wall_clock))
        return ELAPSE_ERROR_ARGUMENT;
    *admission = (struct elapse__admission){
        .task = task,
        .plain = is_plain(task, deadline.wall_clock),
        .wall_clock = deadline.wall_clock,
        .tick = elapse__tick_of_deadline(deadline.ns, tick_ns),
        .latest_tick = latest_tick(task, deadline.ns, tick_ns),
    };
    if (task->key != NULL) {
        admission->key_hash = elapse__key_hash(&scheduler->hash_secret, task->key, task->key_bytes);
        *shard = elapse__shard_of_key(scheduler, admission->key_hash);
    } else {
        *shard = elapse__shard_of_thread(scheduler);
    }
    return admission->plain ? ELAPSE_OK : make_extra(scheduler, admission, deadline);
}

/* Lets the task table grow. The lock of the shard is held at the call and when it
 * returns, and not in between. */
static enum elapse_error make_room(struct elapse_scheduler *scheduler, struct elapse__shard *shard)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
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

/* Lets the key index grow if it wants to. It can do without, so a lack of memory is no
 * error. The lock is held at the call and when it returns. */
static void make_segment(struct elapse_scheduler *scheduler, struct elapse__shard *shard)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
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

/* Makes the shard's wheel for wall-clock times. The lock is held at the call and when it
 * returns. */
static enum elapse_error make_wall_clock_wheel(struct elapse_scheduler *scheduler,
                                               struct elapse__shard *shard)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
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
    /* Another thread was faster. */
    elapse__shard_unlock(shard);
    elapse__release(memory, wheel, sizeof *wheel);
    elapse__shard_lock(shard);
    return ELAPSE_OK;
}

/* ---- one task ---- */

/* Admits with the lock held, which it releases in between where room is needed. */
static enum elapse__admitted admit(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                                   struct elapse__admission *admission, enum elapse_error *error)
{
    if (admission->key != NULL)
        make_segment(scheduler, shard);
    for (;;) {
        *error = ELAPSE_OK;
        enum elapse__admitted admitted = elapse__shard_admit(shard, admission, error);
        if (admitted == ELAPSE__ADMIT_NO_ROOM)
            *error = make_room(scheduler, shard);
        else if (admitted == ELAPSE__ADMIT_NO_WALL_CLOCK_WHEEL)
            *error = make_wall_clock_wheel(scheduler, shard);
        else
            return admitted;
        if (*error != ELAPSE_OK)
            return ELAPSE__ADMIT_REFUSED;
    }
}

/* What is left to do after the lock. Unless it was kept away, the task may have run by now and
 * taken its description with it: that is not looked at any more. */
static void conclude(struct elapse_scheduler *scheduler, struct elapse__admission *admission,
                     enum elapse__admitted admitted)
{
    elapse_destroy_function *destroy = NULL;
    void *context = NULL;
    if (admitted == ELAPSE__ADMIT_KEPT) {
        destroy = admission->task->destroy;
        context = admission->task->context;
    }
    if (admitted == ELAPSE__ADMITTED)
        elapse__announce(scheduler, admission->wall_clock
                                        ? (struct elapse__ticks){ELAPSE_NEVER, admission->tick}
                                        : (struct elapse__ticks){admission->tick, ELAPSE_NEVER});
    if (admission->plain)
        return;
    discard(scheduler, admission);
    elapse__let_go(scheduler, &admission->replaced);
    elapse__destroy(scheduler, destroy, context);
}

static enum elapse_error schedule_plain(struct elapse_scheduler *scheduler,
                                        const struct elapse_task *task, uint64_t deadline_ns,
                                        struct elapse_handle *handle)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    struct elapse__shard *shard = elapse__shard_of_thread(scheduler);
    enum elapse_error error = ELAPSE_OK;
    struct elapse__plain_admission admission = {
        .task = task,
        .tick = elapse__tick_of_deadline(deadline_ns, tick_ns),
        .latest_tick = latest_tick(task, deadline_ns, tick_ns),
    };
    elapse__shard_lock(shard);
    while (elapse__shard_admit_plain(shard, &admission, &error) == ELAPSE__ADMIT_NO_ROOM) {
        error = make_room(scheduler, shard);
        if (error != ELAPSE_OK)
            break;
    }
    if (handle != NULL && error == ELAPSE_OK)
        *handle = admission.handle;
    elapse__shard_unlock(shard);
    if (error == ELAPSE_OK)
        elapse__announce(scheduler, (struct elapse__ticks){admission.tick, ELAPSE_NEVER});
    return error;
}

static enum elapse_error schedule(struct elapse_scheduler *scheduler,
                                  const struct elapse_task *task, struct deadline deadline,
                                  struct elapse_handle *handle)
{
    struct elapse__admission admission;
    struct elapse__shard *shard;
    if (is_plain(task, deadline.wall_clock) && valid(scheduler, task, deadline.wall_clock))
        return schedule_plain(scheduler, task, deadline.ns, handle);
    enum elapse_error error = prepare_admission(scheduler, task, deadline, &admission, &shard);
    if (error != ELAPSE_OK)
        return error;
    elapse__shard_lock(shard);
    enum elapse__admitted admitted = admit(scheduler, shard, &admission, &error);
    /* Under the lock: before the action can begin. */
    if (handle != NULL && (error == ELAPSE_OK || error == ELAPSE_ERROR_KEY_PENDING))
        *handle = admission.handle;
    elapse__shard_unlock(shard);
    conclude(scheduler, &admission, admitted);
    return error;
}

enum elapse_error elapse_task_schedule_at(struct elapse_scheduler *scheduler,
                                          const struct elapse_task *task, uint64_t deadline_ns,
                                          struct elapse_handle *handle)
{
    return schedule(scheduler, task, (struct deadline){deadline_ns, false}, handle);
}

enum elapse_error elapse_task_schedule_at_wall_clock(struct elapse_scheduler *scheduler,
                                                     const struct elapse_task *task,
                                                     uint64_t unix_ns, struct elapse_handle *handle)
{
    if (task->recurrence != ELAPSE_RECUR_NEVER)
        return ELAPSE_ERROR_ARGUMENT;
    return schedule(scheduler, task, (struct deadline){unix_ns, true}, handle);
}

enum elapse_error elapse_task_schedule_cron(struct elapse_scheduler *scheduler,
                                            const struct elapse_task *task,
                                            struct elapse_handle *handle)
{
    struct deadline first = {.wall_clock = true};
    if (task->cron == NULL || !valid(scheduler, task, true) ||
        !elapse__cron_next_ns(task->cron, task->zone, elapse_scheduler_wall_clock_ns(scheduler),
                              &first.ns))
        return ELAPSE_ERROR_ARGUMENT;
    return schedule(scheduler, task, first, handle);
}

enum elapse_error elapse_task_schedule_after(struct elapse_scheduler *scheduler,
                                             const struct elapse_task *task, uint64_t delay_ns,
                                             struct elapse_handle *handle)
{
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    return elapse_task_schedule_at(scheduler, task, elapse_deadline_after(now_ns, delay_ns),
                                   handle);
}

/* ---- batches ---- */

/* A task of a batch on its way. */
struct batched {
    struct elapse__admission admission;
    struct elapse__shard *shard; /* NULL: it is done with */
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

/* Admits all tasks of the shard of the first of them that has one, in their order. */
static void admit_shard(struct elapse_scheduler *scheduler, struct elapse_batch_task *tasks,
                        struct batched *batched, size_t count)
{
    struct elapse__shard *shard = batched[0].shard;
    elapse__shard_lock(shard);
    prefetch_keys(shard, batched, count);
    for (size_t i = 0; i < count; i++) {
        if (batched[i].shard != shard)
            continue;
        batched[i].admitted = admit(scheduler, shard, &batched[i].admission, &tasks[i].error);
        if (tasks[i].error == ELAPSE_OK || tasks[i].error == ELAPSE_ERROR_KEY_PENDING)
            tasks[i].handle = batched[i].admission.handle;
    }
    elapse__shard_unlock(shard);
    for (size_t i = 0; i < count; i++) {
        if (batched[i].shard != shard)
            continue;
        batched[i].shard = NULL;
        conclude(scheduler, &batched[i].admission, batched[i].admitted);
    }
}

static void schedule_some(struct elapse_scheduler *scheduler, struct elapse_batch_task *tasks,
                          size_t count)
{
    struct batched batched[BATCHED_AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        tasks[i].error = prepare_admission(scheduler, &tasks[i].task,
                                           (struct deadline){tasks[i].deadline_ns, false},
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
