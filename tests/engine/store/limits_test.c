/*
 * Tests each limit of <elapse/queue.h> at its edge. The last accepted value works, also after a
 * restart. The first value beyond the limit is refused, with an answer that says why.
 */
#include "fixture.h"

#include "directory.h"

enum { HOUR_MS = 3600000, BODY_MAX = 4096 /* of the fixture */ };

static char letters[1 << 15];

static void fill_letters(void)
{
    for (size_t i = 0; i < sizeof letters - 1; i++)
        letters[i] = (char)('a' + (i * 7 + i / 26) % 26);
}

static void put_is_refused(const struct elapse_put *put)
{
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_put(queue, put, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_non_null(answer.fault);
    assert_int_equal(answer.id, 0);
}

static void need_put(const struct elapse_put *put)
{
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_put(queue, put, &answer), ELAPSE_OK);
    commit(&answer);
}

static void need_body(const char *tube, size_t bytes)
{
    struct elapse_reserved job;

    assert_int_equal(elapse_queue_reserve(queue, tube, 10000, &job), ELAPSE_OK);
    assert_int_equal(job.body_bytes, bytes);
    assert_memory_equal(job.body, letters, bytes);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
}

STORE_TEST(the_longest_body)
{
    struct elapse_put put = {.tube = "tube", .body = letters, .body_bytes = BODY_MAX};

    need_put(&put);
    put.body_bytes++;
    put_is_refused(&put);
    reopen();
    need_body("tube", BODY_MAX);
}

STORE_TEST(the_longest_names)
{
    char tube[ELAPSE_TUBE_BYTES_MAX + 2] = "";
    struct elapse_put put = {
        .tube = tube,
        .key = letters,
        .key_bytes = ELAPSE_JOB_KEY_BYTES_MAX,
        .tag = letters,
        .tag_bytes = ELAPSE_JOB_KEY_BYTES_MAX,
        .token = letters,
        .token_bytes = ELAPSE_JOB_KEY_BYTES_MAX,
        .delay_ms = HOUR_MS,
    };
    struct elapse_answer answer;
    struct elapse_job job;

    memset(tube, 't', ELAPSE_TUBE_BYTES_MAX);
    need_put(&put);
    reopen();
    assert_int_equal(elapse_queue_look_up(queue, tube, letters, ELAPSE_JOB_KEY_BYTES_MAX, &job),
                     ELAPSE_OK);
    assert_string_equal(job.tube, tube);
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_KNOWN);
    assert_int_equal(answer.id, job.id);
    put.key_bytes++;
    put_is_refused(&put);
    put.key_bytes--;
    put.tag_bytes++;
    put_is_refused(&put);
    put.tag_bytes--;
    put.token_bytes++;
    put_is_refused(&put);
    put.token_bytes--;
    tube[ELAPSE_TUBE_BYTES_MAX] = 't';
    put_is_refused(&put);
    tube[0] = '\0';
    put_is_refused(&put);
}

STORE_TEST(the_life_of_a_token)
{
    struct elapse_put put = {
        .tube = "tube", .token = "a", .token_bytes = 1, .token_life_ms = 1000, .delay_ms = HOUR_MS};

    need_put(&put);
    put.token = "b";
    put.token_life_ms = 600000;
    need_put(&put);
    put.token = "c";
    put.token_life_ms++;
    put_is_refused(&put);
    put.token_life_ms = 999;
    put_is_refused(&put);
    put.token_life_ms = 0;
    need_put(&put);
}

STORE_TEST(the_longest_delay)
{
    struct elapse_put put = {.tube = "tube", .delay_ms = (uint64_t)ELAPSE_JOB_DELAY_MS_MAX};
    struct elapse_job job;
    uint64_t cursor = 0;

    need_put(&put);
    put.delay_ms++;
    put_is_refused(&put);
    reopen();
    size_t listed = elapse_queue_list(queue, NULL, &cursor, &job, 1);
    assert_int_equal(listed, 1);
    assert_int_equal(job.state, ELAPSE_JOB_DELAYED);
    assert_true(job.left_ms > (uint64_t)ELAPSE_JOB_DELAY_MS_MAX - HOUR_MS);
}

STORE_TEST(a_thousand_tubes_in_a_reserve)
{
    enum { TUBES = 1000 };
    static char names[TUBES + 1][8];
    static const char *tubes[TUBES + 1];
    struct elapse_reserved job;

    for (unsigned i = 0; i <= TUBES; i++) {
        snprintf(names[i], sizeof names[i], "t%u", i);
        tubes[i] = names[i];
    }
    struct elapse_put put = {.tube = names[TUBES - 1], .body = letters, .body_bytes = 1};
    need_put(&put);
    assert_int_equal(elapse_queue_reserve_any(queue, tubes, TUBES, 10000, &job), ELAPSE_OK);
    assert_string_equal(job.tube, names[TUBES - 1]);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_reserve_any(queue, tubes, TUBES + 1, 0, &job),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_queue_reserve_any(queue, tubes, 0, 0, &job), ELAPSE_ERROR_ARGUMENT);
}

