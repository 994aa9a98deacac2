/*
 * Tests workers that wait. Each job finds a worker, even if the tubes of the workers overlap.
 * Several jobs come at the same time. Waiting ends before the queue ends.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const char *const tube = "tube";

/* ---- several at once ---- */

STORE_TEST(reserve_many_takes_ready_jobs_in_order)
{
    static const char *const tubes[] = {"one", "two"};
    struct elapse_put put = {.tube = "one", .body = "b", .body_bytes = 1};
    struct elapse_reserved jobs[10];
    struct elapse_answer answer;
    size_t count;

    for (uint32_t i = 0; i < 12; i++) {
        put.tube = tubes[i % 2];
        put.priority = 12 - i;
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    }
    assert_int_equal(elapse_queue_reserve_many(queue, tubes, 2, 10000, jobs, 10, &count),
                     ELAPSE_OK);
    assert_int_equal(count, 10);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(jobs[i].priority, i + 1);
        assert_string_equal(jobs[i].tube, tubes[(12 - jobs[i].priority) % 2]);
        assert_int_equal(jobs[i].body_bytes, 1);
        assert_int_equal(jobs[i].attempt, 1);
        assert_int_equal(elapse_queue_ack(queue, jobs[i].id, jobs[i].lease, &answer), ELAPSE_OK);
        elapse_reserved_free(&jobs[i]);
    }
    assert_int_equal(elapse_queue_reserve_many(queue, tubes, 2, 10000, jobs, 10, &count),
                     ELAPSE_OK);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++)
        elapse_reserved_free(&jobs[i]);
    assert_int_equal(elapse_queue_reserve_many(queue, tubes, 2, 0, jobs, 10, &count),
                     ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(count, 0);
}

