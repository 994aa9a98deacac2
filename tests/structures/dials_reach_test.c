/*
 * Tests what dials do with deadlines out of reach: they park the timers, or grow.
 */
#include "dials_open.h"

enum { MANY = 20 };

/* ---- parking ---- */

DIALS_TEST(parked_timers_of_one_deadline_keep_the_order_of_arming, NULL, 0, 2, 3)
{
    struct elapse_timer timers[6] = {{.place = 0}};

    /* Two timers are out of reach, one is on each level, one is due, and one is armed again. */
    start_at(opened, &timers[0], 20);
    start_at(opened, &timers[5], 3);
    elapse_dials_advance(&opened->dials, 3);
    expect_popped(opened, &timers[5]);
    start_at(opened, &timers[1], 20);
    pass(opened, 15);
    start_at(opened, &timers[2], 20);
    pass(opened, 19);
    start_at(opened, &timers[3], 20);
    start_at(opened, &timers[4], 20);
    start_at(opened, &timers[3], 20);
    elapse_dials_advance(&opened->dials, 20);
    start_at(opened, &timers[5], 20);
    expect_popped(opened, &timers[0]);
    expect_popped(opened, &timers[1]);
    expect_popped(opened, &timers[2]);
    expect_popped(opened, &timers[4]);
    expect_popped(opened, &timers[3]);
    expect_popped(opened, &timers[5]);
    expect_popped(opened, NULL);
}

DIALS_TEST(a_visit_is_at_the_beginning_of_the_slot_of_the_least_deadline, NULL, 0, 10, 10)
{
    struct elapse_timer timers[3] = {{.place = 0}};

    start_at(opened, &timers[0], 1007);
    start_at(opened, &timers[1], 1099);
    start_at(opened, &timers[2], 1100);
    assert_int_equal(elapse_dials_next(&opened->dials), 1000);
    pass(opened, 999);
    assert_int_equal(elapse_dials_moves(&opened->dials), 0);
    pass(opened, 1000);
    /* One timer was moved to level 0, one to level 1, and one was looked at and stays parked. */
    assert_int_equal(elapse_dials_moves(&opened->dials), 3);
    assert_int_equal(elapse_dials_next(&opened->dials), 1007);
    elapse_dials_advance(&opened->dials, 1099);
    expect_popped(opened, &timers[0]);
    expect_popped(opened, &timers[1]);
    assert_int_equal(elapse_dials_moves(&opened->dials), 4);
    elapse_dials_advance(&opened->dials, 1100);
    expect_popped(opened, &timers[2]);
    assert_int_equal(elapse_dials_moves(&opened->dials), 5);
}

DIALS_TEST(there_is_at_most_one_visit_in_a_turn, NULL, 0, 10, 10)
{
    enum { TURNS = 50 };
    static struct elapse_timer timers[10 * TURNS];
    uint64_t armed = 0;

    for (uint64_t i = 0; i < 10 * TURNS; i++)
        start_at(opened, &timers[i], 10 * i + 5);
    for (uint64_t now = 0; now < 100 * TURNS; now++) {
        uint64_t before = elapse_dials_moves(&opened->dials);

        elapse_dials_advance(&opened->dials, now);
        while (elapse_dials_pop(&opened->dials) != NULL)
            armed++;
        /* Visits are moves, and so is the move from level 1 to 0. */
        if (elapse_dials_moves(&opened->dials) > before + 1)
            assert_int_equal(now % 100, 0);
    }
    assert_int_equal(armed, 10 * TURNS);
}

DIALS_TEST(a_stopped_parked_timer_costs_one_spurious_visit, NULL, 0, 10, 10)
{
    struct elapse_timer timers[2] = {{.place = 0}};

    start_at(opened, &timers[0], 505);
    start_at(opened, &timers[1], 1005);
    assert_true(elapse_dials_stop(&opened->dials, &timers[0]));
    assert_int_equal(elapse_dials_next(&opened->dials), 500);
    pass(opened, 500);
    assert_int_equal(elapse_dials_moves(&opened->dials), 1);
    assert_int_equal(elapse_dials_next(&opened->dials), 1000);
    /* When the last parked timer is stopped, the least parked deadline is forgotten. */
    assert_true(elapse_dials_stop(&opened->dials, &timers[1]));
    pass(opened, 510);
    pass(opened, 1000);
    assert_true(elapse_dials_next(&opened->dials) == ELAPSE_NEVER);
    start_at(opened, &timers[0], 2007);
    assert_int_equal(elapse_dials_next(&opened->dials), 2000);
    elapse_dials_advance(&opened->dials, 2007);
    expect_popped(opened, &timers[0]);
}

