/*
 * What the tests of the queue share: a queue that writes to a log in memory. The test sets its
 * clocks. After each step, `ok` checks the invariants of the queue and replays the log into a
 * second queue, which must be equal to the first one.
 */
#ifndef ELAPSE_TESTS_QUEUE_FIXTURE_H
#define ELAPSE_TESTS_QUEUE_FIXTURE_H

#include "../support/test.h"
#include "log.h"
#include "queue.h"

struct fixture {
    struct log log;
    struct elapse__queue_options options;
    struct elapse__queue *queue;
    struct elapse__queue_now now;
    uint32_t life;
    struct elapse__queue_connection connection;
};

/* Fails the test unless a command returned ELAPSE__QUEUE_OK. */
#define assert_ok(call) assert_int_equal((call), ELAPSE__QUEUE_OK)

int set_up(void **state);
int tear_down(void **state);

/* Checks the invariants of the queue, and compares the queue with a replay of its log. */
void ok(struct fixture *f);

/* Simulates a crash and a restart: a new queue replays the log, `later_ms` later by the wall clock.
 * The new queue has another secret, and its boot-time clock begins at 1,000 ms. */
void restart(struct fixture *f, int64_t later_ms);

/* The same, without the first turn of the new queue. */
void reopen(struct fixture *f, int64_t later_ms);

/* Sets both clocks forward by `ms`, and runs turns of the queue until nothing is left to do. */
void pass(struct fixture *f, uint64_t ms);

struct elapse__queue_text text(const char *bytes);

/* Returns the options of a put into the tube "t". The job has a ttr of 10 s and is due at once. */
struct elapse__queue_put job(const char *body);
struct elapse__queue_put keyed(const char *key, enum elapse__queue_if_key if_key);

/* Puts a job, and expects the result `expected`. Returns the id of the job. */
uint64_t put(struct fixture *f, struct elapse__queue_put put, enum elapse__queue_result expected);

/* Reserves a job of the tube "t", and expects that there is one. */
struct elapse__queue_handed take(struct fixture *f);
/* Expects that the tube "t" has no ready job. */
void nothing_ready(struct fixture *f);

struct elapse__queue_holder holder(const struct elapse__queue_handed *handed);
struct elapse__queue_view look(struct fixture *f, uint64_t id);
enum elapse__queue_state state_of(struct fixture *f, uint64_t id);
bool exists(struct fixture *f, uint64_t id);

/* Puts a job with the key "k" into a fresh fixture and brings it into `state`. Returns the id of
 * the job, and the hand-out if the state is RESERVED. */
uint64_t job_in(struct fixture *f, enum elapse__queue_state state,
                struct elapse__queue_handed *handed);

/* Begins the definition of a test that gets the fixture, `f`. */
#define QUEUE_TEST(function) TEST_GIVEN(function, struct fixture, f, set_up, tear_down)

#endif
