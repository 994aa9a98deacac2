/*
 * Runs the commands of a store.
 */
#ifndef ELAPSE__STORE_COMMAND_H
#define ELAPSE__STORE_COMMAND_H

#include "../../queue/transact.h"
#include "threads.h"

/* Runs a command of the queue, and translates its answer. If the journal is full, waits until it
 * has written, and runs the command again. */
enum elapse_error elapse__store_run(struct elapse_queue *store, elapse__engine_command *command,
                                    const void *arguments, struct elapse_answer *answer);

/* Runs a command as elapse__store_run does, but refuses it if the store was stopped. */
enum elapse_error elapse__store_run_unless_stopped(struct elapse_queue *store,
                                                   elapse__engine_command *command,
                                                   const void *arguments,
                                                   struct elapse_answer *answer);

/* Returns the error for a result of the queue, or OK if the result is no error. */
enum elapse_error elapse__store_error(const struct elapse_queue *store,
                                      enum elapse__queue_result result);

/* Returns a put in the form that the queue takes. */
struct elapse__queue_put elapse__store_put(const struct elapse_put *put);

/* Returns arrivals in the form that the queue takes. */
struct elapse__queue_arrival elapse__store_arrival(const struct elapse_arrival *arrival);

/* Returns a due time in the form that the queue takes. */
struct elapse__queue_time elapse__store_time(const struct elapse_due_time *time);

/* Translates a result of the queue that is no error. */
enum elapse_result elapse__store_result(enum elapse__queue_result result);

/* Returns bytes as a text of the queue. */
struct elapse__queue_text elapse__store_bytes(const void *bytes, size_t size);

/* Returns what is wrong with a token: it is there, and has no bytes. NULL: nothing. */
const char *elapse__store_token_fault(const void *token, size_t bytes);

/* Returns a C string as a text of the queue. NULL becomes an empty text. */
struct elapse__queue_text elapse__store_text(const char *text);

#endif
