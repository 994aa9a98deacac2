/*
 * The hierarchical timing wheel: start and stop. Pop and the cascades are in wheel_cascade.c.
 *
 * Time is cut into blocks. A block of level 0 is 128 ticks, and a block of every other level is 64
 * blocks of the level below. Each level has slots for two blocks: the present block, which the
 * pointer is in, and the next block. Level 0 has 256 slots of one tick each. Every other level has
 * 128 slots, each as wide as a block of the level below. A timer lies on the lowest level whose
 * present or next block contains its deadline. The slots of a level are used in turns: when the
 * pointer enters the next block, the slots of the old block serve the block after it.
 *
 *      pointer = 300, in block 2 of level 0 (ticks 256-383) and in block 0 of level 1 (0-8191)
 *
 *      level 0   block 2: ticks 256-383, present    block 3: ticks 384-511, next
 *                . . . . 300                        . . . . . . . . . . . . .
 *                        ^ pointer   310: o o            400: n
 *
 *      level 1   slot  0  1  2        3          4          5   ...  63 | 64   ...   127
 *                ticks 0- 128- 256-   384-511    512-639    640-        | 8192-      16383
 *                      at the pointer: closed:   open:                  |
 *                      empty           o o o     o   o                  |
 *
 * Slot 3 of level 1 covers the next block of level 0. The slot was open while the pointer was in
 * block 1 or before. Since then the slot is closed: a new timer with a deadline in its ticks, like
 * n, goes to level 0. A closed slot can be cascaded ahead of time: its timers are moved down, a few
 * at a time. So the slot is empty when the pointer enters block 3.
 *
 * Pop takes the timer with the least deadline, which lies in the first slot of some level. On level
 * 0 all timers of a slot are due at one tick, and pop takes the oldest timer first. When the
 * pointer enters a slot of a higher level that still has timers, the slot is cascaded on demand: it
 * must be empty before the next timer is popped. A slot of up to 128 timers is always cascaded on
 * demand, so that a lone timer far away is not moved at all. A slot with more timers is populous.
 * Pop cascades a populous slot ahead while the slot is closed. It begins as late as possible if a
 * batch of 128 timers at each tick suffices. If that does not suffice, it begins at the first tick,
 * with an equal share at each tick. Pop does this work when it has no timer to return, so that the
 * work does not delay a timer that is due.
 *
 * There are two times. `clock` is the time that the caller gave last. `pointer` is the tick from
 * which the slots are counted. Advance sets the clock and nothing else. The pointer follows in
 * three cases: pop finds a due timer or works ahead; a start opens an empty slot (`catch_up`); or a
 * start makes a slot populous that would be closed if the pointer were at the clock. The pointer is
 * never after the clock or after `least`, so that it can always go on to `least`. The pointer does
 * not move while a slot at the pointer is being cascaded. A pointer that trails far behind is
 * correct but slower, because timers then start on higher levels, and take more steps down.
 *
 * Invariants, by the numbers that elapse_wheel_check returns:
 *  1. pointer <= clock <= ELAPSE_TIME_MAX.
 *  2. A slot's bit in `occupied` is set exactly while the slot has timers. A word's bit in
 *     `occupied_words` is set exactly while a slot of this word has timers.
 *  3. Every ring is closed in both directions. The place of each timer in a ring names the slot of
 *     the ring.
 *  4. `started` - `stopped` - `popped` timers are in the rings.
 *  5. An occupied slot lies ahead of the pointer. Only a slot of level 0, or of a level that
 *     `cascading` has, may be occupied and lie at the pointer.
 *  6. A slot's `least` is one of the ticks that the slot covers. No timer of the slot has an
 *     earlier deadline. A timer that was postponed may have a deadline beyond the slot.
 *  7. The wheel's `least` is the earliest `least` of the occupied slots; ELAPSE_NEVER if no slot is
 *     occupied. It is not before the pointer, and `wake` is no later than it. Within find_due and
 *     cascade_ahead, `least` may be too early after a slot was emptied. They compute it again
 *     before they return.
 *  8. `cascading` has those levels above 0 whose slot at the pointer is occupied, and no others.
 *  9. `last` has the last tick of the next block of each level. `present_words` has the words of
 *     the present blocks. Both follow from the pointer.
 * 10. A slot in `populous` is occupied and above level 0, and `populous_words` has its word.
 *     `ahead` is no later than the next tick, or no later than the first tick of every populous
 *     slot. `wake` is no later than `ahead`.
 *
 * The functions, and what each changes:
 *     start         idle -> a ring; or from ring to ring; or only the deadline, if it postpones
 *     stop          a ring -> idle
 *     pop_due       a ring -> idle
 *     cascade_slot  a ring -> rings of lower levels; postponed timers go to any level
 *     open_slot, mark_empty   the bits of a slot; mark_empty also ends the cascade of the slot
 *     mark_populous populous; ahead: not later than the tick at which the slot closes
 *     set_pointer   pointer, last, present_words, cascading
 *     catch_up      the pointer, only so far that no timer's slot changes
 *     find_due      the pointer, up to the least deadline or to the clock
 *     work_ahead    ahead
 *     find_least    least and wake, after slots were emptied
 *
 * Order. The rings keep the order of arming. Of two timers with the same deadline on different
 * levels, the timer on the higher level is older: as the pointer goes on, new timers with this
 * deadline get slots on lower and lower levels. A cascade walks from the newest timer to the
 * oldest, and puts each timer in front of its new ring. There the timer is older than all timers
 * with its deadline. This would be wrong if the timer passed over a level that has timers with its
 * deadline, because those are newer. So if a closed slot on the way down has timers, the timer is
 * put in front of that slot and goes no further. For the same reason the slots at the pointer are
 * cascaded from the lowest level on. So the order is kept, even when several levels are cascaded in
 * steps, and new timers are appended meanwhile.
 *
 * ELAPSE_NEVER is a deadline like any other, in the slot that its digits give. The clock never
 * reaches it, because the clock ends one tick before.
 *
 * Postponing. To start a pending timer at a later deadline stores the deadline and nothing else.
 * The timer is moved to the slot of that deadline when its old slot is cascaded or, on level 0,
 * when its old slot comes to be popped. All timers of a slot of level 0 are popped in one tick. So
 * that few timers have to be moved in that tick, a timer that is postponed leaves a slot of level 0
 * at once if more than 128 timers have entered the slot.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels",
 * SOSP 1987, scheme 7. Their wheel visits every slot, and moves timers as the clock passes. This
 * wheel adds the two blocks, the bitmaps, the least deadlines and the cascades on demand.
 */
