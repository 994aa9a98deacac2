/*
 * Elapse: the attributes of the public functions. This file declares no functions.
 */
#ifndef ELAPSE_ATTRIBUTES_H
#define ELAPSE_ATTRIBUTES_H

/* The headers define inline functions by the rules of C99 and C++. By the older GNU rules,
 * each file that includes them would define the functions again. (Clang defines the macro in
 * C++ too, where it has no meaning.) */
#if defined(__GNUC_GNU_INLINE__) && !defined(__cplusplus)
#error "Elapse needs the inline functions of C99: compile as C99 or later"
#endif

/* ELAPSE_API marks a function that the library offers. The shared library hides everything
 * without this mark. */
#if defined(__GNUC__)
#define ELAPSE_API        __attribute__((visibility("default")))
#define ELAPSE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define ELAPSE_API
#define ELAPSE_MUST_CHECK
#endif

#endif
