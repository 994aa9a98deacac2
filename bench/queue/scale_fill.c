/*
 * The stage fill: jobs are put, cancelled and replaced.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../measure.h"
#include "scale.h"

enum {
    CHURN_SHARE = 100,
    CHURN_LEAST = 200000,
    UNCOMMITTED = GROUP / 2,
    FLOOR_RECORDS = 1000000,
    LOOK_EVERY = 10 * GROUP,
};

#define MIB         (1024.0 * 1024.0)
#define FIXED_BYTES (320.0 * MIB)
#define CANCEL_MOST 0.75 /* of the jobs */

/* What happens to a queue, and how long it takes. */
struct filling {
    const struct scale *scale;
    struct elapse_queue *queue;
    uint64_t *names; /* of the jobs that live: their keys, or else their ids */
    uint64_t live;   /* how many */
    uint64_t number; /* of the next job */
    struct generator generator;

    uint64_t since_ns;        /* when the last call returned */
    uint64_t since_thread_ns; /* the same, when the last group was committed */
    uint64_t changes;         /* since then */
    uint64_t position, before;
    struct lengths calls, commits, groups; /* groups: processor time of GROUP changes */
    double files_most, over_most;
};

/* ---- one change ---- */

static void forget_lengths(struct filling *filling)
{
    memset(&filling->calls, 0, sizeof filling->calls);
    memset(&filling->commits, 0, sizeof filling->commits);
    memset(&filling->groups, 0, sizeof filling->groups);
    filling->changes = 0;
    filling->since_thread_ns = thread_ns();
    filling->since_ns = clock_ns();
}

/* A call has returned. Each GROUP changes the ones before are committed, while these go on. */
static void changed(struct filling *filling, uint64_t position)
{
    uint64_t now_ns = clock_ns();
    lengths_add(&filling->calls, now_ns - filling->since_ns);
    filling->since_ns = now_ns;
    filling->position = position;
    if (++filling->changes % GROUP != 0)
        return;
    lengths_add(&filling->groups, thread_ns() - filling->since_thread_ns);
    commit(filling->queue, filling->before);
    filling->before = position;
    filling->since_thread_ns = thread_ns();
    now_ns = clock_ns();
    lengths_add(&filling->commits, now_ns - filling->since_ns);
    filling->since_ns = now_ns;
}

static void put_one(struct filling *filling)
{
    struct elapse_answer answer;
    struct elapse_put put = scale_job(filling->scale, filling->number);
    require(elapse_queue_put(filling->queue, &put, &answer) == ELAPSE_OK, "a put failed");
    filling->names[filling->live++] = filling->scale->with_keys ? filling->number : answer.id;
    filling->number++;
    changed(filling, answer.position);
}

/* Cancels a random job of those that live. */
static void cancel_one(struct filling *filling)
{
    struct elapse_answer answer;
    uint64_t *name = &filling->names[below(&filling->generator, filling->live)];
    enum elapse_error error =
        filling->scale->with_keys
            ? elapse_queue_cancel(filling->queue, TUBE, name, sizeof *name, &answer)
            : elapse_queue_cancel_id(filling->queue, *name, &answer);
    require(error == ELAPSE_OK && answer.result == ELAPSE_RESULT_REMOVED, "a cancel failed");
    *name = filling->names[--filling->live];
    changed(filling, answer.position);
}

static struct elapse_queue_counts look(struct filling *filling)
{
    struct elapse_queue_counts counts = scale_look(filling->queue);
    double files = (double)counts.file_bytes;
    double over = files / (2 * (double)counts.live_bytes + FIXED_BYTES);
    filling->files_most = files > filling->files_most ? files : filling->files_most;
    filling->over_most = over > filling->over_most ? over : filling->over_most;
    require(counts.delayed == filling->live && counts.ready == 0 && counts.reserved == 0,
            "the queue has another number of jobs than it should");
    filling->since_ns = clock_ns();
    return counts;
}

