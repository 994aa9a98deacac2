/*
 * A connection to the server. Requests go in and replies come out. No function here waits, except
 * where its comment says so.
 *
 * hiredis writes the requests to memory, and reads the replies from memory. src/os sends and
 * receives the bytes, with the server's TLS code (src/server/loop/tls.h). The reason: the hiredis
 * of Debian 12 has no TLS.
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
    CONNECTION_REFUSED,        /* there was no connection, so the server has seen no request */
    CONNECTION_NOT_AUTHORISED, /* the password is missing or wrong, so no request was run */
    CONNECTION_BROKEN,         /* the server may have run requests that have no reply */
    CONNECTION_STRANGE,        /* the first bytes that came are not of this protocol */
};

struct connection;

/* Makes a connection that is not open. The settings must live longer than the connection. */
struct connection *connection_new(const struct client_settings *settings);
void connection_free(struct connection *connection);

/* Begins a connection. May be called again after the connection was lost or closed. The look-up of
 * a name's addresses may wait for the network. The addresses are tried one after the other. They
 * share the timeout of the settings, so that an address that does not answer leaves time for the
 * next ones. */
void connection_open(struct connection *connection);
void connection_close(struct connection *connection);

/* Returns why the connection was lost, or CONNECTION_WORKS if it is not lost. A connection that is
 * not lost may not be made yet. */
enum connection_fault connection_fault(const struct connection *connection);

/* Returns the fault in words, without the address. */
const char *connection_fault_text(const struct connection *connection);

/* Returns whether the connection is made and the server has accepted the password. */
bool connection_is_made(const struct connection *connection);

/* Adds a request. */
void connection_add(struct connection *connection, const struct request *request);

/* Returns how many requests have no reply yet. */
size_t connection_awaited(const struct connection *connection);

/* Returns how many bytes of requests the socket has not taken. */
size_t connection_unsent(const struct connection *connection);

/* Says that no request will be added. The server answers those that were added, and closes the
 * connection. */
void connection_add_no_more(struct connection *connection);

/* Returns what to wait for. */
struct elapse__os_watch connection_watch(const struct connection *connection);

/* Returns when to call connection_turn even if the socket is not ready, because the next address
 * has to be tried then. Returns UINT64_MAX for never. */
uint64_t connection_wake_ns(const struct connection *connection);

/* Sends as much as the socket takes. Receives some of the bytes that have come, not all, so that
 * the caller can look at the time between two turns. */
void connection_turn(struct connection *connection);

/* Sends as much as the socket takes. Receives nothing, so that the next wait reports every reply.
 * If sending fails, receives everything that the server sent before. */
void connection_send(struct connection *connection);

/* Returns the next reply, or NULL if there is none yet. The caller frees it by freeReplyObject. */
redisReply *connection_take(struct connection *connection);

/* Receives what has come, and sends nothing. Returns whether there is a reply to take. The
 * connection may be lost afterwards. */
bool connection_look(struct connection *connection);

/* Gives the connection up as lost, because a reply takes too long. */
void connection_give_up(struct connection *connection, const char *why);

#endif
