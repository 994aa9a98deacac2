/*
 * Tests what the dials do differently: where timers lie, as the pictures of the classical designs
 * show it; the limits of their shapes; and that `next` is early by no more than a slot.
 */
#include "dials_open.h"

struct described {
    size_t slots;
    size_t timers;
    struct elapse_slot last;
};

static void describe(const struct elapse_slot *slot, void *context)
{
    struct described *described = context;

    described->slots++;
    described->timers += slot->count;
    described->last = *slot;
}

/* Checks that exactly this slot has timers. */
static void expect_slot(const struct opened *opened, unsigned level, unsigned slot, uint64_t first,
                        uint64_t last)
{
    struct described described = {0};

    elapse_dials_dump(&opened->dials, describe, &described);
    assert_int_equal(described.slots, 1);
    assert_int_equal(described.last.level, level);
    assert_int_equal(described.last.slot, slot);
    assert_int_equal(described.last.first_tick, first);
    assert_int_equal(described.last.last_tick, last);
    assert_int_equal(described.timers, elapse_dials_count(&opened->dials));
}

/* Starts a timer, checks where it lies, and stops it. */
static void expect_placed(struct opened *opened, uint64_t deadline, unsigned level, unsigned slot,
                          uint64_t first, uint64_t last)
{
    struct elapse_timer timer = {0};

    start_at(opened, &timer, deadline);
    expect_slot(opened, level, slot, first, last);
    assert_true(elapse_dials_stop(&opened->dials, &timer));
    assert_int_equal(elapse_dials_check(&opened->dials), 0);
}

DIALS_TEST(ten_slots_a_level_as_in_the_growing_design, NULL, 0, 10, 10, 10)
{
    struct elapse_timer timer = {0};

    expect_placed(opened, 2, 0, 2, 2, 2);
    expect_placed(opened, 9, 0, 9, 9, 9);
    expect_placed(opened, 10, 1, 1, 10, 19);
    expect_placed(opened, 99, 1, 9, 90, 99);
    expect_placed(opened, 100, 2, 1, 100, 199);
    start_at(opened, &timer, 15);
    expect_slot(opened, 1, 1, 10, 19);
    pass(opened, 2);
    expect_slot(opened, 1, 1, 10, 19);
    pass(opened, 10);
    expect_slot(opened, 0, 5, 15, 15);
    pass(opened, 14);
    elapse_dials_advance(&opened->dials, 15);
    expect_popped(opened, &timer);
}

DIALS_TEST(a_slot_that_the_pointer_has_passed_is_used_again, NULL, 0, 10, 10, 10)
{
    pass(opened, 2);
    expect_placed(opened, 11, 0, 1, 11, 11);
    expect_placed(opened, 12, 1, 1, 10, 19);
    pass(opened, 25);
    expect_placed(opened, 34, 0, 4, 34, 34);
    expect_placed(opened, 35, 1, 3, 30, 39);
    expect_placed(opened, 119, 1, 1, 110, 119);
    expect_placed(opened, 120, 2, 1, 100, 199);
}

DIALS_TEST(the_picture_at_the_head_of_the_source, NULL, 123, 10, 10, 10)
{
    expect_placed(opened, 123, 0, 3, 123, 123);
    expect_placed(opened, 131, 0, 1, 131, 131);
    expect_placed(opened, 132, 0, 2, 132, 132);
    expect_placed(opened, 133, 1, 3, 130, 139);
    expect_placed(opened, 135, 1, 3, 130, 139);
    expect_placed(opened, 210, 1, 1, 210, 219);
    expect_placed(opened, 220, 2, 2, 200, 299);
    expect_placed(opened, 1050, 2, 0, 1000, 1099);
    expect_placed(opened, 1099, 2, 0, 1000, 1099);
    expect_placed(opened, 1100, 3, 0, 1100, ELAPSE_NEVER);
    expect_placed(opened, ELAPSE_NEVER, 3, 1, ELAPSE_NEVER, ELAPSE_NEVER);
}

