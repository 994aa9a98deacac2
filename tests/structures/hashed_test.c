/*
 * Tests what the hashed wheel does differently: slots and rounds, visits in every turn, the jump
 * over many turns, and order that is always the order of arming.
 */
#include "hashed_wheel.h"

#include "random.h"

enum { TIMERS = 200 };

TEST(init_with_sizes_that_differ_is_an_abi_error)
{
    struct elapse_hashed hashed;
    uint64_t storage[64];

    memset(&hashed, 0x5A, sizeof hashed);
    struct elapse_hashed before = hashed;
    assert_int_equal(
        elapse_hashed_init_sized(&hashed, sizeof hashed - 8, 4, storage, sizeof storage, 0),
        ELAPSE_ERROR_ABI);
    assert_int_equal(
        elapse_hashed_init_sized(&hashed, sizeof hashed + 8, 4, storage, sizeof storage, 0),
        ELAPSE_ERROR_ABI);
    assert_memory_equal(&hashed, &before, sizeof hashed);
}

TEST(init_refuses_slots_and_storage_that_are_not_right)
{
    const size_t half_aligned = _Alignof(struct elapse_timer) / 2;
    struct elapse_hashed hashed;
    size_t bytes = elapse_hashed_storage_bytes(65);
    char *storage = malloc(bytes + 8);

    assert_non_null(storage);
    memset(&hashed, 0x5A, sizeof hashed);
    struct elapse_hashed before = hashed;
    assert_int_equal(elapse_hashed_init(&hashed, 0, storage, bytes, 0), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_hashed_init(&hashed, ELAPSE_HASHED_SLOTS_MAX + 1, storage, SIZE_MAX, 0),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_hashed_init(&hashed, SIZE_MAX, storage, SIZE_MAX, 0),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_hashed_init(&hashed, 65, NULL, bytes, 0), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_hashed_init(&hashed, 65, storage, bytes - 1, 0), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_hashed_init(&hashed, 65, storage + 1, bytes, 0), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_hashed_init(&hashed, 65, storage + half_aligned, bytes, 0),
                     ELAPSE_ERROR_STORAGE);
    assert_memory_equal(&hashed, &before, sizeof hashed);
    assert_int_equal(elapse_hashed_init(&hashed, 65, storage, bytes, 0), ELAPSE_OK);
    assert_int_equal(elapse_hashed_slots(&hashed), 65);
    free(storage);
}

TEST(storage_grows_with_the_slots_up_to_the_most)
{
    assert_true(elapse_hashed_storage_bytes(0) == SIZE_MAX);
    for (size_t slots = 1; slots < 1000; slots++)
        assert_true(elapse_hashed_storage_bytes(slots) < elapse_hashed_storage_bytes(slots + 1));
    assert_true(elapse_hashed_storage_bytes(1000) <= 17 * 1000);
    assert_true(elapse_hashed_storage_bytes(ELAPSE_HASHED_SLOTS_MAX) < SIZE_MAX);
    assert_true(elapse_hashed_storage_bytes(ELAPSE_HASHED_SLOTS_MAX + 1) == SIZE_MAX);
    assert_true(elapse_hashed_storage_bytes(SIZE_MAX) == SIZE_MAX);
}

