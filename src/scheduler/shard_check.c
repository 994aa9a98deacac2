/*
 * Tests what must hold of a shard whenever its lock is released. Only builds with assertions test
 * this.
 *
 * Each task is in one of the states of task.h. `key` and `recurrence` stand for what its extra
 * names, "-" for nothing:
 *
 *      state       timer           key->pending   key->running     runs_again, cancelled
 *      FREE        in the list of its block        (no other field means anything)
 *      UNLINKING   in the wheel or the chain       (no other field means anything)
 *      PENDING     in a wheel or   the task       another task,    none
 *                  in the chain                   or -
 *      WAITING     idle            the task       another task,    none
 *                                                 or - and a destructor uses the key
 *      QUEUED      idle            the task       -                none
 *      RUNNING,    idle            the task if    the task         runs_again or cancelled or
 *      FINISHING                   runs_again                      neither; `replaced` only if
 *                                                                  cancelled
 *
 * Only a RUNNING or FINISHING task has a recurrence with a change that was noted and not applied.
 *
 * Invariants of a shard, tested at every release of the lock:
 *  1. `running` and `pending` are not greater than the number of places that tasks have had. A
 *     running task counts in `running`. It counts in `pending`, too, while it will run again.
 *  2. If `pending_of_all` is counted, it is not less than `pending`.
 *  3. Unless the shard is closed, wake_tick is not later than the next tick of the wheel. The same
 *     is true of the wall-clock wheel while it is STEADY. cascade_tick is NEVER unless the shard
 *     cascades ahead.
 *  4. Each place of the unlinking ring is empty or holds a task that is UNLINKING. The timer of
 *     such a task is in the wheel.
 *  5. The chain of the wall-clock wheel is empty while that wheel is STEADY or does not exist.
 *  6. The key index has at least its first buckets, `level` is a power of two, and `split` is
 *     below it.
 *
 * 17. Every action that has begun has returned or is running.
 *
 * Invariants that need a walk through all tasks:
 *  7. Each task has the fields that the table above gives for its state.
 *  8. `pending` counts the tasks that are PENDING, WAITING or QUEUED, and the running tasks that
 *     will run again. `running` counts the tasks that are RUNNING or FINISHING.
 *  9. Both wheels together hold the timers of all PENDING and UNLINKING tasks that are not in the
 *     chain, and no other timers.
 * 10. A task in the chain is UNLINKING, or PENDING and `unplaced`. A task that is `unplaced` is in
 *     the chain.
 * 11. The index holds as many keys as the tasks name. Keys that only a destructor uses come on top.
 * 12. wake_tick is not later than the deadline of any PENDING task, by the clock of that task. For
 *     a wall-clock deadline this holds while the wheel is STEADY and has not reached the deadline.
 * 13. `used` of a block counts the tasks that are not FREE, and those that have no generation left.
 *     The block's list of free tasks holds all other tasks at places that were used.
 * 14. A block that has room is in the list of blocks with room. A block that has no memory for
 * tasks is in the list of blocks given back. No block is in both lists.
 *
 * 18. The two lists of due tasks hold the tasks that are WAITING or QUEUED. Each task is in the
 * list of its clock.
 * 19. The list of leases is in the order of expiry. Its leases have an `until_tick` and belong to
 *     RUNNING tasks. A lease that is not in the list has no `until_tick`. Unless the shard is
 *     closed, wake_tick is not later than the first expiry.
 *
 * Invariants that need a walk through both wheels and all keys:
 * 15. elapse_wheel_check finds nothing in either wheel.
 * 16. Each key is in the bucket of its hash. Each key names a pending or a running task, or a
 *     destructor still uses the key.
 *
 * A walk takes a time proportional to the number of tasks. So it is done at every release while
 * tasks are few, and otherwise once for every sixteenth of them: on average a release examines 16
 * tasks. Every 64th walk examines the wheels and the keys too.
 */
