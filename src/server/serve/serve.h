/*
 * The shell of the server: sockets, TLS, signals and the store around the core of src/server. The
 * program's `elapse serve` fills in the options and calls elapse__serve.
 *
 *      serve.c      the life: open, listen, serve, stop
 *      events.c     signals, and what recurs
 *      listeners.c  sockets that take connections
 *      hints.c      what a person at a terminal can type next
 *
 * and of ../loop:
 *
 *      settings.c   the options, and addresses as text
 *      peer.c       one connection: its socket or TLS session, and its events
 *      loop.c       turns: read from sockets, call the core under the store's lock, write
 *      body_reader.c  a thread for bodies that are not in the page cache
 *      tls.c        OpenSSL
 *      tokens.c     the file of passwords
 *      logger.c     messages on standard error
 *      event.c      events of libevent that wait
 *
 * Threads. The loop is the thread that called. The reader and two threads of the store run
 * beside the loop. The loop holds the store's lock while it calls the core, and never while it
 * reads, writes or waits.
 */
#ifndef ELAPSE__SERVE_H
#define ELAPSE__SERVE_H

#include "../loop/settings.h"

/* How the server ended. */
enum elapse__serve_end {
    ELAPSE__SERVE_STOPPED, /* by a signal, with everything durable */
    ELAPSE__SERVE_FAILED,  /* the machine failed: a message says how */
    ELAPSE__SERVE_REFUSED, /* the options ask for what cannot be: a message says why */
};

/* Serves until a signal ends it. Requires that no other thread runs. */
enum elapse__serve_end elapse__serve(const struct elapse__loop_options *options);

#endif
