#include "loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../../os/sockets.h"
#include "../client/session.h"
#include "../common/text.h"
#include "handed.h"
#include "link.h"
#include "programs.h"
#include "protocol.h"

#define LAST_WORDS_NS        UINT64_C(3000000000)
#define LOOK_AT_PROCESSES_NS UINT64_C(10000000)
#define NS_PER_MS            UINT64_C(1000000)
#define IDLE_NS              UINT64_C(1000000000) /* until a terminal shows what the worker waits for */

/* A job may have neither a limit of attempts nor a back-off, if a version before 0.3 stored it.
 * Such a job would be tried without end and without a pause. From this attempt on it waits for at
 * least this time. A back-off that doubles is longer by then. */
enum { HOT_ATTEMPTS = 10, HOT_AFTER_MS = 1000 };

#define TAKEN_SIGNALS                                                            \
    (ELAPSE__OS_BIT(ELAPSE__OS_HANG_UP) | ELAPSE__OS_BIT(ELAPSE__OS_INTERRUPT) | \
     ELAPSE__OS_BIT(ELAPSE__OS_TERMINATE))

/* What the loop keeps for each job of the worker. */
struct task {
    redisReply *reply; /* the texts of `handed` belong to this reply */
    struct handed handed;
    struct elapse__os_process process;
    struct hook *hook;
    char *error; /* the error that the server is told; NULL: none */
    bool is_running;
};

/* A request on the teller (loop.h) that has no reply yet. */
struct told {
    enum work_effect_kind kind;
    struct work_job *job;
};

struct loop {
    const struct work_options *options;
    struct worker worker;
    struct task tasks[WORKER_JOBS_MAX];
    struct link taker;
    struct link teller;
    struct told *told; /* in the order of their requests */
    size_t told_count;
    size_t told_capacity;
    struct programs programs;
    struct hooks *hooks;
    struct elapse__os_signals signals;
    struct request request;
    bool has_reserved; /* the server has answered a reserve with jobs */
    bool tries_again;  /* the last reserve was answered TRYAGAIN, and the user knows */
    bool tells_idle;   /* a terminal has to show what the worker waits for */
    enum exit_status status;
    uint64_t end_ns; /* when the loop ends even if the server was not told about all jobs */
};

static struct task *task_of(struct loop *loop, const struct work_job *job)
{
    size_t place = (size_t)(job - loop->worker.jobs);

    ELAPSE__ASSERT_THAT(place, <, loop->options->worker.concurrency);
    return &loop->tasks[place];
}

__attribute__((format(printf, 3, 4))) static void
say_of_job(const struct loop *loop, const struct task *task, const char *format, ...)
{
    char text[400];
    va_list arguments;

    if (loop->options->quiet)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("job %" PRIu64 " of %s: %s", task->handed.id,
                quote_text(task->handed.tube, task->handed.tube_length).text, text);
}

/* Stores the error that the server is told. */
static void set_error(struct loop *loop, struct work_job *job, const char *text)
{
    struct task *task = task_of(loop, job);
    size_t size = text == NULL ? 0 : strlen(text) + 1;

    free(task->error);
    task->error = size == 0 ? NULL : allocate(size);
    if (size > 0)
        memcpy(task->error, text, size);
    job->error = task->error;
}

/* ---- effects ---- */

static void reserve(struct loop *loop, size_t count, uint64_t now_ns)
{
    ELAPSE__ASSERT_THAT(count, >, 0U);
    ELAPSE__ASSERT(link_is_there(&loop->taker));
    protocol_reserve(&loop->request, loop->options->tubes, loop->options->tube_count, count,
                     !loop->options->worker.until_empty);
    connection_add(loop->taker.connection, &loop->request);
    loop->taker.since_ns = now_ns;
}

static void ask_about(struct loop *loop, const struct work_effect *effect, uint64_t now_ns)
{
    protocol_ask_about(&loop->request, effect);
    ELAPSE__ASSERT(link_is_there(&loop->teller));
    if (connection_awaited(loop->teller.connection) == 0)
        loop->teller.since_ns = now_ns;
    connection_add(loop->teller.connection, &loop->request);
    if (loop->told_count == loop->told_capacity) {
        loop->told_capacity = loop->told_capacity == 0 ? 64 : 2 * loop->told_capacity;
        loop->told = reallocate(loop->told, loop->told_capacity * sizeof *loop->told);
    }
    ELAPSE__ASSERT_THAT(loop->told_count, <, loop->told_capacity);
    loop->told[loop->told_count++] = (struct told){effect->kind, effect->job};
}