/* During a visit in steps new timers are started, in reach and out of reach, and others are
 * stopped. */
DIALS_TEST(a_visit_in_steps_keeps_the_order_of_arming, NULL, 0, 10, 10)
{
    static struct elapse_timer near[2 * MANY];
    static struct elapse_timer far[2 * MANY];

    for (size_t i = 0; i < MANY; i++) {
        start_at(opened, &near[i], 1004);
        start_at(opened, &far[i], 5000);
    }
    elapse_dials_advance(&opened->dials, 1000);
    for (size_t i = MANY; i < 2 * MANY; i++) {
        assert_false(elapse_dials_cascade(&opened->dials, i % 3));
        assert_int_equal(elapse_dials_check(&opened->dials), 0);
        assert_int_equal(elapse_dials_next(&opened->dials), 1000);
        start_at(opened, &near[i], 1004);
        start_at(opened, &far[i], 5000);
    }
    assert_true(elapse_dials_stop(&opened->dials, &near[0]));
    assert_true(elapse_dials_stop(&opened->dials, &far[0]));
    while (!elapse_dials_cascade(&opened->dials, 1))
        assert_int_equal(elapse_dials_check(&opened->dials), 0);
    elapse_dials_advance(&opened->dials, 1004);
    for (size_t i = 1; i < 2 * MANY; i++)
        expect_popped(opened, &near[i]);
    expect_popped(opened, NULL);
    elapse_dials_advance(&opened->dials, 5000);
    for (size_t i = 1; i < 2 * MANY; i++)
        expect_popped(opened, &far[i]);
}

struct walk {
    size_t visited;
    size_t limit;
};

static bool visit_up_to_limit(struct elapse_timer *timer, void *context)
{
    struct walk *walk = context;

    assert_true(elapse_timer_pending(timer));
    return ++walk->visited < walk->limit;
}

static size_t stopped_at;

static bool stop_it(struct elapse_timer *timer, void *context)
{
    assert_true(elapse_dials_stop(context, timer));
    return --stopped_at > 0;
}

/* Of ten timers some lie on level 0, some aside, some are parked, and one is never due. */
TEST(for_each_in_mid_visit_reaches_all_and_ends_anywhere)
{
    for (size_t limit = 1; limit <= 10; limit++) {
        struct opened opened;
        struct elapse_timer timers[10] = {{.place = 0}};
        struct walk walk = {.limit = limit};

        OPEN(&opened, NULL, 0, 10);
        for (size_t i = 0; i < 9; i++)
            start_at(&opened, &timers[i], i % 2 == 0 ? 25 : 45);
        start_at(&opened, &timers[9], ELAPSE_NEVER);
        elapse_dials_advance(&opened.dials, 25);
        assert_false(elapse_dials_cascade(&opened.dials, 4));
        elapse_dials_for_each(&opened.dials, visit_up_to_limit, &walk);
        assert_int_equal(walk.visited, limit);
        stopped_at = limit;
        elapse_dials_for_each(&opened.dials, stop_it, &opened.dials);
        assert_int_equal(elapse_dials_check(&opened.dials), 0);
        assert_int_equal(elapse_dials_count(&opened.dials), 10 - limit);
        elapse_dials_clear(&opened.dials);
        assert_int_equal(elapse_dials_count(&opened.dials), 0);
        close_dials(&opened);
    }
}

