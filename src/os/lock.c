#include "lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Noreturn void elapse__os_stop(const char *call, int error)
{
    (void)fprintf(stderr, "elapse: %s failed: %s. This is an error in the program.\n", call,
                  strerror(error));
    abort();
}

/* Stops the program if the call has failed. */
static void must(const char *call, int error)
{
    if (error != 0)
        elapse__os_stop(call, error);
}

void elapse__lock_free(struct elapse__lock *lock)
{
    ELAPSE__ASSERT_THAT(atomic_load(&lock->holder), ==, 0);
    must("pthread_mutex_destroy", pthread_mutex_destroy(&lock->mutex));
}

void elapse__condition_free(struct elapse__condition *condition)
{
    must("pthread_cond_destroy", pthread_cond_destroy(&condition->variable));
}

/* The wait releases the lock and takes it again. */
static void begin_wait(struct elapse__lock *lock)
{
    ELAPSE__ASSERT_LOCK_HELD(lock);
    ELAPSE__ASSERT_THAT(elapse__locks_held, ==, 1);
    elapse__lock_note_released(lock);
}

void elapse__condition_wait(struct elapse__condition *condition, struct elapse__lock *lock)
{
    begin_wait(lock);
    must("pthread_cond_wait", pthread_cond_wait(&condition->variable, &lock->mutex));
    elapse__lock_note_taken(lock);
}

bool elapse__condition_wait_until(struct elapse__condition *condition, struct elapse__lock *lock,
                                  uint64_t until_ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / ELAPSE__NS_PER_SECOND),
        .tv_nsec = (long)(until_ns % ELAPSE__NS_PER_SECOND),
    };
    begin_wait(lock);
    int error = pthread_cond_timedwait(&condition->variable, &lock->mutex, &until);
    elapse__lock_note_taken(lock);
    if (error == ETIMEDOUT)
        return false;
    must("pthread_cond_timedwait", error);
    return true;
}

void elapse__condition_signal(struct elapse__condition *condition)
{
    must("pthread_cond_signal", pthread_cond_signal(&condition->variable));
}

void elapse__condition_broadcast(struct elapse__condition *condition)
{
    must("pthread_cond_broadcast", pthread_cond_broadcast(&condition->variable));
}
