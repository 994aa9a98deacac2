/*
 * A time zone is UTC, local time, a rule, or a file of the time zone database.
 */
#ifndef ELAPSE__TIME_ZONE_H
#define ELAPSE__TIME_ZONE_H

#include <elapse/cron.h>

#include "zone_file.h"

enum elapse__zone_kind {
    ELAPSE__ZONE_KIND_UTC,
    ELAPSE__ZONE_KIND_LOCAL, /* the C library knows the zone */
    ELAPSE__ZONE_KIND_RULE,
    ELAPSE__ZONE_KIND_FILE,
};

struct elapse_time_zone {
    enum elapse__zone_kind kind;
    struct elapse__zone_file file; /* if the kind is FILE; if it is RULE, only file.rule */
    struct elapse_time_zone *next; /* the next zone in the list of zones that were found */
    char *name;
    unsigned char bytes[]; /* the bytes of the file if the kind is FILE, and then the name */
};

extern const struct elapse_time_zone elapse__zone_utc;
extern const struct elapse_time_zone elapse__zone_local;

/* Returns the zone of an expression. If the expression names no zone, `zone` says which zone to
 * use. */
const struct elapse_time_zone *elapse__zone_of(const struct elapse_cron *cron,
                                               enum elapse_zone zone);

#endif
