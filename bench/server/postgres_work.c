/*
 * The loads that hand jobs out. A worker asks for up to `batch` jobs; the next time it asks, it
 * acknowledges those in the same transaction.
 */
#include "postgres_loads.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "peer.h"
#include "postgres_jobs.h"

enum { PATIENCE_S = 60, PUT_UNITS = 8, NS_PER_MS = 1000000 };

/* The columns of a hand-out. */
enum { COLUMN_ID, COLUMN_ATTEMPT, COLUMN_BODY };

struct work;

struct taker {
    struct work *work;
    struct link link;
    struct array id, attempt; /* of jobs that are not acknowledged yet */
    uint64_t jobs;
    uint64_t ask_ns; /* when to ask again */
};

struct work {
    struct arguments *arguments;
    struct taker *takers;
    struct link **links;
    uint64_t pause_ns; /* after a hand-out that was not full */
    uint64_t handed_out, acknowledged, early;
    int64_t read_ns; /* when the last results came, by the wall clock */
    struct histogram *lateness;
    bool has_lateness;
};

static void begin_acknowledgements(struct taker *taker)
{
    array_begin(&taker->id, ARRAY_INT8);
    array_begin(&taker->attempt, ARRAY_INT4);
    taker->jobs = 0;
}

static void note_lateness(struct work *work, const char *body)
{
    int64_t late_ns = work->read_ns - peer_due_ms(body) * NS_PER_MS;

    work->early += late_ns < 0;
    histogram_add(work->lateness, late_ns < 0 ? 0 : (uint64_t)late_ns, 1);
}

static void take_jobs(void *context, const PGresult *rows)
{
    struct taker *taker = context;
    struct work *work = taker->work;
    int count = PQntuples(rows);

    for (int i = 0; i < count; i++) {
        if (PQgetlength(rows, i, COLUMN_BODY) != PEER_BODY_BYTES)
            peer_fail("a body has another length");
        array_add(&taker->id, PQgetvalue(rows, i, COLUMN_ID), sizeof(int64_t));
        array_add(&taker->attempt, PQgetvalue(rows, i, COLUMN_ATTEMPT), sizeof(int32_t));
        if (work->has_lateness)
            note_lateness(work, PQgetvalue(rows, i, COLUMN_BODY));
    }
    taker->jobs += (uint64_t)count;
    work->handed_out += (uint64_t)count;
    if ((uint64_t)count >= work->arguments->batch)
        taker->ask_ns = 0;
}

/* The rows of a unit are the acknowledgements. */
static void end_unit(void *context, const struct unit *unit)
{
    struct taker *taker = context;
    taker->work->acknowledged += unit->rows;
}

static void ask(struct taker *taker)
{
    struct unit unit = {.rows = (uint32_t)taker->jobs, .is_hand_out = true};

    if (taker->jobs > 0) {
        link_send(&taker->link, "acknowledge", 2,
                  (const struct array *[]){&taker->id, &taker->attempt});
        begin_acknowledgements(taker);
    }
    link_send(&taker->link, "hand-out", 0, NULL);
    link_end_unit(&taker->link, unit);
    taker->ask_ns = now_ns() + taker->work->pause_ns;
}

static void receive(struct taker *taker)
{
    const struct receiver receiver = {take_jobs, end_unit, taker};

    taker->work->read_ns = wall_ns();
    link_receive(&taker->link, &receiver);
}

static struct work open_work(struct arguments *arguments, uint64_t more_links)
{
    uint64_t count = arguments->connections;
    struct work work = {
        .arguments = arguments,
        .takers = peer_allocate(count, sizeof *work.takers),
        .links = peer_allocate(count + more_links, sizeof(struct link *)),
        .lateness = peer_allocate(1, sizeof *work.lateness),
    };

    for (uint64_t i = 0; i < count; i++) {
        struct taker *taker = &work.takers[i];
        link_open(&taker->link, arguments->address, arguments->window, arguments->batch);
        begin_acknowledgements(taker);
        work.links[i] = &taker->link;
    }
    return work;
}

static void close_work(struct work *work)
{
    for (uint64_t i = 0; i < work->arguments->connections; i++) {
        link_close(&work->takers[i].link);
        free(work->takers[i].id.at);
        free(work->takers[i].attempt.at);
    }
    free(work->takers);
    free(work->links);
    free(work->lateness);
}

/* ---- a backlog ---- */

/* Several hand-outs of a connection may be under way; each carries the acknowledgements of those
 * that came before. */
