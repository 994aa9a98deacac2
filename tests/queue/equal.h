/*
 * Compares a queue with what a replay of its log makes.
 */
#ifndef ELAPSE_TESTS_QUEUE_EQUAL_H
#define ELAPSE_TESTS_QUEUE_EQUAL_H

#include "log.h"

/* Examines the queue, replays its log into another one, examines that, and compares all jobs.
 * Returns NULL, or what differs; static. */
const char *queue_differs_from_log(struct elapse__queue *queue, const struct log *log,
                                   const struct elapse__queue_options *options,
                                   struct elapse__queue_now now);

/* While this is true, due times by the boot-time clock are not compared: the wall clock was set
 * since. */
extern bool equal_ignores_boot_due;

#endif
