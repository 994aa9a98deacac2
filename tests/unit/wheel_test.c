/*
 * What is the wheel's own: it needs no storage and cannot fail, its moves have a
 * bound, and its check finds damage.
 */
#include "subject.h"

#include <stdlib.h>
#include <string.h>

#include <elapse/wheel.h>

static void open_wheel(struct elapse_wheel *wheel, uint64_t now)
{
    assert_int_equal(elapse_wheel_init(wheel, now), ELAPSE_OK);
}

static void init_with_sizes_that_differ_is_an_abi_error(void **state)
{
    static struct elapse_wheel wheel;
    static struct elapse_wheel before;

    (void)state;
    memset(&wheel, 0x5A, sizeof wheel);
    before = wheel;
    assert_int_equal(elapse_wheel_init_sized(&wheel, sizeof wheel - 8, 0), ELAPSE_ERROR_ABI);
    assert_int_equal(elapse_wheel_init_sized(&wheel, sizeof wheel + 8, 0), ELAPSE_ERROR_ABI);
    assert_int_equal(elapse_wheel_init_sized(&wheel, 0, 0), ELAPSE_ERROR_ABI);
    assert_memory_equal(&wheel, &before, sizeof wheel);
}

static void init_makes_a_used_wheel_empty_again(void **state)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    (void)state;
    open_wheel(&wheel, 100);
    elapse_wheel_start(&wheel, &timer, 200);
    open_wheel(&wheel, 5);
    assert_int_equal(elapse_wheel_count(&wheel), 0);
    assert_int_equal(elapse_wheel_now(&wheel), 5);
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    assert_true(elapse_wheel_next(&wheel) == ELAPSE_NEVER);
    elapse_wheel_advance(&wheel, 1000);
    assert_null(elapse_wheel_pop(&wheel));
    elapse_timer_init(&timer);
    elapse_wheel_start(&wheel, &timer, 1001);
    elapse_wheel_advance(&wheel, 1001);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timer);
}

static void the_functions_of_the_header_work_on_the_wheel(void **state)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    (void)state;
    open_wheel(&wheel, 10);
    elapse_wheel_start_window(&wheel, &timer, 33, 63);
    assert_int_equal(elapse_wheel_next(&wheel), 48);
    assert_int_equal(elapse_wheel_remaining(&wheel, &timer), 38);
    assert_int_equal(elapse_wheel_count(&wheel), 1);
    assert_null(elapse_wheel_pop_due(&wheel));
    elapse_wheel_advance(&wheel, 48);
    assert_true(elapse_wheel_settle(&wheel, 1));
    assert_ptr_equal(elapse_wheel_pop_due(&wheel), &timer);
    assert_null(elapse_wheel_pop_due(&wheel));
    elapse_wheel_start(&wheel, &timer, 50);
    assert_true(elapse_wheel_stop(&wheel, &timer));
    elapse_wheel_clear(&wheel);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
}

static void promise_5_a_hundred_thousand_timers_without_storage(void **state)
{
    enum { TIMERS = 100000 };
    static struct elapse_wheel wheel;
    struct elapse_timer *timers = calloc(TIMERS, sizeof *timers);
    size_t popped = 0;

    (void)state;
    assert_non_null(timers);
    open_wheel(&wheel, 0);
    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], i * 7919 % 1000003);
    assert_int_equal(elapse_wheel_count(&wheel), TIMERS);
    elapse_wheel_advance(&wheel, 1000003);
    while (elapse_wheel_pop(&wheel) != NULL)
        popped++;
    assert_int_equal(popped, TIMERS);
    free(timers);
}

static void promise_6_starting_and_stopping_move_nothing(void **state)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timers[100] = {0};

    (void)state;
    open_wheel(&wheel, 0);
    for (uint64_t turn = 0; turn < 10; turn++) {
        for (uint64_t i = 0; i < 100; i++)
            elapse_wheel_start(&wheel, &timers[i], (turn + 1) * 1000 + (i << turn));
        elapse_wheel_advance(&wheel, turn);
    }
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(elapse_wheel_stop(&wheel, &timers[i]));
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
}

