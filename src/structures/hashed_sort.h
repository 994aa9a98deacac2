/*
 * The hashed wheel's sort: how the timers that a jump has made due come into order, a few at a
 * time.
 *
 * The slots of the ring are the lowest digit of a deadline already, in base `slots`: deadline %
 * slots is the slot, and deadline / slots is the turn. A jump visits the slots from the last to the
 * first, and puts the due timers in front. So within a turn the timers come by slot, and within a
 * slot in the order of arming; it remains to sort the timers by turn, and to keep the order within
 * each turn. This is a radix sort by the turn, the highest digit first. Digits have 6 bits, and
 * turns are counted from the turn of `jump_origin` at the beginning of the jump:
 *
 *      due_turn 3          digits[0]          digits[1]          digits[2] ...
 *      [due: turn 3]       [4] [5] .. [63]    [1] [2] .. [63]    [1] [2] .. [63]
 *                           a turn each        64 turns each      4096 turns each
 *
 * The timers of `due_turn` are in the due ring. Another timer lies in the bucket of the highest
 * digit in which its turn differs from `due_turn`. When the due ring is empty, the least bucket of
 * the lowest digit that has timers is next. If the digit is the lowest of all, the bucket becomes
 * the due ring as a whole. If not, `due_turn` becomes the bucket's first turn, and the bucket is
 * divided: its timers go, from the newest to the oldest, to the front of the due ring or of the
 * buckets of the digits below:
 *
 *      bucket 2 of digits[1]  ->  dividing  ->  the due ring (turn 128),
 *                                               digits[0] (turns 129 to 191)
 *
 * So a timer is moved once by the visit, and then at most once for each further digit of the turns
 * that the jump passed. The first timer can be popped when the buckets before and around it are
 * divided; all other timers wait in their buckets. Nothing here depends on the neighbours of a
 * timer, so timers may be stopped and started at any moment.
 *
 * Source: the radix sort of lists by the most significant digit; the buckets are those of a
 * hierarchical wheel whose ticks are turns.
 */
#ifndef ELAPSE__HASHED_SORT_H
#define ELAPSE__HASHED_SORT_H

#include <elapse/hashed.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "hashed_ring.h"

/* Where the sort keeps a turn that is not `due_turn`. */
struct elapse__hashed_bucket {
    unsigned digit;
    unsigned number;
};

/* True while due timers may lie elsewhere than in the due ring. */
static inline bool elapse__hashed_sorting(const struct elapse_hashed *hashed)
{
    return elapse__hashed_jumping(hashed) || hashed->digits_occupied != 0 ||
           !elapse__ring_empty(&hashed->dividing);
}

/* The turn of a deadline, counted from the turn in which the jump began. */
static inline uint64_t elapse__hashed_turn(const struct elapse_hashed *hashed, uint64_t deadline)
{
    uint64_t turn = deadline / hashed->slots;
    ELAPSE__ASSERT(turn >= hashed->origin_turn);
    return turn - hashed->origin_turn;
}

/* The bucket of a turn after `due_turn`. */
static inline struct elapse__hashed_bucket
elapse__hashed_bucket_of(const struct elapse_hashed *hashed, uint64_t turn)
{
    ELAPSE__ASSERT(turn > hashed->due_turn);
    unsigned digit = elapse__highest_bit(turn ^ hashed->due_turn) / ELAPSE__HASHED_DIGIT_BITS;
    ELAPSE__ASSERT(digit < ELAPSE__HASHED_DIGITS);
    return (struct elapse__hashed_bucket){
        .digit = digit,
        .number = turn >> digit * ELAPSE__HASHED_DIGIT_BITS & (ELAPSE__HASHED_BUCKETS - 1),
    };
}

/* True when a bucket has timers. A bucket that has none is not even a ring. */
static inline bool elapse__hashed_bucket_occupied(const struct elapse_hashed *hashed,
                                                  struct elapse__hashed_bucket bucket)
{
    ELAPSE__ASSERT(bucket.digit < ELAPSE__HASHED_DIGITS);
    ELAPSE__ASSERT(bucket.number < ELAPSE__HASHED_BUCKETS);
    return elapse__bitmap_has(&hashed->digits[bucket.digit].occupied, bucket.number);
}

