/*
 * Tests a journal that can never clean again, because its owner fails to copy live records.
 * Commands must not wait for ever.
 */
#include "fixture.h"

#include <stdatomic.h>

#include "../../../src/queue/queue.h"

static atomic_uint asked;

/* In place of that of the library: there is never enough memory for a copy. */
enum elapse__queue_result elapse__queue_clean(struct elapse__queue *jobs,
                                              struct elapse__queue_now now, uint64_t position,
                                              const struct elapse__record *record)
{
    (void)jobs;
    (void)now;
    (void)position;
    (void)record;
    asked++;
    return ELAPSE__QUEUE_NO_MEMORY;
}

static enum elapse_error put_and_cancel(unsigned number)
{
    static const char body[1000];
    char key[16];
    struct elapse_put put = {.tube = "tube",
                             .key = key,
                             .key_bytes = (size_t)snprintf(key, sizeof key, "%u", number),
                             .body = body,
                             .body_bytes = sizeof body,
                             .delay_ms = 3600000};
    enum elapse_error error = elapse_queue_put(queue, &put, NULL);

    return error == ELAPSE_OK ? elapse_queue_cancel(queue, "tube", key, put.key_bytes, NULL)
                              : error;
}

STORE_TEST(commands_answer_when_cleaning_fails_for_good)
{
    enum elapse_error error = ELAPSE_OK;
    struct elapse_reserved job;
    struct elapse_job found;

    put_job("stays", "x", 3600000);
    for (unsigned i = 0; i < 10000 && error == ELAPSE_OK; i++)
        error = put_and_cancel(i);
    assert_true(asked > 0);
    assert_int_equal(error, ELAPSE_ERROR_MEMORY);
    assert_int_equal(elapse_queue_look_up(queue, "tube", "stays", 5, &found), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_ERROR_NOTHING_DUE);
}

TEST_MAIN("store_stuck")
