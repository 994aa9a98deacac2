/*
 * Tests that the check of the hashed wheel finds damage, and returns the number of the broken
 * invariant. The head of hashed.c numbers the invariants.
 */
#include "hashed_wheel.h"

enum { TIMERS = 9, SLOTS = 10 };

/* A wheel in the middle of a visit: timers 0 and 1 are still aside, 2 is in its slot again, 4 is
 * due, 6 and 7 are armed for ELAPSE_NEVER. */
struct damage_case {
    struct elapse_hashed hashed;
    struct elapse_hashed sound;
    struct elapse_timer timers[TIMERS];
    void *storage;
};

static const uint64_t deadlines[TIMERS] = {1005, 1015,         1025,         1007, 1005,
                                           1017, ELAPSE_NEVER, ELAPSE_NEVER, 2000};

static void make_case(struct damage_case *damage)
{
    struct elapse_hashed *hashed = &damage->hashed;

    *damage = (struct damage_case){0};
    damage->storage = open_hashed(hashed, SLOTS, 1000);
    for (size_t i = 0; i < TIMERS; i++) {
        if (i != 2)
            elapse_hashed_start(hashed, &damage->timers[i], deadlines[i]);
    }
    elapse_hashed_start(hashed, &damage->timers[2], deadlines[2]);
    elapse_hashed_advance(hashed, 1006);
    assert_false(elapse_hashed_cascade(hashed, 2));
    assert_int_equal(elapse_hashed_check(hashed), 0);
    damage->sound = *hashed;
}

/* Makes a wheel in the middle of a jump from 1000 to 1100: slots 0 and 1 were visited, slot 2 is
 * being visited. */
static void make_case_of_a_jump(struct damage_case *damage)
{
    struct elapse_hashed *hashed = &damage->hashed;

    *damage = (struct damage_case){0};
    damage->storage = open_hashed(hashed, SLOTS, 1000);
    for (size_t i = 0; i < TIMERS; i++)
        elapse_hashed_start(hashed, &damage->timers[i], 1120 - 20 * (i % 3) + i / 2);
    elapse_hashed_advance(hashed, 1100);
    assert_false(elapse_hashed_cascade(hashed, 5));
    assert_int_equal(elapse_hashed_check(hashed), 0);
    damage->sound = *hashed;
}

/* Expects that check returns this number. Repairs the wheel afterwards. */
static void expect_damage(struct damage_case *damage, unsigned broken)
{
    assert_int_equal(elapse_hashed_check(&damage->hashed), broken);
    damage->hashed = damage->sound;
    assert_int_equal(elapse_hashed_check(&damage->hashed), 0);
}

TEST(check_finds_each_number_that_is_damaged)
{
    struct damage_case damage;
    struct elapse_hashed *hashed = &damage.hashed;

    make_case(&damage);
    hashed->clock = ELAPSE_NEVER;
    expect_damage(&damage, 1);
    hashed->clock = 1004;
    expect_damage(&damage, 1);
    hashed->jump_origin = 1006;
    expect_damage(&damage, 1);
    hashed->jump_origin = 1004;
    expect_damage(&damage, 9);
    hashed->pointer_slot = 6;
    expect_damage(&damage, 9);
    hashed->unvisited = 1;
    expect_damage(&damage, 9);
    hashed->unvisited = SLOTS + 1;
    expect_damage(&damage, 9);
    hashed->visiting = 6;
    expect_damage(&damage, 6);
    hashed->turns = 2;
    expect_damage(&damage, 6);
    hashed->count++;
    expect_damage(&damage, 4);
    hashed->count--;
    expect_damage(&damage, 4);
    free(damage.storage);
}

TEST(check_finds_each_number_of_a_jump_that_is_damaged)
{
    struct damage_case damage;
    struct elapse_hashed *hashed = &damage.hashed;

    make_case_of_a_jump(&damage);
    hashed->jump_origin = 1095;
    expect_damage(&damage, 9);
    hashed->jump_origin = 1090; /* a turn is no jump */
    expect_damage(&damage, 9);
    hashed->jump_origin = 1009; /* a turn, for slot 2 and those to come */
    assert_int_not_equal(elapse_hashed_check(hashed), 0);
    *hashed = damage.sound;
    hashed->unvisited = SLOTS + 1;
    expect_damage(&damage, 9);
    hashed->unvisited--;
    expect_damage(&damage, 6);
    hashed->visiting--;
    expect_damage(&damage, 6);
    hashed->turns--;
    expect_damage(&damage, 6);
    free(damage.storage);
}

TEST(check_finds_each_occupancy_bit_that_is_damaged)
{
    struct damage_case damage;

    make_case(&damage);
    for (unsigned slot = 0; slot < 64; slot++) {
        damage.hashed.occupied[0] ^= UINT64_C(1) << slot;
        assert_int_equal(elapse_hashed_check(&damage.hashed), 2);
        damage.hashed.occupied[0] ^= UINT64_C(1) << slot;
        assert_int_equal(elapse_hashed_check(&damage.hashed), 0);
    }
    free(damage.storage);
}

