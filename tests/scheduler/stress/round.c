#include "stress.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void nap_ns(uint64_t time_ns)
{
    struct timespec nap = {.tv_nsec = (long)time_ns};
    (void)nanosleep(&nap, NULL);
}

/* ---- opening ---- */

/* How many threads take. */
static unsigned draw_takers(const struct round *round)
{
    struct random_source source = {.state = ~round->seed};
    int takers = round->configuration->takers;
    if (takers != TAKERS_DRAWN)
        return (unsigned)takers;
    return random_one_in(&source, 3) ? 1 + (unsigned)random_below(&source, 8) : 0;
}

static void draw_character(struct round *round, struct random_source *source)
{
    static const uint64_t ticks_ns[] = {50000, 100000, 333333, 1000000};
    static _Atomic unsigned closings;
    round->tick_ns = ticks_ns[random_below(source, sizeof ticks_ns / sizeof *ticks_ns)];
    round->pending_max = random_one_in(source, 4) ? 20 + random_below(source, 500) : 0;
    round->how = (enum elapse_close)(atomic_fetch_add(&closings, 1) % 5);
    round->takers = draw_takers(round);
    if (round->takers > 0 && round->how != ELAPSE_CLOSE_DROP &&
        round->how != ELAPSE_CLOSE_RUN_DELAYED)
        round->how = ELAPSE_CLOSE_HAND_BACK;
    if (round->takers > 0 && random_one_in(source, 2))
        round->lease_ns = 1 + random_below(source, 3 * ELAPSE_MILLISECOND_NS);
    round->operations_each = 50 + random_below(source, 2000);
    round->starts = !random_one_in(source, 16);
    if (!round->starts && round->how == ELAPSE_CLOSE_RUN_DELAYED)
        round->how = ELAPSE_CLOSE_DROP;
    round->has_cron = random_one_in(source, 2);
    round->rests = round->starts && random_one_in(source, 3);
}

static void round_open(struct round *round)
{
    struct random_source source = {.state = round->seed};
    struct elapse_scheduler_options options;
    draw_character(round, &source);
    round->records = calloc(RECORDS, sizeof *round->records);
    round->published = calloc(RECORDS, sizeof *round->published);
    must(round->records != NULL && round->published != NULL, round, NULL, "no memory");
    for (uint32_t i = 0; i < RECORDS; i++) {
        round->records[i].round = round;
        round->records[i].number = i;
        atomic_init(&round->records[i].last_begin_ns, ELAPSE_NEVER);
    }
    for (int i = 0; i < LOCKS; i++)
        (void)pthread_mutex_init(&round->locks[i], NULL);

    elapse_scheduler_options_init(&options);
    options.tick_ns = round->tick_ns;
    options.workers = round->configuration->workers;
    options.queue_tasks = round->configuration->queue_tasks;
    options.shards = round->configuration->shards;
    options.pending_max = round->pending_max;
    options.pull = round->takers > 0;
    options.lease_ns = round->lease_ns;
    if (random_one_in(&source, 2))
        options.worker_idle_ns = 1 + random_below(&source, 5 * ELAPSE_MILLISECOND_NS);
    options.workers_min = 1 + (unsigned)random_below(&source, 4);
    must(elapse_scheduler_new(&options, &round->scheduler) == ELAPSE_OK, round, NULL, "new failed");
    round->begun_ns = elapse_scheduler_now_ns(round->scheduler);
    round->begun_wall_clock_ns = elapse_scheduler_wall_clock_ns(round->scheduler);
    must(elapse_cron_parse(&round->cron, "* * * * * *", NULL) == ELAPSE_OK, round, NULL,
         "no expression");
    for (uint64_t times = random_below(&source, 100); times > 0; times--)
        operate(round, &source, false);
    takers_expect_nothing(round, ELAPSE_ERROR_ARGUMENT);
    if (round->starts)
        must(elapse_scheduler_start(round->scheduler) == ELAPSE_OK, round, NULL, "start failed");
    atomic_store(&round->started, round->starts);
}

/* ---- threads ---- */

static void operate_some(struct round *round, struct random_source *source)
{
    operate(round, source, false);
    if (random_one_in(source, 24))
        nap_ns(random_below(source, 200000));
}

static void *go_on(void *argument)
{
    struct round *round = argument;
    struct random_source *source = random_of_thread(round);
    bool resting = false;
    for (;;) {
        switch (atomic_load(&round->phase)) {
        case PHASE_END:
            return NULL;
        case PHASE_REST:
            if (!resting)
                atomic_fetch_add(&round->resting, 1);
            resting = true;
            nap_ns(100000);
            break;
        default:
            operate_some(round, source);
            break;
        }
    }
}

/*
 * Nobody calls anything: then all that can come due has to run, without any call that
 * could happen to wake the scheduler. The end of waiting is the alarm of main.c.
 */
static void rest(struct round *round)
{
    struct elapse_statistics statistics;
    atomic_store(&round->phase, (int)PHASE_REST);
    while (atomic_load(&round->resting) < round->configuration->threads - 1)
        nap_ns(100000);
    do {
        nap_ns(500000);
        elapse_scheduler_statistics(round->scheduler, &statistics);
    } while (statistics.running > 0 || statistics.pending != accounts_far(round));
}

