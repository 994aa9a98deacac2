/*
 * Tests opening and closing, and what can prevent either.
 */
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

STORE_TEST(a_second_open_of_the_directory_is_refused)
{
    struct elapse_queue_fault fault;
    struct elapse_queue *second;

    assert_int_equal(elapse_queue_open(directory, NULL, &second, &fault), ELAPSE_ERROR_IN_USE);
    assert_null(second);
    assert_non_null(strstr(fault.text, directory));
}

STORE_TEST(bad_options_are_refused)
{
    struct elapse_queue_options options;
    struct elapse_queue *second;

    elapse_queue_options_init(&options);
    options.segment_bytes = (16 << 10) - 1;
    assert_int_equal(elapse_queue_open(directory, &options, &second, NULL), ELAPSE_ERROR_ARGUMENT);
    options.segment_bytes = 8 << 10;
    assert_int_equal(elapse_queue_open(directory, &options, &second, NULL), ELAPSE_ERROR_ARGUMENT);
    elapse_queue_options_init(&options);
    options.body_bytes_max = ELAPSE_JOB_BODY_BYTES_MAX + 1;
    assert_int_equal(elapse_queue_open(directory, &options, &second, NULL), ELAPSE_ERROR_ARGUMENT);
    elapse_queue_options_init_sized(&options, sizeof options - 1);
    assert_int_equal(elapse_queue_open(directory, &options, &second, NULL), ELAPSE_ERROR_ABI);
}

STORE_TEST(a_directory_that_cannot_be_made)
{
    struct elapse_queue_fault fault;
    struct elapse_queue *second;

    assert_int_equal(elapse_queue_open("/dev/null/queue", NULL, &second, &fault),
                     ELAPSE_ERROR_SYSTEM);
    assert_non_null(strstr(fault.text, "/dev/null/queue"));
}

static void *wait_for_a_job(void *error)
{
    struct elapse_reserved job;

    *(enum elapse_error *)error =
        elapse_queue_reserve(queue, "tube", ELAPSE_QUEUE_FOREVER_MS, &job);
    return NULL;
}

STORE_TEST(close_ends_a_waiting_reserve)
{
    pthread_t thread;
    enum elapse_error error = ELAPSE_OK;

    assert_int_equal(pthread_create(&thread, NULL, wait_for_a_job, &error), 0);
    (void)usleep(20000); /* most likely it waits by now; if not, it must answer the same */
    assert_int_equal(elapse_queue_close(queue), ELAPSE_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(error, ELAPSE_ERROR_CLOSED);
    queue = open_small();
}

STORE_TEST(what_was_not_committed_is_durable_after_close)
{
    struct elapse_put put = {.tube = "tube", .key = "k", .key_bytes = 1, .delay_ms = 3600000};
    struct elapse_job job;

    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    reopen();
    assert_int_equal(elapse_queue_look_up(queue, "tube", "k", 1, &job), ELAPSE_OK);
}

STORE_TEST(commit_of_a_position_that_does_not_come_times_out)
{
    struct elapse_answer answer = put_job(NULL, "x", 5);
    assert_true(elapse_queue_durable(queue) >= answer.position);
    assert_int_equal(elapse_queue_commit(queue, answer.position, 0), ELAPSE_OK);
    assert_int_equal(elapse_queue_commit(queue, UINT64_MAX, 1), ELAPSE_ERROR_TIMEOUT);
}

STORE_TEST(a_flipped_byte_is_refused_by_name)
{
    struct elapse_queue_fault fault;
    struct elapse_queue *second;
    char path[512];
    unsigned char byte;

    put_job("k", "a body that is durable", 3600000);
    assert_int_equal(elapse_queue_close(queue), ELAPSE_OK);
    snprintf(path, sizeof path, "%s/journal/1.log", directory);
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    off_t offset = 20; /* in the header of the segment */
    assert_int_equal(pread(file, &byte, 1, offset), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, offset), 1);
    assert_int_equal(elapse_queue_open(directory, NULL, &second, &fault), ELAPSE_ERROR_DAMAGED);
    assert_ptr_equal(strstr(fault.text, path), fault.text);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, offset), 1);
    close(file);
    queue = open_small();
}

TEST_MAIN("store_life")
