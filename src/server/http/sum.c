/*
 * Adds up figures over the partitions of a node.
 */
#include "../../protocol/reply_fields.h"
#include "cluster.h"

#include "../../base/assert.h"

static uint64_t greater(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* Adds a figure by its kind (src/protocol/reply_fields.h). */
#define ADD_NUMBER(field)      sum->field += more->field;
#define ADD_DURATION(field)    sum->field = greater(sum->field, more->field);
#define ADD_YES_OR_NO(field)   sum->field |= more->field;
#define ADD_NAME(field)        sum->field = sum->field.size > 0 ? sum->field : more->field;
#define ADD(field, name, kind) ADD_##kind(field)

void elapse__http_add_counts(struct elapse__queue_statistics *sum,
                             const struct elapse__queue_statistics *more)
{
    ELAPSE__JOBS_STATISTICS(ADD)
    ELAPSE__TUBE_STATISTICS(ADD)
    ADD_NUMBER(urgent)
    ADD_NUMBER(body_bytes)
    ADD_DURATION(overdue_ms)
}

/* Adds the figures of a journal. In the sum, the segments of all journals are numbered from 1
 * on. */
static void add_journal(struct elapse__journal_figures *sum,
                        const struct elapse__journal_figures *more)
{
    uint64_t segments = sum->tail == 0 ? 0 : sum->head - sum->tail + 1;

    ELAPSE__ASSERT_THAT(more->tail, <=, more->head + 1);
    ELAPSE__ASSERT_THAT(sum->tail, <=, 1);
    sum->tail = 1;
    sum->head = segments + more->head - more->tail + 1;
    ELAPSE__JOURNAL_STATISTICS(ADD)
    ADD_NUMBER(spares)
    ADD_NUMBER(cleaned_bytes)
    ADD_YES_OR_NO(is_pinned)
}

void elapse__http_add_server(struct elapse__server_statistics *sum,
                             const struct elapse__server_statistics *more)
{
    ELAPSE__SERVER_STATISTICS(ADD)
    ADD_DURATION(user_us)
    ADD_DURATION(system_us)
    for (unsigned i = 0; i < ELAPSE__VERBS; i++)
        sum->commands[i] += more->commands[i];
    ELAPSE__ASSERT_THAT(more->waiting, <=, more->connections);
    elapse__http_add_counts(&sum->jobs, &more->jobs);
    add_journal(&sum->journal, &more->journal);
}

void elapse__http_use_router(struct elapse__server_statistics *sum,
                             const struct elapse__loop_router *router)
{
    ELAPSE__ASSERT_THAT(router->clients, <=, router->total_clients);
    ELAPSE__ASSERT_THAT(router->waiting, <=, router->clients);
    sum->connections = router->clients;
    sum->waiting = router->waiting;
    sum->total_connections = router->total_clients;
    sum->wrong_passwords = router->wrong_passwords;
}

void elapse__http_add_histogram(struct elapse__histogram *sum, const struct elapse__histogram *more)
{
    for (unsigned i = 0; i < ELAPSE__HISTOGRAM_BUCKETS; i++) {
        ELAPSE__ASSERT_THAT(more->counts[i], <=, more->count);
        sum->counts[i] += more->counts[i];
    }
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
