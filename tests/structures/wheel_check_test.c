/*
 * Tests that the check of the wheel finds damage, and returns the number of the broken invariant.
 * The head of wheel.c numbers the invariants.
 */
#include "subject.h"

#include <elapse/wheel.h>

static void open_wheel(struct elapse_wheel *wheel, uint64_t now)
{
    assert_int_equal(elapse_wheel_init(wheel, now), ELAPSE_OK);
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

/* Expects that check returns this number. Repairs the wheel afterwards. */
static void expect_damage(struct damage_case *damage, unsigned broken)
{
    assert_int_equal(elapse_wheel_check(&damage->wheel), broken);
    damage->wheel = damage->sound;
    assert_int_equal(elapse_wheel_check(&damage->wheel), 0);
}

TEST(check_finds_each_number_that_is_damaged)
{
    static struct damage_case damage;
    struct elapse_wheel *wheel = &damage.wheel;

    make_case(&damage);
    wheel->started++;
    expect_damage(&damage, 4);
    wheel->stopped++;
    expect_damage(&damage, 4);
    wheel->popped++;
    expect_damage(&damage, 4);
    wheel->wake++;
    expect_damage(&damage, 7);
    wheel->wake = ELAPSE_NEVER;
    expect_damage(&damage, 7);
    wheel->least++;
    expect_damage(&damage, 7);
    wheel->least--;
    wheel->wake = 0;
    expect_damage(&damage, 7);
    wheel->ahead = 0;
    expect_damage(&damage, 10);
    wheel->present_words ^= 1;
    expect_damage(&damage, 2 + 7);
    wheel->pointer = 1004;
    expect_damage(&damage, 1);
    wheel->pointer = UINT64_C(1) << 50;
    expect_damage(&damage, 1);
    wheel->cascading = UINT32_MAX;
    expect_damage(&damage, 8);
    for (unsigned level = 0; level < ELAPSE__WHEEL_LEVELS; level++) {
        wheel->last[level]--;
        expect_damage(&damage, 9);
    }
    wheel->clock = ELAPSE_NEVER;
    expect_damage(&damage, 1);
}

TEST(check_finds_each_occupancy_bit_that_is_damaged)
{
    static struct damage_case damage;
    struct elapse_wheel *wheel = &damage.wheel;

    make_case(&damage);
    for (unsigned word = 0; word < ELAPSE__WHEEL_WORDS; word++) {
        wheel->occupied_words ^= UINT64_C(1) << word;
        expect_damage(&damage, 2);
        wheel->populous_words ^= UINT64_C(1) << word;
        expect_damage(&damage, 10);
    }
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
        wheel->occupied[slot / 64] ^= UINT64_C(1) << slot % 64;
        expect_damage(&damage, 2);
    }
}

TEST(check_finds_a_slot_whose_least_is_late_or_whose_ring_is_lost)
{
    static struct damage_case damage;
    struct elapse_wheel *wheel = &damage.wheel;
    size_t occupied = 0;

    make_case(&damage);
    for (size_t i = 0; i < ELAPSE__WHEEL_SLOTS; i++) {
        struct elapse__ring_node *ring = &wheel->slots[i].timers;

        if (ring->next == ring)
            continue;
        occupied++;
        wheel->slots[i].least++;
        expect_damage(&damage, 6);
        ring->next = ring;
        expect_damage(&damage, 2);
        ring->previous = ring;
        expect_damage(&damage, 3);
        ring->next = ring->previous = ring;
        expect_damage(&damage, 2);
    }
    assert_int_equal(occupied, 6);
}

TEST(check_finds_each_timer_that_is_damaged)
{
    static struct damage_case damage;

    make_case(&damage);
    for (size_t i = 0; i < 12; i++) {
        struct elapse_timer *timer = &damage.timers[i];
        struct elapse_timer sound = *timer;
        struct elapse_timer *other = &damage.timers[i == 5 || i == 6 ? 4 : 5];

        timer->place = 0;
        assert_int_equal(elapse_wheel_check(&damage.wheel), 3);
        *timer = sound;
        timer->place = other->place;
        assert_int_equal(elapse_wheel_check(&damage.wheel), 3);
        *timer = sound;
        timer->deadline = 999;
        assert_int_equal(elapse_wheel_check(&damage.wheel), 6);
        *timer = sound;
        timer->keep.ring_node.previous = &other->keep.ring_node;
        assert_int_equal(elapse_wheel_check(&damage.wheel), 3);
        *timer = sound;
        timer->keep.ring_node.next = &other->keep.ring_node;
        assert_int_equal(elapse_wheel_check(&damage.wheel), 3);
        *timer = sound;
        assert_int_equal(elapse_wheel_check(&damage.wheel), 0);
    }
}

TEST(check_finds_a_link_that_leads_nowhere)
{
    static struct damage_case damage;

    make_case(&damage);
    for (size_t i = 0; i < 12; i++) {
        struct elapse__ring_node *next = damage.timers[i].keep.ring_node.next;

        damage.timers[i].keep.ring_node.next = NULL;
        assert_int_equal(elapse_wheel_check(&damage.wheel), 3);
        damage.timers[i].keep.ring_node.next = next;
    }
    for (size_t i = 0; i < ELAPSE__WHEEL_SLOTS; i++) {
        struct elapse__ring_node *ring = &damage.wheel.slots[i].timers;
        bool occupied = ring->next != ring;

        /* A ring that is not closed counts as one with timers, which an empty slot
         * may not have. */
        ring->next = NULL;
        expect_damage(&damage, occupied ? 3 : 2);
    }
}

