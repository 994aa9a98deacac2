/*
 * Arrivals as programs use them: a job that gathers what others do, on files and with threads.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

#define HOUR_MS UINT64_C(3600000)

/* Puts the job "sum", which waits for so many arrivals, and for so long (0: without end). */
static struct elapse_answer put_gatherer(uint32_t await, uint64_t delay_ms)
{
    const struct elapse_put put = {.tube = "tube",
                                   .body = "all",
                                   .body_bytes = 3,
                                   .key = "sum",
                                   .key_bytes = 3,
                                   .delay_ms = delay_ms,
                                   .await = await};
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    return answer;
}

static struct elapse_answer arrive(uint32_t count, const char *token)
{
    const struct elapse_arrival arrival = {.tube = "tube",
                                           .key = "sum",
                                           .key_bytes = 3,
                                           .token = token,
                                           .token_bytes = token == NULL ? 0 : strlen(token),
                                           .count = count};
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_arrive(queue, &arrival, &answer), ELAPSE_OK);
    return answer;
}

static struct elapse_job gatherer(void)
{
    struct elapse_job job;

    assert_int_equal(elapse_queue_look_up(queue, "tube", "sum", 3, &job), ELAPSE_OK);
    return job;
}

/* A token that is there has bytes, and an arrival names a tube and a key, as a put does. */
STORE_TEST(what_is_wrong_with_an_arrival_is_said)
{
    static const char token[] = "";
    struct elapse_put put = {.tube = "tube", .token = token};
    struct elapse_arrival arrival = {
        .tube = "tube", .key = "sum", .key_bytes = 3, .token = token, .token_bytes = 0};
    struct elapse_change changes[] = {{.verb = ELAPSE_CHANGE_ARRIVE, .arrival = &arrival},
                                      {.verb = ELAPSE_CHANGE_PUT, .put = &put}};
    struct elapse_answer answer;

    (void)put_gatherer(3, 0);
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_string_equal(answer.fault, "a token has 1 to 250 bytes");
    assert_int_equal(elapse_queue_arrive(queue, &arrival, NULL), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_queue_arrive(queue, &arrival, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_string_equal(answer.fault, "a token has 1 to 250 bytes");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(elapse_queue_transact(queue, &changes[i], 1, NULL, &answer),
                         ELAPSE_ERROR_ARGUMENT);
        assert_string_equal(answer.fault, "a token has 1 to 250 bytes");
    }
    arrival.token = NULL;
    arrival.tube = "";
    assert_int_equal(elapse_queue_arrive(queue, &arrival, &answer), ELAPSE_ERROR_ARGUMENT);
    arrival.tube = "tube";
    arrival.key_bytes = ELAPSE_JOB_KEY_BYTES_MAX + 1;
    assert_int_equal(elapse_queue_arrive(queue, &arrival, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(gatherer().await, 3);
}

/* A worker that has a job ends it after the stop as it would before: alone, or in a transaction. */
STORE_TEST(a_transaction_without_a_put_runs_after_the_stop)
{
    const struct elapse_put work = {.tube = "work", .body = "b", .body_bytes = 1};
    const struct elapse_arrival arrival = {.tube = "tube", .key = "sum", .key_bytes = 3};
    struct elapse_reserved reserved;

    (void)put_gatherer(3, 0);
    assert_int_equal(elapse_queue_put(queue, &work, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "work", ELAPSE_QUEUE_FOREVER_MS, &reserved),
                     ELAPSE_OK);
    const struct elapse_change changes[] = {
        {.verb = ELAPSE_CHANGE_LEASED, .id = reserved.id, .lease = reserved.lease},
        {.verb = ELAPSE_CHANGE_ACK, .id = reserved.id, .lease = reserved.lease},
        {.verb = ELAPSE_CHANGE_ARRIVE, .arrival = &arrival},
        {.verb = ELAPSE_CHANGE_PUT, .put = &work}};
    elapse_queue_stop(queue);
    assert_int_equal(elapse_queue_transact(queue, changes, 4, NULL, NULL), ELAPSE_ERROR_CLOSED);
    assert_int_equal(gatherer().await, 3);
    assert_int_equal(elapse_queue_transact(queue, changes, 3, NULL, NULL), ELAPSE_OK);
    assert_int_equal(gatherer().await, 2);
    elapse_reserved_free(&reserved);
}

STORE_TEST(a_gatherer_is_ready_when_all_have_arrived)
{
    struct elapse_answer answer = put_gatherer(3, 0);
    struct elapse_reserved reserved;

    assert_int_equal(answer.result, ELAPSE_RESULT_SCHEDULED);
    assert_int_equal(answer.left, 0);
    assert_int_equal(gatherer().state, ELAPSE_JOB_DELAYED);
    assert_true(gatherer().waits);
    assert_false(gatherer().has_due);
    assert_int_equal(gatherer().due_ms, 0);
    assert_int_equal(gatherer().await, 3);

    answer = arrive(0, NULL);
    assert_int_equal(answer.result, ELAPSE_RESULT_DONE);
    assert_int_equal(answer.left, 2);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &reserved), ELAPSE_ERROR_NOTHING_DUE);
    commit(&answer);
    reopen();
    assert_int_equal(gatherer().await, 2);
    answer = arrive(UINT32_MAX, NULL);
    assert_int_equal(answer.left, 0);
    assert_int_equal(answer.id, gatherer().id);
    assert_int_equal(gatherer().state, ELAPSE_JOB_READY);
    assert_false(gatherer().waits);
    assert_true(gatherer().has_due);
    assert_int_equal(arrive(1, NULL).result, ELAPSE_RESULT_GONE);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &reserved), ELAPSE_OK);
    assert_int_equal(reserved.await, 0);
    elapse_reserved_free(&reserved);
}

