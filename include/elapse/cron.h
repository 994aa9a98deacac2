/*
 * Elapse: cron expressions: which moments an expression names.
 *
 *     struct elapse_cron cron;
 *     struct elapse_cron_fault fault;
 *     int64_t next_s;
 *
 *     if (elapse_cron_parse(&cron, "0 2 * * mon-fri", &fault) != ELAPSE_OK)
 *         fprintf(stderr, "at character %zu: %s\n", fault.position + 1, fault.text);
 *     else if (elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, time(NULL), &next_s))
 *         ...;                           // the next weekday at two in the morning
 *
 * An expression has five fields separated by blanks, or six with seconds first:
 *
 *     field           values            also
 *     second          0-59              (with five fields: 0)
 *     minute          0-59
 *     hour            0-23
 *     day of month    1-31              L (the last), L-3 (three before it), 15W (the weekday
 *                                       nearest to the 15th, within its month), LW (the last
 *                                       weekday), ?
 *     month           1-12              JAN-DEC
 *     day of week     0-7, 0 and 7 are Sunday
 *                                       SUN-SAT, 5L (the last Friday of the month), 5#2 (the second
 *                                       Friday), ?
 *
 * A weekday is a day from Monday to Friday. In a month without a 31st, 31W is no day.
 *
 * In each field: * for all values; a list of values and ranges, 1,5,10-20; a step,
 * star/5 or 10-40/5 or 10/5 (from 10 to the end), no greater than the field has values. What
 * stands in the column on the right may be in a list, each by itself (1W,15W), but not in a
 * range. Names and letters in capitals or not, in lists and ranges too. A range may not run
 * backwards, but days of the week may end at 7 or SUN. ? says the same as *, for days only.
 * When both days of the month and of the week are restricted (neither begins with * or ?), a
 * day that either names will do; otherwise it must be named by both.
 *
 * Or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly.
 *
 * Local time has gaps and repetitions when clocks are changed. A moment that falls into a gap is
 * taken to be the end of the gap, also when there are several; a time of day that comes twice is
 * meant the first time. So nothing is left out and nothing happens twice. An expression for each
 * minute then pauses while the hour comes again.
 *
 * What holds for every function below, unless it says otherwise:
 * - Threads: any thread, any time; there is no state, and no allocation. Local time is read
 *   through the C library (localtime_r): whoever changes TZ while others call must know what
 *   that does, and the C library may want tzset() to notice.
 * - Since: version 0.1.
 */
#ifndef ELAPSE_CRON_H
#define ELAPSE_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/attributes.h>
#include <elapse/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An expression has no more characters than this. (One that lists all there is to list has 600.) */
enum { ELAPSE_CRON_LENGTH_MAX = 1023 };

/* A parsed expression. The caller allocates it and may copy it. All fields are private. */
struct elapse_cron {
    uint64_t seconds;             /* bit s: second s */
    uint64_t minutes;             /* bit m: minute m */
    uint32_t hours;               /* bit h: hour h */
    uint32_t days;                /* bit d: day d of the month, 1 to 31 */
    uint32_t nearest_weekdays;    /* bit d: the weekday nearest to day d (dW) */
    uint32_t days_before_last;    /* bit n: n days before the last of the month (L, L-n) */
    uint16_t months;              /* bit m: month m, 1 to 12 */
    uint8_t weekdays;             /* bit w: weekday w, 0 to 6 */
    uint8_t last_weekdays;        /* bit w: the last weekday w of the month (wL) */
    uint8_t numbered_weekdays[5]; /* [n]: bit w: the weekday w that is number n + 1 (w#n) */
    bool last_working_day;        /* LW */
    bool days_restricted;         /* the field does not begin with * or ? */
    bool weekdays_restricted;     /* nor does this one */
};

/* Where an expression is wrong, and how. */
struct elapse_cron_fault {
    size_t position;  /* of the first wrong character, from 0 */
    const char *text; /* one English phrase without a full stop; static */
};

/*
 * Reads an expression. Blanks (spaces and tabs) around it are ignored.
 * Errors: ELAPSE_ERROR_ARGUMENT, with the place and the fault in `*fault` unless that is NULL; also
 * for an expression that names no moment at all (30 February). `*cron` is unchanged then.
 * Cost: about a microsecond.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_cron_parse(struct elapse_cron *cron,
                                                                 const char *expression,
                                                                 struct elapse_cron_fault *fault);

/* Whose time of day an expression means. */
enum elapse_zone {
    ELAPSE_ZONE_UTC = 0,   /* coordinated universal time */
    ELAPSE_ZONE_LOCAL = 1, /* the process's: TZ, or the system's */
};

/*
 * The first moment after `after_s` that the expression names, both in seconds since
 * 1970-01-01T00:00:00Z, leap seconds not counted; before 1970 negative. False if there is none
 * within the years 1 to 9999; `*next_s` is unchanged then.
 * Cannot fail. Cost: some tenths of a microsecond for
 * UTC, a microsecond or two where a day comes every forty years; for local time also what the C
 * library takes for four conversions, and within a day of a change of the clock for some
 * hundred.
 */
ELAPSE_API bool elapse_cron_next(const struct elapse_cron *cron, enum elapse_zone zone,
                                 int64_t after_s, int64_t *next_s);

#ifdef __cplusplus
}
#endif

#endif
