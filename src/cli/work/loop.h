/*
 * Runs a worker. The worker has two connections to the server, and the programs or web hooks that
 * do the jobs. worker.h decides what to do, and this file does it.
 *
 * On one connection, the taker, the worker reserves jobs and waits for them. On the other
 * connection, the teller, it tells the server how jobs ended. On the taker such a command would
 * have to wait until the reserve ends.
 */
#ifndef ELAPSE_CLI_WORK_LOOP_H
#define ELAPSE_CLI_WORK_LOOP_H

#include "../client/settings.h"
#include "hooks.h"
#include "worker.h"

struct work_options {
    const struct client_settings *settings;
    char **tubes;
    size_t tube_count;
    char **program; /* NULL: a web hook does the jobs */
    struct hooks_options hooks;
    struct worker_options worker;
    bool quiet; /* prints nothing about single jobs */
};

/* Works until a signal ends the worker, or until there is no job left. */
enum exit_status work_loop(const struct work_options *options);

#endif
