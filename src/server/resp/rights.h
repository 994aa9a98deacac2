/*
 * Who may run which command.
 */
#ifndef ELAPSE__RESP_RIGHTS_H
#define ELAPSE__RESP_RIGHTS_H

#include "resp.h"

/* Returns the error of a command that the connection may not run; NULL: it may. A command is
 * examined when it comes. A command of a transaction is examined once more at EXEC, because the
 * rights may have changed meanwhile. */
const char *elapse__resp_refusal(const struct elapse__resp_call *call);

#endif
