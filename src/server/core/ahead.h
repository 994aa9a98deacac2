#ifndef ELAPSE__CORE_AHEAD_H
#define ELAPSE__CORE_AHEAD_H

#include "inner.h"

/* Asks for the memory of the jobs that the next commands name, which begin in these bytes. Returns
 * how many bytes were looked at: the next call begins behind them. Cost: as much as it costs to
 * skip some commands; nothing in a queue that fits into the caches. */
size_t elapse__look_ahead(const struct elapse__connection *connection, const uint8_t *bytes,
                          size_t size);

#endif
