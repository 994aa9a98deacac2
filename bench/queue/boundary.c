/*
 * The workload boundary: the pure queue, with a log in memory, takes millions of jobs that are all
 * due in one slot of the wheel, that of the 524 seconds behind a multiple of 2^19 ms. The time is
 * virtual: it goes on by what the calls take, and skips to the next due time when nothing is due.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/queue/inner.h"
#include "../measure.h"
#include "queue_bench.h"

enum { SLOT_MS = 1 << 19, LOG_BYTES = 1 << 22, AT_ONCE = 100 };

#define NS_PER_MS 1000000u

/* A log that keeps the last 4 MiB. */
struct memory_log {
    struct elapse__record_sink sink; /* first: a sink is a log */
    uint64_t position;
    unsigned char bytes[LOG_BYTES];
};

static int log_begin(struct elapse__record_sink *sink, uint64_t bytes,
                     enum elapse__record_purpose purpose)
{
    (void)sink;
    (void)purpose;
    return bytes > LOG_BYTES / 2;
}

static void keep_bytes(struct memory_log *log, const void *bytes, size_t size)
{
    if (log->position % LOG_BYTES + size > LOG_BYTES)
        log->position += LOG_BYTES - log->position % LOG_BYTES;
    if (size > 0 && bytes != NULL)
        memcpy(log->bytes + log->position % LOG_BYTES, bytes, size);
    log->position += (size + 7) / 8 * 8;
}

static uint64_t log_append(struct elapse__record_sink *sink, const struct elapse__record *record)
{
    struct memory_log *log = (struct memory_log *)(void *)sink;
    uint64_t position = log->position += 8;
    keep_bytes(log, record->fields, record->fields_size);
    keep_bytes(log, record->body, record->body_size);
    return position;
}

static uint64_t log_end(struct elapse__record_sink *sink)
{
    return ((struct memory_log *)(void *)sink)->position;
}

static void log_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    (void)sink;
    (void)position;
    (void)change;
}

struct run {
    struct elapse__queue *queue;
    uint64_t now_ns;   /* virtual */
    uint64_t pause_ns; /* the longest call */
    uint64_t pause_cycles;
    uint64_t moves;   /* the most of one call */
    uint64_t late_ns; /* the latest job */
    uint64_t done;
};

/* The wall clock and the boot-time clock are the same here. */
static struct elapse__queue_now now_of(const struct run *run)
{
    uint64_t now_ms = run->now_ns / NS_PER_MS;
    return (struct elapse__queue_now){now_ms, (int64_t)now_ms};
}

/* A call begins and ends: virtual time goes on by what it took. */
struct call {
    uint64_t moves, cycles, ns;
};

static struct call call_begin(const struct run *run)
{
    return (struct call){elapse_wheel_moves(&run->queue->clocks.boot), cycles_began(), clock_ns()};
}

static void call_end(struct run *run, struct call began)
{
    uint64_t ns = clock_ns() - began.ns;
    uint64_t cycles = cycles_ended() - began.cycles;
    uint64_t moves = elapse_wheel_moves(&run->queue->clocks.boot) - began.moves;
    run->now_ns += ns;
    run->pause_ns = ns > run->pause_ns ? ns : run->pause_ns;
    run->pause_cycles = cycles > run->pause_cycles ? cycles : run->pause_cycles;
    run->moves = moves > run->moves ? moves : run->moves;
}

static void fill(struct run *run, uint64_t jobs, uint64_t boundary_ms)
{
    struct generator generator = {GENERATOR_SEED};
    for (uint64_t i = 0; i < jobs; i++) {
        unsigned char body[BODY_BYTES] = {0};
        uint64_t due_ms = boundary_ms + below(&generator, SLOT_MS);
        struct elapse__queue_put put = {
            .tube = {TUBE, sizeof TUBE - 1},
            .body = {body, sizeof body},
            .delay_ms = due_ms - run->now_ns / NS_PER_MS,
            .ttr_ms = 60000,
        };
        struct call call = call_begin(run);
        enum elapse__queue_result result = elapse__queue_put(run->queue, now_of(run), &put).result;
        call_end(run, call);
        require(result == ELAPSE__QUEUE_SCHEDULED, "a put failed");
    }
}

