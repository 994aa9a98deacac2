/*
 * Tests the hashed wheel after a jump over many turns: the sort is done in steps, and anything may
 * happen between two steps.
 */
#include "hashed_wheel.h"

#include "random.h"

enum { TIMERS = 200 };

static bool ends_at_one(struct elapse_timer *timer, void *left)
{
    size_t *visits_left = left;

    assert_true(elapse_timer_pending(timer));
    return --*visits_left > 0;
}

/* Starts eight timers, four of which a jump makes due, and cascades a part of it. */
static void go_half_a_jump(struct elapse_hashed *hashed, struct elapse_timer *timers)
{
    for (size_t i = 0; i < 8; i++)
        elapse_hashed_start(hashed, &timers[i], 97 + i);
    elapse_hashed_advance(hashed, 100);
    assert_false(elapse_hashed_cascade(hashed, 3));
}

TEST(next_is_never_when_all_timers_of_half_a_jump_are_stopped)
{
    struct elapse_timer timers[8] = {0};
    struct elapse_timer never = {0};
    struct elapse_hashed hashed;
    void *storage = open_hashed(&hashed, 4, 0);

    go_half_a_jump(&hashed, timers);
    elapse_hashed_start(&hashed, &never, ELAPSE_NEVER);
    for (size_t i = 0; i < 8; i++) {
        assert_true(elapse_hashed_next(&hashed) <= 97 + i);
        assert_true(elapse_hashed_stop(&hashed, &timers[i]));
    }
    assert_true(elapse_hashed_next(&hashed) == ELAPSE_NEVER);
    elapse_hashed_start(&hashed, &timers[0], 102);
    assert_true(elapse_hashed_next(&hashed) <= 102);
    elapse_hashed_advance(&hashed, 101);
    assert_null(elapse_hashed_pop(&hashed));
    assert_int_equal(elapse_hashed_next(&hashed), 102);
    close_hashed(&hashed, storage);
}

/* Starts timers of turns that differ in each digit, not in the order of the turns. */
static void start_across_digits(struct elapse_hashed *hashed, struct elapse_timer *timers,
                                size_t count)
{
    struct random_source source = {.state = 12};

    for (size_t i = 0; i < count; i++)
        elapse_hashed_start(hashed, &timers[i],
                            1 + random_of_bits(&source, 1 + (unsigned)(i % 24)));
}

/* Pops all timers, which are due, and asserts the order of deadlines and of arming. */
static void expect_all_in_order(struct elapse_hashed *hashed, size_t count)
{
    const struct elapse_timer *last = NULL;

    for (size_t popped = 0; popped < count; popped++) {
        const struct elapse_timer *timer = elapse_hashed_pop(hashed);

        assert_non_null(timer);
        assert_int_equal(elapse_hashed_check(hashed), 0);
        if (last != NULL && elapse_timer_deadline(last) == elapse_timer_deadline(timer))
            assert_true(timer > last);
        else if (last != NULL)
            assert_true(elapse_timer_deadline(last) < elapse_timer_deadline(timer));
        last = timer;
    }
    assert_null(elapse_hashed_pop(hashed));
}

/* Returns how many of the timers have changed since the copy was made. */
static size_t changed_since(const struct elapse_timer *timers, const struct elapse_timer *copy,
                            size_t count)
{
    size_t changed = 0;

    for (size_t i = 0; i < count; i++)
        changed += memcmp(&timers[i], &copy[i], sizeof *copy) != 0;
    return changed;
}

/* A move writes to a timer, and to its neighbours in the two rings. No step writes to more timers.
 */
TEST(promise_6_no_step_of_a_jump_does_more_than_its_moves)
{
    static struct elapse_timer timers[TIMERS];
    static struct elapse_timer copy[TIMERS];
    static const size_t budgets[] = {1, 2, 7};

    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct elapse_hashed hashed;
        void *storage = open_hashed(&hashed, 10, 0);
        size_t steps = 0;
        bool cascaded = false;

        start_across_digits(&hashed, timers, TIMERS);
        elapse_hashed_advance(&hashed, UINT64_C(1) << 25);
        while (elapse_hashed_count(&hashed) > 0) {
            uint64_t before = elapse_hashed_moves(&hashed);

            memcpy(copy, timers, sizeof copy);
            cascaded = elapse_hashed_cascade(&hashed, budgets[i]);
            steps++;
            assert_true(elapse_hashed_moves(&hashed) - before <= budgets[i]);
            /* When a ring is taken as a whole, its two ends change, too. */
            assert_true(changed_since(timers, copy, TIMERS) <= 4 * budgets[i] + 2);
            if (cascaded)
                assert_non_null(elapse_hashed_pop(&hashed));
        }
        assert_true(steps >= TIMERS / budgets[i]);
        close_hashed(&hashed, storage);
    }
}

TEST(promise_6_each_digit_of_the_turns_is_one_move_more)
{
    /* With one slot a turn is a tick: 64 turns are one digit, 4096 are two. No digit of
     * these turns is 0. */
    static const uint64_t farthest[] = {63, 65, 4095, 4096 + 65, 262143, 262144 + 4096 + 65};
    static struct elapse_timer timers[TIMERS];

    for (size_t i = 0; i < sizeof farthest / sizeof *farthest; i++) {
        struct elapse_hashed hashed;
        void *storage = open_hashed(&hashed, 1, 0);

        for (size_t n = 0; n < TIMERS; n++)
            elapse_hashed_start(&hashed, &timers[n], farthest[i]);
        elapse_hashed_advance(&hashed, UINT64_C(1) << 30);
        expect_all_in_order(&hashed, TIMERS);
        assert_int_equal(elapse_hashed_moves(&hashed), (1 + (i + 1) / 2) * TIMERS);
        close_hashed(&hashed, storage);
    }
}

