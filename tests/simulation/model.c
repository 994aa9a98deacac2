#include "model_inner.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model model;

void model_begin(void)
{
    model = (struct model){.t = 1000000, .offset = INT64_C(1700000000000)};
    model.offsets[0] = (struct model_offset){.since = 0, .offset = model.offset};
    model.offset_count = 1;
    model_limits_begin();
}

void model_next(void)
{
    model.seq += !model.transacts;
}

void model_begin_transaction(void)
{
    model_next();
    model.transacts = true;
}

void model_end_transaction(void)
{
    model.transacts = false;
}

void model_end(void)
{
    for (unsigned i = 0; i < model.job_count; i++)
        free(model.jobs[i].versions);
    free(model.jobs);
    model.jobs = NULL;
    model.job_count = model.job_capacity = 0;
}

bool model_violate(const char *format, ...)
{
    if (model.violation[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(model.violation, sizeof model.violation, format, arguments);
        va_end(arguments);
    }
    return false;
}

void model_set_wall(int64_t offset)
{
    if (model.offset_count == 64)
        return;
    model.offset = offset;
    model.offsets[model.offset_count++] = (struct model_offset){model.t, offset};
}

/* ---- versions ---- */

struct model_history *model_history_of(uint64_t id)
{
    for (unsigned i = 0; i < model.job_count; i++) {
        if (model.jobs[i].versions[0].id == id)
            return &model.jobs[i];
    }
    return NULL;
}

static struct model_job *last_of(const struct model_history *history)
{
    return &history->versions[history->count - 1];
}

struct model_job *model_at(unsigned index)
{
    return last_of(&model.jobs[index]);
}

struct model_job *model_find(uint64_t id)
{
    struct model_history *history = model_history_of(id);
    return history == NULL ? NULL : last_of(history);
}

bool model_is_live(const struct model_job *job)
{
    return job->state != ELAPSE__QUEUE_FREE && job->state != ELAPSE__QUEUE_SHADOW;
}

bool model_runs(const struct model_job *job)
{
    return job->state == ELAPSE__QUEUE_RESERVED || job->state == ELAPSE__QUEUE_SHADOW;
}

unsigned model_live(void)
{
    unsigned live = 0;
    for (unsigned i = 0; i < model.job_count; i++)
        live += model_is_live(model_at(i));
    return live;
}

static struct model_job *add_version(struct model_history *history)
{
    if (history->count == history->capacity) {
        history->capacity = history->capacity == 0 ? 8 : 2 * history->capacity;
        history->versions =
            realloc(history->versions, history->capacity * sizeof *history->versions);
        if (history->versions == NULL)
            abort();
    }
    history->count++;
    return last_of(history);
}

struct model_job *model_change(struct model_job *job)
{
    if (job == NULL)
        abort(); /* the caller has found it */
    struct model_history *history = model_history_of(job->id);
    struct model_job *old = last_of(history);
    if (old->seq == model.seq)
        return old;
    struct model_job copy = *old;
    struct model_job *fresh = add_version(history);
    *fresh = copy;
    fresh->seq = model.seq;
    fresh->apart = fresh->unwritten = false;
    return fresh;
}

static struct model_job *add_job(uint64_t id)
{
    if (model.job_count == model.job_capacity) {
        model.job_capacity = model.job_capacity == 0 ? 64 : 2 * model.job_capacity;
        model.jobs = realloc(model.jobs, model.job_capacity * sizeof *model.jobs);
        if (model.jobs == NULL)
            abort();
    }
    struct model_history *history = &model.jobs[model.job_count++];
    *history = (struct model_history){.count = 0};
    *add_version(history) = (struct model_job){.id = id, .state = ELAPSE__QUEUE_FREE};
    struct model_job *job = add_version(history);
    *job = (struct model_job){.seq = model.seq, .id = id, .expiry = MODEL_NEVER};
    return job;
}

/* Forgets versions that cannot come back. */
static void forget_old(void)
{
    for (unsigned i = 0; i < model.job_count;) {
        struct model_history *history = &model.jobs[i];
        unsigned first = 0;
        for (unsigned v = 1; v < history->count && history->versions[v].seq <= model.certain; v++)
            if (!history->versions[v].unwritten)
                first = v;
        if (first > 0) {
            memmove(history->versions, history->versions + first,
                    (history->count - first) * sizeof *history->versions);
            history->count -= first;
        }
        if (history->count == 1 && history->versions[0].state == ELAPSE__QUEUE_FREE) {
            free(history->versions);
            *history = model.jobs[--model.job_count];
        } else {
            i++;
        }
    }
}

void model_reply(uint64_t seq)
{
    if (seq <= model.certain)
        return;
    model.certain = seq;
    if (!model.keeps_all)
        forget_old();
}

/* ---- moves ---- */

static int64_t present(bool by_wall)
{
    return by_wall ? model_wall() : model.t;
}

void model_enter_waiting(struct model_job *job, bool by_wall, int64_t due)
{
    job->by_wall = by_wall;
    job->due = due;
    job->set_at = model.t;
    job->expiry = MODEL_NEVER;
    job->state = due > present(by_wall) ? ELAPSE__QUEUE_DELAYED : ELAPSE__QUEUE_READY;
    job->waits &= job->state == ELAPSE__QUEUE_DELAYED;
    if (job->state == ELAPSE__QUEUE_READY && job->put.expire > 0 && !job->handed_out) {
        int64_t left = due + job->put.expire - present(by_wall);
        job->expiry = model.t + (left > 0 ? left : 0);
    }
}

bool model_recurs(const struct model_job *job)
{
    return job->put.when == ELAPSE__QUEUE_EVERY || job->put.when == ELAPSE__QUEUE_CRON;
}

static int64_t next_minute(int64_t after)
{
    return (after / 60000 + 1) * 60000;
}

/* All times of the simulation are long after 1970. */
static void end_occurrence(struct model_job *job)
{
    if (!model_recurs(job)) {
        job->state = ELAPSE__QUEUE_FREE;
        return;
    }
    int64_t now = model_wall();
    uint32_t missed = 0;
    if (job->put.when == ELAPSE__QUEUE_EVERY) {
        int64_t late = now - job->occurrence;
        missed = late > 0 ? (uint32_t)(late / job->put.period) : 0;
        job->occurrence += job->put.period * (missed + 1);
    } else {
        job->occurrence = next_minute(job->occurrence);
        while (job->occurrence <= now && missed < 64) {
            missed++;
            job->occurrence = next_minute(missed < 64 ? job->occurrence : now);
        }
    }
    job->missed += missed;
    job->attempts = 0;
    job->error = 0;
    job->handed_out = false;
    model_enter_waiting(job, true, job->occurrence);
    job->state = ELAPSE__QUEUE_DELAYED;
    job->expiry = MODEL_NEVER;
}

/* The due time was drawn: model_compare reads it, and sees that it lies between these. */
struct model_drawn model_drawn[MODEL_DRAWN_MAX];
unsigned model_drawn_count;

static void draw(uint64_t id, int64_t least, int64_t most)
{
    if (model_drawn_count < MODEL_DRAWN_MAX)
        model_drawn[model_drawn_count++] = (struct model_drawn){id, least, most};
}

/* The job got another due time in the same transaction. */
static void forget_drawn(uint64_t id)
{
    for (unsigned i = 0; i < model_drawn_count; i++)
        if (model_drawn[i].id == id)
            model_drawn[i].id = 0;
}

static void fail_attempt(struct model_job *job)
{
    if (!job->replayed)
        job->attempts++;
    job->replayed = false;
    if (job->put.retry > 0 && job->attempts >= job->put.retry) {
        if (model_recurs(job)) {
            job->failures++;
            end_occurrence(job);
        } else {
            job->state = ELAPSE__QUEUE_BURIED;
        }
        return;
    }
    int64_t wait = job->put.backoff_min;
    for (uint32_t i = 0; i < job->attempts && wait < job->put.backoff_max && wait > 0; i++)
        wait *= 2;
    if (wait > job->put.backoff_max)
        wait = job->put.backoff_max;
    int64_t least = wait / 2 > job->put.backoff_min ? wait / 2 : job->put.backoff_min;
    model_enter_waiting(job, false, model.t + wait);
    if (wait > least)
        draw(job->id, model.t + least, model.t + wait);
}

static void drop_expired(struct model_job *job)
{
    if (model_recurs(job))
        job->missed++;
    end_occurrence(job);
}

/* ---- commands ---- */

const char *model_name_of(enum elapse__queue_result result)
{
    static const char *const names[] = {
        "ok",       "scheduled", "replaced",    "kept",        "known",       "buried",
        "removed",  "running",   "rescheduled", "cancelled",   "gone",        "key taken",
        "argument", "no memory", "limit",       "groups full", "tokens full", "refused"};
    return names[result];
}

bool model_expect(const char *verb, uint64_t id, model_answer answer,
                  enum elapse__queue_result expected)
{
    if (answer.result == expected)
        return true;
    return model_violate("%s of job %llu: answered %s, expected %s", verb, (unsigned long long)id,
                         model_name_of(answer.result), model_name_of(expected));
}

struct model_job *model_find_key(unsigned tube, unsigned key, bool shadow)
{
    for (unsigned i = 0; i < model.job_count; i++) {
        struct model_job *job = model_at(i);
        if (job->put.tube == tube && job->put.key == key &&
            (shadow ? job->state == ELAPSE__QUEUE_SHADOW : model_is_live(job)))
            return job;
    }
    return NULL;
}

static void cancel_job(struct model_job *job)
{
    job = model_change(job);
    bool runs = job->state == ELAPSE__QUEUE_RESERVED;
    job->state = runs ? ELAPSE__QUEUE_SHADOW : ELAPSE__QUEUE_FREE;
    job->keeps_place = runs && model_keeps_places(job->put.tube);
}

/* A job that was cancelled runs no more. If the journal refuses what says so, the place that it has
 * under a limit may come back. */
static void end_shadow(struct model_job *job, bool unwritten)
{
    job->state = ELAPSE__QUEUE_FREE;
    job->unwritten = unwritten && job->keeps_place;
}

/* Returns the token that counts, or NULL. */
static struct model_token *token_of(unsigned token)
{
    unsigned count = model.token_counts[token];
    return count == 0 ? NULL : &model.tokens[token][count - 1];
}

void model_add_token(unsigned token, uint64_t id)
{
    unsigned *count = &model.token_counts[token];
    if (*count == 16) {
        memmove(model.tokens[token], model.tokens[token] + 1, 15 * sizeof *model.tokens[token]);
        --*count;
    }
    model.tokens[token][(*count)++] =
        (struct model_token){.id = id, .seq = model.seq, .t = model.t};
}

bool model_judge_token(unsigned token, model_answer answer)
{
    bool known = answer.result == ELAPSE__QUEUE_KNOWN;
    const struct model_token *kept = token == 0 ? NULL : token_of(token);
    if (kept == NULL)
        return known ? model_violate("a token is known that never was sent") : false;
    int64_t age = model.t - kept->t;
    bool open = kept->fuzzy || kept->may_be_lost ||
                (age >= ELAPSE__QUEUE_TOKEN_MS && age <= ELAPSE__QUEUE_TOKEN_MS + 3000);
    bool expected = age < ELAPSE__QUEUE_TOKEN_MS;
    if (!open && known != expected)
        return model_violate("a token of %lld ms is %s", (long long)age,
                             known ? "still known" : "forgotten");
    if (known && answer.id != kept->id && !kept->may_be_lost)
        return model_violate("a token names another job");
    return known;
}

static void fill_put(struct model_job *job, const struct model_put *put)
{
    struct model_put copy = *put;
    forget_drawn(job->id);
    uint64_t id = job->id, seq = job->seq;
    *job = (struct model_job){.seq = seq,
                              .id = id,
                              .put = copy,
                              .await = put->await,
                              .waits = put->await > 0,
                              .expiry = MODEL_NEVER};
}

static void store_put(const struct model_put *put, struct model_job *existing, model_answer answer)
{
    bool debounced =
        existing != NULL && put->if_key == ELAPSE__QUEUE_DEBOUNCE &&
        (existing->state == ELAPSE__QUEUE_DELAYED || existing->state == ELAPSE__QUEUE_READY);
    bool has_first = debounced && existing->has_first;
    bool first_is_open = has_first && existing->first_is_open;
    int64_t first = has_first ? existing->first : model.t;
    struct model_job *job;
    if (debounced) {
        if (answer.id != existing->id)
            model_violate("debounce gives another id");
        job = model_change(existing);
    } else {
        if (answer.id <= model.greatest_id || answer.id <= model.told_id)
            model_violate("id %llu is given again", (unsigned long long)answer.id);
        if (existing != NULL)
            cancel_job(existing);
        model.greatest_id = answer.id;
        job = add_job(answer.id);
    }
    fill_put(job, put);
    int64_t due = model.t + put->delay;
    if (put->if_key == ELAPSE__QUEUE_DEBOUNCE) {
        job->has_first = true;
        job->first = first;
        job->first_is_open = first_is_open;
        if (first_is_open)
            draw(job->id, INT64_MIN, due);
        else if (first + put->debounce_max < due)
            due = first + put->debounce_max;
    }
    if (put->when == ELAPSE__QUEUE_EVERY)
        job->occurrence = model_wall() + put->period;
    if (put->when == ELAPSE__QUEUE_CRON)
        job->occurrence = next_minute(model_wall());
    if (put->when == ELAPSE__QUEUE_NO_TIME)
        due = MODEL_NEVER;
    if (put->when == ELAPSE__QUEUE_IN || put->when == ELAPSE__QUEUE_NO_TIME)
        model_enter_waiting(job, false, due);
    else
        model_enter_waiting(job, true, put->when == ELAPSE__QUEUE_AT ? put->at : job->occurrence);
    if (put->token != 0)
        model_add_token(put->token, answer.id);
}

void model_do_put(const struct model_put *put, model_answer answer)
{
    enum elapse__queue_result expected = ELAPSE__QUEUE_SCHEDULED;
    model_next();
    if (model_judge_token(put->token, answer) || model.violation[0] != '\0')
        return;
    struct model_job *existing = put->key == 0 ? NULL : model_find_key(put->tube, put->key, false);
    if (existing != NULL) {
        expected = ELAPSE__QUEUE_REPLACED;
        if (put->if_key == ELAPSE__QUEUE_FAIL)
            expected = ELAPSE__QUEUE_KEY_TAKEN;
        else if (put->if_key == ELAPSE__QUEUE_KEEP)
            expected = existing->state == ELAPSE__QUEUE_RESERVED ? ELAPSE__QUEUE_RUNNING
                       : existing->state == ELAPSE__QUEUE_BURIED ? ELAPSE__QUEUE_WAS_BURIED
                                                                 : ELAPSE__QUEUE_KEPT;
    }
    if (answer.result == ELAPSE__QUEUE_REFUSED &&
        (expected == ELAPSE__QUEUE_SCHEDULED || expected == ELAPSE__QUEUE_REPLACED))
        return; /* the disk is full; the caller judges that */
    if (!model_expect("put", existing == NULL ? 0 : existing->id, answer, expected))
        return;
    if (expected == ELAPSE__QUEUE_SCHEDULED || expected == ELAPSE__QUEUE_REPLACED)
        store_put(put, existing, answer);
    else if (answer.id != existing->id)
        model_violate("put names another job than the one that has the key");
}

/* The job that a command names, by id or by key; shadows count. */
static struct model_job *named(uint64_t id, unsigned tube, unsigned key, model_answer answer)
{
    if (id != 0) {
        struct model_job *job = model_find(id);
        return job != NULL && job->state != ELAPSE__QUEUE_FREE ? job : NULL;
    }
    struct model_job *job = model_find_key(tube, key, false);
    if (job != NULL)
        return job;
    /* Of several shadows any may answer. */
    job = model_find_key(tube, key, true);
    if (job == NULL || answer.id == job->id)
        return job;
    struct model_job *other = model_find(answer.id);
    if (other != NULL && other->state == ELAPSE__QUEUE_SHADOW)
        return other;
    for (unsigned i = 0; i < model.job_count && job->may_lack_key; i++) {
        other = model_at(i);
        if (other->state == ELAPSE__QUEUE_SHADOW && other->put.tube == tube &&
            other->put.key == key && !other->may_lack_key)
            job = other;
    }
    return job->may_lack_key ? NULL : job;
}

void model_do_cancel(uint64_t id, unsigned tube, unsigned key, model_answer answer)
{
    model_next();
    struct model_job *job = named(id, tube, key, answer);
    if (answer.result == ELAPSE__QUEUE_REFUSED)
        return;
    if (job == NULL) {
        model_expect("cancel", id, answer, ELAPSE__QUEUE_GONE);
        return;
    }
    bool runs = job->state == ELAPSE__QUEUE_RESERVED || job->state == ELAPSE__QUEUE_SHADOW;
    model_expect("cancel", job->id, answer, runs ? ELAPSE__QUEUE_RUNNING : ELAPSE__QUEUE_REMOVED);
    if (job->state != ELAPSE__QUEUE_SHADOW)
        cancel_job(job);
}

void model_do_reschedule(uint64_t id, unsigned tube, unsigned key, struct elapse__queue_time time,
                         model_answer answer)
{
    model_next();
    struct model_job *job = named(id, tube, key, answer);
    if (answer.result == ELAPSE__QUEUE_REFUSED)
        return;
    if (job == NULL) {
        model_expect("reschedule", id, answer, ELAPSE__QUEUE_GONE);
        return;
    }
    if (job->state == ELAPSE__QUEUE_RESERVED || job->state == ELAPSE__QUEUE_SHADOW) {
        model_expect("reschedule", job->id, answer, ELAPSE__QUEUE_RUNNING);
        return;
    }
    model_expect("reschedule", job->id, answer, ELAPSE__QUEUE_RESCHEDULED);
    forget_drawn(job->id);
    if (time.when == ELAPSE__QUEUE_AT)
        model_enter_waiting(model_change(job), true, time.at_ms);
    else
        model_enter_waiting(model_change(job), false, model.t + (int64_t)time.delay_ms);
}

void model_do_kick(uint64_t id, model_answer answer)
{
    model_next();
    struct model_job *job = model_find(id);
    if (answer.result == ELAPSE__QUEUE_REFUSED)
        return;
    if (job == NULL ||
        (job->state != ELAPSE__QUEUE_DELAYED && job->state != ELAPSE__QUEUE_BURIED)) {
        model_expect("kick", id, answer, ELAPSE__QUEUE_GONE);
        return;
    }
    model_expect("kick", id, answer, ELAPSE__QUEUE_OK);
    job = model_change(job);
    job->error = 0;
    if (job->state == ELAPSE__QUEUE_BURIED)
        job->attempts = 0;
    model_enter_waiting(job, false, model.t);
}

/* ---- leases ---- */

static struct model_job *held(uint64_t id, struct elapse__queue_lease lease)
{
    struct model_job *job = model_find(id);
    if (job == NULL ||
        (job->state != ELAPSE__QUEUE_RESERVED && job->state != ELAPSE__QUEUE_SHADOW) ||
        job->lease.life != lease.life || job->lease.number != lease.number ||
        (job->begun && job->lease_end <= model.t))
        return NULL;
    return job;
}

bool model_holds(uint64_t id, struct elapse__queue_lease lease)
{
    return held(id, lease) != NULL;
}

static void change_held(enum model_verb verb, struct model_job *job, int64_t delay, int32_t error)
{
    job->replayed = false;
    if (error != 0)
        job->error = error;
    switch (verb) {
    case MODEL_ACK:
        end_occurrence(job);
        break;
    case MODEL_NACK:
        fail_attempt(job);
        break;
    case MODEL_NACK_IN:
        model_enter_waiting(job, false, model.t + delay);
        break;
    case MODEL_EXTEND:
        job->begun = true;
        job->end_is_open = false;
        job->lease_end = job->lease_written = model.t + job->put.ttr;
        break;
    case MODEL_BURY:
        job->attempts++;
        job->state = ELAPSE__QUEUE_BURIED;
        break;
    }
}

void model_do_holder(enum model_verb verb, uint64_t id, struct elapse__queue_lease lease,
                     int64_t delay, int32_t error, model_answer answer)
{
    static const char *const verbs[] = {"ack", "nack", "nack in", "extend", "bury"};
    model_next();
    struct model_job *job = held(id, lease);
    if (answer.result == ELAPSE__QUEUE_REFUSED)
        return;
    if (job == NULL) {
        model_expect(verbs[verb], id, answer, ELAPSE__QUEUE_GONE);
    } else if (job->state == ELAPSE__QUEUE_SHADOW) {
        model_expect(verbs[verb], id, answer,
                     verb == MODEL_ACK ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_CANCELLED);
        if (verb != MODEL_EXTEND)
            end_shadow(model_change(job), model.drops);
    } else {
        model_expect(verbs[verb], id, answer, ELAPSE__QUEUE_OK);
        change_held(verb, model_change(job), delay, error);
    }
}

void model_do_begin(uint64_t id, struct elapse__queue_lease lease)
{
    struct model_job *job = held(id, lease);
    if (job == NULL) {
        model_violate("job %llu is handed out without a lease", (unsigned long long)id);
        return;
    }
    job->begun = true;
    job->lease_end = model.t + job->put.ttr;
}

static void undo_lease(struct model_job *job)
{
    job->handed_out = job->handed_out_before;
    if (model_recurs(job))
        job->missed = job->reported;
    int64_t set_at = job->set_at;
    model_enter_waiting(job, job->by_wall, job->due);
    job->set_at = set_at;
}

void model_do_undo(uint64_t id, struct elapse__queue_lease lease)
{
    model_next();
    struct model_job *job = held(id, lease);
    if (job == NULL || job->begun)
        return;
    bool was_shadow = job->state == ELAPSE__QUEUE_SHADOW;
    job = model_change(job);
    if (was_shadow) {
        end_shadow(job, model.drops);
        return;
    }
    undo_lease(job);
}

void model_do_bury_unread(uint64_t id, struct elapse__queue_lease lease)
{
    model_next();
    struct model_job *job = held(id, lease);
    if (job != NULL)
        model_change(job)->state = ELAPSE__QUEUE_BURIED;
}

/* ---- time ---- */

static void change_apart(struct model_job **job, bool unwritten)
{
    *job = model_change(*job);
    (*job)->apart = true;
    (*job)->unwritten = unwritten;
}

/* No record tells that a job was put aside. */
void model_put_aside(uint64_t id, int64_t due)
{
    struct model_job *job = model_find(id);
    change_apart(&job, true);
    model_enter_waiting(job, false, due);
}

static void come_due(struct model_job *job, bool unwritten)
{
    if (job->state == ELAPSE__QUEUE_DELAYED && job->due <= present(job->by_wall)) {
        if (job->put.expire > 0 && !job->handed_out &&
            job->due + job->put.expire <= present(job->by_wall)) {
            change_apart(&job, unwritten);
            drop_expired(job);
            return;
        }
        int64_t set_at = job->set_at;
        model_enter_waiting(job, job->by_wall, job->due);
        job->set_at = set_at;
    } else if (job->begun && job->lease_end <= model.t) {
        if (job->state == ELAPSE__QUEUE_SHADOW) {
            change_apart(&job, unwritten);
            job->state = ELAPSE__QUEUE_FREE;
        } else if (job->state == ELAPSE__QUEUE_RESERVED) {
            change_apart(&job, unwritten);
            job->error = MODEL_LEASE_ENDED;
            fail_attempt(job);
        }
    }
}

void model_do_turn(bool unwritten)
{
    model_next();
    for (unsigned i = 0; i < model.job_count; i++)
        come_due(model_at(i), unwritten);
    for (unsigned i = 0; i < model.job_count; i++) {
        struct model_job *job = model_at(i);
        if (job->state != ELAPSE__QUEUE_READY || job->expiry > model.t)
            continue;
        change_apart(&job, unwritten);
        drop_expired(job);
    }
}

/* ---- connections ---- */

bool model_is_held_by(const struct model_job *job, unsigned connection)
{
    bool is_held = job->state == ELAPSE__QUEUE_RESERVED || job->state == ELAPSE__QUEUE_SHADOW;
    return is_held && job->connection == connection && !job->replayed;
}

void model_do_close(void)
{
    model_next();
}

void model_do_end_of_connection(uint64_t id, bool unwritten)
{
    struct model_job *job = model_find(id);
    bool had_begun = job->begun;
    change_apart(&job, unwritten);
    job->connection = 0;
    /* What cannot be undone in the journal ends as a lease does. */
    if (!had_begun && !unwritten) {
        undo_lease(job);
        return;
    }
    job->error = MODEL_LEASE_ENDED;
    fail_attempt(job);
}

bool model_do_closed(unsigned connection)
{
    bool is_free = true;
    for (unsigned i = 0; i < model.job_count; i++) {
        struct model_job *job = model_at(i);
        if (!model_is_held_by(job, connection))
            continue;
        is_free &= job->state == ELAPSE__QUEUE_SHADOW;
        change_apart(&job, false);
        end_shadow(job, model.drops);
    }
    return is_free;
}

void model_do_take(unsigned tubes, unsigned connection, const struct elapse__queue_handed *handed)
{
    model_next();
    struct model_job *job = model_first_ready(tubes, handed == NULL ? 0 : handed->id);
    if (handed == NULL) {
        if (job != NULL)
            model_violate("job %llu is due and is not handed out", (unsigned long long)job->id);
        return;
    }
    if (job == NULL || handed->id != job->id) {
        model_judge_limits(handed->id);
        model_violate("job %llu is handed out instead of %llu", (unsigned long long)handed->id,
                      job == NULL ? 0ULL : (unsigned long long)job->id);
        return;
    }
    int64_t due = job->by_wall ? job->due : job->due + model.offset;
    if (handed->due_ms != due || handed->attempt != job->attempts + 1 ||
        handed->priority != job->put.priority || (int64_t)handed->ttr_ms != job->put.ttr ||
        handed->missed != job->missed || handed->await != job->await)
        model_violate("job %llu is handed out with other facts: due %lld for %lld, attempt %u for "
                      "%u, missed %u for %u",
                      (unsigned long long)job->id, (long long)handed->due_ms, (long long)due,
                      handed->attempt, job->attempts + 1, handed->missed, job->missed);
    job = model_change(job);
    job->state = ELAPSE__QUEUE_RESERVED;
    job->handed_out_before = job->handed_out;
    job->handed_out = true;
    job->begun = job->replayed = job->end_is_open = false;
    job->lease = handed->lease;
    job->connection = connection;
    job->lease_written = model.t + job->put.ttr;
    job->lease_end = job->lease_written;
    job->reported = job->missed;
    job->missed = 0;
    job->expiry = MODEL_NEVER;
    model_note_hand_out(&job->put);
}
