/*
 * Tests promise 4 (docs/promises.md): timers are popped by deadline, and at one deadline in the
 * order of arming.
 */
#include "subject.h"

enum { TIMERS = 300 };

SUBJECT_TEST(promise_4_by_deadline_across_all_levels)
{
    struct elapse_timer timers[63] = {0};

    /* 37 and 63 have no common factor, so every timer is started once, in a scattered order. */
    for (size_t i = 0; i < 63; i++) {
        size_t number = i * 37 % 63;

        start(subject, &timers[number], UINT64_C(1) << number);
    }
    advance(subject, ELAPSE_TIME_MAX);
    for (size_t i = 0; i < 63; i++)
        expect_pop(subject, &timers[i]);
}

static void pops_in_arming_order(uint64_t distance, bool cascade)
{
    struct elapse_timer timers[TIMERS] = {0};
    struct subject *subject = subject_new(77);

    for (size_t i = 0; i < TIMERS; i++)
        start(subject, &timers[i], 77 + distance);
    advance(subject, 77 + distance);
    while (cascade && !subject->structure->cascade(subject->instance, 1))
        continue;
    for (size_t i = 0; i < TIMERS; i++)
        expect_pop(subject, &timers[i]);
    expect_no_pop(subject);
    subject_free(subject);
}

TEST(promise_4_at_one_deadline_in_the_order_of_arming)
{
    for (unsigned bits = 0; bits < 63; bits++) {
        pops_in_arming_order(UINT64_C(1) << bits, false);
        pops_in_arming_order((UINT64_C(1) << bits) + 5, true);
    }
}

/* Whenever the distance to the deadline has halved, another timer is armed for it. So it is put on
 * a lower level than the timers before it, and yet comes after them. */
TEST(promise_4_arming_order_survives_the_descent_through_levels)
{
    enum { STEPS = 50 };
    const uint64_t deadline = (UINT64_C(1) << STEPS) + 12345;

    for (int popping = 0; popping < 2; popping++) {
        struct elapse_timer timers[STEPS] = {0};
        struct subject *subject = subject_new(12345);

        for (unsigned i = 0; i < STEPS; i++) {
            advance(subject, deadline - (UINT64_C(1) << (STEPS - i)));
            if (popping)
                expect_no_pop(subject);
            start(subject, &timers[i], deadline);
        }
        advance(subject, deadline);
        for (size_t i = 0; i < STEPS; i++)
            expect_pop(subject, &timers[i]);
        subject_free(subject);
    }
}

SUBJECT_TEST(promise_4_two_deadlines_interleaved_in_one_slot)
{
    struct elapse_timer even[TIMERS] = {0};
    struct elapse_timer odd[TIMERS] = {0};

    for (size_t i = 0; i < TIMERS; i++) {
        start(subject, &odd[i], 70001);
        start(subject, &even[i], 70000);
    }
    advance(subject, 80000);
    for (size_t i = 0; i < TIMERS; i++)
        expect_pop(subject, &even[i]);
    for (size_t i = 0; i < TIMERS; i++)
        expect_pop(subject, &odd[i]);
}

SUBJECT_TEST(promise_4_a_past_deadline_counts_as_now)
{
    struct elapse_timer timers[4] = {0};

    start(subject, &timers[0], 8);
    start(subject, &timers[1], 10);
    advance(subject, 10);
    start(subject, &timers[2], 3);
    start(subject, &timers[3], 9);
    for (size_t i = 0; i < 4; i++)
        expect_pop(subject, &timers[i]);
}

TEST(promise_4_moved_to_an_earlier_deadline_goes_behind_those_there)
{
    static const uint64_t deadlines[] = {10, 300, 20000, UINT64_C(1) << 40};

    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        struct elapse_timer timers[3] = {0};
        struct subject *subject = subject_new(0);

        start(subject, &timers[1], 2 * deadlines[i]);
        start(subject, &timers[0], deadlines[i]);
        start(subject, &timers[1], deadlines[i]);
        start(subject, &timers[2], deadlines[i]);
        advance(subject, deadlines[i]);
        for (size_t n = 0; n < 3; n++)
            expect_pop(subject, &timers[n]);
        subject_free(subject);
    }
}

/* A timer is postponed and then moved back, to a tick between its first and its second deadline.
 * This is a move to an earlier deadline, so its order is exact again. */
SUBJECT_TEST(promise_4_postponed_and_taken_back_goes_behind_those_there)
{
    struct elapse_timer timers[3] = {0};

    start(subject, &timers[1], 5);
    start(subject, &timers[0], 700);
    start(subject, &timers[1], 90000);
    start(subject, &timers[1], 700);
    start(subject, &timers[2], 700);
    advance(subject, 700);
    for (size_t i = 0; i < 3; i++)
        expect_pop(subject, &timers[i]);
}

SUBJECT_TEST(promise_4_a_postponed_timer_comes_after_every_earlier_deadline)
{
    struct elapse_timer timers[4] = {0};

    start(subject, &timers[3], 10);
    start(subject, &timers[0], 10);
    start(subject, &timers[1], 11);
    start(subject, &timers[2], 299);
    start(subject, &timers[3], 300);
    advance(subject, 299);
    for (size_t i = 0; i < 3; i++)
        expect_pop(subject, &timers[i]);
    expect_no_pop(subject);
    advance(subject, 300);
    expect_pop(subject, &timers[3]);
}

/* A timer that is started again for the same deadline may come at any position among the timers of
 * that deadline, but at no other. */
SUBJECT_TEST(promise_4_started_again_for_the_same_deadline_stays_at_it)
{
    struct elapse_timer timers[4] = {0};
    size_t after = 0;

    for (size_t i = 0; i < 3; i++)
        start(subject, &timers[i], 500);
    start(subject, &timers[3], 501);
    start(subject, &timers[0], 500);
    advance(subject, 501);
    for (size_t i = 0; i < 3; i++) {
        const struct elapse_timer *timer = pop(subject);

        assert_ptr_not_equal(timer, &timers[3]);
        if (timer != &timers[0])
            assert_ptr_equal(timer, &timers[++after]);
    }
    expect_pop(subject, &timers[3]);
    expect_no_pop(subject);
}

SUBJECT_TEST(promise_4_stopped_and_started_is_a_new_arming)
{
    struct elapse_timer timers[3] = {0};

    start(subject, &timers[2], 500);
    start(subject, &timers[0], 500);
    start(subject, &timers[1], 500);
    assert_true(stop(subject, &timers[2]));
    start(subject, &timers[2], 500);
    advance(subject, 500);
    for (size_t i = 0; i < 3; i++)
        expect_pop(subject, &timers[i]);
}

/* A timer that is started late lies on a lower level than older timers with earlier deadlines. */
TEST(promise_4_a_late_start_does_not_overtake_an_earlier_deadline)
{
    static const uint64_t borders[] = {256, 512, 16384, 16384 * 64, UINT64_C(1) << 32};

    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++) {
        struct elapse_timer timers[2] = {0};
        struct subject *subject = subject_new(0);

        start(subject, &timers[0], borders[i] + 3);
        advance(subject, borders[i] + 1);
        start(subject, &timers[1], borders[i] + 4);
        advance(subject, borders[i] + 10);
        expect_pop(subject, &timers[0]);
        expect_pop(subject, &timers[1]);
        subject_free(subject);
    }
}

TEST_MAIN_OF_SUBJECTS