/* Notes that a bucket has no timers any more. */
static inline void elapse__hashed_mark_bucket_empty(struct elapse_hashed *hashed,
                                                    struct elapse__hashed_bucket bucket)
{
    struct elapse__hashed_digit *digit = &hashed->digits[bucket.digit];
    ELAPSE__ASSERT(elapse__hashed_bucket_occupied(hashed, bucket));
    ELAPSE__ASSERT(elapse__ring_empty(&digit->buckets[bucket.number]));
    elapse__bitmap_clear(&digit->occupied, bucket.number);
    if (digit->occupied == 0)
        elapse__bitmap_clear(&hashed->digits_occupied, bucket.digit);
}

/* The ring for a due timer of `turn`, which is to be inserted at once. */
static inline struct elapse__ring_node *elapse__hashed_ring_of_turn(struct elapse_hashed *hashed,
                                                                    uint64_t turn)
{
    if (turn == hashed->due_turn)
        return &hashed->due;
    struct elapse__hashed_bucket bucket = elapse__hashed_bucket_of(hashed, turn);
    struct elapse__hashed_digit *digit = &hashed->digits[bucket.digit];
    struct elapse__ring_node *ring = &digit->buckets[bucket.number];
    if (!elapse__hashed_bucket_occupied(hashed, bucket)) {
        elapse__ring_init(ring);
        elapse__bitmap_set(&digit->occupied, bucket.number);
        elapse__bitmap_set(&hashed->digits_occupied, bucket.digit);
    }
    return ring;
}

/* Keeps the bitmaps true after a timer with this deadline, the last one of some ring, was
 * stopped. */
static inline void elapse__hashed_note_stopped(struct elapse_hashed *hashed, uint64_t deadline)
{
    ELAPSE__ASSERT(hashed->digits_occupied != 0);
    if (deadline > hashed->pointer || elapse__hashed_turn(hashed, deadline) <= hashed->due_turn)
        return;
    struct elapse__hashed_bucket bucket =
        elapse__hashed_bucket_of(hashed, elapse__hashed_turn(hashed, deadline));
    if (elapse__hashed_bucket_occupied(hashed, bucket) &&
        elapse__ring_empty(&hashed->digits[bucket.digit].buckets[bucket.number]))
        elapse__hashed_mark_bucket_empty(hashed, bucket);
}

/* Goes on to the next bucket: its timers become the due ring, or `dividing`. Requires that both
 * rings are empty. Returns false if there is no bucket with timers. */
static inline bool elapse__hashed_take_bucket(struct elapse_hashed *hashed)
{
    ELAPSE__ASSERT(elapse__ring_empty(&hashed->due));
    ELAPSE__ASSERT(elapse__ring_empty(&hashed->dividing));
    if (hashed->digits_occupied == 0)
        return false;
    unsigned digit = elapse__lowest_bit(hashed->digits_occupied);
    unsigned number = elapse__lowest_bit(hashed->digits[digit].occupied);
    unsigned shift = digit * ELAPSE__HASHED_DIGIT_BITS;
    uint64_t upper = hashed->due_turn >> shift & ~(uint64_t)(ELAPSE__HASHED_BUCKETS - 1);
    uint64_t turn = (upper | number) << shift;
    ELAPSE__ASSERT(turn > hashed->due_turn);
    hashed->due_turn = turn;
    elapse__ring_take_all(digit == 0 ? &hashed->due : &hashed->dividing,
                          &hashed->digits[digit].buckets[number]);
    elapse__hashed_mark_bucket_empty(
        hashed, (struct elapse__hashed_bucket){.digit = digit, .number = number});
    return true;
}

/* Divides a bucket while `*budget` lasts. Returns false if it did not suffice. */
static inline bool elapse__hashed_divide(struct elapse_hashed *hashed, size_t *budget)
{
    while (!elapse__ring_empty(&hashed->dividing)) {
        if (*budget == 0)
            return false;
        --*budget;
        hashed->moves++;
        struct elapse__ring_node *ring_node = hashed->dividing.previous;
        const struct elapse_timer *timer = elapse__ring_timer(ring_node);
        ELAPSE__ASSERT(timer->place == 1);
        ELAPSE__ASSERT(timer->deadline <= hashed->pointer);
        (void)elapse__ring_remove(ring_node);
        uint64_t turn = elapse__hashed_turn(hashed, timer->deadline);
        elapse__ring_prepend(elapse__hashed_ring_of_turn(hashed, turn), ring_node);
    }
    return true;
}

#endif
