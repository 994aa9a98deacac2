/*
 * What the tests of the queue share: a queue on a log in memory, whose clocks the test sets. After
 * each step `ok` examines the queue, and replays the log into a second queue, which must be equal.
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

/* Examines the queue, and compares it with a replay of its log. */
void ok(struct fixture *f);

/* Ends the process without a word and starts another one on the log, `later_ms` later by the wall
 * clock, with another secret and with its boot-time clock at 1,000. */
void restart(struct fixture *f, int64_t later_ms);

/* Both clocks go on, and turns follow until nothing is left to do. */
void pass(struct fixture *f, uint64_t ms);

struct elapse__queue_text text(const char *bytes);

/* A put into the tube "t" with a ttr of 10 s, due at once. */
struct elapse__queue_put job(const char *body);
struct elapse__queue_put keyed(const char *key, enum elapse__queue_if_key if_key);

/* Puts, and expects this result. Returns the id. */
uint64_t put(struct fixture *f, struct elapse__queue_put put, enum elapse__queue_result expected);

/* Reserves from "t", and expects a job. */
struct elapse__queue_handed take(struct fixture *f);
/* Expects that nothing is ready in "t". */
void nothing_ready(struct fixture *f);

struct elapse__queue_holder holder(const struct elapse__queue_handed *handed);
struct elapse__queue_view look(struct fixture *f, uint64_t id);
enum elapse__queue_state state_of(struct fixture *f, uint64_t id);
bool exists(struct fixture *f, uint64_t id);

/* Brings the only job of a fresh fixture into a state, with the key "k". Returns its id, and the
 * hand-out if it is RESERVED. */
uint64_t job_in(struct fixture *f, enum elapse__queue_state state,
                struct elapse__queue_handed *handed);

/* Begins the definition of a test that gets the fixture, `f`. */
#define QUEUE_TEST(function) TEST_GIVEN(function, struct fixture, f, set_up, tear_down)

#endif
