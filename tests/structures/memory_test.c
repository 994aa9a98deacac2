/*
 * Tests promise 12 (docs/promises.md): the memory of a stopped or popped timer is the caller's
 * again. Each test overwrites such memory, and at the end looks whether anything wrote to it.
 * AddressSanitizer finds whether anything read it.
 */
#include "subject.h"

#include "released.h"

enum { TIMERS = 300 };

static void start_all(struct subject *subject, struct elapse_timer *timers, uint64_t step)
{
    for (size_t i = 0; i < TIMERS; i++) {
        elapse_timer_init(&timers[i]);
        start(subject, &timers[i], 1000 + i * step);
    }
}

static void claim_all(struct elapse_timer *timers)
{
    for (size_t i = 0; i < TIMERS; i++)
        assert_true(timer_claim(&timers[i]));
}

SUBJECT_TEST(promise_12_zero_memory_is_an_idle_timer)
{
    static struct elapse_timer timer;

    assert_false(elapse_timer_pending(&timer));
    assert_false(stop(subject, &timer));
    start(subject, &timer, 0);
    expect_pop(subject, &timer);
}

TEST(promise_12_popped_timers_are_left_alone)
{
    static const uint64_t steps[] = {0, 1, 3, 100, 100000, UINT64_C(1) << 50};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct elapse_timer timers[TIMERS];
        struct subject *subject = subject_new(0);

        start_all(subject, timers, steps[i]);
        while (next(subject) != ELAPSE_NEVER) {
            struct elapse_timer *timer;

            advance(subject, wake_up(subject));
            while ((timer = pop(subject)) != NULL)
                timer_release(timer);
        }
        claim_all(timers);
        subject_free(subject);
    }
}

SUBJECT_TEST(promise_12_timers_released_in_the_middle_of_a_cascade_are_left_alone)
{
    struct elapse_timer timers[TIMERS];
    struct elapse_timer *timer;
    size_t number = TIMERS;

    start_all(subject, timers, 1);
    advance(subject, 5000);
    /* The first timers are popped, and the last timers are stopped. */
    while ((timer = pop(subject)) != NULL) {
        timer_release(timer);
        if (--number > (size_t)(timer - timers)) {
            assert_true(stop(subject, &timers[number]));
            timer_release(&timers[number]);
        }
        subject->structure->cascade(subject->instance, 1);
    }
    claim_all(timers);
}

SUBJECT_TEST(promise_12_stopped_timers_are_left_alone)
{
    struct elapse_timer timers[TIMERS];

    start_all(subject, timers, 9);
    for (size_t i = 0; i < TIMERS; i += 2) {
        assert_true(stop(subject, &timers[i]));
        timer_release(&timers[i]);
    }
    advance(subject, 2000);
    for (size_t i = 1; i < TIMERS; i += 2) {
        if (!elapse_timer_pending(&timers[i]))
            continue;
        start(subject, &timers[i], 100000 - i);
    }
    for (size_t i = 1; i < TIMERS; i += 2) {
        assert_true(stop(subject, &timers[i]));
        timer_release(&timers[i]);
    }
    advance(subject, ELAPSE_TIME_MAX);
    expect_no_pop(subject);
    claim_all(timers);
}

static bool stop_and_release(struct elapse_timer *timer, void *context)
{
    assert_true(stop(context, timer));
    timer_release(timer);
    return true;
}

SUBJECT_TEST(promise_12_visited_timers_may_be_released_at_once)
{
    struct elapse_timer timers[TIMERS];

    start_all(subject, timers, 77);
    subject->structure->for_each(subject->instance, stop_and_release, subject);
    assert_int_equal(count(subject), 0);
    advance(subject, ELAPSE_TIME_MAX);
    expect_no_pop(subject);
    claim_all(timers);
}

SUBJECT_TEST(promise_12_cleared_timers_are_left_alone)
{
    struct elapse_timer timers[TIMERS];

    start_all(subject, timers, 50);
    start(subject, &timers[7], ELAPSE_NEVER);
    subject->structure->clear(subject->instance);
    for (size_t i = 0; i < TIMERS; i++) {
        assert_false(elapse_timer_pending(&timers[i]));
        timer_release(&timers[i]);
    }
    advance(subject, ELAPSE_TIME_MAX);
    expect_no_pop(subject);
    claim_all(timers);
}

TEST_MAIN_OF_SUBJECTS
