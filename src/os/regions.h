/*
 * The regions of memory of which the arena of a store consists (src/base/arena.h). linux_regions.c
 * implements the table. It belongs to the library elapse-queue, because nothing else uses regions.
 */
#ifndef ELAPSE__OS_REGIONS_H
#define ELAPSE__OS_REGIONS_H

#include "../base/arena.h"

/* The table that asks the real system. A region is one huge page if the system has huge pages, or
 * else 512 ordinary pages. Any thread may call its functions. */
extern const struct elapse__region_source elapse__regions_linux;

/* The table in use. It is elapse__regions_linux, unless a test has stored its own table here.
 * Requires that no store is open while the table is changed. */
extern const struct elapse__region_source *elapse__regions;

#endif
