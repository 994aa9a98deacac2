/*
 * Compares a queue with what a replay of its log makes.
 */
#ifndef ELAPSE_TESTS_QUEUE_EQUAL_H
#define ELAPSE_TESTS_QUEUE_EQUAL_H

#include "log.h"

/* Checks the invariants of the queue, replays its log into a second queue, checks that one too, and
 * compares all jobs of both. Returns NULL if they are equal; otherwise it returns a static text
 * that says what differs. */
const char *queue_differs_from_log(struct elapse__queue *queue, const struct log *log,
                                   const struct elapse__queue_options *options,
                                   struct elapse__queue_now now);

/* While this is true, due times by the boot-time clock are not compared. A test that sets the wall
 * clock sets this to true, because a replay brings such jobs to another time. */
extern bool equal_ignores_boot_due;

#endif
