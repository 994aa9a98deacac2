#include "assert.h"

#include <inttypes.h>
#include <stdio.h>

#ifdef ELAPSE__ASSERTIONS

_Thread_local unsigned elapse__locks_held;

_Noreturn void elapse__assertion_failed(const char *file, int line, const char *expression)
{
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    __builtin_trap();
}

_Noreturn void elapse__comparison_failed(const char *file, int line, const char *expression,
                                         uint64_t left, uint64_t right)
{
    (void)fprintf(stderr,
                  "%s:%d: assertion failed: %s\n    left: %" PRIu64 ", right: %" PRIu64 "\n", file,
                  line, expression, left, right);
    __builtin_trap();
}

#endif
