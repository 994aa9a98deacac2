/*
 * Tests promise 6 (docs/promises.md) of the wheel with bursts of timers. One burst comes after a
 * quiet time: while nothing is due the wheel's pointer stays where it is, so timers may enter a
 * slot that is needed soon. In another burst timers are postponed when few ticks are left. No tick
 * moves many timers.
 */
#include "subject.h"

#include <elapse/wheel.h>

enum { TIMERS = 2000, FEW = ELAPSE__WHEEL_FEW, BATCH = ELAPSE__WHEEL_BATCH };

_Static_assert(TIMERS > 4 * (FEW + BATCH), "a tick that moves all of them moves too many");

static struct elapse_wheel wheel;
static struct elapse_timer timers[TIMERS];
static struct elapse_timer lone;

static void open_wheel(uint64_t now)
{
    memset(timers, 0, sizeof timers);
    elapse_timer_init(&lone);
    assert_int_equal(elapse_wheel_init(&wheel, now), ELAPSE_OK);
}

/* Advances tick by tick, from the present on, and pops until NULL in each. Returns the most moves
 * of one tick. */
static uint64_t most_moves_until(uint64_t end, size_t *popped)
{
    uint64_t most = 0;

    for (uint64_t tick = elapse_wheel_now(&wheel); tick <= end; tick++) {
        uint64_t before = elapse_wheel_moves(&wheel);
        const struct elapse_timer *timer;

        elapse_wheel_advance(&wheel, tick);
        for (; (timer = elapse_wheel_pop(&wheel)) != NULL; ++*popped)
            assert_int_equal(elapse_timer_deadline(timer), tick);
        uint64_t moves = elapse_wheel_moves(&wheel) - before;
        most = moves > most ? moves : most;
    }
    return most;
}

/* ---- a burst shortly before its slot is needed ---- */

enum where { NOWHERE, IN_THE_SLOT, BEFORE_THE_SLOT, WHERES };

/* Returns the binary logarithm of the ticks of a slot of `level`. */
static unsigned slot_shift(unsigned level)
{
    return ELAPSE__WHEEL_LEVEL_0_BITS + (level - 1) * ELAPSE__WHEEL_DIGIT_BITS;
}

/* Starts a burst of timers `before` ticks before the fourth slot of `level` begins. The timers are
 * due in that slot. One timer may be pending already, in that slot or in the slot before. */
static void try_burst(unsigned level, uint64_t before, enum where where)
{
    uint64_t slot = UINT64_C(3) << slot_shift(level);
    size_t popped = 0;

    open_wheel(0);
    if (where != NOWHERE)
        elapse_wheel_start(&wheel, &lone, where == IN_THE_SLOT ? slot + 100 : slot - 1);
    /* Nothing is due and nothing can be moved, so that a pop at each tick does nothing. */
    assert_true(elapse_wheel_next(&wheel) > slot - before);
    assert_true(elapse_wheel_next_cascade(&wheel) == ELAPSE_NEVER);
    elapse_wheel_advance(&wheel, slot - before);
    assert_null(elapse_wheel_pop(&wheel));
    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], slot + 20 + i % 80);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    assert_true(most_moves_until(slot + 100, &popped) <= FEW + BATCH);
    assert_int_equal(popped, TIMERS + (where != NOWHERE));
}

TEST(promise_6_no_tick_moves_many_of_a_burst_shortly_before_a_slot)
{
    for (unsigned level = 1; level < ELAPSE__WHEEL_LEVELS; level++) {
        for (uint64_t before = 2; before < 128; before += before < 12 ? 1 : 23) {
            for (enum where where = NOWHERE; where < WHERES; where++)
                try_burst(level, before, where);
        }
    }
}

/* The slot has begun, and its lone timer is due later, so that the pointer is still before it. */
TEST(promise_6_no_tick_moves_many_of_a_burst_in_a_slot_that_has_begun)
{
    for (unsigned level = 1; level < ELAPSE__WHEEL_LEVELS; level++) {
        uint64_t slot = UINT64_C(3) << slot_shift(level);
        size_t popped = 0;

        open_wheel(0);
        elapse_wheel_start(&wheel, &lone, slot + 100);
        elapse_wheel_advance(&wheel, slot + 50);
        assert_null(elapse_wheel_pop(&wheel));
        for (size_t i = 0; i < TIMERS; i++)
            elapse_wheel_start(&wheel, &timers[i], slot + 52 + i % 20);
        assert_int_equal(elapse_wheel_check(&wheel), 0);
        assert_true(most_moves_until(slot + 100, &popped) <= FEW + BATCH);
        assert_int_equal(popped, TIMERS + 1);
    }
}

