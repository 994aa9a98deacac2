#include "durable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/queue.h>
#include <uthash.h>

#include "../../base/assert.h"
#include "../common/message.h"
#include "../common/text.h"
#include "answer.h"
#include "exec.h"
#include "print.h"

enum {
    BATCH = ELAPSE_RESERVE_MAX, /* as many as possible, because each batch waits for two syncs */
    SEGMENT_BYTES = 4 << 20,
    WORD_ROOM = 24,
    LIST_SLICE = 64,
};

#define NS_PER_MS  UINT64_C(1000000)
#define HELD_MS    UINT64_C(3155760000000) /* a hundred years, so that no lease ends by itself */
#define TUBE       "timers"
#define WORD_ONCE  "once"
#define WORD_AGAIN "again"

/* What this process keeps of a job. */
struct known_job {
    uint64_t id;
    uint64_t firings;
    UT_hash_handle hh;
};

struct run_durable {
    struct run *run;
    struct elapse_queue *queue;
    struct elapse__os_background **threads;
    size_t thread_count;
    uint64_t position; /* the position of the last line's record; only for the main thread */
    struct elapse_queue_counts last;

    /* The monitor guards the fields below. Threads that wait on it are woken when something may be
     * due, and at the end. */
    struct elapse__os_monitor *monitor;
    uint64_t wakes;
    bool is_ending;
    bool has_failed;
    struct known_job *counts; /* how often recurring timers have fired in this life */
    struct known_job *before; /* jobs that an earlier life had handed out */
};

/* ---- failure ---- */

/* Ends the run, because the queue has failed. */
static void give_up(struct run_durable *durable, enum elapse_error error)
{
    elapse__os_monitor_enter(durable->monitor);
    bool is_first = !durable->has_failed;
    durable->has_failed = true;
    durable->is_ending = true;
    elapse__os_monitor_wake_all(durable->monitor);
    elapse__os_monitor_leave(durable->monitor);
    if (is_first)
        print_error("%s: %s", durable->run->options->data, elapse_error_text(error));
    run_wake(durable->run);
}

bool run_durable_has_failed(struct run_durable *durable)
{
    elapse__os_monitor_enter(durable->monitor);
    bool has_failed = durable->has_failed;
    elapse__os_monitor_leave(durable->monitor);
    return has_failed;
}

/* ---- firing ---- */

/* The contents of the body of a job. */
struct body {
    bool recurs;
    uint64_t after_each_ns; /* the period of after-each; 0: another kind of timer */
    const char *payload;
    size_t payload_bytes;
};

/* Reads a body. If another program has put the job, the whole body is payload. */
static struct body read_body(const char *text, size_t length)
{
    struct body body = {.payload = text, .payload_bytes = length};
    const char *blank = memchr(text, ' ', length < WORD_ROOM ? length : WORD_ROOM);
    char word[WORD_ROOM + 1];

    if (blank == NULL)
        return body;
    size_t word_bytes = (size_t)(blank - text);
    memcpy(word, text, word_bytes);
    word[word_bytes] = '\0';
    bool is_once = strcmp(word, WORD_ONCE) == 0;
    body.recurs =
        strcmp(word, WORD_AGAIN) == 0 || parse_number(word, 1, UINT64_MAX, &body.after_each_ns);
    if (is_once || body.recurs) {
        body.payload = blank + 1;
        body.payload_bytes = length - word_bytes - 1;
    }
    return body;
}

static struct known_job *add_known(struct known_job **table, uint64_t id)
{
    struct known_job *job = allocate(sizeof *job);

    *job = (struct known_job){.id = id};
    HASH_ADD(hh, *table, id, sizeof id, job);
    return job;
}

static void free_known(struct known_job **table)
{
    struct known_job *job = *table;

    HASH_CLEAR(hh, *table); /* frees the table, but not its elements */
    while (job != NULL) {
        struct known_job *next = job->hh.next;
        free(job);
        job = next;
    }
}

