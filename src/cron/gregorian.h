/*
 * The Gregorian calendar: converts between dates and days counted from 1970-01-01. The rules of
 * this calendar are applied to all times, also to those before people used it (the proleptic
 * Gregorian calendar). Time zones play no part here.
 */
#ifndef ELAPSE__GREGORIAN_H
#define ELAPSE__GREGORIAN_H

#include <stdint.h>

#include "../base/assert.h"

enum { ELAPSE__MINUTE_S = 60, ELAPSE__HOUR_S = 3600, ELAPSE__DAY_S = 86400 };

struct elapse__date {
    int64_t year;   /* may be 0 or negative */
    unsigned month; /* 1 to 12 */
    unsigned day;   /* 1 to 31 */
};

/* Returns the days from 1970-01-01 to `date`; negative for an earlier date. */
int64_t elapse__days_of_date(struct elapse__date date);

/* Returns the date that lies `days` days after 1970-01-01. */
struct elapse__date elapse__date_of_days(int64_t days);

/* Divides and rounds down; the operator of C rounds towards 0. Requires that `by` is positive. */
static inline int64_t elapse__divide_down(int64_t number, int64_t by)
{
    ELAPSE__ASSERT(by > 0);
    return number / by - (number % by < 0);
}

/* Returns the number of days in the month. */
unsigned elapse__month_length(int64_t year, unsigned month);

/* Returns the day of the week; 0 is Sunday. */
unsigned elapse__weekday_of_days(int64_t days);

#endif
