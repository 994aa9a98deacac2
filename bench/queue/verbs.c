/*
 * The workloads put, cancel, reschedule and work.
 */
#include <pthread.h>
#include <stdlib.h>

#include "../measure.h"
#include "queue_bench.h"

enum { THREADS_MAX = 64, HOUR_MS = 3600000 };

static void check_jobs(struct elapse_queue *queue, uint64_t delayed)
{
    struct elapse_queue_counts statistics;
    require(elapse_queue_statistics(queue, NULL, &statistics) == ELAPSE_OK, "no statistics");
    require(statistics.delayed == delayed && statistics.ready == 0 && statistics.reserved == 0,
            "the queue has another number of jobs than it should");
}

/* ---- put ---- */

struct putter {
    struct elapse_queue *queue;
    uint64_t from, count;
    unsigned group;
    bool ahead; /* the next group is put while the one before becomes durable */
};

static void *put_jobs(void *argument)
{
    const struct putter *putter = argument;
    struct elapse_answer answer = {.position = 0};
    uint64_t before = 0;
    for (uint64_t i = 0; i < putter->count; i++) {
        struct elapse_put put =
            job_numbered(putter->from + i, false, HOUR_MS + (putter->from + i) * 7919 % HOUR_MS);
        require(elapse_queue_put(putter->queue, &put, &answer) == ELAPSE_OK, "a put failed");
        if (i % putter->group != putter->group - 1)
            continue;
        commit(putter->queue, putter->ahead ? before : answer.position);
        before = answer.position;
    }
    commit(putter->queue, answer.position);
    return NULL;
}

struct put_run {
    const char *figure, *floor;
    unsigned threads, group;
    unsigned share; /* of the jobs, a so many-th */
    bool ahead;
};

static const struct put_run put_runs[] = {
    {"1 thread, groups of 1", "groups of 1", 1, 1, 100, false},
    {"1 thread, groups of 64", "groups of 64", 1, 64, 4, false},
    {"1 thread, groups of 1000", "groups of 1000", 1, 1000, 1, false},
    {"1 thread, groups of 1000, one ahead", "groups of 1000", 1, 1000, 1, true},
    {"4 threads, groups of 1", "groups of 1", 4, 1, 50, false},
    {"4 threads, groups of 64", "groups of 64", 4, 64, 2, false},
    {"4 threads, groups of 1000", "groups of 1000", 4, 1000, 1, false},
    {"64 threads, groups of 1", "groups of 1", 64, 1, 10, false},
};

static double run_put(const struct settings *settings, const struct put_run *run,
                      size_t *record_bytes)
{
    char path[PATH_BYTES];
    pthread_t threads[THREADS_MAX];
    struct putter putters[THREADS_MAX];
    uint64_t each = settings->jobs / run->share / run->threads;

    place_make(settings, path);
    struct elapse_queue *queue = queue_open(path);
    *record_bytes = put_record_bytes(queue, false);
    uint64_t began = clock_ns();
    for (unsigned i = 0; i < run->threads; i++) {
        putters[i] = (struct putter){queue, each * i, each, run->group, run->ahead};
        require(pthread_create(&threads[i], NULL, put_jobs, &putters[i]) == 0, "no thread");
    }
    for (unsigned i = 0; i < run->threads; i++)
        (void)pthread_join(threads[i], NULL);
    double seconds = (double)(clock_ns() - began) / 1e9;
    check_jobs(queue, each * run->threads);
    queue_close(queue);
    place_remove(path);
    return (double)(each * run->threads) / seconds;
}

static void add_floor(const struct settings *settings, const char *workload, const char *figure,
                      uint64_t records, size_t record_bytes, unsigned group)
{
    char path[PATH_BYTES];
    place_make(settings, path);
    table_add(workload, "floor", figure, floor_write(path, records, record_bytes, group), "/s",
              NULL);
    place_remove(path);
}

void bench_put(const struct settings *settings)
{
    size_t record_bytes = 0;
    for (size_t i = 0; i < sizeof put_runs / sizeof put_runs[0]; i++) {
        const struct put_run *run = &put_runs[i];
        double rate = run_put(settings, run, &record_bytes);
        table_add("put", "elapse", run->figure, rate, "/s", run->floor);
        if (run->threads > 1 || run->ahead)
            continue;
        add_floor(settings, "put", run->floor, settings->jobs / run->share, record_bytes,
                  run->group);
        sqlite_put(settings, run->group, run->floor, run->floor);
    }
    table_add("put", "elapse", "a record", (double)record_bytes, "bytes", NULL);
}

/* ---- cancel and reschedule ---- */

typedef void change_one(struct elapse_queue *queue, uint64_t key, struct elapse_answer *answer);

static void cancel_one(struct elapse_queue *queue, uint64_t key, struct elapse_answer *answer)
{
    require(elapse_queue_cancel(queue, TUBE, &key, sizeof key, answer) == ELAPSE_OK &&
                answer->result == ELAPSE_RESULT_REMOVED,
            "a cancel failed");
}

static void reschedule_one(struct elapse_queue *queue, uint64_t key, struct elapse_answer *answer)
{
    struct elapse_due_time time = {.delay_ms = 2 * HOUR_MS + key % HOUR_MS};
    require(elapse_queue_reschedule(queue, TUBE, &key, sizeof key, &time, answer) == ELAPSE_OK &&
                answer->result == ELAPSE_RESULT_RESCHEDULED,
            "a reschedule failed");
}

static double run_change(struct elapse_queue *queue, uint64_t count, const uint32_t *keys,
                         bool ahead, change_one *change)
{
    struct elapse_answer answer = {.position = 0};
    uint64_t before = 0;
    uint64_t began = clock_ns();
    for (uint64_t i = 0; i < count; i++) {
        change(queue, keys[i], &answer);
        if (i % GROUP != GROUP - 1)
            continue;
        commit(queue, ahead ? before : answer.position);
        before = answer.position;
    }
    commit(queue, answer.position);
    return (double)count * 1e9 / (double)(clock_ns() - began);
}

