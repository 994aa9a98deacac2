/*
 * The hierarchical timing wheel: pop, and cascades on demand and ahead of time. The head of wheel.c
 * explains blocks, the pointer, closed and populous slots, and both kinds of cascades.
 */
#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/ring.h"
#include "wheel_slots.h"

/* To work ahead, pop moves at once the shares of at most this many ticks, even if more ticks have
 * passed. */
enum { TICKS_MOST = 16 };

/* ---- moving ---- */

/* One walk of a cascade, along the ring of `slot`. */
struct walk {
    unsigned slot;
    unsigned lower_slots; /* the slots of lower levels have numbers below this one */
    uint32_t blocked;     /* bit l is set if level l is below the slot's level and has a closed slot
                             with timers */
    bool is_long;         /* the ring has so many timers that prefetching pays */
    /* The run: the timers that were moved last, one after the other, in front of the same slot.
     * They are neighbours in the new ring as they were in the old ring. So only the ends of the run
     * have to be linked: the newest timer when the run begins, and the oldest timer when it
     * ends. `run_slot` is that slot. If it is `slot`, no run has begun, because no timer moves to
     * its own slot. */
    unsigned run_slot;
    struct elapse__wheel_slot *run;
    struct elapse__ring_node *oldest;
};

/* Returns the bits of those levels, from level 1 up to the level below `level`, whose closed slot
 * has timers. */
static uint32_t blocked_levels(const struct elapse_wheel *wheel, unsigned level)
{
    uint64_t below = (UINT64_C(1) << elapse__wheel_first_slot(level) / 64) - 1;
    uint64_t words =
        wheel->occupied_words & below & ~((UINT64_C(1) << ELAPSE__WHEEL_LEVEL_0_SLOTS / 64) - 1);
    uint32_t blocked = 0;
    while (words != 0) {
        unsigned lower = elapse__wheel_lowest_level(words);
        uint64_t slot_ticks = UINT64_C(1) << elapse__wheel_shift(lower);
        unsigned closed = elapse__wheel_slot_on(lower, wheel->pointer + slot_ticks);
        if (elapse__bitmap_has(wheel->occupied, closed))
            blocked |= UINT32_C(1) << lower;
        words = elapse__wheel_words_above(words, lower);
    }
    return blocked;
}

/* Returns the slot to which a timer of the walk moves. A closed slot on the way down may have newer
 * timers with the same deadline, so the timer goes no further than into that slot. */
static inline unsigned slot_below(const struct elapse_wheel *wheel, const struct walk *walk,
                                  uint64_t deadline)
{
    for (uint32_t levels = walk->blocked; levels != 0;) {
        unsigned level = elapse__highest_bit(levels);
        unsigned shift = elapse__wheel_shift(level);
        if ((deadline >> shift) - (wheel->pointer >> shift) == 1)
            return elapse__wheel_slot_on(level, deadline);
        levels &= ~(UINT32_C(1) << level);
    }
    return elapse__wheel_slot_for(wheel, deadline);
}

/* Opens `slot` for a timer that is moved there, or lowers its least deadline. */
static inline struct elapse__wheel_slot *enter(struct elapse_wheel *wheel, unsigned slot,
                                               uint64_t deadline)
{
    struct elapse__wheel_slot *entered = elapse__wheel_slot_at(wheel, slot);
    if (elapse__ring_empty(&entered->timers))
        elapse__wheel_open_slot(wheel, slot, deadline);
    else if (deadline < entered->least)
        entered->least = deadline;
    return entered;
}

ELAPSE__COLD void elapse__wheel_mark_populous(struct elapse_wheel *wheel, unsigned slot)
{
    ELAPSE__ASSERT(elapse__bitmap_has(wheel->occupied, slot));
    if (slot < ELAPSE__WHEEL_LEVEL_0_SLOTS)
        return;
    elapse__bitmap_set(wheel->populous, slot);
    wheel->populous_words |= UINT64_C(1) << slot / 64;
    elapse__wheel_work_by(wheel, elapse__wheel_closing_tick(wheel, slot));
}

/* Puts a timer that was postponed into an open slot, as the newest timer. */
static inline void append_postponed(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                    unsigned slot, struct elapse__wheel_slot *entered)
{
    if (elapse__wheel_append(wheel, timer, slot, entered, timer->deadline))
        elapse__wheel_mark_populous(wheel, slot);
}