STORE_TEST(reserve_many_has_limits)
{
    static struct elapse_reserved jobs[ELAPSE_RESERVE_MAX];
    struct elapse_put put = {.tube = tube};
    struct elapse_queue_counts counts;
    size_t count = 7;

    assert_int_equal(elapse_queue_reserve_many(queue, &tube, 1, 0, jobs, 0, &count),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(count, 0);
    assert_int_equal(
        elapse_queue_reserve_many(queue, &tube, 1, 0, jobs, ELAPSE_RESERVE_MAX + 1, &count),
        ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_queue_reserve_many(queue, &tube, 0, 0, jobs, 1, &count),
                     ELAPSE_ERROR_ARGUMENT);
    for (unsigned i = 0; i < ELAPSE_RESERVE_MAX + 1; i++)
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    /* The segments are small: a call may find no room for all leases. */
    size_t all = 0;
    while (all < ELAPSE_RESERVE_MAX) {
        size_t rest = ELAPSE_RESERVE_MAX - all;
        assert_int_equal(elapse_queue_reserve_many(queue, &tube, 1, 0, &jobs[all], rest, &count),
                         ELAPSE_OK);
        assert_in_range(count, 1, rest);
        all += count;
    }
    assert_int_equal(elapse_queue_statistics(queue, NULL, &counts), ELAPSE_OK);
    assert_int_equal(counts.reserved, ELAPSE_RESERVE_MAX);
    assert_int_equal(counts.ready, 1);
    for (size_t i = 0; i < all; i++)
        elapse_reserved_free(&jobs[i]);
}

STORE_TEST(ack_many_says_of_each_job_whether_it_is_done)
{
    enum { JOBS = 5, UNKNOWN = JOBS, HELD };
    struct elapse_reserved jobs[JOBS];
    struct elapse_held held[HELD];
    enum elapse_result results[HELD];
    struct elapse_answer answer;
    struct elapse_queue_counts counts;
    size_t count;

    for (unsigned i = 0; i < JOBS; i++)
        put_job(NULL, "body", 0);
    assert_int_equal(elapse_queue_reserve_many(queue, &tube, 1, 10000, jobs, JOBS, &count),
                     ELAPSE_OK);
    assert_int_equal(count, JOBS);
    for (size_t i = 0; i < JOBS; i++) {
        held[i] = (struct elapse_held){jobs[i].id, jobs[i].lease};
        elapse_reserved_free(&jobs[i]);
    }
    held[UNKNOWN] = (struct elapse_held){held[0].id + 1000, held[0].lease};
    held[3].lease.number += 1000; /* somebody else's */
    assert_int_equal(elapse_queue_ack(queue, held[1].id, held[1].lease, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_ack_many(queue, held, HELD, results, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_DONE);
    for (unsigned i = 0; i < HELD; i++)
        assert_int_equal(results[i], i == 1 || i == 3 || i == UNKNOWN ? ELAPSE_RESULT_GONE
                                                                      : ELAPSE_RESULT_DONE);
    commit(&answer);
    reopen();
    assert_int_equal(elapse_queue_statistics(queue, NULL, &counts), ELAPSE_OK);
    assert_int_equal(counts.reserved, 1);
    assert_int_equal(counts.ready + counts.delayed + counts.buried, 0);
    /* Leases outlive a restart, so their acks do. */
    held[3].lease.number -= 1000;
    assert_int_equal(elapse_queue_ack_many(queue, &held[3], 1, NULL, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_ack(queue, held[3].id, held[3].lease, NULL), ELAPSE_ERROR_GONE);
}

/* What each verb makes of a job that a worker has, one whose lease has ended, and one that was
 * cancelled. */
STORE_TEST(each_verb_takes_many_jobs)
{
    static enum elapse_error (*const verbs[])(struct elapse_queue *, const struct elapse_held *,
                                              size_t, enum elapse_result *,
                                              struct elapse_answer *) = {
        elapse_queue_nack_many, elapse_queue_extend_many, elapse_queue_bury_many};
    static const enum elapse_job_state states[] = {ELAPSE_JOB_READY, ELAPSE_JOB_RESERVED,
                                                   ELAPSE_JOB_BURIED};
    enum { JOBS = 4 };
    struct elapse_reserved jobs[JOBS];
    struct elapse_held held[JOBS];
    enum elapse_result results[JOBS];
    struct elapse_answer answer;
    struct elapse_job seen;
    size_t count;

    for (unsigned verb = 0; verb < 3; verb++) {
        for (unsigned i = 0; i < JOBS; i++)
            put_job(NULL, "body", 0);
        assert_int_equal(elapse_queue_reserve_many(queue, &tube, 1, 10000, jobs, JOBS, &count),
                         ELAPSE_OK);
        assert_int_equal(count, JOBS);
        for (size_t i = 0; i < JOBS; i++) {
            held[i] = (struct elapse_held){jobs[i].id, jobs[i].lease};
            elapse_reserved_free(&jobs[i]);
        }
        assert_int_equal(elapse_queue_ack(queue, held[1].id, held[1].lease, NULL), ELAPSE_OK);
        assert_int_equal(elapse_queue_cancel_id(queue, held[2].id, NULL), ELAPSE_OK);
        assert_int_equal(verbs[verb](queue, held, JOBS, results, &answer), ELAPSE_OK);
        assert_int_equal(results[0], ELAPSE_RESULT_DONE);
        assert_int_equal(results[1], ELAPSE_RESULT_GONE);
        assert_int_equal(results[2], ELAPSE_RESULT_CANCELLED);
        assert_int_equal(results[3], ELAPSE_RESULT_DONE);
        commit(&answer);
        for (unsigned i = 0; i < JOBS; i += 3) {
            assert_int_equal(elapse_queue_look_up_id(queue, held[i].id, &seen), ELAPSE_OK);
            assert_int_equal(seen.state, states[verb]);
            assert_int_equal(elapse_queue_cancel_id(queue, held[i].id, NULL), ELAPSE_OK);
        }
        assert_int_equal(verbs[verb](queue, held, 0, NULL, &answer), ELAPSE_ERROR_ARGUMENT);
        assert_non_null(answer.fault);
        assert_int_equal(verbs[verb](queue, held, ELAPSE_RESERVE_MAX + 1, NULL, NULL),
                         ELAPSE_ERROR_ARGUMENT);
    }
}

STORE_TEST(ack_many_has_limits)
{
    static struct elapse_held held[ELAPSE_RESERVE_MAX + 1];
    static enum elapse_result results[ELAPSE_RESERVE_MAX];
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_ack_many(queue, held, 0, NULL, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_non_null(answer.fault);
    assert_int_equal(elapse_queue_ack_many(queue, held, ELAPSE_RESERVE_MAX + 1, NULL, NULL),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_queue_ack_many(queue, held, ELAPSE_RESERVE_MAX, results, &answer),
                     ELAPSE_OK);
    assert_null(answer.fault);
    for (unsigned i = 0; i < ELAPSE_RESERVE_MAX; i++)
        assert_int_equal(results[i], ELAPSE_RESULT_GONE);
}

STORE_TEST(reserve_many_survives_a_restart)
{
    struct elapse_reserved jobs[3];
    struct elapse_answer answer;
    size_t count;

    for (unsigned i = 0; i < 3; i++)
        put_job(NULL, "body", 0);
    assert_int_equal(elapse_queue_reserve_many(queue, &tube, 1, 10000, jobs, 3, &count), ELAPSE_OK);
    assert_int_equal(count, 3);
    reopen();
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(elapse_queue_ack(queue, jobs[i].id, jobs[i].lease, &answer), ELAPSE_OK);
        elapse_reserved_free(&jobs[i]);
    }
    commit(&answer);
}

/* ---- nobody sleeps beside a job ---- */

enum { WORKERS = 9, TUBES = 3, JOBS = 1500 };

static const char *const names[TUBES] = {"a", "b", "c"};

struct worker {
    pthread_t thread;
    unsigned first, count; /* of its tubes */
    bool many;
};

static atomic_uint done[TUBES];

static void *work_until_stopped(void *argument)
{
    const struct worker *worker = argument;
    struct elapse_reserved jobs[4];
    size_t count;

    while (elapse_queue_reserve_many(queue, names + worker->first, worker->count,
                                     ELAPSE_QUEUE_FOREVER_MS, jobs, worker->many ? 4 : 1,
                                     &count) == ELAPSE_OK)
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(elapse_queue_ack(queue, jobs[i].id, jobs[i].lease, NULL), ELAPSE_OK);
            done[jobs[i].tube[0] - 'a']++;
            elapse_reserved_free(&jobs[i]);
        }
    return NULL;
}

/* Waits until so many jobs of each tube are done. A worker that sleeps beside a job is never woken
 * again, because nothing else happens: the test then ends by its time limit. */
static void wait_until_done(const unsigned *expected)
{
    for (unsigned i = 0; i < TUBES; i++)
        while (done[i] < expected[i])
            (void)usleep(50);
}

STORE_TEST(each_job_finds_a_worker_that_waits)
{
    static const struct {
        unsigned first, count;
    } tubes[] = {{0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2}, {0, 3}};
    struct worker workers[WORKERS];
    unsigned expected[TUBES] = {0};

    for (unsigned i = 0; i < TUBES; i++)
        done[i] = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){
            .first = tubes[i % 6].first, .count = tubes[i % 6].count, .many = i % 4 == 3};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work_until_stopped, &workers[i]),
                         0);
    }
    for (unsigned i = 0; i < JOBS; i++) {
        unsigned to = i * 7 % 11 % TUBES;
        struct elapse_put put = {.tube = names[to], .delay_ms = i % 5 == 0 ? 1 : 0};
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
        expected[to]++;
        if (i % 10 == 0) /* all workers sleep again */
            wait_until_done(expected);
    }
    wait_until_done(expected);
    elapse_queue_stop(queue);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
}

