/*
 * The hashed wheel: start, stop, pop.
 *
 * A turn is as many ticks as there are slots, and each tick visits one slot. A timer lies in slot
 * deadline % slots, whatever the turn in which it is due. The rounds of a timer say how many visits
 * to its slot will pass before the visit at which the timer is due. This is an example with ten
 * slots, and the pointer at 0:
 *
 *      pointer (tick 0, slot 0)
 *         v
 *       [ 0 ][ 1 ][ 2 ][ 3 ][ 4 ][ 5 ][ 6 ][ 7 ][ 8 ][ 9 ]
 *         |                        |
 *     10: 0 rounds             15: 1 round  (oldest)
 *                               5: 0 rounds
 *                              25: 2 rounds (newest)
 *
 * At tick 5, slot 5 is visited: the timer with the deadline 5 is due, and goes to the ring of due
 * timers. The other timers stay in the slot in their order, with one round less. A timer has
 * (deadline - pointer - 1) / slots rounds.
 *
 * There are two times. `clock` is the time that the caller gave last. `pointer` trails the clock:
 * it is the tick whose visit is complete or under way. Advance sets the clock and nothing else. Pop
 * and cascade visit slots, but only while no timer is due. A visit sets the timers of its slot
 * aside, and looks at them from the newest to the oldest. Each timer goes to the front of the due
 * ring, or to the front of the slot's ring. So the order of arming is kept, even if a visit is done
 * in steps and new timers enter the slot meanwhile. No timer is popped before the visit is
 * complete.
 *
 * The jump. When the clock is more than one turn ahead, the pointer goes to the clock at once. Then
 * every occupied slot is visited once for all turns that have passed, from the last slot to the
 * first. A timer with fewer rounds than these turns is due. So timers of different turns become due
 * together, and are sorted by turn while they are popped: hashed_sort.h. `jump_origin` is the tick
 * at which the pointer was before. While the jump has not visited a slot yet, the rounds of its
 * timers are counted from `jump_origin`. This is so for timers that are armed meanwhile, too.
 *
 *       jump_origin                                          pointer
 *           |----------- turns, each past every slot ------------|
 *       [ 0 ] ... [ 5 ]  the first `unvisited` slots: rounds are counted from `jump_origin`
 *       [ 6 ]            under visit: some timers are set aside
 *       [ 7 ][ 8 ][ 9 ]  visited: rounds are counted from the pointer
 *
 * Invariants, by the numbers that elapse_hashed_check returns:
 *  1. jump_origin <= pointer <= clock <= ELAPSE_TIME_MAX.
 *  2. A slot's bit in `occupied` is set exactly while its ring has timers.
 *  3. Every ring is closed in both directions.
 *  4. `count` timers are in the rings.
 *  5. A timer in a slot's ring has a deadline that belongs to this slot. Its rounds are the number
 *     of visits to the slot that come before the deadline, and after the tick from which the slot's
 *     rounds are counted.
 *  6. Invariant 5 holds for the timers set aside, too; their slot is the slot under visit. `turns`
 *     is the number of turns that this visit stands for.
 *  7. A timer in the due ring has no rounds, and its deadline is not after the pointer. The ring is
 *     in order. While due timers are sorted, all timers in the ring are of the turn `due_turn`.
 *  8. The ring of the timers armed for ELAPSE_NEVER has no other timers.
 *  9. `pointer_slot` is the pointer's slot. If no jump is under way, `jump_origin` is the pointer,
 *     and no slot is unvisited. During a jump, `origin_turn` is the turn of `jump_origin`, and
 *     `due_turn` is 0.
 * 10. A timer in a bucket of the sort has no rounds, and its deadline is not after the pointer. The
 *     timer lies in the bucket of its turn. A timer of a bucket that is being divided is of
 *     `due_turn` or of a later turn. The bitmaps say which buckets have timers; if they are wrong,
 *     the number is 2.
 *
 * The functions, and what each changes:
 *     start        idle -> the ring of a slot, of due timers, or of timers for ELAPSE_NEVER
 *     stop, pop    a ring -> idle
 *     take_aside   the ring of a slot -> aside
 *     visit_aside  aside -> the due ring or a bucket, or back into the ring of the slot
 *     begin_visit, continue_jump   pointer, pointer_slot, jump_origin, unvisited
 *     elapse__hashed_take_bucket   due_turn; a bucket -> the due ring, or -> dividing
 *     elapse__hashed_divide        dividing -> the due ring, or buckets of lower digits
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme
 * 6; widely used, as in Netty's HashedWheelTimer and in godis. Their wheel visits the slot of every
 * tick. The bitmap of slots and the jump are different here.
 */
