/*
 * The loads that change jobs. Each connection has units under way up to its window; a unit changes
 * `batch` jobs in one transaction.
 */
#include "postgres_loads.h"

#include <stdlib.h>

#include "client.h"
#include "peer.h"
#include "postgres_jobs.h"

enum {
    RESCHEDULE_AHEAD_MS = 7200 * 1000,
    HEARTBEAT_AHEAD_MS = 60 * 1000,
    FILL_BATCH = 1000, /* of the jobs that are there before the clock runs */
    FILL_WINDOW = 4000,
};

struct load;

struct worker {
    struct link link;
    struct jobs jobs; /* of the unit that is being written */
    /* Numbers of jobs that are this connection's alone, for heartbeat and churn. Two transactions
     * that take the same rows in different order would wait for each other for ever. */
    uint64_t *own, own_count, own_at;
    uint64_t *unit_of_pick, units; /* the unit that last picked each of `own` */
};

/* Writes a unit of up to so many jobs. Returns how many; 0: there are no more. */
typedef uint32_t write_unit(struct load *load, struct worker *worker, uint32_t jobs);

struct load {
    struct arguments *arguments;
    struct worker *workers;
    struct link **links;
    const uint64_t *order; /* numbers of jobs; NULL: they count up */
    uint64_t next, end;    /* numbers, or places in the order */
    uint64_t randoms;      /* random numbers taken */
    /* One phase of it. */
    write_unit *write;
    uint64_t batch, window, rate;
    uint64_t began_ns, ended_ns, asked, answered;
    struct histogram *times;
};

/* ---- phases ---- */

static void end_unit(void *context, const struct unit *unit)
{
    struct load *load = context;

    load->ended_ns = now_ns();
    load->answered += unit->jobs;
    histogram_add(load->times, load->ended_ns - unit->sent_ns, unit->jobs);
}

/* How many jobs may be under way by the rate. */
static bool rate_allows(const struct load *load)
{
    double passed_s = (double)(now_ns() - load->began_ns) / 1e9;
    return load->rate == 0 || (double)(load->asked + load->batch) <= passed_s * (double)load->rate;
}

/* Fills the windows. Returns whether something is under way. */
static bool write_units(struct load *load, bool *is_over)
{
    bool is_under_way = false;

    for (uint64_t i = 0; i < load->arguments->connections; i++) {
        struct worker *worker = &load->workers[i];
        while (!*is_over && worker->link.jobs + load->batch <= load->window && rate_allows(load)) {
            uint32_t jobs = load->write(load, worker, (uint32_t)load->batch);
            load->asked += jobs;
            *is_over = jobs == 0;
        }
        is_under_way |= worker->link.under_way > 0;
    }
    return is_under_way;
}

static double run_phase(struct load *load, write_unit *write, double seconds)
{
    const struct receiver receiver = {.end_unit = end_unit, .context = load};
    bool is_over = false;

    load->write = write;
    load->asked = load->answered = 0;
    *load->times = (struct histogram){.count = 0};
    load->began_ns = load->ended_ns = now_ns();
    uint64_t until_ns = load->began_ns + (uint64_t)(seconds * 1e9);
    while (write_units(load, &is_over) || !is_over) {
        links_wait(load->links, load->arguments->connections, load->rate > 0 ? 1 : 100);
        for (uint64_t i = 0; i < load->arguments->connections; i++)
            if (load->links[i]->is_ready)
                link_receive(load->links[i], &receiver);
        is_over |= now_ns() >= until_ns;
    }
    return (double)(load->ended_ns - load->began_ns) / 1e9;
}

/* The same for so many jobs: fewer are a failure. */
static double run_whole_phase(struct load *load, write_unit *write, uint64_t count)
{
    double took_s = run_phase(load, write, load->arguments->seconds);

    peer_check_count("answered in time", load->answered, count);
    return took_s;
}