static void start(struct loop *loop, struct work_job *job)
{
    struct task *task = task_of(loop, job);

    ELAPSE__ASSERT(!task->is_running);
    if (loop->options->program == NULL) {
        task->hook = hooks_start(loop->hooks, &task->handed, job);
        task->is_running = task->hook != NULL;
        if (!task->is_running)
            say_of_job(loop, task, "the request cannot be made: no memory, or no signature");
    } else {
        int error = programs_start(&loop->programs, &task->handed, &task->process);
        task->is_running = error == 0;
        if (error != 0)
            say_of_job(loop, task, "cannot run %s: %s", loop->options->program[0],
                       elapse__os_error_text(error));
        if (error != 0)
            set_error(loop, job, "the program cannot be run");
    }
    if (!task->is_running)
        worker_ran(&loop->worker, job, WORK_NOT_BEGUN);
}

static void stop(struct loop *loop, struct work_job *job, bool at_once)
{
    struct task *task = task_of(loop, job);

    ELAPSE__ASSERT(task->is_running);
    if (job->lost || job->cancelled || job->timed_out)
        say_of_job(loop, task, "%s",
                   job->timed_out   ? "the time limit is over"
                   : job->cancelled ? "cancelled: the work is ended"
                                    : "the lease has ended: the work is ended too");
    if (job->timed_out)
        set_error(loop, job, "the time limit is over");
    if (loop->options->program != NULL) {
        elapse__os_end_group(&task->process, at_once);
        return;
    }
    hooks_stop(loop->hooks, task->hook);
    task->is_running = false;
    worker_ran(&loop->worker, job, WORK_FAILED);
}

static void perform_for_job(struct loop *loop, const struct work_effect *effect, uint64_t now_ns)
{
    struct work_job *job = effect->job;

    ELAPSE__ASSERT(job != NULL);
    switch (effect->kind) {
    case EFFECT_RESERVE:
        break;
    case EFFECT_START:
        start(loop, job);
        break;
    case EFFECT_STOP:
    case EFFECT_KILL:
        stop(loop, job, effect->kind == EFFECT_KILL);
        break;
    case EFFECT_LOOK:
    case EFFECT_EXTEND:
    case EFFECT_ACK:
    case EFFECT_NACK:
    case EFFECT_NACK_IN:
        ask_about(loop, effect, now_ns);
        break;
    case EFFECT_FORGET:
        freeReplyObject(task_of(loop, job)->reply);
        task_of(loop, job)->reply = NULL;
        set_error(loop, job, NULL);
        break;
    }
}

static void perform(struct loop *loop, const struct work_effect *effect, uint64_t now_ns)
{
    if (effect->kind == EFFECT_RESERVE)
        reserve(loop, effect->count, now_ns);
    else
        perform_for_job(loop, effect, now_ns);
}

/* ---- replies ---- */

/* Ends the worker, because the server will never accept its requests. Requires that the reason was
 * printed. */
static void fail(struct loop *loop, enum exit_status status)
{
    loop->status = answer_join(loop->status, status);
    worker_give_up(&loop->worker);
    loop->end_ns = 0;
}

/* Takes the jobs of a reply. Each task keeps its part of the reply. */
static void take_jobs(struct loop *loop, redisReply *reply, uint64_t now_ns)
{
    size_t count = 0;

    for (size_t i = 0; i < reply->elements; i++) {
        struct handed handed;
        if (!handed_read(reply->element[i], &handed))
            continue;
        struct work_job *job = worker_handed(&loop->worker, now_ns, handed.id, handed.lease);
        if (job == NULL)
            continue;
        worker_knows_ttr(job, handed.ttr_ms * NS_PER_MS);
        *task_of(loop, job) = (struct task){.reply = reply->element[i], .handed = handed};
        reply->element[i] = NULL;
        count++;
    }
    worker_reserved(&loop->worker, count);
}

static void take_reserved(struct loop *loop, redisReply *reply, uint64_t now_ns)
{
    if (reply->type == REDIS_REPLY_ARRAY) {
        loop->has_reserved = true;
        loop->tries_again = false;
        take_jobs(loop, reply, now_ns);
        return;
    }
    struct answer answer = answer_of_other(reply, "the reply is no list of jobs");
    bool tries_again = answer.status == STATUS_NO_SERVER; /* a partition could not be asked */
    if (!tries_again || !loop->tries_again)
        (void)session_report_error(&answer, NULL);
    loop->tries_again = tries_again;
    worker_reserve_failed(&loop->worker, now_ns);
    /* If the server has answered a reserve before, the command line is not wrong. */
    bool is_refused = answer.status == STATUS_USAGE || answer.status == STATUS_NOT_AUTHORISED;
    if (is_refused && !loop->has_reserved)
        fail(loop, answer.status);
}

