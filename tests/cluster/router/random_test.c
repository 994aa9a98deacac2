/*
 * router-random [--seed N] [--runs N] [--seconds S] [--trace]
 *
 * Runs the router between simulated clients and partitions. The seed decides everything in a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random.h"
#include "world.h"

static struct random_source source;
static uint64_t seed;

static uint64_t from_seed(uint64_t limit)
{
    return random_below(&source, limit);
}

uint64_t (*choose)(uint64_t limit) = from_seed;

_Noreturn void violated(const char *what, uint64_t one, uint64_t other)
{
    (void)fprintf(stderr, "seed %llu: %s (%llu, %llu)\n", (unsigned long long)seed, what,
                  (unsigned long long)one, (unsigned long long)other);
    exit(1);
}

int main(int count, char **arguments)
{
    uint64_t runs = 200;
    time_t until = 0;

    seed = 1;
    for (int i = 1; i < count; i++) {
        bool has_value = i + 1 < count;
        if (strcmp(arguments[i], "--trace") == 0)
            world_trace = true;
        else if (strcmp(arguments[i], "--seed") == 0 && has_value)
            seed = strtoull(arguments[++i], NULL, 10), runs = 1;
        else if (strcmp(arguments[i], "--runs") == 0 && has_value)
            runs = strtoull(arguments[++i], NULL, 10);
        else if (strcmp(arguments[i], "--seconds") == 0 && has_value)
            until = time(NULL) + strtol(arguments[++i], NULL, 10), runs = UINT64_MAX;
        else
            return fprintf(stderr, "usage: router-random [--seed N] [--runs N] [--seconds S] "
                                   "[--trace]\n"),
                   2;
    }
    for (uint64_t run = 0; run < runs && (until == 0 || time(NULL) < until); run++, seed++) {
        source = (struct random_source){.state = seed};
        world_run();
    }
    (void)printf(
        "commands %llu, parts %llu, sent again %llu, unknown %llu, try again %llu, given back "
        "%llu, links lost %llu\n",
        (unsigned long long)world_totals.commands, (unsigned long long)world_totals.fragments,
        (unsigned long long)world_totals.again, (unsigned long long)world_totals.unknown,
        (unsigned long long)world_totals.try_again, (unsigned long long)world_totals.given_back,
        (unsigned long long)world_totals.links_lost);
    return 0;
}
