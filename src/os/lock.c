#include "lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void elapse__os_stop(const char *call, int error)
{
    ELAPSE__ASSERT_THAT(error, >, 0); /* the number of an error, and not the result of a call */
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

void elapse__condition_wait(struct elapse__condition *condition, struct elapse__lock *lock)
{
    elapse__lock_note_wait(lock);
    must("pthread_cond_wait", pthread_cond_wait(&condition->variable, &lock->mutex));
    elapse__lock_note_taken(lock);
}

void elapse__condition_signal(struct elapse__condition *condition)
{
    must("pthread_cond_signal", pthread_cond_signal(&condition->variable));
}

void elapse__condition_broadcast(struct elapse__condition *condition)
{
    must("pthread_cond_broadcast", pthread_cond_broadcast(&condition->variable));
}