/* A job that a worker gives back, that is kicked, or whose tube goes on, wakes another one. */
STORE_TEST(what_becomes_ready_by_a_verb_wakes_a_worker)
{
    struct worker worker = {.first = 0, .count = 1};
    struct elapse_put put = {.tube = "a", .key = "k", .key_bytes = 1};
    struct elapse_due_time now = {.due = ELAPSE_DUE_IN};
    struct elapse_reserved job;
    unsigned expected[TUBES] = {0};

    for (unsigned i = 0; i < TUBES; i++)
        done[i] = 0;
    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "a", 0, &job), ELAPSE_OK);
    assert_int_equal(pthread_create(&worker.thread, NULL, work_until_stopped, &worker), 0);
    (void)usleep(20000); /* most likely it sleeps */
    assert_int_equal(elapse_queue_nack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
    expected[0]++;
    wait_until_done(expected);

    put.delay_ms = 3600000;
    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    (void)usleep(5000);
    assert_int_equal(elapse_queue_reschedule(queue, "a", "k", 1, &now, NULL), ELAPSE_OK);
    expected[0]++;
    wait_until_done(expected);

    struct elapse_answer answer;
    uint64_t kicked;
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(elapse_queue_kick(queue, "a", 1, &kicked, NULL), ELAPSE_OK);
    expected[0]++;
    wait_until_done(expected);

    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(elapse_queue_pause(queue, "a", 3600000, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_kick_id(queue, answer.id, NULL), ELAPSE_OK);
    (void)usleep(5000);
    assert_int_equal(elapse_queue_pause(queue, "a", 0, NULL), ELAPSE_OK);
    expected[0]++;
    wait_until_done(expected);

    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(elapse_queue_pause(queue, "a", 30, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_kick_id(queue, answer.id, NULL), ELAPSE_OK);
    expected[0]++;
    wait_until_done(expected);
    elapse_queue_stop(queue);
    assert_int_equal(pthread_join(worker.thread, NULL), 0);
}

/* Nine workers, and a limit: no more of them have a job than the limit says, and none sleeps beside
 * a place. A worker that does is never woken again: the test then ends by its time limit. */
enum { PLACES = 2 };

static atomic_uint now_running, most_running;

static void *work_in_a_place(void *argument)
{
    struct elapse_reserved job;

    (void)argument;
    while (elapse_queue_reserve(queue, "a", ELAPSE_QUEUE_FOREVER_MS, &job) == ELAPSE_OK) {
        unsigned running = atomic_fetch_add(&now_running, 1) + 1;
        if (running > most_running)
            most_running = running;
        atomic_fetch_sub(&now_running, 1);
        assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
        elapse_reserved_free(&job);
        done[0]++;
    }
    return NULL;
}

STORE_TEST(a_limit_is_neither_exceeded_nor_idle)
{
    pthread_t workers[WORKERS];
    struct elapse_put put = {.tube = "a"};
    struct elapse_queue_counts counts;
    const struct elapse_limits limits = {.concurrency = PLACES};
    unsigned expected[TUBES] = {JOBS / 3};

    for (unsigned i = 0; i < TUBES; i++)
        done[i] = 0;
    now_running = most_running = 0;
    assert_int_equal(elapse_queue_limit(queue, "a", &limits, NULL), ELAPSE_OK);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, work_in_a_place, NULL), 0);
    for (unsigned i = 0; i < JOBS / 3; i++)
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    wait_until_done(expected);
    assert_in_range(most_running, 1, PLACES);
    assert_int_equal(elapse_queue_statistics(queue, "a", &counts), ELAPSE_OK);
    assert_int_equal(counts.held + counts.running, 0);
    elapse_queue_stop(queue);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i], NULL), 0);
}