#include <string.h>

#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/compiler.h"
#include "../base/ring.h"
#include "deadline.h"
#include "wheel_slots.h"

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
    wheel->least = ELAPSE_NEVER;
    wheel->ahead = ELAPSE_NEVER;
    for (unsigned level = 0; level < ELAPSE__WHEEL_LEVELS; level++) {
        unsigned half = elapse__wheel_block(wheel->pointer, level) & 1;
        wheel->present_words |= elapse__wheel_block_words(level, half);
        wheel->last[level] = elapse__wheel_last_of_level(wheel->pointer, level);
    }
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++)
        elapse__ring_init(&wheel->slots[slot].timers);
    return ELAPSE_OK;
}

/* ---- placing ---- */

/*
 * Moves the pointer towards the clock, but only so far that every timer keeps its slot: no farther
 * than the tick of the first slot of level 0, and the last tick before the first slot of any other
 * level. Beyond that, a new timer could get a lower level than an older timer with an earlier
 * deadline.
 */
static void catch_up(struct elapse_wheel *wheel)
{
    ELAPSE__ASSERT(wheel->cascading == 0);
    uint64_t limit = wheel->clock;
    uint64_t words = elapse__wheel_first_words(wheel, wheel->occupied_words);
    for (; words != 0; words &= words - 1) {
        unsigned slot = elapse__wheel_first_in_word(wheel->occupied, elapse__lowest_bit(words));
        uint64_t tick = elapse__wheel_first_tick(wheel->pointer, slot);
        uint64_t last_before = slot < ELAPSE__WHEEL_LEVEL_0_SLOTS ? tick : tick - 1;
        limit = last_before < limit ? last_before : limit;
    }
    elapse__wheel_set_pointer(wheel, limit);
    ELAPSE__ASSERT(wheel->cascading == 0);
}

/*
 * Places a timer whose slot is empty. Before it opens the slot, moves the pointer towards the
 * clock, because the timer may then lie on a lower level.
 */
