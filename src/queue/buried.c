/*
 * Keeps the buried jobs of a tube in a ring, in the order in which they were buried. Says when the
 * limits of the tube drop the first of these jobs.
 *
 * The record of a buried job says when the job was buried. The records that earlier versions of the
 * program have written do not. The jobs of such records stand before all others in the ring. They
 * count as buried when the first of the other jobs was buried. If there is no other job, they count
 * as buried when the queue was opened. So no job is dropped too early.
 */
#include "tables.h"

/* The number of jobs is always less than 2^RUNS. */
enum { RUNS = 32 };

static struct elapse__queue_side *side_at(const struct elapse__queue *queue,
                                          const struct elapse__ring_node *node)
{
    struct elapse_timer *timer = elapse__ring_timer((struct elapse__ring_node *)(uintptr_t)node);
    struct elapse__queue_side *side = elapse__queue_side_of(queue, elapse__queue_entry_of(timer));
    ELAPSE__ASSERT(side != NULL);
    return side;
}

uint64_t elapse__queue_drop_tick(const struct elapse__queue *queue,
                                 const struct elapse__queue_tube *tube)
{
    const struct elapse__queue_settings *settings = &tube->record->settings;
    ELAPSE__ASSERT_THAT(tube->buried_recurring, <=, tube->counts[ELAPSE__QUEUE_BURIED]);
    uint64_t count = tube->counts[ELAPSE__QUEUE_BURIED] - tube->buried_recurring;
    if (count == 0)
        return ELAPSE_NEVER;
    if (settings->buried != 0 && count > settings->buried)
        return elapse__queue_present(queue, false);
    if (settings->buried_age_ms == 0)
        return ELAPSE_NEVER;
    return side_at(queue, tube->buried.next)->buried + settings->buried_age_ms;
}

void elapse__queue_expect_drop(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                               uint64_t soonest)
{
    if (tube->record == NULL)
        return;
    struct elapse_timer *timer = &tube->record->buried.timer;
    uint64_t tick = elapse__queue_drop_tick(queue, tube);
    if (tick < soonest)
        tick = soonest;
    (void)elapse_wheel_stop(&queue->clocks.alarms, timer);
    if (tick != ELAPSE_NEVER)
        elapse_wheel_start(&queue->clocks.alarms, timer, tick);
}

/* ---- the end of a replay ---- */

static bool is_sorted(const struct elapse__queue *queue, const struct elapse__ring_node *ring)
{
    uint64_t last = 0;
    for (const struct elapse__ring_node *node = ring->next; node != ring; node = node->next) {
        uint64_t tick = side_at(queue, node)->buried;
        if (tick < last)
            return false;
        last = tick;
    }
    return true;
}

/* Merges two sorted lists. If two jobs are equal, the job of the first list comes first. */
static struct elapse__ring_node *merge(const struct elapse__queue *queue,
                                       struct elapse__ring_node *one,
                                       struct elapse__ring_node *other)
{
    struct elapse__ring_node *merged = NULL;
    struct elapse__ring_node **end = &merged;
    while (one != NULL && other != NULL) {
        struct elapse__ring_node **first =
            side_at(queue, one)->buried <= side_at(queue, other)->buried ? &one : &other;
        *end = *first;
        *first = (*first)->next;
        end = &(*end)->next;
    }
    *end = one != NULL ? one : other;
    return merged;
}

/* Sorts the ring. The list `runs[n]` is empty or has 2^n jobs. These jobs stood in the ring before
 * the jobs of the lists with smaller numbers. */
static void sort(const struct elapse__queue *queue, struct elapse__ring_node *ring)
{
    struct elapse__ring_node *runs[RUNS] = {NULL};
    struct elapse__ring_node *next = ring->next;
    ring->previous->next = NULL;
    while (next != NULL) {
        struct elapse__ring_node *list = next;
        unsigned run = 0;
        next = next->next;
        list->next = NULL;
        for (; runs[run] != NULL; run++) {
            list = merge(queue, runs[run], list);
            runs[run] = NULL;
            ELAPSE__ASSERT_THAT(run, <, RUNS - 1U);
        }
        runs[run] = list;
    }
    struct elapse__ring_node *sorted = NULL;
    for (unsigned run = 0; run < RUNS; run++)
        sorted = merge(queue, runs[run], sorted);
    elapse__ring_init(ring);
    while (sorted != NULL) {
        struct elapse__ring_node *node = sorted;
        sorted = sorted->next;
        elapse__ring_append(ring, node);
    }
}

void elapse__queue_open_buried(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    struct elapse__ring_node *ring = &tube->buried;
    uint64_t present = elapse__queue_present(queue, false);
    if (elapse__ring_empty(ring))
        return;
    if (!is_sorted(queue, ring))
        sort(queue, ring);
    /* If the wall clock was set back, a job may have been buried at a time that has not come yet.
     */
    struct elapse__ring_node *node = ring->previous;
    for (; node != ring && side_at(queue, node)->buried > present; node = node->previous)
        side_at(queue, node)->buried = present;
    uint64_t first = present;
    for (node = ring->next; node != ring; node = node->next) {
        if (side_at(queue, node)->buried == ELAPSE__QUEUE_BURIED_UNKNOWN)
            continue;
        first = side_at(queue, node)->buried;
        break;
    }
    for (node = ring->next; node != ring; node = node->next) {
        if (side_at(queue, node)->buried != ELAPSE__QUEUE_BURIED_UNKNOWN)
            break;
        side_at(queue, node)->buried = first;
    }
    elapse__queue_expect_drop(queue, tube, 0);
}

bool elapse__queue_buried_fit(const struct elapse__queue *queue,
                              const struct elapse__queue_tube *tube)
{
    const struct elapse__ring_node *node = tube->buried.next;
    uint64_t last = 0;
    uint64_t recurring = 0;
    for (; node != &tube->buried; node = node->next) {
        const struct elapse__queue_side *side = side_at(queue, node);
        if (side->buried < last || side->buried > elapse__queue_present(queue, false))
            return false;
        last = side->buried;
        recurring += side->recurrence != NULL;
    }
    if (recurring != tube->buried_recurring)
        return false;
    bool drops = tube->record != NULL && elapse__queue_drop_tick(queue, tube) != ELAPSE_NEVER;
    return !drops || elapse_timer_pending(&tube->record->buried.timer);
}
