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
 * An expression has five fields, or six if the first is the field for seconds. Blanks separate the
 * fields:
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
 * Commas join the items of a list: 1,5,10-20. The forms in the column "also" may stand in a list
 * (1W,15W), but not in a range. Names and letters may be capitals or small letters, in lists and
 * ranges too. A range of days of the week may end at 7 or SUN. In the two fields for days, ? means
 * the same as *.
 *
 * The two fields for days work together. If both are restricted (neither begins with * or ?), the
 * expression names every day that at least one of them names. Otherwise it names the days that
 * both name.
 *
 * An expression may instead be one of these words: @yearly, @annually, @monthly, @weekly, @daily,
 * @midnight, @hourly. It may also be @every and a duration, as in @every 1h30m. The duration has
 * numbers with the units w d h m s, in this order, each at most once. An expression with @every
 * names moments that are one duration apart, whatever the time of day. Each moment lies one
 * duration after the moment that elapse_cron_next was asked about.
 *
 * Local time has gaps and repetitions, because clocks are changed. If a named time falls into a
 * gap, it means the moment at which the gap ends. Several named times in one gap all mean that one
 * moment. If a named time comes twice, it means the first of the two moments. So no day is skipped,
 * and nothing happens twice.
 *
 * There is one exception: an expression whose field for hours begins with *. If a time comes twice,
 * such an expression names both moments. So "every ten minutes" does not pause while an hour is
 * repeated.
 *
 * The following holds for every function below, unless it says otherwise:
 * - Threads: any thread may call the function at any time. The function keeps no state and
 *   allocates nothing. (elapse_time_zone_find does both.) Local time is read through the C library
 *   (localtime_r). A program that changes TZ while other threads call these functions has a data
 *   race. The C library may notice the new TZ only after tzset().
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

/* The greatest length of an expression, in characters. (An expression that lists every value has
 * 600.) */
enum { ELAPSE_CRON_LENGTH_MAX = 1023 };

/* A time zone: elapse_time_zone_find returns one. It is never freed. */
struct elapse_time_zone;

/* A parsed expression. The caller allocates it and may copy it. All fields are private. */
struct elapse_cron {
    const struct elapse_time_zone *time_zone; /* NULL: the zone given to elapse_cron_next */
    int64_t every_s;                          /* the duration of @every; 0: the fields below hold */
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
    bool last_working_day;        /* LW: the last weekday of the month */
    bool hours_open;              /* hours begin with *: times that come twice count twice */
    bool days_restricted;         /* the days of the month do not begin with * or ? */
    bool weekdays_restricted;     /* the days of the week do not begin with * or ? */
};

/* The fault of an expression: its place, and what is wrong. */
struct elapse_cron_fault {
    size_t position;  /* the place of the first wrong character, counted from 0 */
    const char *text; /* an English phrase without a full stop; the text is static */
};

/*
 * Parses an expression, and stores it in `*cron`. Ignores blanks (spaces and tabs) around the
 * expression.
 * Errors: ELAPSE_ERROR_ARGUMENT if the expression is wrong, or names no moment at all (30
 * February). Then `*cron` is unchanged, and the fault is stored in `*fault` unless `fault` is NULL.
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
 * Finds a time zone and stores it in `*zone`. `name` is one of these: a name of the time zone
 * database ("Europe/Berlin"); a rule as in TZ ("CET-1CEST,M3.5.0,M10.5.0/3"); "UTC"; or NULL for
 * local time. The first call with a name reads the file of the zone below /usr/share/zoneinfo. The
 * zone is kept for later calls until the process ends. The zone does not change when its file
 * changes.
 * Errors: ARGUMENT if there is no such zone, or if its file cannot be read; MEMORY.
 * Cost: the first call with a name reads a file; later calls compare names.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_time_zone_find(const char *name, const struct elapse_time_zone **zone);

/* Returns by how many seconds local time in the zone is ahead of UTC at the moment `unix_s`, which
 * is in seconds since 1970-01-01T00:00:00Z. Cost: a binary search. Cannot fail. */
ELAPSE_API int64_t elapse_time_zone_offset_s(const struct elapse_time_zone *zone, int64_t unix_s);

/*
 * Binds an expression to a time zone. From then on the expression means local time in that zone,
 * whatever zone elapse_cron_next or the task of a scheduler names. A `zone` of NULL ends the
 * binding. Parsing another expression into `*cron` ends the binding too. A copy of a bound
 * expression is bound. Cost: O(1). Cannot fail.
 */
ELAPSE_API void elapse_cron_set_time_zone(struct elapse_cron *cron,
                                          const struct elapse_time_zone *zone);

/*
 * Finds the first moment after `after_s` that the expression names. Requires an expression that
 * elapse_cron_parse has accepted. Moments are in seconds since 1970-01-01T00:00:00Z without leap
 * seconds, and negative before 1970. `zone` is ignored if the expression is bound to a time zone.
 * Returns true and stores the moment in `*next_s`. If there is no such moment in the years 1 to
 * 9999, returns false and leaves `*next_s` unchanged.
 * Errors: none.
 * Cost: some tenths of a microsecond for UTC; one or two microseconds if the day comes only every
 * forty years. Local time adds four conversions by the C library, or some hundred within a day of a
 * change of the clock.
 */
ELAPSE_API bool elapse_cron_next(const struct elapse_cron *cron, enum elapse_zone zone,
                                 int64_t after_s, int64_t *next_s);

#ifdef __cplusplus
}
#endif

#endif