static ELAPSE__COLD void start_in_empty_slot(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                             uint64_t deadline)
{
    if (wheel->cascading == 0)
        catch_up(wheel);
    unsigned slot = elapse__wheel_slot_for(wheel, deadline);
    /* If this slot had timers, they would have been in the slot that was found first, or would have
     * kept the pointer from coming this far. */
    ELAPSE__ASSERT(elapse__ring_empty(&wheel->slots[slot].timers));
    elapse__wheel_open_slot(wheel, slot, deadline);
    elapse__wheel_lower_least(wheel, slot, deadline);
    (void)elapse__wheel_append(wheel, timer, slot, &wheel->slots[slot], deadline);
    wheel->started++;
}

/*
 * Requires that the slot has just got more than a few timers. If the slot would be closed by the
 * time of the clock, it took its last timers only because the pointer trails. Then moves the
 * pointer to the clock, so that no more timers enter the slot: their number has no bound, and few
 * ticks may be left to move them.
 */
static ELAPSE__COLD void slot_became_populous(struct elapse_wheel *wheel, unsigned slot)
{
    elapse__wheel_mark_populous(wheel, slot);
    if (slot < ELAPSE__WHEEL_LEVEL_0_SLOTS || wheel->cascading != 0 ||
        elapse__wheel_closing_tick(wheel, slot) > wheel->clock)
        return;
    elapse__wheel_set_pointer(wheel, wheel->least < wheel->clock ? wheel->least : wheel->clock);
}

ELAPSE__COLD void elapse_wheel_close_slot(struct elapse_wheel *wheel, uint64_t place)
{
    unsigned slot = elapse__wheel_slot_of(place);
    elapse__wheel_mark_empty(wheel, slot);
    if (wheel->slots[slot].least == wheel->least)
        elapse__wheel_find_least(wheel);
}

/* Returns whether a timer that is postponed has to leave the slot at once. A slot of level 0 is
 * popped within one tick, so only few postponed timers may be left in it. */
static inline bool is_crowded(const struct elapse_wheel *wheel, unsigned slot)
{
    return slot < ELAPSE__WHEEL_LEVEL_0_SLOTS && wheel->slots[slot].entered > ELAPSE__WHEEL_FEW;
}

ELAPSE__COLD void elapse_wheel_start_earlier(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                             uint64_t deadline)
{
    ELAPSE__ASSERT(timer->place != 0);
    deadline = elapse__stored_deadline(wheel->clock, deadline);
    if (deadline > timer->deadline && !is_crowded(wheel, elapse__wheel_slot_of(timer->place))) {
        timer->deadline = deadline;
        return;
    }
    (void)elapse_wheel_stop(wheel, timer);
    elapse_wheel_start_idle(wheel, timer, deadline);
}

/* The rare case is a call at the very end of the function, so that the compiler saves no register
 * for it. */
void elapse_wheel_start_idle(struct elapse_wheel *wheel, struct elapse_timer *timer,
                             uint64_t deadline)
{
    ELAPSE__ASSERT(timer->place == 0);
    deadline = elapse__stored_deadline(wheel->clock, deadline);
    ELAPSE__ASSERT(deadline >= wheel->pointer);
    unsigned slot = elapse__wheel_slot_for(wheel, deadline);
    struct elapse__wheel_slot *entered = elapse__wheel_slot_at(wheel, slot);
    if (elapse__ring_empty(&entered->timers)) {
        start_in_empty_slot(wheel, timer, deadline);
        return;
    }
    if (deadline < entered->least) {
        entered->least = deadline; /* the wheel's `least` is no later than any slot's */
        elapse__wheel_lower_least(wheel, slot, deadline);
    }
    bool populous = elapse__wheel_append(wheel, timer, slot, entered, deadline);
    wheel->started++;
    if (populous)
        slot_became_populous(wheel, slot);
}

void elapse_wheel_start_window(struct elapse_wheel *wheel, struct elapse_timer *timer,
                               uint64_t earliest, uint64_t latest)
{
    elapse_wheel_start(wheel, timer, elapse_deadline_in_window(wheel->clock, earliest, latest));
    ELAPSE__ASSERT(timer->place != 0);
    ELAPSE__ASSERT(timer->deadline >= wheel->clock);
}

/* ---- asking ---- */

uint64_t elapse_wheel_next(const struct elapse_wheel *wheel)
{
    return wheel->least;
}

uint64_t elapse_wheel_remaining(const struct elapse_wheel *wheel, const struct elapse_timer *timer)
{
    return elapse__remaining(wheel->clock, timer);
}
