/*
 * Reads a structure with its public functions.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/message.h"
#include "../common/text.h"

/* ---- the structure ---- */

static enum elapse_error open_structure(struct show_wheel *show, uint64_t now, size_t count)
{
    const struct elapse_structure *structure = show->structure;
    const struct elapse_shape *shape = show->choice->shape;
    if (shape == NULL)
        shape = show_shape_default(structure);
    size_t bytes = structure->storage_bytes(shape, count + 1);

    show->instance = allocate(structure->instance_bytes);
    show->storage = bytes > 0 ? allocate(bytes) : NULL;
    enum elapse_error error =
        show_geometry_learn(&show->geometry, structure, shape, show->instance);
    if (error == ELAPSE_OK)
        error = structure->init(show->instance, shape, show->storage, bytes, now);
    return error;
}

static enum elapse_error start_timers(struct show_wheel *show, const uint64_t *deadlines,
                                      size_t count)
{
    enum elapse_error error = ELAPSE_OK;

    ELAPSE__ASSERT(count > 0);
    show->timer_count = count;
    show->timers = allocate((count + 1) * sizeof *show->timers);
    for (size_t i = 0; i < count && error == ELAPSE_OK; i++) {
        struct show_timer *timer = &show->timers[i];
        elapse_timer_init(&timer->timer);
        error = show->structure->start(show->instance, &timer->timer, deadlines[i]);
        timer->deadline = elapse_timer_deadline(&timer->timer);
    }
    return error;
}

/* Removes the levels that the dials have not grown. Requires that all timers are started. */
static void trim_geometry(struct show_wheel *show)
{
    const struct elapse_shape *shape = show->choice->shape;
    unsigned level_count = shape == NULL ? 0 : (unsigned)shape->levels - 1;

    if (shape == NULL || shape->growth == NULL)
        return;
    for (size_t i = 0; i < show->timer_count; i++) {
        unsigned level = show_dial_for(&show->geometry, show->started_at, show->timers[i].deadline);
        if (show->timers[i].deadline != ELAPSE_NEVER && level > level_count)
            level_count = level;
    }
    show->geometry.level_count = level_count + 1;
}

struct show_wheel *show_wheel_new(const struct structure_choice *choice, uint64_t now,
                                  uint64_t *deadlines, size_t count)
{
    struct show_wheel *show = allocate(sizeof *show);

    ELAPSE__ASSERT(count > 0);
    *show =
        (struct show_wheel){.choice = choice, .structure = choice->structure, .started_at = now};
    qsort(deadlines, count, sizeof *deadlines, compare_numbers);
    enum elapse_error error = open_structure(show, now, count);
    if (error == ELAPSE_OK)
        error = start_timers(show, deadlines, count);
    if (error != ELAPSE_OK) {
        print_error("%s", elapse_error_text(error));
        show_wheel_free(show);
        return NULL;
    }
    trim_geometry(show);
    return show;
}

void show_wheel_free(struct show_wheel *show)
{
    if (show->timers != NULL)
        show->structure->finish(show->instance);
    free(show->timers);
    free(show->instance);
    free(show->storage);
    free(show);
}

void show_wheel_advance(struct show_wheel *show, uint64_t now,
                        void (*fired)(struct show_timer *timer, void *context), void *context)
{
    struct elapse_timer *timer;

    ELAPSE__ASSERT(now <= ELAPSE_TIME_MAX);
    show->structure->advance(show->instance, now);
    while ((timer = show->structure->pop(show->instance)) != NULL) {
        if (fired != NULL)
            fired((struct show_timer *)timer, context);
    }
}

/* ---- snapshots ---- */

static void add_slot(const struct elapse_slot *slot, void *context)
{
    struct show_snapshot *snapshot = context;

    if (snapshot->slot_count == snapshot->slot_capacity) {
        snapshot->slot_capacity = 2 * snapshot->slot_capacity + 64;
        snapshot->slots =
            reallocate(snapshot->slots, snapshot->slot_capacity * sizeof *snapshot->slots);
    }
    ELAPSE__ASSERT(snapshot->slot_count < snapshot->slot_capacity);
    snapshot->slots[snapshot->slot_count++] = *slot;
}