static void bench_change(const struct settings *settings, const char *workload, change_one *change,
                         bool removes)
{
    char path[PATH_BYTES];
    uint32_t *keys = numbers_shuffled(settings->jobs);
    size_t record_bytes = 0;

    for (int ahead = 0; ahead < 2; ahead++) {
        place_make(settings, path);
        struct elapse_queue *queue = queue_open(path);
        record_bytes = cancel_record_bytes(queue, false);
        queue_fill(queue, 0, settings->jobs, true, HOUR_MS);
        table_add(workload, "elapse",
                  ahead ? "by key, groups of 1000, one ahead" : "by key, groups of 1000",
                  run_change(queue, settings->jobs, keys, ahead, change), "/s", "groups of 1000");
        check_jobs(queue, removes ? 0 : settings->jobs);
        queue_close(queue);
        place_remove(path);
    }
    add_floor(settings, workload, "groups of 1000", settings->jobs, record_bytes, GROUP);
    free(keys);
}

void bench_cancel(const struct settings *settings)
{
    bench_change(settings, "cancel", cancel_one, true);
    sqlite_cancel(settings, "groups of 1000");
}

void bench_reschedule(const struct settings *settings)
{
    bench_change(settings, "reschedule", reschedule_one, false);
    sqlite_reschedule(settings, "groups of 1000");
}

/* ---- work: hand out and acknowledge ---- */

static void *work_jobs(void *argument)
{
    struct elapse_queue *queue = argument;
    struct elapse_reserved job;
    struct elapse_answer answer = {.position = 0};
    while (elapse_queue_reserve(queue, TUBE, 0, &job) == ELAPSE_OK) {
        require(elapse_queue_ack(queue, job.id, job.lease, &answer) == ELAPSE_OK, "an ack failed");
        elapse_reserved_free(&job);
    }
    commit(queue, answer.position);
    return NULL;
}

struct batch_worker {
    struct elapse_queue *queue;
    bool acks_each; /* each job by a call of its own */
};

static void ack_batch(const struct batch_worker *worker, struct elapse_reserved *jobs, size_t count,
                      struct elapse_answer *answer)
{
    struct elapse_held held[GROUP] = {{.id = 0}};
    enum elapse_result results[GROUP];
    for (size_t i = 0; i < count; i++) {
        held[i] = (struct elapse_held){jobs[i].id, jobs[i].lease};
        if (worker->acks_each)
            require(elapse_queue_ack(worker->queue, jobs[i].id, jobs[i].lease, answer) == ELAPSE_OK,
                    "an ack failed");
        elapse_reserved_free(&jobs[i]);
    }
    if (worker->acks_each)
        return;
    require(elapse_queue_ack_many(worker->queue, held, count, results, answer) == ELAPSE_OK,
            "an ack failed");
    for (size_t i = 0; i < count; i++)
        require(results[i] == ELAPSE_RESULT_DONE, "a job is gone");
}

static void *work_batches(void *argument)
{
    static const char *const tubes[] = {TUBE};
    const struct batch_worker *worker = argument;
    struct elapse_reserved *jobs = calloc(GROUP, sizeof *jobs);
    struct elapse_answer answer = {.position = 0};
    size_t count = 0;
    require(jobs != NULL, "no memory");
    while (elapse_queue_reserve_many(worker->queue, tubes, 1, 0, jobs, GROUP, &count) == ELAPSE_OK)
        ack_batch(worker, jobs, count, &answer);
    commit(worker->queue, answer.position);
    free(jobs);
    return NULL;
}

enum work_kind { ONE_BY_ONE, BATCHES_ACKED_EACH, BATCHES };

static double run_work(const struct settings *settings, unsigned workers, enum work_kind kind,
                       uint64_t jobs)
{
    char path[PATH_BYTES];
    pthread_t threads[THREADS_MAX];

    place_make(settings, path);
    struct elapse_queue *queue = queue_open(path);
    struct batch_worker worker = {queue, kind == BATCHES_ACKED_EACH};
    queue_fill(queue, 0, jobs, false, 0);
    uint64_t began = clock_ns();
    for (unsigned i = 0; i < workers; i++) {
        int error = kind == ONE_BY_ONE ? pthread_create(&threads[i], NULL, work_jobs, queue)
                                       : pthread_create(&threads[i], NULL, work_batches, &worker);
        require(error == 0, "no thread");
    }
    for (unsigned i = 0; i < workers; i++)
        (void)pthread_join(threads[i], NULL);
    double seconds = (double)(clock_ns() - began) / 1e9;
    check_jobs(queue, 0);
    queue_close(queue);
    place_remove(path);
    return (double)jobs / seconds;
}

void bench_work(const struct settings *settings)
{
    static const struct {
        const char *figure;
        unsigned workers, share;
        enum work_kind kind;
    } runs[] = {
        {"1 worker", 1, 100, ONE_BY_ONE},
        {"8 workers", 8, 20, ONE_BY_ONE},
        {"64 workers", 64, 5, ONE_BY_ONE},
        {"1 worker, batches of 1000, an ack each", 1, 1, BATCHES_ACKED_EACH},
        {"1 worker, batches of 1000", 1, 1, BATCHES},
        {"4 workers, batches of 1000", 4, 1, BATCHES},
    };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        table_add("work", "elapse", runs[i].figure,
                  run_work(settings, runs[i].workers, runs[i].kind, settings->jobs / runs[i].share),
                  "/s", NULL);
    sqlite_work(settings);
}