DIALS_TEST(all_timers_aside_can_be_stopped, NULL, 0, 10)
{
    struct elapse_timer timers[3] = {{.place = 0}};

    for (size_t i = 0; i < 3; i++)
        start_at(opened, &timers[i], 20 + i);
    elapse_dials_advance(&opened->dials, 20);
    assert_false(elapse_dials_cascade(&opened->dials, 1));
    assert_true(elapse_dials_stop(&opened->dials, &timers[0]));
    assert_true(elapse_dials_stop(&opened->dials, &timers[1]));
    assert_true(elapse_dials_cascade(&opened->dials, 0));
    elapse_dials_advance(&opened->dials, 30);
    expect_popped(opened, &timers[2]);
}

/* A slot of level 1, one of level 2 and a visit, all at tick 1200, each with a timer for
 * 1205: the newest is the one of the finest level. */
TEST(slots_that_begin_at_one_tick_cascade_in_order)
{
    struct opened opened;
    struct elapse_timer timers[4] = {{.place = 0}};

    for (size_t budget = 1; budget < 6; budget++) {
        OPEN(&opened, NULL, 0, 10, 10, 10);
        start_at(&opened, &timers[0], 1205);
        pass(&opened, 250);
        start_at(&opened, &timers[1], 1205);
        pass(&opened, 1150);
        start_at(&opened, &timers[2], 1205);
        pass(&opened, 1199);
        start_at(&opened, &timers[3], 1205);
        elapse_dials_advance(&opened.dials, 1205);
        while (!elapse_dials_cascade(&opened.dials, budget))
            assert_int_equal(elapse_dials_check(&opened.dials), 0);
        for (size_t i = 0; i < 4; i++)
            expect_popped(&opened, &timers[i]);
        close_dials(&opened);
    }
}

/* ---- growing ---- */

TEST(a_level_is_made_when_a_deadline_needs_it)
{
    static const struct {
        uint64_t deadline;
        unsigned levels;
    } cases[] = {{9, 1},      {ELAPSE_NEVER, 1},
                 {10, 2},     {99, 2},
                 {100, 3},    {999, 3},
                 {50, 3},     {UINT64_C(9999999999), 10},
                 {12345, 10}, {ELAPSE_TIME_MAX, 20}};
    struct opened opened;
    struct elapse_timer timer = {0};

    OPEN(&opened, &growth_allocator, 0, 10);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_at(&opened, &timer, cases[i].deadline);
        assert_int_equal(elapse_dials_levels(&opened.dials), cases[i].levels);
        assert_int_equal(elapse_dials_slots(&opened.dials, cases[i].levels - 1), 10);
        assert_int_equal(growth_outstanding(), cases[i].levels - 1);
    }
    elapse_dials_advance(&opened.dials, ELAPSE_TIME_MAX);
    expect_popped(&opened, &timer);
    elapse_dials_clear(&opened.dials);
    assert_int_equal(elapse_dials_levels(&opened.dials), 20);
    close_dials(&opened);
}

TEST(grown_levels_have_the_slots_of_the_last_one_listed)
{
    struct opened opened;
    struct elapse_timer timer = {0};

    OPEN(&opened, &growth_allocator, 0, 60, 60, 24);
    start_at(&opened, &timer, UINT64_C(86400) * 23);
    assert_int_equal(elapse_dials_levels(&opened.dials), 4);
    assert_int_equal(elapse_dials_slots(&opened.dials, 3), 24);
    assert_int_equal(elapse_dials_next(&opened.dials), UINT64_C(86400) * 23);
    close_dials(&opened);
}

DIALS_TEST(two_slots_grow_to_sixty_four_levels, &growth_allocator, 0, 2)
{
    struct elapse_timer timer = {0};

    start_at(opened, &timer, ELAPSE_TIME_MAX);
    assert_int_equal(elapse_dials_levels(&opened->dials), ELAPSE_SHAPE_LEVELS_MAX);
    elapse_dials_advance(&opened->dials, ELAPSE_TIME_MAX);
    expect_popped(opened, &timer);
    assert_int_equal(elapse_dials_moves(&opened->dials), 63);
}

