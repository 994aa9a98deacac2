/*
 * The hashed wheel: the functions that look at the whole wheel. The head of hashed.c lists the
 * invariants that are checked here, and explains rounds, visits and the jump.
 */
#include <elapse/hashed.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "hashed_ring.h"
#include "hashed_sort.h"

enum { ALL_BUCKETS = ELAPSE__HASHED_DIGITS * ELAPSE__HASHED_BUCKETS };

/* Returns the bucket with this number. The buckets of all digits are numbered in one sequence. */
static struct elapse__hashed_bucket bucket_at(size_t number)
{
    return (struct elapse__hashed_bucket){
        .digit = (unsigned)(number / ELAPSE__HASHED_BUCKETS),
        .number = (unsigned)(number % ELAPSE__HASHED_BUCKETS),
    };
}

/* Returns the number of the first occupied bucket from `number` on; ALL_BUCKETS if there is
 * none. */
static size_t occupied_bucket_from(const struct elapse_hashed *hashed, size_t number)
{
    if (hashed->digits_occupied == 0)
        return ALL_BUCKETS;
    while (number < ALL_BUCKETS && !elapse__hashed_bucket_occupied(hashed, bucket_at(number)))
        number++;
    return number;
}

static const struct elapse__ring_node *bucket_ring(const struct elapse_hashed *hashed,
                                                   size_t number)
{
    struct elapse__hashed_bucket bucket = bucket_at(number);
    return &hashed->digits[bucket.digit].buckets[bucket.number];
}

/* Walks the rings of timers that are in no slot, and then the rings of the slots. */
void elapse_hashed_for_each(struct elapse_hashed *hashed, elapse_visit_function *visit,
                            void *context)
{
    size_t slot = 0;
    size_t bucket = 0;
    bool goes_on = elapse__ring_visit(&hashed->due, visit, context) &&
                   elapse__ring_visit(&hashed->aside, visit, context) &&
                   elapse__ring_visit(&hashed->dividing, visit, context) &&
                   elapse__ring_visit(&hashed->never, visit, context);
    while (goes_on && (bucket = occupied_bucket_from(hashed, bucket)) < ALL_BUCKETS)
        goes_on = elapse__ring_visit(bucket_ring(hashed, bucket++), visit, context);
    while (goes_on && (slot = elapse__hashed_first_from(hashed, slot)) < hashed->slots)
        goes_on = elapse__ring_visit(&hashed->rings[slot++], visit, context);
}

static bool stop_visited(struct elapse_timer *timer, void *hashed)
{
    bool stopped = elapse_hashed_stop(hashed, timer);
    ELAPSE__ASSERT(stopped);
    (void)stopped;
    return true;
}

void elapse_hashed_clear(struct elapse_hashed *hashed)
{
    elapse_hashed_for_each(hashed, stop_visited, hashed);
    hashed->jump_origin = hashed->pointer;
    hashed->unvisited = 0;
    ELAPSE__ASSERT(hashed->count == 0);
    ELAPSE__ASSERT(!elapse__hashed_sorting(hashed));
    ELAPSE__ASSERT(elapse__hashed_first_from(hashed, 0) == hashed->slots);
}

/* ---- check ---- */

/* The wheel that is checked, and the slot whose timers are checked. */
struct checked_hashed_slot {
    const struct elapse_hashed *hashed;
    size_t slot;
};

/* The wheel that is checked, and the number of the bucket whose timers are checked. */
struct checked_bucket {
    const struct elapse_hashed *hashed;
    size_t bucket;
};

/* Returns whether the deadline and the rounds of a timer are right for `slot`, whose rounds are
 * counted from tick `visited`. */
static bool is_placed(const struct elapse_hashed *hashed, const struct elapse_timer *timer,
                      size_t slot, uint64_t visited)
{
    return timer->deadline > visited && timer->deadline < ELAPSE_NEVER &&
           timer->deadline % hashed->slots == slot &&
           timer->place == 1 + (timer->deadline - visited - 1) / hashed->slots;
}

static unsigned check_in_slot(const struct elapse_timer *timer, const void *context)
{
    const struct checked_hashed_slot *checked = context;
    uint64_t visited = elapse__hashed_visited(checked->hashed, checked->slot);
    return is_placed(checked->hashed, timer, checked->slot, visited) ? 0 : 5;
}

