/*
 * elapse run --data: a durable queue has the timers, in place of the scheduler.
 *
 *     main thread                                    threads that fire: one, or --workers of them
 *     lines --> elapse_queue_put                     elapse_queue_reserve_many
 *     after each piece of the input: commit          commit: the hand-out itself is durable
 *     the queue's descriptor --> wakes the threads   print and wait for the writer, or
 *                                                    run a program; elapse_queue_ack
 *
 * Each timer is a job of the tube "timers", under its key. Its body is a word, a blank and the
 * payload. The word is "once"; "again", if the job recurs; or, of after-each, the period in
 * nanoseconds: such a job is given back with that delay.
 *
 * A job that an earlier life had handed out and not acknowledged may have fired. Its lease is ended
 * at the start, so that it fires at once, and this firing says that it may be a repetition.
 */
#ifndef ELAPSE_CLI_RUN_DURABLE_H
#define ELAPSE_CLI_RUN_DURABLE_H

#include "line.h"
#include "run.h"

/* Opens the queue, and starts the threads that fire. Returns NULL, or what is wrong. */
const char *run_durable_open(struct run *run);

/* Ends the threads and closes the queue. Returns false if not everything is on the disk; that has
 * been reported. */
bool run_durable_finish(struct run_durable *durable);

/* Says how many timers are left. */
void run_durable_report(const struct run_durable *durable);

void run_durable_free(struct run_durable *durable);

/* Does what a line says. */
void run_durable_apply(struct run *run, const struct run_line *line);

/* Waits until all lines so far are on the disk. */
void run_durable_commit(struct run_durable *durable);

/* Becomes readable when something may be due; then run_durable_wake is to be called. */
int run_durable_descriptor(const struct run_durable *durable);
void run_durable_wake(struct run_durable *durable);

/* Returns whether no timer is left. */
bool run_durable_is_empty(struct run_durable *durable);

/* Returns whether the queue has failed; that has been reported. */
bool run_durable_has_failed(struct run_durable *durable);

void run_durable_print_statistics(struct run *run);

#endif
