/*
 * The order of events in each workload, the same for all C programs of the race.
 */
#include "race.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND_NS UINT64_C(1000000000)

static const struct race_delays far_delays = {1800 * SECOND_NS, 60 * SECOND_NS};

enum {
    STATUS_CANNOT = 3,
    RESTART_TIMERS = 100000,
    RESTARTS_MOST = 5000000,
    RESTARTS_AT_ONCE = 1000, /* between two looks at the clock */
};
#define RESTART_DELAY_NS (60 * SECOND_NS)
#define CASCADE_NS       (2 * SECOND_NS)
#define PATIENCE_NS      (60 * SECOND_NS)

static atomic_size_t far_actions;

void race_far_action(void)
{
    atomic_fetch_add(&far_actions, 1);
}

uint64_t race_overdue_ns(const struct race_delivery *delivery)
{
    return clock_ns() + delivery->span_ns + PATIENCE_NS;
}

static uint64_t seconds_ns(const struct race_options *options)
{
    return (uint64_t)(options->seconds * 1e9);
}

static void must_be_pending(void *facility, size_t count)
{
    race_must(race_contender.pending(facility) == count, "the number of pending timers is wrong");
    race_must(atomic_load(&far_actions) == 0, "a timer fired half an hour early");
}

/* Opens a fresh facility. Gives free memory back to the system first, so that each round has to
 * touch fresh pages. */
static void *open_facility(const struct race_options *options, size_t timers)
{
    (void)malloc_trim(0);
    return race_contender.open(options, timers);
}

static void *open_filled(const struct race_options *options)
{
    struct generator generator = {GENERATOR_SEED};
    void *facility = open_facility(options, options->timers);
    race_contender.schedule(facility, 0, options->timers, far_delays, &generator);
    must_be_pending(facility, options->timers);
    return facility;
}

/* ---- S1 ---- */

struct filler {
    pthread_t thread;
    pthread_barrier_t *barrier;
    void *facility;
    size_t first;
    size_t count;
    struct generator generator;
    uint64_t began_ns;
    uint64_t ended_ns;
};

static void *fill(void *argument)
{
    struct filler *filler = argument;
    (void)pthread_barrier_wait(filler->barrier);
    filler->began_ns = clock_ns();
    race_contender.schedule(filler->facility, filler->first, filler->count, far_delays,
                            &filler->generator);
    filler->ended_ns = clock_ns();
    return NULL;
}

/* Fills the facility from several threads, of which the caller is one. Returns the time from the
 * beginning of the first to the end of the last. */
static uint64_t fill_from_threads(void *facility, const struct race_options *options)
{
    struct filler fillers[RACE_THREADS_MOST];
    pthread_barrier_t barrier;
    race_must(options->threads >= 1 && options->threads <= RACE_THREADS_MOST, "no thread");
    race_must(pthread_barrier_init(&barrier, NULL, options->threads) == 0, "no barrier");
    size_t placed = 0;
    for (unsigned i = 0; i < options->threads; i++) {
        size_t share = (options->timers - placed) / (options->threads - i);
        fillers[i] = (struct filler){.barrier = &barrier,
                                     .facility = facility,
                                     .first = placed,
                                     .count = share,
                                     .generator = {GENERATOR_SEED + i}};
        placed += share;
    }
    for (unsigned i = 1; i < options->threads; i++)
        race_must(pthread_create(&fillers[i].thread, NULL, fill, &fillers[i]) == 0, "no thread");
    fill(&fillers[0]);
    uint64_t began_ns = fillers[0].began_ns;
    uint64_t ended_ns = fillers[0].ended_ns;
    for (unsigned i = 1; i < options->threads; i++) {
        (void)pthread_join(fillers[i].thread, NULL);
        began_ns = fillers[i].began_ns < began_ns ? fillers[i].began_ns : began_ns;
        ended_ns = fillers[i].ended_ns > ended_ns ? fillers[i].ended_ns : ended_ns;
    }
    (void)pthread_barrier_destroy(&barrier);
    return ended_ns - began_ns;
}

static void run_schedule(const struct race_options *options, bool reported)
{
    void *facility = open_facility(options, options->timers);
    uint64_t took_ns = fill_from_threads(facility, options);
    must_be_pending(facility, options->timers);
    race_contender.close(facility);
    if (reported) {
        race_print("schedule_ns", ns_each(0, took_ns, options->timers));
        race_print("cascaded_ns", ns_each(0, took_ns, options->timers));
    }
}

/* ---- S2 ---- */

static void run_cancel(const struct race_options *options, bool reported)
{
    struct generator generator = {GENERATOR_SEED};
    void *facility = open_facility(options, options->timers);
    race_contender.schedule(facility, 0, options->timers, far_delays, &generator);
    must_be_pending(facility, options->timers);
    race_shuffle(facility, &generator);

    uint64_t began_ns = clock_ns();
    size_t removed = race_contender.cancel(facility);
    uint64_t ended_ns = clock_ns();

    race_must(removed == options->timers, "not all timers could be cancelled");
    must_be_pending(facility, 0);
    race_contender.close(facility);
    if (!reported)
        return;
    race_print("cancel_ns", ns_each(began_ns, ended_ns, removed));
    race_print("cascaded_ns", ns_each(began_ns, ended_ns, removed));
    race_print("unlinks", race_contender.cancel_unlinks);
}