STORE_TEST(each_group_has_limits_of_its_own)
{
    struct elapse_put put = {.tube = "a", .group = "g", .group_bytes = 1};
    struct elapse_limits limits = {.group_order = true};
    struct elapse_reserved job;

    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_limit(queue, "a", &limits, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "a", 0, &job), ELAPSE_OK);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_reserve(queue, "a", 0, &job), ELAPSE_OK);
    struct elapse_reserved other;
    assert_int_not_equal(elapse_queue_reserve(queue, "a", 0, &other), ELAPSE_OK);
    limits = (struct elapse_limits){.group_rate = 1, .group_rate_per_ms = 3600000};
    assert_int_equal(elapse_queue_limit(queue, "a", &limits, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "a", 0, &job), ELAPSE_OK);
    elapse_reserved_free(&job);
    assert_int_not_equal(elapse_queue_reserve(queue, "a", 0, &job), ELAPSE_OK);
}

/* ---- what nobody waits for ---- */

static void wait_until_durable(uint64_t position)
{
    unsigned looks = 0;

    while (elapse_queue_durable(queue) < position) {
        assert_in_range(++looks, 1, 30000);
        (void)usleep(1000);
    }
}

STORE_TEST(what_nobody_waits_for_becomes_durable_all_the_same)
{
    struct elapse_put put = {.tube = tube, .delay_ms = 3600000};
    struct elapse_answer answer;

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 20; i++) {
            assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
            if (i % 7 == 0)
                wait_until_durable(answer.position);
        }
        wait_until_durable(answer.position);
        (void)usleep(300000); /* most likely the journal is quiet, and its thread sleeps for long */
    }
}