static unsigned check_aside(const struct elapse_timer *timer, const void *context)
{
    const struct elapse_hashed *hashed = context;
    uint64_t visited = elapse__hashed_visited_aside(hashed);
    return is_placed(hashed, timer, hashed->visiting, visited) ? 0 : 6;
}

/* Returns whether a timer may be among the timers that are due: it has no rounds, and its deadline
 * has come. */
static bool is_due(const struct elapse_hashed *hashed, const struct elapse_timer *timer)
{
    return timer->place == 1 && timer->deadline <= hashed->pointer;
}

/* Returns whether the turn of a due timer is `due_turn` or a later turn. */
static bool is_sorted_behind(const struct elapse_hashed *hashed, const struct elapse_timer *timer)
{
    return timer->deadline / hashed->slots >= hashed->origin_turn + hashed->due_turn;
}

static unsigned check_due(const struct elapse_timer *timer, const void *context)
{
    const struct elapse_hashed *hashed = context;
    const struct elapse__ring_node *older = timer->keep.ring_node.previous;
    if (!is_due(hashed, timer))
        return 7;
    if (elapse__hashed_sorting(hashed) &&
        timer->deadline / hashed->slots != hashed->origin_turn + hashed->due_turn)
        return 7;
    return older == &hashed->due || elapse__ring_timer(older)->deadline <= timer->deadline ? 0 : 7;
}

static unsigned check_dividing(const struct elapse_timer *timer, const void *context)
{
    const struct elapse_hashed *hashed = context;
    return is_due(hashed, timer) && is_sorted_behind(hashed, timer) ? 0 : 10;
}

static unsigned check_in_bucket(const struct elapse_timer *timer, const void *context)
{
    const struct checked_bucket *checked = context;
    const struct elapse_hashed *hashed = checked->hashed;
    if (!is_due(hashed, timer) || !is_sorted_behind(hashed, timer))
        return 10;
    uint64_t turn = elapse__hashed_turn(hashed, timer->deadline);
    if (turn == hashed->due_turn)
        return 10;
    struct elapse__hashed_bucket bucket = elapse__hashed_bucket_of(hashed, turn);
    return bucket.digit * ELAPSE__HASHED_BUCKETS + bucket.number == checked->bucket ? 0 : 10;
}

static unsigned check_never(const struct elapse_timer *timer, const void *context)
{
    (void)context;
    return timer->deadline == ELAPSE_NEVER && timer->place == ELAPSE__HASHED_PLACE_NEVER ? 0 : 8;
}

/* Checks the pointer, and the fields of a jump and of a visit. */
static unsigned check_numbers(const struct elapse_hashed *hashed)
{
    if (hashed->jump_origin > hashed->pointer || hashed->pointer > hashed->clock ||
        hashed->clock > ELAPSE_TIME_MAX)
        return 1;
    if (hashed->pointer_slot != hashed->pointer % hashed->slots ||
        hashed->unvisited > hashed->slots)
        return 9;
    if (elapse__hashed_jumping(hashed)
            ? hashed->pointer - hashed->jump_origin <= hashed->slots ||
                  hashed->origin_turn != hashed->jump_origin / hashed->slots ||
                  hashed->due_turn != 0
            : hashed->unvisited != 0)
        return 9;
    if (elapse__ring_empty(&hashed->aside))
        return 0;
    if (!elapse__hashed_jumping(hashed))
        return hashed->visiting == hashed->pointer_slot && hashed->turns == 1 ? 0 : 6;
    return hashed->visiting == hashed->unvisited &&
                   hashed->turns ==
                       elapse__hashed_turns(hashed, hashed->jump_origin, hashed->visiting)
               ? 0
               : 6;
}

/* Checks the buckets of the sort, and adds their timers to `*count`. */
static unsigned check_buckets(const struct elapse_hashed *hashed, size_t *count)
{
    unsigned broken = 0;
    for (unsigned digit = 0; digit < 64; digit++) {
        bool occupied = digit < ELAPSE__HASHED_DIGITS && hashed->digits[digit].occupied != 0;
        if (elapse__bitmap_has(&hashed->digits_occupied, digit) != occupied)
            return 2;
    }
    for (size_t number = 0; broken == 0; number++) {
        number = occupied_bucket_from(hashed, number);
        if (number == ALL_BUCKETS)
            break;
        const struct checked_bucket checked = {.hashed = hashed, .bucket = number};
        const struct elapse__ring_node *ring = bucket_ring(hashed, number);
        if (elapse__ring_empty(ring))
            return 2;
        broken = elapse__ring_check(ring, hashed->count, count, check_in_bucket, &checked);
    }
    return broken;
}

