/*
 * Assertions of the structures. They trap in a build that has ELAPSE__ASSERTIONS
 * defined (developer, sanitizers, fuzz) and are nothing in the others: a release
 * never aborts, and the coverage build does not count their branches.
 */
#ifndef ELAPSE__ASSERT_H
#define ELAPSE__ASSERT_H

#ifdef ELAPSE__ASSERTIONS
#define ELAPSE__ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define ELAPSE__ASSERT(condition) ((void)0)
#endif

#endif