/* Returns how often the timer has fired in this life, with this firing. */
static uint64_t count_firing(struct run_durable *durable, uint64_t id)
{
    struct known_job *count;

    elapse__os_monitor_enter(durable->monitor);
    HASH_FIND(hh, durable->counts, &id, sizeof id, count);
    if (count == NULL) {
        count = add_known(&durable->counts, id);
    }
    uint64_t firings = ++count->firings;
    elapse__os_monitor_leave(durable->monitor);
    return firings;
}

/* Returns whether an earlier life had handed out the job. Returns true only once for each job. */
static bool was_handed_out(struct run_durable *durable, uint64_t id)
{
    struct known_job *before;

    elapse__os_monitor_enter(durable->monitor);
    HASH_FIND(hh, durable->before, &id, sizeof id, before);
    if (before != NULL)
        HASH_DEL(durable->before, before);
    elapse__os_monitor_leave(durable->monitor);
    bool was = before != NULL;
    free(before);
    return was;
}

static struct run_timer *timer_of(struct run *run, const struct elapse_reserved *job,
                                  const struct body *body)
{
    struct run_timer *timer = allocate(sizeof *timer + job->key_bytes + body->payload_bytes);

    *timer = (struct run_timer){
        .run = run,
        .is_durable = true,
        .by_wall_clock = true,
        .key_bytes = (uint32_t)job->key_bytes,
        .payload_bytes = (uint32_t)body->payload_bytes,
    };
    if (job->key_bytes > 0)
        memcpy(timer->text, job->key, job->key_bytes);
    memcpy(timer->text + job->key_bytes, body->payload, body->payload_bytes);
    return timer;
}

/* Prints the timer, or runs its program. Returns false if the end of the run has cut the program
 * short. */
static bool fire(struct run_durable *durable, const struct elapse_reserved *job,
                 const struct body *body)
{
    struct run *run = durable->run;
    struct run_timer *timer = timer_of(run, job, body);
    bool is_whole = true;
    uint64_t now_ns = elapse__os_wall_clock_ns();
    uint64_t due_ns = job->due_ms > 0 ? (uint64_t)job->due_ms * NS_PER_MS : 1;
    struct elapse_run firing = {
        .intended_ns = due_ns < now_ns ? now_ns : due_ns,
        .actual_ns = due_ns < now_ns ? now_ns : due_ns,
        .number = body->recurs ? count_firing(durable, job->id) : 1,
        .missed = job->missed,
        .wall_clock = true,
    };

    timer->passed_unix_ns = due_ns < now_ns ? due_ns : 0;
    timer->may_repeat = was_handed_out(durable, job->id);
    if (run->options->program != NULL)
        is_whole = run_spawn_durable(timer, &firing);
    else
        run_print(timer, &firing);
    free(timer);
    return is_whole;
}

/* Ends a firing. The timer ends, or waits for its next time. */
static enum elapse_error end_firing(struct run_durable *durable, const struct elapse_reserved *job,
                                    const struct body *body)
{
    enum elapse_error error;

    if (body->after_each_ns > 0)
        error = elapse_queue_nack_in(durable->queue, job->id, job->lease,
                                     (body->after_each_ns + NS_PER_MS - 1) / NS_PER_MS, NULL);
    else
        error = elapse_queue_ack(durable->queue, job->id, job->lease, NULL);
    /* A timer that was cancelled or replaced while it fired has ended. */
    return error == ELAPSE_ERROR_GONE || error == ELAPSE_ERROR_CANCELLED ? ELAPSE_OK : error;
}

/* Fires jobs whose hand-out is durable. A line counts as fired when it is written. */
static enum elapse_error fire_all(struct run_durable *durable, const struct elapse_reserved *jobs,
                                  size_t count)
{
    struct run *run = durable->run;
    struct body bodies[BATCH];
    enum elapse_error error =
        elapse_queue_commit(durable->queue, jobs[count - 1].position, ELAPSE_QUEUE_FOREVER_MS);

    bool is_whole = true;

    ELAPSE__ASSERT(count > 0 && count <= BATCH);
    ELAPSE__ASSERT(count == 1 || run->options->program == NULL);
    for (size_t i = 0; i < count && error == ELAPSE_OK; i++) {
        bodies[i] = read_body(jobs[i].body, jobs[i].body_bytes);
        is_whole = fire(durable, &jobs[i], &bodies[i]) && is_whole;
    }
    if (error != ELAPSE_OK)
        return error;
    if (run->options->program == NULL)
        is_whole = run_writer_wait(&run->writer);
    if (!is_whole)
        return ELAPSE_OK; /* the run ends; the next run fires these jobs again */
    for (size_t i = 0; i < count && error == ELAPSE_OK; i++)
        error = end_firing(durable, &jobs[i], &bodies[i]);
    run_wake(run);
    return error;
}