/* Closes at once, or with time limits that are too short, one after the other. */
static enum elapse_error close_in_steps(struct round *round, elapse_hand_back_function *hand_back)
{
    struct random_source *source = random_of_thread(round);
    for (uint64_t times = random_below(source, 4); times > 0; times--) {
        uint64_t limit_ns = random_below(source, 200 * ELAPSE_MICROSECOND_NS);
        enum elapse_error error =
            elapse_scheduler_close_within(round->scheduler, round->how, hand_back, round, limit_ns);
        if (error != ELAPSE_ERROR_TIMEOUT)
            return error;
        atomic_fetch_add(&round->counters->paused_closes, 1);
        must(elapse_scheduler_life(round->scheduler) == ELAPSE_LIFE_CLOSING, round, NULL,
             "a close timed out, and is not on its way");
        /* A task that was taken and left is ended by no take any more, but by this thread, which
         * must not wait for it. */
        operate(round, source, round->lease_ns > 0);
    }
    return elapse_scheduler_close(round->scheduler, round->how, hand_back, round);
}

/* Closes, while the others go on. */
static void shut(struct round *round)
{
    struct frame frame;
    if (round->takers > 0)
        must(elapse_scheduler_close(round->scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL) ==
                 ELAPSE_ERROR_ARGUMENT,
             round, NULL, "was closed in a way that it cannot be");
    atomic_store(&round->closing, true);
    elapse_hand_back_function *hand_back =
        round->how == ELAPSE_CLOSE_HAND_BACK ? record_hand_back : NULL;
    round->close_begun_ns = elapse_scheduler_now_ns(round->scheduler);
    round->close_begun_wall_clock_ns = elapse_scheduler_wall_clock_ns(round->scheduler);
    frame_enter(&frame, CALL_CLOSE, NULL, 0);
    enum elapse_error error = close_in_steps(round, hand_back);
    frame_leave(&frame);
    must(error == ELAPSE_OK, round, NULL, "close failed");
    must(elapse_scheduler_life(round->scheduler) == ELAPSE_LIFE_CLOSED, round, NULL,
         "was closed, and its life goes on");
    atomic_store(&round->closed, true);
    takers_expect_nothing(round, round->takers > 0 ? ELAPSE_ERROR_CLOSED : ELAPSE_ERROR_ARGUMENT);
    must(elapse_scheduler_close(round->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL) ==
             ELAPSE_ERROR_CLOSED,
         round, NULL, "was closed twice");
}

static void round_live(struct round *round)
{
    struct takers *takers = round->takers > 0 && round->starts ? takers_begin(round) : NULL;
    struct random_source *source = random_of_thread(round);
    pthread_t threads[THREADS_MAX];
    unsigned others = round->configuration->threads - 1;
    bool closes_at_rest = false; /* then only closing wakes the sleeping takers */
    for (unsigned i = 0; i < others; i++)
        must(pthread_create(&threads[i], NULL, go_on, round) == 0, round, NULL, "no thread");
    for (uint64_t i = 0; i < round->operations_each; i++)
        operate_some(round, source);
    if (round->rests) {
        rest(round);
        closes_at_rest = random_one_in(source, 2);
        if (!closes_at_rest)
            atomic_store(&round->phase, (int)PHASE_BUSY);
        for (uint64_t i = closes_at_rest ? 0 : random_below(source, 200); i > 0; i--)
            operate_some(round, source);
    }
    shut(round);
    atomic_store(&round->phase, (int)PHASE_BUSY);
    for (int i = 0; i < 20; i++)
        operate_some(round, source);
    atomic_store(&round->phase, (int)PHASE_END);
    for (unsigned i = 0; i < others; i++)
        (void)pthread_join(threads[i], NULL);
    if (takers != NULL)
        takers_end(takers);
}

/* ---- all of it ---- */

void round_run(const struct configuration *configuration, struct counters *counters, uint64_t seed)
{
    struct round *round = calloc(1, sizeof *round);
    struct elapse_statistics statistics;
    if (round == NULL)
        abort();
    round->configuration = configuration;
    round->counters = counters;
    round->seed = seed;
    round_open(round);
    watchdog_watch(round);
    round_live(round);
    watchdog_watch(NULL);
    elapse_scheduler_statistics(round->scheduler, &statistics);
    accounts_check(round, &statistics);
    must(elapse_scheduler_free(round->scheduler) == ELAPSE_OK, round, NULL, "free failed");
    atomic_fetch_add(&counters->runs, round->runs);
    atomic_fetch_add(&counters->recurring_runs, round->recurring_runs);
    atomic_fetch_add(&counters->rounds, 1);
    atomic_fetch_add(&counters->pull_rounds, round->takers > 0);
    for (int i = 0; i < LOCKS; i++)
        (void)pthread_mutex_destroy(&round->locks[i]);
    free(round->records);
    free(round->published);
    free(round);
}
