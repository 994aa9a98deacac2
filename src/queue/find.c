/*
 * Finds the first jobs of a tube in an order. The buried jobs of a tube stand in a ring, in order.
 * The delayed jobs of one tube stand in no order: the wheels have the jobs of all tubes, and order
 * only the jobs that are due soon. So a pass over the table of jobs finds the soonest delayed jobs.
 * The pass keeps them in a heap. The first item of the heap is the job that is due last.
 */
#include "find.h"

#include "commands.h"

struct item {
    uint64_t late;
    uint64_t id;
};

static struct item item_at(const struct elapse__queue_first *first, uint32_t place)
{
    ELAPSE__ASSERT_THAT(place, <, first->count);
    return (struct item){first->late[place], first->ids[place]};
}

static void set_item(struct elapse__queue_first *first, uint32_t place, struct item item)
{
    ELAPSE__ASSERT_THAT(place, <, first->count);
    first->late[place] = item.late;
    first->ids[place] = item.id;
}

static bool comes_later(struct item one, struct item other)
{
    return one.late != other.late ? one.late > other.late : one.id > other.id;
}

static void sift_up(struct elapse__queue_first *first, struct item item)
{
    uint32_t place = first->count++;
    for (; place > 0 && comes_later(item, item_at(first, (place - 1) / 2)); place = (place - 1) / 2)
        set_item(first, place, item_at(first, (place - 1) / 2));
    set_item(first, place, item);
}

/* Puts an item in the place of the first one of a heap of `count` items. */
static void sift_down(struct elapse__queue_first *first, uint32_t count, struct item item)
{
    uint32_t place = 0;
    for (uint32_t child = 1; child < count; child = 2 * place + 1) {
        if (child + 1 < count && comes_later(item_at(first, child + 1), item_at(first, child)))
            child++;
        if (!comes_later(item_at(first, child), item))
            break;
        set_item(first, place, item_at(first, child));
        place = child;
    }
    set_item(first, place, item);
}

/* Turns the heap into a sorted list. The soonest item is the first one. */
static void sort(struct elapse__queue_first *first)
{
    for (uint32_t left = first->count; left > 1; left--) {
        struct item last = item_at(first, 0);
        struct item moved = item_at(first, left - 1);
        sift_down(first, left - 1, moved);
        set_item(first, left - 1, last);
    }
}

/* Returns when a delayed job is due. The result is on one scale for both clocks. */
static uint64_t order_of_due(const struct elapse__queue *queue,
                             const struct elapse__queue_entry *entry)
{
    return entry->timer.deadline - elapse__queue_present(queue, elapse__queue_by_wall(entry)) +
           elapse__queue_present(queue, false);
}

static bool find_soonest(const struct elapse__queue *queue, const struct elapse__queue_tube *tube,
                         struct elapse__queue_first *first, uint32_t places)
{
    for (; tube->counts[ELAPSE__QUEUE_DELAYED] > 0 && first->cursor + 1 < queue->jobs.fresh;
         places--) {
        if (places == 0)
            return false;
        const struct elapse__queue_entry *entry =
            elapse__queue_entry_at(&queue->jobs, ++first->cursor);
        if (elapse__queue_state_of(entry) != ELAPSE__QUEUE_DELAYED ||
            !elapse__queue_is_in(queue, entry, tube))
            continue;
        struct item item = {order_of_due(queue, entry), elapse__queue_id(entry)};
        if (first->count < first->most)
            sift_up(first, item);
        else if (comes_later(item_at(first, 0), item))
            sift_down(first, first->count, item);
    }
    sort(first);
    return true;
}

static void find_newest(const struct elapse__queue_tube *tube, struct elapse__queue_first *first)
{
    const struct elapse__ring_node *node = tube->buried.previous;
    for (; node != &tube->buried && first->count < first->most; node = node->previous) {
        const struct elapse__queue_entry *entry = elapse__queue_entry_of(elapse__ring_timer(node));
        ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_BURIED);
        first->ids[first->count++] = elapse__queue_id(entry);
    }
}

