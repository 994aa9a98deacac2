/*
 * Tests a reserve that finds jobs and cannot hand one out at once, because the journal has no room
 * for the lease, or because more jobs have expired than one look drops. The reserve must continue,
 * even with a timeout of 0. Also tests an ack of several jobs when the journal has no room for
 * them, or room only for some.
 */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../../../src/engine/journal/journal.h"
#include "../../../src/queue/queue.h"

enum { REFUSALS_MOST = 10000, EXPIRED = 2500 };

/* ---- the journal's sink, between the engine and the journal ---- */

static struct elapse__record_sink sink;
static struct elapse__record_sink *below;
static atomic_bool refuses;
static atomic_int refusal = EAGAIN;
static atomic_uint admitted; /* so many are taken before it refuses */
static atomic_uint refusals;

static int begin(struct elapse__record_sink *own, uint64_t bytes,
                 enum elapse__record_purpose purpose)
{
    (void)own;
    bool is_change = purpose == ELAPSE__RECORD_FOR_RELIEF || purpose == ELAPSE__RECORD_FOR_LEASE;
    if (!refuses || !is_change)
        return below->begin(below, bytes, purpose);
    if (admitted > 0) {
        admitted--;
        return below->begin(below, bytes, purpose);
    }
    if (++refusals == REFUSALS_MOST)
        refuses = false; /* the test has failed, and ends */
    return refusal;
}

static uint64_t append(struct elapse__record_sink *own, const struct elapse__record *record)
{
    (void)own;
    return below->append(below, record);
}

static uint64_t end(struct elapse__record_sink *own)
{
    (void)own;
    return below->end(below);
}

static void live(struct elapse__record_sink *own, uint64_t position, int64_t change)
{
    (void)own;
    below->live(below, position, change);
}

/* The linker calls these in place of the library's, and those by their names with __real_. */
struct elapse__record_sink *__real_elapse__journal_sink(struct elapse__journal *journal);
struct elapse__record_sink *__wrap_elapse__journal_sink(struct elapse__journal *journal);
struct elapse__queue_turned __real_elapse__queue_turn(struct elapse__queue *jobs,
                                                      struct elapse__queue_now now);
struct elapse__queue_turned __wrap_elapse__queue_turn(struct elapse__queue *jobs,
                                                      struct elapse__queue_now now);

struct elapse__record_sink *__wrap_elapse__journal_sink(struct elapse__journal *journal)
{
    below = __real_elapse__journal_sink(journal);
    sink = (struct elapse__record_sink){.begin = begin, .append = append, .end = end, .live = live};
    return &sink;
}

/* Another thread can have the lock only while the reserve waits. Then there is room. */
static void *make_room(void *unused)
{
    while (refusals == 0)
        (void)usleep(1000);
    (void)elapse_queue_durable(queue);
    refuses = false;
    return unused;
}

STORE_TEST(reserve_waits_for_room_whatever_its_timeout)
{
    struct elapse_reserved job;
    pthread_t thread;

    put_job(NULL, "body", 0);
    refusals = 0;
    refuses = true;
    assert_int_equal(pthread_create(&thread, NULL, make_room, NULL), 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(refusals, 1, REFUSALS_MOST - 1);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
}

/* ---- several acks ---- */

enum { ACKS = 4, ADMITTED = 2 };

static void hand_out_all(struct elapse_held *held)
{
    static const char *const tubes[] = {"tube"};
    struct elapse_reserved jobs[ACKS];
    size_t count;

    for (unsigned i = 0; i < ACKS; i++)
        put_job(NULL, "body", 0);
    assert_int_equal(elapse_queue_reserve_many(queue, tubes, 1, 10000, jobs, ACKS, &count),
                     ELAPSE_OK);
    assert_int_equal(count, ACKS);
    for (unsigned i = 0; i < ACKS; i++) {
        held[i] = (struct elapse_held){jobs[i].id, jobs[i].lease};
        elapse_reserved_free(&jobs[i]);
    }
    refusals = 0;
    admitted = ADMITTED;
    refuses = true;
}

STORE_TEST(ack_many_goes_on_where_there_was_no_room)
{
    struct elapse_held held[ACKS];
    enum elapse_result results[ACKS];
    struct elapse_answer answer;
    struct elapse_queue_counts counts;
    pthread_t thread;

    hand_out_all(held);
    assert_int_equal(pthread_create(&thread, NULL, make_room, NULL), 0);
    assert_int_equal(elapse_queue_ack_many(queue, held, ACKS, results, &answer), ELAPSE_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(refusals, 1, REFUSALS_MOST - 1);
    for (unsigned i = 0; i < ACKS; i++)
        assert_int_equal(results[i], ELAPSE_RESULT_DONE);
    commit(&answer);
    assert_int_equal(elapse_queue_statistics(queue, NULL, &counts), ELAPSE_OK);
    assert_int_equal(counts.done, ACKS);
    assert_int_equal(counts.reserved, 0);
}

STORE_TEST(ack_many_says_how_far_it_came_before_an_error)
{
    struct elapse_held held[ACKS];
    enum elapse_result results[ACKS];
    struct elapse_answer answer;
    struct elapse_queue_counts counts;

    hand_out_all(held);
    refusal = ENOSPC;
    assert_int_equal(elapse_queue_ack_many(queue, held, ACKS, results, &answer),
                     ELAPSE_ERROR_DISK_FULL);
    refusal = EAGAIN;
    refuses = false;
    for (unsigned i = 0; i < ACKS; i++)
        assert_int_equal(results[i], i < ADMITTED ? ELAPSE_RESULT_DONE : ELAPSE_RESULT_NONE);
    assert_int_not_equal(answer.position, 0);
    commit(&answer);
    assert_int_equal(elapse_queue_statistics(queue, NULL, &counts), ELAPSE_OK);
    assert_int_equal(counts.done, ADMITTED);
    assert_int_equal(counts.reserved, ACKS - ADMITTED);
    assert_int_equal(
        elapse_queue_ack_many(queue, held + ADMITTED, ACKS - ADMITTED, results, &answer),
        ELAPSE_OK);
    assert_int_equal(results[0], ELAPSE_RESULT_DONE);
}

/* ---- jobs that have expired ---- */

static atomic_bool time_stands_still;

/* Turns drop what has expired, too; here, reserve is to do it alone. */
struct elapse__queue_turned __wrap_elapse__queue_turn(struct elapse__queue *jobs,
                                                      struct elapse__queue_now now)
{
    if (!time_stands_still)
        return __real_elapse__queue_turn(jobs, now);
    return (struct elapse__queue_turned){.ready = 0};
}

STORE_TEST(a_job_behind_many_that_have_expired_is_found)
{
    struct elapse_put put = {.tube = "tube", .body = "x", .body_bytes = 1, .expire_ms = 1};
    struct elapse_queue_counts counts;
    struct elapse_reserved job;

    _Static_assert(EXPIRED > 2 * ELAPSE__QUEUE_TURN_MAX, "several looks are needed");
    time_stands_still = true;
    for (unsigned i = 0; i < EXPIRED; i++)
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    put.expire_ms = 0;
    put.priority = 1;
    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    (void)usleep(5000);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_OK);
    time_stands_still = false;
    assert_int_equal(job.priority, 1);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_statistics(queue, NULL, &counts), ELAPSE_OK);
    assert_int_equal(counts.expired, EXPIRED);
}

TEST_MAIN("store_room")