static void promise_6_empty_time_costs_nothing(void **state)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    (void)state;
    open_wheel(&wheel, 0);
    elapse_wheel_start(&wheel, &timer, UINT64_C(1) << 62);
    for (unsigned bits = 0; bits < 62; bits++) {
        elapse_wheel_advance(&wheel, UINT64_C(1) << bits);
        assert_true(elapse_wheel_settle(&wheel, 0));
        assert_null(elapse_wheel_pop(&wheel));
    }
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    elapse_wheel_advance(&wheel, UINT64_C(1) << 62);
    assert_ptr_equal(elapse_wheel_pop(&wheel), &timer);
    assert_true(elapse_wheel_moves(&wheel) <= 1);
}

static void promise_6_at_most_one_move_a_level(void **state)
{
    enum { TIMERS = 1000 };
    static struct elapse_wheel wheel;
    static struct elapse_timer timers[TIMERS];

    (void)state;
    open_wheel(&wheel, 0);
    for (uint64_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(&wheel, &timers[i], (UINT64_C(1) << 60) + (i * i << i % 50));
    while (elapse_wheel_next(&wheel) != ELAPSE_NEVER) {
        elapse_wheel_advance(&wheel, elapse_wheel_next(&wheel));
        while (elapse_wheel_pop(&wheel) != NULL)
            continue;
    }
    assert_int_equal(elapse_wheel_count(&wheel), 0);
    assert_true(elapse_wheel_moves(&wheel) <= (uint64_t)TIMERS * ELAPSE__WHEEL_UPPER_LEVELS);
}

static void promise_6_putting_off_moves_once_when_the_slot_is_due(void **state)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};

    (void)state;
    open_wheel(&wheel, 0);
    for (uint64_t i = 0; i < 1000; i++)
        elapse_wheel_start(&wheel, &timer, 50000 + i * 100);
    assert_int_equal(elapse_wheel_moves(&wheel), 0);
    elapse_wheel_advance(&wheel, 60000);
    assert_null(elapse_wheel_pop(&wheel));
    assert_true(elapse_wheel_moves(&wheel) <= 1);
    assert_int_equal(elapse_wheel_next(&wheel), 50000 + 99900);
}

struct damage_case {
    struct elapse_wheel wheel;
    struct elapse_wheel sound;
    struct elapse_timer timers[12];
};

static const uint64_t damage_deadlines[] = {
    1003,           1003,       1004,       1300, 1301, 40000, 40001, UINT64_C(1) << 40,
    UINT64_MAX - 5, UINT64_MAX, UINT64_MAX, 1003};

static void make_case(struct damage_case *damage)
{
    memset(damage, 0, sizeof *damage);
    open_wheel(&damage->wheel, 1000);
    for (size_t i = 0; i < 12; i++)
        elapse_wheel_start(&damage->wheel, &damage->timers[i], damage_deadlines[i]);
    assert_int_equal(elapse_wheel_check(&damage->wheel), 0);
    damage->sound = damage->wheel;
}

static void expect_damage(struct damage_case *damage)
{
    assert_int_not_equal(elapse_wheel_check(&damage->wheel), 0);
    damage->wheel = damage->sound;
    assert_int_equal(elapse_wheel_check(&damage->wheel), 0);
}

static void check_finds_each_number_that_is_damaged(void **state)
{
    static struct damage_case damage;
    struct elapse_wheel *wheel = &damage.wheel;

    (void)state;
    make_case(&damage);
    wheel->count++;
    expect_damage(&damage);
    wheel->count--;
    expect_damage(&damage);
    wheel->wake++;
    expect_damage(&damage);
    wheel->wake = ELAPSE_NEVER;
    expect_damage(&damage);
    wheel->pointer = 1004;
    expect_damage(&damage);
    wheel->pointer = UINT64_C(1) << 50;
    expect_damage(&damage);
    wheel->draining = UINT32_MAX;
    expect_damage(&damage);
    wheel->clock = ELAPSE_NEVER;
    expect_damage(&damage);
}