/* Takes due jobs. With a program for each job, takes one job. If jobs are printed as lines, takes
 * many. */
static enum elapse_error take_due(struct run_durable *durable, struct elapse_reserved *jobs,
                                  size_t *count)
{
    static const char *const tube = TUBE;
    size_t most = durable->run->options->program != NULL ? 1 : BATCH;
    enum elapse_error error =
        elapse_queue_reserve_many(durable->queue, &tube, 1, 0, jobs, most, count);

    ELAPSE__ASSERT_THAT(*count, <=, most);
    return error == ELAPSE_ERROR_NOTHING_DUE ? ELAPSE_OK : error;
}

/* Waits until something may be due that was not due when `*wakes` was read. Returns false when the
 * run ends. */
static bool wait_for_due(struct run_durable *durable, uint64_t *wakes, bool found)
{
    elapse__os_monitor_enter(durable->monitor);
    while (!found && !durable->is_ending && durable->wakes == *wakes)
        elapse__os_monitor_wait(durable->monitor);
    *wakes = durable->wakes;
    bool goes_on = !durable->is_ending;
    elapse__os_monitor_leave(durable->monitor);
    return goes_on;
}

static void fire_main(void *context)
{
    struct run_durable *durable = context;
    struct elapse_reserved *jobs = allocate(BATCH * sizeof *jobs);
    uint64_t wakes = UINT64_MAX;
    bool found = true;

    while (wait_for_due(durable, &wakes, found)) {
        size_t count;
        enum elapse_error error = take_due(durable, jobs, &count);
        if (error == ELAPSE_OK && count > 0)
            error = fire_all(durable, jobs, count);
        for (size_t i = 0; i < count; i++)
            elapse_reserved_free(&jobs[i]);
        found = count > 0;
        if (error != ELAPSE_OK) {
            give_up(durable, error);
            break;
        }
    }
    free(jobs);
}

int run_durable_descriptor(const struct run_durable *durable)
{
    return elapse_queue_descriptor(durable->queue);
}

void run_durable_wake(struct run_durable *durable)
{
    elapse_queue_quiet(durable->queue);
    elapse__os_monitor_enter(durable->monitor);
    durable->wakes++;
    elapse__os_monitor_wake_all(durable->monitor);
    elapse__os_monitor_leave(durable->monitor);
}

/* ---- lines ---- */

static void report(struct run *run, const char *text)
{
    run_report_line(run, run->lines, text);
    atomic_fetch_add(&run->failures, 1);
}

/* Stores the name of the zone of a cron expression, so that the expression has the same meaning
 * wherever the queue is opened. Returns false if the zone has no name. */
static bool name_zone(const struct run *run, const struct run_line *line, char *name, size_t room)
{
    const struct elapse_time_zone *found;
    const char *zone = getenv("TZ");

    if (line->zone != NULL)
        (void)snprintf(name, room, "%.*s", (int)line->zone_bytes, line->zone_text);
    else if (run->options->zone == ELAPSE_ZONE_UTC)
        (void)snprintf(name, room, "utc");
    else if (zone != NULL && strlen(zone) < room &&
             elapse_time_zone_find(zone, &found) == ELAPSE_OK)
        (void)snprintf(name, room, "%s", zone);
    else
        return false;
    return true;
}

/* Fills in when the job is due. Returns NULL, or a text that says what a queue cannot keep. */
static const char *fill_due(const struct run *run, const struct run_line *line,
                            struct elapse_put *put)
{
    static char cron[ELAPSE_CRON_LENGTH_MAX + 1], zone[256];
    uint64_t delay_ms = line->duration_ns / NS_PER_MS + (line->duration_ns % NS_PER_MS > 0);

