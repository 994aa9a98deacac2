#include "worker.h"

#include <string.h>

#include "../../base/assert.h"

void worker_init(struct worker *worker, const struct worker_options *options)
{
    ELAPSE__ASSERT_THAT(options->concurrency, >, 0);
    ELAPSE__ASSERT_THAT(options->concurrency, <=, (size_t)WORKER_JOBS_MAX);
    memset(worker, 0, sizeof *worker);
    worker->options = *options;
}

static void check(const struct worker *worker)
{
    (void)worker; /* used only by assertions */
    ELAPSE__ASSERT_THAT(worker->job_count, <=, worker->options.concurrency);
    ELAPSE__ASSERT(!worker->gives_up || worker->stops);
}

static void check_job(const struct work_job *job)
{
    (void)job; /* used only by assertions */
    ELAPSE__ASSERT(job->state != WORK_FREE);
    ELAPSE__ASSERT(!job->tell_sent || job->state == WORK_ENDED);
    ELAPSE__ASSERT(!job->stopping || job->state != WORK_TAKEN);
}

static uint64_t later(uint64_t now_ns, uint64_t after_ns)
{
    return after_ns < WORKER_NEVER - now_ns ? now_ns + after_ns : WORKER_NEVER;
}

/* ---- effects ---- */

static bool say(struct work_effect *effect, enum work_effect_kind kind, struct work_job *job)
{
    *effect = (struct work_effect){.kind = kind, .job = job};
    return true;
}

/* Plans to extend the lease when a third of it is over. */
static void plan_extension(struct work_job *job, uint64_t since_ns)
{
    const uint64_t least_ns = 1000000;
    uint64_t third_ns = job->ttr_ns / 3;

    ELAPSE__ASSERT_THAT(job->ttr_ns, >, 0U);
    job->ask_ns = later(since_ns, third_ns > least_ns ? third_ns : least_ns);
}

static bool start(const struct worker *worker, struct work_job *job, uint64_t now_ns,
                  struct work_effect *effect)
{
    uint64_t limit_ns = worker->options.limit_ns;

    ELAPSE__ASSERT(job->state == WORK_TAKEN);
    job->state = WORK_RUNNING;
    if (job->ttr_ns > 0)
        plan_extension(job, job->taken_ns);
    else
        job->ask_ns = later(now_ns, WORKER_LOOK_AFTER_NS);
    job->limit_ns = limit_ns == 0 ? WORKER_NEVER : later(now_ns, limit_ns);
    job->kill_ns = WORKER_NEVER;
    return say(effect, EFFECT_START, job);
}

/* Returns whether the worker asks the server about a job, or will ask. */
static bool asks_about(const struct worker *worker, const struct work_job *job)
{
    return worker->can_tell && job->state == WORK_RUNNING && !job->asks && !job->lost &&
           !job->cancelled;
}

/* Puts the jobs into one extension whose extension is due within a sixth of their lease. So
 * extensions that are close in time become one. If there are more jobs than one extension takes,
 * the rest gets further extensions. */
static void gather_extensions(struct worker *worker, struct work_job *last, uint64_t now_ns)
{
    size_t count = 1;

    ELAPSE__ASSERT(last->asks && last->ttr_ns > 0);
    for (size_t i = 0; i < worker->options.concurrency && count < WORKER_EXTENDED_MAX; i++) {
        struct work_job *job = &worker->jobs[i];
        if (!asks_about(worker, job) || job->ttr_ns == 0 ||
            job->ask_ns > later(now_ns, job->ttr_ns / 6))
            continue;
        job->asks = true;
        last->next_extended = job;
        last = job;
        count++;
    }
    last->next_extended = NULL;
}

/* Stops, kills, looks up or extends a job whose work continues. */
static bool attend(struct worker *worker, struct work_job *job, uint64_t now_ns,
                   struct work_effect *effect)
{
    ELAPSE__ASSERT(job->state == WORK_RUNNING);
    if (!job->stopping && now_ns >= job->limit_ns)
        job->timed_out = true;
    if (!job->stopping && (job->timed_out || job->lost || job->cancelled || worker->gives_up)) {
        job->stopping = true;
        job->kill_ns = later(now_ns, WORKER_KILL_AFTER_NS);
        return say(effect, EFFECT_STOP, job);
    }
    if (job->stopping && now_ns >= job->kill_ns) {
        job->kill_ns = WORKER_NEVER;
        return say(effect, EFFECT_KILL, job);
    }
    if (!asks_about(worker, job) || now_ns < job->ask_ns)
        return false;
    job->asks = true;
    if (job->ttr_ns == 0)
        return say(effect, EFFECT_LOOK, job);
    gather_extensions(worker, job, now_ns);
    return say(effect, EFFECT_EXTEND, job);
}