#include "../base/assert.h"
#include "due_list.h"

#ifdef ELAPSE__ASSERTIONS

/* ThreadSanitizer makes each read of a walk many times as slow, so a build with it walks less
 * often. */
#ifdef __SANITIZE_THREAD__
enum { TASKS_FOR_EACH_RELEASE = 2 };
#else
enum { TASKS_FOR_EACH_RELEASE = 16 };
#endif
enum { WALKS_FOR_EACH_OF_WHEELS = 64 };

/* What a walk through the tasks finds. */
struct census {
    uint64_t pending;
    uint64_t running;
    uint64_t due; /* tasks that are WAITING or QUEUED */
    uint64_t in_wheel;
    uint64_t in_wall_clock_wheel;
    uint64_t in_chain;  /* tasks that are PENDING and `unplaced` */
    uint64_t unlinking; /* tasks that are UNLINKING, in the ring or in the chain */
    uint64_t keys;
    uint64_t leases;
};

/* ---- at every release ---- */

static void check_counters(const struct elapse__shard *shard)
{
    ELAPSE__ASSERT_THAT(shard->begun, ==, shard->completed + shard->running); /* 17 */
    uint64_t places = (uint64_t)shard->tasks.block_count * ELAPSE__BLOCK_TASKS;
    ELAPSE__ASSERT_THAT(shard->running, <=, places);                    /* 1 */
    ELAPSE__ASSERT_THAT(shard->pending, <=, places);                    /* 1 */
    ELAPSE__ASSERT_THAT(elapse_wheel_count(&shard->wheel), <=, places); /* 9 */
    if (shard->pending_max != 0)                                        /* 2 */
        ELAPSE__ASSERT_THAT(atomic_load(shard->pending_of_all), >=, shard->pending);
}

static void check_wakes(const struct elapse__shard *shard)
{
    const struct elapse__wall_clock_wheel *wall_clock = &shard->wall_clock;
    if (shard->closed)
        return;
    ELAPSE__ASSERT_THAT(atomic_load(&shard->wake_tick), <=, elapse_wheel_next(&shard->wheel));
    if (!shard->cascades_ahead)
        ELAPSE__ASSERT_THAT(atomic_load(&shard->cascade_tick), ==, ELAPSE_NEVER);
    if (wall_clock->wheel != NULL && wall_clock->stage == ELAPSE__WALL_CLOCK_STEADY)
        ELAPSE__ASSERT_THAT(atomic_load(&wall_clock->wake_tick), <=,
                            elapse_wheel_next(wall_clock->wheel));
}

static void check_unlinking_ring(const struct elapse__shard *shard)
{
    ELAPSE__ASSERT_THAT(shard->oldest_unlinking, <, ELAPSE__UNLINKING_MAX);
    for (unsigned i = 0; i < ELAPSE__UNLINKING_MAX; i++) {
        const struct elapse__task *task = shard->unlinking[i];
        if (task == NULL)
            continue;
        ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_UNLINKING);
        ELAPSE__ASSERT(elapse_timer_pending(&task->when.timer));
    }
}

static void check_wall_clock_wheel(const struct elapse__wall_clock_wheel *wall_clock)
{
    if (wall_clock->wheel == NULL)
        ELAPSE__ASSERT_THAT(wall_clock->stage, ==, ELAPSE__WALL_CLOCK_STEADY);
    if (wall_clock->stage == ELAPSE__WALL_CLOCK_STEADY)
        ELAPSE__ASSERT(wall_clock->first == NULL);
}

static void check_key_index(const struct elapse__key_index *keys)
{
    ELAPSE__ASSERT_THAT(keys->level, >=, ELAPSE__FIRST_BUCKETS);
    ELAPSE__ASSERT((keys->level & (keys->level - 1)) == 0);
    ELAPSE__ASSERT_THAT(keys->split, <, keys->level);
    ELAPSE__ASSERT(keys->segments[0] == keys->first);
}

