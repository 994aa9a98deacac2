/*
 * Chooses which ready job of a tube is handed out next. In a tube without groups it is the one with
 * the least (priority, id). In a tube with groups the groups take turns:
 *
 *      turns->heap       the groups that may run, by (priority of the first job, turn)
 *         |
 *         +-- group      its ready jobs by (priority, id): up to four numbers of entries inside,
 *         |              in their order; otherwise a heap
 *         +-- group 0    the jobs without a group: the heap of the tube
 *
 * A turn is a number that grows. A group draws one when it gets its first ready job, and after each
 * hand-out. So among groups whose first jobs have one priority, the one that has waited for the
 * longest time comes first. A group whose last ready job leaves loses its turn.
 *
 * A group is blocked while as many of its jobs run as the tube allows each group, or while its
 * bucket has no token. It is in no heap then, and keeps its turn. It comes back when one of its
 * jobs ends to run, or by the alarm of its bucket. In a tube whose groups have an order, a job that
 * runs or waits for a retry blocks its group.
 */
#include "tables.h"

#include <string.h>

/* A tube's turns, as the owner of their heap. */
struct turning_tube {
    struct elapse__queue *queue;
    struct elapse__queue_turns *turns;
};

static uint32_t *place_of(const struct turning_tube *tube, uint32_t number)
{
    return number == 0 ? &tube->turns->place : &elapse__queue_group_at(tube->queue, number)->place;
}

static void move_group(void *owner, uint32_t number, uint32_t place)
{
    *place_of(owner, number) = place;
}

/* ---- the ready jobs of one group ---- */

static struct elapse__queue_heap_item item_of(const struct elapse__queue_entry *entry)
{
    return (struct elapse__queue_heap_item){
        .id = elapse__queue_id(entry),
        .priority = entry->priority,
        .entry = elapse__queue_number(entry),
    };
}

static struct elapse__queue_heap_item inside_item(const struct elapse__queue *queue,
                                                  const struct elapse__queue_group *group,
                                                  uint32_t place)
{
    return item_of(elapse__queue_entry_at(&queue->jobs, group->jobs.inside[place]));
}

/* Moves the jobs of a group from inside into a heap with room for one more, beside those that room
 * is kept for. Returns false if there is no memory. */
static bool begin_heap(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    struct elapse__queue_heap *heap =
        elapse__allocate_locked(&queue->memory, _Alignof(struct elapse__queue_heap), sizeof *heap);
    if (heap == NULL)
        return false;
    elapse__queue_heap_init(heap);
    if (!elapse__queue_heap_reserve(heap, group->ready + group->kept + 1, &queue->memory)) {
        elapse__queue_heap_free(heap, &queue->memory); /* it may have grown in part */
        elapse__release_locked(&queue->memory, heap, sizeof *heap);
        return false;
    }
    for (uint32_t place = 0; place < group->ready; place++)
        elapse__queue_heap_push(heap, &queue->jobs,
                                elapse__queue_entry_at(&queue->jobs, group->jobs.inside[place]));
    group->jobs.heap = heap;
    group->has_heap = true;
    return true;
}

/* Moves the jobs of a heap inside. Requires that there are at most two, so that a count that goes
 * up and down does not allocate each time. */
static void end_heap(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    struct elapse__queue_heap *heap = group->jobs.heap;
    uint32_t entries[2] = {0, 0};
    ELAPSE__ASSERT_THAT(heap->count, <=, 2u);
    for (uint32_t i = 0; i < heap->count; i++)
        entries[i] = elapse__queue_heap_at(heap, i)->entry;
    elapse__queue_heap_free(heap, &queue->memory);
    elapse__release_locked(&queue->memory, heap, sizeof *heap);
    memcpy(group->jobs.inside, entries, sizeof entries);
    group->has_heap = false;
}

static void add_to_group(struct elapse__queue *queue, struct elapse__queue_group *group,
                         struct elapse__queue_entry *entry)
{
    struct elapse__queue_heap_item item = item_of(entry);
    uint32_t place = group->ready++;
    if (group->has_heap) {
        elapse__queue_heap_push(group->jobs.heap, &queue->jobs, entry);
        return;
    }
    ELAPSE__ASSERT_THAT(place, <, ELAPSE__QUEUE_GROUP_INSIDE);
    for (; place > 0; place--) {
        struct elapse__queue_heap_item before = inside_item(queue, group, place - 1);
        if (elapse__queue_heap_before(&before, &item))
            break;
        group->jobs.inside[place] = group->jobs.inside[place - 1];
    }
    group->jobs.inside[place] = item.entry;
}

