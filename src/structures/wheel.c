/*
 * The hierarchical timing wheel: start, stop, pop.
 *
 * A timer lies on the level of the highest digit in which its deadline and the
 * pointer differ, in the slot of the deadline's digit there. So every timer on a
 * lower level is due before any timer on a higher level, and on one level a lower
 * slot is due before a higher slot. Level 0 has 128 slots of one tick each, every
 * other level has 64 slots:
 *
 *                      pointer = 3 | 14 | 100        (digits, highest first)
 *                                |    |    |
 *     level 2   [..3..]  . . . . ^    |    |
 *               slots 4-63 may hold   |    |         deadline 5 |  0 |   0
 *                  5: o               |    |         -> level 2, slot 5
 *     level 1              [..14..]...^    |
 *               slots 15-63 may hold       |         deadline 3 | 20 |   9
 *                  20: o o                 |         -> level 1, slot 20
 *     level 0                    [..100..].^
 *               slots 100-127 may hold               deadline 3 | 14 | 103
 *                  103: o o o                        -> level 0, slot 103
 *
 * Pop takes the first slot of the lowest occupied level. On level 0 all timers of a
 * slot are due at one tick, and they are popped from the oldest on. On a higher level
 * the pointer jumps to the least deadline in the slot. Every timer in the slot then
 * belongs on a lower level, and the slot is cascaded: its timers are moved down, one
 * by one.
 *
 * There are two times. `clock` is the time that the caller gave last; `pointer` is the
 * tick from which the slots are counted. Advancing sets the clock and nothing else. The
 * pointer follows when pop takes a slot, or when a start opens an empty slot
 * (`catch_up`). A pointer that trails far behind is correct but slower: timers then
 * start on higher levels, and take more steps down.
 *
 * Invariants, by the numbers that elapse_wheel_check returns:
 *  1. pointer <= clock <= ELAPSE_TIME_MAX.
 *  2. A slot's bit in `occupied` is set exactly while the slot has timers, and a word's
 *     bit in `occupied_words` exactly while one of the word's slots has timers.
 *  3. Every ring is closed in both directions, and the place of each timer in it
 *     names the ring's slot.
 *  4. `count` timers are in the rings.
 *  5. An occupied slot lies ahead of the pointer: its digit is greater than the
 *     pointer's digit on that level; on level 0 it may be equal.
 *  6. A slot's `least` is one of the ticks that the slot covers, and no timer in
 *     it has an earlier deadline. (A timer may have a later deadline, even one beyond
 *     the slot: a postponed timer stays where it is until its slot's turn.)
 *  7. `wake` is no later than the `least` of any occupied slot.
 *  8. `cascading` is 0, or it is an occupied slot above level 0 whose digit equals the
 *     pointer's, as an exception to 5; `wake` is then not after the clock.
 *
 * The functions, and what each changes:
 *     start        idle -> a ring; or only the deadline (postponing)
 *     stop         a ring -> idle
 *     pop_due      a ring -> idle; wake, when the timer was the last of its slot
 *     move_timer   a ring -> another ring (cascade; pop of a postponed timer)
 *     open_slot, mark_empty   the bits of a slot; the latter ends the slot's cascade
 *     catch_up     pointer, as far as no timer's slot changes
 *     find_due     pointer, cascading, wake: goes on to the next slot
 *     cascade_slot moves the timers of one slot
 *
 * Order. The rings keep the order of arming. A cascade walks from the newest timer to
 * the oldest and puts each in front of its new ring. The rings of the lower levels
 * were empty when the cascade began, so the order is kept, even when the cascade is done
 * in steps and new timers are appended meanwhile. Two timers with the same deadline
 * are always in the same slot: the pointer never moves past the point where a new
 * timer would lie on a lower level than an older timer with the same deadline.
 *
 * ELAPSE_NEVER is a deadline like any other, in the slot that its digits give. The
 * clock never reaches it, because the clock ends one tick before it.
 *
 * Postponing. Starting a pending timer at a later deadline stores the deadline and
 * nothing else. The timer is moved by that deadline when its slot's turn comes.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels",
 * SOSP 1987, scheme 7. Their wheel visits every slot and moves timers as the clock
 * passes; the bitmaps, the least deadlines and the cascade on demand are different here.
 */