/* Tells the server how the work on a job ended. */
static bool tell(const struct worker *worker, struct work_job *job, struct work_effect *effect)
{
    bool has_delay = job->outcome == WORK_NOT_BEGUN || job->outcome == WORK_GIVEN_UP;

    ELAPSE__ASSERT(job->state == WORK_ENDED);
    ELAPSE__ASSERT(worker->can_tell);
    job->tell_sent = true;
    if (job->outcome == WORK_DONE)
        return say(effect, EFFECT_ACK, job);
    if (job->outcome == WORK_FAILED && (!worker->options.has_backoff || job->after_ms > 0)) {
        (void)say(effect, EFFECT_NACK, job);
        effect->delay_ms = job->after_ms;
        if (job->after_ms > 0 && worker->options.backoff_ms > job->after_ms)
            effect->delay_ms = worker->options.backoff_ms;
        return true;
    }
    (void)say(effect, EFFECT_NACK_IN, job);
    if (!has_delay)
        effect->delay_ms = worker->options.backoff_ms;
    else if (job->outcome == WORK_NOT_BEGUN)
        effect->delay_ms = WORKER_AGAIN_NS / 1000000;
    return true;
}

static bool forget(struct worker *worker, struct work_job *job, struct work_effect *effect)
{
    ELAPSE__ASSERT_THAT(worker->job_count, >, 0);
    ELAPSE__ASSERT(!job->asks);
    worker->job_count--;
    job->state = WORK_FREE;
    /* A job that failed may be ready again. So the server is asked once more. It is asked even if a
     * reserve is under way, because the server may have answered that reserve before it learned of
     * the failure. */
    worker->is_empty = false;
    worker->asks_again = worker->reserves;
    return say(effect, EFFECT_FORGET, job);
}

static bool next_of_job(struct worker *worker, struct work_job *job, uint64_t now_ns,
                        struct work_effect *effect)
{
    switch (job->state) {
    case WORK_FREE:
        break;
    case WORK_TAKEN:
        return start(worker, job, now_ns, effect);
    case WORK_RUNNING:
        return attend(worker, job, now_ns, effect);
    case WORK_ENDED:
        if (job->lost)
            return forget(worker, job, effect);
        if (worker->can_tell && !job->tell_sent && now_ns >= job->tell_ns)
            return tell(worker, job, effect);
        break;
    case WORK_TOLD:
        return !job->asks && forget(worker, job, effect);
    }
    return false;
}

static bool may_reserve(const struct worker *worker)
{
    return worker->can_reserve && !worker->reserves && !worker->stops &&
           worker->job_count < worker->options.concurrency &&
           !(worker->options.until_empty && worker->is_empty);
}

bool worker_next(struct worker *worker, uint64_t now_ns, struct work_effect *effect)
{
    check(worker);
    for (size_t i = 0; worker->job_count > 0 && i < worker->options.concurrency; i++) {
        if (next_of_job(worker, &worker->jobs[i], now_ns, effect))
            return true;
    }
    if (!may_reserve(worker) || now_ns < worker->reserve_ns)
        return false;
    worker->reserves = true;
    *effect = (struct work_effect){.kind = EFFECT_RESERVE,
                                   .count = worker->options.concurrency - worker->job_count};
    ELAPSE__ASSERT_THAT(effect->count, >, 0U);
    return true;
}

static void earlier(uint64_t *wake_ns, uint64_t other_ns)
{
    if (other_ns < *wake_ns)
        *wake_ns = other_ns;
}

uint64_t worker_wake_ns(const struct worker *worker)
{
    uint64_t wake_ns = may_reserve(worker) ? worker->reserve_ns : WORKER_NEVER;

    for (size_t i = 0; worker->job_count > 0 && i < worker->options.concurrency; i++) {
        const struct work_job *job = &worker->jobs[i];
        if (job->state == WORK_RUNNING) {
            earlier(&wake_ns, job->stopping ? job->kill_ns : job->limit_ns);
            if (asks_about(worker, job))
                earlier(&wake_ns, job->ask_ns);
        } else if (job->state == WORK_ENDED && worker->can_tell && !job->tell_sent) {
            earlier(&wake_ns, job->tell_ns);
        }
    }
    return wake_ns;
}

bool worker_is_finished(const struct worker *worker)
{
    bool is_empty = worker->options.until_empty && worker->is_empty;

    return worker->job_count == 0 && !worker->reserves && (worker->stops || is_empty);
}

/* ---- events ---- */

struct work_job *worker_handed(struct worker *worker, uint64_t now_ns, uint64_t id,
                               const char *lease)
{
    size_t length = strlen(lease);

    for (size_t i = 0; i < worker->options.concurrency && length < WORKER_LEASE_BYTES; i++) {
        struct work_job *job = &worker->jobs[i];
        if (job->state != WORK_FREE)
            continue;
        *job = (struct work_job){.state = WORK_TAKEN, .id = id, .taken_ns = now_ns};
        memcpy(job->lease, lease, length + 1);
        /* The worker takes no more jobs, so it gives this job back. */
        if (worker->stops) {
            job->state = WORK_ENDED;
            job->outcome = WORK_GIVEN_UP;
        }
        worker->job_count++;
        check(worker);
        check_job(job);
        return job;
    }
    return NULL;
}

