/*
 * Declares what the files of the core ask of a connection. core.h has what the shell asks of it.
 */
#ifndef ELAPSE__CORE_CONNECTION_H
#define ELAPSE__CORE_CONNECTION_H

#include "inner.h"

/* Runs commands and lets replies leave, as far as the budget goes; puts the connection into the
 * rings it belongs to. */
void elapse__connection_work(struct elapse__connection *connection);

/* Lets replies leave, and puts the connection into the rings it belongs to, but runs no command. If
 * commands may run now, the connection is put into `work`, and a turn runs them. */
void elapse__connection_release(struct elapse__connection *connection);

/* Returns whether the connection has commands that may run now. */
bool elapse__connection_can_run(const struct elapse__connection *connection);

/* Undoes one slice of what a closed connection leaves behind. Returns true when all is undone, and
 * the connection is released. */
bool elapse__connection_bury(struct elapse__connection *connection);

/* Releases the memory of a connection that has nothing to undo, or whose process ends. */
void elapse__connection_free(struct elapse__connection *connection);

#endif