/* Returns the occupied slot at this place, or slot_count if there is none. */
static size_t find_place(const struct show_snapshot *snapshot, struct show_place place)
{
    size_t begin = 0;
    size_t end = snapshot->slot_count;

    ELAPSE__ASSERT(snapshot->slot_count <= snapshot->slot_capacity);
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        const struct elapse_slot *slot = &snapshot->slots[middle];
        bool is_before =
            slot->level != place.level ? slot->level < place.level : slot->slot < place.slot;
        if (is_before)
            begin = middle + 1;
        else
            end = middle;
    }
    const struct elapse_slot *found = &snapshot->slots[begin];
    bool is_found =
        begin < snapshot->slot_count && found->level == place.level && found->slot == place.slot;
    return is_found ? begin : snapshot->slot_count;
}

/* Returns the first timer, in the order of deadlines, that is due at `tick` or later. */
static size_t first_timer_from(const struct show_wheel *show, uint64_t tick)
{
    size_t begin = 0;
    size_t end = show->timer_count;

    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (show->timers[middle].deadline < tick)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Finds the slot of each timer of a wheel. It is the slot that covers the timer's deadline, because
 * no timer is postponed here. While a slot is cascaded in steps, slots of two levels cover the same
 * deadlines. Then the oldest timers, which have the earliest deadlines here, are still in the slot
 * of the higher level. */
static void place_in_wheel(struct show_snapshot *snapshot, const struct show_wheel *show)
{
    ELAPSE__ASSERT(show->geometry.design == SHOW_WHEEL);
    for (size_t i = 0; i < show->timer_count; i++)
        snapshot->slot_of_timer[i] = snapshot->slot_count;
    for (size_t slot = snapshot->slot_count; slot-- > 0;) {
        const struct elapse_slot *placed = &snapshot->slots[slot];
        size_t left = placed->count;
        for (size_t i = first_timer_from(show, placed->least); i < show->timer_count; i++) {
            if (show->timers[i].deadline > placed->last_tick || left == 0)
                break;
            if (snapshot->slot_of_timer[i] < snapshot->slot_count)
                continue;
            snapshot->slot_of_timer[i] = slot;
            left--;
        }
    }
}

/* Finds the slot of each timer of dials. Parked timers are placed together, when the top dial comes
 * to the slot of the earliest of them (elapse/dials.h). */
static void place_in_dials(struct show_snapshot *snapshot, const struct show_wheel *show)
{
    const struct show_geometry *geometry = &show->geometry;
    uint64_t top_ticks = geometry->levels[geometry->level_count - 1].slot_ticks;
    uint64_t visit = show->started_at;

    ELAPSE__ASSERT(show->geometry.design == SHOW_DIALS);
    for (size_t i = 0; i < show->timer_count; i++) {
        uint64_t deadline = show->timers[i].deadline;
        struct show_place place = {geometry->level_count, 1};
        if (deadline != ELAPSE_NEVER) {
            if (show_dial_for(geometry, visit, deadline) == geometry->level_count)
                visit = deadline - deadline % top_ticks;
            place = visit > snapshot->now && visit > show->started_at
                        ? (struct show_place){geometry->level_count, 0}
                        : show_place_in_dials(geometry, visit, snapshot->now, deadline);
        }
        snapshot->slot_of_timer[i] = find_place(snapshot, place);
    }
}

/* Moves two slots of a hashed wheel to a level of their own. The dump of a hashed wheel has them
 * beside the ring. One has the timers that are due, and the other has the timers that are never
 * due. */
static void move_beyond_ring(struct show_snapshot *snapshot, const struct show_level *ring)
{
    for (size_t i = 0; i < snapshot->slot_count; i++) {
        if (snapshot->slots[i].slot < ring->slot_count)
            continue;
        snapshot->slots[i].level = 1;
        snapshot->slots[i].slot -= ring->slot_count;
    }
}

static void place_in_hashed(struct show_snapshot *snapshot, const struct show_wheel *show)
{
    ELAPSE__ASSERT(show->geometry.design == SHOW_HASHED);
    for (size_t i = 0; i < show->timer_count; i++) {
        uint64_t deadline = show->timers[i].deadline;
        const struct show_level *ring = &show->geometry.levels[0];
        struct show_place place = {0, show_slot_at(ring, deadline)};
        if (deadline <= snapshot->now)
            place = (struct show_place){1, 0};
        else if (deadline == ELAPSE_NEVER)
            place = (struct show_place){1, 1};
        snapshot->slot_of_timer[i] = find_place(snapshot, place);
    }
}

void show_snapshot_take(struct show_snapshot *snapshot, const struct show_wheel *show)
{
    const struct elapse_structure *structure = show->structure;

    snapshot->now = structure->now(show->instance);
    snapshot->next = structure->next(show->instance);
    snapshot->moves = structure->moves(show->instance);
    snapshot->pending = structure->count(show->instance);
    snapshot->slot_count = 0;
    structure->dump(show->instance, add_slot, snapshot);

    if (snapshot->slot_of_timer == NULL)
        snapshot->slot_of_timer = allocate((show->timer_count + 1) * sizeof(size_t));
    switch (show->geometry.design) {
    case SHOW_WHEEL:
        place_in_wheel(snapshot, show);
        break;
    case SHOW_DIALS:
        place_in_dials(snapshot, show);
        break;
    case SHOW_HASHED:
        move_beyond_ring(snapshot, &show->geometry.levels[0]);
        place_in_hashed(snapshot, show);
        break;
    }
    for (size_t i = 0; i < show->timer_count; i++) {
        if (!elapse_timer_pending(&show->timers[i].timer))
            snapshot->slot_of_timer[i] = snapshot->slot_count;
    }
}

void show_snapshot_free(struct show_snapshot *snapshot)
{
    free(snapshot->slots);
    free(snapshot->slot_of_timer);
    memset(snapshot, 0, sizeof *snapshot);
}

const struct elapse_slot *show_slot_of(const struct show_snapshot *snapshot, size_t timer)
{
    size_t slot = snapshot->slot_of_timer[timer];

    ELAPSE__ASSERT(slot <= snapshot->slot_count);
    return slot < snapshot->slot_count ? &snapshot->slots[slot] : NULL;
}

size_t show_slots_of_level(const struct show_snapshot *snapshot, unsigned level,
                           const struct elapse_slot **slots)
{
    size_t begin = 0;

    while (begin < snapshot->slot_count && snapshot->slots[begin].level < level)
        begin++;
    size_t end = begin;
    while (end < snapshot->slot_count && snapshot->slots[end].level == level)
        end++;
    *slots = snapshot->slots + begin;
    return end - begin;
}

/* ---- deadlines ---- */

struct show_deadlines show_deadlines_in(const struct show_wheel *show,
                                        const struct show_snapshot *snapshot,
                                        const struct elapse_slot *slot)
{
    ELAPSE__ASSERT(slot->count > 0);
    return (struct show_deadlines){show, snapshot, slot, first_timer_from(show, slot->least),
                                   slot->count};
}

bool show_deadlines_next(struct show_deadlines *deadlines, uint64_t *deadline, size_t *timers)
{
    const struct show_wheel *show = deadlines->show;
    size_t *next = &deadlines->next;

    if (deadlines->left == 0)
        return false;
    while (*next < show->timer_count && show_slot_of(deadlines->snapshot, *next) != deadlines->slot)
        ++*next;
    if (*next == show->timer_count)
        return false;
    *deadline = show->timers[*next].deadline;
    for (*timers = 0; *next < show->timer_count && show->timers[*next].deadline == *deadline;
         ++*next)
        *timers += show_slot_of(deadlines->snapshot, *next) == deadlines->slot;
    ELAPSE__ASSERT(*timers > 0);
    deadlines->left -= *timers < deadlines->left ? *timers : deadlines->left;
    return true;
}
