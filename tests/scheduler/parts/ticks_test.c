/*
 * Tests nanoseconds and ticks: deadlines are rounded up, and the present is rounded down, for ticks
 * of any length and up to the edges of 64 bits.
 */
#include "part.h"

#include "ticks.h"

__extension__ typedef unsigned __int128 wide;

#define HOUR_NS (60 * 60 * UINT64_C(1000000000))

/* The lengths at the edges of the permitted range, and around a power of two. */
static const uint64_t tick_lengths_ns[] = {1, 2, 3, 1000, 1023, 1024, 1000000, HOUR_NS};
enum { TICK_LENGTHS = sizeof tick_lengths_ns / sizeof *tick_lengths_ns };

static void check(uint64_t time_ns, uint64_t tick_ns)
{
    uint64_t due = elapse__tick_of_deadline(time_ns, tick_ns);
    uint64_t begun = elapse__tick_of_now(time_ns, tick_ns);

    if (time_ns == ELAPSE_NEVER) {
        assert_int_equal(due, ELAPSE_NEVER);
        assert_true(begun < ELAPSE_NEVER);
        return;
    }
    /* The first tick that does not begin before the deadline. */
    assert_true((wide)due * tick_ns >= time_ns);
    assert_true(due == 0 || (wide)(due - 1) * tick_ns < time_ns);
    /* The last one that has begun. */
    assert_true((wide)begun * tick_ns <= time_ns);
    assert_true((wide)(begun + 1) * tick_ns > time_ns);
    /* So a timer that fires at `due` is not early, and less than a tick late. */
    assert_int_equal(due - begun, time_ns % tick_ns == 0 ? 0 : 1);
    assert_true(due < ELAPSE_NEVER);
}

TEST(any_time_is_rounded_as_it_should)
{
    struct random_source random = {.state = 1};

    for (unsigned round = 0; round < 1000000; round++) {
        uint64_t tick_ns = 1 + random_below(&random, HOUR_NS);

        if (random_one_in(&random, 2))
            tick_ns = tick_lengths_ns[random_below(&random, TICK_LENGTHS)];
        check(random_of_bits(&random, 64), tick_ns);
    }
}

TEST(both_edges_are_rounded_as_they_should)
{
    for (unsigned i = 0; i < TICK_LENGTHS; i++) {
        uint64_t tick_ns = tick_lengths_ns[i];
        uint64_t last_begin_ns = UINT64_MAX / tick_ns * tick_ns;

        for (uint64_t near = 0; near < 3; near++) {
            check(near, tick_ns);
            check(UINT64_MAX - near, tick_ns);
            check(tick_ns - 1 + near, tick_ns);
            check(last_begin_ns - 1 + (near < UINT64_MAX - last_begin_ns + 2 ? near : 0), tick_ns);
        }
    }
}

TEST(a_tick_begins_at_its_product)
{
    struct random_source random = {.state = 2};

    for (unsigned round = 0; round < 1000000; round++) {
        uint64_t tick_ns = tick_lengths_ns[random_below(&random, TICK_LENGTHS)];
        uint64_t tick = random_of_bits(&random, 64);
        uint64_t begins_ns = elapse__tick_begins_ns(tick, tick_ns);
        wide exact_ns = (wide)tick * tick_ns;

        assert_true(exact_ns > UINT64_MAX ? begins_ns == ELAPSE_NEVER : begins_ns == exact_ns);
        if (begins_ns != ELAPSE_NEVER)
            assert_int_equal(elapse__tick_of_now(begins_ns, tick_ns), tick);
    }
}

TEST(what_begins_beyond_the_end_of_time_never_begins)
{
    assert_int_equal(elapse__tick_begins_ns(ELAPSE_NEVER, 1), ELAPSE_NEVER);
    assert_int_equal(elapse__tick_begins_ns(ELAPSE_NEVER, 1000000), ELAPSE_NEVER);
    assert_int_equal(elapse__tick_begins_ns(ELAPSE_TIME_MAX, 1), ELAPSE_TIME_MAX);
    /* The last tick that a deadline can have begins beyond the end. */
    assert_int_equal(
        elapse__tick_begins_ns(elapse__tick_of_deadline(ELAPSE_TIME_MAX, 1000000), 1000000),
        ELAPSE_NEVER);
}

TEST_MAIN("ticks")
