/*
 * The life of a connection. What the shell asks of connections is in core.h.
 */
#ifndef ELAPSE__CORE_CONNECTION_H
#define ELAPSE__CORE_CONNECTION_H

#include "inner.h"

/* Runs commands and lets replies leave, as far as the budget goes; puts the connection into the
 * rings it belongs to. */
void elapse__connection_work(struct elapse__connection *connection);

/* Lets replies leave and arranges the rings, but runs no command: a connection whose commands may
 * run now is put into `work`. */
void elapse__connection_release(struct elapse__connection *connection);

/* Returns whether there is input that may be run now. */
bool elapse__connection_can_run(const struct elapse__connection *connection);

/* Undoes one slice of what a closed connection leaves behind. Returns true when all is undone, and
 * the connection is released. */
bool elapse__connection_bury(struct elapse__connection *connection);

/* Releases the memory of a connection that has nothing to undo, or whose process ends. */
void elapse__connection_free(struct elapse__connection *connection);

#endif