/* Ends the run, if there is a run: its oldest timer becomes the oldest timer of the new ring. */
static inline void end_run(struct walk *walk)
{
    if (walk->run_slot == walk->slot)
        return;
    walk->oldest->previous = &walk->run->timers;
    walk->run->timers.next = walk->oldest;
    walk->run_slot = walk->slot;
}

/* Begins a run with a timer that goes in front of an open slot of a lower level. */
static inline void begin_run(struct walk *walk, struct elapse_timer *timer, unsigned slot,
                             struct elapse__wheel_slot *entered)
{
    struct elapse__ring_node *second = entered->timers.next;
    ELAPSE__ASSERT(walk->run_slot == walk->slot);
    ELAPSE__ASSERT(slot < walk->lower_slots);
    timer->keep.ring_node.next = second;
    second->previous = &timer->keep.ring_node;
    walk->run_slot = slot;
    walk->run = entered;
}

/*
 * Puts a timer of the walk into the slot of its deadline. In a slot of a lower level the timer
 * becomes the oldest, because all timers there that have its deadline are newer. In any other slot
 * the timer becomes the newest: it was postponed, and older timers with its deadline may be there.
 */
static inline void move_timer(struct elapse_wheel *wheel, struct elapse_timer *timer,
                              struct walk *walk)
{
    uint64_t deadline = timer->deadline;
    ELAPSE__ASSERT(deadline >= wheel->pointer);
    unsigned slot = slot_below(wheel, walk, deadline);
    ELAPSE__ASSERT(slot != walk->slot);
    struct elapse__wheel_slot *entered = walk->run;
    if (slot != walk->run_slot) {
        end_run(walk);
        entered = enter(wheel, slot, deadline);
        if (slot >= walk->lower_slots) {
            append_postponed(wheel, timer, slot, entered);
            return;
        }
        begin_run(walk, timer, slot, entered);
    } else if (deadline < entered->least) {
        entered->least = deadline;
    }
    walk->oldest = &timer->keep.ring_node;
    uint64_t number = entered->entered++;
    if (slot < ELAPSE__WHEEL_LEVEL_0_SLOTS) {
        timer->place = elapse__place_on_trail(wheel, slot, number, timer);
    } else {
        timer->place = slot + 1;
        if (walk->is_long)
            elapse__leave_front_trail(wheel, slot, timer);
        if (number == ELAPSE__WHEEL_FEW)
            elapse__wheel_mark_populous(wheel, slot);
    }
    ELAPSE__ASSERT(elapse__wheel_slot_of(timer->place) == slot);
}

/*
 * Moves the timers of a slot above level 0 down, from the newest timer to the oldest, while
 * `*budget` lasts. Returns true when the slot is empty.
 */
static bool cascade_slot(struct elapse_wheel *wheel, unsigned slot, size_t *budget)
{
    unsigned level = elapse__wheel_level(slot);
    struct walk walk = {
        .slot = slot,
        .lower_slots = elapse__wheel_first_slot(level),
        .blocked = blocked_levels(wheel, level),
        .is_long = wheel->slots[slot].entered > ELAPSE__WHEEL_HINT_DISTANCE,
        .run_slot = slot,
    };
    struct elapse__ring_node *ring = &wheel->slots[slot].timers;
    struct elapse__ring_node *ring_node = ring->previous;
    size_t left = *budget;

    ELAPSE__ASSERT(level > 0);
    ELAPSE__ASSERT(ring_node != ring);
    if (left == 0)
        return false;
    if (walk.is_long && level > 1)
        elapse__claim_front_trails(wheel, slot);
    if ((wheel->begun >> level & 1) == 0) {
        wheel->begun |= UINT32_C(1) << level;
        elapse__prefetch_trail(wheel, slot);
    }
    for (; ring_node != ring && left > 0; left--) {
        struct elapse_timer *timer = elapse__ring_timer(ring_node);
        ELAPSE__ASSERT(elapse__wheel_slot_of(timer->place) == slot);
        if (walk.is_long)
            elapse__prefetch(timer->place);
        ring_node = ring_node->previous;
        move_timer(wheel, timer, &walk);
    }
    end_run(&walk);
    elapse__ring_close_behind(ring, ring_node);
    wheel->moves += *budget - left;
    wheel->slots[slot].entered -= *budget - left;
    *budget = left;
    if (ring_node != ring)
        return false;
    elapse__wheel_mark_empty(wheel, slot);
    return true;
}