#include <string.h>

#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/compiler.h"
#include "../base/ring.h"
#include "deadline.h"
#include "wheel_geometry.h"
#include "wheel_hints.h"

extern inline void elapse_wheel_start(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                      uint64_t deadline);
extern inline bool elapse_wheel_stop(struct elapse_wheel *wheel, struct elapse_timer *timer);
extern inline void elapse_wheel_prefetch_stop(const struct elapse_timer *timer);
extern inline void elapse_wheel_advance(struct elapse_wheel *wheel, uint64_t now);
extern inline struct elapse_timer *elapse_wheel_pop(struct elapse_wheel *wheel);
extern inline uint64_t elapse_wheel_now(const struct elapse_wheel *wheel);
extern inline size_t elapse_wheel_count(const struct elapse_wheel *wheel);
extern inline uint64_t elapse_wheel_moves(const struct elapse_wheel *wheel);

enum elapse_error elapse_wheel_init_sized(struct elapse_wheel *wheel, size_t wheel_bytes,
                                          uint64_t now)
{
    if (wheel_bytes != sizeof *wheel)
        return ELAPSE_ERROR_ABI;
    ELAPSE__ASSERT((uintptr_t)wheel % _Alignof(struct elapse_wheel) == 0);
    memset(wheel, 0, sizeof *wheel);
    wheel->clock = elapse__clock_at(now);
    wheel->pointer = wheel->clock;
    wheel->wake = ELAPSE_NEVER;
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++)
        elapse__ring_init(&wheel->slots[slot].timers);
    return ELAPSE_OK;
}

/* ---- occupancy ---- */

static void mark_occupied(struct elapse_wheel *wheel, unsigned slot)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    ELAPSE__ASSERT(!elapse__bitmap_has(wheel->occupied, slot));
    elapse__bitmap_set(wheel->occupied, slot);
    wheel->occupied_words |= UINT32_C(1) << slot / 64;
}

static void mark_empty(struct elapse_wheel *wheel, unsigned slot)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    ELAPSE__ASSERT(elapse__bitmap_has(wheel->occupied, slot));
    ELAPSE__ASSERT(elapse__ring_empty(&wheel->slots[slot].timers));
    uint64_t *word = &wheel->occupied[slot / 64];
    *word &= ~(UINT64_C(1) << slot % 64);
    if (*word == 0)
        wheel->occupied_words &= ~(UINT32_C(1) << slot / 64);
    if (slot == wheel->cascading)
        wheel->cascading = 0;
}

/*
 * The slot to be popped from next. Slots are numbered level by level, so the lowest
 * number is the first slot of the lowest level. Requires that a slot is occupied.
 */
static unsigned first_slot(const struct elapse_wheel *wheel)
{
    ELAPSE__ASSERT(wheel->occupied_words != 0);
    unsigned word = elapse__lowest_bit(wheel->occupied_words);
    ELAPSE__ASSERT(word < ELAPSE__WHEEL_WORDS);
    unsigned slot = word * 64 + elapse__lowest_bit(wheel->occupied[word]);
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    ELAPSE__ASSERT(!elapse__ring_empty(&wheel->slots[slot].timers));
    return slot;
}

/* The tick before which no pending timer is due. */
static uint64_t least_of_all(const struct elapse_wheel *wheel)
{
    return wheel->occupied_words == 0 ? ELAPSE_NEVER : wheel->slots[first_slot(wheel)].least;
}

/* ---- placing ---- */

/*
 * Moves the pointer towards the clock as far as every timer keeps its slot: to
 * the tick of the first slot if that is on level 0, and otherwise to the last
 * tick before it. Beyond that, a new timer could land on a lower level than an
 * older timer with an earlier deadline.
 */
