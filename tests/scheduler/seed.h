/*
 * Chooses the seed of tests that are random.
 */
#ifndef ELAPSE_TESTS_SEED_H
#define ELAPSE_TESTS_SEED_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "random.h"

/* Returns a random source with another seed each time. The variable ELAPSE_SEED gives the seed, so
 * that a failure can be repeated. */
static inline struct random_source random_by_seed(void)
{
    const char *given = getenv("ELAPSE_SEED");
    struct random_source source = {given != NULL ? strtoull(given, NULL, 10)
                                                 : (uint64_t)time(NULL)};

    printf("ELAPSE_SEED=%" PRIu64 "\n", source.state);
    return source;
}

#endif
