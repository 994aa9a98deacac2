/*
 * The allocator of growing structures under test. It refuses requests if a test wants that, and it
 * counts the pieces of memory that are not given back.
 */
#ifndef ELAPSE_TESTS_GROWTH_H
#define ELAPSE_TESTS_GROWTH_H

#include <stddef.h>
#include <stdint.h>

#include <elapse/allocator.h>

extern const struct elapse_allocator growth_allocator;

/* Refuses every request after the next `requests`; SIZE_MAX: refuses no request. */
void growth_limit(size_t requests);

/* Returns how many requests were refused so far. */
uint64_t growth_refused(void);

/* Returns how many pieces of memory are not given back yet. */
size_t growth_outstanding(void);

#endif
