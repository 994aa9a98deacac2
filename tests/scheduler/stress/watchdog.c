/*
 * A thread that watches whether the round goes on. It looks again and again, with a nap in between,
 * whether anything has advanced: operations, runs, the phase. How many looks find nothing new does
 * not depend on how fast the machine is, only on whether the other threads get their share of it.
 *
 * A round that goes on and does not end is another fault: a task that recurs without end, for
 * example, or a task that is taken again and again and never done. A round may do far more runs and
 * attempts than any round does, and no more.
 */
#include "stress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    IDLE_LOOKS_MAX = 600,    /* with a nap of a tenth of a second */
    RUNS_MAX = 20 * 1000000, /* of a round */
    ATTEMPTS_MAX = 1000000,  /* of a round with leases; most have a few thousand */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct round *watched; /* guarded by the lock, as long as it is looked at */

static void print_accounts(const struct round *round, const char *what)
{
    static const char *const lives[] = {"new", "started", "closing", "closed"};
    struct elapse_statistics statistics;
    fprintf(stderr,
            "Fault: %s\n"
            "round seed %" PRIu64 ", close %d, life %s, phase %d, resting %u, runs %" PRIu64
            " (%" PRIu64 " of tasks that recur), attempts %" PRIu64 "\n",
            what, round->seed, (int)round->how, lives[elapse_scheduler_life(round->scheduler)],
            round->phase, round->resting, round->runs, round->recurring_runs, round->attempts);
    fflush(stderr);
    elapse_scheduler_statistics(round->scheduler, &statistics);
    fprintf(stderr,
            "pending %" PRIu64 " (%" PRIu64 " far), running %" PRIu64 ", workers %" PRIu64
            ", held back %" PRIu64 ", overdue by %" PRIu64 " ns, begun %" PRIu64
            ", completed %" PRIu64 "\n",
            statistics.pending, accounts_far(round), statistics.running, statistics.workers,
            statistics.held_back, statistics.oldest_overdue_ns, statistics.begun,
            statistics.completed);
    fflush(stderr);
}

static uint64_t progress_of(const struct round *round)
{
    return atomic_load(&round->counters->operations) + atomic_load(&round->runs) +
           atomic_load(&round->attempts) + (uint64_t)atomic_load(&round->phase) +
           atomic_load(&round->closing) + atomic_load(&round->closed);
}

static bool goes_too_far(const struct round *round)
{
    return atomic_load(&round->runs) > RUNS_MAX || atomic_load(&round->attempts) > ATTEMPTS_MAX;
}

static void *watch(void *argument)
{
    const struct timespec nap = {.tv_nsec = 100000000};
    uint64_t seed = 0;
    uint64_t progress = 0;
    unsigned idle_looks = 0;
    (void)argument;
    for (;;) {
        (void)nanosleep(&nap, NULL);
        (void)pthread_mutex_lock(&lock);
        if (watched == NULL || watched->seed != seed || progress_of(watched) != progress)
            idle_looks = 0;
        else
            idle_looks++;
        if (watched != NULL) {
            seed = watched->seed;
            progress = progress_of(watched);
            bool stuck = idle_looks == IDLE_LOOKS_MAX;
            if (stuck || goes_too_far(watched)) {
                print_accounts(watched, stuck ? "the round does not go on"
                                              : "the round goes on and does not end");
                abort(); /* with the stacks of all threads in the core file */
            }
        }
        (void)pthread_mutex_unlock(&lock);
    }
    return NULL;
}

void watchdog_watch(const struct round *round)
{
    static bool begun;
    pthread_t thread;
    (void)pthread_mutex_lock(&lock);
    watched = round;
    (void)pthread_mutex_unlock(&lock);
    if (!begun && pthread_create(&thread, NULL, watch, NULL) == 0)
        (void)pthread_detach(thread);
    begun = true;
}
