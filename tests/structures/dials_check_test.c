/*
 * Tests that the check of the dials finds damage, and returns the number of the broken invariant.
 * The head of dials.c numbers the invariants.
 */
#include "dials_open.h"

#include "dials_level.h"

enum { TIMERS = 9 };

/* On levels 0 and 1: two timers in a slot, and one alone; then timers that are parked or never due.
 */
static const uint64_t deadlines[TIMERS] = {1003, 1003, 1004, 1055,        1055,
                                           1056, 1500, 1600, ELAPSE_NEVER};

struct damage_case {
    struct opened opened;
    struct elapse_timer timers[TIMERS];
    struct elapse_dials sound;
    void *sound_storage;
};

static void make_case(struct damage_case *damage)
{
    memset(damage, 0, sizeof *damage);
    OPEN(&damage->opened, NULL, 1000, 10, 10);
    for (size_t i = 0; i < TIMERS; i++)
        start_at(&damage->opened, &damage->timers[i], deadlines[i]);
    damage->sound = damage->opened.dials;
    damage->sound_storage = malloc(damage->opened.bytes);
    memcpy(damage->sound_storage, damage->opened.storage, damage->opened.bytes);
}

static void end_case(struct damage_case *damage)
{
    close_dials(&damage->opened);
    free(damage->sound_storage);
}

/* Expects that check returns this number. Repairs the dials afterwards. */
static void expect_damage(struct damage_case *damage, unsigned broken)
{
    assert_int_equal(elapse_dials_check(&damage->opened.dials), broken);
    damage->opened.dials = damage->sound;
    memcpy(damage->opened.storage, damage->sound_storage, damage->opened.bytes);
    assert_int_equal(elapse_dials_check(&damage->opened.dials), 0);
}

TEST(check_finds_each_number_that_is_damaged)
{
    struct damage_case damage;
    struct elapse_dials *dials = &damage.opened.dials;

    make_case(&damage);
    dials->count++;
    expect_damage(&damage, 4);
    dials->count--;
    expect_damage(&damage, 4);
    dials->pointer++;
    expect_damage(&damage, 1);
    dials->clock--;
    expect_damage(&damage, 1);
    dials->clock = ELAPSE_NEVER;
    expect_damage(&damage, 1);
    dials->wake = 999;
    expect_damage(&damage, 7);
    dials->wake = 1003;
    assert_int_equal(elapse_dials_check(dials), 0);
    dials->wake = 1004;
    expect_damage(&damage, 7);
    end_case(&damage);
}

TEST(check_finds_a_pointer_past_a_slot)
{
    struct damage_case damage;
    struct elapse_dials *dials = &damage.opened.dials;

    make_case(&damage);
    for (uint64_t pointer = 1004; pointer < 2000; pointer++) {
        dials->clock = pointer;
        dials->pointer = pointer;
        dials->wake = 1003;
        expect_damage(&damage, 7);
        dials->clock = pointer;
        dials->pointer = pointer;
        dials->wake = pointer;
        expect_damage(&damage, 5);
    }
    end_case(&damage);
}

/* The pointer is within the ticks of the only slot. No other invariant is broken. */
TEST(check_finds_a_pointer_inside_a_slot)
{
    struct opened opened;
    struct elapse_timer timer = {0};

    OPEN(&opened, NULL, 0, 10, 10);
    start_at(&opened, &timer, 57);
    elapse_dials_advance(&opened.dials, 55);
    opened.dials.pointer = 50;
    assert_int_equal(elapse_dials_check(&opened.dials), 0);
    opened.dials.pointer = 51;
    opened.dials.wake = 51;
    assert_int_equal(elapse_dials_check(&opened.dials), 5);
    opened.dials.pointer = 50;
    opened.dials.wake = 50;
    close_dials(&opened);
}

TEST(check_finds_each_occupancy_bit_that_is_damaged)
{
    struct damage_case damage;

    make_case(&damage);
    for (struct elapse__dials_level *level = damage.opened.dials.finest; level != NULL;
         level = level->coarser) {
        for (unsigned bit = 0; bit < 64; bit++) {
            elapse__dials_occupied(level)[0] ^= UINT64_C(1) << bit;
            expect_damage(&damage, 2);
        }
        level->occupied_slots++;
        expect_damage(&damage, 2);
        /* The number of bits is right, but one of them stands for no slot, or for a wrong slot. */
        uint64_t bits = elapse__dials_occupied(level)[0];
        for (unsigned bit = 0; bit < 64; bit++) {
            if ((bits >> bit & 1) != 0)
                continue;
            elapse__dials_occupied(level)[0] = (bits & (bits - 1)) | UINT64_C(1) << bit;
            expect_damage(&damage, 2);
        }
    }
    end_case(&damage);
}

