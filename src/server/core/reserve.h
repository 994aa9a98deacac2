/*
 * Replies of reserves and looks, until they have a job.
 */
#ifndef ELAPSE__CORE_RESERVE_H
#define ELAPSE__CORE_RESERVE_H

#include "inner.h"

/* Gives a reply that has no job back its memory. Requires that it holds no hand that is read, and
 * is in no tube's ring. */
void elapse__reply_give(struct elapse__server_reply *reply);

/* Makes a reply one that has no job: the protocol's function `nothing` will say why. */
void elapse__reply_set_nothing(struct elapse__server_reply *reply, enum elapse__server_nothing why);

/* Tries to take jobs for a reserve that has none. Returns true if the reply has hands now, or is
 * NOTHING; `*again` is set if the journal takes nothing now. */
bool elapse__reply_try(struct elapse__server_reply *reply, bool *again);

/* Takes other jobs in place of those that are all gone, or waits again. */
void elapse__reply_try_again(struct elapse__server_reply *reply);

/* Acts on the timer of a reply that waits. */
void elapse__reply_time(struct elapse__server_reply *reply);

/* Sets the timers of the replies that wait, because a lease of the connection has begun: they may
 * have to tell a deadline. */
void elapse__reply_look_at_deadlines(struct elapse__connection *connection);

#endif