STORE_TEST(a_put_again_keeps_the_count_unless_it_replaces)
{
    struct elapse_put put = {.tube = "tube", .key = "sum", .key_bytes = 3, .await = 2};
    struct elapse_answer answer;

    (void)put_gatherer(2, 0);
    (void)arrive(1, NULL);
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_KEPT);
    assert_int_equal(gatherer().await, 1);
    put.if_key = ELAPSE_IF_KEY_REPLACE;
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_REPLACED);
    assert_int_equal(gatherer().await, 2);
    put.if_key = ELAPSE_IF_KEY_FAIL;
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_KEY_PENDING);
    /* One that waits for nothing takes the place, as ever. */
    put.if_key = ELAPSE_IF_KEY_DEFAULT;
    put.await = 0;
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_REPLACED);
    assert_int_equal(gatherer().state, ELAPSE_JOB_READY);
}

STORE_TEST(a_token_counts_once)
{
    struct elapse_answer answer;

    (void)put_gatherer(3, 0);
    assert_int_equal(arrive(1, "first").left, 2);
    answer = arrive(2, "first");
    assert_int_equal(answer.result, ELAPSE_RESULT_KNOWN);
    assert_int_equal(answer.left, 2);
    commit(&answer);
    reopen();
    assert_int_equal(arrive(1, "first").result, ELAPSE_RESULT_KNOWN);
    assert_int_equal(arrive(1, "second").left, 1);
    assert_int_equal(arrive(1, "third").left, 0);
    answer = arrive(1, "third");
    assert_int_equal(answer.result, ELAPSE_RESULT_KNOWN);
    assert_int_equal(answer.left, 0);
    assert_int_equal(arrive(1, "fourth").result, ELAPSE_RESULT_GONE);
}

