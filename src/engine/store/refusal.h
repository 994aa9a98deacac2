/*
 * Why a journal was refused, in words.
 */
#ifndef ELAPSE__STORE_REFUSAL_H
#define ELAPSE__STORE_REFUSAL_H

#include <elapse/queue.h>

#include "../journal/journal.h"

/* Translates a refusal, and says it in one sentence; `fault` may be NULL. */
enum elapse_error elapse__store_refusal(const struct elapse__journal_refusal *refusal,
                                        const char *directory, struct elapse_queue_fault *fault);

#endif