/* ---- S3 ---- */

static void run_deliver(const struct race_options *options, bool reported)
{
    struct race_delivery delivery = {
        .notes = race_allocate_touched(options->timers, sizeof *delivery.notes),
        .count = options->timers,
        .span_ns = seconds_ns(options),
        .generator = {GENERATOR_SEED},
    };
    (void)reported;
    void *facility = open_facility(options, options->timers);
    uint64_t cpu_ns = race_process_cpu_ns();
    uint64_t began_ns = clock_ns();
    race_contender.deliver(facility, &delivery);
    uint64_t ended_ns = clock_ns();
    cpu_ns = race_process_cpu_ns() - cpu_ns;

    race_print("cpu_s", (double)cpu_ns / 1e9);
    race_print("completion_s", (double)(ended_ns - began_ns) / 1e9);
    race_contender.close(facility);
    race_print_lateness(delivery.notes, delivery.count, options->lateness_path);
    free(delivery.notes);
}

/* ---- S4 ---- */

static void run_sleep(const struct race_options *options, bool reported)
{
    uint64_t sleep_ns = seconds_ns(options);
    (void)reported;
    void *facility = open_filled(options);
    /* Work that the facility has left over from being filled is done now, before it is timed. */
    race_contender.idle(facility, sleep_ns < CASCADE_NS ? sleep_ns : CASCADE_NS);

    uint64_t switches = race_switches();
    uint64_t cpu_ns = race_process_cpu_ns();
    race_contender.idle(facility, sleep_ns);
    cpu_ns = race_process_cpu_ns() - cpu_ns;
    switches = race_switches() - switches;

    must_be_pending(facility, options->timers);
    race_contender.close(facility);
    race_print("cpu_s", (double)cpu_ns / 1e9);
    race_print("switches", (double)switches);
}

/* ---- S5 ---- */

static void run_memory(const struct race_options *options, bool reported)
{
    struct generator generator = {GENERATOR_SEED};
    (void)reported;
    void *facility = open_facility(options, options->timers);
    uint64_t before = race_resident_bytes();
    race_contender.schedule(facility, 0, options->timers, far_delays, &generator);
    uint64_t after = race_resident_bytes();
    must_be_pending(facility, options->timers);
    race_contender.close(facility);
    double grown = (double)(after > before ? after - before : 0);
    race_print("task_bytes", grown / (double)options->timers);
    race_print("resident_bytes", grown / (double)options->timers);
}

/* ---- S6 ---- */

static void run_restart(const struct race_options *options, bool reported)
{
    struct generator generator = {GENERATOR_SEED};
    uint64_t most_ns = seconds_ns(options);
    size_t done = 0;
    size_t restarted = 0;
    void *facility = open_facility(options, RESTART_TIMERS);
    race_contender.schedule(facility, 0, RESTART_TIMERS, (struct race_delays){RESTART_DELAY_NS, 0},
                            &generator);
    generator.state = GENERATOR_SEED;

    uint64_t began_ns = clock_ns();
    uint64_t ended_ns = began_ns;
    for (; done < RESTARTS_MOST && ended_ns - began_ns < most_ns; ended_ns = clock_ns()) {
        restarted +=
            race_contender.restart(facility, RESTARTS_AT_ONCE, RESTART_DELAY_NS, &generator);
        done += RESTARTS_AT_ONCE;
    }
    race_must(restarted == done, "not all timers could be restarted");
    must_be_pending(facility, RESTART_TIMERS);
    race_contender.close(facility);
    if (!reported)
        return;
    race_print("reschedule_ns", ns_each(began_ns, ended_ns, done));
    race_print("resets", race_contender.has_restart);
}

/* ---- main ---- */

static const struct {
    void (*run)(const struct race_options *options, bool reported);
    bool in_rounds;
} workloads[RACE_WORKLOADS] = {
    [RACE_S1] = {run_schedule, true}, [RACE_S2] = {run_cancel, true},
    [RACE_S3] = {run_deliver, false}, [RACE_S4] = {run_sleep, false},
    [RACE_S5] = {run_memory, false},  [RACE_S6] = {run_restart, true},
};

int main(int argument_count, char **arguments)
{
    struct race_options options = race_parse(argument_count, arguments);
    if (options.threads > 1 && !race_contender.threads_may_share) {
        fprintf(stderr, "%s: an event loop belongs to one thread\n", race_contender.name);
        return STATUS_CANNOT;
    }
    /* The first round warms up. */
    if (workloads[options.workload].in_rounds)
        workloads[options.workload].run(&options, false);
    unsigned rounds = workloads[options.workload].in_rounds ? options.rounds : 1;
    for (unsigned i = 0; i < rounds; i++)
        workloads[options.workload].run(&options, true);
    if (fflush(stdout) != 0 || ferror(stdout))
        race_fail("standard output cannot be written");
    return EXIT_SUCCESS;
}