TEST(works_with_the_most_slots)
{
    struct elapse_hashed hashed;
    struct elapse_timer timers[3] = {0};
    void *storage = open_hashed(&hashed, ELAPSE_HASHED_SLOTS_MAX, 0);

    elapse_hashed_start(&hashed, &timers[0], ELAPSE_HASHED_SLOTS_MAX - 1);
    elapse_hashed_start(&hashed, &timers[1], ELAPSE_HASHED_SLOTS_MAX);
    elapse_hashed_start(&hashed, &timers[2], ELAPSE_HASHED_SLOTS_MAX + 1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(elapse_hashed_rounds(&hashed, &timers[i]), i / 2);
    for (size_t i = 0; i < 3; i++) {
        elapse_hashed_advance(&hashed, ELAPSE_HASHED_SLOTS_MAX - 2 + i);
        assert_null(elapse_hashed_pop(&hashed));
        elapse_hashed_advance(&hashed, ELAPSE_HASHED_SLOTS_MAX - 1 + i);
        assert_ptr_equal(elapse_hashed_pop(&hashed), &timers[i]);
    }
    free(storage);
}

TEST(takes_its_shape_by_name)
{
    static const uint32_t slots[] = {7, 7};
    static const uint32_t none[] = {0};
    static const struct elapse_allocator allocator = {0};
    const struct elapse_structure *structure = elapse_structure_find("hashed");
    const struct elapse_shape seven = {.slots = slots, .levels = 1};
    const struct elapse_shape wrong[] = {{.slots = NULL, .levels = 1},
                                         {.slots = slots, .levels = 2},
                                         {.slots = none, .levels = 1},
                                         {.slots = slots, .levels = 1, .growth = &allocator}};
    struct elapse_hashed hashed;
    uint64_t storage[1200];

    assert_non_null(structure);
    assert_int_equal(structure->shape_levels_max, 1);
    assert_int_equal(structure->instance_bytes, sizeof hashed);
    assert_int_equal(structure->storage_bytes(NULL, 1), elapse_hashed_storage_bytes(512));
    assert_int_equal(structure->init(&hashed, NULL, storage, sizeof storage, 9), ELAPSE_OK);
    assert_int_equal(elapse_hashed_slots(&hashed), 512);
    assert_int_equal(structure->storage_bytes(&seven, 1000), elapse_hashed_storage_bytes(7));
    assert_int_equal(structure->init(&hashed, &seven, storage, sizeof storage, 9), ELAPSE_OK);
    assert_int_equal(elapse_hashed_slots(&hashed), 7);
    assert_int_equal(structure->move_storage(&hashed, NULL, 0), ELAPSE_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_true(structure->storage_bytes(&wrong[i], 1) == SIZE_MAX);
        assert_int_equal(structure->init(&hashed, &wrong[i], storage, sizeof storage, 9),
                         ELAPSE_ERROR_ARGUMENT);
    }
}

/* ---- slots and rounds ---- */

static void expect_slot(const struct elapse_slot *slot, unsigned number, uint64_t first_tick,
                        uint64_t least, uint64_t last_tick, size_t count)
{
    assert_int_equal(slot->level, 0);
    assert_int_equal(slot->slot, number);
    assert_true(slot->first_tick == first_tick);
    assert_true(slot->least == least);
    assert_true(slot->last_tick == last_tick);
    assert_int_equal(slot->count, count);
}

TEST(ten_slots_place_by_remainder_and_count_the_turns)
{
    static const uint64_t deadlines[] = {15, 5, 10, 25, 1, 0, ELAPSE_NEVER};
    static const uint64_t rounds[] = {1, 0, 0, 2, 0, 0, ELAPSE_NEVER};
    struct elapse_timer timers[7] = {0};
    struct elapse_timer idle = {0};
    struct elapse_hashed hashed;
    struct picture picture = {0};
    void *storage = open_hashed(&hashed, 10, 0);

    for (size_t i = 0; i < 7; i++) {
        elapse_hashed_start(&hashed, &timers[i], deadlines[i]);
        assert_true(elapse_hashed_rounds(&hashed, &timers[i]) == rounds[i]);
    }
    assert_int_equal(elapse_hashed_rounds(&hashed, &idle), 0);
    elapse_hashed_dump(&hashed, draw, &picture);
    assert_int_equal(picture.count, 5);
    expect_slot(&picture.slots[0], 0, 10, 10, 10, 1);
    expect_slot(&picture.slots[1], 1, 1, 1, 1, 1);
    expect_slot(&picture.slots[2], 5, 5, 5, 25, 3);
    expect_slot(&picture.slots[3], 10, 0, 0, 0, 1);
    expect_slot(&picture.slots[4], 11, ELAPSE_NEVER, ELAPSE_NEVER, ELAPSE_NEVER, 1);

    elapse_hashed_advance(&hashed, 5);
    assert_ptr_equal(elapse_hashed_pop(&hashed), &timers[5]);
    assert_ptr_equal(elapse_hashed_pop(&hashed), &timers[4]);
    assert_ptr_equal(elapse_hashed_pop(&hashed), &timers[1]);
    assert_null(elapse_hashed_pop(&hashed));
    assert_int_equal(elapse_hashed_rounds(&hashed, &timers[0]), 0);
    assert_int_equal(elapse_hashed_rounds(&hashed, &timers[3]), 1);
    picture.count = 0;
    elapse_hashed_dump(&hashed, draw, &picture);
    expect_slot(&picture.slots[1], 5, 15, 15, 25, 2);
    close_hashed(&hashed, storage);
}

TEST(the_pointer_anywhere_places_as_at_the_beginning)
{
    static const uint64_t origins[] = {0, 3, 9, 10, 1234567, UINT64_C(1) << 63, UINT64_MAX - 50};

    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        for (uint64_t delay = 1; delay <= 48; delay++) {
            struct elapse_timer timer = {0};
            struct elapse_hashed hashed;
            struct picture picture = {0};
            uint64_t deadline = origins[i] + delay;
            void *storage = open_hashed(&hashed, 10, origins[i]);

            elapse_hashed_start(&hashed, &timer, deadline);
            assert_int_equal(elapse_hashed_rounds(&hashed, &timer), (delay - 1) / 10);
            elapse_hashed_dump(&hashed, draw, &picture);
            assert_int_equal(picture.count, 1);
            expect_slot(&picture.slots[0], (unsigned)(deadline % 10),
                        origins[i] + (delay - 1) % 10 + 1, deadline, deadline, 1);
            close_hashed(&hashed, storage);
        }
    }
}

