/*
 * Elapse: how the public functions are marked. Nothing here is for calling.
 */
#ifndef ELAPSE_ATTRIBUTES_H
#define ELAPSE_ATTRIBUTES_H

/* The headers define inline functions as C99 and C++ do; in the old GNU way each
 * file that includes them would define them anew. (Clang names that way in C++
 * too, and means nothing by it.) */
#if defined(__GNUC_GNU_INLINE__) && !defined(__cplusplus)
#error "Elapse needs the inline functions of C99: compile as C99 or later"
#endif

/* A function that the library offers; everything without this mark is hidden
 * from users of the shared library. */
#if defined(__GNUC__)
#define ELAPSE_API        __attribute__((visibility("default")))
#define ELAPSE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define ELAPSE_API
#define ELAPSE_MUST_CHECK
#endif

#endif
