/*
 * The days of a month are a word of 32 bits, in which bit d stands for day d. The field for days of
 * the month gives one word, and the field for days of the week gives another. The two words are
 * then combined.
 */
#include "month_days.h"

#include "../base/assert.h"
#include "gregorian.h"

enum { SUNDAY = 0, SATURDAY = 6 };

/* The 1st, 8th, 15th, 22nd, 29th. */
static const uint32_t every_seventh = 1U << 1 | 1U << 8 | 1U << 15 | 1U << 22 | 1U << 29;

static unsigned lowest_bit(uint32_t word)
{
    ELAPSE__ASSERT(word != 0);
    return (unsigned)__builtin_ctz(word);
}

static uint32_t days_up_to(unsigned length)
{
    ELAPSE__ASSERT(length <= 31);
    return (uint32_t)((UINT64_C(2) << length) - 2);
}

/* Returns the day from Monday to Friday that is nearest to `day`, within the month. */
static unsigned nearest_weekday(unsigned day, unsigned length, unsigned first_weekday)
{
    ELAPSE__ASSERT(day >= 1);
    ELAPSE__ASSERT(day <= length);
    unsigned weekday = (first_weekday + day - 1) % 7;
    if (weekday == SATURDAY)
        return day > 1 ? day - 1 : day + 2;
    if (weekday == SUNDAY)
        return day < length ? day + 1 : day - 2;
    return day;
}

static uint32_t days_of_month(const struct elapse_cron *cron, unsigned length,
                              unsigned first_weekday)
{
    uint32_t days = cron->days;
    for (uint32_t left = cron->days_before_last; left != 0; left &= left - 1) {
        unsigned before = lowest_bit(left);
        if (before < length)
            days |= UINT32_C(1) << (length - before);
    }
    for (uint32_t left = cron->nearest_weekdays; left != 0; left &= left - 1) {
        unsigned day = lowest_bit(left);
        if (day <= length)
            days |= UINT32_C(1) << nearest_weekday(day, length, first_weekday);
    }
    if (cron->last_working_day)
        days |= UINT32_C(1) << nearest_weekday(length, length, first_weekday);
    return days & days_up_to(length);
}

static uint32_t days_of_week(const struct elapse_cron *cron, unsigned length,
                             unsigned first_weekday)
{
    uint32_t days = 0;
    for (unsigned weekday = 0; weekday < 7; weekday++) {
        unsigned first = 1 + (weekday + 7 - first_weekday) % 7;
        uint8_t bit = (uint8_t)(1U << weekday);
        ELAPSE__ASSERT(first >= 1);
        ELAPSE__ASSERT(first <= 7);
        if (cron->weekdays & bit)
            days |= every_seventh << (first - 1);
        if (cron->last_weekdays & bit)
            days |= UINT32_C(1) << (first + 28 <= length ? first + 28 : first + 21);
        for (unsigned n = 0; n < 5; n++) {
            if (cron->numbered_weekdays[n] & bit && first + 7 * n <= length)
                days |= UINT32_C(1) << (first + 7 * n);
        }
    }
    return days & days_up_to(length);
}

uint32_t elapse__cron_month_days(const struct elapse_cron *cron, unsigned length,
                                 unsigned first_weekday)
{
    ELAPSE__ASSERT(length >= 28);
    ELAPSE__ASSERT(length <= 31);
    ELAPSE__ASSERT(first_weekday <= 6);
    uint32_t by_month = days_of_month(cron, length, first_weekday);
    uint32_t by_week = days_of_week(cron, length, first_weekday);
    ELAPSE__ASSERT((by_month & 1) == 0);
    ELAPSE__ASSERT((by_week & 1) == 0);
    if (cron->days_restricted && cron->weekdays_restricted)
        return by_month | by_week;
    return by_month & by_week;
}

bool elapse__cron_names_a_day(const struct elapse_cron *cron)
{
    /* Within 400 years, each month begins on each day of the week, in leap years and in other
     * years. 1999 stands for the other years, and 2000 for the leap years. */
    for (int64_t year = 1999; year <= 2000; year++) {
        for (unsigned month = 1; month <= 12; month++) {
            unsigned length = elapse__month_length(year, month);
            if ((cron->months & 1U << month) == 0)
                continue;
            for (unsigned first_weekday = 0; first_weekday < 7; first_weekday++) {
                if (elapse__cron_month_days(cron, length, first_weekday) != 0)
                    return true;
            }
        }
    }
    return false;
}
