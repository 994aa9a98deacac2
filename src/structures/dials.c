/*
 * Dials: the hierarchical timing wheel with any number of slots on each level.
 *
 * Each level is a dial whose slots are as wide as the whole dial below it. A timer lies on the
 * finest level that reaches its deadline. The reach of a level begins with the slot that the
 * pointer is in. This is an example with 10 slots on each level, and the pointer at 123:
 *
 *              slot    0    1    2    3    4    5    6    7    8    9
 *                                     v pointer
 *     level 0        130  131  132  123  124  125  126  127  128  129
 *                                v
 *     level 1        200- 210- 120- 130- 140- 150- 160- 170- 180- 190-199
 *                           v
 *     level 2       1000- 100- 200- 300- 400- 500- 600- 700- 800- 900-999
 *
 * A timer with the deadline 131 lies in slot 1 of level 0, because level 0 reaches to 132. A timer
 * with the deadline 135 lies in slot 3 of level 1. That slot is cascaded at 130: then the timer
 * moves to slot 5 of level 0. A timer with the deadline 210 lies in slot 1 of level 1, and one with
 * the deadline 1050 in slot 0 of level 2. The deadline 1100 is out of reach, because the reach of
 * level 2 begins at 100.
 *
 * There are two times. `clock` is the time that the caller gave last. `pointer` is the tick from
 * which the slots are counted. Advance sets the clock and nothing else. The pointer follows the
 * clock, but it stops at the first tick of the first slot that has timers, until these timers are
 * cascaded or popped. At each tick, the work is done in this order: first the slots above level 0
 * that begin at the tick are cascaded, from the finest level to the coarsest; then the parked
 * timers are visited; then the slot of level 0 is popped.
 *
 * Order. The rings keep the order of arming. A timer never lies on a coarser level than an older
 * timer with its deadline, because the pointer only comes nearer to the deadline. So a cascade
 * walks from the newest timer to the oldest, and puts each timer in front of its new ring. If
 * several slots are cascaded at one tick, the slot of the finest level comes first, because it has
 * the newest timers.
 *
 * Out of reach. A deadline may be out of reach of all levels. Dials with an allocator then add
 * another level. In other dials the timer is parked: it goes into one ring for all parked timers.
 * The parked ring is visited at a tick at which a slot of the coarsest level begins: the slot that
 * the least parked deadline would lie in. By then that deadline is in reach. So there is at most
 * one visit in a turn of the coarsest dial. The classical designs park timers in the farthest slot
 * of the coarsest dial instead. Then two timers with the same deadline that were parked at
 * different times would lie in different slots, and the younger timer could come into reach first.
 * A visit sets the whole ring `aside` before it looks at the timers, so that the visit can be done
 * in steps. The timers that stay parked go in front of those that were parked meanwhile. Timers for
 * ELAPSE_NEVER have a ring that is never visited.
 *
 * Invariants, by the numbers that elapse_dials_check returns:
 *  1. pointer <= clock <= ELAPSE_TIME_MAX.
 *  2. A slot's bit is set exactly while the slot has timers. `occupied_slots` of a level counts
 *     the bits of its slots, and no other bits are set.
 *  3. Every ring is closed in both directions. The place of each timer in a ring names the level
 *     and the slot of the ring, or says that the timer is parked, or never due.
 *  4. `count` timers are in the rings.
 *  5. A slot that has timers begins at the pointer or later. The deadlines of its timers are ticks
 *     that the slot covers.
 *  6. No parked deadline is before `parked_least`. The slot of the coarsest level that would have
 *     `parked_least` begins at the pointer or later. No deadline of a timer set aside is before
 *     the pointer. Timers for ELAPSE_NEVER are in their own ring, which has no other timers.
 *  7. `wake` is not before the pointer. Before `wake` there is no visit, and no slot that has
 *     timers begins.
 *  8. While `cascaded` is true, no timer is aside. At the pointer there is then no visit, and no
 *     slot above level 0 that has timers begins.
 *  9. The levels are numbered upwards from 0. Each level has 2 slots or more. A slot of level 0 is
 *     one tick wide. A slot of another level is as wide as the whole level below. `span` is the
 *     width of all slots together, or UINT64_MAX if that is more than 2^64 - 1.
 *
 * The functions, and what each changes:
 *     start, stop   idle <-> a ring; a slot's bit; wake, to an earlier tick
 *     follow_clock  pointer, only so far that nothing has to be cascaded; wake
 *     find_due      pointer and wake, up to the next tick with work to do
 *     cascade_at_pointer   moves the timers of all slots that begin at the pointer; cascaded
 *     pop_due       a ring -> idle; a slot's bit; wake
 *     grow          adds a level
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987,
 * scheme 7; the hierarchical timer of Apache Kafka's purgatory grows as these dials do. The
 * bitmaps, the pointer that trails and the cascade on demand are different here.
 */
