/*
 * Elapse: how the public functions are marked. Nothing here is for calling.
 */
#ifndef ELAPSE_ATTRIBUTES_H
#define ELAPSE_ATTRIBUTES_H

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
