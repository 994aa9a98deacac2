/*
 * Tests promise 6 of the wheel: when time advances one tick at a time, no tick moves many timers,
 * even if a million are pending. Also tests two functions that only the wheel has: cascading ahead
 * of time, and starting a timer that is known to be idle.
 */
#include "subject.h"

#include <elapse/wheel.h>

#include "random.h"

enum { MANY = 1000000, BATCH = ELAPSE__WHEEL_BATCH, FEW = ELAPSE__WHEEL_FEW };

static struct elapse_wheel wheel;

static struct elapse_timer *open_wheel(size_t timers)
{
    struct elapse_timer *memory = calloc(timers, sizeof *memory);

    assert_non_null(memory);
    assert_int_equal(elapse_wheel_init(&wheel, 0), ELAPSE_OK);
    return memory;
}

/* Advances to `tick` and pops until NULL; each timer popped must be due at this very tick. Returns
 * the moves. */
static uint64_t moves_of_tick(uint64_t tick, size_t *popped)
{
    uint64_t moves = elapse_wheel_moves(&wheel);
    const struct elapse_timer *timer;

    elapse_wheel_advance(&wheel, tick);
    while ((timer = elapse_wheel_pop(&wheel)) != NULL) {
        assert_int_equal(elapse_timer_deadline(timer), tick);
        ++*popped;
    }
    return elapse_wheel_moves(&wheel) - moves;
}

static void start_uniformly(struct elapse_timer *timers, uint64_t first, uint64_t span)
{
    struct random_source source = {.state = 12345};

    for (size_t i = 0; i < MANY; i++)
        elapse_wheel_start_idle(&wheel, &timers[i], first + random_below(&source, span));
}

/* Returns the most moves of one tick. */
static uint64_t most_moves(uint64_t first, uint64_t span)
{
    struct elapse_timer *timers = open_wheel(MANY);
    uint64_t most = 0;
    size_t popped = 0;

    start_uniformly(timers, first, span);
    for (uint64_t tick = 1; tick < first + span; tick++) {
        uint64_t moves = moves_of_tick(tick, &popped);

        most = moves > most ? moves : most;
    }
    assert_int_equal(popped, MANY);
    assert_true(elapse_wheel_moves(&wheel) <= (uint64_t)2 * MANY);
    free(timers);
    return most;
}

/* A million timers in 2^20 ticks: a slot of level 1 has 128 on average, and one of level 2 has
 * 8192, which a batch at each of 64 ticks moves. */
TEST(promise_6_no_tick_moves_many_of_a_million_timers)
{
    assert_true(most_moves(1, (1 << 20) - 1) <= 2 * BATCH + FEW);
}

/* A million timers in 5000 ticks, on both sides of a multiple of 8192. A slot of level 1 has 25,600
 * of them, 200 for each of the 128 ticks before it; one of level 2 has half a million, 61 for
 * each of the 8192 ticks before it, which are moved in batches. */
TEST(promise_6_no_tick_moves_many_of_a_burst)
{
    assert_true(most_moves(4 * 8192 - 2500, 5000) <= 200 * 105 / 100 + BATCH);
}

/* All timers are due in the last tick of a slot of level 2. A few ticks are between two visits. */
TEST(promise_6_moves_are_shared_among_visits_that_are_some_ticks_apart)
{
    enum { STEP = 10, DEADLINE = 3 * 8192 - 1 };
    struct elapse_timer *timers = open_wheel(MANY);
    uint64_t most = 0;
    size_t popped = 0;

    start_uniformly(timers, DEADLINE, 1);
    for (uint64_t tick = DEADLINE % STEP; tick <= DEADLINE; tick += STEP) {
        uint64_t moves = moves_of_tick(tick, &popped);

        most = moves > most ? moves : most;
    }
    assert_int_equal(popped, MANY);
    /* A million timers are moved from level 1 in 128 ticks. */
    assert_true(most <= (uint64_t)2 * STEP * MANY / 128);
    free(timers);
}