/* ---- tasks ---- */

/* Invariant 7 for a task whose action does not run; invariants 10 and 12. */
static void check_pending(const struct elapse__shard *shard, const struct elapse__task *task,
                          struct census *census)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    bool unplaced = recurrence != NULL && recurrence->unplaced;
    if (elapse__by_wall_clock(task)) {
        ELAPSE__ASSERT(recurrence != NULL);
        const struct elapse__wall_clock_wheel *wall_clock = &shard->wall_clock;
        uint64_t tick = elapse__tick_of_deadline(recurrence->occurrence_ns, shard->tick_ns);
        ELAPSE__ASSERT(wall_clock->wheel != NULL);
        if (wall_clock->stage == ELAPSE__WALL_CLOCK_STEADY &&
            tick > elapse_wheel_now(wall_clock->wheel))
            ELAPSE__ASSERT_THAT(atomic_load(&wall_clock->wake_tick), <=, tick);
        census->in_wall_clock_wheel += !unplaced;
        census->in_chain += unplaced;
    } else {
        ELAPSE__ASSERT(!unplaced);
        ELAPSE__ASSERT_THAT(atomic_load(&shard->wake_tick), <=,
                            elapse_timer_deadline(&task->when.timer));
        census->in_wheel++;
    }
    /* The link of the chain lies in the first bytes of the timer. The timer is idle meanwhile. */
    ELAPSE__ASSERT(elapse_timer_pending(&task->when.timer) == !unplaced);
}

/* Invariant 7. Returns whether the recurrence of the task has a change that was not applied yet. */
static bool is_to_change(const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    return recurrence != NULL && recurrence->changed;
}

/* Invariant 19. */
static bool has_begun_lease(const struct elapse__task *task)
{
    const struct elapse__lease *lease = elapse__lease_of(task);
    return lease != NULL && lease->until_tick > 0;
}

/* Invariant 7 for a task that is PENDING, WAITING or QUEUED. */
static void check_not_running(const struct elapse__shard *shard, const struct elapse__task *task,
                              struct census *census)
{
    const struct elapse__key *key = elapse__key_of(task);
    const struct elapse__task *other = key == NULL ? NULL : key->running;
    ELAPSE__ASSERT_THAT(task->runs_again, ==, 0);
    ELAPSE__ASSERT_THAT(task->cancelled, ==, 0);
    ELAPSE__ASSERT(task->extra == NULL || !task->extra->replaced);
    ELAPSE__ASSERT(!is_to_change(task));
    ELAPSE__ASSERT(!has_begun_lease(task));
    ELAPSE__ASSERT(key == NULL || key->pending == task);
    ELAPSE__ASSERT(other == NULL || (other != task && elapse__is_running(other)));
    if (task->state == ELAPSE__TASK_PENDING)
        check_pending(shard, task, census);
    else
        ELAPSE__ASSERT(!elapse_timer_pending(&task->when.timer));
    ELAPSE__ASSERT(task->state != ELAPSE__TASK_WAITING ||
                   (key != NULL && elapse__key_is_in_use(key)));
    ELAPSE__ASSERT(task->state != ELAPSE__TASK_QUEUED || other == NULL);
    census->pending++;
    census->due += task->state != ELAPSE__TASK_PENDING;
    census->keys += key != NULL;
}

/* Invariant 7 for a task that is RUNNING or FINISHING. */
static void check_running(const struct elapse__task *task, struct census *census)
{
    const struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT(!elapse_timer_pending(&task->when.timer));
    ELAPSE__ASSERT(!task->runs_again || !task->cancelled);
    ELAPSE__ASSERT(task->extra == NULL || !task->extra->replaced || task->cancelled);
    if (key != NULL) {
        ELAPSE__ASSERT(key->running == task);
        ELAPSE__ASSERT((key->pending == task) == (task->runs_again != 0));
        census->keys += key->pending == NULL || task->runs_again;
    }
    if (is_to_change(task))
        ELAPSE__ASSERT(elapse__recurrence_may_change(elapse__recurrence_of(task),
                                                     task->extra->recurrence->change.by_cron));
    census->leases += has_begun_lease(task);
    census->running++;
    census->pending += task->runs_again;
}