/* Takes the answer to an extension. The answer has a word for each job, or one error for all. */
static void take_extended(struct loop *loop, struct work_job *job, const redisReply *reply,
                          uint64_t now_ns)
{
    for (size_t place = 0; job != NULL; place++) {
        struct work_job *next = job->next_extended;
        worker_extended(&loop->worker, job, now_ns, protocol_read_word(reply, place));
        job = next;
    }
}

static void take_told(struct loop *loop, const struct told *told, const redisReply *reply,
                      uint64_t now_ns)
{
    enum work_answer answer;

    if (told->kind == EFFECT_LOOK) {
        uint64_t ttr_ns;
        answer = protocol_read_look(reply, told->job->lease, &ttr_ns);
        worker_looked(&loop->worker, told->job, now_ns, answer, ttr_ns);
        return;
    }
    if (told->kind == EFFECT_EXTEND) {
        take_extended(loop, told->job, reply, now_ns);
        return;
    }
    answer = protocol_read_word(reply, 0);
    if (answer == ANSWER_GONE && !told->job->told_once)
        say_of_job(loop, task_of(loop, told->job),
                   "the lease had ended before the work did: it may be done twice");
    worker_told(&loop->worker, told->job, now_ns, answer);
}

static void take_replies(struct loop *loop, uint64_t now_ns)
{
    redisReply *reply;
    size_t taken = 0;

    while ((reply = connection_take(loop->taker.connection)) != NULL) {
        take_reserved(loop, reply, now_ns);
        freeReplyObject(reply);
        link_answered(&loop->taker);
    }
    while (taken < loop->told_count && (reply = connection_take(loop->teller.connection)) != NULL) {
        take_told(loop, &loop->told[taken++], reply, now_ns);
        freeReplyObject(reply);
        link_answered(&loop->teller);
        loop->teller.since_ns = now_ns;
    }
    ELAPSE__ASSERT_THAT(taken, <=, loop->told_count);
    loop->told_count -= taken;
    if (taken > 0 && loop->told_count > 0)
        memmove(loop->told, loop->told + taken, loop->told_count * sizeof *loop->told);
}

/* ---- the connections ---- */

/* Looks after a connection: opens it, and notes that it was lost. Returns whether its state has
 * changed. */
static bool look_after(struct loop *loop, struct link *link, uint64_t now_ns)
{
    bool opened = link_try(link, now_ns);

    if (!link_is_there(link))
        return opened;
    enum connection_fault fault = connection_fault(link->connection);
    bool ends = loop->worker.stops && link == &loop->taker;
    if (fault == CONNECTION_NOT_AUTHORISED)
        fail(loop, session_report(link->connection, loop->options->settings));
    else if ((link == &loop->taker) == !loop->worker.stops)
        link_report(link); /* only one link reports, because the other has the same fault */
    if (fault == CONNECTION_WORKS)
        return opened;
    if (ends)
        link_end(link);
    else
        link_lost(link, now_ns);
    return true;
}

static void look_after_both(struct loop *loop, uint64_t now_ns)
{
    link_watch_time(&loop->taker, now_ns);
    link_watch_time(&loop->teller, now_ns);
    if (look_after(loop, &loop->taker, now_ns))
        worker_taker_changed(&loop->worker, link_is_there(&loop->taker));
    if (look_after(loop, &loop->teller, now_ns)) {
        loop->told_count = 0;
        worker_teller_changed(&loop->worker, false);
        worker_teller_changed(&loop->worker, link_is_there(&loop->teller));
    }
}

/* ---- the work ---- */

/* Notes that the work on a job has ended. `failure` is for the log, and `error` is for the server.
 * Both are NULL if the work has not failed. */
static void end_task(struct loop *loop, struct work_job *job, const char *failure,
                     const char *error)
{
    struct task *task = task_of(loop, job);

    ELAPSE__ASSERT(task->is_running);
    task->is_running = false;
    task->hook = NULL;
    if (failure != NULL && !job->stopping)
        say_of_job(loop, task, "attempt %" PRIu64 " failed: %s", task->handed.attempt, failure);
    if (!job->stopping)
        set_error(loop, job, error);
    bool is_hot = failure != NULL && task->handed.is_endless &&
                  task->handed.attempt >= HOT_ATTEMPTS && !loop->options->worker.has_backoff;
    if (is_hot && job->after_ms < HOT_AFTER_MS)
        job->after_ms = HOT_AFTER_MS;
    worker_ran(&loop->worker, job, failure == NULL ? WORK_DONE : WORK_FAILED);
}

