/*
 * Makes and frees events of libevent. An event waits from the moment at which it is made.
 */
#ifndef ELAPSE__LOOP_EVENT_H
#define ELAPSE__LOOP_EVENT_H

#include <event2/event.h>

/* Returns a base that never reads the clock but for timers. Otherwise it would read the clock in
 * every round, to tell those who ask for the time of the round, and nobody asks. Returns NULL if
 * there is no memory. */
struct event_base *elapse__loop_event_base(void);

/* Returns an event that waits for a descriptor; -1: it waits only for the time. It waits no longer
 * than `limit`, unless that is NULL. Returns NULL if there is no memory. */
struct event *elapse__loop_event(struct event_base *base, int descriptor, short what,
                                 const struct timeval *limit, event_callback_fn call,
                                 void *argument);

/* Frees an event. Does nothing if `event` is NULL. */
void elapse__loop_event_free(struct event *event);

#endif
