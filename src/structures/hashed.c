/*
 * The hashed wheel: start, stop, pop.
 *
 * A timer lies in slot deadline % slots, whichever turn it is due in. Its rounds say how
 * many visits to its slot are to come before the one at which it is due. Ten slots, the
 * pointer at 0:
 *
 *      pointer (tick 0, slot 0)
 *         v
 *       [ 0 ][ 1 ][ 2 ][ 3 ][ 4 ][ 5 ][ 6 ][ 7 ][ 8 ][ 9 ]
 *         |                        |
 *     10: 0 rounds             15: 1 round  (oldest)
 *                               5: 0 rounds
 *                              25: 2 rounds (newest)
 *
 * At tick 5 slot 5 is visited: 5 is due and goes to the ring of due timers, and the others stay
 * with a round less, in their order. rounds = (deadline - pointer - 1) / slots.
 *
 * Two times: `clock` is what the caller said last; `pointer`, which trails it, is the tick whose
 * visit is done, or under way. Advancing sets the clock alone; pop and cascade visit, and only
 * while no timer is due. A visit takes the timers of its slot aside and looks at them
 * from the newest to the oldest. Each goes in front: of the due ring, or of the slot's. So the
 * order of arming survives, also when a visit is done in steps and newly armed timers lie behind
 * in the slot already. Nothing is popped before the visit is complete.
 *
 * The jump. When the clock is more than a turn ahead, the pointer goes there at once, and every
 * occupied slot is visited once, in the order of their numbers, for all the turns passed: who has
 * fewer rounds than these is due. Deadlines of different turns then mix in the due ring, which is
 * sorted at the end. A slot that has yet to be visited reckons its rounds from `before`,
 * where the pointer was, also those of timers armed meanwhile.
 *
 *         before                                              pointer
 *           |----------- turns, each past every slot ------------|
 *       [ 0 ][ 1 ][ 2 ]  visited: rounds from the pointer on
 *       [ 3 ]            under visit: some set aside
 *       [ 4 ] ... [ 9 ]  from `unvisited` on: rounds from `before` on
 *
 * Invariants, by the numbers that elapse_hashed_check returns:
 *  1. before <= pointer <= clock <= ELAPSE_TIME_MAX.
 *  2. A slot's bit in `occupied` is set exactly while its ring has timers.
 *  3. Every ring is closed in both directions.
 *  4. `count` timers are in the rings.
 *  5. A timer in a slot's ring has a deadline that falls on that slot, and that many rounds as lie
 *     between it and the last tick that the slot reckons with.
 *  6. So has one set aside, for the slot under visit; `turns` of it are passed.
 *  7. A due timer has no rounds and a deadline up to the pointer. They are in order,
 *     unless a jump is under way.
 *  8. In the ring of those armed for ELAPSE_NEVER are no others.
 *  9. `position` is the pointer's slot. Unless a jump of more than a turn is under way, `before` is
 *     the pointer, and no slot is unvisited.
 *
 * Who changes what:
 *     start        idle -> the ring of a slot, of due timers, or of those for ELAPSE_NEVER
 *     stop, pop    a ring -> idle
 *     take_aside   the ring of a slot -> aside
 *     visit_aside  aside -> the due ring, or back into the ring of the slot
 *     begin_visit, continue_jump   pointer, position; before, unvisited: the jump
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme
 * 6; widely used, as in Netty's HashedWheelTimer and in godis. Theirs visits the slot of every
 * tick; the bitmap of slots and the jump are what differs.
 */
#include <string.h>

#include <elapse/hashed.h>

#include "../base/assert.h"
#include "../base/ring.h"
#include "deadline.h"
#include "hashed_ring.h"

/* Lists to merge: that of number n has 2^n timers. */
enum { MERGE_LISTS = 64 };

/* What the storage is aligned for. */
struct storage_unit {
    uint64_t word;
    struct elapse__link ring;
};

size_t elapse_hashed_storage_bytes(size_t slots)
{
    if (slots == 0 || slots > ELAPSE_HASHED_SLOTS_MAX)
        return SIZE_MAX;
    return slots * sizeof(struct elapse__link) + elapse__bitmap_words(slots) * sizeof(uint64_t);
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
    /* The words lie before the rings, which need no more than their alignment. */
    uint64_t *occupied = storage;
    uint64_t clock = elapse__clock_at(now);
    *hashed = (struct elapse_hashed){
        .clock = clock,
        .pointer = clock,
        .before = clock,
        .slots = slots,
        .position = (size_t)(clock % slots),
        .unvisited = slots,
        .rings = (struct elapse__link *)(occupied + elapse__bitmap_words(slots)),
        .occupied = occupied,
    };
    memset(occupied, 0, elapse__bitmap_words(slots) * sizeof *occupied);
    for (size_t slot = 0; slot < slots; slot++)
        elapse__ring_init(&hashed->rings[slot]);
    elapse__ring_init(&hashed->due);
    elapse__ring_init(&hashed->aside);
    elapse__ring_init(&hashed->never);
    return ELAPSE_OK;
}