/* A timer is due and not popped yet. The pointer goes no further than to its deadline. */
TEST(a_burst_while_a_timer_is_due_does_not_pass_that_timer)
{
    enum { SLOT = 3 * 128 };
    size_t popped = 0;

    open_wheel(0);
    elapse_wheel_start(&wheel, &lone, SLOT - 20);
    elapse_wheel_start(&wheel, &timers[0], SLOT + 50);
    elapse_wheel_advance(&wheel, SLOT - 10);
    for (size_t i = 1; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], SLOT + 50);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &lone);
    assert_true(most_moves_until(SLOT + 49, &popped) <= FEW + BATCH);
    elapse_wheel_advance(&wheel, SLOT + 50);
    for (size_t i = 0; i < TIMERS; i++)
        assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[i]);
    assert_null(elapse_wheel_pop(&wheel));
}

/* A cascade that is not finished holds the pointer, also when a burst comes. */
TEST(a_burst_during_a_cascade_keeps_the_order)
{
    enum { OLD = 3 * BATCH, DUE = 3 * 8192 + 4360, BURST = 3 * 8192 + 4300 };

    open_wheel(0);
    for (size_t i = 0; i < OLD; i++)
        elapse_wheel_start(&wheel, &timers[i], DUE);
    elapse_wheel_advance(&wheel, BURST - 300);
    assert_null(elapse_wheel_pop(&wheel));
    assert_int_equal(elapse_wheel_moves(&wheel), BATCH);
    elapse_wheel_advance(&wheel, BURST);
    for (size_t i = OLD; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], DUE);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    elapse_wheel_advance(&wheel, DUE);
    for (size_t i = 0; i < TIMERS; i++)
        assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[i]);
    assert_null(elapse_wheel_pop(&wheel));
}

/* ---- timers that are postponed ---- */

/* Starts timers for one tick. Postpones them `before` ticks before that tick, by `later` ticks. */
static void try_postponing(uint64_t before, uint64_t later)
{
    enum { FIRST = 5 * 128 + 10, DELAY = 100 };
    size_t popped = 0;

    open_wheel(FIRST);
    assert_null(elapse_wheel_pop(&wheel));
    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], FIRST + DELAY);
    assert_int_equal(most_moves_until(FIRST + DELAY - before, &popped), 0);
    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], FIRST + DELAY + later);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    assert_true(most_moves_until(FIRST + DELAY + later, &popped) <= FEW + BATCH);
    assert_int_equal(popped, TIMERS);
}

TEST(promise_6_no_tick_moves_many_that_were_postponed_shortly_before)
{
    static const uint64_t later[] = {1, 60, 128, 5000, 70000};

    for (uint64_t before = 1; before < 100; before += before < 5 ? 1 : 31) {
        for (size_t i = 0; i < sizeof later / sizeof *later; i++)
            try_postponing(before, later[i]);
    }
}

/* All timers are due, and are postponed before they are popped. */
TEST(promise_6_due_timers_that_are_postponed_do_not_move_at_once)
{
    size_t popped = 0;

    open_wheel(0);
    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], 50);
    elapse_wheel_advance(&wheel, 50);
    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], 90);
    assert_true(most_moves_until(90, &popped) <= FEW);
    assert_int_equal(popped, TIMERS);
}

/* As long as a slot has few timers, postponing is one store, also on level 0. */
TEST(postponing_in_a_slot_of_few_timers_leaves_them_there)
{
    size_t popped = 0;

    open_wheel(0);
    for (size_t i = 0; i < FEW; i++)
        elapse_wheel_start(&wheel, &timers[i], 50);
    for (size_t i = 0; i < FEW; i++)
        elapse_wheel_start(&wheel, &timers[i], 90);
    assert_int_equal(elapse_wheel_next(&wheel), 50);
    assert_int_equal(most_moves_until(90, &popped), FEW);
    assert_int_equal(popped, FEW);
}

TEST_MAIN("burst")