TEST(cascading_ahead_leaves_pop_nothing_to_move)
{
    enum { FIRST = 8192, SPAN = 1000 };
    struct elapse_timer *timers = open_wheel(MANY);
    size_t calls = 0;
    size_t popped = 0;

    start_uniformly(timers, FIRST + 8192, SPAN);
    assert_int_equal(elapse_wheel_next_cascade(&wheel), FIRST);
    assert_true(elapse_wheel_cascade_ahead(&wheel, 1000)); /* too early */
    assert_int_equal(elapse_wheel_moves(&wheel), 0);

    elapse_wheel_advance(&wheel, FIRST);
    uint64_t next = elapse_wheel_next(&wheel);
    while (!elapse_wheel_cascade_ahead(&wheel, 1000)) {
        calls++;
        assert_true(elapse_wheel_moves(&wheel) <= calls * 1000);
        assert_int_equal(elapse_wheel_next(&wheel), next);
    }
    assert_true(calls >= MANY / 1000 - 1);
    assert_int_equal(elapse_wheel_moves(&wheel), MANY);
    assert_true(elapse_wheel_next_cascade(&wheel) > FIRST);
    assert_int_equal(elapse_wheel_check(&wheel), 0);

    /* The rest lies on level 1, and is cascaded before its first timer is due. */
    elapse_wheel_advance(&wheel, next - 1);
    while (!elapse_wheel_cascade_ahead(&wheel, 1000))
        assert_true(++calls <= 3 * MANY / 1000);
    for (uint64_t tick = next - 1; tick < FIRST + 8192 + 128; tick++)
        assert_true(moves_of_tick(tick, &popped) <= 2 * MANY / SPAN);
    assert_true(popped > 0);
    elapse_wheel_clear(&wheel);
    assert_true(elapse_wheel_next_cascade(&wheel) == ELAPSE_NEVER);
    free(timers);
}

/* Time jumps into a slot, to a tick before the slot's first deadline. Nothing is due, so pop moves
 * one batch and no more. Cascading ahead finishes the slot. */
TEST(a_jump_into_a_slot_moves_a_batch)
{
    enum { TIMERS = 10000, FIRST = 5 * 8192 };
    struct elapse_timer *timers = open_wheel(TIMERS);
    size_t calls = 0;

    for (uint64_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], FIRST + 5000 + i / 10);
    elapse_wheel_advance(&wheel, FIRST + 100);
    assert_null(elapse_wheel_pop(&wheel));
    assert_int_equal(elapse_wheel_moves(&wheel), BATCH);
    assert_int_equal(elapse_wheel_next(&wheel), FIRST + 5000);
    assert_int_equal(elapse_wheel_next_cascade(&wheel), FIRST + 100);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    assert_null(elapse_wheel_pop(&wheel));
    assert_int_equal(elapse_wheel_moves(&wheel), BATCH);
    while (!elapse_wheel_cascade_ahead(&wheel, 100))
        assert_true(++calls <= TIMERS / 100);
    assert_int_equal(elapse_wheel_moves(&wheel), TIMERS);
    for (uint64_t i = 0; i < TIMERS; i++) {
        elapse_wheel_advance(&wheel, FIRST + 5000 + i / 10);
        assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[i]);
    }
    free(timers);
}

/* Timers are stopped during a cascade in steps, after a step has moved them. The cascade does not
 * use what it remembers of them, because their memory is the caller's (promise 12). */
TEST(stops_between_two_steps_keep_the_order)
{
    enum { TIMERS = 6000, FIRST = 3 * 8192 };
    struct elapse_timer *timers = open_wheel(TIMERS);
    uint64_t number = 0;

    for (uint64_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], FIRST + i / 100);
    elapse_wheel_advance(&wheel, FIRST - 8192);
    while (!elapse_wheel_cascade_ahead(&wheel, 7) && elapse_wheel_moves(&wheel) < TIMERS)
        assert_true(elapse_wheel_stop(&wheel, &timers[TIMERS - elapse_wheel_moves(&wheel) + 3]));
    elapse_wheel_advance(&wheel, FIRST + TIMERS);
    for (const struct elapse_timer *timer; (timer = elapse_wheel_pop(&wheel)) != NULL;) {
        assert_true((uint64_t)(timer - timers) >= number);
        number = (uint64_t)(timer - timers) + 1;
    }
    assert_int_equal(number, TIMERS);
    assert_int_equal(elapse_wheel_count(&wheel), 0);
    for (size_t i = 0; i < TIMERS; i++)
        assert_false(elapse_timer_pending(&timers[i]));
    free(timers);
}