#include <string.h>

#include <elapse/hashed.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "deadline.h"
#include "hashed_ring.h"
#include "hashed_sort.h"

/* The types that the storage is aligned for. */
struct storage_unit {
    uint64_t word;
    struct elapse__ring_node ring;
};

size_t elapse_hashed_storage_bytes(size_t slots)
{
    if (slots == 0 || slots > ELAPSE_HASHED_SLOTS_MAX)
        return SIZE_MAX;
    return slots * sizeof(struct elapse__ring_node) +
           elapse__bitmap_words(slots) * sizeof(uint64_t);
}

enum elapse_error elapse_hashed_init_sized(struct elapse_hashed *hashed, size_t hashed_bytes,
                                           size_t slots, void *storage, size_t storage_bytes,
                                           uint64_t now)
{
    size_t needed = elapse_hashed_storage_bytes(slots);
    if (hashed_bytes != sizeof *hashed)
        return ELAPSE_ERROR_ABI;
    if (needed == SIZE_MAX)
        return ELAPSE_ERROR_ARGUMENT;
    if (storage == NULL || (uintptr_t)storage % _Alignof(struct storage_unit) != 0 ||
        storage_bytes < needed)
        return ELAPSE_ERROR_STORAGE;
    /* The bitmap lies before the rings, because the alignment of the rings is no stricter. */
    uint64_t *occupied = storage;
    uint64_t clock = elapse__clock_at(now);
    *hashed = (struct elapse_hashed){
        .clock = clock,
        .pointer = clock,
        .jump_origin = clock,
        .slots = slots,
        .pointer_slot = (size_t)(clock % slots),
        .rings = (struct elapse__ring_node *)(occupied + elapse__bitmap_words(slots)),
        .occupied = occupied,
    };
    memset(occupied, 0, elapse__bitmap_words(slots) * sizeof *occupied);
    for (size_t slot = 0; slot < slots; slot++)
        elapse__ring_init(&hashed->rings[slot]);
    elapse__ring_init(&hashed->due);
    elapse__ring_init(&hashed->aside);
    elapse__ring_init(&hashed->never);
    elapse__ring_init(&hashed->dividing);
    return ELAPSE_OK;
}

/* ---- placing ---- */

static void mark_occupied(struct elapse_hashed *hashed, size_t slot)
{
    ELAPSE__ASSERT(slot < hashed->slots);
    ELAPSE__ASSERT(!elapse__ring_empty(&hashed->rings[slot]));
    elapse__bitmap_set(hashed->occupied, slot);
}

static void mark_empty(struct elapse_hashed *hashed, size_t slot)
{
    ELAPSE__ASSERT(slot < hashed->slots);
    ELAPSE__ASSERT(elapse__ring_empty(&hashed->rings[slot]));
    elapse__bitmap_clear(hashed->occupied, slot);
}

/* Puts a timer whose deadline is after the pointer into its slot, as the newest timer. */
static void append_to_slot(struct elapse_hashed *hashed, struct elapse_timer *timer)
{
    ELAPSE__ASSERT(timer->deadline > hashed->pointer);
    ELAPSE__ASSERT(timer->deadline < ELAPSE_NEVER);
    uint64_t ahead = timer->deadline - hashed->pointer - 1;
    uint64_t rounds = ahead / hashed->slots;
    size_t slot = hashed->pointer_slot + 1 + (size_t)(ahead % hashed->slots);
    if (slot >= hashed->slots)
        slot -= hashed->slots;
    ELAPSE__ASSERT(slot == timer->deadline % hashed->slots);
    if (slot < hashed->unvisited)
        rounds = (timer->deadline - hashed->jump_origin - 1) / hashed->slots;
    timer->place = rounds + 1;
    elapse__ring_append(&hashed->rings[slot], &timer->keep.ring_node);
    mark_occupied(hashed, slot);
}

