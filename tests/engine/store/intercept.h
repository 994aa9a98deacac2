/*
 * Calls of the operating system that a test of the store holds up, lets fail, or counts. The
 * program has functions of these names of its own, which come before those of the C library.
 */
#ifndef ELAPSE_TEST_STORE_INTERCEPT_H
#define ELAPSE_TEST_STORE_INTERCEPT_H

#include <stdbool.h>
#include <stddef.h>

/* The next reading of at least `least` bytes waits until intercept_release, or fails with `error`
 * if that is not 0. */
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

/* From now on no file can be made, because the disk is full, or again. */
void intercept_space(bool is_full);

unsigned intercept_count_syncs(void);
unsigned intercept_count_timers(void);

#endif