DIALS_TEST(seconds_and_minutes, NULL, 0, 60, 60)
{
    struct elapse_timer timer = {0};

    start_at(opened, &timer, 70);
    expect_slot(opened, 1, 1, 60, 119);
    assert_int_equal(elapse_dials_next(&opened->dials), 60);
    pass(opened, 60);
    expect_slot(opened, 0, 10, 70, 70);
    assert_int_equal(elapse_dials_next(&opened->dials), 70);
    elapse_dials_advance(&opened->dials, 70);
    expect_popped(opened, &timer);
}

DIALS_TEST(seconds_minutes_hours_and_days, NULL, 0, 60, 60, 24, 30)
{
    struct elapse_timer timer = {0};

    assert_int_equal(elapse_dials_levels(&opened->dials), 4);
    assert_int_equal(elapse_dials_slots(&opened->dials, 0) + elapse_dials_slots(&opened->dials, 1) +
                         elapse_dials_slots(&opened->dials, 2) +
                         elapse_dials_slots(&opened->dials, 3),
                     174);
    assert_int_equal(elapse_dials_slots(&opened->dials, 4), 0);
    start_at(opened, &timer, 3600 + 15 * 60 + 30);
    expect_slot(opened, 2, 1, 3600, 7199);
    pass(opened, 3600);
    expect_slot(opened, 1, 15, 4500, 4559);
    pass(opened, 4500);
    expect_slot(opened, 0, 30, 4530, 4530);
    pass(opened, 4529);
    elapse_dials_advance(&opened->dials, 4530);
    expect_popped(opened, &timer);
    assert_int_equal(elapse_dials_moves(&opened->dials), 2);
    expect_placed(opened, 4530 + 86400, 3, 1, 86400, 2 * 86400 - 1);
    expect_placed(opened, 30 * 86400 - 1, 3, 29, 29 * 86400, 30 * 86400 - 1);
    expect_placed(opened, 30 * 86400, 4, 0, 30 * 86400, ELAPSE_NEVER);
}

/* The dial has two slots more than two words have bits. Each slot is searched from every pointer.
 */
TEST(every_slot_is_found_from_every_pointer)
{
    enum { SLOTS = 130, SPAN = 3 * SLOTS };

    for (uint64_t pointer = 0; pointer < SLOTS; pointer++) {
        struct opened opened;

        OPEN(&opened, NULL, pointer, SLOTS, 3);
        for (uint64_t deadline = pointer + 1; deadline < SPAN; deadline++) {
            uint64_t first = deadline - pointer < SLOTS ? deadline : deadline - deadline % SLOTS;
            struct elapse_timer timer = {0};

            elapse_dials_clear(&opened.dials);
            assert_int_equal(elapse_dials_start(&opened.dials, &timer, deadline), ELAPSE_OK);
            assert_int_equal(elapse_dials_next(&opened.dials), first);
            pass(&opened, 0);
            assert_int_equal(elapse_dials_next(&opened.dials), first);
            assert_true(elapse_dials_stop(&opened.dials, &timer));
        }
        close_dials(&opened);
    }
}

DIALS_TEST(next_is_early_by_less_than_a_slot, NULL, 0, 10, 10, 10)
{
    for (uint64_t deadline = 1; deadline < 1000; deadline++) {
        uint64_t width = deadline < 10 ? 1 : deadline < 100 ? 10 : 100;
        struct elapse_timer timer = {0};

        elapse_dials_clear(&opened->dials);
        start_at(opened, &timer, deadline);
        assert_int_equal(elapse_dials_next(&opened->dials), deadline - deadline % width);
        assert_true(elapse_dials_stop(&opened->dials, &timer));
    }
}