/* ---- ahead of time ---- */

/* Returns the slot on the lowest level of those slots that are at the pointer and must be
 * cascaded. */
static unsigned cascading_slot(const struct elapse_wheel *wheel)
{
    unsigned slot = elapse__wheel_slot_on(elapse__lowest_bit(wheel->cascading), wheel->pointer);
    ELAPSE__ASSERT(slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS);
    ELAPSE__ASSERT(elapse__bitmap_has(wheel->occupied, slot));
    return slot;
}

/* Returns how many timers a slot has at most. It may have fewer, because timers that entered the
 * slot may have been stopped. */
static uint64_t timers_at_most(const struct elapse_wheel *wheel, unsigned slot)
{
    uint64_t entered = wheel->slots[slot].entered;
    uint64_t count = elapse_wheel_count(wheel);
    return entered < count ? entered : count;
}

/* Returns how many ticks are left to move the timers of a closed slot. On level 1, these are the
 * ticks up to the last tick before the slot. On higher levels, they are fewer by one slot of the
 * level below: the first slot there must get all of its timers before it is cascaded itself. */
static uint64_t ticks_left(const struct elapse_wheel *wheel, unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    uint64_t end = elapse__wheel_first_tick(wheel->pointer, slot);
    ELAPSE__ASSERT(end > wheel->clock);
    uint64_t ticks = end - wheel->clock;
    uint64_t spare = level > 1 ? UINT64_C(1) << elapse__wheel_shift(level - 1) : 0;
    return ticks > spare ? ticks - spare : ticks;
}

/* Returns when to go on with a slot that must be empty `left` ticks from now: as late as possible
 * if one batch is moved at each tick. Timers that are moved late are likely to be still in the
 * cache when they are popped, and more of them have been stopped or postponed by then. */
static uint64_t next_batch(const struct elapse_wheel *wheel, unsigned slot, uint64_t left)
{
    uint64_t batches = timers_at_most(wheel, slot) / ELAPSE__WHEEL_BATCH + 1;
    return wheel->clock + (left > batches ? left - batches : 1);
}

/*
 * Moves some timers of a slot that must be empty `left` ticks from now. If a batch at each tick
 * suffices, moves one batch. Otherwise moves an equal share of the timers for each tick that has
 * passed since the work on the slot was due.
 */
static void work_on(struct elapse_wheel *wheel, unsigned slot, uint64_t left, size_t *budget)
{
    uint64_t timers = timers_at_most(wheel, slot);
    size_t share = ELAPSE__WHEEL_BATCH;
    ELAPSE__ASSERT(left > 0);
    if (timers / ELAPSE__WHEEL_BATCH >= left) {
        uint64_t ticks = wheel->clock - wheel->ahead + 1;
        ticks = ticks > TICKS_MOST ? TICKS_MOST : ticks;
        share = (size_t)((timers / left + 1) * ticks);
    }
    share = share < *budget ? share : *budget;
    *budget -= share;
    (void)cascade_slot(wheel, slot, &share);
    *budget += share;
}

/* Returns the first populous slot of `level`. */
static unsigned first_populous(const struct elapse_wheel *wheel, unsigned level)
{
    return elapse__wheel_first_set(wheel, wheel->populous, level);
}

/* Returns the first tick at which a slot can be cascaded ahead; ELAPSE_NEVER if there is no such
 * slot. */
static uint64_t first_closing(const struct elapse_wheel *wheel)
{
    uint64_t first = ELAPSE_NEVER;
    for (uint64_t words = wheel->populous_words; words != 0;) {
        unsigned level = elapse__wheel_lowest_level(words);
        uint64_t tick = elapse__wheel_closing_tick(wheel, first_populous(wheel, level));
        first = tick < first ? tick : first;
        words = elapse__wheel_words_above(words, level);
    }
    return first;
}

/* Returns when work_ahead must be called next. Requires that no cascade is under way at the
 * pointer, and that the pointer is at the clock. */
