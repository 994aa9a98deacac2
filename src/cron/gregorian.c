/*
 * Here a year begins in March, so that the leap day is the last day of the year. The
 * lengths of the months are then 31 30 31 30 31, 31 30 31 30 31, 31 and so on: they
 * repeat every five months, and the first m months have (153 m + 2) / 5 days. Every era
 * of 400 years has 146097 days.
 *
 * Sources: the idea is Christian Zeller's (1882, for days of the week). The form with eras is from
 * Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013).
 */
#include "gregorian.h"

enum {
    YEARS_PER_ERA = 400,
    DAYS_PER_ERA = 146097,
    DAYS_PER_CENTURY = 36524, /* the last century of an era has one day more */
    /* The last four years of a century have one day less, unless it is the last century of the
     * era. */
    DAYS_PER_FOUR_YEARS = 1461,
    DAYS_BEFORE_EPOCH = 719468, /* the days from 0000-03-01 to 1970-01-01 */
};

/* Returns how many days of an era are before its year `year_of_era`. The years of an era are
 * counted from 0. */
static int64_t days_before_year(int64_t year_of_era)
{
    ELAPSE__ASSERT(year_of_era >= 0);
    ELAPSE__ASSERT(year_of_era < YEARS_PER_ERA);
    return year_of_era * 365 + year_of_era / 4 - year_of_era / 100;
}

int64_t elapse__days_of_date(struct elapse__date date)
{
    ELAPSE__ASSERT(date.month >= 1);
    ELAPSE__ASSERT(date.month <= 12);
    ELAPSE__ASSERT(date.day >= 1);
    ELAPSE__ASSERT(date.day <= 31);
    int64_t year = date.month > 2 ? date.year : date.year - 1;
    int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    int64_t era = elapse__divide_down(year, YEARS_PER_ERA);
    int64_t year_of_era = year - era * YEARS_PER_ERA;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    return era * DAYS_PER_ERA + days_before_year(year_of_era) + day_of_year - DAYS_BEFORE_EPOCH;
}

struct elapse__date elapse__date_of_days(int64_t days)
{
    int64_t from_march = days + DAYS_BEFORE_EPOCH;
    int64_t era = elapse__divide_down(from_march, DAYS_PER_ERA);
    int64_t day_of_era = from_march - era * DAYS_PER_ERA;
    ELAPSE__ASSERT(day_of_era >= 0);
    ELAPSE__ASSERT(day_of_era < DAYS_PER_ERA);
    /* The sum leaves out the leap days before this day. Then every year has 365 days. */
    int64_t year_of_era = (day_of_era - day_of_era / (DAYS_PER_FOUR_YEARS - 1) +
                           day_of_era / DAYS_PER_CENTURY - day_of_era / (DAYS_PER_ERA - 1)) /
                          365;
    int64_t day_of_year = day_of_era - days_before_year(year_of_era);
    ELAPSE__ASSERT(day_of_year >= 0);
    ELAPSE__ASSERT(day_of_year < 366);
    unsigned month = (unsigned)((5 * day_of_year + 2) / 153);
    struct elapse__date date = {
        .year = era * YEARS_PER_ERA + year_of_era + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = (unsigned)(day_of_year - (153 * month + 2) / 5 + 1),
    };
    ELAPSE__ASSERT(date.day >= 1);
    ELAPSE__ASSERT(date.day <= elapse__month_length(date.year, date.month));
    return date;
}

unsigned elapse__month_length(int64_t year, unsigned month)
{
    static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    ELAPSE__ASSERT(month >= 1);
    ELAPSE__ASSERT(month <= 12);
    if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
        return 29;
    return lengths[month - 1];
}

unsigned elapse__weekday_of_days(int64_t days)
{
    /* 1970-01-01 was a Thursday. */
    int64_t weekday = (days % 7 + 4 + 7) % 7;
    ELAPSE__ASSERT(weekday >= 0);
    ELAPSE__ASSERT(weekday < 7);
    return (unsigned)weekday;
}
