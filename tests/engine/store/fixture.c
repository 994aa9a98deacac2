#include "fixture.h"

#include "directory.h"

struct elapse_queue *queue;
const char *directory;

struct elapse_queue *open_small(void)
{
    struct elapse_queue_options options;
    struct elapse_queue_fault fault;
    struct elapse_queue *opened;

    elapse_queue_options_init(&options);
    options.segment_bytes = 64 << 10;
    options.body_bytes_max = 4096;
    enum elapse_error error = elapse_queue_open(directory, &options, &opened, &fault);
    if (error != ELAPSE_OK)
        fail_msg("%s", fault.text);
    return opened;
}

int open_fixture(void **state)
{
    (void)state;
    directory = directory_make();
    queue = open_small();
    return 0;
}

int close_fixture(void **state)
{
    (void)state;
    assert_int_equal(elapse_queue_close(queue), ELAPSE_OK);
    queue = NULL;
    directory_remove();
    return 0;
}

void reopen(void)
{
    assert_int_equal(elapse_queue_close(queue), ELAPSE_OK);
    queue = open_small();
}

void commit(const struct elapse_answer *answer)
{
    assert_int_equal(elapse_queue_commit(queue, answer->position, ELAPSE_QUEUE_FOREVER_MS),
                     ELAPSE_OK);
}

struct elapse_answer put_job(const char *key, const char *body, uint64_t delay_ms)
{
    struct elapse_put put = {
        .tube = "tube",
        .key = key,
        .key_bytes = key == NULL ? 0 : strlen(key),
        .body = body,
        .body_bytes = strlen(body),
        .delay_ms = delay_ms,
    };
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    commit(&answer);
    return answer;
}