static uint64_t next_work(const struct elapse_wheel *wheel)
{
    uint64_t next = ELAPSE_NEVER;
    ELAPSE__ASSERT(wheel->cascading == 0);
    ELAPSE__ASSERT(wheel->pointer == wheel->clock);
    for (uint64_t words = wheel->populous_words; words != 0;) {
        unsigned level = elapse__wheel_lowest_level(words);
        unsigned slot = first_populous(wheel, level);
        uint64_t tick = elapse__wheel_closing_tick(wheel, slot);
        if (tick <= wheel->clock)
            tick = next_batch(wheel, slot, ticks_left(wheel, slot));
        next = tick < next ? tick : next;
        words = elapse__wheel_words_above(words, level);
    }
    return next;
}

/*
 * Cascades some timers that will be needed later, and computes when to go on. Requires that no
 * timer is due. A slot at the pointer comes first, and then the closed populous slots, from the
 * lowest level on. Afterwards `ahead` is later than the clock, unless the pointer can go on; then
 * the function should be called again.
 */
static void work_ahead(struct elapse_wheel *wheel, size_t *budget)
{
    ELAPSE__ASSERT(wheel->least > wheel->clock);
    ELAPSE__ASSERT(wheel->ahead <= wheel->clock);
    if (wheel->cascading != 0) {
        unsigned slot = cascading_slot(wheel);
        work_on(wheel, slot, wheel->least - wheel->clock, budget);
        if (elapse__bitmap_has(wheel->occupied, slot))
            wheel->ahead = wheel->clock + 1;
        return;
    }
    ELAPSE__ASSERT(wheel->pointer == wheel->clock);
    for (uint64_t words = wheel->populous_words; words != 0;) {
        unsigned level = elapse__wheel_lowest_level(words);
        unsigned slot = first_populous(wheel, level);
        if (elapse__wheel_closing_tick(wheel, slot) <= wheel->clock) {
            uint64_t left = ticks_left(wheel, slot);
            if (next_batch(wheel, slot, left) == wheel->clock + 1)
                work_on(wheel, slot, left, budget);
        }
        words = elapse__wheel_words_above(words, level);
    }
    wheel->ahead = next_work(wheel);
    ELAPSE__ASSERT(wheel->ahead > wheel->clock);
}

/* ---- popping ---- */

/*
 * Returns the timer with the least deadline, if it is due and alone in its slot above level 0;
 * otherwise NULL. No slot on a higher level has that deadline, so no older timer has it. The timer
 * can be popped from where it is, and is never moved. The pointer does not move: in a sparse wheel
 * it would enter blocks of several levels for each timer. Later it can enter them all at once.
 */
static inline struct elapse_timer *alone_in_slot(const struct elapse_wheel *wheel)
{
    const struct elapse__ring_node *ring = &wheel->slots[wheel->least_slot].timers;
    if (wheel->least_slot < ELAPSE__WHEEL_LEVEL_0_SLOTS || ring->next != ring->previous ||
        wheel->least > wheel->clock)
        return NULL;
    if (elapse__ring_empty(ring))
        return NULL; /* the slot's timers were cascaded after `least` was found */
    struct elapse_timer *timer = elapse__ring_timer(ring->next);
    return timer->deadline == wheel->least ? timer : NULL;
}

/* Moves a timer of level 0 that was postponed and is found when its slot is popped. */
static void move_postponed(struct elapse_wheel *wheel, struct elapse_timer *timer)
{
    uint64_t deadline = timer->deadline;
    if (elapse__ring_remove(&timer->keep.ring_node))
        elapse__wheel_mark_empty(wheel, elapse__wheel_slot_of(timer->place));
    unsigned slot = elapse__wheel_slot_for(wheel, deadline);
    append_postponed(wheel, timer, slot, enter(wheel, slot, deadline));
    wheel->moves++;
}

/*
 * Finds the timer that is popped next, and stores it in `*due`; stores NULL if no timer is due.
 * Moves the timers that must be moved before, while `*budget` lasts. Returns false if the budget
 * did not suffice. If no timer is due, works ahead.
 */
