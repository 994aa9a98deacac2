/*
 * The replies of reserves and looks, until they have a job. A hand is one job of such a reply:
 * inner.h.
 */
#ifndef ELAPSE__CORE_RESERVE_H
#define ELAPSE__CORE_RESERVE_H

#include "inner.h"

/* Releases a reply. Requires that the shell has no reading of the reply, and that the reply does
 * not wait. */
void elapse__reply_give(struct elapse__server_reply *reply);

/* Puts a reply that has no job into the state NOTHING. The protocol's function `nothing` will tell
 * the client why. */
void elapse__reply_set_nothing(struct elapse__server_reply *reply, enum elapse__server_nothing why);

/* Tries to take jobs for a reserve that has none. Returns true if the reply has hands now, or is in
 * the state NOTHING. Stores in `*again` whether the try failed because the journal takes nothing
 * now. */
bool elapse__reply_try(struct elapse__server_reply *reply, bool *again);

/* Tries to take other jobs for a reply whose jobs are all gone. If there are none, the reply waits
 * again, or has nothing. */
void elapse__reply_try_again(struct elapse__server_reply *reply);

/* Ends the wait of a reply, or sets its timer again. Requires that the timer of the reply has
 * fired. */
void elapse__reply_time(struct elapse__server_reply *reply);

/* Sets the timers of the connection's waiting replies anew after a lease of the connection has
 * begun. A reply that waits may have to tell that this lease ends soon. */
void elapse__reply_look_at_deadlines(struct elapse__connection *connection);

#endif
