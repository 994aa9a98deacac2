/*
 * Replies of reserves and looks until they have a job. A hand (inner.h) is one job of a reply.
 */
#ifndef ELAPSE__CORE_RESERVE_H
#define ELAPSE__CORE_RESERVE_H

#include "inner.h"

/* Releases a reply. Requires that the shell has no reading of it, and that it does not wait. */
void elapse__reply_give(struct elapse__server_reply *reply);

/* Ends a reply that has no job. The protocol's function `nothing` will tell the client why. */
void elapse__reply_set_nothing(struct elapse__server_reply *reply, enum elapse__server_nothing why);

/* Tries to take jobs for a reserve that has none. Returns true if the reply has hands now, or is
 * NOTHING. Stores in `*again` whether the try failed because the journal takes nothing now. */
bool elapse__reply_try(struct elapse__server_reply *reply, bool *again);

/* Tries to take other jobs for a reply whose jobs are all gone. If there are none, the reply waits
 * again, or has nothing. */
void elapse__reply_try_again(struct elapse__server_reply *reply);

/* Called when the timer of a reply that waits has fired: ends the wait, or sets the timer again. */
void elapse__reply_time(struct elapse__server_reply *reply);

/* Sets the timers of the connection's waiting replies anew, because a lease of the connection has
 * begun: a reply that waits may have to tell that this lease ends soon. */
void elapse__reply_look_at_deadlines(struct elapse__connection *connection);

#endif