#include <string.h>

#include <elapse/dials.h>

#include "../base/assert.h"
#include "../base/ring.h"
#include "deadline.h"
#include "dials_level.h"

extern inline void elapse_dials_advance(struct elapse_dials *dials, uint64_t now);
extern inline struct elapse_timer *elapse_dials_pop(struct elapse_dials *dials);
extern inline uint64_t elapse_dials_next(const struct elapse_dials *dials);
extern inline uint64_t elapse_dials_now(const struct elapse_dials *dials);
extern inline size_t elapse_dials_count(const struct elapse_dials *dials);
extern inline uint64_t elapse_dials_moves(const struct elapse_dials *dials);

/* ---- how far the pointer may go ---- */

/* Returns whether the parked timers must be visited at the pointer. */
static bool visit_is_due(const struct elapse_dials *dials)
{
    return !elapse__ring_empty(&dials->parked) &&
           elapse__dials_begin(dials->coarsest, dials->parked_least) == dials->pointer;
}

/* Returns the first tick at which there is work to do: a slot that has timers begins, or the parked
 * timers must be visited. Returns ELAPSE_NEVER if there is no work. */
static uint64_t first_begin(const struct elapse_dials *dials)
{
    uint64_t first = ELAPSE_NEVER;
    if (!elapse__ring_empty(&dials->aside))
        return dials->pointer;
    if (!elapse__ring_empty(&dials->parked))
        first = elapse__dials_begin(dials->coarsest, dials->parked_least);
    for (const struct elapse__dials_level *level = dials->finest; level != NULL;
         level = level->coarser) {
        /* No slot of a coarser level can begin earlier. */
        if (first <= elapse__dials_next_begin(level, dials->pointer))
            break;
        if (level->occupied_slots == 0)
            continue;
        uint64_t begin = elapse__dials_first_begin(level, dials->pointer);
        if (begin < first)
            first = begin;
    }
    ELAPSE__ASSERT(first >= dials->pointer);
    return first;
}

/* Returns whether there is work to do at the tick of the pointer. Then the pointer goes no
 * farther. */
static bool has_work_at_pointer(const struct elapse_dials *dials)
{
    const struct elapse__dials_level *level = dials->finest;
    for (; level != NULL && dials->pointer % level->width == 0; level = level->coarser) {
        uint32_t slot = elapse__dials_slot(level, dials->pointer);
        if (!elapse__ring_empty(elapse__dials_ring(level, slot)))
            return true;
    }
    return !elapse__ring_empty(&dials->aside) || visit_is_due(dials);
}

/* Moves the pointer towards the clock, but not beyond a tick at which there is work to do. */
static void follow_clock(struct elapse_dials *dials)
{
    ELAPSE__ASSERT(dials->pointer <= dials->clock);
    ELAPSE__ASSERT(dials->wake >= dials->pointer);
    if (dials->pointer == dials->clock)
        return;
    /* This return saves the search of the bitmaps while a due timer waits to be popped. */
    if (dials->wake == dials->pointer && has_work_at_pointer(dials))
        return;
    /* The timer that `wake` was set for may have been stopped. */
    if (dials->wake <= dials->clock)
        dials->wake = first_begin(dials);
    uint64_t limit = dials->wake < dials->clock ? dials->wake : dials->clock;
    ELAPSE__ASSERT(limit > dials->pointer);
    dials->pointer = limit;
    dials->cascaded = false;
}

/* ---- placing ---- */

static void lower_wake(struct elapse_dials *dials, uint64_t tick)
{
    ELAPSE__ASSERT(tick >= dials->pointer);
    if (tick < dials->wake)
        dials->wake = tick;
}

/* Puts a timer that is in no ring into the ring of its deadline, as the oldest timer there if
 * `as_oldest` is true, otherwise as the newest. Returns the first tick at which there is work to do
 * for this timer. */