static void collect_work(struct loop *loop)
{
    const char *failure = NULL;
    uint64_t after_ms = 0;
    struct work_job *job;

    while (loop->hooks != NULL && (job = hooks_take(loop->hooks, &failure, &after_ms)) != NULL) {
        job->after_ms = after_ms;
        end_task(loop, job, failure, failure == NULL ? NULL : hooks_error(loop->hooks));
    }
    for (size_t i = 0; loop->hooks == NULL && i < loop->options->worker.concurrency; i++) {
        struct elapse__os_end end;
        struct task *task = &loop->tasks[i];
        job = &loop->worker.jobs[i];
        /* If the work was asked to end, kills the rest of its process group, too. */
        if (task->is_running && elapse__os_collect(&task->process, job->stopping, &end)) {
            failure = programs_failure(&end);
            end_task(loop, job, failure, failure);
        }
    }
}

static void take_signal(struct loop *loop, uint64_t now_ns)
{
    enum elapse__os_signal signal = elapse__os_signals_take(&loop->signals);

    if (signal == ELAPSE__OS_NO_SIGNAL)
        return;
    if (loop->worker.stops) {
        print_error("giving up the work under way");
        worker_give_up(&loop->worker);
        loop->end_ns = now_ns + WORKER_KILL_AFTER_NS + LAST_WORDS_NS;
        /* The next signal ends the program at once. */
        elapse__os_signals_release(&loop->signals, TAKEN_SIGNALS);
        return;
    }
    worker_stop(&loop->worker);
    if (loop->worker.job_count > 0)
        print_error("finishing the work under way; another signal gives it up");
    if (link_is_there(&loop->taker))
        connection_add_no_more(loop->taker.connection);
    if (!link_is_there(&loop->taker) || !connection_is_made(loop->taker.connection)) {
        link_end(&loop->taker);
        worker_taker_changed(&loop->worker, false);
    }
}

/* ---- waiting ---- */

static uint64_t earlier(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns < other_ns ? one_ns : other_ns;
}

static uint64_t wake_ns(const struct loop *loop, bool *has_process)
{
    uint64_t wake = worker_wake_ns(&loop->worker);
    uint64_t links = earlier(link_wake_ns(&loop->taker), link_wake_ns(&loop->teller));

    *has_process = false;
    for (size_t i = 0; i < loop->options->worker.concurrency; i++)
        *has_process = *has_process || (loop->tasks[i].is_running && loop->hooks == NULL &&
                                        loop->tasks[i].process.file < 0);
    return earlier(loop->end_ns, earlier(wake, links));
}

static void wait_for_something(struct loop *loop, uint64_t now_ns)
{
    static struct elapse__os_watch watches[WORKER_JOBS_MAX + 3];
    size_t count = 3;
    bool has_process;
    uint64_t wake = wake_ns(loop, &has_process);
    uint64_t timeout_ns = wake > now_ns ? wake - now_ns : 0;

    if (wake == WORKER_NEVER)
        timeout_ns = ELAPSE__OS_FOREVER;
    if (loop->tells_idle && timeout_ns > IDLE_NS)
        timeout_ns = IDLE_NS;
    if (has_process && timeout_ns > LOOK_AT_PROCESSES_NS)
        timeout_ns = LOOK_AT_PROCESSES_NS;
    watches[0] = (struct elapse__os_watch){.file = loop->signals.file, .for_data = true};
    watches[1] = connection_watch(loop->taker.connection);
    watches[2] = connection_watch(loop->teller.connection);
    if (loop->hooks != NULL) {
        hooks_wait(loop->hooks, watches, count, timeout_ns);
    } else {
        for (size_t i = 0; i < loop->options->worker.concurrency; i++)
            if (loop->tasks[i].is_running)
                watches[count++] = (struct elapse__os_watch){.file = loop->tasks[i].process.file,
                                                             .for_data = true};
        (void)elapse__os_wait(watches, count, timeout_ns);
    }
    link_turn(&loop->taker, watches[1].ready);
    link_turn(&loop->teller, watches[2].ready);
}

/* ---- the loop ---- */

/* Prints once on a terminal what the worker waits for, because the user may have mistyped the name
 * of a tube. */
