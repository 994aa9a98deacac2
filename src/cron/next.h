/*
 * Finds the next moment that a cron expression names, in nanoseconds.
 */
#ifndef ELAPSE__NEXT_H
#define ELAPSE__NEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <elapse/cron.h>

/*
 * Finds the first moment after `after_ns` that the expression names. Both moments are in
 * nanoseconds since 1970-01-01T00:00:00Z. Returns false if there is no such moment, or if it is too
 * late for 64 bits.
 */
bool elapse__cron_next_ns(const struct elapse_cron *cron, enum elapse_zone zone, uint64_t after_ns,
                          uint64_t *next_ns);

#endif
