/*
 * What the two files of the server's life share: serve.c begins and ends it, and serve_events.c has
 * what happens meanwhile.
 */
#ifndef ELAPSE__LOOP_SERVICE_H
#define ELAPSE__LOOP_SERVICE_H

#include "../../os/program.h"
#include "loop.h"

/* The server, and what belongs to its life alone. */
struct elapse__service {
    struct elapse__loop loop;
    struct elapse__os_signals signals;
    struct event *on_signal;
    struct event *watchdog;
    struct event *usage_check;
    struct event *tick; /* while it stops */
    char instance[17];
    char host[ELAPSE__SERVE_HOST_BYTES];
    char kernel[65];
    char platform[65];
    bool has_waited_for_clock;
};

/* Has signals obeyed, and the service manager and the core told regularly of the process. Returns
 * false if the system refuses. */
bool elapse__service_start_events(struct elapse__service *service);

/* Wakes the loop at this interval, in nanoseconds, until `service->tick` is freed. */
void elapse__service_tick(struct elapse__service *service, uint64_t interval_ns);

/* Counts the files of the journal. Requires the store's lock. `argument` is not used. */
void elapse__service_count_files(struct elapse__loop *loop, void *argument);

#endif
