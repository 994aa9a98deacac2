/*
 * Tests the store in three cases: the disk fails, a time is at its limit, and the store closes
 * while the journal works.
 */
#include "fixture.h"
#include "intercept.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static struct elapse_answer put_later(const char *key)
{
    struct elapse_put put = {
        .tube = "tube",
        .key = key,
        .key_bytes = strlen(key),
        .body = "0123456789012345678901234567890123456789",
        .body_bytes = 40,
        .delay_ms = 3600000,
    };
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    return answer;
}

static void *close_queue(void *error)
{
    *(enum elapse_error *)error = elapse_queue_close(queue);
    return NULL;
}

/* Waits until no more syncs come: spare files are made at first. */
static void wait_for_rest(void)
{
    unsigned before;

    do {
        before = intercept_count_syncs();
        (void)usleep(400000);
    } while (intercept_count_syncs() != before);
}

STORE_TEST(every_call_answers_broken_after_a_failed_sync)
{
    struct elapse_reserved job;
    struct elapse_job found;

    put_job("before", "x", 3600000);
    wait_for_rest(); /* if the sync of a spare file failed, the put itself would be refused */
    intercept_syncs(true);
    struct elapse_answer answer = put_later("after");
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS),
                         ELAPSE_ERROR_BROKEN);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_ERROR_BROKEN);
    assert_int_equal(elapse_queue_cancel(queue, "tube", "before", 6, NULL), ELAPSE_ERROR_BROKEN);
    assert_int_equal(elapse_queue_close(queue), ELAPSE_ERROR_BROKEN);
    intercept_syncs(false);
    queue = open_small();
    assert_int_equal(elapse_queue_look_up(queue, "tube", "before", 6, &found), ELAPSE_OK);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Puts until that is refused. */
static enum elapse_error put_until_refused(void)
{
    struct elapse_put put = {.tube = "tube", .body = "x", .body_bytes = 1, .delay_ms = 3600000};
    enum elapse_error error = ELAPSE_OK;

    for (unsigned i = 0; i < 100000 && error == ELAPSE_OK; i++)
        error = elapse_queue_put(queue, &put, NULL);
    return error;
}

/* Nothing but the refused puts themselves can tell the journal to look at the disk again: all else
 * rests meanwhile. */
STORE_TEST(puts_go_on_when_a_full_disk_has_room_again)
{
    const struct timespec moment = {.tv_nsec = 50000000};
    struct elapse_put put = {.tube = "tube", .body = "x", .body_bytes = 1, .delay_ms = 3600000};
    enum elapse_error error;

    intercept_space(true);
    assert_int_equal(put_until_refused(), ELAPSE_ERROR_DISK_FULL);
    wait_for_rest();
    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_ERROR_DISK_FULL);
    intercept_space(false);
    for (unsigned i = 0; i < 600; i++) {
        error = elapse_queue_put(queue, &put, NULL);
        if (error == ELAPSE_OK)
            break;
        assert_int_equal(error, ELAPSE_ERROR_DISK_FULL);
        nanosleep(&moment, NULL);
    }
    assert_int_equal(error, ELAPSE_OK);
}

STORE_TEST(a_time_beyond_the_alarms_does_not_go_off)
{
    struct elapse_put put = {.tube = "tube", .due = ELAPSE_DUE_AT};
    const int64_t year_2560_ms = INT64_C(18618681600000);

    put.at_ms = year_2560_ms;
    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    unsigned before = intercept_count_timers();
    (void)usleep(50000); /* a thread that goes round does so a thousand times */
    assert_in_range(intercept_count_timers() - before, 0, 10);
}

STORE_TEST(close_ends_while_the_journal_cleans)
{
    enum elapse_error error = ELAPSE_ERROR_SYSTEM;
    pthread_t thread;
    char key[32];
    struct elapse_job job;

    put_later("stays");
    intercept_reading(4096, 0);
    for (unsigned i = 0; i < 100000 && !intercept_is_held(); i++) {
        snprintf(key, sizeof key, "%u", i);
        put_later(key);
        assert_int_equal(elapse_queue_cancel(queue, "tube", key, strlen(key), NULL), ELAPSE_OK);
    }
    assert_true(intercept_is_held());
    assert_int_equal(pthread_create(&thread, NULL, close_queue, &error), 0);
    (void)usleep(300000); /* most likely all is durable by now, and the commit thread has ended */
    assert_true(intercept_release());
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(error, ELAPSE_OK);
    queue = open_small();
    assert_int_equal(elapse_queue_look_up(queue, "tube", "stays", 5, &job), ELAPSE_OK);
}

STORE_TEST(a_sync_follows_within_the_interval)
{
    struct elapse_queue_options options;
    uint64_t least_ms = UINT64_MAX;

    assert_int_equal(elapse_queue_close(queue), ELAPSE_OK);
    elapse_queue_options_init(&options);
    options.segment_bytes = 64 << 10;
    options.durability = ELAPSE_DURABILITY_INTERVAL;
    options.interval_ms = 1;
    assert_int_equal(elapse_queue_open(directory, &options, &queue, NULL), ELAPSE_OK);
    wait_for_rest();
    for (unsigned round = 0; round < 10; round++) {
        put_job(NULL, "x", 3600000);
        unsigned before = intercept_count_syncs();
        uint64_t begin_ms = now_ms();
        while (intercept_count_syncs() == before)
            (void)usleep(200);
        uint64_t taken_ms = now_ms() - begin_ms;
        least_ms = taken_ms < least_ms ? taken_ms : least_ms;
    }
    /* Without regard to the interval it is 100 ms each time. On a busy machine one is quick. */
    assert_in_range(least_ms, 0, 50);
}

TEST_MAIN("store_fault")
