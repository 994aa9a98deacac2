/*
 * A system that a test controls, in place of the table of src/os/os.h: clocks that move only when
 * the test moves them, alarms that go off by those clocks, calls that are refused on demand, and
 * counts of calls. Locks, conditions and threads are real; a wait for a condition that ends at a
 * time goes by the fake monotonic clock.
 *
 *      test                              scheduler
 *      fake_os_begin()
 *      new, start                   -->  clock thread: alarm_set, alarms_wait (blocks)
 *      fake_os_advance(5 ms)        -->  the alarm goes off, alarms_wait returns
 *      fake_os_wait_idle()          <--  all that was due was handled; the clock thread waits again
 */
#ifndef ELAPSE_TESTS_FAKE_OS_H
#define ELAPSE_TESTS_FAKE_OS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../src/os/os.h"

/* Where the clocks stand at the beginning. Both are whole milliseconds. */
#define FAKE_MONOTONIC_NS  UINT64_C(1000000000000000000)
#define FAKE_WALL_CLOCK_NS UINT64_C(1893456000000000000) /* the beginning of 2030 */

/* Calls that are counted and can be refused. */
enum fake_os_call {
    FAKE_OS_THREAD_START,
    FAKE_OS_ALARM_OPEN,
    FAKE_OS_ALARM_SET,
    FAKE_OS_CALLS,
};

/* As the number of calls to refuse: refuse all calls that are to come. */
#define FAKE_OS_ALL UINT64_MAX

/* Puts the fake in place of the system, with fresh clocks and counts. Threads of a scheduler that
 * a failed test has left behind stay where they are. */
void fake_os_begin(void);

/* Puts the system back. Requires that no scheduler is left. */
void fake_os_end(void);

uint64_t fake_os_now_ns(enum elapse__os_clock clock);

/* Move all clocks forward, or set the wall clock alone. Alarms whose time has come go off. */
void fake_os_advance(uint64_t duration_ns);
void fake_os_set_wall_clock(uint64_t unix_ns);

/* Makes the next `count` calls of this kind fail; 0: no call fails any more. */
void fake_os_refuse(enum fake_os_call call, uint64_t count);

/* Returns how many calls there have been, those that were refused included. */
uint64_t fake_os_count(enum fake_os_call call);

/* Returns how many alarms are open, and how many threads made by thread_start have not returned. */
unsigned fake_os_open_alarms(void);
unsigned fake_os_running_threads(void);

/* Waits until at most `count` threads made by thread_start run, for as long as it takes. */
void fake_os_wait_for_threads(unsigned count);

/* Return how many threads wait for a condition with a time limit, or wait until there are `count`
 * of them. A thread whose time has come is counted until it has the lock of the condition again. */
unsigned fake_os_timed_waits(void);
void fake_os_wait_for_timed_waits(unsigned count);

/* Waits until `count` waits for a condition with a time limit have ended. Their threads have the
 * lock of the condition then. */
void fake_os_wait_for_ended_timed_waits(uint64_t count);

/* Returns how often the clock has been read, by any thread. */
uint64_t fake_os_readings(enum elapse__os_clock clock);

/* Calls hook(context) when the calling thread reads this clock for the next time: after the time
 * was read, and before it is returned. */
void fake_os_at_next_reading(enum elapse__os_clock clock, void (*hook)(void *context),
                             void *context);

/* Returns whether at least one thread is in alarms_wait, and each of them stays there until the
 * test moves a clock or some thread sets an alarm. */
bool fake_os_is_idle(void);

/* Waits until fake_os_is_idle would return true, for as long as it takes. */
void fake_os_wait_idle(void);

#endif