static void catch_up(struct elapse_wheel *wheel)
{
    ELAPSE__ASSERT(wheel->cascading == 0);
    uint64_t limit = wheel->clock;
    if (wheel->occupied_words != 0) {
        unsigned slot = first_slot(wheel);
        uint64_t tick = elapse__wheel_first_tick(wheel->pointer, slot);
        uint64_t last_before = slot < ELAPSE__WHEEL_LEVEL_0_SLOTS ? tick : tick - 1;
        limit = last_before < limit ? last_before : limit;
    }
    ELAPSE__ASSERT(limit >= wheel->pointer);
    ELAPSE__ASSERT(limit <= wheel->clock);
    wheel->pointer = limit;
}

/* Makes an empty slot ready for its first timer. */
static void open_slot(struct elapse_wheel *wheel, unsigned slot, uint64_t deadline)
{
    ELAPSE__ASSERT(elapse__ring_empty(&wheel->slots[slot].timers));
    ELAPSE__ASSERT(deadline >= elapse__wheel_first_tick(wheel->pointer, slot));
    ELAPSE__ASSERT(deadline <= elapse__wheel_last_tick(wheel->pointer, slot));
    mark_occupied(wheel, slot);
    wheel->slots[slot].least = deadline;
    wheel->slots[slot].entered = 0;
}

/*
 * The slot with this number. The empty statement hides from the compiler how its
 * address was computed; otherwise it computes the address again for every field (a
 * stop and start took 5.0 ns and take 4.6; docs/decisions/0003-start-and-stop.md).
 */
static inline struct elapse__wheel_slot *slot_at(struct elapse_wheel *wheel, unsigned slot)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    struct elapse__wheel_slot *at = &wheel->slots[slot];
    __asm__("" : "+r"(at));
    return at;
}

/* Puts a timer that is in no ring into an open slot, as the newest. */
static inline void append_timer(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                unsigned slot, struct elapse__wheel_slot *entered)
{
    ELAPSE__ASSERT(elapse__bitmap_has(wheel->occupied, slot));
    ELAPSE__ASSERT(timer->deadline >= entered->least);
    elapse__ring_append(&entered->timers, &timer->keep.link);
    timer->place = elapse__place_on_trail(wheel, slot, entered->entered++, timer);
    ELAPSE__ASSERT(elapse__wheel_slot_of(timer->place) == slot);
}

static void lower_wake(struct elapse_wheel *wheel, uint64_t deadline)
{
    if (deadline < wheel->wake)
        wheel->wake = deadline;
    ELAPSE__ASSERT(wheel->wake <= deadline);
}

/*
 * Places a timer whose slot, counted from where the pointer is, is empty. The pointer
 * catches up before a slot is opened, so that the timer may lie on a lower level.
 */
static ELAPSE__COLD void start_in_empty_slot(struct elapse_wheel *wheel, struct elapse_timer *timer)
{
    uint64_t deadline = timer->deadline;
    if (wheel->cascading == 0)
        catch_up(wheel);
    unsigned slot = elapse__wheel_slot_for(wheel->pointer, deadline);
    /* If it had timers, they would have lain in the slot found first, or have kept the
     * pointer from coming this far. */
    ELAPSE__ASSERT(elapse__ring_empty(&wheel->slots[slot].timers));
    open_slot(wheel, slot, deadline);
    lower_wake(wheel, deadline);
    append_timer(wheel, timer, slot, &wheel->slots[slot]);
}

ELAPSE__COLD void elapse_wheel_close_slot(struct elapse_wheel *wheel, uint64_t place)
{
    mark_empty(wheel, elapse__wheel_slot_of(place));
}

ELAPSE__COLD void elapse_wheel_start_earlier(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                             uint64_t deadline)
{
    ELAPSE__ASSERT(timer->place != 0);
    deadline = elapse__stored_deadline(wheel->clock, deadline);
    if (deadline > timer->deadline) {
        ELAPSE__ASSERT(deadline == wheel->clock || deadline == ELAPSE_NEVER);
        timer->deadline = deadline; /* it is due, and postponed to now */
        return;
    }
    (void)elapse_wheel_stop(wheel, timer);
    elapse_wheel_start_idle(wheel, timer, deadline);
}

