/*
 * Locks and conditions.
 *
 * A lock that cannot be taken or released is a programming error: the lock was never made, the
 * thread already holds it, or the thread does not hold it. Then the program stops with a message,
 * because the data that the lock guards cannot be trusted any more. A build with assertions finds
 * every such error. A release build finds only errors that the system reports.
 *
 * A build with assertions also knows the holder of each lock, and how many locks each thread holds.
 * So a function can assert that its caller holds a lock. Each time a lock is taken, the build also
 * tests the rule that a thread holds one lock at a time.
 */
#ifndef ELAPSE__LOCK_H
#define ELAPSE__LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../base/assert.h"

enum { ELAPSE__NS_PER_SECOND = 1000000000 };

struct elapse__lock {
    pthread_mutex_t mutex;
#ifdef ELAPSE__ASSERTIONS
    _Atomic uintptr_t holder; /* names the holder: its address of elapse__locks_held; 0: nobody */
#endif
};

struct elapse__condition {
    pthread_cond_t variable;
};

struct elapse__os_thread {
    pthread_t thread;
};

/* Prints which call failed and why, and stops the program. */
_Noreturn void elapse__os_stop(const char *call, int error);

#ifdef ELAPSE__ASSERTIONS

/* Returns whether the calling thread holds the lock. */
static inline bool elapse__lock_is_held(const struct elapse__lock *lock)
{
    return atomic_load_explicit(&lock->holder, memory_order_relaxed) ==
           (uintptr_t)&elapse__locks_held;
}

static inline void elapse__lock_note_taken(struct elapse__lock *lock)
{
    ELAPSE__ASSERT_THAT(atomic_load_explicit(&lock->holder, memory_order_relaxed), ==, 0);
    atomic_store_explicit(&lock->holder, (uintptr_t)&elapse__locks_held, memory_order_relaxed);
    elapse__locks_held++;
}

/* Notes that the calling thread releases the lock. Does nothing if the thread does not hold the
 * lock. The release itself finds that error. */
static inline void elapse__lock_note_released(struct elapse__lock *lock)
{
    if (!elapse__lock_is_held(lock))
        return;
    ELAPSE__ASSERT_THAT(elapse__locks_held, >, 0);
    atomic_store_explicit(&lock->holder, 0, memory_order_relaxed);
    elapse__locks_held--;
}

#else
static inline void elapse__lock_note_taken(struct elapse__lock *lock)
{
    (void)lock;
}
static inline void elapse__lock_note_released(struct elapse__lock *lock)
{
    (void)lock;
}
#endif

/* Asserts that the calling thread holds the lock. */
#define ELAPSE__ASSERT_LOCK_HELD(lock) ELAPSE__ASSERT(elapse__lock_is_held(lock))

/* Notes that a wait for a condition is about to release the lock. elapse__lock_note_taken notes the
 * end of the wait. */
static inline void elapse__lock_note_wait(struct elapse__lock *lock)
{
    ELAPSE__ASSERT_LOCK_HELD(lock);
    ELAPSE__ASSERT_THAT(elapse__locks_held, ==, 1);
    elapse__lock_note_released(lock);
}

/* Takes a lock. The thread may hold one other lock before. */
static inline void elapse__lock_inner(struct elapse__lock *lock)
{
    int error = pthread_mutex_lock(&lock->mutex);
    if (error != 0)
        elapse__os_stop("pthread_mutex_lock", error);
    ELAPSE__ASSERT_THAT(elapse__locks_held, <=, 1);
    elapse__lock_note_taken(lock);
}

/* Takes a lock. Requires that the thread holds no lock. */
static inline void elapse__lock(struct elapse__lock *lock)
{
    elapse__lock_inner(lock);
    ELAPSE__ASSERT_THAT(elapse__locks_held, ==, 1);
}

/* Releases a lock. Requires that the thread holds the lock. */
static inline void elapse__unlock(struct elapse__lock *lock)
{
    elapse__lock_note_released(lock);
    int error = pthread_mutex_unlock(&lock->mutex);
    if (error != 0)
        elapse__os_stop("pthread_mutex_unlock", error);
}

/* These functions require that no thread holds the lock, or waits for the condition. */
void elapse__lock_free(struct elapse__lock *lock);
void elapse__condition_free(struct elapse__condition *condition);

/* Releases the lock, waits for a signal, and takes the lock again. May return without a signal.
 * Requires that the thread holds this lock and no other. os.h has waits that end at a certain
 * time. */
void elapse__condition_wait(struct elapse__condition *condition, struct elapse__lock *lock);

/* These functions wake one of the threads that wait, or all of them. */
void elapse__condition_signal(struct elapse__condition *condition);
void elapse__condition_broadcast(struct elapse__condition *condition);

#endif
