/*
 * Tests promise 10 (docs/promises.md): `next` is exact, or early after a stop or a move, but never
 * late; and following it always makes progress. For kinds whose `next` may be early at any time,
 * only the rest is tested.
 */
#include "subject.h"

SUBJECT_TEST_AT(promise_10_nothing_pending_is_never, 99)
{
    struct elapse_timer timer = {0};

    assert_true(next(subject) == ELAPSE_NEVER);
    start(subject, &timer, 105);
    advance(subject, 105);
    assert_int_equal(pop_all(subject), 1);
    assert_true(next(subject) == ELAPSE_NEVER);
}

TEST(promise_10_exact_as_timers_are_started)
{
    struct elapse_timer timers[64] = {0};
    struct subject *subject = subject_new(0);

    for (unsigned bits = 64; bits-- > 1;) {
        start(subject, &timers[bits], (UINT64_C(1) << bits) + 3);
        expect_next(subject, (UINT64_C(1) << bits) + 3);
    }
    start(subject, &timers[0], UINT64_C(1) << 40);
    expect_next(subject, 5);
    subject_free(subject);
}

TEST(promise_10_exact_for_a_timer_of_now_or_past)
{
    struct elapse_timer timers[2] = {0};
    struct subject *subject = subject_new(5000);

    start(subject, &timers[0], 5000);
    expect_next(subject, 5000);
    assert_true(stop(subject, &timers[0]));
    start(subject, &timers[1], 17);
    expect_next(subject, 5000);
    subject_free(subject);
}

/* A deadline one turn of a level ahead lies in the slot that time is in now. */
TEST(promise_10_exact_when_a_timer_wraps_onto_the_current_slot)
{
    static const uint64_t turns[] = {256, 16384, UINT64_C(1) << 20, UINT64_C(1) << 38};

    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        for (uint64_t deadline = 99 + turns[i]; deadline <= 101 + turns[i]; deadline++) {
            struct elapse_timer timer = {0};
            struct subject *subject = subject_new(100);

            start(subject, &timer, deadline);
            expect_next(subject, deadline);
            assert_int_equal(follow_next(subject), 1);
            subject_free(subject);
        }
    }
}

TEST(promise_10_exact_between_two_pops)
{
    struct elapse_timer timers[3] = {0};
    struct subject *subject = subject_new(0);

    start(subject, &timers[0], 7);
    start(subject, &timers[1], 9);
    start(subject, &timers[2], 100000);
    advance(subject, 10);
    expect_next(subject, 7);
    expect_pop(subject, &timers[0]);
    expect_next(subject, 9);
    expect_pop(subject, &timers[1]);
    expect_next(subject, 100000);
    subject_free(subject);
}

SUBJECT_TEST(promise_10_following_it_visits_each_deadline_once)
{
    enum { TIMERS = 189 };
    struct elapse_timer timers[TIMERS] = {0};

    for (unsigned i = 0; i < TIMERS; i++)
        start(subject, &timers[i], (UINT64_C(5) << i / 3) + i % 3);
    for (unsigned i = 0; i < TIMERS;) {
        uint64_t least = next(subject);
        size_t popped = follow_next(subject);

        assert_true(popped > 0);
        assert_true(next(subject) > least);
        i += (unsigned)popped;
    }
    assert_int_equal(count(subject), 0);
    assert_true(next(subject) == ELAPSE_NEVER);
}

TEST(promise_10_a_lone_far_timer_costs_one_wake_up)
{
    for (unsigned bits = 1; bits < 64; bits++) {
        struct elapse_timer timer = {0};
        struct subject *subject = subject_new(1);

        start(subject, &timer, (UINT64_C(1) << bits) + bits);
        assert_int_equal(follow_next(subject), 1);
        subject_free(subject);
    }
}

SUBJECT_TEST(promise_10_after_a_stop_it_is_early_or_exact)
{
    struct elapse_timer timers[2] = {0};

    start(subject, &timers[0], 3000);
    start(subject, &timers[1], 3005);
    assert_true(stop(subject, &timers[0]));
    assert_true(next(subject) <= 3005);
    if (!next_may_be_early() && next(subject) < 3005)
        assert_int_equal(follow_next(subject), 0);
    expect_next(subject, 3005);
    assert_int_equal(follow_next(subject), 1);
}

TEST(promise_10_after_a_postponement_it_is_early_or_exact)
{
    static const uint64_t later[] = {3001, 3500, 20000, UINT64_C(1) << 45, ELAPSE_NEVER};

    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        struct elapse_timer timer = {0};
        struct subject *subject = subject_new(0);

        start(subject, &timer, 3000);
        start(subject, &timer, later[i]);
        assert_true(next(subject) <= later[i]);
        if (!next_may_be_early() && next(subject) < later[i])
            assert_int_equal(follow_next(subject), 0);
        expect_next(subject, later[i]);
        assert_int_equal(count(subject), 1);
        subject_free(subject);
    }
}

TEST(promise_10_a_move_to_an_earlier_deadline_is_seen_at_once)
{
    struct elapse_timer timers[2] = {0};
    struct subject *subject = subject_new(0);

    start(subject, &timers[0], UINT64_C(1) << 40);
    start(subject, &timers[1], 1000000);
    for (uint64_t deadline = 900000; deadline > 1; deadline /= 3) {
        start(subject, &timers[0], deadline);
        expect_next(subject, deadline);
    }
    subject_free(subject);
}

TEST(promise_10_an_idle_time_out_postponed_for_ever_costs_few_wake_ups)
{
    enum { PERIOD = 30000, RESTARTS = 10000 };
    struct elapse_timer timer = {0};
    struct subject *subject = subject_new(0);
    size_t wake_ups = 0;

    start(subject, &timer, PERIOD);
    for (uint64_t now = 0; now < UINT64_C(10) * RESTARTS; now += 10) {
        if (next(subject) <= now) {
            wake_ups++;
            advance(subject, now);
            expect_no_pop(subject);
        }
        advance(subject, now);
        start(subject, &timer, now + PERIOD);
    }
    if (!next_may_be_early())
        assert_true(wake_ups <= 10 * RESTARTS / PERIOD + 1);
    assert_int_equal(count(subject), 1);
    subject_free(subject);
}

TEST_MAIN_OF_SUBJECTS
