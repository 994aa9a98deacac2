/*
 * The threads of a store. A user's thread that has to wait may do some of their work meanwhile.
 */
#ifndef ELAPSE__STORE_THREADS_H
#define ELAPSE__STORE_THREADS_H

#include "wake.h"

/* Leads: performs the next operation of the commit lane on the calling thread, which would have to
 * wait for it anyway. This saves two changes of threads. Returns false if there is no operation, or
 * if another thread is performing one. Requires the lock, and releases it during the operation. */
bool elapse__store_lead(struct elapse_queue *store);

void *elapse__store_commit_main(void *store);
void *elapse__store_background_main(void *store);
void *elapse__store_clock_main(void *argument);

/* Waits until everything up to `position` is durable. Returns OK, TIMEOUT, CLOSED or BROKEN.
 * Requires the lock, which may be released meanwhile. */
enum elapse_error elapse__store_wait_durable(struct elapse_queue *store, uint64_t position,
                                             uint64_t until_ns);

#endif
