/*
 * Delays, fails or counts calls of the operating system, for tests of the store. The test program
 * defines functions with the names of these calls, so the store calls these functions instead of
 * those of the C library.
 */
#ifndef ELAPSE_TEST_STORE_INTERCEPT_H
#define ELAPSE_TEST_STORE_INTERCEPT_H

#include <stdbool.h>
#include <stddef.h>

/* If `error` is 0, the next reading of at least `least` bytes waits until intercept_release.
 * Otherwise it fails with `error`. */
void intercept_reading(size_t least, int error);

/* Returns whether a reading is held up. */
bool intercept_is_held(void);

/* Waits until a reading is held up. Returns false if none is within two minutes. */
bool intercept_wait(void);

/* Lets the reading go on. Returns false if it had to wait so long that it gave up. */
bool intercept_release(void);

/* From now on each reading fails with EIO, or does not. */
void intercept_readings(bool fail);

/* From now on each sync of a file fails, or does not. */
void intercept_syncs(bool fail);

/* From now on the disk is full, so that no file can be made; or it has room again. */
void intercept_space(bool is_full);

unsigned intercept_count_syncs(void);
unsigned intercept_count_timers(void);

#endif
