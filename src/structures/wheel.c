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
 * Who changes what:
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
 * Moves the pointer towards the clock as far as every timer keeps its slot: to
 * the tick of the first slot of level 0, and to the last
 * tick before the first slot of another level. Beyond that, a new timer could land on a lower
 * level than an older timer with an earlier deadline.
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
 * Places a timer whose slot, counted from where the pointer is, is empty. The pointer
 * catches up before a slot is opened, so that the timer may lie on a lower level.
 */
static ELAPSE__COLD void start_in_empty_slot(struct elapse_wheel *wheel, struct elapse_timer *timer)
{
    uint64_t deadline = timer->deadline;
    if (wheel->cascading == 0)
        catch_up(wheel);
    unsigned slot = elapse__wheel_slot_for(wheel, deadline);
    /* If it had timers, they would have lain in the slot found first, or have kept the
     * pointer from coming this far. */
    ELAPSE__ASSERT(elapse__ring_empty(&wheel->slots[slot].timers));
    elapse__wheel_open_slot(wheel, slot, deadline);
    elapse__wheel_lower_least(wheel, deadline);
    elapse__wheel_append(wheel, timer, slot, &wheel->slots[slot]);
}

ELAPSE__COLD void elapse_wheel_close_slot(struct elapse_wheel *wheel, uint64_t place)
{
    unsigned slot = elapse__wheel_slot_of(place);
    elapse__wheel_mark_empty(wheel, slot);
    if (wheel->slots[slot].least == wheel->least)
        elapse__wheel_find_least(wheel);
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
    wheel->started++;
    timer->deadline = deadline;
    unsigned slot = elapse__wheel_slot_for(wheel, deadline);
    struct elapse__wheel_slot *entered = elapse__wheel_slot_at(wheel, slot);
    if (elapse__ring_empty(&entered->timers)) {
        start_in_empty_slot(wheel, timer);
        return;
    }
    if (deadline < entered->least) {
        entered->least = deadline;
        elapse__wheel_lower_least(wheel, deadline); /* it is no later than any slot's `least` */
    }
    elapse__wheel_append(wheel, timer, slot, entered);
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
