/*
 * Warns of a replay that would take very long, because a hashed wheel visits every timer in every
 * turn.
 */
#ifndef ELAPSE_CLI_REPLAY_TURNS_H
#define ELAPSE_CLI_REPLAY_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include <elapse/structure.h>

/* An estimate of the visits so far. The struct begins as zeros. */
struct turns {
    double visits;
    bool is_reported;
};

/* Adds the visits of the next `ticks` ticks, during which `pending` timers are pending. If there
 * are very many visits, prints a warning once. The warning names a length of a tick with which
 * there are few. */
void turns_add(struct turns *turns, const char *trace, const struct elapse_structure *structure,
               const struct elapse_shape *shape, uint64_t tick_us, uint64_t ticks,
               uint64_t pending);

#endif
