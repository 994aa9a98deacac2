/*
 * The stand-in for cmocka: what these tests use of cmocka, under the same names and with the same
 * meaning, for machines that have no cmocka: other architectures and C libraries. Where cmocka is
 * installed, the tests are built with it.
 *
 * A test that fails leaves by longjmp. So only the thread that runs the test may use assertions.
 */
#ifndef ELAPSE_STAND_IN_CMOCKA_H
#define ELAPSE_STAND_IN_CMOCKA_H

#include <stddef.h>
#include <stdint.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func;    /* NULL: none */
    CMFixtureFunction teardown_func; /* NULL: none */
};

#define cmocka_unit_test(function) cmocka_unit_test_setup_teardown(function, NULL, NULL)
#define cmocka_unit_test_setup(function, setup) \
    cmocka_unit_test_setup_teardown(function, setup, NULL)
#define cmocka_unit_test_setup_teardown(function, setup, teardown) \
    {                                                              \
#function, function, setup, teardown                       \
    }

/* Runs the tests one after the other and returns how many failed. There are no set-up
 * and tear-down functions of a group: both are NULL. */
#define cmocka_run_group_tests(tests, setup, teardown) \
    cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
    _cmocka_run_group_tests(name, tests, sizeof(tests) / sizeof *(tests), setup, teardown)

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction setup, CMFixtureFunction teardown);

#define print_message(...) stand_in_print(__VA_ARGS__)
#define print_error(...)   stand_in_print(__VA_ARGS__)
#define fail()             stand_in_fail(__FILE__, __LINE__, "fail")
#define fail_msg(...)      stand_in_fail(__FILE__, __LINE__, __VA_ARGS__)
#define skip()             stand_in_skip()

void stand_in_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void stand_in_fail(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
void stand_in_skip(void) __attribute__((noreturn));

#define assert_true(condition) \
    ((condition) ? (void)0 : stand_in_fail(__FILE__, __LINE__, "%s", #condition))
#define assert_false(condition)              assert_true(!(condition))
#define assert_null(pointer)                 assert_true((pointer) == NULL)
#define assert_non_null(pointer)             assert_true((pointer) != NULL)
#define assert_ptr_equal(a, b)               assert_int_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_ptr_not_equal(a, b)           assert_int_not_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_int_equal(a, b)               stand_in_numbers(STAND_IN_PAIR(a, b), 1)
#define assert_int_not_equal(a, b)           stand_in_numbers(STAND_IN_PAIR(a, b), 0)
#define assert_string_equal(a, b)            stand_in_strings(__FILE__, __LINE__, a, b, 1)
#define assert_string_not_equal(a, b)        stand_in_strings(__FILE__, __LINE__, a, b, 0)
#define assert_memory_equal(a, b, bytes)     stand_in_memory(__FILE__, __LINE__, a, b, bytes, 1)
#define assert_memory_not_equal(a, b, bytes) stand_in_memory(__FILE__, __LINE__, a, b, bytes, 0)
#define assert_in_range(value, least, most) \
    stand_in_range(__FILE__, __LINE__, (uintmax_t)(value), (uintmax_t)(least), (uintmax_t)(most))
#define STAND_IN_PAIR(a, b) __FILE__, __LINE__, (uintmax_t)(a), (uintmax_t)(b)

void stand_in_numbers(const char *file, int line, uintmax_t a, uintmax_t b, int equal);
void stand_in_strings(const char *file, int line, const char *a, const char *b, int equal);
void stand_in_memory(const char *file, int line, const void *a, const void *b, size_t bytes,
                     int equal);
void stand_in_range(const char *file, int line, uintmax_t value, uintmax_t least, uintmax_t most);

#endif
