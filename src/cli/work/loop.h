/*
 * The worker at work: two connections to the server, and the programs or web hooks that do the
 * jobs. worker.h decides; this has the effects.
 *
 * One connection reserves, and waits there for jobs; the other one tells how they ended, because a
 * command behind a reserve that waits would wait too.
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
    bool quiet; /* says nothing of single jobs */
};

/* Works until a signal ends it, or there is no job left. */
enum exit_status work_loop(const struct work_options *options);

#endif