DIALS_TEST(without_memory_a_start_changes_nothing_and_works_later, &growth_allocator, 0, 10)
{
    struct elapse_timer timers[3] = {{.place = 0}};

    start_at(opened, &timers[0], 7);
    start_at(opened, &timers[1], 7);
    for (size_t given = 0; given < 3; given++) {
        /* Each try may make one level more, and three are needed. */
        growth_limit(given > 0);
        assert_int_equal(elapse_dials_start(&opened->dials, &timers[0], 5000), ELAPSE_ERROR_MEMORY);
        assert_int_equal(elapse_dials_start_window(&opened->dials, &timers[2], 5000, 5000),
                         ELAPSE_ERROR_MEMORY);
        growth_limit(SIZE_MAX);
        assert_int_equal(elapse_dials_check(&opened->dials), 0);
        assert_int_equal(elapse_dials_count(&opened->dials), 2);
        assert_int_equal(elapse_timer_deadline(&timers[0]), 7);
        assert_false(elapse_timer_pending(&timers[2]));
        assert_int_equal(elapse_dials_next(&opened->dials), 7);
    }
    start_at(opened, &timers[2], 5000);
    elapse_dials_advance(&opened->dials, 7);
    expect_popped(opened, &timers[0]);
    expect_popped(opened, &timers[1]);
    elapse_dials_advance(&opened->dials, 5000);
    expect_popped(opened, &timers[2]);
}

/* After reserving there is no memory. No start within the reserved delay fails, wherever the
 * pointer is in its slots. A start one tick farther off fails from some places. */
TEST(no_start_within_what_was_reserved_can_fail)
{
    for (uint64_t delay = 1; delay < 1200; delay += delay < 15 ? 1 : 97) {
        struct elapse_timer timer = {0};
        struct opened opened;

        OPEN(&opened, &growth_allocator, 0, 10);
        assert_int_equal(elapse_dials_reserve(&opened.dials, delay), ELAPSE_OK);
        unsigned levels = elapse_dials_levels(&opened.dials);
        growth_limit(0);
        for (uint64_t now = 0; now < 100; now++) {
            pass(&opened, now);
            start_at(&opened, &timer, now + delay);
            elapse_dials_clear(&opened.dials);
        }
        /* The longest delay that these levels reach from every place of the pointer. */
        uint64_t width = 1;
        for (unsigned level = 1; level < levels; level++)
            width *= 10;
        assert_true(delay <= 9 * width && (levels == 1 || delay > 9 * width / 10));
        pass(&opened, 1000 * width - 1);
        assert_int_equal(elapse_dials_start(&opened.dials, &timer, 1009 * width),
                         ELAPSE_ERROR_MEMORY);
        start_at(&opened, &timer, 1009 * width - 1);
        growth_limit(SIZE_MAX);
        close_dials(&opened);
    }
}

TEST(reserved_for_ever_no_start_can_fail)
{
    struct elapse_timer timers[2] = {{.place = 0}};
    struct opened opened;

    OPEN(&opened, &growth_allocator, 5, 512);
    assert_int_equal(elapse_dials_reserve(&opened.dials, ELAPSE_NEVER), ELAPSE_OK);
    assert_int_equal(elapse_dials_levels(&opened.dials), 8);
    growth_limit(0);
    start_at(&opened, &timers[0], 6);
    elapse_dials_advance(&opened.dials, UINT64_C(1) << 63);
    start_at(&opened, &timers[1], ELAPSE_TIME_MAX);
    growth_limit(SIZE_MAX);
    close_dials(&opened);
}

TEST(reserving_without_memory_says_so)
{
    struct opened opened;

    OPEN(&opened, &growth_allocator, 0, 10);
    growth_limit(2);
    assert_int_equal(elapse_dials_reserve(&opened.dials, 5000), ELAPSE_ERROR_MEMORY);
    assert_int_equal(elapse_dials_levels(&opened.dials), 3);
    growth_limit(SIZE_MAX);
    assert_int_equal(elapse_dials_reserve(&opened.dials, 5000), ELAPSE_OK);
    assert_int_equal(elapse_dials_levels(&opened.dials), 4);
    close_dials(&opened);
    OPEN(&opened, NULL, 0, 10);
    assert_int_equal(elapse_dials_reserve(&opened.dials, ELAPSE_NEVER), ELAPSE_OK);
    assert_int_equal(elapse_dials_levels(&opened.dials), 1);
    close_dials(&opened);
}

TEST_MAIN("dials_reach")
