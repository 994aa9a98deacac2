#include "calendar.h"

#include "../structures/assert.h"
#include "recurrence.h"
#include "ticks.h"

struct elapse_wheel *elapse__calendar_wheel_make(uint64_t now_tick,
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

/* As the last of the chain. Its timer is idle. */
static void chain(struct elapse__calendar *calendar, struct elapse__task *task)
{
    task->extra->recurrence->unplaced = true;
    task->when.next = NULL;
    if (calendar->first == NULL)
        calendar->first = task;
    else
        calendar->last->when.next = task;
    calendar->last = task;
}

static struct elapse__task *unchain(struct elapse__calendar *calendar)
{
    struct elapse__task *task = calendar->first;
    calendar->first = task->when.next;
    elapse_timer_init(&task->when.timer);
    return task;
}

void elapse__calendar_start(struct elapse__calendar *calendar, struct elapse__task *task,
                            uint64_t tick)
{
    if (calendar->stage == ELAPSE__CALENDAR_PLACING)
        chain(calendar, task); /* behind those that were started before */
    else
        elapse_wheel_start(calendar->wheel, &task->when.timer, tick);
    if (tick < atomic_load_explicit(&calendar->wake_tick, memory_order_relaxed))
        atomic_store(&calendar->wake_tick, tick);
}

struct collecting {
    struct elapse__calendar *calendar;
    unsigned left;
};

static bool collect_timer(struct elapse_timer *timer, void *context)
{
    struct collecting *collecting = context;
    struct elapse__task *task = elapse__task_of(timer);
    (void)elapse_wheel_stop(collecting->calendar->wheel, timer);
    chain(collecting->calendar, task);
    return --collecting->left > 0;
}

static void place_task(struct elapse__calendar *calendar, struct elapse__task *task,
                       uint64_t tick_ns)
{
    struct elapse__recurrence *recurrence = task->extra->recurrence;
    recurrence->unplaced = false;
    elapse_wheel_start(calendar->wheel, &task->when.timer,
                       elapse__tick_of_deadline(recurrence->occurrence_ns, tick_ns));
}

bool elapse__calendar_follow(struct elapse__calendar *calendar, uint64_t now_tick, uint64_t tick_ns,
                             unsigned most, struct elapse__task_table *tasks)
{
    struct elapse_wheel *wheel = calendar->wheel;
    if (calendar->stage == ELAPSE__CALENDAR_STEADY) {
        if (now_tick >= elapse_wheel_now(wheel))
            return true;
        calendar->stage = ELAPSE__CALENDAR_COLLECTING;
    }
    if (calendar->stage == ELAPSE__CALENDAR_COLLECTING) {
        struct collecting collecting = {calendar, most};
        elapse_wheel_for_each(wheel, collect_timer, &collecting);
        if (elapse_wheel_count(wheel) > 0)
            return false;
        enum elapse_error error = elapse_wheel_init(wheel, now_tick);
        ELAPSE__ASSERT(error == ELAPSE_OK); /* it could be made before */
        (void)error;
        calendar->stage = ELAPSE__CALENDAR_PLACING;
    }
    for (; most > 0 && calendar->first != NULL; most--) {
        struct elapse__task *task = unchain(calendar);
        if (task->state == ELAPSE__TASK_LEAVING)
            elapse__task_table_give(tasks, task);
        else
            place_task(calendar, task, tick_ns);
    }
    if (calendar->first != NULL)
        return false;
    calendar->stage = ELAPSE__CALENDAR_STEADY;
    return now_tick >= elapse_wheel_now(wheel);
}