DIALS_TEST(a_start_lets_the_pointer_catch_up_past_stopped_timers, NULL, 0, 10, 10, 10)
{
    struct elapse_timer timers[3] = {{.place = 0}};

    /* The pointer is at tick 0, at which a slot of each level begins. */
    start_at(opened, &timers[0], 0);
    start_at(opened, &timers[1], 999);
    assert_true(elapse_dials_stop(&opened->dials, &timers[0]));
    elapse_dials_advance(&opened->dials, 3);
    start_at(opened, &timers[0], 12);
    assert_int_equal(elapse_dials_next(&opened->dials), 12);
    elapse_dials_clear(&opened->dials);
    start_at(opened, &timers[0], 5);
    start_at(opened, &timers[1], 30);
    assert_true(elapse_dials_stop(&opened->dials, &timers[0]));
    assert_true(elapse_dials_stop(&opened->dials, &timers[1]));
    elapse_dials_advance(&opened->dials, 500);
    expect_placed(opened, 505, 0, 5, 505, 505);
    /* The same with another timer pending: then 516 is on level 0, and its slot begins there. */
    start_at(opened, &timers[0], 506);
    start_at(opened, &timers[1], 999);
    assert_true(elapse_dials_stop(&opened->dials, &timers[0]));
    elapse_dials_advance(&opened->dials, 507);
    start_at(opened, &timers[0], 516);
    assert_int_equal(elapse_dials_next(&opened->dials), 516);
    assert_true(elapse_dials_stop(&opened->dials, &timers[0]));
    assert_true(elapse_dials_stop(&opened->dials, &timers[1]));
    /* The pointer does not go past the beginning of a slot that has timers. */
    start_at(opened, &timers[2], 520);
    elapse_dials_advance(&opened->dials, 519);
    start_at(opened, &timers[0], 528);
    assert_int_equal(elapse_dials_next(&opened->dials), 520);
    elapse_dials_advance(&opened->dials, 525);
    start_at(opened, &timers[1], 530);
    elapse_dials_advance(&opened->dials, 530);
    expect_popped(opened, &timers[2]);
    expect_popped(opened, &timers[0]);
    expect_popped(opened, &timers[1]);
}

TEST(four_dials_of_sixteen_slots_take_two_kibibytes_at_most)
{
    static const uint32_t slots[] = {16, 16, 16, 16};
    const struct elapse_shape shape = {.slots = slots, .levels = 4};

    assert_true(sizeof(struct elapse_dials) + elapse_dials_storage_bytes(&shape) <= 2048);
}

TEST(no_shape_is_eight_levels_that_reach_everything)
{
    struct opened opened;
    struct elapse_timer timer = {0};

    open_shape(&opened, NULL, 0);
    assert_true(opened.bytes <= 34 * 1024);
    assert_int_equal(elapse_dials_levels(&opened.dials), 8);
    for (unsigned level = 0; level < 8; level++)
        assert_int_equal(elapse_dials_slots(&opened.dials, level), 256);
    start_at(&opened, &timer, ELAPSE_TIME_MAX);
    expect_slot(&opened, 7, 255, UINT64_C(255) << 56, ELAPSE_TIME_MAX);
    elapse_dials_advance(&opened.dials, ELAPSE_TIME_MAX);
    expect_popped(&opened, &timer);
    assert_int_equal(elapse_dials_moves(&opened.dials), 7);
    close_dials(&opened);
}

/* The first levels reach every deadline. The slots of the levels above are wider than all of time.
 */
DIALS_TEST(levels_may_be_more_than_time_needs, NULL, 7, 60000, 60000, 60000, 60000, 60000, 60000)
{
    struct elapse_timer timers[2] = {{.place = 0}};

    start_at(opened, &timers[0], ELAPSE_TIME_MAX);
    start_at(opened, &timers[1], ELAPSE_TIME_MAX - 1);
    elapse_dials_advance(&opened->dials, ELAPSE_TIME_MAX);
    expect_popped(opened, &timers[1]);
    expect_popped(opened, &timers[0]);
    expect_popped(opened, NULL);
}

