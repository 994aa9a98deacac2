/*
 * The civil calendar: days since 1970-01-01 and year, month, day, in the proleptic
 * Gregorian calendar (today's rules, for all times). No time zones.
 */
#ifndef ELAPSE__CIVIL_H
#define ELAPSE__CIVIL_H

#include <stdint.h>

struct elapse__date {
    int64_t year;   /* may be 0 or negative */
    unsigned month; /* 1 to 12 */
    unsigned day;   /* 1 to 31 */
};

int64_t elapse__days_of_date(struct elapse__date date);
struct elapse__date elapse__date_of_days(int64_t days);

/* Divides, and rounds down where C rounds towards 0. `by` is positive. */
static inline int64_t elapse__divide_down(int64_t number, int64_t by)
{
    return number / by - (number % by < 0);
}

/* How many days the month has. */
unsigned elapse__month_length(int64_t year, unsigned month);

/* The day of the week, 0 is Sunday. */
unsigned elapse__weekday_of_days(int64_t days);

#endif
