/*
 * Sums over the partitions of a node.
 */
#include "cluster.h"

static uint64_t greater(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

void elapse__http_add_counts(struct elapse__queue_statistics *sum,
                             const struct elapse__queue_statistics *more)
{
    sum->delayed += more->delayed;
    sum->ready += more->ready;
    sum->reserved += more->reserved;
    sum->buried += more->buried;
    sum->shadows += more->shadows;
    sum->urgent += more->urgent;
    sum->body_bytes += more->body_bytes;
    sum->total_jobs += more->total_jobs;
    sum->deletes += more->deletes;
    sum->timeouts += more->timeouts;
    sum->cancelled += more->cancelled;
    sum->replaced += more->replaced;
    sum->expired += more->expired;
    sum->dead += more->dead;
    sum->missed += more->missed;
    sum->failures += more->failures;
    sum->pauses += more->pauses;
    sum->pause_ms = greater(sum->pause_ms, more->pause_ms);
    sum->pause_left_ms = greater(sum->pause_left_ms, more->pause_left_ms);
    sum->overdue_ms = greater(sum->overdue_ms, more->overdue_ms);
}

/* The segments of all logs together: from 1 to their number. */
static void add_journal(struct elapse__journal_figures *sum,
                        const struct elapse__journal_figures *more)
{
    uint64_t segments = sum->tail == 0 ? 0 : sum->head - sum->tail + 1;

    sum->tail = 1;
    sum->head = segments + more->head - more->tail + 1;
    sum->log_bytes += more->log_bytes;
    sum->live_bytes += more->live_bytes;
    sum->spares += more->spares;
    sum->spare_bytes += more->spare_bytes;
    sum->groups += more->groups;
    sum->cleaned_bytes += more->cleaned_bytes;
    sum->damaged_bodies += more->damaged_bodies;
    sum->disk_is_full |= more->disk_is_full;
    sum->is_pinned |= more->is_pinned;
}

void elapse__http_add_server(struct elapse__server_statistics *sum,
                             const struct elapse__server_statistics *more)
{
    sum->connections += more->connections;
    sum->producers += more->producers;
    sum->workers += more->workers;
    sum->waiting += more->waiting;
    sum->total_connections += more->total_connections;
    sum->uptime_ms = greater(sum->uptime_ms, more->uptime_ms);
    for (unsigned i = 0; i < ELAPSE__VERBS; i++)
        sum->commands[i] += more->commands[i];
    sum->refused += more->refused;
    sum->undone += more->undone;
    sum->draining |= more->draining;
    sum->user_us = greater(sum->user_us, more->user_us);
    sum->system_us = greater(sum->system_us, more->system_us);
    elapse__http_add_counts(&sum->jobs, &more->jobs);
    add_journal(&sum->journal, &more->journal);
}

void elapse__http_use_router(struct elapse__server_statistics *sum,
                             const struct elapse__http_router *router)
{
    sum->connections = router->clients;
    sum->waiting = router->waiting;
    sum->total_connections = router->total_clients;
}

void elapse__http_add_histogram(struct elapse__histogram *sum, const struct elapse__histogram *more)
{
    for (unsigned i = 0; i < ELAPSE__HISTOGRAM_BUCKETS; i++)
        sum->counts[i] += more->counts[i];
    sum->count += more->count;
    sum->sum += more->sum;
}

static void add_all(uint64_t *sums, const uint64_t *more, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += more[i];
}

void elapse__http_add_forecast(struct elapse__queue_forecast *sum,
                               const struct elapse__queue_forecast *more)
{
    add_all(sum->seconds, more->seconds, ELAPSE__QUEUE_FORECAST_SECONDS);
    add_all(sum->minutes, more->minutes, ELAPSE__QUEUE_FORECAST_MINUTES);
    add_all(sum->hours, more->hours, ELAPSE__QUEUE_FORECAST_HOURS);
    add_all(sum->days, more->days, ELAPSE__QUEUE_FORECAST_DAYS);
}