/* 1,023 sets of ttr, retry and back-off have a number in the entry of a job; the others, and jobs
 * that had one of them, in a side record. */
STORE_TEST(more_sets_of_options_than_fit_into_entries)
{
    enum { SETS = 1023 + 200 };
    char key[16];
    struct elapse_put put = {.tube = "tube", .key = key, .delay_ms = HOUR_MS};
    struct elapse_answer answer;
    struct elapse_job job;

    for (unsigned i = 0; i < SETS; i++) {
        put.key_bytes = (size_t)snprintf(key, sizeof key, "%u", i);
        put.ttr_ms = 1000 + i;
        put.retry = i % 7;
        put.backoff_min_ms = put.backoff_max_ms = i;
        assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    }
    commit(&answer);
    for (unsigned i = 0; i < SETS; i += 2) {
        size_t bytes = (size_t)snprintf(key, sizeof key, "%u", i);
        assert_int_equal(elapse_queue_cancel(queue, "tube", key, bytes, NULL), ELAPSE_OK);
    }
    reopen();
    for (unsigned i = 1; i < SETS; i += 2) {
        size_t bytes = (size_t)snprintf(key, sizeof key, "%u", i);
        assert_int_equal(elapse_queue_look_up(queue, "tube", key, bytes, &job), ELAPSE_OK);
        assert_int_equal(job.ttr_ms, 1000 + i);
    }
}

/* Opens the queue of the fixture again, with these limits. */
static void open_with(const struct elapse_queue_options *options)
{
    struct elapse_queue_fault fault;

    assert_int_equal(elapse_queue_close(queue), ELAPSE_OK);
    if (elapse_queue_open(directory, options, &queue, &fault) != ELAPSE_OK)
        fail_msg("%s", fault.text);
}

STORE_TEST(the_last_token_job_and_tube)
{
    enum { MOST = 5 };
    struct elapse_queue_options options;
    struct elapse_put put = {.delay_ms = HOUR_MS, .token_bytes = 1};
    struct elapse_answer answer;
    const char *names[] = {"a", "b", "c", "d", "e", "f"};

    elapse_queue_options_init(&options);
    options.tokens_max = options.jobs_max = options.tubes_max = MOST;
    open_with(&options);
    for (unsigned i = 0; i < MOST; i++) {
        put.tube = put.token = names[i];
        need_put(&put);
    }
    put.tube = names[0];
    put.token = names[MOST];
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_LIMIT);
    put.token = names[MOST - 1];
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_KNOWN);
    options.jobs_max = MOST + 1;
    open_with(&options);
    put.token = names[MOST];
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_LIMIT);
    put.token = NULL;
    put.token_bytes = 0;
    put.tube = names[MOST];
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_LIMIT);
    put.tube = names[0];
    need_put(&put);
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_LIMIT);
}

/* Puts and acknowledges until the segment that the job was written to has been cleaned. */
static void churn(void)
{
    struct elapse_put put = {.tube = "churn", .body = letters, .body_bytes = 2000};

    for (unsigned i = 0; i < 60; i++) {
        need_put(&put);
        need_body("churn", put.body_bytes);
    }
}

STORE_TEST(the_largest_record_of_the_smallest_segment)
{
    char tube[ELAPSE_TUBE_BYTES_MAX + 1] = "";
    struct elapse_queue_options options;
    struct elapse_answer answer;
    struct elapse_put put = {
        .tube = tube,
        .body = letters,
        .key_bytes = ELAPSE_JOB_KEY_BYTES_MAX,
        .tag = letters,
        .tag_bytes = ELAPSE_JOB_KEY_BYTES_MAX,
        .retry = 3,
        .expire_ms = HOUR_MS,
    };

    memset(tube, 't', ELAPSE_TUBE_BYTES_MAX);
    assert_int_equal(elapse_queue_close(queue), ELAPSE_OK);
    directory_remove();
    directory = directory_make();
    elapse_queue_options_init(&options);
    options.segment_bytes = 16 << 10;
    options.body_bytes_max = 16 << 10;
    assert_int_equal(elapse_queue_open(directory, &options, &queue, NULL), ELAPSE_OK);
    size_t accepted = 0, refused = options.body_bytes_max;
    put.key = letters;
    while (accepted + 1 < refused) {
        put.body_bytes = (accepted + refused) / 2;
        enum elapse_error error = elapse_queue_put(queue, &put, &answer);
        if (error == ELAPSE_OK) {
            accepted = put.body_bytes;
            commit(&answer);
        } else {
            put_is_refused(&put);
            refused = put.body_bytes;
        }
    }
    assert_true(accepted >= 10000);
    churn();
    open_with(&options);
    churn();
    need_body(tube, accepted);
}

int main(void)
{
    fill_letters();
    return run_tests_of_file("limits");
}
