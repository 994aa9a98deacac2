/*
 * Elapse: cron expressions, and the moments that they name.
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
 * A weekday is a day from Monday to Friday. 31W names no day in a month that has no 31st.
 *
 * Each field holds one of these, or a list of them:
 *
 *     *                                 every value
 *     7                                 one value
 *     10-20                             a range
 *     22-2                              a range that goes on from the end of the field to its
 *                                       beginning: 22, 23, 0, 1, 2; FRI-MON, NOV-FEB, 28-3
 *     star/5, 10-40/5, 10/5             every fifth value of all, of a range, or from 10 to the
 *                                       end; a step is at most the number of values in the field
 *
 * A list joins its items with commas: 1,5,10-20. The forms in the column on the right may stand in
 * a list (1W,15W), but not in a range. Names and letters may be written in capitals or not, in
 * lists and ranges too. A range of days of the week may end at 7 or SUN. In the two fields for
 * days, ? means the same as *.
 *
 * The two fields for days work together. If both are restricted (neither begins with * or ?), the
 * expression names every day that at least one of them names. Otherwise it names the days that
 * both name.
 *
 * An expression may instead be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight,
 * @hourly; or @every and a duration, as in @every 1h30m: numbers with the units w d h m s, in this
 * order, each at most once. It names the moments that lie whole durations after the first one asked
 * about, whatever the time of day.
 *
 * Local time has gaps and repetitions, because clocks are changed. A named time that falls into a
 * gap means the moment at which the gap ends; several such times mean that one moment. A named
 * time that comes twice means the first time. So no day is skipped and nothing happens twice.
 * An expression whose field for hours begins with * goes by the clock instead: it names a time that
 * comes twice both times, so that "every ten minutes" does not pause while an hour is repeated.
 *
 * The following holds for every function below, unless it says otherwise:
 * - Threads: any thread may call it at any time. It keeps no state and allocates nothing, except
 *   elapse_time_zone_find. Local time is read through the C library (localtime_r). A program that
 *   changes TZ while other threads call these functions has a data race, and the C library may
 *   notice the new TZ only after tzset().
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

/* The greatest length of an expression, in characters. (One that lists every value has 600.) */
enum { ELAPSE_CRON_LENGTH_MAX = 1023 };

/* A time zone: elapse_time_zone_find returns one. It is never freed. */
struct elapse_time_zone;

/* A parsed expression. The caller allocates it and may copy it. All fields are private. */
struct elapse_cron {
    const struct elapse_time_zone *time_zone; /* NULL: the one that elapse_cron_next is given */
    int64_t every_s;                          /* of @every; otherwise 0, and then the rest holds */
    uint64_t seconds;                         /* bit s: second s */
    uint64_t minutes;                         /* bit m: minute m */
    uint32_t hours;                           /* bit h: hour h */
    uint32_t days;                            /* bit d: day d of the month, 1 to 31 */
    uint32_t nearest_weekdays;                /* bit d: the weekday nearest to day d (dW) */
    uint32_t days_before_last;    /* bit n: n days before the last of the month (L, L-n) */
    uint16_t months;              /* bit m: month m, 1 to 12 */
    uint8_t weekdays;             /* bit w: weekday w, 0 to 6 */
    uint8_t last_weekdays;        /* bit w: the last weekday w of the month (wL) */
    uint8_t numbered_weekdays[5]; /* [n]: bit w: the weekday w that is number n + 1 (w#n) */
    bool last_working_day;        /* LW */
    bool hours_open;              /* the field begins with *: times that come twice count twice */
    bool days_restricted;         /* the field does not begin with * or ? */
    bool weekdays_restricted;     /* the same for days of the week */
};

/* The fault of an expression: where it is, and what is wrong. */
struct elapse_cron_fault {
    size_t position;  /* of the first wrong character, from 0 */
    const char *text; /* one English phrase without a full stop; static */
};

/*
 * Reads an expression into `*cron`. Ignores blanks (spaces and tabs) around it.
 * Errors: ELAPSE_ERROR_ARGUMENT if the expression is wrong, or names no moment at all (30
 * February). Then `*fault` says where and why, unless `fault` is NULL, and `*cron` is unchanged.
 * Cost: about a microsecond.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_cron_parse(struct elapse_cron *cron,
                                                                 const char *expression,
                                                                 struct elapse_cron_fault *fault);

/* The clock whose time of day an expression names. */
enum elapse_zone {
    ELAPSE_ZONE_UTC = 0,   /* coordinated universal time */
    ELAPSE_ZONE_LOCAL = 1, /* local time: the zone in TZ, or the system's zone */
};

/*
 * Finds a time zone and stores it in `*zone`. `name` is a name of the time zone database
 * ("Europe/Berlin"); or a rule as in TZ ("CET-1CEST,M3.5.0,M10.5.0/3"); or "UTC"; or NULL for local
 * time. The first call with a name reads its file below /usr/share/zoneinfo; the zone is kept for
 * later calls until the process ends, and does not change when the file does.
 * Errors: ARGUMENT if there is no such zone, or if its file cannot be read; MEMORY.
 * Cost: the first call with a name reads a file; later ones compare names.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_time_zone_find(const char *name, const struct elapse_time_zone **zone);

/* Returns the seconds by which local time in the zone is ahead of UTC at a moment, which is in
 * seconds since 1970-01-01T00:00:00Z. Cost: a binary search. Cannot fail. */
ELAPSE_API int64_t elapse_time_zone_offset_s(const struct elapse_time_zone *zone, int64_t unix_s);

/*
 * Binds an expression to a time zone: from now on the expression means local time in that zone,
 * whatever zone elapse_cron_next or the task of a scheduler names. NULL ends the binding, and so
 * does parsing into the expression. Copies of the expression are bound too. Cost: O(1). Cannot
 * fail.
 */
ELAPSE_API void elapse_cron_set_time_zone(struct elapse_cron *cron,
                                          const struct elapse_time_zone *zone);

/*
 * Finds the first moment after `after_s` that the expression names. Requires an expression that
 * elapse_cron_parse has accepted. Moments are in seconds since 1970-01-01T00:00:00Z without leap
 * seconds, and negative before 1970.
 * Returns false if there is no such moment in the years 1 to 9999. `*next_s` is unchanged then.
 * Errors: none. Cost: some tenths of a microsecond for UTC; one or two microseconds if the day
 * comes only every forty years. Local time adds four conversions by the C library, or some hundred
 * within a day of a change of the clock. `zone` is ignored if the expression is bound to a time
 * zone.
 */
ELAPSE_API bool elapse_cron_next(const struct elapse_cron *cron, enum elapse_zone zone,
                                 int64_t after_s, int64_t *next_s);

#ifdef __cplusplus
}
#endif

#endif