/* A slot is used again after two blocks. The timers that its first cascade moved were popped. */
TEST(a_slot_used_again_forgets_its_first_timers)
{
    enum { TIMERS = 300, FIRST = 3 * 8192, ROUND = 128 * 8192 };
    struct elapse_timer *timers = open_wheel((size_t)2 * TIMERS);

    for (uint64_t round = 0; round < 2; round++) {
        struct elapse_timer *present = &timers[round * TIMERS];
        uint64_t deadline = round * ROUND + FIRST + 5000;

        elapse_wheel_advance(&wheel, round * ROUND);
        for (size_t i = 0; i < TIMERS; i++)
            elapse_wheel_start(&wheel, &present[i], deadline);
        elapse_wheel_advance(&wheel, deadline - 8192);
        while (!elapse_wheel_cascade_ahead(&wheel, 10))
            continue;
        if (round > 0)
            break;
        elapse_wheel_advance(&wheel, deadline);
        for (size_t i = 0; i < TIMERS; i++)
            assert_ptr_equal(elapse_wheel_pop(&wheel), &present[i]);
        assert_null(elapse_wheel_pop(&wheel));
    }
    for (size_t i = 0; i < TIMERS; i++)
        assert_false(elapse_timer_pending(&timers[i]));
    free(timers);
}

/* Checks the order of timers of the last tick of a slot of 2^shift ticks. The slot is cascaded
 * while new timers are started. */
static void order_is_kept_in_a_slot(unsigned shift)
{
    enum { OLD = 300, NEW = 300 };
    struct elapse_timer *timers = open_wheel(OLD + NEW);
    uint64_t slot_ticks = UINT64_C(1) << shift;
    uint64_t deadline = 3 * slot_ticks - 1;

    for (size_t i = 0; i < OLD; i++)
        elapse_wheel_start_idle(&wheel, &timers[i], deadline);
    for (size_t i = 0; i < NEW; i++) {
        elapse_wheel_advance(&wheel, slot_ticks + slot_ticks / NEW * i);
        assert_null(elapse_wheel_pop(&wheel));
        (void)elapse_wheel_cascade_ahead(&wheel, i % 3);
        elapse_wheel_start_idle(&wheel, &timers[OLD + i], deadline);
        assert_int_equal(elapse_wheel_check(&wheel), 0);
    }
    elapse_wheel_advance(&wheel, deadline);
    for (size_t i = 0; i < OLD + NEW; i++)
        assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[i]);
    assert_null(elapse_wheel_pop(&wheel));
    free(timers);
}

TEST(new_timers_come_after_those_that_are_cascaded_ahead)
{
    for (unsigned shift = 13; shift < 60; shift += 6)
        order_is_kept_in_a_slot(shift);
}

TEST(a_due_timer_comes_before_cascading_ahead)
{
    struct elapse_timer *timers = open_wheel(FEW + 2);

    elapse_wheel_start(&wheel, &timers[0], 5);
    for (size_t i = 1; i < FEW + 2; i++)
        elapse_wheel_start(&wheel, &timers[i], 300);
    elapse_wheel_advance(&wheel, 200);
    assert_true(elapse_wheel_cascade_ahead(&wheel, 1000));
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[0]);
    assert_false(elapse_wheel_cascade_ahead(&wheel, 0));
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    assert_true(elapse_wheel_cascade_ahead(&wheel, 1000));
    assert_int_equal(elapse_wheel_moves(&wheel), FEW + 1);
    free(timers);
}

/* A cascade begins at one tick and goes on at a later tick, when the clock is in the middle of the
 * slot to which the timers are moved. That slot can be cascaded at once. */
static void a_cascade_goes_on_inside_the_slot_below(uint64_t deadline)
{
    enum { TIMERS = 2 * FEW + 2 };
    struct elapse_timer *timers = open_wheel(TIMERS);

    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], deadline);
    elapse_wheel_advance(&wheel, deadline - 300);
    assert_null(elapse_wheel_pop(&wheel));
    assert_int_equal(elapse_wheel_moves(&wheel), BATCH);
    elapse_wheel_advance(&wheel, deadline - 1);
    assert_true(elapse_wheel_cascade(&wheel, 0));
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    assert_false(elapse_wheel_cascade_ahead(&wheel, TIMERS - BATCH));
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    while (!elapse_wheel_cascade_ahead(&wheel, 10))
        assert_int_equal(elapse_wheel_check(&wheel), 0);
    assert_int_equal(elapse_wheel_moves(&wheel), 2 * TIMERS);
    assert_int_equal(elapse_wheel_next(&wheel), deadline);
    elapse_wheel_advance(&wheel, deadline);
    for (size_t i = 0; i < TIMERS && deadline < ELAPSE_NEVER; i++)
        assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[i]);
    assert_null(elapse_wheel_pop(&wheel));
    free(timers);
}