bool elapse__queue_find_first(struct elapse__queue *queue, struct elapse__queue_now now,
                              struct elapse__queue_first *first, uint32_t places)
{
    ELAPSE__ASSERT(queue->open);
    ELAPSE__ASSERT(first->most > 0 && first->most <= ELAPSE__QUEUE_FIRST_MAX);
    ELAPSE__ASSERT_THAT(places, >, 0U);
    elapse__queue_take_now(queue, now);
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, first->tube);
    if (tube == NULL) {
        first->count = 0;
        return true;
    }
    if (first->order == ELAPSE__QUEUE_SOONEST)
        return find_soonest(queue, tube, first, places);
    find_newest(tube, first);
    return true;
}

bool elapse__queue_find_key(struct elapse__queue *queue, struct elapse__queue_now now,
                            struct elapse__queue_text key, uint32_t *cursor, uint32_t *most,
                            struct elapse__queue_view *view)
{
    elapse__queue_take_now(queue, now);
    for (struct elapse__queue_text tube; *most > 0;) {
        tube = elapse__queue_tubes(queue, cursor, most);
        if (tube.size == 0)
            return false;
        const struct elapse__queue_entry *entry =
            elapse__queue_key_find(queue, elapse__queue_key_hash(queue, tube, key), false);
        if (entry != NULL) {
            elapse__queue_fill_view(queue, entry, view);
            return true;
        }
    }
    return false;
}

/* ---- the holders of leases ---- */

uint32_t elapse__queue_names(const struct elapse__queue *queue)
{
    return queue->names.fresh > 0 ? queue->names.fresh : 1;
}

static void add_tube(struct elapse__queue_holding *holding, uint32_t tube)
{
    for (uint32_t i = 0; i < holding->tube_count; i++)
        if (holding->tubes[i] == tube)
            return;
    if (holding->tube_count < ELAPSE__QUEUE_HOLDING_TUBES)
        holding->tubes[holding->tube_count++] = tube;
}

static void add_lease(const struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                      struct elapse__queue_holding *holdings, uint32_t count)
{
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    ELAPSE__ASSERT(side != NULL);
    uint32_t number = side->connection == NULL ? side->holder : side->connection->name;
    struct elapse__queue_holding *holding = &holdings[number < count ? number : 0];
    uint64_t ttr_ms = elapse__queue_profile_of(queue, entry)->ttr_ms;
    uint64_t left_ms =
        side->begun ? elapse__queue_left(queue, queue->now, entry->timer.deadline) : ttr_ms;
    uint64_t lasted_ms = ttr_ms > left_ms ? ttr_ms - left_ms : 0;

    holding->leases++;
    add_tube(holding, elapse__queue_tube_of(queue, entry)->number);
    if (lasted_ms > holding->oldest_ms)
        holding->oldest_ms = lasted_ms;
}

bool elapse__queue_find_holders(struct elapse__queue *queue, struct elapse__queue_now now,
                                uint32_t *cursor, uint32_t places,
                                struct elapse__queue_holding *holdings, uint32_t count)
{
    ELAPSE__ASSERT_THAT(count, >, 0U);
    elapse__queue_take_now(queue, now);
    for (; queue->totals.reserved > 0 && *cursor + 1 < queue->jobs.fresh; places--) {
        if (places == 0)
            return false;
        const struct elapse__queue_entry *entry = elapse__queue_entry_at(&queue->jobs, ++*cursor);
        if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_RESERVED)
            add_lease(queue, entry, holdings, count);
    }
    return true;
}

struct elapse__queue_text elapse__queue_name_at(const struct elapse__queue *queue, uint32_t number)
{
    if (number == 0 || number >= queue->names.fresh)
        return (struct elapse__queue_text){NULL, 0};
    const struct elapse__queue_name *name = elapse__queue_slab_at(&queue->names, number);
    return name->references == 0 ? (struct elapse__queue_text){NULL, 0}
                                 : (struct elapse__queue_text){name->text, name->size};
}

struct elapse__queue_text elapse__queue_holding_tube(const struct elapse__queue *queue,
                                                     uint32_t number)
{
    if (number == 0 || number >= queue->tubes.fresh)
        return (struct elapse__queue_text){NULL, 0};
    const struct elapse__queue_place *place = elapse__queue_place_at(queue, number);
    if (place->kind != ELAPSE__QUEUE_PLACE_TUBE)
        return (struct elapse__queue_text){NULL, 0};
    return (struct elapse__queue_text){place->at.tube->name, place->at.tube->name_size};
}
