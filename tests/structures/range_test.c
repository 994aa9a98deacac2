/*
 * Tests promise 8 (docs/promises.md): any deadline of 64 bits may be given, nothing wraps, and
 * ELAPSE_NEVER and the end of time work.
 */
#include "subject.h"

SUBJECT_TEST(promise_8_never_is_armed_and_counted_and_not_popped)
{
    struct elapse_timer timer = {0};

    start(subject, &timer, ELAPSE_NEVER);
    assert_int_equal(count(subject), 1);
    assert_true(elapse_timer_deadline(&timer) == ELAPSE_NEVER);
    assert_true(subject->structure->remaining(subject->instance, &timer) == ELAPSE_NEVER);
    assert_true(next(subject) == ELAPSE_NEVER);
    advance(subject, ELAPSE_NEVER);
    expect_no_pop(subject);
    assert_true(elapse_timer_pending(&timer));
    assert_true(stop(subject, &timer));
    assert_int_equal(count(subject), 0);
}

TEST(promise_8_never_does_not_disturb_a_near_timer)
{
    struct elapse_timer timers[3] = {0};
    struct subject *subject = subject_new(1000);

    start(subject, &timers[1], ELAPSE_NEVER);
    start(subject, &timers[0], 1025);
    start(subject, &timers[2], ELAPSE_TIME_MAX);
    expect_next(subject, 1025);
    advance(subject, 1025);
    expect_pop(subject, &timers[0]);
    expect_no_pop(subject);
    expect_next(subject, ELAPSE_TIME_MAX);
    subject_free(subject);
}

TEST(promise_8_never_and_back)
{
    struct elapse_timer timer = {0};
    struct subject *subject = subject_new(0);

    for (uint64_t turn = 1; turn < 50; turn++) {
        start(subject, &timer, ELAPSE_NEVER);
        advance(subject, turn * 1000);
        expect_no_pop(subject);
        start(subject, &timer, turn * 1000 + 500);
        advance(subject, turn * 1000 + 500);
        expect_pop(subject, &timer);
        start(subject, &timer, turn * 1000 + 700);
        start(subject, &timer, ELAPSE_NEVER);
        advance(subject, turn * 1000 + 800);
        expect_no_pop(subject);
        assert_int_equal(count(subject), 1);
    }
    assert_true(next(subject) == ELAPSE_NEVER);
    subject_free(subject);
}

TEST(promise_8_time_is_clamped_to_the_last_tick)
{
    struct elapse_timer timers[2] = {0};
    struct subject *subject = subject_new(0);

    start(subject, &timers[0], ELAPSE_TIME_MAX);
    start(subject, &timers[1], ELAPSE_NEVER);
    advance(subject, ELAPSE_TIME_MAX - 1);
    expect_no_pop(subject);
    advance(subject, ELAPSE_NEVER);
    assert_true(subject->structure->now(subject->instance) == ELAPSE_TIME_MAX);
    expect_pop(subject, &timers[0]);
    expect_no_pop(subject);
    start(subject, &timers[0], 0);
    assert_true(elapse_timer_deadline(&timers[0]) == ELAPSE_TIME_MAX);
    expect_pop(subject, &timers[0]);
    subject_free(subject);
}

TEST(promise_8_an_origin_of_never_is_the_last_tick)
{
    struct elapse_timer timers[2] = {0};
    struct subject *subject = subject_new(ELAPSE_NEVER);

    assert_true(subject->structure->now(subject->instance) == ELAPSE_TIME_MAX);
    start(subject, &timers[0], ELAPSE_TIME_MAX);
    start(subject, &timers[1], ELAPSE_NEVER);
    expect_pop(subject, &timers[0]);
    expect_no_pop(subject);
    subject_free(subject);
}

/* A timer with the longest delay must not be popped at once, as it would be if a sum wrapped. */
TEST(promise_8_the_longest_delay_from_any_time_is_never)
{
    static const uint64_t origins[] = {1, 1000, UINT64_C(1) << 63, ELAPSE_TIME_MAX};

    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        struct elapse_timer timer = {0};
        struct subject *subject = subject_new(origins[i]);

        start(subject, &timer, elapse_deadline_after(origins[i], UINT64_MAX));
        assert_true(elapse_timer_deadline(&timer) == ELAPSE_NEVER);
        expect_no_pop(subject);
        advance(subject, ELAPSE_TIME_MAX);
        expect_no_pop(subject);
        subject_free(subject);
    }
}

TEST(promise_8_across_the_middle_and_to_the_end_of_time)
{
    static const uint64_t deadlines[] = {
        (UINT64_C(1) << 63) - 1, UINT64_C(1) << 63,   (UINT64_C(1) << 63) + 1,
        UINT64_MAX - 257,        UINT64_MAX - 256,    UINT64_MAX - 255,
        UINT64_MAX - 64,         ELAPSE_TIME_MAX - 1, ELAPSE_TIME_MAX};
    enum { TIMERS = sizeof deadlines / sizeof *deadlines };
    static const uint64_t origins[] = {0, 12345, (UINT64_C(1) << 63) - 2};

    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        struct elapse_timer timers[TIMERS] = {0};
        struct subject *subject = subject_new(origins[i]);

        for (size_t n = TIMERS; n-- > 0;)
            start(subject, &timers[n], deadlines[n]);
        for (size_t n = 0; n < TIMERS; n++) {
            expect_next(subject, deadlines[n]);
            advance(subject, deadlines[n] - 1);
            expect_no_pop(subject);
            advance(subject, deadlines[n]);
            expect_pop(subject, &timers[n]);
            expect_no_pop(subject);
        }
        assert_true(next(subject) == ELAPSE_NEVER);
        subject_free(subject);
    }
}

TEST(promise_8_jump_from_zero_to_the_end)
{
    struct elapse_timer timers[64] = {0};
    struct subject *subject = subject_new(0);

    for (unsigned bits = 0; bits < 64; bits++)
        start(subject, &timers[bits], UINT64_MAX >> bits);
    advance(subject, ELAPSE_NEVER);
    for (unsigned bits = 64; bits-- > 1;)
        expect_pop(subject, &timers[bits]);
    expect_no_pop(subject);
    assert_int_equal(count(subject), 1);
    subject_free(subject);
}

TEST_MAIN_OF_SUBJECTS