    switch (line->kind) {
    case RUN_LINE_AT: {
        uint64_t unix_ns = line->is_local ? run_moment_of_local(run, &line->local) : line->unix_ns;
        put->due = ELAPSE_DUE_AT;
        put->at_ms = (int64_t)(unix_ns / NS_PER_MS + (unix_ns % NS_PER_MS > 0));
        return NULL;
    }
    case RUN_LINE_CRON:
        put->due = ELAPSE_DUE_CRON;
        (void)snprintf(cron, sizeof cron, "%.*s", (int)line->cron_bytes, line->cron_text);
        put->cron = cron;
        put->zone = zone;
        return name_zone(run, line, zone, sizeof zone)
                   ? NULL
                   : "with --data the zone needs a name: cron[Europe/Berlin], TZ, or --utc";
    case RUN_LINE_EVERY:
        put->due = ELAPSE_DUE_EVERY;
        put->period_ms = delay_ms;
        return line->duration_ns % NS_PER_MS == 0
                   ? NULL
                   : "with --data a period is a whole number of milliseconds";
    default:
        put->due = ELAPSE_DUE_IN;
        put->delay_ms =
            delay_ms < (uint64_t)ELAPSE_JOB_DELAY_MS_MAX ? delay_ms : ELAPSE_JOB_DELAY_MS_MAX;
        return NULL;
    }
}

static size_t write_word(char *word, const struct run_line *line)
{
    if (line->kind == RUN_LINE_AFTER_EACH)
        return (size_t)snprintf(word, WORD_ROOM, "%" PRIu64 " ", line->duration_ns);
    bool recurs = line->kind == RUN_LINE_EVERY || line->kind == RUN_LINE_CRON;
    return (size_t)snprintf(word, WORD_ROOM, "%s ", recurs ? WORD_AGAIN : WORD_ONCE);
}

static void put_timer(struct run *run, const struct run_line *line)
{
    struct run_durable *durable = run->durable;
    struct elapse_answer answer;
    struct elapse_put put = {
        .tube = TUBE, .key = line->key, .key_bytes = line->key_bytes, .ttr_ms = HELD_MS};
    const char *fault = line->key_bytes > ELAPSE_JOB_KEY_BYTES_MAX
                            ? "with --data a key has at most 250 bytes"
                            : fill_due(run, line, &put);

    if (fault != NULL) {
        report(run, fault);
        return;
    }
    char *body = allocate(WORD_ROOM + line->payload_bytes);
    size_t word_bytes = write_word(body, line);
    memcpy(body + word_bytes, line->payload, line->payload_bytes);
    put.body = body;
    put.body_bytes = word_bytes + line->payload_bytes;
    enum elapse_error error = elapse_queue_put(durable->queue, &put, &answer);
    free(body);
    if (error == ELAPSE_OK) {
        durable->position = answer.position;
        return;
    }
    char text[256];
    (void)snprintf(text, sizeof text, "cannot be scheduled: %s",
                   error == ELAPSE_ERROR_ARGUMENT && answer.fault != NULL
                       ? answer.fault
                       : elapse_error_text(error));
    report(run, text);
    if (error == ELAPSE_ERROR_BROKEN)
        give_up(durable, error);
}

void run_durable_commit(struct run_durable *durable)
{
    if (durable->position == 0)
        return;
    enum elapse_error error =
        elapse_queue_commit(durable->queue, durable->position, ELAPSE_QUEUE_FOREVER_MS);
    durable->position = 0;
    if (error != ELAPSE_OK)
        give_up(durable, error);
}

static void cancel_timer(struct run *run, const struct run_line *line)
{
    struct elapse_answer answer = {.result = ELAPSE_RESULT_GONE};
    enum elapse_cancel said = ELAPSE_CANCEL_GONE;
    enum elapse_error error =
        elapse_queue_cancel(run->durable->queue, TUBE, line->key, line->key_bytes, &answer);

    if (error != ELAPSE_OK && error != ELAPSE_ERROR_ARGUMENT) {
        give_up(run->durable, error);
        return;
    }
    if (error == ELAPSE_OK && answer.position > run->durable->position)
        run->durable->position = answer.position;
    if (!run->options->answers)
        return;
    if (error == ELAPSE_OK && answer.result == ELAPSE_RESULT_REMOVED)
        said = ELAPSE_CANCEL_REMOVED;
    if (error == ELAPSE_OK && answer.result == ELAPSE_RESULT_RUNNING)
        said = ELAPSE_CANCEL_RUNNING;
    run_durable_commit(run->durable); /* everything that the answer says must be durable before */
    run_answer_cancel(run, line, said);
}

