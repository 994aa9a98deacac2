/*
 * A rule for local time, as TZ and the last line of a zone file have it: CET-1CEST,M3.5.0,M10.5.0/3
 * (POSIX.1-2017, chapter 8, and RFC 8536 for hours of a change from -167 to 167).
 */
#ifndef ELAPSE__ZONE_RULE_H
#define ELAPSE__ZONE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elapse__zone_day {
    ELAPSE__ZONE_DAY_JULIAN,  /* Jn: day 1 to 365; 29 February is not counted */
    ELAPSE__ZONE_DAY_OF_YEAR, /* n: day 0 to 365; 29 February is counted */
    ELAPSE__ZONE_DAY_OF_WEEK, /* Mm.w.d: weekday d, number w of month m; number 5 is the last */
};

/* When the clock is changed in a year. */
struct elapse__zone_change {
    enum elapse__zone_day kind;
    unsigned day;
    unsigned week;
    unsigned month;
    int64_t time_s; /* after midnight by the clock that is changed; may be negative */
};

struct elapse__zone_rule {
    int64_t standard_s; /* ahead of UTC */
    bool has_summer;
    int64_t summer_s;
    struct elapse__zone_change to_summer;
    struct elapse__zone_change to_standard;
};

/* Reads a rule of `length` characters. Returns false if it is none. */
bool elapse__zone_rule_parse(struct elapse__zone_rule *rule, const char *text, size_t length);

/* Returns the seconds by which local time is ahead of UTC at a moment. */
int64_t elapse__zone_rule_offset_s(const struct elapse__zone_rule *rule, int64_t moment_s);

#endif