unsigned elapse_hashed_check(const struct elapse_hashed *hashed)
{
    size_t count = 0;
    unsigned broken = check_numbers(hashed);
    size_t bits_in_last = hashed->slots % 64;
    if (broken == 0 && bits_in_last != 0 &&
        hashed->occupied[hashed->slots / 64] >> bits_in_last != 0)
        broken = 2;
    for (size_t slot = 0; slot < hashed->slots && broken == 0; slot++) {
        const struct elapse__ring_node *ring = &hashed->rings[slot];
        if (elapse__hashed_occupied(hashed, slot) == elapse__ring_empty(ring))
            return 2;
        const struct checked_hashed_slot checked = {.hashed = hashed, .slot = slot};
        broken = elapse__ring_check(ring, hashed->count, &count, check_in_slot, &checked);
    }
    if (broken == 0)
        broken = elapse__ring_check(&hashed->aside, hashed->count, &count, check_aside, hashed);
    if (broken == 0)
        broken =
            elapse__ring_check(&hashed->dividing, hashed->count, &count, check_dividing, hashed);
    if (broken == 0)
        broken = elapse__ring_check(&hashed->due, hashed->count, &count, check_due, hashed);
    if (broken == 0)
        broken = check_buckets(hashed, &count);
    if (broken == 0)
        broken = elapse__ring_check(&hashed->never, hashed->count, &count, check_never, hashed);
    if (broken == 0 && count != hashed->count)
        broken = 4;
    return broken;
}

/* ---- dump ---- */

/* Describes timers from tick `first_tick` on, if there are any. */
static void dump_timers(const struct elapse__ring_summary *timers, size_t slot, uint64_t first_tick,
                        elapse_dump_function *describe, void *context)
{
    ELAPSE__ASSERT(timers->count == 0 || timers->least <= timers->greatest);
    struct elapse_slot description = {
        .slot = (unsigned)slot,
        .first_tick = first_tick,
        .last_tick = timers->greatest,
        .least = timers->least,
        .count = timers->count,
    };
    if (timers->count > 0)
        describe(&description, context);
}

/* Describes the timers that are in no slot, as if they were in two more slots after the last
 * one. */
static void dump_no_slot(const struct elapse_hashed *hashed, elapse_dump_function *describe,
                         void *context)
{
    struct elapse__ring_summary due = {.least = ELAPSE_NEVER};
    struct elapse__ring_summary never = {.least = ELAPSE_NEVER};
    size_t bucket = 0;
    elapse__ring_summarise(&hashed->due, &due);
    elapse__ring_summarise(&hashed->dividing, &due);
    while ((bucket = occupied_bucket_from(hashed, bucket)) < ALL_BUCKETS)
        elapse__ring_summarise(bucket_ring(hashed, bucket++), &due);
    elapse__ring_summarise(&hashed->never, &never);
    dump_timers(&due, hashed->slots, due.least, describe, context);
    dump_timers(&never, hashed->slots + 1, never.least, describe, context);
}

void elapse_hashed_dump(const struct elapse_hashed *hashed, elapse_dump_function *describe,
                        void *context)
{
    bool visiting = !elapse__ring_empty(&hashed->aside);
    for (size_t slot = 0; slot < hashed->slots; slot++) {
        bool under_visit = visiting && slot == hashed->visiting;
        if (!under_visit && !elapse__hashed_occupied(hashed, slot))
            continue;
        struct elapse__ring_summary timers = {.least = ELAPSE_NEVER};
        elapse__ring_summarise(&hashed->rings[slot], &timers);
        if (under_visit)
            elapse__ring_summarise(&hashed->aside, &timers);
        uint64_t visited = under_visit ? elapse__hashed_visited_aside(hashed)
                                       : elapse__hashed_visited(hashed, slot);
        ELAPSE__ASSERT(timers.count > 0);
        ELAPSE__ASSERT(timers.least > visited);
        dump_timers(&timers, slot, elapse__hashed_tick_after(hashed, visited, slot), describe,
                    context);
    }
    dump_no_slot(hashed, describe, context);
}
