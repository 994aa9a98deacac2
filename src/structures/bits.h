/*
 * The two questions about bits that the structures ask.
 */
#ifndef ELAPSE__BITS_H
#define ELAPSE__BITS_H

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

#endif
