/*
 * Tests the time that a cluster gives to the queues of a process, in place of the wall clock. Once
 * it is given, no test of this program goes by the wall clock any more.
 */
#include "fixture.h"

#include <pthread.h>
#include <unistd.h>

#include "../../../src/engine/store/log.h"
#include "../../../src/engine/store/now.h"
#include "../../../src/engine/store/store.h"
#include "../../../src/os/os.h"

#define NS_PER_MS INT64_C(1000000)

enum { HOUR_MS = 3600 * 1000 };

static const char *const tube = "tube";

/* ---- which time it is; the test sets the clocks ---- */

static struct elapse__os clocks;
static int64_t boot_ns, wall_ns;

static uint64_t read_clock(enum elapse__os_clock clock)
{
    if (clock == ELAPSE__OS_BOOTTIME)
        return (uint64_t)boot_ns;
    return clock == ELAPSE__OS_WALL_CLOCK ? (uint64_t)wall_ns : elapse__os_linux.clock_ns(clock);
}

static int set_clocks(void **state)
{
    (void)state;
    clocks = elapse__os_linux;
    clocks.clock_ns = read_clock;
    elapse__os = &clocks;
    boot_ns = 5000 * NS_PER_MS + 123456;
    wall_ns = INT64_C(1700000000000) * NS_PER_MS + 654321;
    return 0;
}

static int forget_clocks(void **state)
{
    (void)state;
    elapse__os = &elapse__os_linux;
    return 0;
}

TEST_WITH(the_time_that_is_given_stays_when_the_wall_clock_is_set, set_clocks, forget_clocks)
{
    static const int64_t offsets_ms[] = {INT64_C(1700000000000), INT64_C(1600000000000), 0, -4000};
    static const int64_t steps_ns[] = {0, 1, HOUR_MS * NS_PER_MS, -HOUR_MS * NS_PER_MS};

    for (size_t i = 0; i < sizeof offsets_ms / sizeof *offsets_ms; i++) {
        elapse__store_set_time(offsets_ms[i]);
        for (size_t step = 0; step < sizeof steps_ns / sizeof *steps_ns; step++) {
            wall_ns += steps_ns[step];
            boot_ns += 7 * NS_PER_MS;
            struct elapse__queue_now now = elapse__store_now();
            assert_int_equal(now.boot_ms, boot_ns / NS_PER_MS);
            assert_int_equal(now.wall_ms, boot_ns / NS_PER_MS + offsets_ms[i]);
        }
    }
}

/* An alarm is by the wall clock, and rings when the time that is given has come. */
TEST_WITH(an_alarm_rings_at_the_time_that_is_given, set_clocks, forget_clocks)
{
    static const int64_t ahead_ms[] = {HOUR_MS, -HOUR_MS, 0, 1};
    int64_t right_ms = (wall_ns - boot_ns) / NS_PER_MS;

    for (size_t i = 0; i < sizeof ahead_ms / sizeof *ahead_ms; i++) {
        elapse__store_set_time(right_ms + ahead_ms[i]);
        int64_t due_ms = elapse__store_now().wall_ms + 2 * HOUR_MS;
        int64_t rings_ns = (int64_t)elapse__store_wall_alarm_ns(due_ms);
        boot_ns += rings_ns - wall_ns;
        wall_ns = rings_ns;
        assert_int_equal(elapse__store_now().wall_ms, due_ms);
        boot_ns -= NS_PER_MS;
        assert_int_equal(elapse__store_now().wall_ms, due_ms - 1);
        boot_ns += NS_PER_MS;
    }
}

/* ---- which jobs are due ---- */

static void *take(void *argument)
{
    struct elapse_reserved *job = argument;

    assert_int_equal(elapse_queue_reserve(queue, tube, ELAPSE_QUEUE_FOREVER_MS, job), ELAPSE_OK);
    return NULL;
}

static void wait_for_sleeper(void)
{
    bool sleeps = false;

    while (!sleeps) {
        (void)usleep(50);
        elapse__store_arrive(queue);
        sleeps = !elapse__ring_empty(&queue->sleepers);
        elapse__store_depart(queue);
    }
}

static void put_at(const char *body, int64_t at_ms)
{
    const struct elapse_put put = {.tube = tube,
                                   .body = body,
                                   .body_bytes = strlen(body),
                                   .due = ELAPSE_DUE_AT,
                                   .at_ms = at_ms};
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    commit(&answer);
}

static void set_time(int64_t offset_ms)
{
    elapse__store_set_time(offset_ms);
    elapse__store_time_was_set(queue);
}

/* If the queue did not look again, the taker would sleep for an hour. Then the test hangs, and ends
 * by its limit. */
STORE_TEST(a_queue_looks_again_when_its_time_is_set)
{
    struct elapse__queue_now now = elapse__store_now();
    int64_t offset_ms = now.wall_ms - (int64_t)now.boot_ms;
    struct elapse_reserved job;
    pthread_t taker;

    put_at("in an hour", now.wall_ms + HOUR_MS);
    assert_int_equal(pthread_create(&taker, NULL, take, &job), 0);
    wait_for_sleeper();
    set_time(offset_ms + HOUR_MS);
    assert_int_equal(pthread_join(taker, NULL), 0);
    assert_int_equal(job.body_bytes, strlen("in an hour"));
    elapse_reserved_free(&job);

    /* The time is set back: what would be due in ten minutes waits for an hour more. Until then the
     * put and its sync may take as long as they want. */
    put_at("in ten minutes", elapse__store_now().wall_ms + 600000);
    set_time(offset_ms);
    assert_int_equal(elapse_queue_reserve(queue, tube, 100, &job), ELAPSE_ERROR_NOTHING_DUE);
    set_time(offset_ms + HOUR_MS + 600000);
    assert_int_equal(elapse_queue_reserve(queue, tube, ELAPSE_QUEUE_FOREVER_MS, &job), ELAPSE_OK);
    assert_int_equal(job.body_bytes, strlen("in ten minutes"));
    elapse_reserved_free(&job);
}

TEST_MAIN("store_time")
