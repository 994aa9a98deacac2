/*
 * Checks that a structure leaves idle timers alone, whose memory is the caller's (promise 12 of
 * docs/promises.md). A timer that is released is filled with a pattern, and under AddressSanitizer
 * may not even be read. When the timer is claimed again, the pattern shows whether anything wrote
 * to it.
 */
#ifndef ELAPSE_TESTS_RELEASED_H
#define ELAPSE_TESTS_RELEASED_H

#include <stdbool.h>

#include <elapse/timer.h>

/* Fills the memory of an idle timer. */
void timer_release(struct elapse_timer *timer);

/* Makes a released timer idle again. Returns false if something wrote to it since. */
bool timer_claim(struct elapse_timer *timer);

/* Allows to read a released timer; the pattern stays. Call it before a released timer is copied or
 * its memory is freed. */
void timer_uncover(struct elapse_timer *timer);

/* Forbids to read the timer again. */
void timer_cover(struct elapse_timer *timer);

#endif