HASHED_TEST(full_range_on_a_single_slot, 1, 0)
{
    struct elapse_timer timers[2] = {0};

    elapse_hashed_start(hashed, &timers[0], ELAPSE_TIME_MAX);
    elapse_hashed_start(hashed, &timers[1], ELAPSE_TIME_MAX - 1);
    assert_true(elapse_hashed_rounds(hashed, &timers[0]) == ELAPSE_TIME_MAX - 1);
    assert_int_equal(elapse_hashed_next(hashed), 1);
    elapse_hashed_advance(hashed, ELAPSE_TIME_MAX);
    assert_ptr_equal(elapse_hashed_pop(hashed), &timers[1]);
    assert_ptr_equal(elapse_hashed_pop(hashed), &timers[0]);
    assert_null(elapse_hashed_pop(hashed));
    assert_int_equal(elapse_hashed_visits(hashed), 0);
}

/* ---- the visits, and what they cost ---- */

HASHED_TEST(ten_minutes_on_sixty_slots_are_nine_visits, 60, 0)
{
    static struct elapse_timer timers[TIMERS];

    for (size_t i = 0; i < TIMERS; i++)
        elapse_hashed_start(hashed, &timers[i], 600);
    for (uint64_t second = 1; second < 600; second++) {
        elapse_hashed_advance(hashed, second);
        assert_null(elapse_hashed_pop(hashed));
        assert_int_equal(elapse_hashed_visits(hashed), second / 60 * TIMERS);
    }
    elapse_hashed_advance(hashed, 600);
    for (size_t i = 0; i < TIMERS; i++)
        assert_ptr_equal(elapse_hashed_pop(hashed), &timers[i]);
    assert_int_equal(elapse_hashed_visits(hashed), 9 * TIMERS);
    assert_int_equal(elapse_hashed_ticking_visits(hashed), 9 * TIMERS);
    assert_int_equal(elapse_hashed_moves(hashed), 10 * TIMERS);
}

