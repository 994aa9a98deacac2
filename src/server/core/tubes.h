/*
 * Reserves that wait for jobs of tubes: each waits in the ring of each of its tubes. What protocols
 * ask of tubes is in session.h.
 */
#ifndef ELAPSE__CORE_TUBES_H
#define ELAPSE__CORE_TUBES_H

#include "inner.h"

/* Returns the tube that has this watch; NULL for NULL. */
static inline struct elapse__server_tube *elapse__server_tube_of(struct elapse__queue_watch *watch)
{
    return (struct elapse__server_tube *)(void *)watch;
}

/* Begins the wait of a reply: at the end of its tubes' rings, or in front if the reply had waited
 * before the others (`in_front`). Requires that the reply does not wait. */
void elapse__reply_wait(struct elapse__server_reply *reply, bool in_front);

/* Ends the wait of a reply, which is NOTHING then. Leaves a reply as it is that does not wait. */
void elapse__reply_stop_waiting(struct elapse__server_reply *reply);

#endif
