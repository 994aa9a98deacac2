/*
 * Defines tests. A test is named once in its file: its definition adds it to the tests that
 * TEST_MAIN runs, in the order of the file.
 *
 *      TEST(a_cancelled_task_never_runs)
 *      {
 *          ...
 *      }
 *
 *      TEST_MAIN("cancel")
 *
 * A file whose tests share a fixture defines a macro of its own by TEST_WITH. The headers of the
 * standard library that nearly every test uses come with this one.
 */
#ifndef ELAPSE_TEST_H
#define ELAPSE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TESTS_OF_A_FILE_MAX = 128 };

static struct CMUnitTest tests_of_this_file[TESTS_OF_A_FILE_MAX];
static size_t tests_of_this_file_count;

static inline void add_test(const char *name, CMUnitTestFunction function, CMFixtureFunction set_up,
                            CMFixtureFunction tear_down)
{
    if (tests_of_this_file_count == TESTS_OF_A_FILE_MAX)
        abort();
    tests_of_this_file[tests_of_this_file_count++] = (struct CMUnitTest){
        .name = name,
        .test_func = function,
        .setup_func = set_up,
        .teardown_func = tear_down,
    };
}

/* Runs the tests of the file. Returns how many have failed. */
static inline int run_tests_of_file(const char *group)
{
    return _cmocka_run_group_tests(group, tests_of_this_file, tests_of_this_file_count, NULL, NULL);
}

/* Begins the definition of a test that runs between two functions of a fixture. In the test `state`
 * is what cmocka gives to each test: a pointer to what the fixture has stored there. */
#define TEST_WITH(function, set_up, tear_down)                          \
    static void function(void **state);                                 \
    __attribute__((constructor)) static void function##_is_a_test(void) \
    {                                                                   \
        add_test(#function, function, set_up, tear_down);               \
    }                                                                   \
    static void function(__attribute__((unused)) void **state)

/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a name */

/* Begins the definition of a test as TEST_WITH does, but the test gets what the fixture has stored
 * as an argument, `type *thing`. */
#define TEST_GIVEN(function, type, thing, set_up, tear_down) \
    static void function##_given(type *thing);               \
    TEST_WITH(function, set_up, tear_down)                   \
    {                                                        \
        function##_given(*state);                            \
    }                                                        \
    static void function##_given(__attribute__((unused)) type *thing)

#define TEST(function) TEST_WITH(function, NULL, NULL)

/* Begins the definition of a test of one thing, which it gets as an argument: `made` makes the
 * thing before the test, and `end` ends it afterwards. */
#define TEST_OF(function, type, thing, made, end) \
    static void function##_of(type thing);        \
    TEST(function)                                \
    {                                             \
        type thing = made;                        \
                                                  \
        function##_of(thing);                     \
        end(thing);                               \
    }                                             \
    static void function##_of(type thing)

/* NOLINTEND(bugprone-macro-parentheses) */

#define TEST_MAIN(group)                 \
    int main(void)                       \
    {                                    \
        return run_tests_of_file(group); \
    }

#endif