TEST(a_jump_looks_at_each_timer_once)
{
    struct elapse_timer timers[3] = {0};
    struct elapse_hashed hashed;
    void *storage = open_hashed(&hashed, 60, 0);

    elapse_hashed_start(&hashed, &timers[0], 600);
    elapse_hashed_start(&hashed, &timers[1], 6000);
    elapse_hashed_start(&hashed, &timers[2], ELAPSE_NEVER);
    elapse_hashed_advance(&hashed, 599);
    assert_null(elapse_hashed_pop(&hashed));
    assert_int_equal(elapse_hashed_moves(&hashed), 2);
    assert_int_equal(elapse_hashed_visits(&hashed), 2);
    assert_int_equal(elapse_hashed_ticking_visits(&hashed), 18);
    assert_int_equal(elapse_hashed_rounds(&hashed, &timers[1]), 90);
    elapse_hashed_advance(&hashed, 5000);
    assert_ptr_equal(elapse_hashed_pop(&hashed), &timers[0]);
    assert_int_equal(elapse_hashed_visits(&hashed), 3);
    assert_int_equal(elapse_hashed_ticking_visits(&hashed), 18 + 74);
    elapse_hashed_advance(&hashed, 1000000);
    assert_ptr_equal(elapse_hashed_pop(&hashed), &timers[1]);
    assert_null(elapse_hashed_pop(&hashed));
    assert_int_equal(elapse_hashed_visits(&hashed), 3);
    assert_int_equal(elapse_hashed_ticking_visits(&hashed), 9 + 99);
    assert_int_equal(elapse_hashed_moves(&hashed), 5);
    close_hashed(&hashed, storage);
}

TEST(no_step_of_time_looks_at_a_timer_twice)
{
    enum { SLOTS = 10 };

    for (uint64_t step = 1; step <= 4 * SLOTS; step++) {
        struct elapse_timer timers[SLOTS] = {0};
        struct elapse_hashed hashed;
        void *storage = open_hashed(&hashed, SLOTS, 3);

        for (size_t i = 0; i < SLOTS; i++)
            elapse_hashed_start(&hashed, &timers[i], 1000 + i);
        elapse_hashed_advance(&hashed, 3 + step);
        assert_null(elapse_hashed_pop(&hashed));
        assert_int_equal(elapse_hashed_visits(&hashed), step < SLOTS ? step : SLOTS);
        assert_int_equal(elapse_hashed_ticking_visits(&hashed), step);
        close_hashed(&hashed, storage);
    }
}

/* The ticking visits are those of a wheel that visits every tick, however time goes on. */
TEST(ticking_visits_do_not_depend_on_the_steps)
{
    static const uint64_t steps[] = {1, 7, 10, 11, 25, 1000, 100000};
    static struct elapse_timer timers[TIMERS];
    uint64_t ticking[7];

    for (size_t i = 0; i < 7; i++) {
        struct random_source source = {.state = 77};
        struct elapse_hashed hashed;
        void *storage = open_hashed(&hashed, 10, 0);

        for (size_t n = 0; n < TIMERS; n++)
            elapse_hashed_start(&hashed, &timers[n], 1 + random_below(&source, 5000));
        for (uint64_t now = 0; elapse_hashed_count(&hashed) > 0; now += steps[i]) {
            elapse_hashed_advance(&hashed, now);
            while (elapse_hashed_pop(&hashed) != NULL)
                continue;
        }
        ticking[i] = elapse_hashed_ticking_visits(&hashed);
        assert_int_equal(ticking[i], ticking[0]);
        assert_true(elapse_hashed_visits(&hashed) <= ticking[0]);
        if (steps[i] <= 10)
            assert_int_equal(elapse_hashed_visits(&hashed), ticking[0]);
        close_hashed(&hashed, storage);
    }
    assert_true(ticking[0] > TIMERS);
}