static void acknowledge(struct run *run, const struct elapse__queue_handed *job)
{
    uint64_t due_ns = (uint64_t)job->due_ms * NS_PER_MS;
    require(due_ns <= run->now_ns, "a job was handed out before its due time");
    uint64_t late_ns = run->now_ns - due_ns;
    run->late_ns = late_ns > run->late_ns ? late_ns : run->late_ns;
    struct call call = call_begin(run);
    enum elapse__queue_result result =
        elapse__queue_ack(run->queue, now_of(run),
                          (struct elapse__queue_holder){.id = job->id, .lease = job->lease})
            .result;
    call_end(run, call);
    require(result == ELAPSE__QUEUE_OK, "an ack failed");
    run->done++;
}

/* One turn of a loop: due jobs become ready, and are handed out and acknowledged. Returns
 * whether there is more to do now. */
static bool turn(struct run *run)
{
    static const struct elapse__queue_text tube = {TUBE, sizeof TUBE - 1};
    struct elapse__queue_handed handed[AT_ONCE];
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = AT_ONCE, .begin = true};
    uint32_t count = 0;

    struct call call = call_begin(run);
    struct elapse__queue_turned turned = elapse__queue_turn(run->queue, now_of(run));
    call_end(run, call);
    call = call_begin(run);
    (void)elapse__queue_reserve(run->queue, now_of(run), &reserve, handed, &count);
    call_end(run, call);
    for (uint32_t i = 0; i < count; i++)
        acknowledge(run, &handed[i]);
    return turned.more || count > 0;
}

static void go_through(struct run *run, uint64_t jobs)
{
    while (run->done < jobs) {
        if (turn(run))
            continue;
        uint64_t next_ms = elapse__queue_next_due(run->queue).boot_ms;
        require(run->done == jobs || next_ms != UINT64_MAX, "jobs are lost");
        if (run->done < jobs && next_ms * NS_PER_MS > run->now_ns)
            run->now_ns = next_ms * NS_PER_MS;
    }
}

/* Adds what was seen since the last time, and forgets it. */
static void report(struct run *run, const char *const figures[3])
{
    table_add("boundary", "elapse", figures[0], (double)run->pause_ns / 1e3, "us", NULL);
    table_add("boundary", "elapse", figures[1], (double)run->pause_cycles, CYCLES_UNIT, NULL);
    table_add("boundary", "elapse", figures[2], (double)run->moves, "timers", NULL);
    run->pause_ns = run->pause_cycles = run->moves = 0;
}

static void *count_allocate(size_t alignment, size_t bytes, void *context)
{
    *(uint64_t *)context += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void count_release(void *memory, size_t bytes, void *context)
{
    *(uint64_t *)context -= bytes;
    free(memory);
}

void bench_boundary(const struct settings *settings)
{
    static const char *const putting[] = {"put: longest call", "put: longest call, cycles",
                                          "put: moves of one call, at most"};
    static const char *const crossing[] = {"crossing: longest call",
                                           "crossing: longest call, cycles",
                                           "crossing: moves of one call, at most"};
    uint64_t allocated = 0;
    struct elapse_allocator memory = {count_allocate, count_release, &allocated};
    struct memory_log *log = calloc(1, sizeof *log);
    require(log != NULL, "no memory");
    log->sink = (struct elapse__record_sink){log_begin, log_append, log_end, log_live};
    struct elapse__queue_options options = {
        .memory = &memory, .sink = &log->sink, .secret = {1, 2}, .seed = 3};
    uint64_t boundary_ms = (uint64_t)3000 * SLOT_MS;
    struct run run = {.queue = elapse__queue_new(&options),
                      .now_ns = (boundary_ms - SLOT_MS) * NS_PER_MS};

    require(run.queue != NULL &&
                elapse__queue_replay_done(run.queue, now_of(&run), 1) == ELAPSE__QUEUE_OK,
            "the queue cannot be made");
    uint64_t before = allocated;
    fill(&run, settings->boundary_jobs, boundary_ms);
    require(run.now_ns < boundary_ms * NS_PER_MS, "filling took longer than the slot");
    table_add("boundary", "elapse", "memory, allocated",
              (double)(allocated - before) / (double)settings->boundary_jobs, "bytes/job", NULL);
    report(&run, putting);
    go_through(&run, settings->boundary_jobs);
    report(&run, crossing);
    table_add("boundary", "elapse", "crossing: latest job", (double)run.late_ns / 1e6, "ms", NULL);
    elapse__queue_free(run.queue);
    free(log);
}
