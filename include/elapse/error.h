/*
 * Elapse: the errors.
 *
 * A function that can fail returns an `enum elapse_error`, and 0 is success. A function that cannot
 * fail returns void, or the value that it was asked for. The library does not use errno. The
 * library prints nothing, and does not end the program.
 *
 *     enum elapse_error error = elapse_scheduler_start(scheduler);
 *
 *     if (error != ELAPSE_OK)
 *         fprintf(stderr, "cannot start: %s\n", elapse_error_text(error));
 */
#ifndef ELAPSE_ERROR_H
#define ELAPSE_ERROR_H

#include <elapse/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The errors. Their numbers never change. Since 0.2. */
enum elapse_error {
    /* Success. */
    ELAPSE_OK = 0,
    /* The struct that the caller was compiled with has another size than the
     * one in the library: header and library are of different versions. */
    ELAPSE_ERROR_ABI = 1,
    /* The storage is missing, too small, or not aligned for a uint64_t and a pointer. */
    ELAPSE_ERROR_STORAGE = 2,
    /* The storage is full: there is no place for another timer. Nothing has changed. */
    ELAPSE_ERROR_FULL = 3,
    /* An argument is outside its range, or a combination of arguments makes no sense. Nothing has
     * changed. */
    ELAPSE_ERROR_ARGUMENT = 4,
    /* The allocator had no memory. Nothing has changed. */
    ELAPSE_ERROR_MEMORY = 5,
    /* The system refused a thread, a file descriptor or a clock. Nothing is left
     * running. */
    ELAPSE_ERROR_SYSTEM = 6,
    /* As many tasks are pending, or as many jobs, tubes or tokens exist, as the limit
     * allows. Nothing has changed. */
    ELAPSE_ERROR_LIMIT = 7,
    /* A task or a job with this key is pending already. Nothing has changed. */
    ELAPSE_ERROR_KEY_PENDING = 8,
    /* Of a scheduler: the task of the handle has ended, was cancelled, or never existed. Of a
     * queue: the lease has ended, or there is no such job or tube. */
    ELAPSE_ERROR_GONE = 9,
    /* The scheduler or the queue is closed. Nothing has changed. */
    ELAPSE_ERROR_CLOSED = 10,
    /* The function was called from an action or a destructor of this scheduler, and would wait for
     * itself. Nothing has changed. */
    ELAPSE_ERROR_IN_ACTION = 11,
    /* Another thread is inside the same call. Nothing has changed. */
    ELAPSE_ERROR_BUSY = 12,
    /* Nothing came due within the time-out. */
    ELAPSE_ERROR_NOTHING_DUE = 13,
    /* What the call waits for has not happened within the time-out. */
    ELAPSE_ERROR_TIMEOUT = 14,
    /* The job was cancelled while a worker had it. The job has ended, or ends with its lease. */
    ELAPSE_ERROR_CANCELLED = 15,
    /* The disk is full. Nothing has changed. */
    ELAPSE_ERROR_DISK_FULL = 16,
    /* The directory is in use by a process. */
    ELAPSE_ERROR_IN_USE = 17,
    /* A file of the queue has changed since it was written, or is missing. */
    ELAPSE_ERROR_DAMAGED = 18,
    /* The files of the queue have a format that this version does not know. */
    ELAPSE_ERROR_FORMAT = 19,
    /* Writing to the disk has failed. The queue takes no changes any more. Close the queue, and
     * open it again. */
    ELAPSE_ERROR_BROKEN = 20,
    /* The task has a wall-clock time or a cron expression, so it cannot be rescheduled. Nothing has
     * changed. */
    ELAPSE_ERROR_WALL_CLOCK = 21,
};

/*
 * Returns a short English text about an error, for people to read. The text has no full stop, is
 * static, and is never NULL. For an unknown number the text is "unknown error". Threads: any thread
 * may call this function at any time. Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API const char *elapse_error_text(enum elapse_error error);

#ifdef __cplusplus
}
#endif

#endif