HASHED_TEST(empty_slots_are_passed_at_no_cost, 1000, 0)
{
    struct elapse_timer timer = {0};

    for (size_t slot = 1; slot <= 1000; slot++) {
        elapse_hashed_start(hashed, &timer, slot);
        assert_int_equal(elapse_hashed_next(hashed), slot);
    }
    elapse_hashed_advance(hashed, 999);
    assert_null(elapse_hashed_pop(hashed));
    assert_int_equal(elapse_hashed_moves(hashed), 0);
    elapse_hashed_advance(hashed, 1000);
    assert_ptr_equal(elapse_hashed_pop(hashed), &timer);
    elapse_hashed_advance(hashed, ELAPSE_TIME_MAX);
    assert_null(elapse_hashed_pop(hashed));
    assert_int_equal(elapse_hashed_moves(hashed), 1);
}

TEST(next_is_the_next_occupied_slot_whatever_the_rounds)
{
    struct elapse_timer timers[3] = {0};
    struct elapse_hashed hashed;
    void *storage = open_hashed(&hashed, 10, 100);
    static const uint64_t wake_ups[] = {103, 107, 113, 117, 123, 133};

    elapse_hashed_start(&hashed, &timers[0], 133);
    elapse_hashed_start(&hashed, &timers[1], 117);
    elapse_hashed_start(&hashed, &timers[2], ELAPSE_NEVER);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(elapse_hashed_next(&hashed), wake_ups[i]);
        elapse_hashed_advance(&hashed, wake_ups[i]);
        while (elapse_hashed_pop(&hashed) != NULL)
            continue;
    }
    assert_true(elapse_hashed_next(&hashed) == ELAPSE_NEVER);
    assert_int_equal(elapse_hashed_count(&hashed), 1);
    close_hashed(&hashed, storage);
}

/* ---- order ---- */

TEST(promise_4_always_in_the_order_of_arming)
{
    static struct elapse_timer timers[TIMERS];
    static const uint64_t deadlines[] = {9, 10, 11, 25, 1009, 40};

    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        struct elapse_hashed hashed;
        void *storage = open_hashed(&hashed, 10, 0);

        for (size_t n = 0; n < TIMERS; n++)
            elapse_hashed_start(&hashed, &timers[n], deadlines[i]);
        /* A timer that is started again at the same deadline comes after all others. */
        for (size_t n = 0; n < TIMERS; n += 2)
            elapse_hashed_start(&hashed, &timers[n], deadlines[i]);
        /* Time goes on tick by tick, turn by turn, or at once. */
        for (uint64_t now = 0; i % 2 == 0 && now < deadlines[i]; now += 1 + i) {
            elapse_hashed_advance(&hashed, now);
            assert_null(elapse_hashed_pop(&hashed));
        }
        elapse_hashed_advance(&hashed, deadlines[i]);
        for (size_t n = 1; n < TIMERS; n += 2)
            assert_ptr_equal(elapse_hashed_pop(&hashed), &timers[n]);
        for (size_t n = 0; n < TIMERS; n += 2)
            assert_ptr_equal(elapse_hashed_pop(&hashed), &timers[n]);
        close_hashed(&hashed, storage);
    }
}

TEST(promise_4_a_jump_over_many_turns_is_in_order)
{
    static struct elapse_timer timers[TIMERS];
    struct random_source source = {.state = 4};

    for (size_t slots = 1; slots <= 100; slots += 9) {
        struct elapse_hashed hashed;
        const struct elapse_timer *last = NULL;
        const struct elapse_timer *timer;
        size_t popped = 0;
        void *storage = open_hashed(&hashed, slots, 0);

        for (size_t n = 0; n < TIMERS; n++)
            elapse_hashed_start(&hashed, &timers[n], 1 + random_below(&source, 150));
        elapse_hashed_advance(&hashed, 150);
        for (; (timer = elapse_hashed_pop(&hashed)) != NULL; popped++) {
            if (last != NULL && elapse_timer_deadline(last) == elapse_timer_deadline(timer))
                assert_true(timer > last);
            else if (last != NULL)
                assert_true(elapse_timer_deadline(last) < elapse_timer_deadline(timer));
            last = timer;
        }
        assert_int_equal(popped, TIMERS);
        close_hashed(&hashed, storage);
    }
}

