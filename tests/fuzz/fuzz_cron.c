/*
 * libFuzzer target for cron expressions. Any bytes are read as an expression. If it is
 * refused, the place of the fault lies within it. If it is accepted, each moment that it
 * names is later than the moment asked about, and no named moment lies between the two.
 *
 * The first byte chooses a zone, the next eight choose the moment to ask about, and the rest is
 * the expression. Its terminator is the last byte of its memory.
 */
#include <string.h>
#include <time.h>

#include <elapse/cron.h>

#include "fuzz.h"

enum { HEAD_BYTES = 9, FIRES = 4 };

/* The last two are no real zones: they change in both directions by as much as can be written. */
static const char *const zones[] = {
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "<-03>3<-02>,M10.3.0/0,M2.3.0/0",
    "XYZ24:59:59",
    "XYZ-24:59:59ABC24:59:59,J60/12,J300/12",
    "XYZ24:59:59ABC-24:59:59,J60/0,J60/9",
};
enum { ZONES = sizeof zones / sizeof *zones, STRANGE_ZONES = 2 };

static const int64_t first_s = INT64_C(-62135596800);
static const int64_t last_s = INT64_C(253402300799);
static const int64_t two_days_s = INT64_C(172800);

/* Returns a copy of the rest. It ends with its memory, so a read beyond the end is noticed. */
static char *expression_of(const uint8_t *data, size_t size)
{
    char *expression = malloc(size + 1);

    require(expression != NULL);
    if (size > 0)
        memcpy(expression, data, size);
    expression[size] = '\0';
    return expression;
}

static void check_fault(const char *expression, const struct elapse_cron_fault *fault)
{
    size_t length = strlen(expression);

    require(fault->position <= length);
    require(fault->position <= ELAPSE_CRON_LENGTH_MAX);
    require(fault->text != NULL && fault->text[0] != '\0');
    require(fault->text[strlen(fault->text) - 1] != '.');
}

/* Checks the moments of an expression. In a zone that is not real, local time leaps as it does
 * nowhere on earth; there only the order of the moments is checked. */
static void check_moments(const struct elapse_cron *cron, enum elapse_zone zone, int64_t after_s,
                          bool is_strange)
{
    for (unsigned i = 0; i < FIRES; i++) {
        int64_t next_s = 4711;
        int64_t again_s;

        if (!elapse_cron_next(cron, zone, after_s, &next_s)) {
            /* Every day that can be named comes at least once in forty years. */
            require(next_s == 4711);
            require(after_s > last_s - INT64_C(41) * 366 * 86400);
            return;
        }
        require(next_s > after_s);
        require(next_s >= first_s - two_days_s && next_s <= last_s + two_days_s);
        /* Asked from any moment between, the answer is the same. */
        if (after_s < first_s - two_days_s)
            after_s = first_s - two_days_s;
        if (!is_strange) {
            int64_t between_s = after_s + (next_s - after_s) / 2;

            require(elapse_cron_next(cron, zone, between_s, &again_s) && again_s == next_s);
            require(elapse_cron_next(cron, zone, next_s - 1, &again_s) && again_s == next_s);
        }
        after_s = next_s;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned zone_set = ZONES;
    struct elapse_cron cron;
    struct elapse_cron_fault fault = {.text = NULL};
    int64_t after_s;

    if (size < HEAD_BYTES)
        return 0;
    unsigned zone = data[0] % ZONES;
    if (zone != zone_set) {
        require(setenv("TZ", zones[zone], 1) == 0);
        tzset();
        zone_set = zone;
    }
    memcpy(&after_s, data + 1, sizeof after_s);
    /* Most moments are within the years 1 to 9999. */
    if (data[0] < 0xf0)
        after_s = first_s + (int64_t)((uint64_t)after_s % (uint64_t)(last_s - first_s));

    char *expression = expression_of(data + HEAD_BYTES, size - HEAD_BYTES);
    memset(&cron, 0, sizeof cron);
    if (elapse_cron_parse(&cron, expression, &fault) != ELAPSE_OK) {
        check_fault(expression, &fault);
    } else {
        require(fault.text == NULL);
        check_moments(&cron, ELAPSE_ZONE_UTC, after_s, false);
        check_moments(&cron, ELAPSE_ZONE_LOCAL, after_s, zone >= ZONES - STRANGE_ZONES);
    }
    free(expression);
    return 0;
}