static void check_task(const struct elapse__shard *shard, const struct elapse__task *task,
                       struct census *census)
{
    switch ((enum elapse__task_state)task->state) {
    case ELAPSE__TASK_FREE:
        break;
    case ELAPSE__TASK_UNLINKING:
        census->unlinking++;
        break;
    case ELAPSE__TASK_PENDING:
    case ELAPSE__TASK_WAITING:
    case ELAPSE__TASK_QUEUED:
        check_not_running(shard, task, census);
        break;
    case ELAPSE__TASK_RUNNING:
    case ELAPSE__TASK_FINISHING:
        check_running(task, census);
        break;
    }
}

/* Invariants 7 and 13 for all tasks of a block. */
static void check_block(const struct elapse__shard *shard, uint32_t number, struct census *census)
{
    const struct elapse__task_block *block = elapse__task_block(&shard->tasks, number);
    const struct elapse__task *tasks = elapse__block_tasks(block);
    uint32_t used = 0;
    uint32_t listed = 0;
    ELAPSE__ASSERT_THAT(block->fresh, <=, ELAPSE__BLOCK_TASKS);
    for (uint32_t place = 0; place < block->fresh; place++) {
        const struct elapse__task *task = &tasks[place];
        bool has_generation = task->generation < UINT32_MAX;
        ELAPSE__ASSERT_THAT(task->index, ==, number << ELAPSE__BLOCK_BITS | place);
        ELAPSE__ASSERT_THAT(task->generation, >, 0);
        used += task->state != ELAPSE__TASK_FREE || !has_generation;
        check_task(shard, task, census);
    }
    for (const struct elapse__task *task = block->free; task != NULL; task = task->when.next) {
        ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_FREE);
        ELAPSE__ASSERT_THAT(task->generation, <, UINT32_MAX);
        listed++;
        ELAPSE__ASSERT_THAT(listed, <=, block->fresh);
    }
    ELAPSE__ASSERT_THAT(block->used, ==, used);
    ELAPSE__ASSERT_THAT(listed, ==, block->fresh - used);
}

/* Invariant 14. */
static void check_block_lists(const struct elapse__task_table *table)
{
    uint32_t with_room = 0;
    uint32_t given_back = 0;
    uint32_t previous = ELAPSE__NO_BLOCK;
    for (uint32_t number = table->with_room; number != ELAPSE__NO_BLOCK;) {
        const struct elapse__task_block *block = elapse__task_block(table, number);
        ELAPSE__ASSERT_THAT(number, <, table->block_count);
        ELAPSE__ASSERT(elapse__block_tasks(block) != NULL && elapse__block_has_room(block));
        ELAPSE__ASSERT_THAT(block->previous, ==, previous);
        with_room++;
        ELAPSE__ASSERT_THAT(with_room, <=, table->block_count);
        previous = number;
        number = block->next;
    }
    for (uint32_t number = table->given_back; number != ELAPSE__NO_BLOCK;) {
        const struct elapse__task_block *block = elapse__task_block(table, number);
        ELAPSE__ASSERT_THAT(number, <, table->block_count);
        ELAPSE__ASSERT(elapse__block_tasks(block) == NULL);
        given_back++;
        ELAPSE__ASSERT_THAT(given_back, <=, table->block_count);
        number = block->next;
    }
    for (uint32_t number = 0; number < table->block_count; number++) {
        const struct elapse__task_block *block = elapse__task_block(table, number);
        if (elapse__block_tasks(block) == NULL)
            given_back--;
        else if (elapse__block_has_room(block))
            with_room--;
    }
    ELAPSE__ASSERT_THAT(with_room, ==, 0);
    ELAPSE__ASSERT_THAT(given_back, ==, 0);
}