/* Returns the ring for a timer that is due when it is started; its deadline is the pointer. No
 * timer that is being sorted has a later deadline, so this timer is the newest of its ring. */
static struct elapse__ring_node *due_ring(struct elapse_hashed *hashed, uint64_t deadline)
{
    ELAPSE__ASSERT(deadline == hashed->pointer);
    if (!elapse__hashed_sorting(hashed))
        return &hashed->due;
    return elapse__hashed_ring_of_turn(hashed, elapse__hashed_turn(hashed, deadline));
}

void elapse_hashed_start(struct elapse_hashed *hashed, struct elapse_timer *timer,
                         uint64_t deadline)
{
    (void)elapse_hashed_stop(hashed, timer);
    ELAPSE__ASSERT(timer->place == 0);
    timer->deadline = elapse__stored_deadline(hashed->clock, deadline);
    hashed->count++;
    if (timer->deadline == ELAPSE_NEVER) {
        timer->place = ELAPSE__HASHED_PLACE_NEVER;
        elapse__ring_append(&hashed->never, &timer->keep.ring_node);
    } else if (timer->deadline <= hashed->pointer) {
        timer->place = 1;
        elapse__ring_append(due_ring(hashed, timer->deadline), &timer->keep.ring_node);
    } else {
        append_to_slot(hashed, timer);
    }
    ELAPSE__ASSERT(timer->place != 0);
}

void elapse_hashed_start_window(struct elapse_hashed *hashed, struct elapse_timer *timer,
                                uint64_t earliest, uint64_t latest)
{
    elapse_hashed_start(hashed, timer, elapse_deadline_in_window(hashed->clock, earliest, latest));
}

bool elapse_hashed_stop(struct elapse_hashed *hashed, struct elapse_timer *timer)
{
    if (timer->place == 0)
        return false;
    ELAPSE__ASSERT(hashed->count > 0);
    timer->place = 0;
    hashed->count--;
    if (elapse__ring_remove(&timer->keep.ring_node)) {
        /* The ring that is now empty is not the ring of the slot if the timer was due, set aside,
         * or armed for ELAPSE_NEVER. */
        size_t slot = (size_t)(timer->deadline % hashed->slots);
        if (elapse__ring_empty(&hashed->rings[slot]))
            mark_empty(hashed, slot);
        if (hashed->digits_occupied != 0)
            elapse__hashed_note_stopped(hashed, timer->deadline);
    }
    return true;
}

/* ---- visiting ---- */

/* Begins the visit to an occupied slot. The visit stands for `turns` visits, one in each turn. */
static void take_aside(struct elapse_hashed *hashed, size_t slot, uint64_t turns)
{
    struct elapse__ring_node *ring = &hashed->rings[slot];
    struct elapse__ring_node *aside = &hashed->aside;
    ELAPSE__ASSERT(slot < hashed->slots);
    ELAPSE__ASSERT(turns > 0);
    ELAPSE__ASSERT(elapse__bitmap_has(hashed->occupied, slot));
    elapse__ring_take_all(aside, ring);
    mark_empty(hashed, slot);
    hashed->visiting = slot;
    hashed->turns = turns;
}

/* Makes a timer due that the visit has found. The timer had `rounds` rounds. */
static void make_due(struct elapse_hashed *hashed, struct elapse_timer *timer, uint64_t rounds,
                     uint64_t first_turn)
{
    ELAPSE__ASSERT(timer->deadline <= hashed->pointer);
    struct elapse__ring_node *ring = &hashed->due;
    if (elapse__hashed_jumping(hashed)) {
        ELAPSE__ASSERT_THAT(first_turn + rounds, ==, elapse__hashed_turn(hashed, timer->deadline));
        ring = elapse__hashed_ring_of_turn(hashed, first_turn + rounds);
    }
    timer->place = 1;
    hashed->ticking_visits += rounds;
    elapse__ring_prepend(ring, &timer->keep.ring_node);
}

/* Looks at the timers set aside, while `*budget` lasts. Returns false if the budget did not
 * suffice. */
