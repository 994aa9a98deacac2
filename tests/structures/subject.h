/*
 * The subject: the structure under test. A test program runs all of its tests once for each kind of
 * structure (tests/support/kind.h). The functions here act on the kind whose turn it is.
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

/* Turns to the next kind of structure. Returns false after the last. */
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

/* Returns the name of the kind whose turn it is. */
const char *subject_name(void);
const struct kind *subject_kind(void);

/* Returns a new instance with room for SUBJECT_CAPACITY timers. Each test makes one. */
struct subject *subject_new(uint64_t now);

/* Releases an instance. Fails the test if check finds damage. */
void subject_free(struct subject *subject);

/* Begin the definition of a test that gets a `subject`, at time 0 or at another one. Require that
 * its timers are static, or that none is pending at its end. */
#define SUBJECT_TEST(function) SUBJECT_TEST_AT(function, 0)
#define SUBJECT_TEST_AT(function, now) \
    TEST_OF(function, struct subject *, subject, subject_new(now), subject_free)

/* The verbs of structures. If one fails that should not fail here, the test fails. */
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

/* Pops until NULL. Returns how many timers came. Fails the test if a timer is early or still
 * pending, if the deadlines decrease, or if more than SUBJECT_CAPACITY timers come. */
size_t pop_all(struct subject *subject);

/* Returns whether `next` of the kind may be earlier than the least deadline (promise 10). */
bool next_may_be_early(void);

/* Fails the test unless `next` is the least pending deadline, or earlier if the kind's `next` may
 * be early.
 */
void expect_next(struct subject *subject, uint64_t least);

/* Returns the time to advance to: `next`; or the least pending deadline if the kind's `next` is at
 * most a turn ahead. */
uint64_t wake_up(struct subject *subject);

/* Advances to `next` and pops until NULL. If `next` may be early, repeats this until a timer was
 * popped, or none will ever be. If `next` is at most a turn ahead, at last advances to the least
 * deadline at once. Returns how many timers were popped. */
size_t follow_next(struct subject *subject);

#endif
