#include "wall_clock_wheel.h"

#include "../base/assert.h"
#include "recurrence.h"
#include "ticks.h"

struct elapse_wheel *elapse__wall_clock_wheel_make(uint64_t now_tick,
                                                   const struct elapse_allocator *memory)
{
    struct elapse_wheel *wheel = elapse__allocate(memory, ELAPSE__LINE_BYTES, sizeof *wheel);
    if (wheel == NULL)
        return NULL;
    if (elapse_wheel_init(wheel, now_tick) == ELAPSE_OK)
        return wheel;
    elapse__release(memory, wheel, sizeof *wheel);
    return NULL;
}

/* Appends the task to the chain. Requires that its timer is idle. */
static void chain(struct elapse__wall_clock_wheel *wall_clock, struct elapse__task *task)
{
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_PENDING);
    ELAPSE__ASSERT(!elapse_timer_pending(&task->when.timer));
    task->extra->recurrence->unplaced = true;
    task->when.next = NULL;
    if (wall_clock->first == NULL)
        wall_clock->first = task;
    else
        wall_clock->last->when.next = task;
    wall_clock->last = task;
}

/* Takes the first task out of the chain. Requires that there is one. */
static struct elapse__task *unchain(struct elapse__wall_clock_wheel *wall_clock)
{
    struct elapse__task *task = wall_clock->first;
    ELAPSE__ASSERT(task != NULL);
    wall_clock->first = task->when.next;
    elapse_timer_init(&task->when.timer);
    return task;
}

void elapse__wall_clock_wheel_start(struct elapse__wall_clock_wheel *wall_clock,
                                    struct elapse__task *task, uint64_t tick)
{
    ELAPSE__ASSERT(wall_clock->wheel != NULL);
    ELAPSE__ASSERT(task->extra->recurrence->wall_clock);
    if (wall_clock->stage == ELAPSE__WALL_CLOCK_PLACING)
        chain(wall_clock, task); /* the task must stay behind the tasks that were started before */
    else
        elapse_wheel_start(wall_clock->wheel, &task->when.timer, tick);
    if (tick < atomic_load_explicit(&wall_clock->wake_tick, memory_order_relaxed))
        atomic_store(&wall_clock->wake_tick, tick);
}

void elapse__wall_clock_wheel_move(struct elapse__wall_clock_wheel *wall_clock,
                                   struct elapse__task *task, uint64_t tick)
{
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_PENDING);
    if (!task->extra->recurrence->unplaced) {
        if (elapse_timer_pending(&task->when.timer))
            (void)elapse_wheel_stop(wall_clock->wheel, &task->when.timer);
        elapse__wall_clock_wheel_start(wall_clock, task, tick);
        return;
    }
    /* The task stays in the chain, and will be placed by its new occurrence. */
    ELAPSE__ASSERT_THAT(wall_clock->stage, !=, ELAPSE__WALL_CLOCK_STEADY);
    if (tick < atomic_load_explicit(&wall_clock->wake_tick, memory_order_relaxed))
        atomic_store(&wall_clock->wake_tick, tick);
}

struct collecting {
    struct elapse__wall_clock_wheel *wall_clock;
    unsigned left;
};

static bool collect_timer(struct elapse_timer *timer, void *context)
{
    struct collecting *collecting = context;
    struct elapse__task *task = elapse__task_of(timer);
    (void)elapse_wheel_stop(collecting->wall_clock->wheel, timer);
    chain(collecting->wall_clock, task);
    return --collecting->left > 0;
}

static void place_task(struct elapse__wall_clock_wheel *wall_clock, struct elapse__task *task,
                       uint64_t tick_ns)
{
    struct elapse__recurrence *recurrence = task->extra->recurrence;
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_PENDING);
    ELAPSE__ASSERT(recurrence->unplaced);
    recurrence->unplaced = false;
    elapse_wheel_start(wall_clock->wheel, &task->when.timer,
                       elapse__tick_of_deadline(recurrence->occurrence_ns, tick_ns));
}

bool elapse__wall_clock_wheel_follow(struct elapse__wall_clock_wheel *wall_clock, uint64_t now_tick,
                                     uint64_t tick_ns, unsigned most,
                                     struct elapse__task_table *tasks)
{
    struct elapse_wheel *wheel = wall_clock->wheel;
    ELAPSE__ASSERT(wheel != NULL);
    ELAPSE__ASSERT_THAT(most, >, 0);
    if (wall_clock->stage == ELAPSE__WALL_CLOCK_STEADY) {
        if (now_tick >= elapse_wheel_now(wheel))
            return true;
        wall_clock->stage = ELAPSE__WALL_CLOCK_COLLECTING;
    }
    if (wall_clock->stage == ELAPSE__WALL_CLOCK_COLLECTING) {
        struct collecting collecting = {wall_clock, most};
        elapse_wheel_for_each(wheel, collect_timer, &collecting);
        if (elapse_wheel_count(wheel) > 0)
            return false;
        enum elapse_error error = elapse_wheel_init(wheel, now_tick);
        /* A wheel of the same shape was made before without an error. */
        ELAPSE__ASSERT_THAT(error, ==, ELAPSE_OK);
        (void)error;
        wall_clock->stage = ELAPSE__WALL_CLOCK_PLACING;
    }
    for (; most > 0 && wall_clock->first != NULL; most--) {
        struct elapse__task *task = unchain(wall_clock);
        if (task->state == ELAPSE__TASK_UNLINKING)
            elapse__task_table_give(tasks, task);
        else
            place_task(wall_clock, task, tick_ns);
    }
    if (wall_clock->first != NULL)
        return false;
    wall_clock->stage = ELAPSE__WALL_CLOCK_STEADY;
    return now_tick >= elapse_wheel_now(wheel);
}
