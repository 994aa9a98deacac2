/*
 * A year is counted from March, so that the leap day is its last, and the lengths of
 * its months, 31 30 31 30 31, 31 30 31 30 31, 31 .., repeat every five: the months
 * before month m have (153 m + 2) / 5 days. 400 years, an era, are 146097 days in any
 * case.
 *
 * The idea is Christian Zeller's (1882, for days of the week); as algorithms on eras it
 * is Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms" (2013).
 */
#include "civil.h"

#include "../base/assert.h"

enum {
    DAYS_PER_ERA = 146097,
    YEARS_PER_ERA = 400,
    DAYS_PER_CENTURY = 36524, /* the last century of an era has one more */
    DAYS_PER_OLYMPIAD = 1461, /* four years; the last of a century has one less, but in an era */
    EPOCH_IN_ERA = 719468,    /* from 0000-03-01 to 1970-01-01 */
};

int64_t elapse__days_of_date(struct elapse__date date)
{
    ELAPSE__ASSERT(date.month >= 1 && date.month <= 12);
    ELAPSE__ASSERT(date.day >= 1 && date.day <= 31);
    int64_t year = date.month > 2 ? date.year : date.year - 1;
    int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    int64_t era = elapse__divide_down(year, YEARS_PER_ERA);
    int64_t year_of_era = year - era * YEARS_PER_ERA;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - EPOCH_IN_ERA;
}

struct elapse__date elapse__date_of_days(int64_t days)
{
    int64_t from_march = days + EPOCH_IN_ERA;
    int64_t era = elapse__divide_down(from_march, DAYS_PER_ERA);
    int64_t day_of_era = from_march - era * DAYS_PER_ERA;
    /* Without the leap days before it, each year has 365 days. */
    int64_t year_of_era = (day_of_era - day_of_era / (DAYS_PER_OLYMPIAD - 1) +
                           day_of_era / DAYS_PER_CENTURY - day_of_era / (DAYS_PER_ERA - 1)) /
                          365;
    int64_t day_of_year = day_of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
    unsigned month = (unsigned)((5 * day_of_year + 2) / 153);
    struct elapse__date date = {
        .year = era * YEARS_PER_ERA + year_of_era + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = (unsigned)(day_of_year - (153 * month + 2) / 5 + 1),
    };
    ELAPSE__ASSERT(date.day <= elapse__month_length(date.year, date.month));
    return date;
}

unsigned elapse__month_length(int64_t year, unsigned month)
{
    static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    ELAPSE__ASSERT(month >= 1 && month <= 12);
    if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
        return 29;
    return lengths[month - 1];
}

unsigned elapse__weekday_of_days(int64_t days)
{
    /* 1970-01-01 was a Thursday. */
    int64_t weekday = (days % 7 + 4 + 7) % 7;
    return (unsigned)weekday;
}