/* ---- units ---- */

/* Takes the next numbers. Returns how many there are. */
static uint32_t take_numbers(struct load *load, uint32_t jobs, uint64_t *begin)
{
    uint64_t left = load->end - load->next;

    *begin = load->next;
    if (jobs > left)
        jobs = (uint32_t)left;
    load->next += jobs;
    return jobs;
}

static uint64_t number_at(const struct load *load, uint64_t place)
{
    return load->order != NULL ? load->order[place] : place;
}

static uint32_t end(struct worker *worker, uint32_t jobs)
{
    link_end_unit(&worker->link, (struct unit){.jobs = jobs, .rows = jobs});
    return jobs;
}

static uint32_t write_put_at(struct load *load, struct worker *worker, uint32_t jobs,
                             int64_t due_ms, bool has_key)
{
    uint64_t begin;

    jobs = take_numbers(load, jobs, &begin);
    if (jobs == 0)
        return 0;
    jobs_begin(&worker->jobs);
    for (uint32_t i = 0; i < jobs; i++) {
        jobs_add(&worker->jobs, due_ms);
        jobs_add_key(&worker->jobs, number_at(load, begin + i));
    }
    if (has_key)
        jobs_put_with_key(&worker->jobs, &worker->link);
    else
        jobs_put(&worker->jobs, &worker->link);
    return end(worker, jobs);
}

static uint32_t write_put(struct load *load, struct worker *worker, uint32_t jobs)
{
    return write_put_at(load, worker, jobs, wall_ms() + PEER_PUT_AHEAD_MS, false);
}

static uint32_t write_put_with_key(struct load *load, struct worker *worker, uint32_t jobs)
{
    return write_put_at(load, worker, jobs, wall_ms() + PEER_PUT_AHEAD_MS, true);
}

static uint32_t write_put_now(struct load *load, struct worker *worker, uint32_t jobs)
{
    return write_put_at(load, worker, jobs, wall_ms(), false);
}

static uint32_t write_delete(struct load *load, struct worker *worker, uint32_t jobs)
{
    uint64_t begin;

    jobs = take_numbers(load, jobs, &begin);
    if (jobs == 0)
        return 0;
    jobs_begin(&worker->jobs);
    for (uint32_t i = 0; i < jobs; i++)
        jobs_add_id(&worker->jobs, number_at(load, begin + i));
    jobs_delete(&worker->jobs, &worker->link);
    return end(worker, jobs);
}

static uint32_t write_cancel(struct load *load, struct worker *worker, uint32_t jobs)
{
    uint64_t begin;

    jobs = take_numbers(load, jobs, &begin);
    if (jobs == 0)
        return 0;
    jobs_begin(&worker->jobs);
    for (uint32_t i = 0; i < jobs; i++)
        jobs_add_key(&worker->jobs, number_at(load, begin + i));
    jobs_cancel(&worker->jobs, &worker->link);
    return end(worker, jobs);
}

static uint32_t write_reschedule(struct load *load, struct worker *worker, uint32_t jobs)
{
    uint64_t begin;

    jobs = take_numbers(load, jobs, &begin);
    if (jobs == 0)
        return 0;
    jobs_begin(&worker->jobs);
    for (uint32_t i = 0; i < jobs; i++) {
        jobs_add_key(&worker->jobs, number_at(load, begin + i));
        jobs_add_due(&worker->jobs, wall_ms() + RESCHEDULE_AHEAD_MS);
    }
    jobs_reschedule(&worker->jobs, &worker->link);
    return end(worker, jobs);
}

static uint64_t random_number(struct load *load)
{
    return mix(load->arguments->seed + load->randoms++);
}

static void shuffle_own(struct load *load, struct worker *worker)
{
    for (uint64_t i = worker->own_count; i > 1; i--) {
        uint64_t other = random_number(load) % i;
        uint64_t number = worker->own[i - 1];
        worker->own[i - 1] = worker->own[other];
        worker->own[other] = number;
    }
}

