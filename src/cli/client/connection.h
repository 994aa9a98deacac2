/*
 * A connection to the server: requests go in, replies come out, and nothing here waits.
 *
 * hiredis writes the requests and reads the replies, in memory alone. The bytes are sent and
 * received by src/os and by the TLS of the server, because the hiredis of Debian 12 has no TLS.
 *
 *     connection_open      begins to connect; requests may be added at once
 *     connection_watch     says what to wait for
 *     connection_turn      sends and receives as much as it can
 *     connection_take      returns the next reply
 *
 * A connection that was lost stays lost until it is opened again. Opening drops all requests that
 * were added before.
 */
#ifndef ELAPSE_CLI_CLIENT_CONNECTION_H
#define ELAPSE_CLI_CLIENT_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

#include "../../os/program.h"
#include "request.h"
#include "settings.h"

enum connection_fault {
    CONNECTION_WORKS,
    CONNECTION_REFUSED,        /* there was no connection: the server has seen no request */
    CONNECTION_NOT_AUTHORISED, /* the password is missing or wrong: no request was run */
    CONNECTION_BROKEN,         /* requests without a reply may have been run */
    CONNECTION_STRANGE,        /* the first bytes that came are not of this protocol */
};

struct connection;

/* Makes a connection that is not open. The settings must outlive it. */
struct connection *connection_new(const struct client_settings *settings);
void connection_free(struct connection *connection);

/* Begins a connection, also again after it was lost or closed. Finding the addresses of a name may
 * wait for the network. The addresses are tried in turn. They share the timeout of the settings, so
 * that an address that does not answer leaves time to the next ones. */
void connection_open(struct connection *connection);
void connection_close(struct connection *connection);

/* Returns why the connection was lost. CONNECTION_WORKS: it is not lost, but may not be made yet.
 */
enum connection_fault connection_fault(const struct connection *connection);

/* Returns the fault in words, without the address. */
const char *connection_fault_text(const struct connection *connection);

/* Returns whether the connection was made, and the server took the password. */
bool connection_is_made(const struct connection *connection);

/* Adds a request. */
void connection_add(struct connection *connection, const struct request *request);

/* Returns how many of the requests that were added have no reply yet. */
size_t connection_awaited(const struct connection *connection);

/* Returns how many bytes were added that the socket has not taken. */
size_t connection_unsent(const struct connection *connection);

/* Says that no request will be added: the server answers those that were added, and closes. */
void connection_add_no_more(struct connection *connection);

/* Returns what to wait for. */
struct elapse__os_watch connection_watch(const struct connection *connection);

/* Returns when to call connection_turn even if the socket is not ready, because the next address is
 * to be tried then; UINT64_MAX: never. */
uint64_t connection_wake_ns(const struct connection *connection);

/* Sends as much as the socket takes. Receives some of the bytes that have come, not all, so that
 * the caller can look at the time between two turns. */
void connection_turn(struct connection *connection);

/* Sends as much as the socket takes. Receives nothing, so that the next wait announces every reply.
 * If sending fails, receives all that the server sent before. */
void connection_send(struct connection *connection);

/* Returns the next reply, or NULL if there is none yet. The caller releases it by freeReplyObject.
 */
redisReply *connection_take(struct connection *connection);

/* Receives what has come, and sends nothing. Returns whether there is a reply to take; the
 * connection may be lost. */
bool connection_look(struct connection *connection);

/* Marks the connection as lost, because a reply takes too long. */
void connection_give_up(struct connection *connection, const char *why);

#endif