TEST(a_header_of_another_version_is_refused)
{
    static const uint32_t slots[] = {10};
    const struct elapse_shape shape = {.slots = slots, .levels = 1};
    uint64_t storage[100];
    struct elapse_dials dials;

    memset(&dials, 0x5A, sizeof dials);
    struct elapse_dials before = dials;
    assert_int_equal(
        elapse_dials_init_sized(&dials, sizeof dials - 8, &shape, storage, sizeof storage, 0),
        ELAPSE_ERROR_ABI);
    assert_int_equal(
        elapse_dials_init_sized(&dials, sizeof dials + 8, &shape, storage, sizeof storage, 0),
        ELAPSE_ERROR_ABI);
    assert_memory_equal(&dials, &before, sizeof dials);
}

TEST(storage_that_is_missing_misplaced_or_small_is_refused)
{
    const size_t half_aligned = _Alignof(struct elapse_timer) / 2;
    static const uint32_t slots[] = {10, 70};
    const struct elapse_shape shape = {.slots = slots, .levels = 2};
    size_t bytes = elapse_dials_storage_bytes(&shape);
    char *storage = malloc(bytes + 8);
    struct elapse_dials dials;

    assert_int_equal(elapse_dials_init(&dials, &shape, NULL, bytes, 0), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_dials_init(&dials, &shape, storage + 1, bytes, 0),
                     ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_dials_init(&dials, &shape, storage + half_aligned, bytes, 0),
                     ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_dials_init(&dials, &shape, storage, bytes - 1, 0),
                     ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_dials_init(&dials, &shape, storage, bytes, 0), ELAPSE_OK);
    assert_int_equal(elapse_dials_init(&dials, &shape, storage + 8, bytes, 0), ELAPSE_OK);
    free(storage);
}

static void expect_no_shape(const struct elapse_shape *shape)
{
    uint64_t storage[100];
    struct elapse_dials dials;

    assert_true(elapse_dials_storage_bytes(shape) == SIZE_MAX);
    assert_int_equal(elapse_dials_init(&dials, shape, storage, sizeof storage, 0),
                     ELAPSE_ERROR_ARGUMENT);
}

TEST(wrong_shapes_are_refused)
{
    static const uint32_t least[] = {2, 2};
    static const uint32_t one[] = {2, 1};
    static const uint32_t none[] = {0, 2};
    uint32_t many[ELAPSE_SHAPE_LEVELS_MAX + 1];
    struct elapse_allocator lacking = growth_allocator;
    struct opened opened;

    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        many[i] = 2;
    expect_no_shape(&(struct elapse_shape){.slots = NULL, .levels = 1});
    expect_no_shape(&(struct elapse_shape){.slots = least, .levels = 0});
    expect_no_shape(&(struct elapse_shape){.slots = one, .levels = 2});
    expect_no_shape(&(struct elapse_shape){.slots = none, .levels = 2});
    expect_no_shape(&(struct elapse_shape){.slots = many, .levels = ELAPSE_SHAPE_LEVELS_MAX + 1});
    lacking.allocate = NULL;
    expect_no_shape(&(struct elapse_shape){.slots = least, .levels = 2, .growth = &lacking});
    lacking = growth_allocator;
    lacking.release = NULL;
    expect_no_shape(&(struct elapse_shape){.slots = least, .levels = 2, .growth = &lacking});

    OPEN(&opened, NULL, 0, 2, 2);
    close_dials(&opened);
    open_shape(&opened, &(struct elapse_shape){.slots = many, .levels = ELAPSE_SHAPE_LEVELS_MAX},
               0);
    expect_placed(&opened, UINT64_C(1) << 63, 63, 1, UINT64_C(1) << 63, ELAPSE_TIME_MAX);
    close_dials(&opened);
}

/* Starting again the timer that held the pointer back lets the pointer follow the clock, so
 * that the timer lies on level 0. */
DIALS_TEST(a_start_lets_the_pointer_catch_up_past_the_timer_that_is_started, NULL, 0, 10, 10)
{
    struct elapse_timer timer = {0};

    start_at(opened, &timer, 5);
    elapse_dials_advance(&opened->dials, 15);
    start_at(opened, &timer, 16);
    elapse_dials_advance(&opened->dials, 16);
    expect_popped(opened, &timer);
    assert_int_equal(elapse_dials_moves(&opened->dials), 0);
}

TEST_MAIN("dials")
