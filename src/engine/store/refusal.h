/*
 * Says in words why the journal refused to open.
 */
#ifndef ELAPSE__STORE_REFUSAL_H
#define ELAPSE__STORE_REFUSAL_H

#include <elapse/queue.h>

#include "../journal/journal.h"

/* Returns the error for a refusal, and writes one sentence about it into `fault`. `fault` may be
 * NULL. */
enum elapse_error elapse__store_refusal(const struct elapse__journal_refusal *refusal,
                                        const char *directory, struct elapse_queue_fault *fault);

#endif
