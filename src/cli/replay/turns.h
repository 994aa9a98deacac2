/*
 * A warning before a replay that would hardly end: a hashed wheel visits every timer in every turn.
 */
#ifndef ELAPSE_CLI_REPLAY_TURNS_H
#define ELAPSE_CLI_REPLAY_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include <elapse/structure.h>

/* An estimate of the visits so far; at first all zero. */
struct turns {
    double visits;
    bool is_reported;
};

/* Adds the visits of the next `ticks` ticks, with so many timers pending. When they are very many,
 * prints a warning once, and a tick that helps. */
void turns_add(struct turns *turns, const char *trace, const struct elapse_structure *structure,
               const struct elapse_shape *shape, uint64_t tick_us, uint64_t ticks,
               uint64_t pending);

#endif
