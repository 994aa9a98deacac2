/*
 * Tests promise 6 (docs/promises.md): cascade moves timers in bounded steps, goes on where it
 * stopped, and does not change which timers are popped.
 */
#include "subject.h"

#include <elapse/wheel.h>

#include "random.h"

/* FEW_TIMERS is for kinds of structure in which each wake-up may move all timers. */
enum { TIMERS = 2000, FEW_TIMERS = TIMERS / 10 };

static uint64_t moves(const struct subject *subject)
{
    return subject->structure->moves(subject->instance);
}

/* Cascades, and calls check. Check looks at all timers, so with many timers it is called only every
 * eighth time, which finds a fault that stays. */
static bool cascade(struct subject *subject, size_t max_moves)
{
    static unsigned calls;
    uint64_t before = moves(subject);
    bool cascaded = subject->structure->cascade(subject->instance, max_moves);

    assert_true(moves(subject) - before <= max_moves);
    if (count(subject) <= FEW_TIMERS || calls++ % 8 == 0)
        assert_int_equal(subject->structure->check(subject->instance), 0);
    return cascaded;
}

/* Cascades until there is nothing left to move. Fails the test if this takes too many calls: at
 * worst each timer is moved on each level, by a call of its own, and once more for a postponement.
 */
static void cascade_all(struct subject *subject, size_t max_moves)
{
    size_t calls = 0;

    while (!cascade(subject, max_moves))
        assert_true(++calls <= (size_t)TIMERS * (ELAPSE__WHEEL_UPPER_LEVELS + 1));
}

static void start_at_random(struct subject *subject, struct elapse_timer *timers, size_t count,
                            uint64_t seed)
{
    struct random_source source = {.state = seed};

    for (size_t i = 0; i < count; i++)
        start(subject, &timers[i], random_of_bits(&source, 1 + (unsigned)(i % 40)));
    /* Some timers are postponed. They get to their places when their slot is cascaded. */
    for (size_t i = 0; i < count; i += 5)
        start(subject, &timers[i], elapse_timer_deadline(&timers[i]) + i);
}

TEST(promise_6_cascading_by_ones_gives_the_same_sequence)
{
    static struct elapse_timer plain_timers[TIMERS];
    static struct elapse_timer cascaded_timers[TIMERS];
    static const uint64_t times[] = {0, 1, 300, 70000, 5000000, UINT64_C(1) << 36, ELAPSE_TIME_MAX};
    struct subject *plain = subject_new(0);
    struct subject *cascaded = subject_new(0);
    size_t timer_count = subject_kind()->parks ? FEW_TIMERS : TIMERS;

    start_at_random(plain, plain_timers, timer_count, 6);
    start_at_random(cascaded, cascaded_timers, timer_count, 6);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const struct elapse_timer *timer;

        advance(plain, times[i]);
        advance(cascaded, times[i]);
        while ((timer = pop(plain)) != NULL) {
            cascade_all(cascaded, 1);
            expect_pop(cascaded, &cascaded_timers[timer - plain_timers]);
        }
        expect_no_pop(cascaded);
    }
    assert_int_equal(count(cascaded), 0);
    subject_free(plain);
    subject_free(cascaded);
}

TEST(promise_6_no_step_moves_more_than_it_may)
{
    static struct elapse_timer timers[TIMERS];
    static const size_t budgets[] = {1, 2, 3, 10, 64, 1000};

    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct subject *subject = subject_new(0);

        for (size_t n = 0; n < TIMERS; n++)
            start(subject, &timers[n], 1000000 + n / 4);
        advance(subject, 2000000);
        cascade_all(subject, budgets[i]);
        expect_pop(subject, &timers[0]);
        assert_int_equal(pop_all(subject), TIMERS - 1);
        subject_free(subject);
    }
}

SUBJECT_TEST(promise_6_after_cascade_says_so_pop_moves_nothing)
{
    static struct elapse_timer timers[TIMERS];
    bool moves_all = subject_kind()->next == NEXT_A_TURN_AHEAD || subject_kind()->parks;
    size_t timer_count = moves_all ? FEW_TIMERS : TIMERS;

    start_at_random(subject, timers, timer_count, 66);
    while (next(subject) != ELAPSE_NEVER) {
        advance(subject, wake_up(subject));
        cascade_all(subject, 3);
        uint64_t before = moves(subject);
        const struct elapse_timer *timer = pop(subject);
        if (subject_kind()->cascades)
            assert_int_equal(moves(subject), before);
        if (timer == NULL)
            assert_true(next(subject) > subject->structure->now(subject->instance));
    }
    assert_int_equal(count(subject), 0);
}

SUBJECT_TEST(promise_6_a_budget_of_nothing_moves_nothing)
{
    struct elapse_timer timers[10] = {0};

    assert_true(cascade(subject, 0));
    for (size_t i = 0; i < 10; i++)
        start(subject, &timers[i], 100000 + i);
    assert_true(cascade(subject, 0));
    advance(subject, 100010);
    if (subject_kind()->cascades)
        assert_false(cascade(subject, 0));
    assert_int_equal(pop_all(subject), 10);
    assert_true(cascade(subject, 0));
}

SUBJECT_TEST(promise_6_cascading_ahead_of_time_does_nothing)
{
    struct elapse_timer timer = {0};

    start(subject, &timer, 100000);
    advance(subject, 99999);
    assert_true(cascade(subject, SIZE_MAX));
    expect_no_pop(subject);
    expect_next(subject, 100000);
    advance(subject, 100000);
    assert_true(cascade(subject, SIZE_MAX));
    expect_pop(subject, &timer);
}

SUBJECT_TEST(promise_6_resumes_after_time_moved_on_in_mid_cascade)
{
    static struct elapse_timer timers[TIMERS];
    size_t popped = 0;
    uint64_t now = 70000;

    for (size_t i = 0; i < TIMERS; i++)
        start(subject, &timers[i], 70000 + i);
    while (count(subject) > 0) {
        advance(subject, now++);
        cascade(subject, 2);
        if (now % 3 == 0 && now > 70000 + popped)
            expect_pop(subject, &timers[popped++]);
    }
    assert_int_equal(popped, TIMERS);
}

/* A due timer is postponed to now, and one step moves it. Then its old deadline is the least that
 * the structure knows. Another timer, whose slot is to be cascaded next, is moved away. */
SUBJECT_TEST(promise_6_a_slot_is_left_between_two_steps)
{
    enum { NEAR = 20000, DUE = 3 * 8192 + 200, AWAY = 1000000 };
    struct elapse_timer postponed = {0};
    struct elapse_timer other = {0};

    start(subject, &other, DUE);
    start(subject, &other, 5 * DUE);
    advance(subject, NEAR);
    start(subject, &postponed, NEAR + 1); /* the wheel goes on to this tick */
    advance(subject, DUE - 1);
    assert_true(stop(subject, &postponed));
    start(subject, &postponed, DUE - 1);
    advance(subject, DUE);
    start(subject, &postponed, DUE);
    (void)cascade(subject, 1);
    start(subject, &other, DUE + 1);
    start(subject, &other, AWAY);
    assert_int_equal(subject->structure->check(subject->instance), 0);
    expect_pop(subject, &postponed);
    expect_no_pop(subject);
    advance(subject, AWAY);
    expect_pop(subject, &other);
}

TEST_MAIN_OF_SUBJECTS
