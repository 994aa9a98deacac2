/*
 * The present of a queue, by both clocks.
 *
 * A due time goes from one clock to the other and back: a delay waits by the boot-time clock, and
 * its record holds wall-clock milliseconds. So the difference of the two has to stay the same while
 * nobody sets the wall clock. If each clock were rounded down by itself, the difference would
 * change by a millisecond from call to call, and a due time with it.
 *
 *      boot-time clock   |.....|.....|.....|        milliseconds of a queue: these
 *      wall clock       .|.....|.....|.....|.       the same ones, plus the difference
 *
 * A node of a cluster goes by the cluster's time instead of its own wall clock: then the difference
 * is given, and stays until another one is.
 *
 * The wall clock of a queue is thus up to two milliseconds behind the real one, and never before
 * it.
 */
#ifndef ELAPSE__STORE_NOW_H
#define ELAPSE__STORE_NOW_H

#include <stdint.h>

#include "../../queue/queue.h"

/* Returns the present by both clocks, rounded down. Any thread may call it. */
struct elapse__queue_now elapse__store_now(void);

/* From now on the wall clock of all queues of this process is the boot-time clock plus so many
 * milliseconds. Any thread may call it. elapse__store_time_was_set tells a store. */
void elapse__store_set_time(int64_t offset_ms);

/* Returns the real wall clock, in nanoseconds, at which the queue's shows this time; UINT64_MAX if
 * that is never. */
uint64_t elapse__store_wall_alarm_ns(int64_t wall_ms);

#endif