/* A round moves each of the connection's timers once, in random order. No unit has one twice. */
static uint32_t write_heartbeat(struct load *load, struct worker *worker, uint32_t jobs)
{
    if (worker->own_at == 0)
        shuffle_own(load, worker);
    if (jobs > worker->own_count - worker->own_at)
        jobs = (uint32_t)(worker->own_count - worker->own_at);
    jobs_begin(&worker->jobs);
    for (uint32_t i = 0; i < jobs; i++) {
        jobs_add_key(&worker->jobs, worker->own[worker->own_at + i]);
        jobs_add_due(&worker->jobs, wall_ms() + HEARTBEAT_AHEAD_MS);
    }
    worker->own_at = (worker->own_at + jobs) % worker->own_count;
    jobs_reschedule(&worker->jobs, &worker->link);
    return end(worker, jobs);
}

/* Picks a random one of the connection's jobs that this unit did not pick before. */
static uint64_t pick(struct load *load, struct worker *worker)
{
    for (;;) {
        uint64_t place = random_number(load) % worker->own_count;
        if (worker->unit_of_pick[place] != worker->units) {
            worker->unit_of_pick[place] = worker->units;
            return place;
        }
    }
}

/* Random jobs of the connection are cancelled, and as many put. */
static uint32_t write_churn(struct load *load, struct worker *worker, uint32_t jobs)
{
    uint64_t *places;

    if (jobs > worker->own_count)
        jobs = (uint32_t)worker->own_count;
    places = peer_allocate(jobs, sizeof *places);
    worker->units++;
    jobs_begin(&worker->jobs);
    for (uint32_t i = 0; i < jobs; i++) {
        places[i] = pick(load, worker);
        jobs_add_key(&worker->jobs, worker->own[places[i]]);
    }
    jobs_cancel(&worker->jobs, &worker->link);
    jobs_begin(&worker->jobs);
    for (uint32_t i = 0; i < jobs; i++) {
        worker->own[places[i]] = load->next++;
        jobs_add_key(&worker->jobs, worker->own[places[i]]);
        jobs_add(&worker->jobs, wall_ms() + PEER_PUT_AHEAD_MS);
    }
    jobs_put_with_key(&worker->jobs, &worker->link);
    link_end_unit(&worker->link, (struct unit){.jobs = jobs, .rows = 2 * jobs});
    free(places);
    return jobs;
}

/* ---- loads ---- */

static struct load open_load(struct arguments *arguments)
{
    struct load load = {
        .arguments = arguments,
        .workers = peer_allocate(arguments->connections, sizeof *load.workers),
        .links = peer_allocate(arguments->connections, sizeof(struct link *)),
        .times = peer_allocate(1, sizeof *load.times),
        .next = arguments->first,
        .end = arguments->count > 0 ? arguments->first + arguments->count : UINT64_MAX,
        .batch = arguments->batch,
        .window = arguments->window,
    };
    uint64_t units_max = arguments->window > FILL_WINDOW ? arguments->window : FILL_WINDOW;

    for (uint64_t i = 0; i < arguments->connections; i++) {
        link_open(&load.workers[i].link, arguments->address, units_max, arguments->batch);
        load.links[i] = &load.workers[i].link;
    }
    return load;
}

static void close_load(struct load *load)
{
    for (uint64_t i = 0; i < load->arguments->connections; i++) {
        struct worker *worker = &load->workers[i];
        link_close(&worker->link);
        jobs_free(&worker->jobs);
        free(worker->own);
        free(worker->unit_of_pick);
    }
    free(load->workers);
    free(load->links);
    free(load->times);
}

static void print_load(const struct load *load, double took_s)
{
    figures_begin();
    figures_number("rate", (double)load->answered / took_s);
    figures_number("count", (double)load->answered);
    figures_times(load->times);
    figures_end();
}

