/*
 * What the files of the trials share. The operations do what they say on structure and
 * oracle; false: the structure broke a promise.
 */
#ifndef ELAPSE_TESTS_TRIAL_STEPS_H
#define ELAPSE_TESTS_TRIAL_STEPS_H

#include "trial.h"

/* Notes what went wrong; returns false. */
__attribute__((format(printf, 2, 3))) bool fail(struct trial *trial, const char *format, ...);

/* Should the timer be pending? The oracle knows. */
bool is_pending(const struct trial *trial, size_t timer);

bool apply_stop(struct trial *trial, unsigned timer);

/* Visits all, and stops those whose number `divisor` divides; 0: stops none. */
bool apply_for_each(struct trial *trial, uint64_t divisor);

bool apply_inspect(struct trial *trial);
bool apply_clear(struct trial *trial);

#endif
