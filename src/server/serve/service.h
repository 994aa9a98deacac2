/*
 * What serve.c and events.c share. serve.c starts and stops the server. events.c handles what
 * happens in between.
 */
#ifndef ELAPSE__SERVE_SERVICE_H
#define ELAPSE__SERVE_SERVICE_H

#include "../../base/history.h"
#include "../../os/program.h"
#include "../core/guesses.h"
#include "../loop/loop.h"

struct elapse__service;

/* Work that is done again and again. An alarm of the system wakes the loop for it, because libevent
 * reads the clock in every round while it has a timer. The alarm is made when the service starts:
 * a service that has used up its descriptors must still be able to stop in time. */
struct elapse__recurring {
    struct elapse__os_alarm alarm; /* open if `event` is not NULL */
    struct event *event;           /* NULL: it was not made */
    uint64_t interval_ns;
    void (*call)(struct elapse__service *service);
    struct elapse__service *service;
};

/* The server: its loop, and what only starting, events and stopping need. */
struct elapse__service {
    struct elapse__loop loop;
    struct elapse__os_signals signals;
    struct event *on_signal;
    struct elapse__recurring watchdog;
    struct elapse__recurring usage_check;
    struct elapse__recurring tick; /* only while the server stops */
    char instance[17];
    char host[ELAPSE__LOOP_HOST_BYTES];
    char kernel[65];
    char platform[65];
    bool has_waited_for_clock;
    uint64_t ended_dropped; /* lines of the log of ended jobs that were dropped, as the log knows */
    struct elapse__history history; /* of all cores together */

    /* Runs `call` for each core, with the lock of its store. NULL: the loop has the only core. */
    void (*with_cores)(struct elapse__service *service,
                       void (*call)(struct elapse__loop *loop, void *argument), void *argument);
};

/* Returns whether HTTP is spoken anywhere. Requires that the listeners are open. */
bool elapse__service_wants_http(const struct elapse__loop *loop);

/* Reads the files that the options name. Returns false after a message. */
bool elapse__service_read_files(struct elapse__service *service);

/* Becomes the user of the options. Returns false after a message. */
bool elapse__service_become_user(struct elapse__service *service);

/* Opens the log of jobs that have ended, if the options name one. Returns false after a message. */
bool elapse__service_open_ended(struct elapse__service *service);

/* Returns the options of the store. */
struct elapse_queue_options
elapse__service_queue_options(const struct elapse__loop_options *options);

/* Makes the core of a loop, whose store is open. The texts of the core belong to the service.
 * Returns false if there is no memory. */
bool elapse__service_make_core(struct elapse__service *service, struct elapse__loop *loop);

/* Finds out what the statistics of cores tell about this process and its machine. */
void elapse__service_know_machine(struct elapse__service *service);

/* Waits up to 100 ms for a signal. Returns whether one asks to end. */
bool elapse__service_is_asked_to_end(struct elapse__service *service);

/* Opens what a service needs first: its logger, and signals. Returns false after a message. */
bool elapse__service_open(struct elapse__service *service,
                          const struct elapse__loop_options *options);

/* Frees the events of the service, its base, and its files. */
void elapse__service_close(struct elapse__service *service);

/* Has signals obeyed, and the service manager and the core told regularly of the process. Returns
 * false if the system refuses. elapse__service_end_events ends what was begun. */
bool elapse__service_start_events(struct elapse__service *service);

void elapse__service_end_events(struct elapse__service *service);

/* Wakes the loop at this interval, in nanoseconds, from now on. Requires that
 * elapse__service_start_events has succeeded. */
void elapse__service_tick(struct elapse__service *service, uint64_t interval_ns);

/* Writes into the log which places have guessed passwords since the last call. */
void elapse__service_say_guesses(struct elapse__logger *logger, struct elapse__guesses *guesses);

/* The same for connections that put with RETRY, the old name of ATTEMPTS. */
void elapse__service_say_old_names(struct elapse__logger *logger, struct elapse__guesses *names);

/* Counts the files of the journal. Requires the store's lock. `argument` is not used. */
void elapse__service_count_files(struct elapse__loop *loop, void *argument);

#endif
