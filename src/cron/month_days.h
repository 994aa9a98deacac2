/*
 * Finds the days of a month that a cron expression names.
 */
#ifndef ELAPSE__MONTH_DAYS_H
#define ELAPSE__MONTH_DAYS_H

#include <stdbool.h>
#include <stdint.h>

#include <elapse/cron.h>

/*
 * Returns the days that the two day fields name, in a month that has `length` days and
 * begins with `first_weekday` (0 is Sunday). The field for months is ignored. Bit d stands
 * for day d; the first day is 1.
 */
uint32_t elapse__cron_month_days(const struct elapse_cron *cron, unsigned length,
                                 unsigned first_weekday);

/* Returns whether there is a year in which the expression names a day. */
bool elapse__cron_names_a_day(const struct elapse_cron *cron);

#endif
