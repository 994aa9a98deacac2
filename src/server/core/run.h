/*
 * Runs the commands of a connection.
 */
#ifndef ELAPSE__CORE_RUN_H
#define ELAPSE__CORE_RUN_H

#include "inner.h"

/* Runs commands in `bytes`. Returns how many bytes those commands had that are done. */
size_t elapse__connection_run(struct elapse__connection *connection, const uint8_t *bytes,
                              size_t size);

/* Runs commands of the connection's source. */
void elapse__connection_run_commands(struct elapse__connection *connection);

/* Returns whether a command could run now, if there were one. */
bool elapse__connection_may_run(const struct elapse__connection *connection);

#endif