/* Returns the number of the invariant that says where timer `number` of make_case belongs. */
static unsigned invariant_of(size_t number)
{
    static const unsigned invariants[TIMERS] = {6, 6, 5, 5, 7, 5, 8, 8, 5};

    return invariants[number];
}

TEST(check_finds_each_timer_that_is_damaged)
{
    struct damage_case damage;

    make_case(&damage);
    for (size_t i = 0; i < TIMERS; i++) {
        struct elapse_timer *timer = &damage.timers[i];
        struct elapse_timer sound = *timer;
        static const uint64_t wrong[] = {0, 995, 1006, 1036, ELAPSE_NEVER};

        timer->place = 0;
        assert_int_equal(elapse_hashed_check(&damage.hashed), invariant_of(i));
        timer->place = sound.place + 1;
        assert_int_equal(elapse_hashed_check(&damage.hashed), invariant_of(i));
        *timer = sound;
        for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
            timer->deadline = wrong[n];
            /* A timer that is due may have been due for longer, so an earlier deadline is no
             * damage. */
            if (wrong[n] != sound.deadline && !(invariant_of(i) == 7 && wrong[n] < 1005))
                assert_int_equal(elapse_hashed_check(&damage.hashed), invariant_of(i));
        }
        *timer = sound;
        timer->keep.ring_node.previous = &damage.timers[(i + 3) % TIMERS].keep.ring_node;
        assert_int_equal(elapse_hashed_check(&damage.hashed), 3);
        *timer = sound;
        timer->keep.ring_node.next = NULL;
        assert_int_equal(elapse_hashed_check(&damage.hashed), 3);
        timer->keep.ring_node.next = &damage.timers[(i + 3) % TIMERS].keep.ring_node;
        assert_int_equal(elapse_hashed_check(&damage.hashed), 3);
        *timer = sound;
        assert_int_equal(elapse_hashed_check(&damage.hashed), 0);
    }
    free(damage.storage);
}

TEST(check_finds_rounds_counted_from_the_wrong_tick)
{
    struct damage_case damage;

    make_case_of_a_jump(&damage);
    for (size_t i = 0; i < TIMERS; i++) {
        damage.timers[i].place++;
        assert_int_not_equal(elapse_hashed_check(&damage.hashed), 0);
        damage.timers[i].place--;
        assert_int_equal(elapse_hashed_check(&damage.hashed), 0);
    }
    free(damage.storage);
}

/* The deadline ELAPSE_NEVER falls on the slot, and the rounds are right, but such a timer belongs
 * in a ring of its own. */
TEST(check_finds_a_timer_for_never_in_a_slot)
{
    struct elapse_hashed hashed;
    void *storage = open_hashed(&hashed, SLOTS, 1000);
    struct elapse_timer timer = {0};

    elapse_hashed_start(&hashed, &timer, ELAPSE_NEVER - SLOTS);
    assert_int_equal(elapse_hashed_check(&hashed), 0);
    timer.deadline += SLOTS;
    timer.place++;
    assert_int_equal(elapse_hashed_check(&hashed), 5);
    free(storage);
}

TEST(check_finds_due_timers_out_of_order)
{
    struct elapse_timer timers[3] = {0};
    struct elapse_hashed hashed;
    void *storage = open_hashed(&hashed, SLOTS, 0);

    for (size_t i = 0; i < 3; i++)
        elapse_hashed_start(&hashed, &timers[i], 11 + 2 * i);
    elapse_hashed_advance(&hashed, 40);
    assert_true(elapse_hashed_cascade(&hashed, SIZE_MAX));
    assert_int_equal(elapse_hashed_check(&hashed), 0);
    timers[1].deadline = 16;
    assert_int_equal(elapse_hashed_check(&hashed), 7);
    timers[1].deadline = 10;
    assert_int_equal(elapse_hashed_check(&hashed), 7);
    timers[1].deadline = 11;
    assert_int_equal(elapse_hashed_check(&hashed), 0);
    timers[2].deadline = 41;
    assert_int_equal(elapse_hashed_check(&hashed), 7);
    free(storage);
}

/* A wheel in the middle of a sort of the turns 1, 3, 70, 71, 135 and 4100: turn 70 is due, 71 lies
 * in a bucket of its own, 135 in a bucket of 64 turns, and 4100 in a bucket of 4096 turns. If
 * `dividing`, 70 and 71 are about to be divided. */
enum { SORTED = 6 };

