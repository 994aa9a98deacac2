/*
 * The test clock, which tests move forward. The test clock runs as fast as the clocks of the
 * machine. A test advances the test clock, and then the test clock is ahead of the clocks of the
 * machine. So a test need not wait an hour for a job that is due in an hour. A server uses the test
 * clock if it was started with --test-clock.
 */
#ifndef ELAPSE__OS_TEST_CLOCK_H
#define ELAPSE__OS_TEST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The test clock is ahead of the clocks of the machine by at most this time, about 100 years. */
#define ELAPSE__TEST_CLOCK_MS_MAX (UINT64_C(36525) * 24 * 3600 * 1000)

/* Sets elapse__os to a table whose boot-time clock, wall clock and alarms go by the test clock. The
 * monotonic clock stays that of the machine. A thread that waits for a condition waits by the
 * monotonic clock. Requires that no other thread runs and no alarm is open. */
void elapse__test_clock_begin(void);

/* Moves the test clock forward by `advance_ms`. An alarm goes off at once if its time has come. If
 * the test clock would be more than ELAPSE__TEST_CLOCK_MS_MAX ahead, returns false and moves
 * nothing. Requires that elapse__test_clock_begin was called. Requires that no other thread reads
 * the time before this call, reads it again after this call, and expects the same time. So in the
 * server the calling thread holds the lock of the store. */
bool elapse__test_clock_advance(uint64_t advance_ms);

#endif
