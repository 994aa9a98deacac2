/*
 * Hints: what a person at a terminal can type next, with the addresses of the server.
 */
#ifndef ELAPSE__SERVE_HINTS_H
#define ELAPSE__SERVE_HINTS_H

#include "../loop/loop.h"

/* Writes hints to standard error if the options ask for hints. There are no hints if each address
 * needs TLS or a password. Requires that the server listens. */
void elapse__hints_write(const struct elapse__loop *loop);

#endif