TEST(check_finds_a_pointer_past_a_slot)
{
    static struct elapse_wheel wheel;
    struct elapse_timer near = {0};
    struct elapse_timer far = {0};

    open_wheel(&wheel, 1000);
    elapse_wheel_start(&wheel, &far, 1300);
    elapse_wheel_advance(&wheel, 2000);
    wheel.pointer = 1299; /* in the slot of level 1 that has a timer */
    assert_int_equal(elapse_wheel_check(&wheel), 5);
    wheel.pointer = 1900; /* after that slot */
    assert_int_equal(elapse_wheel_check(&wheel), 5);

    open_wheel(&wheel, 1000);
    elapse_wheel_start(&wheel, &near, 1003);
    elapse_wheel_advance(&wheel, 2000);
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    wheel.pointer = 1004;
    assert_int_equal(elapse_wheel_check(&wheel), 5);
}

TEST(check_finds_a_least_outside_its_slot)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timer = {0};
    static const uint64_t deadlines[] = {1003, 1300, 40000};

    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        open_wheel(&wheel, 1000);
        elapse_timer_init(&timer);
        elapse_wheel_start(&wheel, &timer, deadlines[i]);
        /* A postponed timer stays in the slot. The slot's `least` may be anything up to its
         * deadline. */
        elapse_wheel_start(&wheel, &timer, 10 * deadlines[i]);
        assert_int_equal(elapse_wheel_check(&wheel), 0);
        for (size_t slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
            struct elapse__wheel_slot *damaged = &wheel.slots[slot];
            uint64_t least = damaged->least;

            if (damaged->timers.next == &damaged->timers)
                continue;
            damaged->least = 9 * deadlines[i];
            wheel.wake = 0;
            assert_int_equal(elapse_wheel_check(&wheel), 6);
            damaged->least = 500;
            assert_int_equal(elapse_wheel_check(&wheel), 6);
            damaged->least = least;
            assert_int_equal(elapse_wheel_check(&wheel), 0);
        }
    }
}

/* `least` may not be before the first tick of a slot with timers, even if they are due, nor before
 * the pointer. */
TEST(check_finds_a_least_that_lags_behind)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timers[3] = {0};
    struct elapse__wheel_slot *slot = wheel.slots;

    open_wheel(&wheel, 0);
    for (size_t i = 0; i < 3; i++)
        elapse_wheel_start(&wheel, &timers[i], 70000 + 200 * i);
    elapse_wheel_advance(&wheel, 71000);
    wheel.least--;
    wheel.wake = wheel.least;
    assert_int_equal(elapse_wheel_check(&wheel), 7);
    wheel.least++;
    assert_false(elapse_wheel_cascade(&wheel, 1));
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    /* Finds the slot at the pointer, which is half empty. */
    while (slot->timers.next == &slot->timers || slot->least != wheel.pointer)
        slot++;
    slot->least--;
    wheel.least--;
    wheel.wake = wheel.least;
    assert_int_equal(elapse_wheel_check(&wheel), 7);
}

TEST(check_finds_a_cascade_of_the_wrong_slot)
{
    static struct elapse_wheel wheel;
    struct elapse_timer timers[6] = {0};

    open_wheel(&wheel, 0);
    for (size_t i = 0; i < 6; i++)
        elapse_wheel_start(&wheel, &timers[i], i < 3 ? 70000 + 200 * i : 7000000);
    elapse_wheel_advance(&wheel, 71000);
    assert_false(elapse_wheel_cascade(&wheel, 1));
    assert_int_equal(elapse_wheel_check(&wheel), 0);
    uint32_t cascading = wheel.cascading;
    assert_int_not_equal(cascading, 0);
    /* No other level has timers at the pointer, and some of these levels do not exist. */
    for (unsigned level = 0; level < 32; level++) {
        wheel.cascading = cascading ^ UINT32_C(1) << level;
        assert_int_equal(elapse_wheel_check(&wheel), wheel.cascading == 0 ? 5 : 8);
    }
    wheel.cascading = cascading;
    assert_int_equal(elapse_wheel_check(&wheel), 0);
}

TEST(check_finds_a_slot_that_is_not_cascaded_in_time)
{
    enum { TIMERS = ELAPSE__WHEEL_FEW + 1, DEADLINE = 1300 };
    static struct damage_case damage;
    struct elapse_wheel *wheel = &damage.wheel;
    struct elapse_timer timers[TIMERS] = {0};

    memset(&damage, 0, sizeof damage);
    open_wheel(wheel, 1000);
    for (size_t i = 0; i < TIMERS; i++)
        elapse_wheel_start(wheel, &timers[i], DEADLINE);
    assert_int_equal(elapse_wheel_check(wheel), 0);
    assert_true(wheel->populous_words != 0);
    damage.sound = *wheel;
    /* This is too late: the slot begins with tick 1280. */
    wheel->ahead = 1280;
    wheel->wake = 1280;
    assert_int_equal(elapse_wheel_check(wheel), 0);
    wheel->ahead = 1281;
    expect_damage(&damage, 10);
    wheel->ahead = ELAPSE_NEVER;
    expect_damage(&damage, 10);
    /* Neither a slot of level 0 nor an empty one is cascaded. */
    wheel->populous[0] = 1;
    wheel->populous_words |= 1;
    expect_damage(&damage, 10);
    wheel->populous[ELAPSE__WHEEL_WORDS - 1] = 1;
    wheel->populous_words |= UINT64_C(1) << (ELAPSE__WHEEL_WORDS - 1);
    expect_damage(&damage, 10);
}

TEST_MAIN("wheel_check")
