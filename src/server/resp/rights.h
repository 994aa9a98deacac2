/*
 * Says which user may run which command.
 */
#ifndef ELAPSE__RESP_RIGHTS_H
#define ELAPSE__RESP_RIGHTS_H

#include "resp.h"

/* Finds the user of the command. The user is the client, or the user whom a node names before the
 * command (AS user). If a node names a user, the arguments of the call begin after that name. If
 * the password of a client is no longer in the table of users, the client is no longer known.
 * Requires a table of users. */
void elapse__resp_find_user(struct elapse__resp_call *call);

/* Returns whether the user of the call may run the command with these arguments. If not, replies
 * with the error. A command is examined when it comes. A command of a transaction is examined once
 * more at EXEC, because the rights may have changed meanwhile. */
bool elapse__resp_is_allowed(const struct elapse__resp_call *call);

/* Returns whether the user of the call has the right that the command needs for the tube of this
 * job. Returns true if there is no such job. */
bool elapse__resp_may_see(const struct elapse__resp_call *call, uint64_t id);

#endif
