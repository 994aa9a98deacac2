/*
 * Declares the functions on a connection that the files of the core call. core.h has the functions
 * that the shell calls.
 */
#ifndef ELAPSE__CORE_CONNECTION_H
#define ELAPSE__CORE_CONNECTION_H

#include "inner.h"

/* Runs commands and lets replies leave, as far as the budget goes. Then puts the connection into
 * the rings that it belongs to. inner.h explains the budget and the rings. */
void elapse__connection_work(struct elapse__connection *connection);

/* Lets replies leave, and puts the connection into the rings that it belongs to. Runs no command.
 * If commands may run now, puts the connection into the ring `work`, so that a turn runs them. */
void elapse__connection_release(struct elapse__connection *connection);

/* Returns whether the connection has commands that may run now. */
bool elapse__connection_can_run(const struct elapse__connection *connection);

/* Undoes a part of what a closed connection leaves behind, as far as the budget goes. Returns true
 * when everything is undone and the connection is released. */
bool elapse__connection_bury(struct elapse__connection *connection);

/* Releases the memory of a connection. Requires that the connection has nothing to undo, or that
 * the process ends. */
void elapse__connection_free(struct elapse__connection *connection);

#endif