static bool find_due(struct elapse_wheel *wheel, size_t *budget, struct elapse_timer **due)
{
    *due = NULL;
    for (; wheel->clock >= wheel->wake; elapse__wheel_find_least(wheel)) {
        uint64_t tick = wheel->least;
        *due = alone_in_slot(wheel);
        if (*due != NULL)
            return true;
        if (wheel->cascading == 0)
            elapse__wheel_set_pointer(wheel, tick < wheel->clock ? tick : wheel->clock);
        if (tick > wheel->clock) {
            work_ahead(wheel, budget);
            continue;
        }
        while (wheel->cascading != 0) {
            if (!cascade_slot(wheel, cascading_slot(wheel), budget)) {
                /* Other slots at the pointer may be empty by now, so `least` may be too early. */
                elapse__wheel_find_least(wheel);
                return false;
            }
        }
        unsigned slot = elapse__wheel_slot_on(0, tick);
        if (wheel->pointer != tick || !elapse__bitmap_has(wheel->occupied, slot))
            continue; /* the timer with that deadline was stopped or postponed */
        struct elapse_timer *oldest = elapse__ring_timer(wheel->slots[slot].timers.next);
        ELAPSE__ASSERT(elapse__wheel_slot_of(oldest->place) == slot);
        ELAPSE__ASSERT(oldest->deadline >= tick);
        elapse__prefetch(oldest->place);
        if (oldest->deadline == tick) {
            *due = oldest;
            return true;
        }
        /* The timer was postponed. */
        if (*budget == 0)
            return false;
        --*budget;
        move_postponed(wheel, oldest);
    }
    return true;
}

struct elapse_timer *elapse_wheel_pop_due(struct elapse_wheel *wheel)
{
    struct elapse_timer *due;
    size_t budget = SIZE_MAX;
    bool found = find_due(wheel, &budget, &due);
    ELAPSE__ASSERT(found);
    (void)found;
    if (due == NULL)
        return NULL;
    ELAPSE__ASSERT(due->deadline >= wheel->pointer);
    ELAPSE__ASSERT(due->deadline <= wheel->clock);
    ELAPSE__ASSERT(elapse_wheel_count(wheel) > 0);
    /* When the last timer of a slot is popped, the next wake-up is computed at once. This usually
     * spares the caller one call that would find nothing due. */
    if (elapse__ring_remove(&due->keep.ring_node)) {
        elapse__wheel_mark_empty(wheel, elapse__wheel_slot_of(due->place));
        elapse__wheel_find_least(wheel);
    }
    due->place = 0;
    wheel->popped++;
    return due;
}

bool elapse_wheel_cascade(struct elapse_wheel *wheel, size_t max_moves)
{
    struct elapse_timer *due;
    bool found = find_due(wheel, &max_moves, &due);
    ELAPSE__ASSERT(due == NULL || due->deadline <= wheel->clock);
    return found;
}

/* ---- functions for a caller that is about to sleep ---- */

uint64_t elapse_wheel_next_cascade(const struct elapse_wheel *wheel)
{
    if (wheel->cascading != 0)
        return wheel->clock;
    return first_closing(wheel);
}

/* Returns the slot that is cascaded ahead next. Requires that there is such a slot. */
static unsigned slot_to_cascade(const struct elapse_wheel *wheel)
{
    if (wheel->cascading != 0)
        return cascading_slot(wheel);
    uint64_t words = wheel->populous_words;
    for (;;) {
        unsigned level = elapse__wheel_lowest_level(words);
        unsigned slot = first_populous(wheel, level);
        if (elapse__wheel_closing_tick(wheel, slot) <= wheel->clock)
            return slot;
        words = elapse__wheel_words_above(words, level);
    }
}

bool elapse_wheel_cascade_ahead(struct elapse_wheel *wheel, size_t max_moves)
{
    for (;;) {
        struct elapse_timer *due;
        if (!find_due(wheel, &max_moves, &due))
            return false;
        if (due != NULL || elapse_wheel_next_cascade(wheel) > wheel->clock)
            return true;
        if (max_moves == 0)
            return false;
        if (wheel->cascading == 0)
            elapse__wheel_set_pointer(wheel, wheel->clock);
        (void)cascade_slot(wheel, slot_to_cascade(wheel), &max_moves);
        /* The slot may have kept the pointer from going on. find_due moves the pointer to the
         * clock. */
        wheel->ahead = wheel->clock;
        elapse__wheel_find_least(wheel);
    }
}
