/*
 * Answers /metrics and /api/v1/forecast. Looks at all tubes in slices, so that the loop is not
 * delayed. Writes all metrics but elapse_jobs at the end.
 */
#include "scrape.h"

#include <stdlib.h>

#include <elapse/version.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../loop/ended_log.h"
#include "cores.h"
#include "figures.h"
#include "metrics.h"
#include "reply.h"
#include "wait.h"

/* The most tubes that have elapse_jobs. More would be too many for Prometheus. */
enum { METRIC_TUBES_MAX = 10000 };

struct scrape {
    struct elapse__http_wait wait; /* must be first */
    struct event *next;
    struct elapse__json text;
    struct elapse__http_tubes tubes;
    uint64_t tube_count; /* how many tubes were written */
    struct elapse__http_troubled troubled;
};

static void release(struct scrape *scrape)
{
    event_free(scrape->next);
    elapse__http_wait_end(&scrape->wait);
    elapse__json_free(&scrape->text);
    free(scrape);
}

static void on_lost(struct elapse__http_wait *wait)
{
    ELAPSE__ASSERT(wait->request == NULL);
    release((struct scrape *)(void *)wait);
}

/* ---- writing ---- */

static void write_tube(void *argument, struct elapse__queue_text name,
                       const struct elapse__queue_statistics *counts)
{
    struct scrape *scrape = argument;

    ELAPSE__ASSERT_THAT(scrape->tube_count, <=, METRIC_TUBES_MAX);
    elapse__http_troubled_add(&scrape->troubled, name, counts);
    if (scrape->tube_count == METRIC_TUBES_MAX)
        return;
    elapse__http_write_jobs(&scrape->text, name, counts);
    scrape->tube_count++;
}

/* Figures that are copied under the lock, and written without it. */
struct copy {
    struct elapse__server_statistics server;
    struct elapse__histogram lateness, syncs, writes;
    struct elapse__http_metrics metrics;
};

static void copy_figures(struct elapse__loop *loop, void *argument)
{
    struct copy *copy = argument;
    struct elapse__queue *jobs = loop->store->engine.jobs;
    struct elapse__queue_now now = elapse__store_now();
    struct elapse__server_statistics server;
    uint64_t overdue_ms = elapse__queue_overdue_ms(jobs, now);

    elapse__server_statistics(loop->server, now, &server);
    elapse__http_add_server(&copy->server, &server);
    elapse__http_add_histogram(&copy->lateness, elapse__server_lateness(loop->server));
    elapse__http_add_histogram(&copy->syncs, &loop->store->syncs);
    elapse__http_add_histogram(&copy->writes, &loop->store->writes);
    if (overdue_ms > copy->metrics.oldest_overdue_ms)
        copy->metrics.oldest_overdue_ms = overdue_ms;
    copy->metrics.tubes += elapse__queue_tube_count(jobs);
}

static void write_rest(struct elapse__loop *loop, struct scrape *scrape)
{
    struct copy copy = {.metrics = {.version = elapse_version()}};
    struct elapse__http_metrics *metrics = &copy.metrics;
    const struct elapse__loop_cluster *cluster = loop->cluster;
    struct elapse__loop_router router;

    if (cluster != NULL)
        copy.server.journal.tail = 1; /* together with a head of 0: no segment */
    elapse__http_each_core(loop, copy_figures, &copy);
    if (cluster != NULL) {
        cluster->router(cluster->context, &router);
        elapse__http_use_router(&copy.server, &router);
    }
    metrics->server = &copy.server;
    metrics->lateness = &copy.lateness;
    metrics->syncs = &copy.syncs;
    metrics->writes = &copy.writes;
    metrics->memory_bytes = elapse__os_memory_bytes();
    metrics->tubes_left_out =
        metrics->tubes > scrape->tube_count ? metrics->tubes - scrape->tube_count : 0;
    metrics->has_disk =
        elapse__http_has_disk(loop) &&
        elapse__os_disk_free(loop->options->directory, &metrics->disk_free_bytes) == 0;
    if (loop->ended_log != NULL) {
        struct elapse__ended_figures figures;
        elapse__ended_log_figures(loop->ended_log, &figures);
        metrics->ended_written = figures.written;
        metrics->ended_dropped = figures.dropped;
    }
    elapse__http_write_troubled(&scrape->text, &scrape->troubled);
    elapse__http_write_metrics(&scrape->text, metrics);
    if (cluster != NULL)
        elapse__http_write_cluster_metrics(&scrape->text, cluster);
}

static void send_text(struct scrape *scrape)
{
    struct evhttp_request *request = scrape->wait.request;
    struct elapse__json text = scrape->text;

    ELAPSE__ASSERT(text.failed || elapse__buffer_size(&text.text) > 0);
    scrape->text = (struct elapse__json){.failed = false};
    release(scrape);
    elapse__http_send_text(request, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
}

static void on_next(evutil_socket_t descriptor, short what, void *argument)
{
    struct scrape *scrape = argument;
    struct elapse__loop *loop = scrape->wait.http->loop;
    const struct timeval soon = {.tv_usec = 0};

    (void)descriptor;
    (void)what;
    ELAPSE__ASSERT(scrape->wait.request != NULL && !evtimer_pending(scrape->next, NULL));
    if (elapse__http_next_tubes(loop, &scrape->tubes, write_tube, scrape) &&
        event_add(scrape->next, &soon) == 0)
        return;
    write_rest(loop, scrape);
    send_text(scrape);
}

void elapse__http_metrics_begin(struct elapse__http *http, struct evhttp_request *request)
{
    struct scrape *scrape = calloc(1, sizeof *scrape);

    if (scrape != NULL) {
        scrape->wait.lost = on_lost;
        scrape->next = event_new(http->loop->peers.base, -1, 0, on_next, scrape);
    }
    if (scrape == NULL || scrape->next == NULL ||
        !elapse__http_wait_begin(&scrape->wait, http, &http->scrapes, request)) {
        if (scrape != NULL && scrape->next != NULL)
            event_free(scrape->next);
        free(scrape);
        elapse__http_send_no_memory(request);
        return;
    }
    elapse__http_begin_jobs(&scrape->text);
    on_next(-1, 0, scrape);
}

void elapse__http_metrics_close(struct elapse__http *http)
{
    struct elapse__http_wait *wait;

    while ((wait = elapse__http_wait_first(&http->scrapes)) != NULL)
        release((struct scrape *)(void *)wait);
}

/* ---- the forecast ---- */

void elapse__http_send_forecast(struct elapse__http *http, struct evhttp_request *request)
{
    struct elapse__json json = {.failed = false};
    struct elapse__http_status status;

    elapse__http_figures_look(http->figures, true, &status);
    elapse__json_open(&json, '{');
    elapse__json_name(&json, "now_ms");
    elapse__json_signed(&json, status.now_ms);
    elapse__http_write_forecast(&json, &status.forecast, true);
    elapse__json_close(&json, '}');
    elapse__http_send_json(request, 200, &json);
}