HASHED_TEST(the_first_timer_after_a_jump_does_not_wait_for_the_sorting_of_the_last, 1, 0)
{
    static struct elapse_timer timers[TIMERS];

    elapse_hashed_start(hashed, &timers[0], 1);
    for (size_t n = 1; n < TIMERS; n++)
        elapse_hashed_start(hashed, &timers[n], 5000 + n);
    elapse_hashed_advance(hashed, 10000);
    assert_ptr_equal(elapse_hashed_pop(hashed), &timers[0]);
    assert_int_equal(elapse_hashed_moves(hashed), TIMERS);
    for (size_t n = 1; n < TIMERS; n++)
        assert_ptr_equal(elapse_hashed_pop(hashed), &timers[n]);
    assert_int_equal(elapse_hashed_moves(hashed), TIMERS + 2 * (TIMERS - 1));
}

/* Starts the timers, jumps to `now`, and does `steps` steps of one move each. Pops whenever that is
 * possible. Returns how many timers were popped. */
static size_t go_into_a_sort(struct elapse_hashed *hashed, struct elapse_timer *timers,
                             uint64_t now, size_t steps)
{
    size_t popped = 0;

    start_across_digits(hashed, timers, TIMERS);
    elapse_hashed_advance(hashed, now);
    for (size_t step = 0; step < steps && popped < TIMERS - 10; step++) {
        if (elapse_hashed_cascade(hashed, 1))
            popped += elapse_hashed_pop(hashed) != NULL;
    }
    return popped;
}

/* At every step of the sort some timers are stopped, and some are started again and come last. */
TEST(timers_stop_and_start_at_every_step_of_a_sort)
{
    static struct elapse_timer timers[TIMERS];

    for (size_t steps = 0; steps < 4 * TIMERS; steps += 13) {
        const uint64_t now = UINT64_C(1) << 25;
        struct elapse_timer at_once[2] = {0};
        struct elapse_hashed hashed;
        void *storage = open_hashed(&hashed, 3, 0);

        size_t gone = go_into_a_sort(&hashed, timers, now, steps);
        elapse_hashed_start(&hashed, &at_once[0], 0);
        for (size_t n = steps % 5; n < TIMERS; n += 3) {
            gone += elapse_hashed_stop(&hashed, &timers[n]);
            assert_int_equal(elapse_hashed_check(&hashed), 0);
        }
        elapse_hashed_start(&hashed, &at_once[1], now);
        assert_int_equal(elapse_hashed_check(&hashed), 0);
        assert_true(elapse_hashed_next(&hashed) <= now);
        for (size_t left = TIMERS - gone; left > 0; left--)
            assert_true(elapse_timer_deadline(elapse_hashed_pop(&hashed)) < now);
        assert_ptr_equal(elapse_hashed_pop(&hashed), &at_once[0]);
        assert_ptr_equal(elapse_hashed_pop(&hashed), &at_once[1]);
        assert_null(elapse_hashed_pop(&hashed));
        assert_true(elapse_hashed_next(&hashed) == ELAPSE_NEVER);
        close_hashed(&hashed, storage);
    }
}

/* In every state of a sort all timers are walked over, counted in the dump, and cleared. */
TEST(a_sort_hides_no_timer)
{
    static struct elapse_timer timers[TIMERS];

    for (size_t steps = 0; steps < 3 * TIMERS; steps += 31) {
        struct elapse_hashed hashed;
        struct picture picture = {0};
        size_t described = 0;
        void *storage = open_hashed(&hashed, 3, 0);

        size_t pending = TIMERS - go_into_a_sort(&hashed, timers, UINT64_C(1) << 25, steps);
        size_t left = pending + 1;
        elapse_hashed_for_each(&hashed, ends_at_one, &left);
        assert_int_equal(left, 1);
        for (size_t visits = 1; visits <= pending; visits++) {
            left = visits;
            elapse_hashed_for_each(&hashed, ends_at_one, &left);
            assert_int_equal(left, 0);
        }
        elapse_hashed_dump(&hashed, draw, &picture);
        for (size_t i = 0; i < picture.count; i++)
            described += picture.slots[i].count;
        assert_int_equal(described, pending);
        elapse_hashed_clear(&hashed);
        assert_true(elapse_hashed_next(&hashed) == ELAPSE_NEVER);
        close_hashed(&hashed, storage);
    }
}

HASHED_TEST(a_jump_over_all_of_time_is_in_order, 1, 0)
{
    static struct elapse_timer timers[64];

    for (unsigned bit = 0; bit < 64; bit++)
        elapse_hashed_start(hashed, &timers[bit], (UINT64_C(2) << (63 - bit)) - 2);
    elapse_hashed_advance(hashed, ELAPSE_TIME_MAX);
    for (unsigned bit = 64; bit > 0; bit--)
        assert_ptr_equal(elapse_hashed_pop(hashed), &timers[bit - 1]);
    assert_null(elapse_hashed_pop(hashed));
}

TEST_MAIN("hashed_sort")
