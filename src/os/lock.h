/*
 * Locks and conditions.
 *
 * A lock that cannot be taken or released is a programming error: it was never made, the thread
 * has it already, or it does not have it. The program then stops with a message, because what
 * the lock guards can no longer be trusted. A build with assertions finds every such error; a
 * release finds those that the system reports by itself.
 */
#ifndef ELAPSE__LOCK_H
#define ELAPSE__LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { ELAPSE__NS_PER_SECOND = 1000000000 };

struct elapse__lock {
    pthread_mutex_t mutex;
};

struct elapse__condition {
    pthread_cond_t variable;
};

struct elapse__os_thread {
    pthread_t thread;
};

/* Prints which call failed and why, and stops the program. */
_Noreturn void elapse__os_stop(const char *call, int error);

static inline void elapse__lock(struct elapse__lock *lock)
{
    int error = pthread_mutex_lock(&lock->mutex);
    if (error != 0)
        elapse__os_stop("pthread_mutex_lock", error);
}

static inline void elapse__unlock(struct elapse__lock *lock)
{
    int error = pthread_mutex_unlock(&lock->mutex);
    if (error != 0)
        elapse__os_stop("pthread_mutex_unlock", error);
}

void elapse__lock_free(struct elapse__lock *lock);
void elapse__condition_free(struct elapse__condition *condition);

/* Releases the lock, waits for a signal, and takes the lock again. It may return without one.
 * Requires that the thread has the lock. */
void elapse__condition_wait(struct elapse__condition *condition, struct elapse__lock *lock);

/* The same, until `until_ns` by the monotonic clock. Returns false when that time has come. */
bool elapse__condition_wait_until(struct elapse__condition *condition, struct elapse__lock *lock,
                                  uint64_t until_ns);

/* Wakes one of the threads that wait, or all of them. */
void elapse__condition_signal(struct elapse__condition *condition);
void elapse__condition_broadcast(struct elapse__condition *condition);

#endif