/* Invariant 10. Returns how many tasks of the chain are UNLINKING. */
static uint64_t check_chain(const struct elapse__wall_clock_wheel *wall_clock,
                            const struct census *census)
{
    uint64_t unlinking = 0;
    uint64_t unplaced = 0;
    const struct elapse__task *last = NULL;
    for (const struct elapse__task *task = wall_clock->first; task != NULL;
         task = task->when.next) {
        if (task->state == ELAPSE__TASK_UNLINKING) {
            unlinking++;
        } else {
            ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_PENDING);
            ELAPSE__ASSERT(elapse__recurrence_of(task)->unplaced);
            unplaced++;
        }
        ELAPSE__ASSERT_THAT(unlinking + unplaced, <=, census->in_chain + census->unlinking);
        last = task;
    }
    ELAPSE__ASSERT(last == NULL || wall_clock->last == last);
    ELAPSE__ASSERT_THAT(unplaced, ==, census->in_chain);
    return unlinking;
}

/* Invariant 19. */
static void check_leases(const struct elapse__shard *shard, const struct census *census)
{
    const struct elapse__lease *previous = NULL;
    uint64_t count = 0;
    if (shard->first_lease != NULL && !shard->closed)
        ELAPSE__ASSERT_THAT(atomic_load(&shard->wake_tick), <=, shard->first_lease->until_tick);
    for (const struct elapse__lease *lease = shard->first_lease; lease != NULL;
         lease = lease->next) {
        ELAPSE__ASSERT_THAT(lease->task->state, ==, ELAPSE__TASK_RUNNING);
        ELAPSE__ASSERT(elapse__lease_of(lease->task) == lease);
        ELAPSE__ASSERT(lease->previous == previous);
        ELAPSE__ASSERT(previous == NULL || previous->until_tick <= lease->until_tick);
        previous = lease;
        count++;
        ELAPSE__ASSERT_THAT(count, <=, shard->leases);
    }
    ELAPSE__ASSERT(shard->last_lease == previous);
    ELAPSE__ASSERT_THAT(count, ==, shard->leases);
    ELAPSE__ASSERT_THAT(count, ==, census->leases);
}

static void check_census(const struct elapse__shard *shard, const struct census *census)
{
    const struct elapse__wall_clock_wheel *wall_clock = &shard->wall_clock;
    uint64_t in_ring = 0;
    for (unsigned i = 0; i < ELAPSE__UNLINKING_MAX; i++)
        in_ring += shard->unlinking[i] != NULL;
    ELAPSE__ASSERT_THAT(shard->pending, ==, census->pending); /* 8 */
    ELAPSE__ASSERT_THAT(shard->running, ==, census->running); /* 8 */
    ELAPSE__ASSERT_THAT(elapse_wheel_count(&shard->wheel), ==, census->in_wheel + in_ring);
    if (wall_clock->wheel != NULL)
        ELAPSE__ASSERT_THAT(elapse_wheel_count(wall_clock->wheel), ==,
                            census->in_wall_clock_wheel); /* 9 */
    check_leases(shard, census);
    uint64_t in_chain = check_chain(wall_clock, census);
    ELAPSE__ASSERT_THAT(census->unlinking, ==, in_ring + in_chain);               /* 9 */
    ELAPSE__ASSERT_THAT(shard->keys.count, >=, census->keys);                     /* 11 */
    ELAPSE__ASSERT_THAT(shard->keys.count, <=, census->keys + shard->destroying); /* 11 */
}