static uint64_t place_timer(struct elapse_dials *dials, struct elapse_timer *timer, bool as_oldest)
{
    uint64_t deadline = timer->deadline;
    struct elapse__dials_level *level = dials->finest;
    struct elapse__ring_node *ring = &dials->never;
    uint64_t begin = ELAPSE_NEVER;

    ELAPSE__ASSERT(deadline >= dials->pointer);
    while (level != NULL && !elapse__dials_reaches(level, dials->pointer, deadline))
        level = level->coarser;
    if (deadline == ELAPSE_NEVER) {
        timer->place = elapse__dials_place(ELAPSE__DIALS_NEVER, 0);
    } else if (level != NULL) {
        uint32_t slot = elapse__dials_slot(level, deadline);
        ring = elapse__dials_ring(level, slot);
        timer->place = elapse__dials_place(level->number, slot);
        if (elapse__ring_empty(ring))
            elapse__dials_mark_occupied(level, slot);
        begin = elapse__dials_begin(level, deadline);
    } else {
        ring = &dials->parked;
        timer->place = elapse__dials_place(ELAPSE__DIALS_PARKED, 0);
        if (elapse__ring_empty(ring) || deadline < dials->parked_least)
            dials->parked_least = deadline;
        begin = elapse__dials_begin(dials->coarsest, deadline);
    }
    if (as_oldest)
        elapse__ring_prepend(ring, &timer->keep.ring_node);
    else
        elapse__ring_append(ring, &timer->keep.ring_node);
    ELAPSE__ASSERT(timer->place != 0);
    ELAPSE__ASSERT(begin >= dials->pointer);
    ELAPSE__ASSERT(begin <= deadline);
    return begin;
}

/* Takes a pending timer out of its ring. */
static void remove_timer(struct elapse_dials *dials, struct elapse_timer *timer)
{
    ELAPSE__ASSERT(timer->place != 0);
    ELAPSE__ASSERT(dials->count > 0);
    uint32_t number = elapse__dials_place_level(timer->place);
    if (elapse__ring_remove(&timer->keep.ring_node) && number < ELAPSE__DIALS_PARKED) {
        struct elapse__dials_level *level = dials->finest;
        ELAPSE__ASSERT(number < dials->levels);
        while (level->number != number)
            level = level->coarser;
        elapse__dials_mark_empty(level, elapse__dials_place_slot(timer->place));
    }
    timer->place = 0;
    dials->count--;
}

/* Adds levels until the coarsest level reaches `deadline`. Returns false if there is no memory.
 * Does nothing in dials that cannot grow; these park the timer. */
static bool make_reach(struct elapse_dials *dials, uint64_t deadline)
{
    if (dials->growth.allocate == NULL || deadline == ELAPSE_NEVER)
        return true;
    while (!elapse__dials_reaches(dials->coarsest, dials->pointer, deadline)) {
        if (!elapse__dials_grow(dials))
            return false;
    }
    ELAPSE__ASSERT(elapse__dials_reaches(dials->coarsest, dials->pointer, deadline));
    return true;
}

enum elapse_error elapse_dials_start(struct elapse_dials *dials, struct elapse_timer *timer,
                                     uint64_t deadline)
{
    deadline = elapse__stored_deadline(dials->clock, deadline);
    follow_clock(dials);
    if (!make_reach(dials, deadline))
        return ELAPSE_ERROR_MEMORY;
    if (timer->place != 0) {
        remove_timer(dials, timer);
        follow_clock(dials);
    }
    timer->deadline = deadline;
    dials->count++;
    lower_wake(dials, place_timer(dials, timer, false));
    ELAPSE__ASSERT(timer->place != 0);
    return ELAPSE_OK;
}

enum elapse_error elapse_dials_start_window(struct elapse_dials *dials, struct elapse_timer *timer,
                                            uint64_t earliest, uint64_t latest)
{
    return elapse_dials_start(dials, timer,
                              elapse_deadline_in_window(dials->clock, earliest, latest));
}

bool elapse_dials_stop(struct elapse_dials *dials, struct elapse_timer *timer)
{
    if (timer->place == 0)
        return false;
    remove_timer(dials, timer);
    ELAPSE__ASSERT(timer->place == 0);
    if (dials->count == 0)
        dials->wake = ELAPSE_NEVER;
    return true;
}

/* ---- popping ---- */

/*
 * Moves the timers of `ring` to the rings in which they belong by the present pointer, from the
 * newest timer to the oldest, while `*budget` lasts. Requires that none of them belongs in `ring`.
 * Returns true when the ring is empty.
 */