/* ---- in steps ---- */

HASHED_TEST(a_visit_in_steps_keeps_new_timers_behind, 10, 0)
{
    struct elapse_timer timers[6] = {0};
    struct picture picture = {0};

    for (size_t i = 0; i < 4; i++)
        elapse_hashed_start(hashed, &timers[i], 15);
    elapse_hashed_advance(hashed, 5);
    assert_false(elapse_hashed_cascade(hashed, 2));
    assert_int_equal(elapse_hashed_check(hashed), 0);
    assert_int_equal(elapse_hashed_next(hashed), 5);
    elapse_hashed_start(hashed, &timers[4], 15);
    elapse_hashed_dump(hashed, draw, &picture);
    assert_int_equal(picture.count, 1);
    expect_slot(&picture.slots[0], 5, 5, 15, 15, 5);
    assert_false(elapse_hashed_cascade(hashed, 1));
    elapse_hashed_start(hashed, &timers[5], 15);
    assert_true(elapse_hashed_cascade(hashed, 1));
    elapse_hashed_advance(hashed, 15);
    for (size_t i = 0; i < 6; i++)
        assert_ptr_equal(elapse_hashed_pop(hashed), &timers[i]);
}

HASHED_TEST(a_visit_whose_timers_are_stopped_is_over, 10, 0)
{
    struct elapse_timer timers[4] = {0};

    for (size_t i = 0; i < 4; i++)
        elapse_hashed_start(hashed, &timers[i], 5);
    elapse_hashed_advance(hashed, 5);
    assert_false(elapse_hashed_cascade(hashed, 1));
    assert_int_equal(elapse_hashed_next(hashed), 5);
    for (size_t i = 0; i < 3; i++) {
        assert_true(elapse_hashed_stop(hashed, &timers[i]));
        assert_int_equal(elapse_hashed_check(hashed), 0);
    }
    assert_true(elapse_hashed_cascade(hashed, 0));
    assert_ptr_equal(elapse_hashed_pop(hashed), &timers[3]);
    assert_true(elapse_hashed_next(hashed) == ELAPSE_NEVER);
}

/* During a jump timers are started in slots that were visited, are being visited, and will be
 * visited. */
HASHED_TEST(a_jump_in_steps_takes_new_timers_anywhere, 10, 0)
{
    enum { OLD = 20, NEW = 20 };
    struct elapse_timer old[OLD] = {0};
    struct elapse_timer new[NEW] = {0};

    for (size_t i = 0; i < OLD; i++)
        elapse_hashed_start(hashed, &old[i], i < 10 ? 10 + i : 60 + i);
    elapse_hashed_advance(hashed, 50);
    for (size_t i = 0; i < NEW; i++) {
        assert_false(elapse_hashed_cascade(hashed, 1));
        assert_int_equal(elapse_hashed_check(hashed), 0);
        assert_true(elapse_hashed_next(hashed) <= 10);
        elapse_hashed_start(hashed, &new[i], 70 + (3 * i) % 10);
        assert_int_equal(elapse_hashed_check(hashed), 0);
        if (elapse_hashed_visits(hashed) >= 10 + i / 2)
            break;
    }
    assert_true(elapse_hashed_cascade(hashed, SIZE_MAX));
    for (size_t i = 0; i < 10; i++)
        assert_ptr_equal(elapse_hashed_pop(hashed), &old[i]);
    assert_null(elapse_hashed_pop(hashed));
    for (uint64_t now = 70; now < 80; now++) {
        elapse_hashed_advance(hashed, now);
        assert_ptr_equal(elapse_hashed_pop(hashed), &old[now - 60]);
        for (size_t i = 0; i < NEW; i++) {
            if (elapse_timer_pending(&new[i]) && elapse_timer_deadline(&new[i]) == now)
                assert_ptr_equal(elapse_hashed_pop(hashed), &new[i]);
        }
        assert_null(elapse_hashed_pop(hashed));
    }
    assert_int_equal(elapse_hashed_count(hashed), 0);
}

