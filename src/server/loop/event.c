#include "event.h"

#include <stddef.h>

#include "../../base/assert.h"

struct event_base *elapse__loop_event_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config == NULL)
        return NULL;
    if (event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
        base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

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
