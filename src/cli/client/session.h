/*
 * Sends one command after another over a connection. Each call waits for the reply.
 */
#ifndef ELAPSE_CLI_CLIENT_SESSION_H
#define ELAPSE_CLI_CLIENT_SESSION_H

#include "answer.h"
#include "connection.h"

/* Waits until the connection's socket or `extra` is ready, and sends and receives what it can.
 * `extra` may be NULL. Gives the connection up if a reply has not come within the settings'
 * timeout, counted from `since_ns`. Requires that the caller has taken all replies that have
 * come. */
void session_wait(struct connection *connection, const struct client_settings *settings,
                  struct elapse__os_watch *extra, uint64_t since_ns);

/* Sends the request, and waits for its reply. If the connection is lost, prints a message, stores
 * the status for it in `*status`, and returns NULL. The caller frees the reply. */
redisReply *session_ask(struct connection *connection, const struct client_settings *settings,
                        const struct request *request, enum exit_status *status);

/* Prints why the connection was lost, and returns the status for it. */
enum exit_status session_report(const struct connection *connection,
                                const struct client_settings *settings);

/* Prints that the connection was lost after the reply about the part `last` of a command, before
 * the parts behind it were sent. Returns the status for it. */
enum exit_status session_report_unsent(const struct connection *connection,
                                       const struct client_settings *settings, const char *last);

/* Prints the error of an answer, and returns its status. `part` says which part of the command the
 * error is about, or is NULL. */
enum exit_status session_report_error(const struct answer *answer, const char *part);

#endif