/* ---- placing ---- */

static void mark_occupied(struct elapse_hashed *hashed, size_t slot)
{
    hashed->occupied[slot / 64] |= UINT64_C(1) << slot % 64;
}

static void mark_empty(struct elapse_hashed *hashed, size_t slot)
{
    hashed->occupied[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

/* Puts a timer whose deadline is after the pointer into its slot, as the newest. */
static void append_to_slot(struct elapse_hashed *hashed, struct elapse_timer *timer)
{
    uint64_t ahead = timer->deadline - hashed->pointer - 1;
    uint64_t rounds = ahead / hashed->slots;
    size_t slot = hashed->position + 1 + (size_t)(ahead % hashed->slots);
    if (slot >= hashed->slots)
        slot -= hashed->slots;
    if (slot >= hashed->unvisited)
        rounds = (timer->deadline - hashed->before - 1) / hashed->slots;
    timer->place = rounds + 1;
    elapse__ring_append(&hashed->rings[slot], &timer->keep.link);
    mark_occupied(hashed, slot);
}

void elapse_hashed_start(struct elapse_hashed *hashed, struct elapse_timer *timer,
                         uint64_t deadline)
{
    (void)elapse_hashed_stop(hashed, timer);
    timer->deadline = elapse__stored_deadline(hashed->clock, deadline);
    hashed->count++;
    if (timer->deadline == ELAPSE_NEVER) {
        timer->place = ELAPSE__HASHED_PLACE_NEVER;
        elapse__ring_append(&hashed->never, &timer->keep.link);
    } else if (timer->deadline <= hashed->pointer) {
        timer->place = 1;
        elapse__ring_append(&hashed->due, &timer->keep.link);
    } else {
        append_to_slot(hashed, timer);
    }
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
    timer->place = 0;
    hashed->count--;
    if (elapse__ring_remove(&timer->keep.link)) {
        /* It may have been due or set aside: then its slot's ring need not be the empty one. */
        size_t slot = (size_t)(timer->deadline % hashed->slots);
        if (elapse__ring_empty(&hashed->rings[slot]))
            mark_empty(hashed, slot);
    }
    return true;
}

/* ---- visiting ---- */

/* Merges two lists, each in order and ended by NULL. At equal deadlines the timers of `older`
 * come first. Only the links forward are set. */
static struct elapse__link *merge(struct elapse__link *older, struct elapse__link *newer)
{
    struct elapse__link *merged;
    struct elapse__link **end = &merged;
    while (older != NULL && newer != NULL) {
        bool newer_first =
            elapse__ring_timer(newer)->deadline < elapse__ring_timer(older)->deadline;
        struct elapse__link **from = newer_first ? &newer : &older;
        *end = *from;
        end = &(*from)->next;
        *from = *end;
    }
    *end = older != NULL ? older : newer;
    return merged;
}

/* Sorts a ring by deadline; timers of one deadline keep their order. */
static void sort_ring(struct elapse__link *ring)
{
    struct elapse__link *lists[MERGE_LISTS] = {NULL};
    struct elapse__link *rest = ring->next;
    if (rest == ring)
        return;
    ring->previous->next = NULL;
    while (rest != NULL) {
        struct elapse__link *list = rest;
        unsigned number = 0;
        rest = rest->next;
        list->next = NULL;
        for (; lists[number] != NULL; number++) {
            list = merge(lists[number], list);
            lists[number] = NULL;
        }
        lists[number] = list;
    }
    struct elapse__link *sorted = NULL;
    for (unsigned number = 0; number < MERGE_LISTS; number++)
        sorted = merge(lists[number], sorted);

    elapse__ring_init(ring);
    while (sorted != NULL) {
        struct elapse__link *link = sorted;
        sorted = link->next;
        elapse__ring_append(ring, link);
    }
}

/* Begins the visit to an occupied slot, which stands for so many turns. */
static void take_aside(struct elapse_hashed *hashed, size_t slot, uint64_t turns)
{
    struct elapse__link *ring = &hashed->rings[slot];
    struct elapse__link *aside = &hashed->aside;
    ELAPSE__ASSERT(elapse__ring_empty(aside) && !elapse__ring_empty(ring));
    elapse__ring_take_all(aside, ring);
    mark_empty(hashed, slot);
    hashed->visiting = slot;
    hashed->turns = turns;
}

/* Looks at the timers set aside while `*budget` lasts; returns false when it did not suffice. */
static bool visit_aside(struct elapse_hashed *hashed, size_t *budget)
{
    struct elapse__link *ring = &hashed->rings[hashed->visiting];
    uint64_t turns = hashed->turns;
    while (!elapse__ring_empty(&hashed->aside)) {
        if (*budget == 0)
            return false;
        --*budget;
        hashed->moves++;
        struct elapse__link *link = hashed->aside.previous;
        struct elapse_timer *timer = elapse__ring_timer(link);
        uint64_t rounds = timer->place - 1;
        (void)elapse__ring_remove(link);
        if (rounds < turns) {
            timer->place = 1;
            hashed->ticking_visits += rounds;
            elapse__ring_prepend(&hashed->due, link);
        } else {
            timer->place -= turns;
            hashed->visits++;
            hashed->ticking_visits += turns;
            elapse__ring_prepend(ring, link);
            mark_occupied(hashed, hashed->visiting);
        }
    }
    return true;
}

/* Takes the next slot of the jump aside. After the last one, ends the jump and returns false. */
static bool continue_jump(struct elapse_hashed *hashed)
{
    size_t slot = elapse__hashed_first_from(hashed, hashed->unvisited);
    if (slot < hashed->slots) {
        hashed->unvisited = slot + 1;
        take_aside(hashed, slot, elapse__hashed_turns(hashed, hashed->before, slot));
        return true;
    }
    hashed->unvisited = hashed->slots;
    hashed->before = hashed->pointer;
    sort_ring(&hashed->due);
    return false;
}

/* The occupied slot that is visited first after the pointer; the number of slots, if there is
 * none. */
static size_t next_slot(const struct elapse_hashed *hashed)
{
    size_t slot = elapse__hashed_first_from(hashed, hashed->position + 1);
    return slot < hashed->slots ? slot : elapse__hashed_first_from(hashed, 0);
}

/* The tick at which that slot is visited; ELAPSE_NEVER, if there is none. */
static uint64_t next_tick(const struct elapse_hashed *hashed)
{
    size_t slot = next_slot(hashed);
    return slot < hashed->slots ? elapse__hashed_tick_after(hashed, hashed->pointer, slot)
                                : ELAPSE_NEVER;
}

/* Sends the pointer on to the next visit, and begins it; to the clock, and returns false, if there
 * is none until then. */
static bool begin_visit(struct elapse_hashed *hashed)
{
    uint64_t before = hashed->pointer;
    if (hashed->clock - before > hashed->slots) {
        hashed->pointer = hashed->clock;
        hashed->position = (size_t)(hashed->clock % hashed->slots);
        hashed->unvisited = 0;
        return continue_jump(hashed);
    }
    uint64_t tick = next_tick(hashed);
    bool found = tick <= hashed->clock;
    hashed->pointer = found ? tick : hashed->clock;
    hashed->before = hashed->pointer;
    hashed->position = (size_t)(hashed->pointer % hashed->slots);
    if (found)
        take_aside(hashed, hashed->position, 1);
    return found;
}

/*
 * Sees to it that the oldest in the due ring is the timer to be popped next, and that the ring is
 * empty only if none is due. Looks at timers while `*budget` lasts; returns false when it
 * did not suffice.
 */
static bool prepare(struct elapse_hashed *hashed, size_t *budget)
{
    for (;;) {
        if (!visit_aside(hashed, budget))
            return false;
        if (elapse__hashed_jumping(hashed) && continue_jump(hashed))
            continue;
        if (!elapse__ring_empty(&hashed->due) || hashed->pointer == hashed->clock)
            return true;
        (void)begin_visit(hashed);
    }
}

struct elapse_timer *elapse_hashed_pop(struct elapse_hashed *hashed)
{
    size_t budget = SIZE_MAX;
    bool prepared = prepare(hashed, &budget);
    ELAPSE__ASSERT(prepared);
    (void)prepared;
    if (elapse__ring_empty(&hashed->due))
        return NULL;
    struct elapse_timer *timer = elapse__ring_timer(hashed->due.next);
    ELAPSE__ASSERT(timer->deadline <= hashed->clock);
    (void)elapse__ring_remove(&timer->keep.link);
    timer->place = 0;
    hashed->count--;
    return timer;
}

bool elapse_hashed_cascade(struct elapse_hashed *hashed, size_t max_moves)
{
    return prepare(hashed, &max_moves);
}

/* ---- asking ---- */

void elapse_hashed_advance(struct elapse_hashed *hashed, uint64_t now)
{
    if (now > hashed->clock)
        hashed->clock = elapse__clock_at(now);
}

uint64_t elapse_hashed_next(const struct elapse_hashed *hashed)
{
    /* In a jump the least deadline is not known before the end: any tick that has passed says
     * that there is something to do now. */
    if (elapse__hashed_jumping(hashed))
        return hashed->before + 1;
    if (!elapse__ring_empty(&hashed->aside))
        return hashed->pointer;
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