/* The rare case is a call at the very end, so that no register is saved for it. */
void elapse_wheel_start_idle(struct elapse_wheel *wheel, struct elapse_timer *timer,
                             uint64_t deadline)
{
    ELAPSE__ASSERT(timer->place == 0);
    deadline = elapse__stored_deadline(wheel->clock, deadline);
    ELAPSE__ASSERT(deadline >= wheel->pointer);
    wheel->count++;
    timer->deadline = deadline;
    unsigned slot = elapse__wheel_slot_for(wheel->pointer, deadline);
    struct elapse__wheel_slot *entered = slot_at(wheel, slot);
    if (elapse__ring_empty(&entered->timers)) {
        start_in_empty_slot(wheel, timer);
        return;
    }
    if (deadline < entered->least) {
        entered->least = deadline;
        lower_wake(wheel, deadline); /* it is no later than any slot's `least` */
    }
    append_timer(wheel, timer, slot, entered);
}

void elapse_wheel_start_window(struct elapse_wheel *wheel, struct elapse_timer *timer,
                               uint64_t earliest, uint64_t latest)
{
    elapse_wheel_start(wheel, timer, elapse_deadline_in_window(wheel->clock, earliest, latest));
    ELAPSE__ASSERT(timer->place != 0);
    ELAPSE__ASSERT(timer->deadline >= wheel->clock);
}

/* ---- popping ---- */

/*
 * Puts a timer that was just taken out of a ring where its deadline belongs. The
 * deadline may have passed. The pointer stays: it is at the tick that is being popped,
 * or at the least deadline of the slot that is being cascaded.
 *
 * `trails` are the trails of the cascade. The slots below `lower_slots` were empty
 * when the cascade began: into these the timer goes as the oldest. Into other slots it
 * goes as the newest: it was postponed, and older timers with its deadline may be there.
 */
static inline void move_timer(struct elapse_wheel *wheel, struct elapse_timer *timer,
                              unsigned lower_slots, struct elapse__scratch_trails *trails)
{
    uint64_t deadline = timer->deadline;
    ELAPSE__ASSERT(deadline >= wheel->pointer);
    unsigned slot = elapse__wheel_slot_for(wheel->pointer, deadline);
    ELAPSE__ASSERT(slot != wheel->cascading || slot == 0);
    struct elapse__wheel_slot *entered = slot_at(wheel, slot);
    if (elapse__ring_empty(&entered->timers))
        open_slot(wheel, slot, deadline);
    else if (deadline < entered->least)
        entered->least = deadline;

    if (slot >= lower_slots) {
        append_timer(wheel, timer, slot, entered);
        return;
    }
    elapse__ring_prepend(&entered->timers, &timer->keep.link);
    if (slot < ELAPSE__WHEEL_LEVEL_0_SLOTS) {
        timer->place = elapse__place_on_trail(wheel, slot, entered->entered++, timer);
    } else {
        timer->place = slot + 1;
        elapse__leave_scratch_trail(trails, wheel, slot, timer);
    }
    ELAPSE__ASSERT(elapse__wheel_slot_of(timer->place) == slot);
}

/*
 * Moves the timers of the slot that is being cascaded, from the newest to the
 * oldest, while `*budget` lasts. Returns true when the slot is empty.
 */
static bool cascade_slot(struct elapse_wheel *wheel, size_t *budget)
{
    unsigned slot = wheel->cascading;
    ELAPSE__ASSERT(slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS);
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    struct elapse__link *ring = &wheel->slots[slot].timers;
    struct elapse__link *link = ring->previous;
    unsigned lower_slots = elapse__wheel_first_slot(elapse__wheel_level(slot));
    size_t left = *budget;

    ELAPSE__ASSERT(link != ring);

    struct elapse__scratch_trails trails;
    memset(trails.entered, 0, sizeof trails.entered);
    elapse__prefetch_trail(wheel, slot);
    for (; link != ring && left > 0; left--) {
        struct elapse_timer *timer = elapse__ring_timer(link);
        ELAPSE__ASSERT(elapse__wheel_slot_of(timer->place) == slot);
        elapse__prefetch(timer->place);
        link = link->previous;
        move_timer(wheel, timer, lower_slots, &trails);
    }
    elapse__ring_close_behind(ring, link);
    wheel->moves += *budget - left;
    *budget = left;
    if (link != ring)
        return false;
    mark_empty(wheel, slot);
    ELAPSE__ASSERT(wheel->cascading == 0);
    return true;
}

