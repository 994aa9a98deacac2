/*
 * Reads rules for local time, and finds the offset at a moment.
 *
 *     rule    = name offset [name [offset] ["," change "," change]]
 *     change  = ("J" day | day | "M" month "." week "." weekday) ["/" time]
 *
 * In a rule, an offset is positive to the west of Greenwich. Everywhere else it is positive to the
 * east.
 */
#include "zone_rule.h"

#include "../base/assert.h"
#include "gregorian.h"
#include "reader.h"

struct rest {
    const char *at;
    const char *end;
};

static bool take(struct rest *rest, char c)
{
    ELAPSE__ASSERT(rest->at <= rest->end);
    if (rest->at == rest->end || *rest->at != c)
        return false;
    rest->at++;
    return true;
}

/* Reads a number of up to three digits. */
static bool take_number(struct rest *rest, unsigned low, unsigned high, unsigned *number)
{
    unsigned digits = 0;

    ELAPSE__ASSERT(low <= high);
    ELAPSE__ASSERT(high <= 999);
    *number = 0;
    for (; rest->at < rest->end && elapse__is_digit(*rest->at) && digits < 3; digits++)
        *number = *number * 10 + (unsigned)(*rest->at++ - '0');
    return digits > 0 && *number >= low && *number <= high;
}

/* Reads a name: three letters or more, or anything between < and >. */
static bool take_name(struct rest *rest)
{
    enum { LETTERS_MIN = 3 };
    const char *begin = rest->at;

    ELAPSE__ASSERT(rest->at <= rest->end);
    if (take(rest, '<')) {
        while (rest->at < rest->end &&
               (elapse__is_letter(*rest->at) || elapse__is_digit(*rest->at) || *rest->at == '+' ||
                *rest->at == '-'))
            rest->at++;
        return rest->at - begin > LETTERS_MIN && take(rest, '>');
    }
    while (rest->at < rest->end && elapse__is_letter(*rest->at))
        rest->at++;
    return rest->at - begin >= LETTERS_MIN;
}

/* Reads [+-]hh[:mm[:ss]] as seconds. */
static bool take_time(struct rest *rest, unsigned hours_max, int64_t *time_s)
{
    unsigned hours;
    unsigned minutes = 0;
    unsigned seconds = 0;
    bool is_negative = take(rest, '-');

    if (!is_negative)
        (void)take(rest, '+');
    if (!take_number(rest, 0, hours_max, &hours))
        return false;
    if (take(rest, ':')) {
        if (!take_number(rest, 0, 59, &minutes))
            return false;
        if (take(rest, ':') && !take_number(rest, 0, 59, &seconds))
            return false;
    }
    *time_s = (int64_t)hours * ELAPSE__HOUR_S + (int64_t)minutes * ELAPSE__MINUTE_S + seconds;
    if (is_negative)
        *time_s = -*time_s;
    return true;
}

static bool take_day(struct rest *rest, struct elapse__zone_change *change)
{
    if (take(rest, 'J')) {
        change->kind = ELAPSE__ZONE_DAY_JULIAN;
        return take_number(rest, 1, 365, &change->day);
    }
    if (take(rest, 'M')) {
        change->kind = ELAPSE__ZONE_DAY_OF_WEEK;
        return take_number(rest, 1, 12, &change->month) && take(rest, '.') &&
               take_number(rest, 1, 5, &change->week) && take(rest, '.') &&
               take_number(rest, 0, 6, &change->day);
    }
    change->kind = ELAPSE__ZONE_DAY_OF_YEAR;
    return take_number(rest, 0, 365, &change->day);
}

static bool take_change(struct rest *rest, struct elapse__zone_change *change)
{
    enum { USUAL_HOUR = 2, HOURS_MAX = 167 };

    change->time_s = (int64_t)USUAL_HOUR * ELAPSE__HOUR_S;
    return take(rest, ',') && take_day(rest, change) &&
           (!take(rest, '/') || take_time(rest, HOURS_MAX, &change->time_s));
}

