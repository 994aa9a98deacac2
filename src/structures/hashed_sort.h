/*
 * The hashed wheel's sort brings the timers that a jump has made due into order, a few at a time.
 * The head of hashed.c explains turns, visits and the jump.
 *
 * A deadline has two parts: deadline % slots is its slot, and deadline / slots is its turn. A jump
 * visits the slots from the last to the first, and puts the due timers of each slot in front of
 * those that it found before. So within a turn the timers are in the order of their slots, and
 * within a slot in the order of arming. The sort has to order the timers by turn, and must keep the
 * order within each turn. It is a radix sort by the turn, and begins with the highest digit. A
 * digit has 6 bits. Turns are counted from the turn in which the jump began:
 *
 *      due_turn 3          digits[0]          digits[1]          digits[2] ...
 *      [due: turn 3]       [4] [5] .. [63]    [1] [2] .. [63]    [1] [2] .. [63]
 *                           a turn each        64 turns each      4096 turns each
 *
 * The timers of `due_turn` are in the due ring. Any other timer lies in the bucket of the highest
 * digit in which its turn differs from `due_turn`. When the due ring is empty, the sort takes the
 * next bucket: the least bucket that has timers, of the lowest digit that has such buckets.
 * `due_turn` becomes the first turn of this bucket. If the digit is digits[0], the whole bucket
 * becomes the due ring. Otherwise the bucket is divided: its timers go, from the newest to the
 * oldest, to the front of the due ring or of the buckets of lower digits:
 *
 *      bucket 2 of digits[1]  ->  dividing  ->  the due ring (turn 128),
 *                                               digits[0] (turns 129 to 191)
 *
 * So the visit moves a timer once, and the sort then moves it at most once for each digit above
 * digits[0]. The first timer can be popped as soon as each bucket that it came into is divided; all
 * later timers wait in their buckets. The sort does not depend on the neighbours of a timer, so
 * timers may be stopped and started at any moment.
 *
 * Source: the radix sort of lists by the most significant digit. The buckets are like the slots of
 * a hierarchical wheel whose ticks are turns.
 */
#ifndef ELAPSE__HASHED_SORT_H
#define ELAPSE__HASHED_SORT_H

#include <elapse/hashed.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "hashed_ring.h"

/* The bucket in which the sort keeps the timers of a turn that is not `due_turn`. */
struct elapse__hashed_bucket {
    unsigned digit;
    unsigned number;
};

/* Returns whether there may be due timers outside the due ring. */
static inline bool elapse__hashed_sorting(const struct elapse_hashed *hashed)
{
    return elapse__hashed_jumping(hashed) || hashed->digits_occupied != 0 ||
           !elapse__ring_empty(&hashed->dividing);
}

/* Returns the turn of a deadline, counted from the turn in which the jump began. */
static inline uint64_t elapse__hashed_turn(const struct elapse_hashed *hashed, uint64_t deadline)
{
    uint64_t turn = deadline / hashed->slots;
    ELAPSE__ASSERT(turn >= hashed->origin_turn);
    return turn - hashed->origin_turn;
}

/* Returns the bucket of a turn after `due_turn`. */
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

/* Returns whether a bucket has timers. The ring of a bucket without timers is not initialised. */
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

/* Returns the ring for a due timer of `turn`. Requires that the caller inserts the timer at
 * once. */
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

/* Corrects the bitmaps after a timer with this deadline was stopped, and its ring became empty. */
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

/* Goes on to the next bucket: moves its timers to the due ring, or to the ring `dividing`. Requires
 * that both rings are empty. Returns false if there is no bucket with timers. */
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

/* Divides a bucket while `*budget` lasts. Returns false if the budget did not suffice. */
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
