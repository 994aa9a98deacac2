/*
 * elapse run --data: a durable queue keeps the timers instead of the scheduler. A life is one run
 * of a process on the directory.
 *
 *     main thread                                    threads that fire: one, or --workers of them
 *     lines --> elapse_queue_put                     elapse_queue_reserve_many
 *     after each piece of the input: commit          commit: the hand-out itself is durable
 *     the queue's descriptor --> wakes the threads   print and wait for the writer, or
 *                                                    run a program; elapse_queue_ack
 *
 * Each timer is a job in the tube "timers", with the key of the timer. Its body is a word, a blank
 * and the payload. The word is "once", or "again" if the job recurs. For after-each it is the
 * period in nanoseconds: after such a job has fired, it is given back with that delay.
 *
 * A job that an earlier life had handed out and not acknowledged may have fired before. Its lease
 * is ended at the start, so that the job fires at once. The line of this firing says that it may be
 * a repetition.
 */
#ifndef ELAPSE_CLI_RUN_DURABLE_H
#define ELAPSE_CLI_RUN_DURABLE_H

#include "line.h"
#include "run.h"

/* Opens the queue, and starts the threads that fire. To read a long log takes a while, and nothing
 * fires meanwhile, so each signal of the set `signals` has its usual effect until the queue is
 * open. Prints what is wrong, and returns the status for it. */
enum exit_status run_durable_open(struct run *run, unsigned signals);

/* Ends the threads, and closes the queue. If not everything is durable, prints a message and
 * returns false. */
bool run_durable_finish(struct run_durable *durable);

/* Prints how many timers are left. */
void run_durable_report(const struct run_durable *durable);

void run_durable_free(struct run_durable *durable);

/* Does what a line of the input says. */
void run_durable_apply(struct run *run, const struct run_line *line);

/* Waits until all lines so far are durable. */
void run_durable_commit(struct run_durable *durable);

/* Returns a descriptor that becomes readable when something may be due. The caller has to call
 * run_durable_wake then. */
int run_durable_descriptor(const struct run_durable *durable);
void run_durable_wake(struct run_durable *durable);

/* Returns whether no timer is left. */
bool run_durable_is_empty(struct run_durable *durable);

/* Returns whether the queue has failed. A message about it was printed. */
bool run_durable_has_failed(struct run_durable *durable);

void run_durable_print_statistics(struct run *run);

#endif
