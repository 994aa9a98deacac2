/*
 * Moments as text.
 */
#ifndef ELAPSE_TESTS_MOMENT_H
#define ELAPSE_TESTS_MOMENT_H

/* After <cmocka.h> and what that needs. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* 2026-03-01T02:03:04 in UTC as a moment. */
static inline int64_t moment(const char *text)
{
    struct tm civil = {0};
    int fields = sscanf(text, "%d-%d-%dT%d:%d:%d", &civil.tm_year, &civil.tm_mon, &civil.tm_mday,
                        &civil.tm_hour, &civil.tm_min, &civil.tm_sec);

    assert_true(fields >= 3);
    civil.tm_year -= 1900;
    civil.tm_mon -= 1;
    return timegm(&civil);
}

#endif