static bool cascade_ring(struct elapse_dials *dials, struct elapse__ring_node *ring, size_t *budget)
{
    struct elapse__ring_node *ring_node = ring->previous;
    size_t left = *budget;
    for (; ring_node != ring && left > 0; left--) {
        struct elapse_timer *timer = elapse__ring_timer(ring_node);
        ELAPSE__ASSERT(timer->place != 0);
        ring_node = ring_node->previous;
        (void)place_timer(dials, timer, true);
    }
    elapse__ring_close_behind(ring, ring_node);
    dials->moves += *budget - left;
    *budget = left;
    return ring_node == ring;
}

/* Moves the parked timers to the ring `aside`, if they must be visited at this tick and the visit
 * before is complete. */
static void set_parked_aside(struct elapse_dials *dials)
{
    if (!elapse__ring_empty(&dials->aside) || !visit_is_due(dials))
        return;
    elapse__ring_take_all(&dials->aside, &dials->parked);
    ELAPSE__ASSERT(elapse__ring_empty(&dials->parked));
}

/* Cascades all slots above level 0 that begin at the pointer, and visits the parked ring if it must
 * be visited now. Returns false if the budget did not suffice. */
static bool cascade_at_pointer(struct elapse_dials *dials, size_t *budget)
{
    uint64_t pointer = dials->pointer;
    for (struct elapse__dials_level *level = dials->finest->coarser;
         level != NULL && pointer % level->width == 0; level = level->coarser) {
        uint32_t slot = elapse__dials_slot(level, pointer);
        struct elapse__ring_node *ring = elapse__dials_ring(level, slot);
        if (elapse__ring_empty(ring))
            continue;
        ELAPSE__ASSERT(elapse__bitmap_has(elapse__dials_occupied(level), slot));
        if (!cascade_ring(dials, ring, budget))
            return false;
        elapse__dials_mark_empty(level, slot);
    }
    set_parked_aside(dials);
    dials->cascaded = cascade_ring(dials, &dials->aside, budget);
    return dials->cascaded;
}

/*
 * Finds the timer that is popped next, and stores it in `*due`; stores NULL if no timer is due.
 * Moves the timers that must be moved before, while `*budget` lasts. Returns false if the budget
 * did not suffice.
 */
static bool find_due(struct elapse_dials *dials, size_t *budget, struct elapse_timer **due)
{
    *due = NULL;
    ELAPSE__ASSERT(dials->pointer <= dials->clock);
    for (;;) {
        if (dials->cascaded) {
            struct elapse__ring_node *ring = elapse__dials_ring(
                dials->finest, elapse__dials_slot(dials->finest, dials->pointer));
            if (!elapse__ring_empty(ring)) {
                *due = elapse__ring_timer(ring->next);
                return true;
            }
        }
        uint64_t tick = first_begin(dials);
        dials->wake = tick;
        if (tick > dials->clock)
            return true;
        ELAPSE__ASSERT(tick >= dials->pointer);
        dials->pointer = tick;
        dials->cascaded = false;
        if (!cascade_at_pointer(dials, budget))
            return false;
    }
}

struct elapse_timer *elapse_dials_pop_due(struct elapse_dials *dials)
{
    struct elapse_timer *due;
    size_t budget = SIZE_MAX;
    bool found = find_due(dials, &budget, &due);
    ELAPSE__ASSERT(found);
    (void)found;
    if (due == NULL)
        return NULL;
    ELAPSE__ASSERT(due->deadline == dials->pointer);
    ELAPSE__ASSERT(due->deadline <= dials->clock);
    struct elapse__ring_node *ring = due->keep.ring_node.previous;
    remove_timer(dials, due);
    /* When the last timer of a slot is popped, the next wake-up is computed at once. This usually
     * spares the caller one call that would find nothing due. */
    if (elapse__ring_empty(ring))
        dials->wake = first_begin(dials);
    return due;
}

bool elapse_dials_cascade(struct elapse_dials *dials, size_t max_moves)
{
    struct elapse_timer *due;
    bool found = find_due(dials, &max_moves, &due);
    ELAPSE__ASSERT(due == NULL || due->deadline <= dials->clock);
    return found;
}

uint64_t elapse_dials_remaining(const struct elapse_dials *dials, const struct elapse_timer *timer)
{
    return elapse__remaining(dials->clock, timer);
}
