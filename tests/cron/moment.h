/*
 * Reads moments from text.
 */
#ifndef ELAPSE_TESTS_MOMENT_H
#define ELAPSE_TESTS_MOMENT_H

/* After <cmocka.h> and what that needs. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Returns the moment of a text such as 2026-03-01T02:03:04, in UTC. */
static inline int64_t moment(const char *text)
{
    struct tm broken_down = {0};
    int fields = sscanf(text, "%d-%d-%dT%d:%d:%d", &broken_down.tm_year, &broken_down.tm_mon,
                        &broken_down.tm_mday, &broken_down.tm_hour, &broken_down.tm_min,
                        &broken_down.tm_sec);

    assert_true(fields >= 3);
    broken_down.tm_year -= 1900;
    broken_down.tm_mon -= 1;
    return timegm(&broken_down);
}

#endif