static void check_finds_each_occupancy_bit_that_is_damaged(void **state)
{
    static struct damage_case damage;
    struct elapse_wheel *wheel = &damage.wheel;

    (void)state;
    make_case(&damage);
    for (unsigned word = 0; word < ELAPSE__WHEEL_WORDS; word++) {
        wheel->occupied_words ^= UINT32_C(1) << word;
        expect_damage(&damage);
    }
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
        wheel->occupied[slot / 64] ^= UINT64_C(1) << slot % 64;
        expect_damage(&damage);
    }
}

static void check_finds_a_slot_whose_least_is_late_or_whose_list_is_lost(void **state)
{
    static struct damage_case damage;
    struct elapse_wheel *wheel = &damage.wheel;
    size_t occupied = 0;

    (void)state;
    make_case(&damage);
    for (size_t i = 0; i < ELAPSE__WHEEL_SLOTS; i++) {
        struct elapse__link *list = &wheel->slots[i].timers;

        if (list->next == list)
            continue;
        occupied++;
        wheel->slots[i].least++;
        expect_damage(&damage);
        list->next = list;
        expect_damage(&damage);
        list->previous = list;
        expect_damage(&damage);
        list->next = list->previous = list;
        expect_damage(&damage);
    }
    assert_int_equal(occupied, 6);
}

static void check_finds_each_timer_that_is_damaged(void **state)
{
    static struct damage_case damage;

    (void)state;
    make_case(&damage);
    for (size_t i = 0; i < 12; i++) {
        struct elapse_timer *timer = &damage.timers[i];
        struct elapse_timer sound = *timer;
        struct elapse_timer *other = &damage.timers[i == 5 || i == 6 ? 4 : 5];

        timer->place = 0;
        assert_int_not_equal(elapse_wheel_check(&damage.wheel), 0);
        *timer = sound;
        timer->place = other->place;
        assert_int_not_equal(elapse_wheel_check(&damage.wheel), 0);
        *timer = sound;
        timer->deadline = 999;
        assert_int_not_equal(elapse_wheel_check(&damage.wheel), 0);
        *timer = sound;
        timer->keep.link.previous = &other->keep.link;
        assert_int_not_equal(elapse_wheel_check(&damage.wheel), 0);
        *timer = sound;
        timer->keep.link.next = &other->keep.link;
        assert_int_not_equal(elapse_wheel_check(&damage.wheel), 0);
        *timer = sound;
        assert_int_equal(elapse_wheel_check(&damage.wheel), 0);
    }
}

static void check_finds_a_link_that_leads_nowhere(void **state)
{
    static struct damage_case damage;

    (void)state;
    make_case(&damage);
    for (size_t i = 0; i < 12; i++) {
        struct elapse__link *next = damage.timers[i].keep.link.next;

        damage.timers[i].keep.link.next = NULL;
        assert_int_not_equal(elapse_wheel_check(&damage.wheel), 0);
        damage.timers[i].keep.link.next = next;
    }
    for (size_t i = 0; i < ELAPSE__WHEEL_SLOTS; i++) {
        damage.wheel.slots[i].timers.next = NULL;
        expect_damage(&damage);
    }
}

static void check_finds_a_pointer_past_a_slot(void **state)
{
    static struct elapse_wheel wheel;
    struct elapse_timer near = {0};
    struct elapse_timer far = {0};

    (void)state;
    open_wheel(&wheel, 1000);
    elapse_wheel_start(&wheel, &far, 1300);
    elapse_wheel_advance(&wheel, 2000);
    wheel.pointer = 1299; /* in the slot of level 1 that has a timer */
    assert_int_not_equal(elapse_wheel_check(&wheel), 0);
    wheel.pointer = 1900; /* behind it */
    assert_int_not_equal(elapse_wheel_check(&wheel), 0);

    open_wheel(&wheel, 1000);
    elapse_wheel_start(&wheel, &near, 1003);
    elapse_wheel_advance(&wheel, 2000);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    wheel.pointer = 1004;
    assert_int_not_equal(elapse_wheel_check(&wheel), 0);
}

