/*
 * Events of libevent that wait from their making on.
 */
#ifndef ELAPSE__LOOP_EVENT_H
#define ELAPSE__LOOP_EVENT_H

#include <event2/event.h>

/* Returns an event that waits for a descriptor (-1: for the time alone), up to `limit` if that is
 * not NULL. Returns NULL if there is no memory. */
struct event *elapse__loop_event(struct event_base *base, int descriptor, short what,
                                 const struct timeval *limit, event_callback_fn call,
                                 void *argument);

/* NULL is ignored. */
void elapse__loop_event_free(struct event *event);

#endif