static void tell_idle(struct loop *loop, uint64_t now_ns)
{
    const struct work_options *options = loop->options;

    if (!loop->tells_idle || loop->worker.job_count > 0 || !loop->worker.reserves ||
        !connection_is_made(loop->taker.connection) || now_ns - loop->taker.since_ns < IDLE_NS)
        return;
    loop->tells_idle = false;
    print_error("waiting for jobs of %s%s; Ctrl-C ends", quote_string(options->tubes[0]).text,
                options->tube_count > 1 ? " and other tubes" : "");
}

static void go_on(struct loop *loop)
{
    struct work_effect effect;
    uint64_t now_ns = elapse__os_monotonic_ns();

    take_signal(loop, now_ns);
    take_replies(loop, now_ns);
    look_after_both(loop, now_ns);
    collect_work(loop);
    tell_idle(loop, now_ns);
    while (worker_next(&loop->worker, now_ns, &effect))
        perform(loop, &effect, now_ns);
    /* Requests that were added are sent now, not after the next wait. */
    connection_send(loop->taker.connection);
    connection_send(loop->teller.connection);
}

static bool is_over(const struct loop *loop)
{
    return worker_is_finished(&loop->worker) || elapse__os_monotonic_ns() >= loop->end_ns;
}

/* With --until-empty a script wants to know whether any job failed. */
static enum exit_status report_failures(const struct loop *loop)
{
    if (loop->status != STATUS_OK || !loop->options->worker.until_empty ||
        loop->worker.failed == 0 || loop->worker.done > 0)
        return loop->status;
    return error_of(STATUS_FAILED, "no job was done: all attempts have failed, %" PRIu64,
                    loop->worker.failed);
}

static enum exit_status report_end(const struct loop *loop)
{
    if (loop->worker.job_count == 0)
        return report_failures(loop);
    print_error(
        "jobs that could not be given back: %zu; other workers get them when their leases end",
        loop->worker.job_count);
    return answer_join(loop->status, STATUS_UNKNOWN);
}

static void free_loop(struct loop *loop)
{
    for (size_t i = 0; i < loop->options->worker.concurrency; i++) {
        struct task *task = &loop->tasks[i];
        if (task->is_running && loop->hooks == NULL)
            elapse__os_end_group(&task->process, true);
        else if (task->is_running)
            hooks_stop(loop->hooks, task->hook);
        freeReplyObject(task->reply);
        free(task->error);
    }
    if (loop->hooks != NULL)
        hooks_free(loop->hooks);
    else
        programs_free(&loop->programs);
    connection_free(loop->taker.connection);
    connection_free(loop->teller.connection);
    request_free(&loop->request);
    free(loop->told);
    elapse__os_signals_release(&loop->signals, TAKEN_SIGNALS);
    elapse__os_signals_close(&loop->signals);
    free(loop);
}

enum exit_status work_loop(const struct work_options *options)
{
    struct loop *loop = allocate(sizeof *loop);

    memset(loop, 0, sizeof *loop);
    loop->options = options;
    ELAPSE__ASSERT_THAT(options->tube_count, >, 0U);
    ELAPSE__ASSERT((options->program == NULL) != (options->hooks.url == NULL));
    loop->end_ns = WORKER_NEVER;
    loop->tells_idle = !options->quiet && elapse__os_is_terminal(ELAPSE__OS_ERRORS);
    int error = elapse__os_signals_open(&loop->signals, TAKEN_SIGNALS);
    if (error != 0) {
        print_error("cannot take signals: %s", elapse__os_error_text(error));
        free(loop);
        return STATUS_FAILED;
    }
    worker_init(&loop->worker, &options->worker);
    link_begin(&loop->taker, options->settings, options->settings->timeout_ns + PROTOCOL_WAIT_NS);
    link_begin(&loop->teller, options->settings, options->settings->timeout_ns);
    if (options->program != NULL) {
        programs_init(&loop->programs, options->program, &loop->signals);
    } else {
        /* Each request needs a socket. For programs the limit stays, because they inherit it. */
        (void)elapse__os_raise_file_limit();
        loop->hooks = hooks_new(&options->hooks);
    }
    if (options->program == NULL && loop->hooks == NULL) {
        print_error("out of memory");
        exit(STATUS_FAILED);
    }
    go_on(loop);
    while (!is_over(loop)) {
        wait_for_something(loop, elapse__os_monotonic_ns());
        go_on(loop);
    }
    enum exit_status status = report_end(loop);
    free_loop(loop);
    return status;
}
