#include "due_list.h"

#include "../base/assert.h"
#include "shard_deadline.h"

static struct elapse__due_list *list_of(struct elapse__shard *shard,
                                        const struct elapse__task *task)
{
    return elapse__by_wall_clock(task) ? &shard->due_by_wall_clock : &shard->due_by_monotonic;
}

/* Returns the task of this index. Requires that the task is in a list. */
static struct elapse__task *at(struct elapse__shard *shard, uint32_t index)
{
    struct elapse__task *task = elapse__task_table_at(&shard->tasks, index);
    ELAPSE__ASSERT(task != NULL);
    ELAPSE__ASSERT(elapse__is_in_due_list(task));
    return task;
}

/* Returns whether the task is older than the first task of the list. A task that has waited for its
 * key, or that makes up for missed occurrences, can be older than tasks that became due before it.
 * A task without extra fields can do neither. */
static bool precedes_first(struct elapse__shard *shard, const struct elapse__due_list *list,
                           const struct elapse__task *task)
{
    return task->extra != NULL && elapse__shard_deadline_ns(shard, task) <
                                      elapse__shard_deadline_ns(shard, at(shard, list->first));
}

void elapse__due_list_add(struct elapse__shard *shard, struct elapse__task *task)
{
    struct elapse__due_list *list = list_of(shard, task);
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT(elapse__is_in_due_list(task));
    ELAPSE__ASSERT((list->first == ELAPSE__NO_TASK) == (list->last == ELAPSE__NO_TASK));
    if (list->first == ELAPSE__NO_TASK) {
        task->when.due.previous = ELAPSE__NO_TASK;
        task->when.due.next = ELAPSE__NO_TASK;
        list->first = task->index;
        list->last = task->index;
    } else if (precedes_first(shard, list, task)) {
        task->when.due.previous = ELAPSE__NO_TASK;
        task->when.due.next = list->first;
        at(shard, list->first)->when.due.previous = task->index;
        list->first = task->index;
    } else {
        task->when.due.previous = list->last;
        task->when.due.next = ELAPSE__NO_TASK;
        at(shard, list->last)->when.due.next = task->index;
        list->last = task->index;
    }
}

void elapse__due_list_remove(struct elapse__shard *shard, struct elapse__task *task)
{
    struct elapse__due_list *list = list_of(shard, task);
    const uint32_t previous = task->when.due.previous;
    const uint32_t next = task->when.due.next;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT(elapse__is_in_due_list(task));
    ELAPSE__ASSERT((previous == ELAPSE__NO_TASK) == (list->first == task->index));
    ELAPSE__ASSERT((next == ELAPSE__NO_TASK) == (list->last == task->index));
    if (previous == ELAPSE__NO_TASK)
        list->first = next;
    else
        at(shard, previous)->when.due.next = next;
    if (next == ELAPSE__NO_TASK)
        list->last = previous;
    else
        at(shard, next)->when.due.previous = previous;
}

static uint64_t later_of(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* Returns how late the first task of the list is at this time. */
static uint64_t overdue_in_list(const struct elapse__shard *shard,
                                const struct elapse__due_list *list, uint64_t now_ns)
{
    if (list->first == ELAPSE__NO_TASK)
        return 0;
    const struct elapse__task *first = elapse__task_table_at(&shard->tasks, list->first);
    uint64_t deadline_ns = elapse__shard_deadline_ns(shard, first);
    return now_ns > deadline_ns ? now_ns - deadline_ns : 0;
}

/* Returns how late the first timer of the wheel is at this time. */
static uint64_t overdue_in_wheel(const struct elapse__shard *shard,
                                 const struct elapse_wheel *wheel, uint64_t now_ns)
{
    uint64_t next_ns = elapse__tick_begins_ns(elapse_wheel_next(wheel), shard->tick_ns);
    return now_ns > next_ns ? now_ns - next_ns : 0;
}

uint64_t elapse__oldest_overdue_ns(const struct elapse__shard *shard, uint64_t now_ns,
                                   uint64_t wall_clock_ns)
{
    const struct elapse__wall_clock_wheel *wall_clock = &shard->wall_clock;
    if (shard->pending == 0)
        return 0; /* the wheel may hold only timers of tasks that have ended */
    uint64_t oldest_ns = overdue_in_list(shard, &shard->due_by_monotonic, now_ns);
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    oldest_ns = later_of(oldest_ns, overdue_in_wheel(shard, &shard->wheel, now_ns));
    oldest_ns =
        later_of(oldest_ns, overdue_in_list(shard, &shard->due_by_wall_clock, wall_clock_ns));
    /* While the wheel is built anew, because the wall clock was set back, its next tick tells
     * nothing. */
    if (wall_clock->wheel != NULL && wall_clock->stage == ELAPSE__WALL_CLOCK_STEADY)
        oldest_ns = later_of(oldest_ns, overdue_in_wheel(shard, wall_clock->wheel, wall_clock_ns));
    return oldest_ns;
}