TEST(a_cascade_goes_on_after_a_long_tick)
{
    a_cascade_goes_on_inside_the_slot_below(5 * 8192 + 1023);
}

TEST(a_cascade_goes_on_at_the_end_of_time)
{
    a_cascade_goes_on_inside_the_slot_below(ELAPSE_NEVER);
}

/* A cascade goes on when the clock is in the middle of a slot of the level below, which has few
 * timers. The pointer has to reach that slot before its timers can be moved. When cascade returns
 * true, they were moved: pop moves no timer until the first of them is due. */
TEST(a_cascade_goes_on_into_a_slot_of_few_timers)
{
    enum { SLOT_TICKS = 128, SLOTS = 3, IN_EACH = FEW - 10, TIMERS = SLOTS * IN_EACH };
    enum { FIRST = 5 * 8192, DEADLINE = FIRST + 10 * SLOT_TICKS + 100 };
    struct elapse_timer *timers = open_wheel(TIMERS);
    size_t popped = 0;

    for (uint64_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], DEADLINE + i % SLOTS * SLOT_TICKS);
    elapse_wheel_advance(&wheel, FIRST + SLOT_TICKS);
    assert_null(elapse_wheel_pop(&wheel));
    assert_int_equal(elapse_wheel_moves(&wheel), BATCH);
    elapse_wheel_advance(&wheel, DEADLINE - 50);
    assert_true(elapse_wheel_cascade_ahead(&wheel, SIZE_MAX));
    assert_int_equal(elapse_wheel_moves(&wheel), TIMERS + IN_EACH);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    assert_true(elapse_wheel_next_cascade(&wheel) == ELAPSE_NEVER);
    for (uint64_t tick = DEADLINE - 49; tick <= DEADLINE; tick++)
        assert_int_equal(moves_of_tick(tick, &popped), 0);
    assert_int_equal(popped, IN_EACH);
    free(timers);
}

/* A cascade has emptied one slot at the pointer, and has no moves left for another slot there. The
 * timers of that slot are stopped, and a start opens a slot at the clock, so that the pointer goes
 * on. */
TEST(stopping_what_a_cascade_has_left_lets_the_pointer_go_on)
{
    enum { DEADLINE = 5 * 8192 + 1000 };
    struct elapse_timer *timers = open_wheel(3);

    elapse_wheel_start(&wheel, &timers[0], DEADLINE);
    elapse_wheel_start(&wheel, &timers[1], DEADLINE);
    elapse_wheel_advance(&wheel, DEADLINE - 1);
    /* The first start brings the pointer to the slot of the other two timers. So the second start
     * opens a slot of the level below. Then the timer is postponed. */
    elapse_wheel_start(&wheel, &timers[2], 3 * 64 * 8192);
    elapse_wheel_start(&wheel, &timers[2], DEADLINE - 1);
    elapse_wheel_start(&wheel, &timers[2], DEADLINE + 1);
    elapse_wheel_advance(&wheel, DEADLINE);
    assert_false(elapse_wheel_cascade(&wheel, 1));
    assert_int_equal(elapse_wheel_moves(&wheel), 1);
    assert_int_equal(elapse_wheel_next(&wheel), DEADLINE);
    assert_int_equal(elapse_wheel_check(&wheel), 0);

    assert_true(elapse_wheel_stop(&wheel, &timers[0]));
    assert_true(elapse_wheel_stop(&wheel, &timers[1]));
    assert_int_equal(elapse_wheel_next(&wheel), DEADLINE + 1);
    elapse_wheel_start(&wheel, &timers[0], DEADLINE);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[0]);
    assert_null(elapse_wheel_pop(&wheel));
    elapse_wheel_advance(&wheel, DEADLINE + 1);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timers[2]);
    assert_null(elapse_wheel_pop(&wheel));
    free(timers);
}

TEST_MAIN("cascade_ahead")
