/*
 * Bits of a word, and bitmaps of words.
 */
#ifndef ELAPSE__BITS_H
#define ELAPSE__BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assert.h"

/* Returns the number of the lowest bit that is set in `word`. Requires that `word` is not 0. */
static inline unsigned elapse__lowest_bit(uint64_t word)
{
    ELAPSE__ASSERT(word != 0);
    return (unsigned)__builtin_ctzll(word);
}

/* Returns the number of the highest bit that is set in `word`. Requires that `word` is not 0. */
static inline unsigned elapse__highest_bit(uint64_t word)
{
    ELAPSE__ASSERT(word != 0);
    return 63u - (unsigned)__builtin_clzll(word);
}

/* Returns how many words a bitmap of `bits` bits takes. */
static inline size_t elapse__bitmap_words(size_t bits)
{
    return bits / 64 + (bits % 64 != 0);
}

/* Bit b of a bitmap is bit b % 64 of word b / 64. */
static inline bool elapse__bitmap_has(const uint64_t *words, size_t bit)
{
    return (words[bit / 64] >> bit % 64 & 1) != 0;
}

static inline void elapse__bitmap_set(uint64_t *words, size_t bit)
{
    words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline void elapse__bitmap_clear(uint64_t *words, size_t bit)
{
    words[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

#endif