/* ---- the list ---- */

static int compare_jobs(const void *left, const void *right)
{
    const struct elapse_job *a = left;
    const struct elapse_job *b = right;

    if (a->due_ms != b->due_ms)
        return a->due_ms < b->due_ms ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static struct elapse_job *list_jobs(struct elapse_queue *queue, enum elapse_job_state state,
                                    size_t *count)
{
    struct elapse_job_filter filter = {.tube = TUBE, .state = state};
    struct elapse_job *jobs = NULL;
    uint64_t cursor = 0;
    size_t got;

    *count = 0;
    do {
        jobs = reallocate(jobs, (*count + LIST_SLICE) * sizeof *jobs);
        got = elapse_queue_list(queue, &filter, &cursor, jobs + *count, LIST_SLICE);
        ELAPSE__ASSERT_THAT(got, <=, (size_t)LIST_SLICE);
        *count += got;
    } while (got > 0);
    return jobs;
}

static void list_timers(struct run *run)
{
    struct elapse_queue *queue = run->durable->queue;
    size_t count, listed = 0;
    struct elapse_job *jobs = list_jobs(queue, ELAPSE_JOB_ANY, &count);

    qsort(jobs, count, sizeof *jobs, compare_jobs);
    for (size_t i = 0; i < count; i++) {
        struct elapse_content content;
        if (jobs[i].state == ELAPSE_JOB_BURIED ||
            elapse_queue_peek(queue, jobs[i].id, &content) != ELAPSE_OK)
            continue;
        if (content.key_bytes > 0) {
            run_answer_entry(run, &(struct run_list_entry){
                                      .key = content.key,
                                      .key_bytes = content.key_bytes,
                                      .due_unix_ns = (uint64_t)jobs[i].due_ms * NS_PER_MS,
                                      .is_running = jobs[i].state == ELAPSE_JOB_RESERVED,
                                  });
            listed++;
        }
        elapse_content_free(&content);
    }
    free(jobs);
    run_answer_listed(run, listed);
}

void run_durable_apply(struct run *run, const struct run_line *line)
{
    ELAPSE__ASSERT(run->durable != NULL);
    switch (line->kind) {
    case RUN_LINE_NOTHING:
        return;
    case RUN_LINE_CANCEL:
        cancel_timer(run, line);
        return;
    case RUN_LINE_LIST:
        list_timers(run);
        return;
    default:
        put_timer(run, line);
        return;
    }
}

/* ---- life ---- */

/* Ends the leases of earlier lives, because the threads that held them have gone. */
static enum elapse_error take_over(struct run_durable *durable)
{
    size_t count;
    struct elapse_job *jobs = list_jobs(durable->queue, ELAPSE_JOB_RESERVED, &count);
    enum elapse_error error = ELAPSE_OK;

    for (size_t i = 0; i < count && error == ELAPSE_OK; i++) {
        (void)add_known(&durable->before, jobs[i].id);
        error = elapse_queue_nack_in(durable->queue, jobs[i].id, jobs[i].lease, 0, NULL);
        if (error == ELAPSE_ERROR_GONE)
            error = ELAPSE_OK;
    }
    free(jobs);
    return error;
}

static int start_threads(struct run_durable *durable)
{
    const struct run_options *options = durable->run->options;
    size_t count = options->program != NULL ? (size_t)options->workers : 1;

    ELAPSE__ASSERT(count > 0);
    durable->threads = allocate(count * sizeof(void *));
    while (durable->thread_count < count) {
        int error = elapse__os_background_start(&durable->threads[durable->thread_count], fire_main,
                                                durable);
        if (error != 0)
            return error;
        durable->thread_count++;
    }
    return 0;
}

/* Opens the queue. Prints what is wrong, and returns the status for it. */
static enum exit_status open_queue(struct run_durable *durable)
{
    struct elapse_queue_options options;
    struct elapse_queue_fault fault;

    elapse_queue_options_init(&options);
    options.segment_bytes = SEGMENT_BYTES;
    options.body_bytes_max = RUN_PAYLOAD_BYTES_MAX + WORD_ROOM;
    enum elapse_error error =
        elapse_queue_open(durable->run->options->data, &options, &durable->queue, &fault);
    if (error == ELAPSE_OK)
        return STATUS_OK;
    return error_of(error == ELAPSE_ERROR_MEMORY ? STATUS_FAILED : STATUS_USAGE, "--data: %s",
                    fault.text);
}

enum exit_status run_durable_open(struct run *run, unsigned signals)
{
    struct run_durable *durable = allocate(sizeof *durable);

    *durable = (struct run_durable){.run = run};
    int failure = elapse__os_monitor_new(&durable->monitor);
    if (failure != 0)
        return error_of(STATUS_FAILED, "%s", elapse__os_error_text(failure));
    elapse__os_signals_release(&run->signals, signals);
    enum exit_status status = open_queue(durable);
    elapse__os_signals_hold(&run->signals, signals);
    if (status != STATUS_OK) {
        run_durable_free(durable);
        return status;
    }
    run->durable = durable;
    enum elapse_error error = take_over(durable);
    if (error != ELAPSE_OK)
        return error_of(STATUS_FAILED, "--data: %s", elapse_error_text(error));
    failure = start_threads(durable);
    return failure == 0 ? STATUS_OK : error_of(STATUS_FAILED, "%s", elapse__os_error_text(failure));
}

bool run_durable_finish(struct run_durable *durable)
{
    elapse__os_monitor_enter(durable->monitor);
    durable->is_ending = true;
    elapse__os_monitor_wake_all(durable->monitor);
    elapse__os_monitor_leave(durable->monitor);
    for (size_t i = 0; i < durable->thread_count; i++)
        elapse__os_background_join(durable->threads[i]);
    (void)elapse_queue_statistics(durable->queue, NULL, &durable->last);
    enum elapse_error error = elapse_queue_close(durable->queue);
    durable->queue = NULL;
    if (error != ELAPSE_OK && !durable->has_failed)
        print_error("%s: %s", durable->run->options->data, elapse_error_text(error));
    return error == ELAPSE_OK && !durable->has_failed;
}

void run_durable_free(struct run_durable *durable)
{
    if (durable == NULL)
        return;
    free_known(&durable->counts);
    free_known(&durable->before);
    elapse__os_monitor_free(durable->monitor);
    free(durable->threads);
    free(durable);
}

static uint64_t waiting(const struct elapse_queue_counts *counts)
{
    return counts->delayed + counts->ready + counts->reserved;
}

bool run_durable_is_empty(struct run_durable *durable)
{
    struct elapse_queue_counts counts;

    return elapse_queue_statistics(durable->queue, NULL, &counts) == ELAPSE_OK &&
           waiting(&counts) == 0;
}

void run_durable_report(const struct run_durable *durable)
{
    const struct elapse_queue_counts *counts = &durable->last;
    const char *directory = durable->run->options->data;

    if (waiting(counts) > 0)
        print_error("%s keeps %" PRIu64 " timer%s", directory, waiting(counts),
                    waiting(counts) == 1 ? "" : "s");
    if (counts->buried > 0)
        print_error("%s has %" PRIu64 " timers that cannot fire; 'elapse export' shows why",
                    directory, counts->buried);
}

void run_durable_print_statistics(struct run *run)
{
    struct elapse_queue_counts counts = run->durable->last;

    if (run->durable->queue != NULL)
        (void)elapse_queue_statistics(run->durable->queue, NULL, &counts);
    print_error("%" PRIu64 " lines, %" PRIu64 " bad, %" PRIu64 " scheduled, %" PRIu64
                " replaced, %" PRIu64 " cancelled, %" PRIu64 " fired, %" PRIu64 " failed, %" PRIu64
                " pending",
                run->lines, run->bad_lines, counts.put, counts.replaced, counts.cancelled,
                counts.done, atomic_load(&run->failures), waiting(&counts));
}