STORE_TEST(at_its_due_time_a_gatherer_is_handed_out_with_what_is_missing)
{
    struct elapse_reserved reserved;

    (void)put_gatherer(3, HOUR_MS);
    assert_true(gatherer().has_due);
    assert_true(gatherer().left_ms > HOUR_MS - 60000);
    assert_int_equal(arrive(1, NULL).left, 2);
    const struct elapse_due_time now = {.due = ELAPSE_DUE_IN};
    struct elapse_answer answer;
    assert_int_equal(elapse_queue_reschedule(queue, "tube", "sum", 3, &now, &answer), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &reserved), ELAPSE_OK);
    assert_int_equal(reserved.await, 2);
    assert_int_equal(arrive(1, NULL).result, ELAPSE_RESULT_GONE);
    elapse_reserved_free(&reserved);
}

STORE_TEST(a_piece_ends_and_arrives_in_one_transaction)
{
    const struct elapse_arrival arrival = {.tube = "tube", .key = "sum", .key_bytes = 3};
    struct elapse_change_answer answers[3];
    struct elapse_reserved piece;
    struct elapse_answer answer;

    (void)put_gatherer(2, 0);
    put_job("piece", "x", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &piece), ELAPSE_OK);
    const struct elapse_change changes[] = {
        {.verb = ELAPSE_CHANGE_LEASED, .id = piece.id, .lease = piece.lease},
        {.verb = ELAPSE_CHANGE_ACK, .id = piece.id, .lease = piece.lease},
        {.verb = ELAPSE_CHANGE_ARRIVE, .arrival = &arrival},
    };
    assert_int_equal(elapse_queue_transact(queue, changes, 3, answers, &answer), ELAPSE_OK);
    assert_int_equal(answers[2].error, ELAPSE_OK);
    assert_int_equal(answers[2].result, ELAPSE_RESULT_DONE);
    assert_int_equal(answers[2].left, 1);
    assert_int_equal(answers[2].id, gatherer().id);
    assert_int_equal(elapse_queue_transact(queue, changes, 3, answers, &answer), ELAPSE_ERROR_GONE);
    assert_int_equal(gatherer().await, 1);
    /* Nothing waits under this key: that stops no other change. */
    const struct elapse_arrival nobody = {.tube = "tube", .key = "none", .key_bytes = 4};
    const struct elapse_change others[] = {
        {.verb = ELAPSE_CHANGE_ARRIVE, .arrival = &nobody},
        {.verb = ELAPSE_CHANGE_ARRIVE, .arrival = &arrival},
    };
    assert_int_equal(elapse_queue_transact(queue, others, 2, answers, &answer), ELAPSE_OK);
    assert_int_equal(answers[0].error, ELAPSE_OK);
    assert_int_equal(answers[0].result, ELAPSE_RESULT_GONE);
    assert_int_equal(answers[1].left, 0);
    assert_int_equal(gatherer().state, ELAPSE_JOB_READY);
    const struct elapse_change wrong = {.verb = ELAPSE_CHANGE_ARRIVE};
    assert_int_equal(elapse_queue_transact(queue, &wrong, 1, answers, &answer),
                     ELAPSE_ERROR_ARGUMENT);
    assert_string_equal(answer.fault, "the arrival of a change is NULL");
    const struct elapse_change beyond = {.verb =
                                             (enum elapse_change_verb)(ELAPSE_CHANGE_ARRIVE + 1)};
    assert_int_equal(elapse_queue_transact(queue, &beyond, 1, answers, &answer),
                     ELAPSE_ERROR_ARGUMENT);
    elapse_reserved_free(&piece);
}

