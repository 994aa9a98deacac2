/*
 * Reads the present of a queue, by both clocks.
 *
 * A due time is translated from one clock to the other and back: a delay waits by the boot-time
 * clock, and its record holds wall-clock milliseconds. So the difference of the two clocks has to
 * stay the same while nobody sets the wall clock. If each clock were rounded down by itself, the
 * difference would change by a millisecond from call to call. Due times would change with it.
 *
 *      boot-time clock   |.....|.....|.....|        milliseconds of a queue: these
 *      wall clock       .|.....|.....|.....|.       the same ones, plus the difference
 *
 * A node of a cluster uses the cluster's time instead of its own wall clock. Then
 * elapse__store_set_time sets the difference, which stays until the next call.
 *
 * So the wall clock of a queue is up to two milliseconds behind the real one, and never ahead of
 * it. While nobody sets the wall clock, at most 1.05 ms of that come from the rounded difference.
 */
#ifndef ELAPSE__STORE_NOW_H
#define ELAPSE__STORE_NOW_H

#include <stdint.h>

#include "../../queue/queue.h"

/* Returns the present by both clocks, rounded down. Any thread may call it. */
struct elapse__queue_now elapse__store_now(void);

/* Sets the wall clock of all queues of this process to the boot-time clock plus `offset_ms`. Any
 * thread may call this. Call elapse__store_time_was_set for each store afterwards. */
void elapse__store_set_time(int64_t offset_ms);

/* Returns the time of the real wall clock, in nanoseconds, at which the queue's wall clock shows
 * `wall_ms`. Returns UINT64_MAX if it never shows that time. */
uint64_t elapse__store_wall_alarm_ns(int64_t wall_ms);

#endif