static void check_finds_a_least_outside_its_slot(void **state)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};
    static const uint64_t deadlines[] = {1003, 1300, 40000};

    (void)state;
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        open_wheel(&wheel, 1000);
        elapse_timer_init(&timer);
        elapse_wheel_start(&wheel, &timer, deadlines[i]);
        /* Put off, it stays in the slot, whose least may be anything up to it. */
        elapse_wheel_start(&wheel, &timer, 10 * deadlines[i]);
        assert_int_equal(elapse_wheel_check(&wheel), 0);
        for (size_t slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
            struct elapse__wheel_slot *damaged = &wheel.slots[slot];
            uint64_t least = damaged->least;

            if (damaged->timers.next == &damaged->timers)
                continue;
            damaged->least = 9 * deadlines[i];
            wheel.wake = 0;
            assert_int_not_equal(elapse_wheel_check(&wheel), 0);
            damaged->least = 500;
            assert_int_not_equal(elapse_wheel_check(&wheel), 0);
            damaged->least = least;
            assert_int_equal(elapse_wheel_check(&wheel), 0);
        }
    }
}

static void check_finds_a_drain_of_the_wrong_slot(void **state)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timers[6] = {0};
    uint32_t draining;
    uint64_t wake;

    (void)state;
    open_wheel(&wheel, 0);
    for (size_t i = 0; i < 6; i++)
        elapse_wheel_start(&wheel, &timers[i], i < 3 ? 70000 + 200 * i : 7000000);
    elapse_wheel_advance(&wheel, 71000);
    assert_false(elapse_wheel_settle(&wheel, 1));
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    draining = wheel.draining;
    wake = wheel.wake;
    assert_int_not_equal(draining, 0);
    /* No slot is right but the one that is being drained: not those of level 0, not
     * the empty ones, and not another that has timers. */
    for (uint32_t slot = 1; slot < 2 * ELAPSE__WHEEL_SLOTS; slot++) {
        wheel.draining = slot;
        if (slot != draining)
            assert_int_not_equal(elapse_wheel_check(&wheel), 0);
    }
    wheel.draining = draining;
    wheel.wake = 71001;
    assert_int_not_equal(elapse_wheel_check(&wheel), 0);
    wheel.wake = wake;
    assert_int_equal(elapse_wheel_check(&wheel), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_with_sizes_that_differ_is_an_abi_error),
        cmocka_unit_test(init_makes_a_used_wheel_empty_again),
        cmocka_unit_test(the_functions_of_the_header_work_on_the_wheel),
        cmocka_unit_test(promise_5_a_hundred_thousand_timers_without_storage),
        cmocka_unit_test(promise_6_starting_and_stopping_move_nothing),
        cmocka_unit_test(promise_6_empty_time_costs_nothing),
        cmocka_unit_test(promise_6_at_most_one_move_a_level),
        cmocka_unit_test(promise_6_putting_off_moves_once_when_the_slot_is_due),
        cmocka_unit_test(check_finds_each_number_that_is_damaged),
        cmocka_unit_test(check_finds_each_occupancy_bit_that_is_damaged),
        cmocka_unit_test(check_finds_a_slot_whose_least_is_late_or_whose_list_is_lost),
        cmocka_unit_test(check_finds_each_timer_that_is_damaged),
        cmocka_unit_test(check_finds_a_link_that_leads_nowhere),
        cmocka_unit_test(check_finds_a_pointer_past_a_slot),
        cmocka_unit_test(check_finds_a_least_outside_its_slot),
        cmocka_unit_test(check_finds_a_drain_of_the_wrong_slot),
    };

    return cmocka_run_group_tests_name("wheel", tests, NULL, NULL);
}
