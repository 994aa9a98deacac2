/*
 * Assertions: what the code takes for granted, said where it is so.
 *
 * In a build that has ELAPSE__ASSERTIONS defined (developer, sanitizers, fuzz) a failed one prints
 * where it stands, what it says and the values, and traps. In the others they are nothing: a
 * release never stops because of one, and the coverage build does not count their branches.
 *
 *     ELAPSE__ASSERT(timer->place != 0);
 *     ELAPSE__ASSERT_THAT(queue->count, <=, queue->capacity);
 *
 * prints, for example,
 *
 *     src/scheduler/work_queue.c:61: assertion failed: queue->count <= queue->capacity
 *         left: 3, right: 2
 *
 * An assertion is about the program. What its user can get wrong is answered by an error.
 */
#ifndef ELAPSE__ASSERT_H
#define ELAPSE__ASSERT_H

#include <stdint.h>

#ifdef ELAPSE__ASSERTIONS

_Noreturn void elapse__assertion_failed(const char *file, int line, const char *expression);
_Noreturn void elapse__comparison_failed(const char *file, int line, const char *expression,
                                         uint64_t left, uint64_t right);

#define ELAPSE__ASSERT(condition) \
    ((condition) ? (void)0 : elapse__assertion_failed(__FILE__, __LINE__, #condition))

/* Compares two integers that are not negative, and prints both if it fails. They are computed
 * again for that, so they must not have effects. */
#define ELAPSE__ASSERT_THAT(left, comparison, right)                                       \
    ((left)comparison(right)                                                               \
         ? (void)0                                                                         \
         : elapse__comparison_failed(__FILE__, __LINE__, #left " " #comparison " " #right, \
                                     (uint64_t)(left), (uint64_t)(right)))

#else
#define ELAPSE__ASSERT(condition)                    ((void)0)
#define ELAPSE__ASSERT_THAT(left, comparison, right) ((void)0)
#endif

#endif
