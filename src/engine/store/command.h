/*
 * What the commands of a store share.
 */
#ifndef ELAPSE__STORE_COMMAND_H
#define ELAPSE__STORE_COMMAND_H

#include "threads.h"

/* Runs a command of the queue until the journal takes it: the journal may have to write first.
 * Translates the answer. */
enum elapse_error elapse__store_run(struct elapse_queue *store, elapse__engine_command *command,
                                    const void *arguments, struct elapse_answer *answer);

/* Does the same for a command that a store which has stopped refuses. */
enum elapse_error elapse__store_run_unless_stopped(struct elapse_queue *store,
                                                   elapse__engine_command *command,
                                                   const void *arguments,
                                                   struct elapse_answer *answer);

/* Translates a result of the queue. */
enum elapse_error elapse__store_error(const struct elapse_queue *store,
                                      enum elapse__queue_result result);

/* A text of the queue from a C string; empty for NULL. */
struct elapse__queue_text elapse__store_text(const char *text);

#endif
