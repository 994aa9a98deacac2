/*
 * Timers whose memory is the caller's (promise 12). A released timer is filled with a
 * pattern, and under AddressSanitizer may not even be read; claiming it shows
 * whether anything wrote to it meanwhile.
 */
#ifndef ELAPSE_TESTS_RELEASED_H
#define ELAPSE_TESTS_RELEASED_H

#include <stdbool.h>

#include <elapse/timer.h>

/* Fills the memory of an idle timer. */
void timer_release(struct elapse_timer *timer);

/* Makes a released timer idle again; false if it was written to since. */
bool timer_claim(struct elapse_timer *timer);

/* Lifts the ban on reading; the pattern stays. Call it before copying a released timer or
 * freeing its memory. */
void timer_uncover(struct elapse_timer *timer);

/* Imposes the ban on reading again. */
void timer_cover(struct elapse_timer *timer);

#endif