static void make_case_of_a_sort(struct damage_case *damage, bool dividing)
{
    static const uint64_t turns[SORTED] = {1, 3, 70, 71, 135, 4100};
    struct elapse_hashed *hashed = &damage->hashed;

    *damage = (struct damage_case){0};
    damage->storage = open_hashed(hashed, SLOTS, 0);
    for (size_t i = 0; i < SORTED; i++)
        elapse_hashed_start(hashed, &damage->timers[i], turns[i] * SLOTS + 5);
    elapse_hashed_advance(hashed, 50000);
    for (size_t i = 0; i < 2; i++)
        assert_ptr_equal(elapse_hashed_pop(hashed), &damage->timers[i]);
    assert_int_equal(elapse_hashed_cascade(hashed, dividing ? 0 : 2), !dividing);
    assert_int_equal(elapse_hashed_check(hashed), 0);
    damage->sound = *hashed;
}

TEST(check_finds_each_number_of_a_sort_that_is_damaged)
{
    struct damage_case damage;
    struct elapse_hashed *hashed = &damage.hashed;

    make_case_of_a_sort(&damage, false);
    for (unsigned digit = 0; digit < 64; digit++) {
        hashed->digits_occupied ^= UINT64_C(1) << digit;
        expect_damage(&damage, 2);
    }
    for (unsigned digit = 0; digit < ELAPSE__HASHED_DIGITS; digit++) {
        hashed->digits[digit].occupied = 0;
        if (damage.sound.digits[digit].occupied != 0)
            expect_damage(&damage, 2);
    }
    /* The bit of a bucket without timers, which has never been a ring, is set. */
    hashed->digits[0].occupied |= 2;
    hashed->digits[0].buckets[1] =
        (struct elapse__ring_node){&hashed->digits[0].buckets[1], &hashed->digits[0].buckets[1]};
    expect_damage(&damage, 2);
    hashed->due_turn++;
    expect_damage(&damage, 7);
    hashed->origin_turn++;
    expect_damage(&damage, 7);
    free(damage.storage);
}

TEST(check_finds_each_timer_of_a_sort_that_is_damaged)
{
    static const uint64_t wrong[] = {699, 50001, ELAPSE_NEVER};
    struct damage_case damage;
    unsigned invariant;

    for (unsigned dividing = 0; dividing < 2; dividing++) {
        make_case_of_a_sort(&damage, dividing);
        for (size_t i = 2; i < SORTED; i++) {
            struct elapse_timer *timer = &damage.timers[i];
            struct elapse_timer sound = *timer;

            invariant = i == 2 && !dividing ? 7 : 10;
            timer->place = 2;
            assert_int_equal(elapse_hashed_check(&damage.hashed), invariant);
            timer->place = 1;
            for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
                timer->deadline = wrong[n];
                /* Behind `due_turn`, which is 64, a timer may be divided. */
                if (!dividing || n > 0 || i > 3)
                    assert_int_equal(elapse_hashed_check(&damage.hashed), invariant);
            }
            timer->deadline = 639;
            assert_int_equal(elapse_hashed_check(&damage.hashed), invariant);
            timer->deadline = sound.deadline + SLOTS;
            if (!dividing || i > 3)
                assert_int_equal(elapse_hashed_check(&damage.hashed),
                                 i == 5 || i == 4 ? 0 : invariant);
            *timer = sound;
            timer->keep.ring_node.next = NULL;
            assert_int_equal(elapse_hashed_check(&damage.hashed), 3);
            *timer = sound;
            assert_int_equal(elapse_hashed_check(&damage.hashed), 0);
        }
        free(damage.storage);
    }
}

TEST(check_finds_a_bucket_of_the_due_turn)
{
    struct damage_case damage;

    make_case_of_a_sort(&damage, false);
    damage.timers[3].deadline = damage.timers[2].deadline;
    assert_int_equal(elapse_hashed_check(&damage.hashed), 10);
    free(damage.storage);
}

TEST(check_finds_a_jump_that_has_sorted_already)
{
    struct damage_case damage;
    struct elapse_hashed *hashed = &damage.hashed;

    make_case_of_a_jump(&damage);
    hashed->due_turn = 1;
    expect_damage(&damage, 9);
    hashed->origin_turn++;
    expect_damage(&damage, 9);
    hashed->origin_turn--;
    expect_damage(&damage, 9);
    free(damage.storage);
}

TEST(check_finds_a_link_that_leads_nowhere)
{
    struct damage_case damage;
    struct elapse_hashed *hashed = &damage.hashed;
    enum { LISTS = 4 };
    struct elapse__ring_node *lists[LISTS] = {&hashed->due, &hashed->aside, &hashed->never,
                                              &hashed->dividing};

    make_case(&damage);
    for (size_t i = 0; i < LISTS; i++) {
        lists[i]->next = NULL;
        expect_damage(&damage, 3);
    }
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        struct elapse__ring_node sound = hashed->rings[slot];

        /* A ring that is not closed counts as one with timers, which an empty slot
         * may not have. */
        hashed->rings[slot].next = NULL;
        assert_int_equal(elapse_hashed_check(hashed), sound.next == &hashed->rings[slot] ? 2 : 3);
        hashed->rings[slot] = sound;
        assert_int_equal(elapse_hashed_check(hashed), 0);
    }
    free(damage.storage);
}

TEST_MAIN("hashed_check")
