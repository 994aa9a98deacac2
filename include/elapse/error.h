/*
 * Elapse: the errors.
 *
 * A function that can fail returns `enum elapse_error`; 0 is success. Functions
 * that cannot fail return void, questions return bool. errno is never used, and
 * the library neither prints nor aborts.
 */
#ifndef ELAPSE_ERROR_H
#define ELAPSE_ERROR_H

#include <elapse/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

enum elapse_error {
    /* Success. */
    ELAPSE_OK = 0,
    /* The struct that the caller was compiled with has another size than the
     * one in the library: header and library are of different versions. */
    ELAPSE_ERROR_ABI = 1,
    /* The storage given is missing, too small, or not aligned for a uint64_t and
     * a pointer. */
    ELAPSE_ERROR_STORAGE = 2,
    /* There are more timers than places. Nothing has changed. */
    ELAPSE_ERROR_FULL = 3,
};

/*
 * One English sentence without a full stop, for people. Never NULL: an unknown
 * number gives "unknown error". The text is static. Any thread, any time.
 * Cost: O(1). Cannot fail. Since 0.1.
 */
ELAPSE_API const char *elapse_error_text(enum elapse_error error);

#ifdef __cplusplus
}
#endif

#endif