void worker_reserved(struct worker *worker, size_t count)
{
    ELAPSE__ASSERT(worker->reserves);
    ELAPSE__ASSERT_THAT(count, <=, worker->job_count);
    worker->reserves = false;
    worker->is_empty = count == 0 && !worker->asks_again;
    worker->asks_again = false;
}

void worker_reserve_failed(struct worker *worker, uint64_t now_ns)
{
    worker->reserves = false;
    worker->reserve_ns = later(now_ns, WORKER_AGAIN_NS);
}

void worker_ran(struct worker *worker, struct work_job *job, enum work_outcome outcome)
{
    ELAPSE__ASSERT(job->state == WORK_RUNNING);
    job->state = WORK_ENDED;
    job->outcome = outcome;
    /* A program that was asked to end may exit with 0 although its work is not done. */
    if (outcome == WORK_DONE && job->stopping && (job->timed_out || worker->gives_up))
        outcome = job->outcome = WORK_FAILED;
    /* Work that ended because the worker gives up has not failed. */
    if (outcome == WORK_FAILED && worker->gives_up && job->stopping && !job->timed_out)
        job->outcome = WORK_GIVEN_UP;
    worker->done += job->outcome == WORK_DONE;
    worker->failed += job->outcome == WORK_FAILED;
}

static bool is_error(enum work_answer answer)
{
    return answer == ANSWER_ERROR || answer == ANSWER_REFUSED || answer == ANSWER_UNKNOWN;
}

/* Notes what an answer means for the job, unless it is ANSWER_OK. */
static void note(struct worker *worker, struct work_job *job, uint64_t now_ns,
                 enum work_answer answer)
{
    job->cancelled = job->cancelled || answer == ANSWER_CANCELLED;
    if (answer == ANSWER_GONE && !job->lost && !job->tell_sent) {
        job->lost = true;
        worker->lost++;
    }
    if (is_error(answer))
        job->ask_ns = later(now_ns, WORKER_AGAIN_NS);
}

void worker_knows_ttr(struct work_job *job, uint64_t ttr_ns)
{
    ELAPSE__ASSERT(job->state != WORK_RUNNING && !job->asks);
    job->ttr_ns = ttr_ns;
}

void worker_looked(struct worker *worker, struct work_job *job, uint64_t now_ns,
                   enum work_answer answer, uint64_t ttr_ns)
{
    check_job(job);
    ELAPSE__ASSERT(job->asks);
    job->asks = false;
    note(worker, job, now_ns, answer);
    if (answer != ANSWER_OK)
        return;
    job->ttr_ns = ttr_ns > 0 ? ttr_ns : 1;
    plan_extension(job, job->taken_ns);
}

void worker_extended(struct worker *worker, struct work_job *job, uint64_t now_ns,
                     enum work_answer answer)
{
    check_job(job);
    ELAPSE__ASSERT(job->asks);
    job->asks = false;
    note(worker, job, now_ns, answer);
    if (answer == ANSWER_OK)
        plan_extension(job, now_ns);
}

void worker_told(struct worker *worker, struct work_job *job, uint64_t now_ns,
                 enum work_answer answer)
{
    ELAPSE__ASSERT(job->state == WORK_ENDED);
    ELAPSE__ASSERT(job->tell_sent);
    job->tell_sent = false;
    if (is_error(answer)) {
        job->tell_ns = later(now_ns, WORKER_AGAIN_NS);
        if (answer == ANSWER_REFUSED)
            job->error = NULL; /* a server of an older version refuses an error */
        job->told_once = job->told_once || answer == ANSWER_UNKNOWN;
        return;
    }
    worker->lost += answer == ANSWER_GONE && !job->told_once;
    job->state = WORK_TOLD;
}

void worker_taker_changed(struct worker *worker, bool is_there)
{
    worker->can_reserve = is_there;
    worker->reserves = worker->reserves && is_there;
}

void worker_teller_changed(struct worker *worker, bool is_there)
{
    worker->can_tell = is_there;
    for (size_t i = 0; !is_there && i < worker->options.concurrency; i++) {
        struct work_job *job = &worker->jobs[i];
        job->told_once = job->told_once || job->tell_sent;
        job->asks = false;
        job->tell_sent = false;
    }
}

void worker_stop(struct worker *worker)
{
    worker->stops = true;
}

void worker_give_up(struct worker *worker)
{
    worker->stops = true;
    worker->gives_up = true;
    check(worker);
}
