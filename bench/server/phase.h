/*
 * One phase of a load: numbered steps of one or two commands, over plain sockets, each connection
 * with so many steps under way. Every reply is compared with what it has to be, and the first that
 * differs ends the process.
 */
#ifndef ELAPSE_BENCH_SERVER_PHASE_H
#define ELAPSE_BENCH_SERVER_PHASE_H

#include <stdint.h>

#include "arguments.h"
#include "commands.h"

struct phase {
    const struct kind *kinds[2]; /* the second may be NULL */
    /* Returns the number of the job that the command is about. Step and command count from 0. */
    uint64_t (*number)(uint64_t step, unsigned command);
    uint64_t steps;  /* 0: until the time is over */
    double seconds;  /* at most */
    uint64_t rate;   /* steps a second; 0: as fast as it goes */
    uint64_t window; /* steps under way on each connection */
};

struct phase_result {
    uint64_t steps;
    double seconds;
    struct histogram times; /* from sending a step to its last reply */
};

/* Connects so many times. Call it once. */
void phases_connect(uint16_t port, uint64_t count);

/* Runs a phase, and stores how it went in `to`. If not all of `steps` were done in time, it ends
 * the process. Without `steps`, some may be under way at its end, and no other phase may follow. */
void phase_run(const struct phase *run, struct phase_result *to);

#endif