static bool visit_aside(struct elapse_hashed *hashed, size_t *budget)
{
    ELAPSE__ASSERT(hashed->visiting < hashed->slots);
    struct elapse__ring_node *ring = &hashed->rings[hashed->visiting];
    uint64_t turns = hashed->turns;
    if (elapse__ring_empty(&hashed->aside))
        return true;
    uint64_t first_turn = elapse__hashed_first_turn(hashed);
    while (!elapse__ring_empty(&hashed->aside)) {
        if (*budget == 0)
            return false;
        --*budget;
        hashed->moves++;
        struct elapse__ring_node *ring_node = hashed->aside.previous;
        struct elapse_timer *timer = elapse__ring_timer(ring_node);
        ELAPSE__ASSERT(timer->place != 0);
        ELAPSE__ASSERT(timer->place != ELAPSE__HASHED_PLACE_NEVER);
        uint64_t rounds = timer->place - 1;
        (void)elapse__ring_remove(ring_node);
        if (rounds < turns) {
            make_due(hashed, timer, rounds, first_turn);
        } else {
            ELAPSE__ASSERT(timer->deadline > hashed->pointer);
            timer->place -= turns;
            hashed->visits++;
            hashed->ticking_visits += turns;
            elapse__ring_prepend(ring, ring_node);
            mark_occupied(hashed, hashed->visiting);
        }
    }
    return true;
}

/* Begins the visit to the next slot of the jump. After the last slot, ends the jump and returns
 * false. */
static bool continue_jump(struct elapse_hashed *hashed)
{
    ELAPSE__ASSERT(elapse__hashed_jumping(hashed));
    ELAPSE__ASSERT(elapse__ring_empty(&hashed->aside));
    size_t slot = elapse__hashed_last_below(hashed, hashed->unvisited);
    if (slot < hashed->slots) {
        hashed->unvisited = slot;
        take_aside(hashed, slot, elapse__hashed_turns(hashed, hashed->jump_origin, slot));
        return true;
    }
    hashed->unvisited = 0;
    hashed->jump_origin = hashed->pointer;
    return false;
}

/* Returns the first occupied slot that is visited after the pointer; the number of slots if no slot
 * is occupied. */
static size_t next_slot(const struct elapse_hashed *hashed)
{
    size_t slot = elapse__hashed_first_from(hashed, hashed->pointer_slot + 1);
    return slot < hashed->slots ? slot : elapse__hashed_first_from(hashed, 0);
}

/* Returns the tick at which the slot of next_slot is visited; ELAPSE_NEVER if no slot is
 * occupied. */
static uint64_t next_tick(const struct elapse_hashed *hashed)
{
    size_t slot = next_slot(hashed);
    return slot < hashed->slots ? elapse__hashed_tick_after(hashed, hashed->pointer, slot)
                                : ELAPSE_NEVER;
}

/* Moves the pointer to the tick of the next visit, and begins this visit. If there is no visit up
 * to the clock, moves the pointer to the clock and returns false. */
static bool begin_visit(struct elapse_hashed *hashed)
{
    ELAPSE__ASSERT(hashed->pointer < hashed->clock);
    ELAPSE__ASSERT(!elapse__hashed_sorting(hashed));
    if (hashed->clock - hashed->pointer > hashed->slots) {
        hashed->origin_turn = hashed->jump_origin / hashed->slots;
        hashed->due_turn = 0;
        hashed->pointer = hashed->clock;
        hashed->pointer_slot = (size_t)(hashed->clock % hashed->slots);
        hashed->unvisited = hashed->slots;
        return continue_jump(hashed);
    }
    uint64_t tick = next_tick(hashed);
    ELAPSE__ASSERT(tick > hashed->pointer);
    bool found = tick <= hashed->clock;
    hashed->pointer = found ? tick : hashed->clock;
    hashed->jump_origin = hashed->pointer;
    hashed->pointer_slot = (size_t)(hashed->pointer % hashed->slots);
    ELAPSE__ASSERT(hashed->pointer <= hashed->clock);
    if (found)
        take_aside(hashed, hashed->pointer_slot, 1);
    return found;
}

/*
 * Visits slots until the oldest timer in the due ring is the timer that is popped next, or until no
 * timer is due. Looks at timers while `*budget` lasts. Returns false if the budget did not suffice.
 */
