/*
 * A small generator of random numbers, reproducible by its seed: splitmix64
 * (Steele, Lea and Flood, OOPSLA 2014).
 */
#ifndef ELAPSE_CLI_COMMON_RANDOM_H
#define ELAPSE_CLI_COMMON_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state; /* at first the seed */
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t mixed = random->state += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* Returns a number from 0 to `limit` - 1. Some numbers are more likely than others by one part in
 * 2^32 / limit, which is too little to be seen in a trace. */
static inline uint32_t random_below(struct random *random, uint32_t limit)
{
    return (uint32_t)((random_next(random) >> 32) * limit >> 32);
}

#endif
