/*
 * Tests promise 7 (docs/promises.md): between two pops, and between two cascades, any function may
 * be called.
 */
#include "subject.h"

#include "random.h"

SUBJECT_TEST(promise_7_a_due_timer_stopped_between_pops_is_not_delivered)
{
    struct elapse_timer timers[3] = {0};

    for (size_t i = 0; i < 3; i++)
        start(subject, &timers[i], 700);
    advance(subject, 700);
    expect_pop(subject, &timers[0]);
    assert_true(stop(subject, &timers[1]));
    expect_pop(subject, &timers[2]);
    expect_no_pop(subject);
    assert_int_equal(count(subject), 0);
}

TEST(promise_7_a_due_timer_postponed_between_pops_comes_later)
{
    static const uint64_t later[] = {701, 760, 1000, 100000, UINT64_C(1) << 50};

    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        struct elapse_timer timers[3] = {0};
        struct subject *subject = subject_new(0);

        for (size_t n = 0; n < 3; n++)
            start(subject, &timers[n], 700);
        advance(subject, 700);
        expect_pop(subject, &timers[0]);
        start(subject, &timers[1], later[i]);
        expect_pop(subject, &timers[2]);
        expect_no_pop(subject);
        advance(subject, later[i] - 1);
        expect_no_pop(subject);
        advance(subject, later[i]);
        expect_pop(subject, &timers[1]);
        subject_free(subject);
    }
}

SUBJECT_TEST(promise_7_due_at_once_comes_out_of_the_running_loop)
{
    struct elapse_timer timers[4] = {0};

    start(subject, &timers[0], 100);
    start(subject, &timers[1], 200);
    advance(subject, 200);
    expect_pop(subject, &timers[0]);
    start(subject, &timers[2], 150);
    start(subject, &timers[3], 0);
    expect_pop(subject, &timers[1]);
    expect_pop(subject, &timers[2]);
    expect_pop(subject, &timers[3]);
    expect_no_pop(subject);
}

SUBJECT_TEST_AT(promise_7_each_link_of_a_chain_comes_at_once, 50)
{
    struct elapse_timer timer = {0};

    start(subject, &timer, 50);
    for (int ring_node = 0; ring_node < 1000; ring_node++) {
        expect_pop(subject, &timer);
        start(subject, &timer, 50);
    }
    assert_true(stop(subject, &timer));
    expect_no_pop(subject);
}

TEST(promise_7_a_timer_that_starts_itself_again_keeps_firing)
{
    static const uint64_t periods[] = {1, 255, 256, 257, 16384, 1048576};

    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        struct elapse_timer timer = {0};
        struct subject *subject = subject_new(3);

        start(subject, &timer, 3 + periods[i]);
        for (uint64_t turn = 1; turn <= 100; turn++) {
            advance(subject, 3 + turn * periods[i]);
            expect_pop(subject, &timer);
            start(subject, &timer, elapse_timer_deadline(&timer) + periods[i]);
            expect_no_pop(subject);
        }
        assert_true(stop(subject, &timer));
        subject_free(subject);
    }
}

SUBJECT_TEST(promise_7_stopping_moving_and_starting_between_cascades)
{
    enum { TIMERS = 200 };
    struct elapse_timer timers[TIMERS] = {0};
    struct elapse_timer extra[TIMERS] = {0};
    const uint64_t first = UINT64_C(1) << 30;
    size_t step = 0;

    for (size_t i = 0; i < TIMERS; i++)
        start(subject, &timers[i], first + i * 50);
    advance(subject, first + TIMERS * 50);
    while (!subject->structure->cascade(subject->instance, 7) && 4 * step + 3 < TIMERS) {
        assert_true(stop(subject, &timers[4 * step]));
        start(subject, &timers[4 * step + 1], first * 2);
        start(subject, &timers[4 * step + 2], 0);
        start(subject, &extra[step], 0);
        assert_int_equal(subject->structure->check(subject->instance), 0);
        step++;
    }
    assert_int_equal(count(subject), TIMERS);
    assert_int_equal(pop_all(subject), TIMERS - step);
    advance(subject, first * 2);
    assert_int_equal(pop_all(subject), step);
}

