#ifndef ELAPSE__CORE_AHEAD_H
#define ELAPSE__CORE_AHEAD_H

#include "inner.h"

/* Prefetches the jobs that the next commands name. `bytes` begin with these commands. Returns how
 * many bytes it has looked at; the next call begins behind them. Cost: about that of parsing some
 * commands; nothing if the queue fits into the caches. */
size_t elapse__look_ahead(const struct elapse__connection *connection, const uint8_t *bytes,
                          size_t size);

#endif
