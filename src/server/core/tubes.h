/*
 * Reserves that wait for jobs of tubes. Each reserve waits in the ring of each of its tubes.
 * session.h has the functions on tubes that protocols call.
 */
#ifndef ELAPSE__CORE_TUBES_H
#define ELAPSE__CORE_TUBES_H

#include "inner.h"

/* Returns the tube that has this watch; NULL if `watch` is NULL. */
static inline struct elapse__server_tube *elapse__server_tube_of(struct elapse__queue_watch *watch)
{
    return (struct elapse__server_tube *)(void *)watch;
}

/* Begins the wait of a reply in the rings of its tubes. The reply goes to the end of each ring. If
 * it had waited before the others, `in_front` is true, and it goes to the front. Requires that the
 * reply does not wait. */
void elapse__reply_wait(struct elapse__server_reply *reply, bool in_front);

/* Ends the wait of a reply. The reply then has the state NOTHING. Does nothing if the reply does
 * not wait. */
void elapse__reply_stop_waiting(struct elapse__server_reply *reply);

#endif
