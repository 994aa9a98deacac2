/*
 * The days that a cron expression names.
 */
#ifndef ELAPSE__DAYS_H
#define ELAPSE__DAYS_H

#include <stdbool.h>
#include <stdint.h>

#include <elapse/cron.h>

/* The days named in a month of this length whose first day is this day of the week,
 * months disregarded. Bit d: day d, from 1. */
uint32_t elapse__cron_days(const struct elapse_cron *cron, unsigned length, unsigned first_weekday);

/* Whether it names a day in any year at all. */
bool elapse__cron_names_a_day(const struct elapse_cron *cron);

#endif