STORE_TEST(a_failure_in_a_transaction_keeps_its_error)
{
    static const char text[] = "no such image";
    struct elapse_change_answer answers[1];
    struct elapse_reserved job;
    struct elapse_content content;
    struct elapse_answer answer;

    put_job("key", "x", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    const struct elapse_change fails = {.verb = ELAPSE_CHANGE_BURY,
                                        .id = job.id,
                                        .lease = job.lease,
                                        .error = text,
                                        .error_bytes = sizeof text - 1};
    assert_int_equal(elapse_queue_transact(queue, &fails, 1, answers, &answer), ELAPSE_OK);
    assert_int_equal(answers[0].error, ELAPSE_OK);
    commit(&answer);
    assert_int_equal(elapse_queue_peek(queue, job.id, &content), ELAPSE_OK);
    assert_int_equal(content.error_bytes, sizeof text - 1);
    assert_memory_equal(content.error, text, sizeof text - 1);
    elapse_content_free(&content);
    elapse_reserved_free(&job);
}

/* Each put or arrival is refused, and says why. */
STORE_TEST(what_cannot_be_is_refused)
{
    char long_token[ELAPSE_JOB_KEY_BYTES_MAX + 1];
    struct elapse_answer answer;
    const struct elapse_put puts[] = {
        {.tube = "tube", .await = 1},
        {.tube = "tube",
         .key = "k",
         .key_bytes = 1,
         .await = 1,
         .due = ELAPSE_DUE_EVERY,
         .period_ms = 1},
        {.tube = "tube",
         .key = "k",
         .key_bytes = 1,
         .await = 1,
         .due = ELAPSE_DUE_CRON,
         .cron = "* * * * *"},
        {.tube = "tube",
         .key = "k",
         .key_bytes = 1,
         .await = 1,
         .delay_ms = 1,
         .debounce_max_ms = 1,
         .if_key = ELAPSE_IF_KEY_DEBOUNCE},
    };

    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        assert_int_equal(elapse_queue_put(queue, &puts[i], &answer), ELAPSE_ERROR_ARGUMENT);
        assert_non_null(answer.fault);
    }
    memset(long_token, 't', sizeof long_token);
    struct elapse_arrival arrival = {.tube = "tube",
                                     .key = "sum",
                                     .key_bytes = 3,
                                     .token = long_token,
                                     .token_bytes = sizeof long_token};
    (void)put_gatherer(1, 0);
    assert_int_equal(elapse_queue_arrive(queue, &arrival, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_non_null(answer.fault);
    arrival.token_bytes = sizeof long_token - 1;
    arrival.token_life_ms = 999;
    assert_int_equal(elapse_queue_arrive(queue, &arrival, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(gatherer().await, 1);
    arrival.token_life_ms = 1000;
    assert_int_equal(elapse_queue_arrive(queue, &arrival, &answer), ELAPSE_OK);
    assert_int_equal(gatherer().state, ELAPSE_JOB_READY);
}

/* ---- threads ---- */

enum { THREADS = 8, PIECES = 60 };

static _Atomic uint32_t counted;

static void *send_twice(void *argument)
{
    const int *thread = argument;

    for (int i = 0; i < PIECES; i++) {
        char token[32];
        (void)snprintf(token, sizeof token, "%d/%d", *thread, i);
        for (int again = 0; again < 2; again++)
            if (arrive(1, token).result == ELAPSE_RESULT_DONE)
                (void)atomic_fetch_add(&counted, 1);
    }
    return NULL;
}

static void *take_one(void *argument)
{
    struct elapse_reserved *job = argument;

    assert_int_equal(elapse_queue_reserve(queue, "tube", ELAPSE_QUEUE_FOREVER_MS, job), ELAPSE_OK);
    return NULL;
}

/* A worker waits for the gatherer before anything has arrived. */
STORE_TEST(many_threads_release_a_gatherer_once)
{
    pthread_t threads[THREADS];
    pthread_t worker;
    int numbers[THREADS];
    struct elapse_reserved job;

    atomic_store(&counted, 0);
    (void)put_gatherer(THREADS * PIECES, 0);
    assert_int_equal(pthread_create(&worker, NULL, take_one, &job), 0);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, send_twice, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(pthread_join(worker, NULL), 0);
    assert_int_equal(atomic_load(&counted), THREADS * PIECES);
    assert_int_equal(job.await, 0);
    assert_int_equal(job.attempt, 1);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_ERROR_NOTHING_DUE);
}

TEST_MAIN("store_arrive")