static bool find_due(struct elapse_hashed *hashed, size_t *budget)
{
    for (;;) {
        if (!visit_aside(hashed, budget))
            return false;
        if (elapse__hashed_jumping(hashed) && continue_jump(hashed))
            continue;
        if (!elapse__hashed_divide(hashed, budget))
            return false;
        if (!elapse__ring_empty(&hashed->due))
            return true;
        if (elapse__hashed_take_bucket(hashed))
            continue;
        if (hashed->pointer == hashed->clock)
            return true;
        (void)begin_visit(hashed);
    }
}

struct elapse_timer *elapse_hashed_pop(struct elapse_hashed *hashed)
{
    size_t budget = SIZE_MAX;
    bool found = find_due(hashed, &budget);
    ELAPSE__ASSERT(found);
    (void)found;
    if (elapse__ring_empty(&hashed->due))
        return NULL;
    struct elapse_timer *timer = elapse__ring_timer(hashed->due.next);
    ELAPSE__ASSERT(timer->place == 1);
    ELAPSE__ASSERT(timer->deadline <= hashed->clock);
    ELAPSE__ASSERT(hashed->count > 0);
    (void)elapse__ring_remove(&timer->keep.ring_node);
    timer->place = 0;
    hashed->count--;
    return timer;
}

bool elapse_hashed_cascade(struct elapse_hashed *hashed, size_t max_moves)
{
    bool found = find_due(hashed, &max_moves);
    ELAPSE__ASSERT(!found || elapse__ring_empty(&hashed->aside));
    return found;
}

/* ---- questions ---- */

void elapse_hashed_advance(struct elapse_hashed *hashed, uint64_t now)
{
    if (now > hashed->clock)
        hashed->clock = elapse__clock_at(now);
    ELAPSE__ASSERT(hashed->pointer <= hashed->clock);
}

/* Returns whether there is a timer that is not armed for ELAPSE_NEVER. Requires that a jump is
 * under way. */
static bool any_to_be_due(const struct elapse_hashed *hashed)
{
    /* No bucket is divided before the jump has ended. */
    ELAPSE__ASSERT(elapse__hashed_jumping(hashed));
    ELAPSE__ASSERT(elapse__ring_empty(&hashed->dividing));
    return !elapse__ring_empty(&hashed->due) || !elapse__ring_empty(&hashed->aside) ||
           hashed->digits_occupied != 0 || next_slot(hashed) < hashed->slots;
}

uint64_t elapse_hashed_next(const struct elapse_hashed *hashed)
{
    if (elapse__hashed_jumping(hashed)) {
        /* The least deadline is not known before the end of the jump. A tick that has passed tells
         * the caller that there is work to do now. */
        return any_to_be_due(hashed) ? hashed->jump_origin + 1 : ELAPSE_NEVER;
    }
    if (!elapse__ring_empty(&hashed->aside))
        return hashed->pointer;
    if (hashed->digits_occupied != 0 || !elapse__ring_empty(&hashed->dividing)) {
        /* The least deadline is not known before the next timers are sorted, either. The tick that
         * is returned has passed, too. */
        return (hashed->origin_turn + hashed->due_turn) * hashed->slots;
    }
    if (!elapse__ring_empty(&hashed->due))
        return elapse__ring_timer(hashed->due.next)->deadline;
    return next_tick(hashed);
}

uint64_t elapse_hashed_remaining(const struct elapse_hashed *hashed,
                                 const struct elapse_timer *timer)
{
    return elapse__remaining(hashed->clock, timer);
}

uint64_t elapse_hashed_now(const struct elapse_hashed *hashed)
{
    return hashed->clock;
}

size_t elapse_hashed_count(const struct elapse_hashed *hashed)
{
    return hashed->count;
}

size_t elapse_hashed_slots(const struct elapse_hashed *hashed)
{
    return hashed->slots;
}

uint64_t elapse_hashed_rounds(const struct elapse_hashed *hashed, const struct elapse_timer *timer)
{
    (void)hashed;
    if (timer->place == ELAPSE__HASHED_PLACE_NEVER)
        return ELAPSE_NEVER;
    return timer->place == 0 ? 0 : timer->place - 1;
}

uint64_t elapse_hashed_moves(const struct elapse_hashed *hashed)
{
    return hashed->moves;
}

uint64_t elapse_hashed_visits(const struct elapse_hashed *hashed)
{
    return hashed->visits;
}

uint64_t elapse_hashed_ticking_visits(const struct elapse_hashed *hashed)
{
    return hashed->ticking_visits;
}