static void remove_from_group(struct elapse__queue *queue, struct elapse__queue_group *group,
                              struct elapse__queue_entry *entry)
{
    uint32_t number = elapse__queue_number(entry);
    uint32_t place = 0;
    ELAPSE__ASSERT_THAT(group->ready, >, 0);
    group->ready--;
    if (group->has_heap) {
        elapse__queue_heap_remove(group->jobs.heap, &queue->jobs, entry, &queue->memory);
        if (group->ready == 2 && group->kept == 0)
            end_heap(queue, group);
        return;
    }
    while (place < group->ready && group->jobs.inside[place] != number)
        place++;
    ELAPSE__ASSERT_THAT(group->jobs.inside[place], ==, number);
    for (; place < group->ready; place++)
        group->jobs.inside[place] = group->jobs.inside[place + 1];
}

/* ---- the turns of a tube ---- */

bool elapse__queue_turns_reserve(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    struct elapse__queue_turns *turns = tube->turns;
    if (turns == NULL) {
        turns = elapse__allocate_locked(&queue->memory, _Alignof(struct elapse__queue_turns),
                                        sizeof *turns);
        if (turns == NULL)
            return false;
        *turns = (struct elapse__queue_turns){
            .tube = tube->number,
            .place = ELAPSE__QUEUE_NO_PLACE,
        };
        elapse__queue_heap_init(&turns->heap);
    }
    /* One for each group, the new one, and the jobs without a group. */
    uint64_t items = (uint64_t)turns->groups + 2;
    bool has_room = elapse__queue_chunks_reserve(&turns->heap.items, items, &queue->memory);
    if (tube->turns == NULL && !has_room) {
        elapse__queue_heap_free(&turns->heap, &queue->memory); /* it may have grown in part */
        elapse__release_locked(&queue->memory, turns, sizeof *turns);
        return false;
    }
    if (tube->turns == NULL && tube->ready.count > 0) {
        struct turning_tube turning = {queue, turns};
        turns->turn = ++turns->drawn;
        elapse__queue_heap_push_item(
            &turns->heap, &turning, move_group,
            (struct elapse__queue_heap_item){
                .id = turns->turn, .priority = elapse__queue_heap_first(&tube->ready)->priority});
    }
    tube->turns = turns;
    return has_room;
}

void elapse__queue_turns_free(const struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    if (tube->turns == NULL)
        return;
    elapse__queue_heap_free(&tube->turns->heap, &queue->memory);
    elapse__release_locked(&queue->memory, tube->turns, sizeof *tube->turns);
    tube->turns = NULL;
}

void elapse__queue_turns_trim(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    enum { SPARE = 1 << 9 };
    struct elapse__queue_turns *turns = tube->turns;
    if (elapse__queue_is_moving(tube))
        return; /* the end of the move trims them */
    if (turns->groups == 0)
        elapse__queue_turns_free(queue, tube);
    else if (elapse__queue_chunks_items(&turns->heap.items) >= (uint64_t)turns->groups + 1 + SPARE)
        elapse__queue_chunks_shrink(&turns->heap.items, &queue->memory);
}

/* Returns the first ready job of a group; NULL: of the jobs without a group. */
static struct elapse__queue_heap_item first_of_group(const struct elapse__queue *queue,
                                                     const struct elapse__queue_tube *tube,
                                                     const struct elapse__queue_group *group)
{
    if (group == NULL)
        return *elapse__queue_heap_first(&tube->ready);
    ELAPSE__ASSERT_THAT(group->ready, >, 0);
    return group->has_heap ? *elapse__queue_heap_first(group->jobs.heap)
                           : inside_item(queue, group, 0);
}

struct elapse__queue_heap_item elapse__queue_first_of_turns(const struct elapse__queue *queue,
                                                            const struct elapse__queue_tube *tube)
{
    ELAPSE__ASSERT_THAT(tube->turns->heap.count, >, 0);
    uint32_t number = elapse__queue_heap_first(&tube->turns->heap)->entry;
    return first_of_group(queue, tube, number == 0 ? NULL : elapse__queue_group_at(queue, number));
}

uint64_t elapse__queue_group_overdue_ms(const struct elapse__queue *queue,
                                        const struct elapse__queue_tube *tube,
                                        const struct elapse__queue_group *group,
                                        struct elapse__queue_now now)
{
    if (group->ready == 0)
        return 0;
    const struct elapse__queue_entry *entry =
        elapse__queue_entry_at(&queue->jobs, first_of_group(queue, tube, group).entry);
    uint64_t present = elapse__queue_by_wall(entry) ? elapse__queue_wall_tick(now.wall_ms)
                                                    : elapse__queue_boot_tick(now.boot_ms);
    uint64_t due = entry->timer.deadline;
    return present > due ? present - due : 0;
}

/* Counts anew how many ready jobs of a group may run. Returns whether any may. NULL: the jobs
 * without a group. */
static bool count_may_run(const struct elapse__queue *queue, struct elapse__queue_tube *tube,
                          struct elapse__queue_group *group)
{
    if (group == NULL)
        return tube->ready.count > 0;
    uint64_t places = elapse__queue_group_lets_run(queue, tube, group);
    uint32_t may_run = places < group->ready ? (uint32_t)places : group->ready;
    ELAPSE__ASSERT_THAT(tube->turns->may_run, >=, group->may_run);
    tube->turns->may_run += may_run;
    tube->turns->may_run -= group->may_run;
    group->may_run = may_run;
    return may_run > 0;
}

