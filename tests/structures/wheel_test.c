/*
 * Tests what only the wheel promises: it needs no storage and cannot fail, and its moves have a
 * bound.
 */
#include "subject.h"

#include <elapse/wheel.h>

static void open_wheel(struct elapse_wheel *wheel, uint64_t now)
{
    assert_int_equal(elapse_wheel_init(wheel, now), ELAPSE_OK);
}

TEST(init_with_sizes_that_differ_is_an_abi_error)
{
    static struct elapse_wheel wheel;
    static struct elapse_wheel before;

    memset(&wheel, 0x5A, sizeof wheel);
    before = wheel;
    assert_int_equal(elapse_wheel_init_sized(&wheel, sizeof wheel - 8, 0), ELAPSE_ERROR_ABI);
    assert_int_equal(elapse_wheel_init_sized(&wheel, sizeof wheel + 8, 0), ELAPSE_ERROR_ABI);
    assert_int_equal(elapse_wheel_init_sized(&wheel, 0, 0), ELAPSE_ERROR_ABI);
    assert_memory_equal(&wheel, &before, sizeof wheel);
}

TEST(init_makes_a_used_wheel_empty_again)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    open_wheel(&wheel, 100);
    elapse_wheel_start(&wheel, &timer, 200);
    open_wheel(&wheel, 5);
    assert_int_equal(elapse_wheel_count(&wheel), 0);
    assert_int_equal(elapse_wheel_now(&wheel), 5);
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    assert_true(elapse_wheel_next(&wheel) == ELAPSE_NEVER);
    elapse_wheel_advance(&wheel, 1000);
    assert_null(elapse_wheel_pop(&wheel));
    elapse_timer_init(&timer);
    elapse_wheel_start(&wheel, &timer, 1001);
    elapse_wheel_advance(&wheel, 1001);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timer);
}

TEST(the_functions_of_the_header_work_on_the_wheel)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    open_wheel(&wheel, 10);
    elapse_wheel_start_window(&wheel, &timer, 33, 63);
    assert_int_equal(elapse_wheel_next(&wheel), 48);
    assert_int_equal(elapse_wheel_remaining(&wheel, &timer), 38);
    assert_int_equal(elapse_wheel_count(&wheel), 1);
    assert_null(elapse_wheel_pop_due(&wheel));
    elapse_wheel_advance(&wheel, 48);
    assert_true(elapse_wheel_cascade(&wheel, 1));
    assert_ptr_equal(elapse_wheel_pop_due(&wheel), &timer);
    assert_null(elapse_wheel_pop_due(&wheel));
    elapse_wheel_start(&wheel, &timer, 50);
    assert_true(elapse_wheel_stop(&wheel, &timer));
    elapse_wheel_clear(&wheel);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
}

TEST(promise_5_a_hundred_thousand_timers_without_storage)
{
    enum { TIMERS = 100000 };
    static struct elapse_wheel wheel;
    struct elapse_timer *timers = calloc(TIMERS, sizeof *timers);
    size_t popped = 0;

    assert_non_null(timers);
    open_wheel(&wheel, 0);
    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], i * 7919 % 1000003);
    assert_int_equal(elapse_wheel_count(&wheel), TIMERS);
    elapse_wheel_advance(&wheel, 1000003);
    while (elapse_wheel_pop(&wheel) != NULL)
        popped++;
    assert_int_equal(popped, TIMERS);
    free(timers);
}

TEST(promise_6_starting_and_stopping_move_nothing)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timers[100] = {0};

    open_wheel(&wheel, 0);
    for (uint64_t turn = 0; turn < 10; turn++) {
        for (uint64_t i = 0; i < 100; i++)
            elapse_wheel_start(&wheel, &timers[i], (turn + 1) * 1000 + (i << turn));
        elapse_wheel_advance(&wheel, turn);
    }
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(elapse_wheel_stop(&wheel, &timers[i]));
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
}

TEST(promise_6_empty_time_costs_nothing)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    open_wheel(&wheel, 0);
    elapse_wheel_start(&wheel, &timer, UINT64_C(1) << 62);
    for (unsigned bits = 0; bits < 62; bits++) {
        elapse_wheel_advance(&wheel, UINT64_C(1) << bits);
        assert_true(elapse_wheel_cascade(&wheel, 0));
        assert_null(elapse_wheel_pop(&wheel));
    }
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    elapse_wheel_advance(&wheel, UINT64_C(1) << 62);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timer);
    assert_true(elapse_wheel_moves(&wheel) <= 1);
}

TEST(promise_6_at_most_one_move_a_level)
{
    enum { TIMERS = 1000 };
    static struct elapse_wheel wheel;
    static struct elapse_timer timers[TIMERS];

    open_wheel(&wheel, 0);
    for (uint64_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], (UINT64_C(1) << 60) + (i * i << i % 50));
    while (elapse_wheel_next(&wheel) != ELAPSE_NEVER) {
        elapse_wheel_advance(&wheel, elapse_wheel_next(&wheel));
        while (elapse_wheel_pop(&wheel) != NULL)
            continue;
    }
    assert_int_equal(elapse_wheel_count(&wheel), 0);
    assert_true(elapse_wheel_moves(&wheel) <= (uint64_t)TIMERS * ELAPSE__WHEEL_UPPER_LEVELS);
}

TEST(promise_6_postponing_moves_once_when_the_slot_is_due)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    open_wheel(&wheel, 0);
    for (uint64_t i = 0; i < 1000; i++)
        elapse_wheel_start(&wheel, &timer, 50000 + i * 100);
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    elapse_wheel_advance(&wheel, 60000);
    assert_null(elapse_wheel_pop(&wheel));
    assert_true(elapse_wheel_moves(&wheel) <= 1);
    assert_int_equal(elapse_wheel_next(&wheel), 50000 + 99900);
}

/* A timer that is alone in a slot of any level is popped from there. */
TEST(promise_6_a_lone_timer_is_never_moved)
{
    static struct elapse_wheel wheel;

    for (unsigned bit = 0; bit < 64; bit++) {
        struct elapse_timer timer = {0};
        uint64_t deadline = UINT64_C(1) << bit;

        open_wheel(&wheel, 0);
        elapse_wheel_start(&wheel, &timer, deadline);
        elapse_wheel_advance(&wheel, deadline);
        assert_ptr_equal(elapse_wheel_pop(&wheel), &timer);
        assert_int_equal(elapse_wheel_moves(&wheel), 0);
    }
}

/* The pointer follows the clock before a slot is opened, so that near deadlines start on level
 * 0, however far time went on without a pop. */
TEST(promise_6_near_deadlines_start_on_level_0_after_a_jump)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timers[2] = {0};

    open_wheel(&wheel, 0);
    elapse_wheel_advance(&wheel, 1025);
    elapse_wheel_start(&wheel, &timers[0], 1026);
    elapse_wheel_start(&wheel, &timers[1], 1027);
    elapse_wheel_advance(&wheel, 1027);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[0]);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[1]);
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
}

TEST(promise_6_the_move_of_a_postponed_timer_is_counted)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    open_wheel(&wheel, 0);
    elapse_wheel_start(&wheel, &timer, 5);
    elapse_wheel_start(&wheel, &timer, 6);
    elapse_wheel_advance(&wheel, 6);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timer);
    assert_int_equal(elapse_wheel_moves(&wheel), 1);
}

TEST_MAIN("wheel")
