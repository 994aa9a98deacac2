/*
 * Gathering what is shown, by the wheel's public functions alone.
 */
#include "show_model.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "text.h"

/* ---- geometry ---- */

static void note_level(const struct elapse_slot *slot, void *context)
{
    struct show_geometry *geometry = context;

    geometry->levels[slot->level].slot_ticks = slot->last_tick - slot->first_tick + 1;
    if (slot->level >= geometry->level_count)
        geometry->level_count = slot->level + 1;
}

/* A wheel at tick 0 has each level begin at some power of two; a level has as
 * many slots as its successor's are wider. */
static bool learn_geometry(struct show_geometry *geometry, struct elapse_wheel *wheel)
{
    struct elapse_timer timers[SHOW_LEVELS_MAX];

    memset(geometry, 0, sizeof *geometry);
    enum elapse_error error = elapse_wheel_init(wheel, 0);
    if (error != ELAPSE_OK) {
        print_error("%s", elapse_error_text(error));
        return false;
    }
    for (unsigned bit = 0; bit < SHOW_LEVELS_MAX; bit++) {
        elapse_timer_init(&timers[bit]);
        elapse_wheel_start(wheel, &timers[bit], UINT64_C(1) << bit);
    }
    elapse_wheel_dump(wheel, note_level, geometry);

    struct show_level *level = geometry->levels;
    for (unsigned number = 1; number < geometry->level_count; number++, level++)
        level->slot_count = (unsigned)(level[1].slot_ticks / level->slot_ticks);
    level->slot_count = (unsigned)(UINT64_MAX / level->slot_ticks + 1);
    return true;
}

/* ---- the wheel ---- */

struct show_wheel *show_wheel_new(uint64_t now, uint64_t *deadlines, size_t count)
{
    struct show_wheel *show = allocate(sizeof *show);

    if (!learn_geometry(&show->geometry, &show->wheel) ||
        elapse_wheel_init(&show->wheel, now) != ELAPSE_OK) {
        free(show);
        return NULL;
    }
    qsort(deadlines, count, sizeof *deadlines, compare_numbers);
    show->timer_count = count;
    show->timers = allocate((count + 1) * sizeof *show->timers);
    for (size_t i = 0; i < count; i++) {
        struct show_timer *timer = &show->timers[i];
        elapse_timer_init(&timer->timer);
        elapse_wheel_start(&show->wheel, &timer->timer, deadlines[i]);
        timer->deadline = elapse_timer_deadline(&timer->timer);
    }
    return show;
}

void show_wheel_free(struct show_wheel *show)
{
    free(show->timers);
    free(show);
}

/* ---- snapshots ---- */

static void add_slot(const struct elapse_slot *slot, void *context)
{
    struct show_snapshot *snapshot = context;

    if (snapshot->slot_count == snapshot->slot_capacity) {
        snapshot->slot_capacity = 2 * snapshot->slot_capacity + 64;
        struct elapse_slot *larger =
            realloc(snapshot->slots, snapshot->slot_capacity * sizeof *larger);
        if (larger == NULL)
            out_of_memory();
        snapshot->slots = larger;
    }
    snapshot->slots[snapshot->slot_count++] = *slot;
}

void show_snapshot_take(struct show_snapshot *snapshot, const struct show_wheel *show)
{
    snapshot->now = elapse_wheel_now(&show->wheel);
    snapshot->next = elapse_wheel_next(&show->wheel);
    snapshot->moves = elapse_wheel_moves(&show->wheel);
    snapshot->pending = elapse_wheel_count(&show->wheel);
    snapshot->slot_count = 0;
    elapse_wheel_dump(&show->wheel, add_slot, snapshot);
}

void show_snapshot_free(struct show_snapshot *snapshot)
{
    free(snapshot->slots);
    memset(snapshot, 0, sizeof *snapshot);
}

const struct elapse_slot *show_slot_of(const struct show_snapshot *snapshot, uint64_t tick)
{
    for (size_t i = 0; i < snapshot->slot_count; i++) {
        const struct elapse_slot *slot = &snapshot->slots[i];
        if (slot->first_tick <= tick && tick <= slot->last_tick)
            return slot;
    }
    return NULL;
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

/* The first timer, in the order of deadlines, that is due at `tick` or later. */
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

/* How many pending timers from number `i` on have the deadline of that one, in
 * `*count`. Returns the number of the first that has a later one. */
static size_t count_same_deadline(const struct show_wheel *show, size_t i, size_t *count)
{
    uint64_t deadline = show->timers[i].deadline;

    for (*count = 0; i < show->timer_count && show->timers[i].deadline == deadline; i++)
        *count += elapse_timer_pending(&show->timers[i].timer);
    return i;
}

struct show_deadlines show_deadlines_in(const struct show_wheel *show,
                                        const struct elapse_slot *slot)
{
    return (struct show_deadlines){show, first_timer_from(show, slot->first_tick), slot->count};
}

bool show_deadlines_next(struct show_deadlines *deadlines, uint64_t *deadline, size_t *timers)
{
    const struct show_wheel *show = deadlines->show;

    *timers = 0;
    while (*timers == 0) {
        if (deadlines->left == 0 || deadlines->next == show->timer_count)
            return false;
        *deadline = show->timers[deadlines->next].deadline;
        deadlines->next = count_same_deadline(show, deadlines->next, timers);
    }
    deadlines->left -= *timers < deadlines->left ? *timers : deadlines->left;
    return true;
}

/* ---- ranges ---- */

struct show_range show_level_span(const struct show_level *level, uint64_t now)
{
    /* The coarsest level spans all of time, 2^64 ticks, which is 0 here. */
    uint64_t ticks = level->slot_ticks * level->slot_count;
    uint64_t first = ticks == 0 ? 0 : now - now % ticks;

    return (struct show_range){first, first + (ticks - 1)};
}

unsigned show_slot_at(const struct show_level *level, uint64_t now)
{
    return (unsigned)(now / level->slot_ticks % level->slot_count);
}

struct show_range show_level_covers(const struct show_geometry *geometry, unsigned level,
                                    uint64_t now)
{
    struct show_range covered = show_level_span(&geometry->levels[level], now);

    if (level == 0) {
        covered.first = now;
        return covered;
    }
    uint64_t covered_below = show_level_span(&geometry->levels[level - 1], now).last;
    if (covered_below == covered.last)
        return (struct show_range){1, 0};
    covered.first = covered_below + 1;
    return covered;
}
