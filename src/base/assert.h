/*
 * Assertions are facts that the code relies on. Each assertion is stated at the place where the
 * fact must hold.
 *
 * A build that defines ELAPSE__ASSERTIONS (developer, sanitizers, fuzz) tests the assertions. An
 * assertion that fails prints its file, line, expression and values, and traps. In all other builds
 * assertions are empty. So a release never stops because of an assertion, and the coverage build
 * does not count their branches.
 *
 *     ELAPSE__ASSERT(timer->place != 0);
 *     ELAPSE__ASSERT_THAT(queue->count, <=, queue->capacity);
 *
 * If the second assertion fails, it prints, for example,
 *
 *     src/scheduler/work_queue.c:61: assertion failed: queue->count <= queue->capacity
 *         left: 3, right: 2
 *
 * An assertion is about the program itself. If a caller of the public interface can make a mistake,
 * the function returns an error for it, and asserts nothing.
 */
#ifndef ELAPSE__ASSERT_H
#define ELAPSE__ASSERT_H

#include <stdint.h>

#ifdef ELAPSE__ASSERTIONS

/* How many locks the calling thread holds. src/os/lock.h counts them. */
extern _Thread_local unsigned elapse__locks_held;

_Noreturn void elapse__assertion_failed(const char *file, int line, const char *expression);
_Noreturn void elapse__comparison_failed(const char *file, int line, const char *expression,
                                         uint64_t left, uint64_t right);

#define ELAPSE__ASSERT(condition) \
    ((condition) ? (void)0 : elapse__assertion_failed(__FILE__, __LINE__, #condition))

/* Compares two integers. If the comparison fails, prints both, and for that evaluates both
 * expressions a second time. Requires that neither integer is negative, and that the expressions
 * have no effects. */
#define ELAPSE__ASSERT_THAT(left, comparison, right)                                       \
    ((left)comparison(right)                                                               \
         ? (void)0                                                                         \
         : elapse__comparison_failed(__FILE__, __LINE__, #left " " #comparison " " #right, \
                                     (uint64_t)(left), (uint64_t)(right)))

#else
#define ELAPSE__ASSERT(condition)                    ((void)0)
#define ELAPSE__ASSERT_THAT(left, comparison, right) ((void)0)
#endif

/* Asserts that the calling thread holds no lock, because it is about to call the user's code. */
#define ELAPSE__ASSERT_NO_LOCK_HELD() ELAPSE__ASSERT_THAT(elapse__locks_held, ==, 0)

#endif