/* Puts a group where it belongs in the heap of its tube, whatever has changed. NULL: the jobs
 * without a group. */
static void place_group(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                        struct elapse__queue_group *group)
{
    struct elapse__queue_turns *turns = tube->turns;
    struct turning_tube turning = {queue, turns};
    uint32_t number = group == NULL ? 0 : group->number;
    uint32_t *place = place_of(&turning, number);
    bool stands = count_may_run(queue, tube, group);
    struct elapse__queue_heap_item item = {.entry = number};
    if (stands) {
        item.id = group == NULL ? turns->turn : group->turn;
        item.priority = first_of_group(queue, tube, group).priority;
    }
    if (*place != ELAPSE__QUEUE_NO_PLACE) {
        const struct elapse__queue_heap_item *old = elapse__queue_heap_at(&turns->heap, *place);
        ELAPSE__ASSERT_THAT(old->entry, ==, number);
        if (stands && old->id == item.id && old->priority == item.priority)
            return;
        elapse__queue_heap_remove_at(&turns->heap, &turning, move_group, *place);
        *place = ELAPSE__QUEUE_NO_PLACE;
    }
    if (stands)
        elapse__queue_heap_push_item(&turns->heap, &turning, move_group, item);
}

static void stand(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                  struct elapse__queue_group *group)
{
    place_group(queue, tube, group);
    if (tube->record != NULL)
        elapse__queue_count_held(queue, tube);
}

static void draw(struct elapse__queue_turns *turns, struct elapse__queue_group *group)
{
    *(group == NULL ? &turns->turn : &group->turn) = ++turns->drawn;
}

bool elapse__queue_turns_ready_reserve(struct elapse__queue *queue,
                                       struct elapse__queue_group *group)
{
    if (group->has_heap)
        return elapse__queue_heap_reserve(group->jobs.heap, 1, &queue->memory);
    return group->ready < ELAPSE__QUEUE_GROUP_INSIDE || begin_heap(queue, group);
}

bool elapse__queue_turns_keep(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    bool is_inside = !group->has_heap;
    if (is_inside && group->ready + group->kept >= ELAPSE__QUEUE_GROUP_INSIDE) {
        if (!begin_heap(queue, group))
            return false;
    } else if (!is_inside &&
               !elapse__queue_heap_reserve(group->jobs.heap, group->kept + 1u, &queue->memory))
        return false;
    group->kept++;
    if (group->has_heap)
        group->jobs.heap->kept = group->kept;
    return true;
}

void elapse__queue_turns_unkeep(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    ELAPSE__ASSERT_THAT(group->kept, >, 0);
    group->kept--;
    if (group->has_heap)
        elapse__queue_heap_unkeep(group->jobs.heap, &queue->memory);
    if (group->has_heap && group->kept == 0 && group->ready <= 2)
        end_heap(queue, group);
}

void elapse__queue_turns_add(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                             struct elapse__queue_entry *entry)
{
    struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    if (group == NULL)
        elapse__queue_heap_push(&tube->ready, &queue->jobs, entry);
    else
        add_to_group(queue, group, entry);
    if ((group == NULL ? tube->ready.count : group->ready) == 1)
        draw(tube->turns, group);
    stand(queue, tube, group);
}

void elapse__queue_turns_remove(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                struct elapse__queue_entry *entry)
{
    struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    if (group == NULL)
        elapse__queue_heap_remove(&tube->ready, &queue->jobs, entry, &queue->memory);
    else
        remove_from_group(queue, group, entry);
    stand(queue, tube, group);
}

void elapse__queue_turns_pass(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                              const struct elapse__queue_entry *entry)
{
    struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    draw(tube->turns, group);
    stand(queue, tube, group);
}

void elapse__queue_turns_stand(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                               const struct elapse__queue_entry *entry)
{
    if (tube->turns != NULL)
        stand(queue, tube, elapse__queue_group_of(queue, tube, entry));
}

void elapse__queue_turns_place(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                               struct elapse__queue_group *group)
{
    place_group(queue, tube, group);
}

bool elapse__queue_turns_let_run(const struct elapse__queue *queue,
                                 const struct elapse__queue_tube *tube,
                                 const struct elapse__queue_entry *entry)
{
    const struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    if (group == NULL || !elapse__queue_is_ordered(tube))
        return elapse__queue_group_lets_run(queue, tube, group) > 0;
    bool is_retry = elapse__queue_is_retry(queue, entry);
    return !elapse__queue_is_moving(tube) &&
           group->running + group->retries == (is_retry ? 1u : 0u) &&
           elapse__queue_group_tokens(queue, tube, group) > 0 &&
           (elapse__queue_state_of(entry) != ELAPSE__QUEUE_READY ||
            first_of_group(queue, tube, group).entry == elapse__queue_number(entry));
}
