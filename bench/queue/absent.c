/*
 * Stands in for sqlite.c where SQLite is not installed.
 */
#include <stdio.h>

#include "queue_bench.h"

static void say(void)
{
    static bool said;
    if (!said)
        fprintf(stderr, "SQLite is not installed: its figures are left out\n");
    said = true;
}

void sqlite_put(const struct settings *settings, unsigned group, const char *figure,
                const char *floor)
{
    (void)settings;
    (void)group;
    (void)figure;
    (void)floor;
    say();
}

void sqlite_cancel(const struct settings *settings, const char *floor)
{
    (void)settings;
    (void)floor;
    say();
}

void sqlite_reschedule(const struct settings *settings, const char *floor)
{
    (void)settings;
    (void)floor;
    say();
}

void sqlite_work(const struct settings *settings)
{
    (void)settings;
    say();
}
