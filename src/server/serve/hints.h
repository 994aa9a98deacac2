/*
 * Hints: what a person at a terminal can type next, with the addresses that the server listens at.
 */
#ifndef ELAPSE__SERVE_HINTS_H
#define ELAPSE__SERVE_HINTS_H

#include "../loop/loop.h"

/* Writes them to standard error if the options ask for hints. Without an address that needs
 * neither TLS nor a password there are none. Requires that the server listens. */
void elapse__hints_write(const struct elapse__loop *loop);

#endif