bool elapse__zone_rule_parse(struct elapse__zone_rule *rule, const char *text, size_t length)
{
    enum { OFFSET_HOURS_MAX = 24 };
    struct rest rest = {text, text + length};
    int64_t west_s;

    *rule = (struct elapse__zone_rule){.has_summer = false};
    if (!take_name(&rest) || !take_time(&rest, OFFSET_HOURS_MAX, &west_s))
        return false;
    rule->standard_s = -west_s;
    rule->summer_s = rule->standard_s + ELAPSE__HOUR_S;
    if (rest.at == rest.end)
        return true;
    if (!take_name(&rest))
        return false;
    rule->has_summer = true;
    if (rest.at < rest.end && *rest.at != ',') {
        if (!take_time(&rest, OFFSET_HOURS_MAX, &west_s))
            return false;
        rule->summer_s = -west_s;
    }
    if (rest.at == rest.end) {
        /* If the text gives no changes, the C library uses those of the United States. */
        static const char usual[] = ",M3.2.0,M11.1.0";
        rest = (struct rest){usual, usual + sizeof usual - 1};
    }
    return take_change(&rest, &rule->to_summer) && take_change(&rest, &rule->to_standard) &&
           rest.at == rest.end;
}

/* ---- offsets ---- */

/* Returns the day of the change in this year, counted from 1970-01-01. */
static int64_t day_of_change(const struct elapse__zone_change *change, int64_t year)
{
    int64_t first = elapse__days_of_date((struct elapse__date){year, 1, 1});

    if (change->kind == ELAPSE__ZONE_DAY_OF_YEAR)
        return first + change->day;
    if (change->kind == ELAPSE__ZONE_DAY_JULIAN) {
        enum { LAST_OF_FEBRUARY = 59 };
        bool is_leap = elapse__month_length(year, 2) == 29;
        return first + change->day - 1 + (is_leap && change->day > LAST_OF_FEBRUARY);
    }
    ELAPSE__ASSERT(change->kind == ELAPSE__ZONE_DAY_OF_WEEK);
    int64_t first_of_month = elapse__days_of_date((struct elapse__date){year, change->month, 1});
    unsigned length = elapse__month_length(year, change->month);
    unsigned first_weekday = elapse__weekday_of_days(first_of_month);
    unsigned day = (change->day + 7 - first_weekday) % 7 + 7 * (change->week - 1);
    while (day >= length)
        day -= 7;
    return first_of_month + day;
}

/* Returns the moment of the change in this year. `before_s` is the offset until that moment. */
static int64_t moment_of_change(const struct elapse__zone_change *change, int64_t year,
                                int64_t before_s)
{
    return day_of_change(change, year) * ELAPSE__DAY_S + change->time_s - before_s;
}

int64_t elapse__zone_rule_offset_s(const struct elapse__zone_rule *rule, int64_t moment_s)
{
    if (!rule->has_summer)
        return rule->standard_s;
    int64_t year = elapse__date_of_days(elapse__divide_down(moment_s, ELAPSE__DAY_S)).year;
    int64_t latest_s = INT64_MIN;
    int64_t offset_s = rule->standard_s;

    /* A change may lie up to a week outside its year. The latest change that has come by the moment
     * counts. */
    for (int64_t each = year - 1; each <= year + 1; each++) {
        int64_t summer_s = moment_of_change(&rule->to_summer, each, rule->standard_s);
        int64_t standard_s = moment_of_change(&rule->to_standard, each, rule->summer_s);
        if (summer_s <= moment_s && summer_s >= latest_s) {
            latest_s = summer_s;
            offset_s = rule->summer_s;
        }
        if (standard_s <= moment_s && standard_s > latest_s) {
            latest_s = standard_s;
            offset_s = rule->standard_s;
        }
    }
    ELAPSE__ASSERT(latest_s > INT64_MIN);
    return offset_s;
}
