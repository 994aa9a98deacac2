/*
 * The hashed wheel jumps when its clock is more than one turn ahead of its pointer: the pointer
 * goes to the clock at once, and each occupied slot is visited once for all turns that have passed.
 * So timers of different turns become due together. The sort puts these timers into the order of
 * their deadlines, a few timers at a time. The head of hashed.c explains turns, visits and the
 * jump.
 *
 * A deadline has two parts: deadline % slots is its slot, and deadline / slots is its turn. A jump
 * visits the slots from the last to the first, and puts the due timers of each slot in front of
 * those that it found before. So the timers of one turn are in the order of their slots, and the
 * timers of one slot are in the order of arming. The sort has to order the timers by turn, and must
 * keep the order within each turn. It is a radix sort by the turn, and begins with the highest
 * digit. A digit has 6 bits. For the sort, the turn in which the jump began has the number 0. This
 * is an example in which the timers of turn 3 are due next:
 *
 *      due_turn 3          digits[0]          digits[1]          digits[2] ...
 *      [due: turn 3]       [4] [5] .. [63]    [1] [2] .. [63]    [1] [2] .. [63]
 *                           a turn each        64 turns each      4096 turns each
 *
 * The timers of the turn `due_turn` are in the due ring. Any other timer lies in a bucket. To find
 * the bucket, compare the turn of the timer with `due_turn`, and take the highest digit in which
 * they differ. The value of this digit in the timer's turn is the number of the bucket.
 *
 * When the due ring is empty, the sort takes the next bucket. It looks for the lowest digit that
 * has a bucket with timers, and takes the bucket with the least number of this digit. `due_turn`
 * becomes the first turn that belongs to this bucket. If the digit is digits[0], all timers of the
 * bucket are of this turn, and go into the due ring together. Otherwise the bucket is divided. The
 * timers of `due_turn` go into the due ring, and the others go into buckets of lower digits. The
 * newest timer of the bucket goes first, and each timer goes to the front of its ring. So timers
 * that go into the same ring keep their order. For example:
 *
 *      bucket 2 of digits[1]  ->  dividing  ->  the due ring (turn 128),
 *                                               digits[0] (turns 129 to 191)
 *
 * So the visit moves a timer once, and the sort then moves it at most once for each digit above
 * digits[0]. The sort divides a bucket only when the timers of this bucket are next. So the first
 * timer is popped while most of the later timers still wait in buckets that are not divided.
 * Between two calls the sort remembers rings, and no timer. So timers may be stopped and started at
 * any moment.
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

/* Corrects the bitmaps after a timer with this deadline was stopped. Requires that the stop left
 * the ring of the timer empty. */
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

/* Takes the next bucket: moves its timers to the due ring or, if the bucket has to be divided, to
 * the ring `dividing`. Requires that both rings are empty. Returns false if no bucket has
 * timers. */
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

/* Divides the timers in the ring `dividing`. Moves at most `*budget` timers, and takes 1 off
 * `*budget` for each. Returns false if timers are left. */
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
