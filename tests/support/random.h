/*
 * Makes random numbers for tests, by the generator splitmix64. The same seed gives the same numbers
 * on every machine, so that a run can be repeated.
 */
#ifndef ELAPSE_TESTS_RANDOM_H
#define ELAPSE_TESTS_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random_source {
    uint64_t state;
};

static inline uint64_t random_next(struct random_source *source)
{
    uint64_t mixed = source->state += 0x9E3779B97F4A7C15U;

    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31);
}

/* Returns a number below `limit`, which is not 0. Some numbers are slightly more likely than
 * others, which does no harm to a test. */
static inline uint64_t random_below(struct random_source *source, uint64_t limit)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the limit is above 0 */
    return random_next(source) % limit;
}

static inline size_t random_index(struct random_source *source, size_t limit)
{
    return (size_t)random_below(source, limit);
}

static inline bool random_one_in(struct random_source *source, uint64_t n)
{
    return random_below(source, n) == 0;
}

/* Returns a number of up to `bits` bits. Each bit length is about as likely as any other. */
static inline uint64_t random_of_bits(struct random_source *source, unsigned bits)
{
    uint64_t shift = 64 - random_below(source, bits) - 1;

    return random_next(source) >> shift;
}

#endif
