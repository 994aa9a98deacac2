/*
 * A clock that tests move. It runs like the clocks of the machine, and is ahead of them by the time
 * by which it was advanced. The server has it with --test-clock. So a test need not wait an hour
 * for a job that is due in an hour.
 */
#ifndef ELAPSE__OS_TEST_CLOCK_H
#define ELAPSE__OS_TEST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* How far the clock may be ahead of the machine's: about 100 years. */
#define ELAPSE__TEST_CLOCK_MS_MAX (UINT64_C(36525) * 24 * 3600 * 1000)

/* Sets elapse__os to a table whose boot-time clock, wall clock and alarms go by the test clock. The
 * monotonic clock stays the machine's, and with it each wait of a thread for a condition. Requires
 * that no other thread runs and no alarm is open. */
void elapse__test_clock_begin(void);

/* Moves the clock forward. Alarms whose time has come go off at once. Returns false, and moves
 * nothing, if the clock would be more than ELAPSE__TEST_CLOCK_MS_MAX ahead. Requires
 * elapse__test_clock_begin. Requires that no other thread reads the clock twice around this call
 * and expects the same time. So in the server the calling thread holds the lock of the store. */
bool elapse__test_clock_advance(uint64_t advance_ms);

#endif