TEST(check_finds_each_ring_that_is_damaged)
{
    struct damage_case damage;
    struct elapse_dials *dials = &damage.opened.dials;
    struct elapse__ring_node *const rings[] = {&dials->parked, &dials->never};

    make_case(&damage);
    for (size_t i = 0; i < 2; i++) {
        rings[i]->next = NULL;
        expect_damage(&damage, 3);
        rings[i]->previous = rings[i];
        expect_damage(&damage, 3);
        rings[i]->next = rings[i]->previous = rings[i];
        expect_damage(&damage, 4);
    }
    dials->aside.next = NULL;
    expect_damage(&damage, 3);
    for (const struct elapse__dials_level *level = dials->finest; level != NULL;
         level = level->coarser) {
        for (uint32_t slot = 0; slot < level->slots; slot++) {
            struct elapse__ring_node *ring = elapse__dials_ring(level, slot);
            bool occupied = ring->next != ring;

            ring->next = NULL;
            expect_damage(&damage, occupied ? 3 : 2);
            ring->previous = NULL;
            expect_damage(&damage, 3);
            ring->next = ring->previous = ring;
            if (occupied)
                expect_damage(&damage, 2);
        }
    }
    end_case(&damage);
}

TEST(check_finds_each_timer_that_is_damaged)
{
    struct damage_case damage;
    const struct elapse_dials *dials = &damage.opened.dials;

    make_case(&damage);
    for (size_t i = 0; i < TIMERS; i++) {
        struct elapse_timer *timer = &damage.timers[i];
        struct elapse_timer sound = *timer;
        struct elapse_timer *other = &damage.timers[i < 3 ? 5 : 0];

        timer->place = 0;
        assert_int_equal(elapse_dials_check(dials), 3);
        *timer = sound;
        timer->place = other->place;
        assert_int_equal(elapse_dials_check(dials), 3);
        *timer = sound;
        timer->deadline = 999;
        assert_int_equal(elapse_dials_check(dials), i < 6 ? 5 : 6);
        *timer = sound;
        timer->deadline = i < 8 ? ELAPSE_NEVER : ELAPSE_TIME_MAX;
        assert_int_equal(elapse_dials_check(dials), i < 6 ? 5 : 6);
        *timer = sound;
        timer->keep.ring_node.previous = &other->keep.ring_node;
        assert_int_equal(elapse_dials_check(dials), 3);
        *timer = sound;
        timer->keep.ring_node.next = &other->keep.ring_node;
        assert_int_equal(elapse_dials_check(dials), 3);
        *timer = sound;
        timer->keep.ring_node.next = NULL;
        assert_int_equal(elapse_dials_check(dials), 3);
        *timer = sound;
    }
    end_case(&damage);
}

TEST(check_finds_a_wrong_least_of_the_parked)
{
    struct damage_case damage;
    struct elapse_dials *dials = &damage.opened.dials;

    make_case(&damage);
    dials->parked_least = 1501;
    expect_damage(&damage, 6);
    dials->parked_least = 999; /* in a slot that begins before the pointer */
    expect_damage(&damage, 6);
    dials->parked_least = 1001; /* a visit is due now, but `wake` and `cascaded` say no */
    expect_damage(&damage, 7);
    dials->parked_least = 1001;
    dials->wake = 1000;
    assert_int_equal(elapse_dials_check(dials), 0);
    dials->cascaded = true;
    expect_damage(&damage, 8);
    end_case(&damage);
}

TEST(check_finds_work_at_the_pointer_that_is_said_to_be_done)
{
    struct opened opened;
    struct elapse_timer timers[4] = {{.place = 0}};

    OPEN(&opened, NULL, 0, 10, 10);
    for (size_t i = 0; i < 4; i++)
        start_at(&opened, &timers[i], i < 2 ? 55 : 255);
    elapse_dials_advance(&opened.dials, 60);
    assert_false(elapse_dials_cascade(&opened.dials, 1));
    assert_int_equal(elapse_dials_check(&opened.dials), 0);
    opened.dials.cascaded = true;
    assert_int_equal(elapse_dials_check(&opened.dials), 8);
    opened.dials.cascaded = false;
    elapse_dials_advance(&opened.dials, 250);
    expect_popped(&opened, &timers[0]);
    expect_popped(&opened, &timers[1]);
    /* The visit: one timer is still aside. */
    assert_false(elapse_dials_cascade(&opened.dials, 1));
    assert_int_equal(elapse_dials_check(&opened.dials), 0);
    opened.dials.cascaded = true;
    assert_int_equal(elapse_dials_check(&opened.dials), 8);
    opened.dials.cascaded = false;
    timers[2].deadline = 249;
    assert_int_equal(elapse_dials_check(&opened.dials), 6);
    timers[2].deadline = 255;
    expect_popped(&opened, NULL);
    close_dials(&opened);
}

TEST(check_finds_levels_that_do_not_fit)
{
    struct damage_case damage;
    struct elapse_dials *dials = &damage.opened.dials;

    make_case(&damage);
    dials->levels++;
    expect_damage(&damage, 9);
    dials->coarsest = dials->finest;
    expect_damage(&damage, 9);
    for (struct elapse__dials_level *level = dials->finest; level != NULL; level = level->coarser) {
        level->width++;
        expect_damage(&damage, 9);
        level->span--;
        expect_damage(&damage, 9);
        level->slots++;
        expect_damage(&damage, 9);
        level->slots = 1;
        expect_damage(&damage, 9);
        level->number++;
        expect_damage(&damage, 9);
    }
    end_case(&damage);
}

TEST_MAIN("dials_check")