/* ---- stop ---- */

static void *reserve_one(void *error)
{
    struct elapse_reserved job;

    *(enum elapse_error *)error =
        elapse_queue_reserve(queue, "none", ELAPSE_QUEUE_FOREVER_MS, &job);
    return NULL;
}

STORE_TEST(stop_ends_waiting_and_lets_workers_finish)
{
    struct elapse_put put = {.tube = tube};
    struct elapse_reserved jobs[4];
    struct elapse_reserved job;
    struct elapse_answer answer;
    enum elapse_error error = ELAPSE_OK;
    pthread_t thread;
    size_t count;

    put_job("later", "x", 3600000);
    for (unsigned i = 0; i < 4; i++)
        put_job(NULL, "x", 0);
    put_job(NULL, "left", 0);
    assert_int_equal(elapse_queue_reserve_many(queue, &tube, 1, 0, jobs, 4, &count), ELAPSE_OK);
    assert_int_equal(count, 4);
    assert_int_equal(pthread_create(&thread, NULL, reserve_one, &error), 0);
    (void)usleep(20000); /* most likely it waits by now; if not, it must answer the same */
    elapse_queue_stop(queue);
    elapse_queue_stop(queue);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(error, ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_queue_reserve(queue, tube, 0, &job), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_queue_extend(queue, jobs[0].id, jobs[0].lease, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_ack(queue, jobs[0].id, jobs[0].lease, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_nack(queue, jobs[1].id, jobs[1].lease, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_bury(queue, jobs[2].id, jobs[2].lease, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_nack_in(queue, jobs[3].id, jobs[3].lease, 3600000, NULL),
                     ELAPSE_OK);
    assert_int_equal(elapse_queue_cancel(queue, tube, "later", 5, &answer), ELAPSE_OK);
    commit(&answer);
    for (size_t i = 0; i < count; i++)
        elapse_reserved_free(&jobs[i]);
    reopen();
    struct elapse_queue_counts counts;
    assert_int_equal(elapse_queue_statistics(queue, NULL, &counts), ELAPSE_OK);
    /* Of these, two are ready as soon as the clock thread has looked. */
    assert_int_equal(counts.ready + counts.delayed, 3);
    assert_int_equal(counts.buried, 1);
    assert_int_equal(counts.reserved, 0);
}

TEST_MAIN("store_wait")
