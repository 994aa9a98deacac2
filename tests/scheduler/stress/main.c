/*
 * The stress test of the scheduler, on the real clock.
 *
 * Usage: stress-scheduler [--seconds S | --operations N] [--seed N] [--threads T]
 *                         [--workers W] [--shards S] [--queue Q] [--pull P]
 *
 * With --pull the scheduler is in pull mode, and P threads take; with 0 it never is. Without, it is
 * in some of the rounds.
 *
 * Rounds until the time is up or the operations are done; round n has the seed N + n. The
 * same seed draws the same numbers, but threads take turns as they please: a fault may take
 * many rounds to show again.
 */
#include "stress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct configuration configuration = {.seconds = 2,
                                             .threads = 4,
                                             .workers = 10,
                                             .shards = 4,
                                             .queue_tasks = 64,
                                             .takers = TAKERS_DRAWN};
static struct counters counters;

/* ---- faults ---- */

static void print_record(const struct record *record)
{
    fprintf(stderr,
            "task %" PRIu32
            ": recurrence %d, wall clock %d, key %d, outcome %d, end %d, runs %" PRIu32
            ", rescheduled %" PRIu32 ", removed %" PRIu32 ", destroyed %" PRIu32
            ", handed back %" PRIu32 ", over %d\n",
            record->number, (int)record->recurrence, record->wall_clock, record->key,
            record->outcome, record->end, record->runs, record->rescheduled, record->removed,
            record->destroyed, record->handed_back, record->over);
    for (unsigned i = 0; i < record->asked_count && i < HISTORY; i++) {
        const struct asked *asked = &record->history[i];
        fprintf(stderr,
                "  asked for %" PRIu64 " to %" PRIu64 " by %" PRIu64 ", superseded at %" PRIu64
                "\n",
                asked->low_ns, asked->high_ns, asked->asked_ns, asked->superseded_ns);
    }
}

_Noreturn void fault(const struct round *round, const struct record *record, const char *what)
{
    static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&first); /* never unlocked: one fault is enough */
    fprintf(stderr,
            "Fault: %s\n"
            "round seed %" PRIu64 ", tick %" PRIu64 " ns, pending_max %" PRIu64
            ", close %d, now %" PRIu64 "\n",
            what, round->seed, round->tick_ns, round->pending_max, (int)round->how,
            elapse_scheduler_now_ns(round->scheduler));
    if (record != NULL)
        print_record(record);
    fprintf(stderr,
            "Again: --seed %" PRIu64
            " --threads %u --workers %u --shards %u --queue %u --pull %u\n",
            round->seed, configuration.threads, configuration.workers, configuration.shards,
            configuration.queue_tasks, round->takers);
    fflush(NULL);
    _exit(1);
}

/* ---- command line ---- */

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= least && *number <= most;
}

static bool parse(int count, char **arguments)
{
    for (int i = 1; i + 1 < count; i += 2) {
        const char *name = arguments[i];
        const char *value = arguments[i + 1];
        uint64_t number;
        bool good = true;
        if (strcmp(name, "--seconds") == 0)
            good = parse_number(value, 0, UINT32_MAX, &configuration.seconds);
        else if (strcmp(name, "--operations") == 0)
            good = parse_number(value, 1, UINT64_MAX, &configuration.operations);
        else if (strcmp(name, "--seed") == 0)
            good = parse_number(value, 0, UINT64_MAX, &configuration.seed);
        else if (strcmp(name, "--threads") == 0 &&
                 (good = parse_number(value, 1, THREADS_MAX, &number)))
            configuration.threads = (unsigned)number;
        else if (strcmp(name, "--workers") == 0 && (good = parse_number(value, 0, 4096, &number)))
            configuration.workers = (unsigned)number;
        else if (strcmp(name, "--shards") == 0 && (good = parse_number(value, 1, 256, &number)))
            configuration.shards = (unsigned)number;
        else if (strcmp(name, "--queue") == 0 && (good = parse_number(value, 1, 1 << 20, &number)))
            configuration.queue_tasks = (unsigned)number;
        else if (strcmp(name, "--pull") == 0 &&
                 (good = parse_number(value, 0, THREADS_MAX, &number)))
            configuration.takers = (int)number;
        else
            good = false;
        if (!good)
            return false;
    }
    return count % 2 == 1;
}

int main(int count, char **arguments)
{
    configuration.seed = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid();
    if (!parse(count, arguments)) {
        fprintf(stderr,
                "usage: %s [--seconds S | --operations N] [--seed N] [--threads T] "
                "[--workers W] [--shards S] [--queue Q] [--pull P]\n",
                arguments[0]);
        return 2;
    }
    printf("--seed %" PRIu64 " --threads %u --workers %u --shards %u --queue %u",
           configuration.seed, configuration.threads, configuration.workers, configuration.shards,
           configuration.queue_tasks);
    if (configuration.takers == TAKERS_DRAWN)
        printf("\n");
    else
        printf(" --pull %d\n", configuration.takers);
    fflush(stdout);
    time_t end = time(NULL) + (time_t)configuration.seconds;
    uint64_t round_seed = configuration.seed;
    do {
        round_run(&configuration, &counters, round_seed++);
    } while (configuration.operations > 0 ? counters.operations < configuration.operations
                                          : time(NULL) < end);
    printf("%" PRIu64 " rounds (%" PRIu64 " in pull mode), %" PRIu64 " operations, %" PRIu64
           " tasks, %" PRIu64 " runs (%" PRIu64 " of tasks that recur), cancels: %" PRIu64
           " removed, %" PRIu64 " running, %" PRIu64 " gone, %" PRIu64 " self\n",
           counters.rounds, counters.pull_rounds, counters.operations, counters.tasks,
           counters.runs, counters.recurring_runs, counters.cancels[0], counters.cancels[1],
           counters.cancels[2], counters.cancels[3]);
    printf("%" PRIu64 " moved or changed, %" PRIu64 " not wanted to be; %" PRIu64 " waits, %" PRIu64
           " lists, %" PRIu64 " closes timed out; leases: %" PRIu64 " left, %" PRIu64
           " too late; told that they ran: %" PRIu64 ", were cancelled: %" PRIu64
           ", replaced: %" PRIu64 ", kept out: %" PRIu64 ", closed: %" PRIu64 "\n",
           counters.moves, counters.unmoved, counters.waits, counters.lists, counters.paused_closes,
           counters.left_leases, counters.late_leases, counters.ends[ELAPSE_END_RAN],
           counters.ends[ELAPSE_END_CANCELLED], counters.ends[ELAPSE_END_REPLACED],
           counters.ends[ELAPSE_END_KEPT_OUT], counters.ends[ELAPSE_END_CLOSED]);
    return 0;
}
