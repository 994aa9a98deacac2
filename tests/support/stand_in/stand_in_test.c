/*
 * Tests the stand-in for cmocka: each assertion passes where it should, and fails where it should,
 * every time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "cmocka.h"

static int passed_beyond;

static void passes(void **state)
{
    static const char text[] = "text";
    (void)state;
    assert_true(1);
    assert_false(0);
    assert_null(NULL);
    assert_non_null(text);
    assert_ptr_equal(text, &text[0]);
    assert_ptr_not_equal(text, &text[1]);
    assert_int_equal(-1, INT64_C(-1));
    assert_int_equal(UINT64_MAX, UINT64_MAX);
    assert_int_not_equal(UINT64_C(1) << 32, 0);
    assert_string_equal("text", text);
    assert_string_not_equal("texts", text);
    assert_memory_equal("texts", text, 4);
    assert_memory_equal("texts", NULL, 0);
    assert_memory_not_equal("texts", text, 5);
    assert_in_range(2, 2, 3);
    assert_in_range(3, 2, 3);
}

static void is_skipped(void **state)
{
    (void)state;
    skip();
}

/* Defines a test that has to end at its assertion. */
#define MUST_FAIL(name, assertion) \
    static void name(void **state) \
    {                              \
        (void)state;               \
        assertion;                 \
        passed_beyond++;           \
    }

MUST_FAIL(not_true, assert_true(passed_beyond < 0))
MUST_FAIL(not_false, assert_false(passed_beyond == 0))
MUST_FAIL(not_null, assert_null(state))
MUST_FAIL(null, assert_non_null(*state))
MUST_FAIL(other_pointer, assert_ptr_equal(state, &passed_beyond))
MUST_FAIL(same_pointer, assert_ptr_not_equal(state, state))
MUST_FAIL(other_number, assert_int_equal(UINT64_C(1) << 32, 0))
MUST_FAIL(same_number, assert_int_not_equal(7, 7))
MUST_FAIL(other_string, assert_string_equal("text", "texts"))
MUST_FAIL(same_string, assert_string_not_equal("text", "text"))
MUST_FAIL(other_memory, assert_memory_equal("text", "teXt", 3))
MUST_FAIL(same_memory, assert_memory_not_equal("texts", "text", 4))
MUST_FAIL(below, assert_in_range(1, 2, 3))
MUST_FAIL(above, assert_in_range(4, 2, 3))
MUST_FAIL(failing, if (passed_beyond == 0) fail())
MUST_FAIL(failing_with_words, if (passed_beyond == 0) fail_msg("%d words", 2))

int main(void)
{
    static const struct CMUnitTest right[] = {
        cmocka_unit_test(passes),
        cmocka_unit_test(is_skipped),
    };
    static const struct CMUnitTest wrong[] = {
        cmocka_unit_test(not_true),      cmocka_unit_test(not_false),
        cmocka_unit_test(not_null),      cmocka_unit_test(null),
        cmocka_unit_test(other_pointer), cmocka_unit_test(same_pointer),
        cmocka_unit_test(other_number),  cmocka_unit_test(same_number),
        cmocka_unit_test(other_string),  cmocka_unit_test(same_string),
        cmocka_unit_test(other_memory),  cmocka_unit_test(same_memory),
        cmocka_unit_test(below),         cmocka_unit_test(above),
        cmocka_unit_test(failing),       cmocka_unit_test(failing_with_words),
    };
    int all = (int)(sizeof wrong / sizeof *wrong);
    int wrongly_failed = cmocka_run_group_tests(right, NULL, NULL);
    int rightly_failed = cmocka_run_group_tests_name("wrong", wrong, NULL, NULL);

    print_message("%d of %d failed that must, %d that must not\n", rightly_failed, all,
                  wrongly_failed);
    return wrongly_failed == 0 && rightly_failed == all && passed_beyond == 0 ? 0 : 1;
}
