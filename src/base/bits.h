/*
 * What the structures ask about bits and bitmaps.
 */
#ifndef ELAPSE__BITS_H
#define ELAPSE__BITS_H

#include <stddef.h>
#include <stdint.h>

/* Number of the lowest bit set; `word` is not 0. */
static inline unsigned elapse__lowest_bit(uint64_t word)
{
    return (unsigned)__builtin_ctzll(word);
}

/* Number of the highest bit set; `word` is not 0. */
static inline unsigned elapse__highest_bit(uint64_t word)
{
    return 63u - (unsigned)__builtin_clzll(word);
}

/* Words of a bitmap with a bit for each slot. */
static inline size_t elapse__bitmap_words(size_t slots)
{
    return slots / 64 + (slots % 64 != 0);
}

#endif
