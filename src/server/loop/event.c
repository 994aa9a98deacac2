#include "event.h"

#include <stddef.h>

#include "../../base/assert.h"

struct event *elapse__loop_event(struct event_base *base, int descriptor, short what,
                                 const struct timeval *limit, event_callback_fn call,
                                 void *argument)
{
    ELAPSE__ASSERT(descriptor >= 0 || limit != NULL);
    struct event *event = event_new(base, descriptor, what, call, argument);
    if (event == NULL || event_add(event, limit) == 0)
        return event;
    event_free(event);
    return NULL;
}

void elapse__loop_event_free(struct event *event)
{
    if (event != NULL)
        event_free(event);
}
