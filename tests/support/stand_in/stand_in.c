/*
 * The stand-in for cmocka: runs tests and judges assertions.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka.h"

enum { FAILED = 1, SKIPPED = 2 };

static jmp_buf leave;
static bool running;

void stand_in_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
}

void stand_in_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    if (!running)
        exit(EXIT_FAILURE);
    longjmp(leave, FAILED);
}

void stand_in_skip(void)
{
    longjmp(leave, SKIPPED);
}

void stand_in_numbers(const char *file, int line, uintmax_t a, uintmax_t b, int equal)
{
    if ((a == b) != equal)
        stand_in_fail(file, line, "%#" PRIxMAX " %s %#" PRIxMAX, a, equal ? "!=" : "==", b);
}

void stand_in_strings(const char *file, int line, const char *a, const char *b, int equal)
{
    if ((strcmp(a, b) == 0) != equal)
        stand_in_fail(file, line, "\"%s\" %s \"%s\"", a, equal ? "!=" : "==", b);
}

void stand_in_memory(const char *file, int line, const void *a, const void *b, size_t bytes,
                     int equal)
{
    if ((bytes == 0 || memcmp(a, b, bytes) == 0) != equal)
        stand_in_fail(file, line, "%zu bytes are %sthe same", bytes, equal ? "not " : "");
}

void stand_in_range(const char *file, int line, uintmax_t value, uintmax_t least, uintmax_t most)
{
    if (value < least || value > most)
        stand_in_fail(file, line, "%" PRIuMAX " is not from %" PRIuMAX " to %" PRIuMAX, value,
                      least, most);
}

/* Runs a test. If its set-up fails, the test fails. A test that fails is torn down, too. */
static const char *run_one(const struct CMUnitTest *test)
{
    static void *state;
    const char *volatile outcome = "ok"; /* volatile, because longjmp returns here */
    state = NULL;
    running = true;
    switch (setjmp(leave)) {
    case 0:
        if (test->setup_func != NULL && test->setup_func(&state) != 0)
            stand_in_fail(__FILE__, __LINE__, "the set-up fails");
        test->test_func(&state);
        break;
    case SKIPPED:
        outcome = "skipped";
        break;
    default:
        outcome = "FAILED";
    }
    if (test->teardown_func != NULL) {
        if (setjmp(leave) != 0 || test->teardown_func(&state) != 0)
            outcome = "FAILED";
    }
    running = false;
    return outcome;
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction setup, CMFixtureFunction teardown)
{
    int failed = 0;
    if (setup != NULL || teardown != NULL) {
        (void)fprintf(stderr, "%s: set-up and tear-down of a group are not known here\n", name);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < count; i++) {
        const char *outcome = run_one(&tests[i]);
        failed += strcmp(outcome, "FAILED") == 0;
        printf("%s: %s: %s\n", name, tests[i].name, outcome);
    }
    return failed;
}
