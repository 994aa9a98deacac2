/*
 * The structure under test, whichever it is. A test program runs all of its tests
 * once for each structure; the functions here act on the one whose turn it is.
 */
#ifndef ELAPSE_TESTS_SUBJECT_H
#define ELAPSE_TESTS_SUBJECT_H

#include "../support/test.h"
#include "kind.h"

enum { SUBJECT_CAPACITY = 4096 };

struct subject {
    const struct elapse_structure *structure;
    void *instance;
    void *storage;
};

/* Turns to the next kind of structure; false after the last. */
bool subject_turn(void);

/* Runs the tests of the file once for each kind of structure. */
#define TEST_MAIN_OF_SUBJECTS                              \
    int main(void)                                         \
    {                                                      \
        int failures = 0;                                  \
                                                           \
        while (subject_turn())                             \
            failures += run_tests_of_file(subject_name()); \
        return failures;                                   \
    }

/* The kind whose turn it is. */
const char *subject_name(void);
const struct kind *subject_kind(void);

/* A fresh instance with room for SUBJECT_CAPACITY timers. Each test makes its own. */
struct subject *subject_new(uint64_t now);

/* Fails the test if check finds damage. */
void subject_free(struct subject *subject);

/* Begin the definition of a test that gets a `subject`, at time 0 or at another one. Require that
 * its timers are static, or that none is pending at its end. */
#define SUBJECT_TEST(function) SUBJECT_TEST_AT(function, 0)
#define SUBJECT_TEST_AT(function, now) \
    TEST_OF(function, struct subject *, subject, subject_new(now), subject_free)

/* The verbs. Those that should not fail here fail the test if they do. */
void start(struct subject *subject, struct elapse_timer *timer, uint64_t deadline);
void start_window(struct subject *subject, struct elapse_timer *timer, uint64_t earliest,
                  uint64_t latest);
bool stop(struct subject *subject, struct elapse_timer *timer);
void advance(struct subject *subject, uint64_t now);
struct elapse_timer *pop(struct subject *subject);
uint64_t next(const struct subject *subject);
size_t count(const struct subject *subject);

/* Fails the test unless exactly this timer, or none, is popped now. */
void expect_pop(struct subject *subject, const struct elapse_timer *timer);
void expect_no_pop(struct subject *subject);

/* Pops until NULL; how many came. Fails the test if one is early or pending, if the
 * deadlines decrease, or if it goes on beyond SUBJECT_CAPACITY. */
size_t pop_all(struct subject *subject);

/* The kind's next may be earlier than the least deadline (promise 10). */
bool next_may_be_early(void);

/* Fails the test unless next is the least deadline pending; where it may be early, if it is late.
 */
void expect_next(struct subject *subject, uint64_t least);

/* When to advance to: next, but the least deadline pending where next is a turn ahead at most. */
uint64_t wake_up(struct subject *subject);

/* Advances to next and pops until NULL. Where next may be early, again until something was popped,
 * or nothing will be; if it is a turn ahead at most, straight to the least deadline in the end. */
size_t follow_next(struct subject *subject);

#endif
