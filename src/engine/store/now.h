/*
 * Reads the present of a queue, by both clocks.
 *
 * A due time goes from one clock to the other and back: a delay waits by the boot-time clock, and
 * its record holds wall-clock milliseconds. So the difference of the two has to stay the same while
 * nobody sets the wall clock. If each clock were rounded down by itself, the difference would
 * change by a millisecond from call to call, and a due time with it.
 *
 *      boot-time clock   |.....|.....|.....|        milliseconds of a queue: these
 *      wall clock       .|.....|.....|.....|.       the same ones, plus the difference
 *
 * A node of a cluster goes by the cluster's time instead of its own wall clock. Then
 * elapse__store_set_time sets the difference, which stays until it is set again.
 *
 * The wall clock of a queue is thus up to two milliseconds behind the real one, and never before
 * it. While nobody sets the wall clock, the difference part of that is at most 1.05 ms.
 */
#ifndef ELAPSE__STORE_NOW_H
#define ELAPSE__STORE_NOW_H

#include <stdint.h>

#include "../../queue/queue.h"

/* Returns the present by both clocks, rounded down. Any thread may call it. */
struct elapse__queue_now elapse__store_now(void);

/* Makes the wall clock of all queues of this process the boot-time clock plus `offset_ms`. Any
 * thread may call it. Call elapse__store_time_was_set for each store afterwards. */
void elapse__store_set_time(int64_t offset_ms);

/* Returns the time of the real wall clock, in nanoseconds, at which the queue's wall clock shows
 * `wall_ms`; UINT64_MAX if it never does. */
uint64_t elapse__store_wall_alarm_ns(int64_t wall_ms);

#endif