static void run(struct arguments *arguments, write_unit *write, const uint64_t *order)
{
    struct load load = open_load(arguments);

    if (order != NULL) {
        load.order = order;
        load.next = 0;
        load.end = arguments->count;
    }
    double took_s = arguments->count > 0 ? run_whole_phase(&load, write, arguments->count)
                                         : run_phase(&load, write, arguments->seconds);
    print_load(&load, took_s);
    close_load(&load);
}

static void need_count(const struct arguments *arguments)
{
    if (arguments->count == 0)
        peer_fail("%s needs --count", arguments->verb);
}

static void run_shuffled(struct arguments *arguments, write_unit *write)
{
    need_count(arguments);
    uint64_t *order = shuffled(arguments->first, arguments->count, arguments->seed);
    run(arguments, write, order);
    free(order);
}

void load_put(struct arguments *arguments)
{
    run(arguments, write_put, NULL);
}

void load_put_key(struct arguments *arguments)
{
    run(arguments, write_put_with_key, NULL);
}

void load_put_now(struct arguments *arguments)
{
    run(arguments, write_put_now, NULL);
}

void load_delete(struct arguments *arguments)
{
    need_count(arguments);
    run(arguments, write_delete, NULL);
}

void load_cancel(struct arguments *arguments)
{
    run_shuffled(arguments, write_cancel);
}

void load_reschedule(struct arguments *arguments)
{
    run_shuffled(arguments, write_reschedule);
}

void load_story(struct arguments *arguments)
{
    need_count(arguments);
    struct load load = open_load(arguments);
    uint64_t *order = shuffled(arguments->first, arguments->count, arguments->seed);
    uint64_t cancels = arguments->count * arguments->share / 100;
    double put_s = run_whole_phase(&load, write_put_with_key, arguments->count);

    load.order = order;
    load.next = 0;
    load.end = cancels;
    double cancel_s = run_whole_phase(&load, write_cancel, cancels);
    uint64_t count = arguments->count + cancels;
    figures_begin();
    figures_number("put_rate", (double)arguments->count / put_s);
    figures_number("cancel_rate", cancels > 0 ? (double)cancels / cancel_s : 0);
    figures_number("rate", (double)count / (put_s + cancel_s));
    figures_number("count", (double)count);
    figures_end();
    free(order);
    close_load(&load);
}

/* Puts keyed jobs, and deals their numbers out to the connections. */
static void fill(struct load *load, uint64_t count)
{
    uint64_t connections = load->arguments->connections;

    if (count < connections)
        peer_fail("%llu jobs are too few for so many connections", (unsigned long long)count);
    load->end = load->next + count;
    load->batch = FILL_BATCH;
    load->window = FILL_WINDOW;
    (void)run_whole_phase(load, write_put_with_key, count);
    load->batch = load->arguments->batch;
    load->window = load->arguments->window;
    for (uint64_t i = 0; i < connections; i++) {
        struct worker *worker = &load->workers[i];
        worker->own = peer_allocate(count / connections + 1, sizeof *worker->own);
        worker->unit_of_pick = peer_allocate(count / connections + 1, sizeof *worker->unit_of_pick);
        for (uint64_t number = i; number < count; number += connections)
            worker->own[worker->own_count++] = load->arguments->first + number;
    }
}

static void run_filled(struct arguments *arguments, write_unit *write, uint64_t count)
{
    struct load load = open_load(arguments);

    fill(&load, count);
    load.rate = arguments->rate;
    double took_s = run_phase(&load, write, arguments->seconds);
    print_load(&load, took_s);
    close_load(&load);
}

void load_heartbeat(struct arguments *arguments)
{
    need_count(arguments);
    run_filled(arguments, write_heartbeat, arguments->count);
}

void load_churn(struct arguments *arguments)
{
    run_filled(arguments, write_churn, arguments->live);
}