static void print_lengths(const struct filling *filling, const char *stage, const char *call)
{
    uint64_t at = filling->live;
    lengths_print(&filling->calls, stage, call, at);
    lengths_print(&filling->commits, stage, "commit", at);
    lengths_print(&filling->groups, stage, "processor time of 1000 calls", at);
}

/* ---- the filling ---- */

struct window {
    uint64_t ns, process_ns, groups;
};

static struct window window_now(struct filling *filling)
{
    return (struct window){clock_ns(), process_ns(), scale_look(filling->queue).groups};
}

static void print_window(struct filling *filling, const struct window *began, uint64_t puts)
{
    struct window ended = window_now(filling);
    struct memory memory = memory_now();
    struct elapse_queue_counts counts = look(filling);
    double each = (double)puts;
    uint64_t at = filling->live;
    double names = (double)(filling->scale->jobs * sizeof *filling->names);

    scale_print("window", "put", at, each * 1e9 / (double)(ended.ns - began->ns), "/s");
    scale_print("window", "processor time of a put", at,
                (double)(ended.process_ns - began->process_ns) / each / 1e3, "us");
    scale_print("window", "puts of a sync", at,
                each / (double)(ended.groups > began->groups ? ended.groups - began->groups : 1),
                "puts");
    scale_print("window", "memory, allocated", at, memory.allocated - names, "bytes");
    scale_print("window", "memory, resident", at, memory.resident - names, "bytes");
    scale_print("window", "files", at, (double)counts.file_bytes, "bytes");
    scale_print("window", "live", at, (double)counts.live_bytes, "bytes");
    filling->since_ns = clock_ns();
    filling->since_thread_ns = thread_ns();
}

static void fill(struct filling *filling)
{
    uint64_t jobs = filling->scale->jobs;
    struct window began = window_now(filling);
    uint64_t wall_ns = clock_ns();
    uint64_t used_ns = process_ns();

    forget_lengths(filling);
    for (uint64_t i = 1; i <= WINDOWS; i++) {
        uint64_t end = jobs / WINDOWS * i;
        uint64_t puts = end - filling->live;
        while (filling->live < end)
            put_one(filling);
        print_window(filling, &began, puts);
        began = window_now(filling);
    }
    commit(filling->queue, filling->position);
    double each = (double)filling->live;
    scale_print("put", "put", filling->live, each * 1e9 / (double)(clock_ns() - wall_ns), "/s");
    scale_print("put", "processor time of a put", filling->live,
                (double)(process_ns() - used_ns) / each / 1e3, "us");
    print_lengths(filling, "put", "put");
}

/* ---- cancelling ---- */

/* Whether the log is longer than its limit, so that it is cleaned from now on. */
static bool is_cleaned(struct filling *filling)
{
    struct elapse_queue_counts counts = look(filling);
    return counts.segments * SEGMENT_BYTES > 2 * counts.live_bytes + SEGMENT_BYTES;
}

/* Cancels random jobs until the log has to be cleaned, or few are left. */
static void thin_out(struct filling *filling)
{
    uint64_t jobs = filling->live;
    uint64_t fewest = jobs - (uint64_t)((double)jobs * CANCEL_MOST);
    uint64_t wall_ns = clock_ns();
    uint64_t used_ns = process_ns();
    uint64_t done = 0;

    forget_lengths(filling);
    for (; filling->live > fewest; done++) {
        if (done % LOOK_EVERY == 0 && is_cleaned(filling))
            break;
        cancel_one(filling);
    }
    commit(filling->queue, filling->position);
    scale_print("cancel", "cancel", filling->live,
                (double)done * 1e9 / (double)(clock_ns() - wall_ns), "/s");
    scale_print("cancel", "processor time of a cancel", filling->live,
                (double)(process_ns() - used_ns) / (double)done / 1e3, "us");
    scale_print("cancel", "cancelled", filling->live, (double)done / (double)jobs, "of the jobs");
    print_lengths(filling, "cancel", "cancel");
}