HASHED_TEST(a_jump_goes_to_where_it_began_to_go, 4, 0)
{
    struct elapse_timer timers[8] = {0};
    uint64_t now = 100;

    for (size_t i = 0; i < 8; i++)
        elapse_hashed_start(hashed, &timers[i], 97 + i);
    elapse_hashed_advance(hashed, now);
    while (!elapse_hashed_cascade(hashed, 1)) {
        assert_int_equal(elapse_hashed_check(hashed), 0);
        elapse_hashed_advance(hashed, ++now);
    }
    /* A timer that came due since is still in its slot, and was looked at once. */
    assert_int_equal(elapse_hashed_moves(hashed), 8);
    assert_int_equal(elapse_hashed_visits(hashed), 4);
    for (size_t i = 0; i < 8; i++)
        assert_ptr_equal(elapse_hashed_pop(hashed), &timers[i]);
}

static bool ends_at_one(struct elapse_timer *timer, void *left)
{
    size_t *visits_left = left;

    assert_true(elapse_timer_pending(timer));
    return --*visits_left > 0;
}

/* In the middle of a visit one timer is due, two are set aside, one is in its slot again, one is in
 * another slot, and one is armed for ELAPSE_NEVER. */
TEST(for_each_goes_through_every_ring_and_may_end_in_any)
{
    static const uint64_t deadlines[] = {25, 25, 15, 5, 7, ELAPSE_NEVER};
    struct elapse_timer timers[6] = {0};
    struct elapse_hashed hashed;
    void *storage = open_hashed(&hashed, 10, 0);

    for (size_t i = 0; i < 6; i++)
        elapse_hashed_start(&hashed, &timers[i], deadlines[i]);
    elapse_hashed_advance(&hashed, 5);
    assert_false(elapse_hashed_cascade(&hashed, 2));
    for (size_t visits = 1; visits <= 7; visits++) {
        size_t left = visits;

        elapse_hashed_for_each(&hashed, ends_at_one, &left);
        assert_int_equal(left, visits == 7 ? 1 : 0);
    }
    close_hashed(&hashed, storage);
}

/* Starts eight timers, four of which a jump makes due, and cascades a part of it. */
static void go_half_a_jump(struct elapse_hashed *hashed, struct elapse_timer *timers)
{
    for (size_t i = 0; i < 8; i++)
        elapse_hashed_start(hashed, &timers[i], 97 + i);
    elapse_hashed_advance(hashed, 100);
    assert_false(elapse_hashed_cascade(hashed, 3));
}

TEST(clear_ends_a_jump)
{
    struct elapse_timer timers[8] = {0};
    struct elapse_hashed hashed;
    void *storage = open_hashed(&hashed, 4, 0);

    go_half_a_jump(&hashed, timers);
    elapse_hashed_clear(&hashed);
    assert_int_equal(elapse_hashed_check(&hashed), 0);
    assert_true(elapse_hashed_next(&hashed) == ELAPSE_NEVER);
    elapse_hashed_start(&hashed, &timers[0], 102);
    assert_int_equal(elapse_hashed_next(&hashed), 102);
    assert_int_equal(elapse_hashed_rounds(&hashed, &timers[0]), 0);
    close_hashed(&hashed, storage);
}

HASHED_TEST(stopping_all_in_a_jump_leaves_nothing_due, 4, 0)
{
    struct elapse_timer timers[8] = {0};

    go_half_a_jump(hashed, timers);
    for (size_t i = 0; i < 8; i++) {
        assert_true(elapse_hashed_stop(hashed, &timers[i]));
        assert_int_equal(elapse_hashed_check(hashed), 0);
    }
    assert_null(elapse_hashed_pop(hashed));
    assert_true(elapse_hashed_next(hashed) == ELAPSE_NEVER);
    assert_int_equal(elapse_hashed_moves(hashed), 3);
}

TEST_MAIN("hashed")
