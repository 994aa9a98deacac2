/*
 * A clock that tests move: it goes as the clocks of the machine do, and is ahead of them by what it
 * was advanced. The server has it with --test-clock, so that a test need not wait for a job that is
 * due in an hour.
 */
#ifndef ELAPSE__OS_TEST_CLOCK_H
#define ELAPSE__OS_TEST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* How far the clock may be ahead of the machine's: about 100 years. */
#define ELAPSE__TEST_CLOCK_MS_MAX (UINT64_C(36525) * 24 * 3600 * 1000)

/* Puts a table in the place of elapse__os whose boot-time clock, wall clock and alarms go by the
 * test clock. The monotonic clock, and so each wait of a thread for a condition, stays the
 * machine's. Requires that no other thread runs and no alarm is open. */
void elapse__test_clock_begin(void);

/* Moves the clock forward. Alarms whose time has come by then go off at once. Returns false, and
 * moves nothing, if the clock would be more than ELAPSE__TEST_CLOCK_MS_MAX ahead. Requires
 * elapse__test_clock_begin. No two readings of the clock that are meant to agree may lie around the
 * call: in the server the thread that calls holds the lock of the store. */
bool elapse__test_clock_advance(uint64_t advance_ms);

#endif
