/*
 * Compiles test.h with the stand-in, so that a machine that has cmocka notices when test.h takes
 * something of cmocka that the stand-in lacks.
 */
#include "../test.h"

static int set_up(void **state)
{
    static int number = 7;
    *state = &number;
    return 0;
}

static int tear_down(void **state)
{
    return *(int *)*state == 8 ? 0 : 1;
}

TEST_GIVEN(a_test_gets_what_the_fixture_has_stored, int, number, set_up, tear_down)
{
    assert_int_equal(*number, 7);
    *number = 8;
}

TEST(a_test_may_have_no_fixture)
{
    assert_null(*state);
}

TEST_MAIN("test_header")
