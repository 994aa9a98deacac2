/*
 * What the tests of the store share: a queue in a directory of its own, opened before each test and
 * closed after it.
 */
#ifndef ELAPSE_TEST_STORE_FIXTURE_H
#define ELAPSE_TEST_STORE_FIXTURE_H

#include <elapse/queue.h>

#include "../../support/test.h"

extern struct elapse_queue *queue;
extern const char *directory;

int open_fixture(void **state);
int close_fixture(void **state);

#define STORE_TEST(function) TEST_WITH(function, open_fixture, close_fixture)

/* Opens the queue in the directory, with small segments. */
struct elapse_queue *open_small(void);

/* Closes the queue and opens it again. */
void reopen(void);

/* Puts a job in the tube "tube" with this key (NULL: none), and waits until it is durable. */
struct elapse_answer put_job(const char *key, const char *body, uint64_t delay_ms);

/* Waits until everything up to the answer is durable. */
void commit(const struct elapse_answer *answer);

#endif