void load_drain(struct arguments *arguments)
{
    struct work work = open_work(arguments, 0);
    uint64_t began_ns = now_ns(), until_ns = began_ns + (uint64_t)(arguments->seconds * 1e9);

    for (uint64_t i = 0; i < arguments->connections; i++)
        work.takers[i].work = &work;
    while (work.acknowledged < arguments->count && now_ns() < until_ns) {
        for (uint64_t i = 0; i < arguments->connections; i++) {
            struct taker *taker = &work.takers[i];
            uint64_t most = arguments->window / arguments->batch;
            /* At the end one with nothing to acknowledge need not ask. */
            while (taker->link.under_way < most &&
                   (taker->jobs > 0 || work.handed_out < arguments->count))
                ask(taker);
        }
        links_wait(work.links, arguments->connections, 100);
        for (uint64_t i = 0; i < arguments->connections; i++)
            if (work.links[i]->is_ready)
                receive(&work.takers[i]);
    }
    double took_s = (double)(now_ns() - began_ns) / 1e9;
    peer_check_count("handed out", work.handed_out, arguments->count);
    peer_check_count("acknowledged", work.acknowledged, arguments->count);
    figures_begin();
    figures_number("rate", (double)arguments->count / took_s);
    figures_number("count", (double)arguments->count);
    figures_number("missing", 0);
    figures_end();
    close_work(&work);
}

/* ---- timers ---- */

struct putter {
    struct link link;
    struct jobs jobs;
    uint64_t put;
};

static void end_put(void *context, const struct unit *unit)
{
    (void)context;
    (void)unit;
}

static void put_some(struct putter *putter, uint32_t jobs, int64_t due_ms)
{
    jobs_begin(&putter->jobs);
    for (uint32_t i = 0; i < jobs; i++)
        jobs_add(&putter->jobs, due_ms);
    jobs_put(&putter->jobs, &putter->link);
    link_end_unit(&putter->link, (struct unit){.jobs = jobs, .rows = jobs});
    putter->put += jobs;
}

/* Puts what the time that has passed asks for. Few units are under way: where the server cannot
 * answer small ones in time, the next ones are larger, and no job waits for long before it is
 * put. */
static void put_due(struct putter *putter, const struct arguments *arguments, uint64_t passed_ns)
{
    uint64_t wanted = passed_ns / 1000 * arguments->rate / 1000000;

    while (putter->put < wanted && putter->link.under_way < PUT_UNITS) {
        uint64_t jobs = wanted - putter->put;
        if (jobs > arguments->batch)
            jobs = arguments->batch;
        put_some(putter, (uint32_t)jobs, wall_ms() + arguments->ahead_ms);
    }
}

/* A taker has one hand-out under way. It asks again at once after a full one, and else `poll_ms`
 * after it asked last. */
static void exchange(struct work *work, struct putter *putter)
{
    const struct receiver receiver = {.end_unit = end_put, .context = putter};
    uint64_t count = work->arguments->connections;

    for (uint64_t i = 0; i < count; i++)
        if (work->takers[i].link.under_way == 0 && now_ns() >= work->takers[i].ask_ns)
            ask(&work->takers[i]);
    links_wait(work->links, count + 1, 1);
    for (uint64_t i = 0; i < count; i++)
        if (work->links[i]->is_ready)
            receive(&work->takers[i]);
    if (putter->link.is_ready)
        link_receive(&putter->link, &receiver);
}

static void run_timers(struct work *work, struct putter *putter)
{
    const struct arguments *arguments = work->arguments;
    uint64_t began_ns = now_ns(), puts_ns = (uint64_t)(arguments->seconds * 1e9), now;

    /* The takers ask in turn, not all at once. */
    for (uint64_t i = 0; i < arguments->connections; i++) {
        work->takers[i].work = work;
        work->takers[i].ask_ns = began_ns + work->pause_ns * i / arguments->connections;
    }
    while ((now = now_ns()) - began_ns < puts_ns) {
        put_due(putter, arguments, now - began_ns);
        exchange(work, putter);
    }
    double took_s = (double)(now - began_ns) / 1e9;
    uint64_t acknowledged = work->acknowledged;
    uint64_t until_ns =
        now + (uint64_t)arguments->ahead_ms * NS_PER_MS + PATIENCE_S * UINT64_C(1000000000);
    while (work->acknowledged < putter->put && now_ns() < until_ns)
        exchange(work, putter);
    figures_begin();
    figures_number("rate", (double)acknowledged / took_s);
    figures_number("put_rate", (double)putter->put / took_s);
    figures_number("count", (double)work->handed_out);
    figures_number("early", (double)work->early);
    figures_number("missing", (double)putter->put - (double)work->acknowledged);
    figures_times(work->lateness);
    figures_histogram(work->lateness);
    figures_end();
}

void load_timers(struct arguments *arguments)
{
    if (arguments->rate == 0)
        peer_fail("timers needs --rate");
    struct work work = open_work(arguments, 1);
    struct putter putter = {.put = 0};

    work.pause_ns = (uint64_t)arguments->poll_ms * NS_PER_MS;
    work.has_lateness = true;
    link_open(&putter.link, arguments->address, PUT_UNITS, arguments->batch);
    work.links[arguments->connections] = &putter.link;
    run_timers(&work, &putter);
    peer_check_count("handed out", work.handed_out, putter.put);
    peer_check_count("acknowledged", work.acknowledged, putter.put);
    link_close(&putter.link);
    jobs_free(&putter.jobs);
    close_work(&work);
}