/* Invariant 18. Returns how many tasks the list holds. */
static uint64_t check_due_list(const struct elapse__shard *shard,
                               const struct elapse__due_list *list, bool by_wall_clock,
                               uint64_t most)
{
    uint64_t count = 0;
    uint32_t previous = ELAPSE__NO_TASK;
    for (uint32_t index = list->first; index != ELAPSE__NO_TASK;) {
        const struct elapse__task *task = elapse__task_table_at(&shard->tasks, index);
        ELAPSE__ASSERT(task != NULL);
        ELAPSE__ASSERT(elapse__is_in_due_list(task));
        ELAPSE__ASSERT(elapse__by_wall_clock(task) == by_wall_clock);
        ELAPSE__ASSERT_THAT(task->when.due.previous, ==, previous);
        count++;
        ELAPSE__ASSERT_THAT(count, <=, most);
        previous = index;
        index = task->when.due.next;
    }
    ELAPSE__ASSERT_THAT(list->last, ==, previous);
    return count;
}

static void check_due_lists(const struct elapse__shard *shard, const struct census *census)
{
    uint64_t monotonic = check_due_list(shard, &shard->due_by_monotonic, false, census->due);
    uint64_t wall_clock = check_due_list(shard, &shard->due_by_wall_clock, true, census->due);
    ELAPSE__ASSERT_THAT(monotonic + wall_clock, ==, census->due);
}

/* ---- wheels and keys ---- */

/* Invariant 16. */
static void check_keys(const struct elapse__key_index *keys)
{
    size_t count = 0;
    for (size_t bucket = 0; bucket < keys->level + keys->split; bucket++) {
        const struct elapse__key *key = elapse__key_index_first(keys, bucket);
        for (; key != NULL; key = key->next) {
            ELAPSE__ASSERT_THAT(elapse__key_index_bucket(keys, key->hash), ==, bucket);
            ELAPSE__ASSERT(key->pending != NULL || elapse__key_is_in_use(key));
            count++;
            ELAPSE__ASSERT_THAT(count, <=, keys->count);
        }
    }
    ELAPSE__ASSERT_THAT(count, ==, keys->count);
}

static void check_wheels(const struct elapse__shard *shard)
{
    ELAPSE__ASSERT_THAT(elapse_wheel_check(&shard->wheel), ==, 0); /* 15 */
    if (shard->wall_clock.wheel != NULL)
        ELAPSE__ASSERT_THAT(elapse_wheel_check(shard->wall_clock.wheel), ==, 0);
    check_keys(&shard->keys);
}

/* ---- all of it ---- */

static void check_tasks(const struct elapse__shard *shard)
{
    struct census census = {0};
    for (uint32_t number = 0; number < shard->tasks.block_count; number++) {
        if (elapse__block_tasks(elapse__task_block(&shard->tasks, number)) != NULL)
            check_block(shard, number, &census);
    }
    check_block_lists(&shard->tasks);
    check_census(shard, &census);
    check_due_lists(shard, &census);
}

static void check_cheaply(const struct elapse__shard *shard)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    check_counters(shard);
    check_wakes(shard);
    check_unlinking_ring(shard);
    check_wall_clock_wheel(&shard->wall_clock);
    check_key_index(&shard->keys);
}

void elapse__shard_check(const struct elapse__shard *shard)
{
    check_cheaply(shard);
    check_tasks(shard);
    check_wheels(shard);
}

/* Returns how many tasks a walk goes through, at most. */
static uint64_t tasks_to_walk(const struct elapse__task_table *table)
{
    if (table->block_count == 1)
        return elapse__task_block(table, 0)->fresh;
    return (uint64_t)table->block_count * ELAPSE__BLOCK_TASKS;
}

void elapse__shard_check_at_release(struct elapse__shard *shard)
{
    check_cheaply(shard);
    shard->releases++;
    if (shard->releases * TASKS_FOR_EACH_RELEASE < tasks_to_walk(&shard->tasks))
        return;
    shard->releases = 0;
    check_tasks(shard);
    shard->walks++;
    if (shard->walks % WALKS_FOR_EACH_OF_WHEELS == 0)
        check_wheels(shard);
}

#endif