TEST(promise_7_timers_freed_as_they_are_popped_and_stopped)
{
    enum { TIMERS = 500 };
    struct elapse_timer *timers[TIMERS];
    struct subject *subject = subject_new(0);
    struct elapse_timer *timer;
    size_t freed = 0;

    for (size_t i = 0; i < TIMERS; i++) {
        timers[i] = calloc(1, sizeof *timers[i]);
        assert_non_null(timers[i]);
        start(subject, timers[i], 1000 + i / 2 * 7);
    }
    advance(subject, 10000);
    /* After each pop the other timer of the same tick is stopped. */
    while ((timer = pop(subject)) != NULL) {
        size_t number = 2 * freed;

        assert_ptr_equal(timer, timers[number]);
        assert_true(stop(subject, timers[number + 1]));
        free(timers[number + 1]);
        free(timer);
        freed++;
    }
    assert_int_equal(freed, TIMERS / 2);
    assert_int_equal(count(subject), 0);
    subject_free(subject);
}

SUBJECT_TEST(promise_7_clear_in_the_middle_of_a_loop)
{
    enum { TIMERS = 100 };
    struct elapse_timer timers[TIMERS] = {0};

    for (int cascades = 0; cascades < 2; cascades++) {
        uint64_t now = subject->structure->now(subject->instance);

        for (size_t i = 0; i < TIMERS; i++)
            start(subject, &timers[i], now + 5000 + i / 3);
        advance(subject, now + 6000);
        if (cascades)
            assert_int_equal(subject->structure->cascade(subject->instance, 5),
                             !subject_kind()->cascades);
        else
            expect_pop(subject, &timers[0]);
        subject->structure->clear(subject->instance);
        expect_no_pop(subject);
        assert_int_equal(count(subject), 0);
        assert_int_equal(subject->structure->check(subject->instance), 0);
    }
    start(subject, &timers[0], 0);
    expect_pop(subject, &timers[0]);
}

TEST(promise_7_all_stopped_in_a_random_order)
{
    enum { TIMERS = 1000 };
    static struct elapse_timer timers[TIMERS];
    size_t order[TIMERS] = {0};
    struct random_source source = {.state = 21};
    struct subject *subject = subject_new(0);

    for (size_t i = 0; i < TIMERS; i++) {
        size_t other = random_index(&source, i + 1);

        order[i] = order[other];
        order[other] = i;
        start(subject, &timers[i], random_of_bits(&source, 64));
    }
    for (size_t i = 0; i < TIMERS; i++) {
        assert_true(stop(subject, &timers[order[i]]));
        assert_int_equal(count(subject), TIMERS - 1 - i);
        assert_int_equal(subject->structure->check(subject->instance), 0);
    }
    advance(subject, ELAPSE_TIME_MAX);
    expect_no_pop(subject);
    assert_int_equal(next(subject), ELAPSE_NEVER);
    subject_free(subject);
}

SUBJECT_TEST(promise_7_rapid_moves_to_earlier_deadlines_lose_none)
{
    enum { TIMERS = 1000, MOVES = 10 };
    static struct elapse_timer timers[TIMERS];

    for (uint64_t move = 0; move < MOVES; move++) {
        for (size_t i = 0; i < TIMERS; i++)
            start(subject, &timers[i], (MOVES - move) * 1000 + i);
    }
    assert_int_equal(count(subject), TIMERS);
    advance(subject, 999);
    expect_no_pop(subject);
    for (size_t i = 0; i < TIMERS; i++) {
        advance(subject, 1000 + i);
        expect_pop(subject, &timers[i]);
    }
}

TEST_MAIN_OF_SUBJECTS
