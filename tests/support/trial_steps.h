/*
 * What the files of the trials share. Each operation is done on the structure and on the oracle.
 * The functions return false if the structure broke a promise.
 */
#ifndef ELAPSE_TESTS_TRIAL_STEPS_H
#define ELAPSE_TESTS_TRIAL_STEPS_H

#include "trial.h"

/* Notes what went wrong. Returns false. */
__attribute__((format(printf, 2, 3))) bool fail(struct trial *trial, const char *format, ...);

/* Returns whether the timer should be pending, as the oracle says. */
bool is_pending(const struct trial *trial, size_t timer);

bool apply_stop(struct trial *trial, unsigned timer);

/* Visits all timers, and stops those whose numbers `divisor` divides; 0: stops none. */
bool apply_for_each(struct trial *trial, uint64_t divisor);

bool apply_inspect(struct trial *trial);
bool apply_clear(struct trial *trial);

#endif