/* ---- cleaning ---- */

static void churn(struct filling *filling, double step_bytes)
{
    uint64_t steps = filling->scale->jobs / CHURN_SHARE;
    uint64_t first = filling->position;
    uint64_t wall_ns = clock_ns();
    uint64_t used_ns = process_ns();

    steps = steps < CHURN_LEAST ? CHURN_LEAST : steps;
    forget_lengths(filling);
    for (uint64_t i = 0; i < steps; i++) {
        cancel_one(filling);
        put_one(filling);
        if (i % LOOK_EVERY == 0)
            (void)look(filling);
    }
    commit(filling->queue, filling->position);
    uint64_t at = filling->live;
    struct elapse_queue_counts counts = look(filling);
    double each = (double)steps;
    scale_print("churn", "cancel and put", at, each * 1e9 / (double)(clock_ns() - wall_ns), "/s");
    scale_print("churn", "processor time of both", at,
                (double)(process_ns() - used_ns) / each / 1e3, "us");
    scale_print("churn", "log written, of own bytes", at,
                (double)(filling->position - first) / (each * step_bytes), "x");
    scale_print("churn", "files", at, (double)counts.file_bytes, "bytes");
    scale_print("churn", "live", at, (double)counts.live_bytes, "bytes");
    scale_print("churn", "files, at most", at, filling->files_most, "bytes");
    scale_print("churn", "files over their limit, at most", at, filling->over_most, "x");
    print_lengths(filling, "churn", "cancel or put");
}

/* ---- the stage ---- */

static void print_floor(const struct scale *scale, size_t record_bytes)
{
    struct settings settings = {.directory = scale->directory};
    char path[PATH_BYTES];
    uint64_t records = scale->jobs < FLOOR_RECORDS ? scale->jobs : FLOOR_RECORDS;
    place_make(&settings, path);
    scale_print("put", "floor", records, floor_write(path, records, record_bytes, GROUP), "/s");
    place_remove(path);
}

/* Returns the bytes of a put and a cancel. */
static double print_records(struct filling *filling)
{
    size_t put_bytes = put_record_bytes(filling->queue, filling->scale->with_keys);
    size_t cancel_bytes = cancel_record_bytes(filling->queue, filling->scale->with_keys);
    scale_print("put", "a put in the log", 0, (double)put_bytes, "bytes");
    scale_print("put", "a cancel in the log", 0, (double)cancel_bytes, "bytes");
    print_floor(filling->scale, put_bytes);
    return (double)(put_bytes + cancel_bytes);
}

/* Leaves jobs behind that are not committed: they may be there afterwards, or not. */
static _Noreturn void die(struct filling *filling)
{
    uint64_t live = filling->live;
    for (unsigned i = 0; i < UNCOMMITTED; i++) {
        struct elapse_answer answer;
        struct elapse_put put = scale_job(filling->scale, filling->number + i);
        require(elapse_queue_put(filling->queue, &put, &answer) == ELAPSE_OK, "a put failed");
    }
    scale_print("end", "least", 0, (double)live, "jobs");
    scale_print("end", "most", 0, (double)(live + UNCOMMITTED), "jobs");
    (void)kill(getpid(), SIGKILL);
    abort();
}

void scale_fill(const struct scale *scale)
{
    struct filling filling = {.scale = scale, .generator = {GENERATOR_SEED}};
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/queue", scale->directory);
    require(length > 0 && length < PATH_BYTES, "the path of the directory is too long");

    filling.names = malloc(scale->jobs * sizeof *filling.names);
    require(filling.names != NULL, "no memory");
    if (filling.names != NULL) /* its pages are there before memory is measured */
        memset(filling.names, 1, scale->jobs * sizeof *filling.names);
    filling.queue = queue_open(path);
    double step_bytes = print_records(&filling);
    fill(&filling);
    thin_out(&filling);
    churn(&filling, step_bytes);
    die(&filling);
}
