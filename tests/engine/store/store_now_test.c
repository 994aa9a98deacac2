/*
 * Tests the present time of a queue: how the difference between its two clocks is chosen. The test
 * sets the clocks.
 */
#include "../../../src/engine/store/now.h"
#include "../../../src/os/os.h"
#include "../../support/test.h"

#define NS_PER_MS INT64_C(1000000)

static struct elapse__os clocks;
static int64_t boot_ns, difference_ns;
static int64_t wait_ns; /* between the next two readings; they are one wait */

static uint64_t read_clock(enum elapse__os_clock clock)
{
    int64_t waited_ns = 0;

    if (clock == ELAPSE__OS_BOOTTIME)
        return (uint64_t)boot_ns;
    if (clock != ELAPSE__OS_WALL_CLOCK)
        return elapse__os_linux.clock_ns(clock);
    waited_ns = wait_ns;
    boot_ns += waited_ns;
    wait_ns = 0;
    return (uint64_t)(boot_ns + difference_ns);
}

static int set_up(void **state)
{
    (void)state;
    clocks = elapse__os_linux;
    clocks.clock_ns = read_clock;
    elapse__os = &clocks;
    boot_ns = 5000 * NS_PER_MS + 123456;
    difference_ns = INT64_C(1700000000000) * NS_PER_MS;
    wait_ns = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    elapse__os = &elapse__os_linux;
    return 0;
}

/* Returns how far the wall clock of queues is behind the real one, in nanoseconds. */
static int64_t behind_ns(void)
{
    struct elapse__queue_now now = elapse__store_now();

    return (int64_t)elapse__store_wall_alarm_ns(now.wall_ms) - now.wall_ms * NS_PER_MS;
}

static int64_t whole_difference_ms(void)
{
    struct elapse__queue_now now = elapse__store_now();

    return now.wall_ms - (int64_t)now.boot_ms;
}

TEST_WITH(the_wall_clock_of_a_queue_is_little_more_than_a_millisecond_behind, set_up, tear_down)
{
    for (int64_t part_ns = 0; part_ns < NS_PER_MS; part_ns += 997) {
        difference_ns += 10 * NS_PER_MS + 997; /* the wall clock is set */
        int64_t behind = behind_ns();
        assert_in_range(behind, NS_PER_MS / 20, NS_PER_MS / 20 + NS_PER_MS - 1);
    }
}

TEST_WITH(the_difference_of_the_clocks_stays_while_the_wall_clock_goes_a_little_wrong, set_up,
          tear_down)
{
    difference_ns += 20 * NS_PER_MS + NS_PER_MS / 2;
    int64_t before_ms = whole_difference_ms();

    difference_ns += NS_PER_MS;
    assert_int_equal(whole_difference_ms(), before_ms);
    difference_ns -= NS_PER_MS + NS_PER_MS / 3;
    assert_int_equal(whole_difference_ms(), before_ms);
    difference_ns -= NS_PER_MS;
    assert_int_equal(whole_difference_ms(), before_ms - 1);
}

TEST_WITH(a_thread_that_waits_between_two_readings_changes_no_difference, set_up, tear_down)
{
    difference_ns += 30 * NS_PER_MS + NS_PER_MS / 2;
    int64_t before_ms = whole_difference_ms();

    wait_ns = 7 * NS_PER_MS;
    assert_int_equal(whole_difference_ms(), before_ms);
    /* Nor when the difference is chosen. */
    difference_ns += 40 * NS_PER_MS;
    wait_ns = 7 * NS_PER_MS;
    assert_int_equal(whole_difference_ms(), before_ms + 40);
    assert_int_equal(whole_difference_ms(), before_ms + 40);
}

TEST_MAIN("store_now")
