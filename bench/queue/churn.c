/*
 * The workload churn: jobs come and go, and the journal is cleaned. How much is written, and how
 * much space the files take.
 */
#include <stdlib.h>

#include "../measure.h"
#include "queue_bench.h"

enum { CHURN_BODY_BYTES = 1000, HOUR_MS = 3600000, LIVE_SHARE = 5 };

#define MIB        (1024.0 * 1024.0)
#define FIXED_MIB  320.0
#define LIMIT_LIVE 2.0

struct churn {
    struct elapse_queue *queue;
    uint64_t *ids;  /* of the jobs that live */
    uint64_t live;  /* how many */
    uint64_t fixed; /* the first ones are never cancelled */
    double files_most, over_most;
};

static struct elapse_answer put_one(struct churn *churn)
{
    static unsigned char body[CHURN_BODY_BYTES];
    struct elapse_answer answer;
    struct elapse_put put = {
        .tube = TUBE, .body = body, .body_bytes = sizeof body, .delay_ms = HOUR_MS};
    require(elapse_queue_put(churn->queue, &put, &answer) == ELAPSE_OK, "a put failed");
    return answer;
}

static struct elapse_queue_counts look(struct churn *churn)
{
    struct elapse_queue_counts statistics;
    require(elapse_queue_statistics(churn->queue, NULL, &statistics) == ELAPSE_OK, "no statistics");
    double files = (double)statistics.file_bytes;
    double over = files / (LIMIT_LIVE * (double)statistics.live_bytes + FIXED_MIB * MIB);
    churn->files_most = files > churn->files_most ? files : churn->files_most;
    churn->over_most = over > churn->over_most ? over : churn->over_most;
    return statistics;
}

/* Puts the first jobs; those that stay lie evenly among the others. Returns the last position. */
static uint64_t fill(struct churn *churn)
{
    uint64_t position = 0;
    uint64_t stay = 0;
    uint64_t go = churn->fixed;
    for (uint64_t i = 0; i < churn->live; i++) {
        struct elapse_answer answer = put_one(churn);
        bool stays = stay * churn->live < i * churn->fixed && stay < churn->fixed;
        churn->ids[stays || go == churn->live ? stay++ : go++] = answer.id;
        if (i % GROUP == GROUP - 1)
            commit(churn->queue, position);
        position = answer.position;
    }
    commit(churn->queue, position);
    return position;
}

/* Replaces random jobs by new ones. Returns the last position. */
static uint64_t replace(struct churn *churn, uint64_t steps)
{
    struct generator generator = {GENERATOR_SEED};
    struct elapse_answer answer = {.position = 0};
    uint64_t before = 0;
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t *id = &churn->ids[churn->fixed + below(&generator, churn->live - churn->fixed)];
        require(elapse_queue_cancel_id(churn->queue, *id, &answer) == ELAPSE_OK &&
                    answer.result == ELAPSE_RESULT_REMOVED,
                "a cancel failed");
        answer = put_one(churn);
        *id = answer.id;
        if (i % GROUP != GROUP - 1)
            continue;
        commit(churn->queue, before);
        before = answer.position;
        (void)look(churn);
    }
    commit(churn->queue, answer.position);
    return answer.position;
}

/* Returns the bytes of one step: a cancel and a put. */
static double step_bytes(struct churn *churn)
{
    size_t extra = put_record_bytes(churn->queue, false) - BODY_BYTES;
    return (double)(extra + CHURN_BODY_BYTES + cancel_record_bytes(churn->queue, false));
}

static void run(const struct settings *settings, uint64_t fixed, const char *const *figures)
{
    char path[PATH_BYTES];
    uint64_t live = settings->jobs / LIVE_SHARE;
    struct churn churn = {.live = live, .fixed = fixed, .ids = calloc(live, sizeof *churn.ids)};

    require(churn.ids != NULL, "no memory");
    place_make(settings, path);
    churn.queue = queue_open(path);
    double own = step_bytes(&churn) * (double)settings->jobs;
    uint64_t first = fill(&churn);
    uint64_t began = clock_ns();
    uint64_t last = replace(&churn, settings->jobs);
    double seconds = (double)(clock_ns() - began) / 1e9;
    struct elapse_queue_counts statistics = look(&churn);
    require(statistics.delayed == live, "the queue has another number of jobs than it should");
    table_add("churn", "elapse", figures[0], (double)settings->jobs / seconds, "/s", NULL);
    table_add("churn", "elapse", figures[1], (double)(last - first) / own, "x", NULL);
    table_add("churn", "elapse", figures[2], (double)statistics.live_bytes / MIB, "MiB", NULL);
    table_add("churn", "elapse", figures[3], churn.files_most / MIB, "MiB", NULL);
    table_add("churn", "elapse", figures[4], churn.over_most, "x", NULL);
    queue_close(churn.queue);
    place_remove(path);
    free(churn.ids);
}

void bench_churn(const struct settings *settings)
{
    static const char *const steady[] = {
        "steady: cancel and put", "steady: log written, of own bytes", "steady: live bytes",
        "steady: files, at most", "steady: files over their limit",
    };
    static const char *const long_lived[] = {
        "long-lived: cancel and put",
        "long-lived: log written, of own bytes",
        "long-lived: live bytes",
        "long-lived: files, at most",
        "long-lived: files over their limit",
    };
    run(settings, 0, steady);
    run(settings, settings->jobs / LIVE_SHARE / 2, long_lived);
}
