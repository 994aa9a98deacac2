/*
 * The reserves that wait in tubes. What protocols ask of tubes is in session.h.
 */
#ifndef ELAPSE__CORE_TUBES_H
#define ELAPSE__CORE_TUBES_H

#include "inner.h"

/* Returns the tube whose watch this is; NULL of NULL. */
static inline struct elapse__server_tube *elapse__server_tube_of(struct elapse__queue_watch *watch)
{
    return (struct elapse__server_tube *)(void *)watch;
}

/* Begins to wait, at the end of the tubes' rings or, if the reply came before the others, in front.
 * Requires that the reply does not wait. */
void elapse__reply_wait(struct elapse__server_reply *reply, bool in_front);

/* Ends the wait of a reply that waits; it has nothing then. Leaves any other reply as it is. */
void elapse__reply_stop_waiting(struct elapse__server_reply *reply);

#endif
