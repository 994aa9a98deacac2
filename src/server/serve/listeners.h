/*
 * Opens and closes the sockets that take connections.
 */
#ifndef ELAPSE__SERVE_LISTENERS_H
#define ELAPSE__SERVE_LISTENERS_H

#include <stdbool.h>

struct elapse__loop;

/* Listens at all addresses of the options, and at the sockets of the service manager. Returns
 * false, after a message, if an address or a socket is refused. */
bool elapse__listeners_open(struct elapse__loop *loop);

/* Begins to take connections. Returns false if the system refuses. */
bool elapse__listeners_start(struct elapse__loop *loop);

/* Takes no more connections, and releases all listeners. */
void elapse__listeners_close(struct elapse__loop *loop);

#endif
