/*
 * Tests what happens to jobs when the disk is slow, or cannot read their bodies.
 */
#include "fixture.h"
#include "intercept.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static void *reserve_one(void *job)
{
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, job), ELAPSE_OK);
    return NULL;
}

STORE_TEST(a_slow_reading_holds_up_nobody_else)
{
    struct elapse_reserved job;
    struct elapse_job found;
    pthread_t thread;

    struct elapse_answer answer = put_job("slow", "body", 0);
    intercept_reading(1, 0);
    assert_int_equal(pthread_create(&thread, NULL, reserve_one, &job), 0);
    assert_true(intercept_wait());
    put_job("other", "body", 3600000);
    assert_int_equal(elapse_queue_look_up_id(queue, answer.id, &found), ELAPSE_OK);
    assert_int_equal(found.state, ELAPSE_JOB_RESERVED);
    assert_true(intercept_release());
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(job.body_bytes, 4);
    assert_memory_equal(job.body, "body", 4);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
}

static void *reserve_none(void *error)
{
    struct elapse_reserved job;

    *(enum elapse_error *)error = elapse_queue_reserve(queue, "tube", 0, &job);
    return NULL;
}

STORE_TEST(a_job_cancelled_while_it_is_read_is_not_handed_out)
{
    enum elapse_error error = ELAPSE_OK;
    struct elapse_answer answer;
    struct elapse_job found;
    pthread_t thread;

    put_job("slow", "body", 0);
    intercept_reading(1, 0);
    assert_int_equal(pthread_create(&thread, NULL, reserve_none, &error), 0);
    assert_true(intercept_wait());
    assert_int_equal(elapse_queue_cancel(queue, "tube", "slow", 4, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_RUNNING);
    assert_true(intercept_release());
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(error, ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(elapse_queue_look_up_id(queue, answer.id, &found), ELAPSE_ERROR_GONE);
}

/* Puts a job that no other one shares a place with that is left alone. */
static struct elapse_answer put_large(char letter)
{
    static char body[4096];
    struct elapse_put put = {.tube = "tube", .body = body, .body_bytes = sizeof body};
    struct elapse_answer answer;

    memset(body, letter, sizeof body);
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    commit(&answer);
    return answer;
}

static void reserve_first_byte(char letter)
{
    struct elapse_reserved job;

    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(*(const char *)job.body, letter);
    assert_int_equal(job.attempt, 1);
    elapse_reserved_free(&job);
}

STORE_TEST(a_job_that_cannot_be_read_does_not_block_its_tube)
{
    struct elapse_job found;

    struct elapse_answer answer = put_large('a');
    put_large('b');
    intercept_reading(1, EIO);
    reserve_first_byte('b');
    /* A failed read is no verdict: nothing has happened to the job. */
    assert_int_equal(elapse_queue_look_up_id(queue, answer.id, &found), ELAPSE_OK);
    assert_int_not_equal(found.state, ELAPSE_JOB_BURIED);
    assert_int_equal(found.attempts, 0);
    reserve_first_byte('a');
}

STORE_TEST(a_disk_that_cannot_read_loses_no_job)
{
    enum { JOBS = 8 };
    struct elapse_reserved job;
    struct elapse_queue_counts counts;

    for (unsigned i = 0; i < JOBS; i++)
        put_large((char)('a' + i));
    intercept_readings(true);
    /* It does not say that there is no job. */
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_ERROR_SYSTEM);
    assert_int_equal(elapse_queue_reserve(queue, "empty", 0, &job), ELAPSE_ERROR_NOTHING_DUE);
    intercept_readings(false);
    bool seen[JOBS] = {false};
    for (unsigned i = 0; i < JOBS; i++) {
        assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
        seen[*(const char *)job.body - 'a'] = true;
        assert_int_equal(job.attempt, 1);
        elapse_reserved_free(&job);
    }
    for (unsigned i = 0; i < JOBS; i++)
        assert_true(seen[i]);
    assert_int_equal(elapse_queue_statistics(queue, NULL, &counts), ELAPSE_OK);
    assert_int_equal(counts.buried, 0);
}

STORE_TEST(a_file_is_not_used_again_while_it_is_read)
{
    struct elapse_put put = {
        .tube = "other", .key = "key", .key_bytes = 3, .body = "0123456789", .body_bytes = 10};
    struct elapse_queue_counts statistics;
    struct elapse_reserved job;
    pthread_t thread;

    put.delay_ms = 3600000;
    put_job("slow", "body", 0);
    intercept_reading(1, 0);
    assert_int_equal(pthread_create(&thread, NULL, reserve_one, &job), 0);
    assert_true(intercept_wait());
    for (unsigned i = 0; i < 4000; i++) /* 600 KB, in files of 64 KiB */
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    for (unsigned looks = 0; looks < 60000; looks++) { /* files are cleaned in the background */
        assert_int_equal(elapse_queue_statistics(queue, NULL, &statistics), ELAPSE_OK);
        if (statistics.segments < 8)
            break;
        (void)usleep(1000);
    }
    assert_true(statistics.segments < 8);
    assert_true(intercept_release());
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_memory_equal(job.body, "body", 4);
    elapse_reserved_free(&job);
}

static void *reserve_now(void *error)
{
    struct elapse_reserved job;

    *(enum elapse_error *)error = elapse_queue_reserve(queue, "tube", 0, &job);
    elapse_reserved_free(&job);
    return NULL;
}

static void *close_queue(void *error)
{
    *(enum elapse_error *)error = elapse_queue_close(queue);
    return NULL;
}

STORE_TEST(close_waits_for_a_call_under_way)
{
    enum elapse_error reserved = ELAPSE_ERROR_SYSTEM, closed = ELAPSE_ERROR_SYSTEM;
    pthread_t reserver, closer;

    put_job("slow", "body", 0);
    intercept_reading(1, 0);
    assert_int_equal(pthread_create(&reserver, NULL, reserve_now, &reserved), 0);
    assert_true(intercept_wait());
    assert_int_equal(pthread_create(&closer, NULL, close_queue, &closed), 0);
    (void)usleep(300000); /* a close that does not wait has released everything by now */
    assert_true(intercept_release());
    assert_int_equal(pthread_join(reserver, NULL), 0);
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_int_equal(reserved, ELAPSE_OK);
    assert_int_equal(closed, ELAPSE_OK);
    queue = open_small();
}

TEST_MAIN("store_read")
