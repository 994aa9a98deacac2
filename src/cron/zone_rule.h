/*
 * A rule for local time, as TZ and the last line of a zone file have it, such as
 * CET-1CEST,M3.5.0,M10.5.0/3. POSIX.1-2017, chapter 8, describes rules; RFC 8536 adds that the
 * hours of a change may be from -167 to 167.
 */
#ifndef ELAPSE__ZONE_RULE_H
#define ELAPSE__ZONE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elapse__zone_day {
    ELAPSE__ZONE_DAY_JULIAN,  /* Jn: day 1 to 365; 29 February is not counted */
    ELAPSE__ZONE_DAY_OF_YEAR, /* n: day 0 to 365; 29 February is counted */
    ELAPSE__ZONE_DAY_OF_WEEK, /* Mm.w.d: the w-th weekday d of month m; the fifth means the last */
};

/* When the clock is changed in a year: at which time of which day. */
struct elapse__zone_change {
    enum elapse__zone_day kind;
    unsigned day;
    unsigned week;
    unsigned month;
    int64_t time_s; /* seconds after midnight, by the clock before its change; may be negative */
};

struct elapse__zone_rule {
    int64_t standard_s; /* by how much standard time is ahead of UTC */
    bool has_summer;
    int64_t summer_s;
    struct elapse__zone_change to_summer;
    struct elapse__zone_change to_standard;
};

/* Reads a rule of `length` characters. Returns false if the text is no rule. */
bool elapse__zone_rule_parse(struct elapse__zone_rule *rule, const char *text, size_t length);

/* Returns the seconds by which local time is ahead of UTC at a moment. */
int64_t elapse__zone_rule_offset_s(const struct elapse__zone_rule *rule, int64_t moment_s);

#endif