/*
 * The last timer of the slot that is being cascaded, if it is due at the pointer; NULL
 * otherwise. No other timer is due before it, so it can be popped from where it is.
 * Thus a timer that is alone in its slot is never moved.
 */
static struct elapse_timer *last_in_cascade(const struct elapse_wheel *wheel)
{
    ELAPSE__ASSERT(elapse__bitmap_has(wheel->occupied, wheel->cascading));
    const struct elapse__link *ring = &wheel->slots[wheel->cascading].timers;
    ELAPSE__ASSERT(!elapse__ring_empty(ring));
    struct elapse_timer *timer = elapse__ring_timer(ring->next);
    bool one_is_left = ring->next == ring->previous;
    return one_is_left && timer->deadline == wheel->pointer ? timer : NULL;
}

/*
 * Finds the timer to be popped next and stores it in `*due`; stores NULL if none
 * is due. Moves the timers that have to be moved first, while `*budget` lasts.
 * Returns false if the budget did not suffice.
 */
static bool find_due(struct elapse_wheel *wheel, size_t *budget, struct elapse_timer **due)
{
    *due = NULL;
    for (;;) {
        if (wheel->cascading != 0) {
            *due = last_in_cascade(wheel);
            if (*due != NULL)
                return true;
            if (!cascade_slot(wheel, budget))
                return false;
        }
        uint64_t tick = least_of_all(wheel);
        wheel->wake = tick;
        if (tick > wheel->clock)
            return true;

        unsigned slot = first_slot(wheel);
        ELAPSE__ASSERT(tick >= wheel->pointer);
        wheel->pointer = tick;
        if (slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS) {
            wheel->cascading = slot;
            continue;
        }
        struct elapse_timer *oldest = elapse__ring_timer(wheel->slots[slot].timers.next);
        ELAPSE__ASSERT(elapse__wheel_slot_of(oldest->place) == slot);
        ELAPSE__ASSERT(oldest->deadline >= tick);
        elapse__prefetch(oldest->place);
        if (oldest->deadline == tick) {
            *due = oldest;
            return true;
        }
        /* It was postponed. */
        if (*budget == 0)
            return false;
        --*budget;
        wheel->moves++;
        if (elapse__ring_remove(&oldest->keep.link))
            mark_empty(wheel, slot);
        move_timer(wheel, oldest, 0, NULL);
    }
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
    ELAPSE__ASSERT(due->deadline == wheel->pointer);
    ELAPSE__ASSERT(due->deadline <= wheel->clock);
    ELAPSE__ASSERT(wheel->count > 0);
    /* When the slot's last timer is popped, the next wake-up is worked out at once. This
     * usually spares the caller one call that would find nothing due. */
    if (elapse__ring_remove(&due->keep.link)) {
        mark_empty(wheel, elapse__wheel_slot_of(due->place));
        wheel->wake = least_of_all(wheel);
    }
    due->place = 0;
    wheel->count--;
    return due;
}

bool elapse_wheel_cascade(struct elapse_wheel *wheel, size_t max_moves)
{
    struct elapse_timer *due;
    bool found = find_due(wheel, &max_moves, &due);
    ELAPSE__ASSERT(due == NULL || due->deadline <= wheel->clock);
    return found;
}

uint64_t elapse_wheel_next(const struct elapse_wheel *wheel)
{
    if (wheel->cascading != 0) {
        ELAPSE__ASSERT(wheel->wake <= wheel->clock);
        return wheel->wake;
    }
    return least_of_all(wheel);
}

uint64_t elapse_wheel_remaining(const struct elapse_wheel *wheel, const struct elapse_timer *timer)
{
    return elapse__remaining(wheel->clock, timer);
}
