/*
 * Looking: what the process has is compared with the model; and after a start, the model goes back
 * to what was found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_inner.h"

/* Returns whether all facts are the same but the state, the due time and the body. */
static bool matches(const struct model_job *job, const struct elapse__queue_view *view)
{
    return view->priority == job->put.priority && (int64_t)view->ttr_ms == job->put.ttr &&
           (int64_t)view->expire_ms == job->put.expire && view->retry == job->put.retry &&
           (int64_t)view->backoff_min_ms == job->put.backoff_min &&
           (int64_t)view->backoff_max_ms == job->put.backoff_max &&
           view->by_wall_clock == job->by_wall && view->recurring == model_recurs(job) &&
           view->attempts == job->attempts && view->missed == job->missed &&
           view->failures == job->failures && view->await == job->await &&
           view->has_due == (job->due != MODEL_NEVER) &&
           view->told.lease_ended == (job->error == MODEL_LEASE_ENDED) &&
           view->tube.size == model_tube(job->put.tube).size &&
           memcmp(view->tube.bytes, model_tube(job->put.tube).bytes, view->tube.size) == 0 &&
           view->group.size == model_group(&job->put).size &&
           (view->group.size == 0 ||
            memcmp(view->group.bytes, model_group(&job->put).bytes, view->group.size) == 0);
}

/* Returns whether a job that was released by its due time, or not at all, waits for arrivals as it
 * was found. No record tells that a due time has come, so behind a start the job waits again until
 * then. */
static bool waits_fits(const struct model_job *job, const struct elapse__queue_view *view)
{
    return view->waits == job->waits ||
           (job->state == ELAPSE__QUEUE_READY && job->await > 0 && view->waits);
}

static bool comes_before(const struct model_job *job, const struct model_job *other)
{
    return other == NULL || job->put.priority < other->put.priority ||
           (job->put.priority == other->put.priority && job->id < other->id);
}

/* Returns the ready job of a group of a tube that comes first, or NULL. */
static struct model_job *first_of_group(unsigned tube, unsigned group)
{
    struct model_job *first = NULL;
    for (unsigned i = 0; i < model.job_count; i++) {
        struct model_job *job = model_at(i);
        if (job->state == ELAPSE__QUEUE_READY && job->put.tube == tube &&
            model_group_of(&job->put) == group && comes_before(job, first))
            first = job;
    }
    return first;
}

/* Returns the job that a tube hands out next. The model knows no turns: that may be the first job
 * of any group that has one of the least priority, among the groups that limits let run. If the job
 * `id` may be, returns it; otherwise the one that comes last; NULL: the tube may have none. */
static struct model_job *first_of_tube(unsigned tube, uint64_t id)
{
    struct model_job *first[MODEL_GROUPS], *found = NULL;
    uint32_t least = UINT32_MAX;
    bool must = false;
    for (unsigned group = 0; group < MODEL_GROUPS; group++) {
        first[group] = first_of_group(tube, group);
        enum model_verdict verdict =
            first[group] == NULL ? MODEL_MUST_NOT : model_group_lets_run(tube, group);
        if (verdict == MODEL_MUST_NOT)
            first[group] = NULL;
        must |= verdict == MODEL_MUST;
        if (verdict == MODEL_MUST && first[group]->put.priority < least)
            least = first[group]->put.priority;
    }
    for (unsigned group = 0; group < MODEL_GROUPS; group++) {
        if (first[group] == NULL || first[group]->put.priority > least)
            continue;
        if (first[group]->id == id)
            return first[group];
        if (found == NULL || comes_before(found, first[group]))
            found = first[group];
    }
    return must ? found : NULL;
}

struct model_job *model_first_ready(unsigned tubes, uint64_t id)
{
    struct model_job *first = NULL;
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++) {
        bool is_asked = (tubes >> tube & 1) != 0 && !model_is_paused(tube);
        enum model_verdict verdict = is_asked ? model_tube_lets_run(tube) : MODEL_MUST_NOT;
        struct model_job *job = verdict == MODEL_MUST_NOT ? NULL : first_of_tube(tube, id);
        if (verdict == MODEL_MAY && job != NULL && job->id != id)
            job = NULL;
        if (job != NULL && comes_before(job, first))
            first = job;
    }
    return first;
}

bool model_has_ready(unsigned tubes)
{
    for (unsigned i = 0; i < model.job_count; i++) {
        const struct model_job *job = model_at(i);
        if (job->state == ELAPSE__QUEUE_READY && (tubes >> job->put.tube & 1) != 0 &&
            !model_is_paused(job->put.tube))
            return true;
    }
    return false;
}

void model_read_drawn(struct elapse__queue *queue, struct elapse__queue_now now)
{
    for (unsigned i = 0; i < model_drawn_count; i++) {
        struct elapse__queue_view view;
        struct model_job *job = model_find(model_drawn[i].id);
        if (job == NULL || job->by_wall ||
            (job->state != ELAPSE__QUEUE_DELAYED && job->state != ELAPSE__QUEUE_READY) ||
            elapse__queue_look_up_id(queue, now, job->id, &view) != ELAPSE__QUEUE_OK)
            continue;
        int64_t due = view.due_ms - model.offset;
        if (due < model_drawn[i].least || due > model_drawn[i].most)
            model_violate("the back-off of job %llu ends at %lld, not from %lld to %lld",
                          (unsigned long long)job->id, (long long)due,
                          (long long)model_drawn[i].least, (long long)model_drawn[i].most);
        model_enter_waiting(job, false, due);
    }
    model_drawn_count = 0;
}

unsigned model_read_aside(struct elapse__queue *queue, struct elapse__queue_now now)
{
    enum { MOST_MS = 60000 };
    unsigned count = 0;
    model.seq++;
    for (unsigned i = 0; i < model.job_count; i++) {
        struct elapse__queue_view view;
        const struct model_job *job = model_at(i);
        if (job->state != ELAPSE__QUEUE_READY ||
            elapse__queue_look_up_id(queue, now, job->id, &view) != ELAPSE__QUEUE_OK ||
            view.state != ELAPSE__QUEUE_DELAYED)
            continue;
        int64_t due = view.due_ms - model.offset;
        if (view.by_wall_clock || due > model.t + MOST_MS)
            model_violate("job %llu is put aside until %lld", (unsigned long long)job->id,
                          (long long)due);
        model_put_aside(job->id, due);
        count++;
    }
    return count;
}

static void compare_job(struct elapse__queue *queue, struct elapse__queue_now now,
                        const struct model_job *job)
{
    struct elapse__queue_view view;
    enum elapse__queue_result result = elapse__queue_look_up_id(queue, now, job->id, &view);
    enum elapse__queue_result expected = job->state == ELAPSE__QUEUE_FREE ? ELAPSE__QUEUE_GONE
                                         : job->state == ELAPSE__QUEUE_SHADOW
                                             ? ELAPSE__QUEUE_RUNNING
                                             : ELAPSE__QUEUE_OK;
    if (result != expected) {
        model_violate("looking for job %llu: answered %s, expected %s", (unsigned long long)job->id,
                      model_name_of(result), model_name_of(expected));
    } else if (result == ELAPSE__QUEUE_OK) {
        int64_t due = job->due == MODEL_NEVER ? 0
                      : job->by_wall          ? job->due
                                              : job->due + model.offset;
        bool has_error = view.told.position != 0;
        if (has_error != (job->error > 0) && !job->error_is_open)
            model_violate("job %llu has %s error, expected number %d", (unsigned long long)job->id,
                          has_error ? "an" : "no", (int)job->error);
        if (view.waits != job->waits || view.await != job->await)
            model_violate("job %llu %s for %u arrivals, expected %u", (unsigned long long)job->id,
                          view.waits ? "waits" : "does not wait", view.await, job->await);
        if (view.state != job->state || view.due_ms != due ||
            (view.body_size != job->put.body_size && !job->is_damaged) || !matches(job, &view))
            model_violate("job %llu is in state %d with due %lld, expected %d with %lld; attempts "
                          "%u for %u, missed %u for %u",
                          (unsigned long long)job->id, (int)view.state, (long long)view.due_ms,
                          (int)job->state, (long long)due, view.attempts, job->attempts,
                          view.missed, job->missed);
    }
}

static void compare_keys(struct elapse__queue *queue, struct elapse__queue_now now)
{
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++) {
        for (unsigned key = 1; key < MODEL_KEYS; key++) {
            struct elapse__queue_view view;
            const struct model_job *job = model_find_key(tube, key, false);
            enum elapse__queue_result result =
                elapse__queue_look_up_key(queue, now, model_tube(tube), model_key(key), &view);
            bool found = result == ELAPSE__QUEUE_OK;
            if (found != (job != NULL) || (found && view.id != job->id))
                model_violate("key %u of tube %u: %s, expected job %llu", key, tube,
                              model_name_of(result),
                              job == NULL ? 0ULL : (unsigned long long)job->id);
        }
    }
}

void model_compare(struct elapse__queue *queue, struct elapse__queue_now now)
{
    model_read_drawn(queue, now);
    for (unsigned i = 0; i < model.job_count; i++)
        compare_job(queue, now, model_at(i));
    compare_keys(queue, now);
    model_compare_limits(queue);
    if (elapse__queue_jobs(queue) != model_live())
        model_violate("there are %llu jobs, expected %u",
                      (unsigned long long)elapse__queue_jobs(queue), model_live());
}

/* ---- after a restart ---- */

/* Returns whether the due time of a record can be the one that the queue has now: a delay goes by
 * the wall clock across a restart, as it was when the record was written, or written again by
 * cleaning. */
static bool due_fits(const struct model_job *job, int64_t due_ms)
{
    if (job->due == MODEL_NEVER)
        return due_ms == 0;
    if (job->by_wall)
        return due_ms == job->due;
    for (unsigned i = 0; i < model.offset_count; i++) {
        bool before = i + 1 < model.offset_count && model.offsets[i + 1].since < job->set_at;
        if (!before && due_ms == job->due + model.offsets[i].offset)
            return true;
    }
    return false;
}

/* Returns whether the end of the lease that is seen now can be that of this version. */
static bool lease_fits(const struct model_job *job, const struct elapse__queue_view *view)
{
    if (view->lease.life != job->lease.life || view->lease.number != job->lease.number ||
        (int64_t)view->left_ms > job->put.ttr)
        return false;
    if (job->end_is_open || model.offset_count > 1)
        return true;
    int64_t end = model.t + (int64_t)view->left_ms;
    int64_t least = job->lease_written > model.t ? job->lease_written : model.t;
    /* Cleaning may have written a lease again that had not begun. */
    int64_t most = job->begun ? job->lease_end : model.t + job->put.ttr;
    return end >= least && end <= (most > least ? most : least);
}

/* Returns whether the body that was found is that of this version. One that cannot be read, or that
 * cleaning has left out, shows nothing. */
static bool body_fits(const struct model_job *job, const struct model_found *found)
{
    uint8_t body[MODEL_BODY_MAX], headers[MODEL_HEADERS_MAX];
    size_t headers_size = model_headers(&job->put, headers);
    if (found->is_damaged)
        return job->put.body_size + headers_size > 0;
    if (found->view.body_size != job->put.body_size || found->headers.size != headers_size ||
        (headers_size > 0 && memcmp(headers, found->headers.bytes, headers_size) != 0))
        return false;
    model_body(&job->put, body);
    return job->put.body_size == 0 || memcmp(body, found->body, job->put.body_size) == 0;
}

/* Returns whether the error that was found is that of this version. In files that were damaged, it
 * may be lost. */
static bool error_fits(const struct model_job *job, const struct model_found *found)
{
    uint8_t error[MODEL_ERROR_MAX];
    size_t size = job->error > 0 ? model_error(job->error, error) : 0;
    if (found->error_is_lost)
        return true;
    return found->error.size == size && (size == 0 || memcmp(error, found->error.bytes, size) == 0);
}

/* Returns whether what was found is this version; `found` is NULL if there is no job. */
static bool is_version(const struct model_job *job, const struct model_found *found)
{
    bool keeps_place = job->state == ELAPSE__QUEUE_SHADOW && job->keeps_place;
    if (keeps_place || (found != NULL && found->view.state == ELAPSE__QUEUE_SHADOW))
        return keeps_place && found != NULL && found->view.state == ELAPSE__QUEUE_SHADOW &&
               lease_fits(job, &found->view);
    if (!model_is_live(job))
        return found == NULL;
    if (found == NULL || !matches(job, &found->view) || !waits_fits(job, &found->view) ||
        !due_fits(job, found->view.due_ms))
        return false;
    enum elapse__queue_state state =
        job->state == ELAPSE__QUEUE_READY ? ELAPSE__QUEUE_DELAYED : job->state;
    if (found->view.state != state)
        return false;
    if (state == ELAPSE__QUEUE_RESERVED && !lease_fits(job, &found->view))
        return false;
    return body_fits(job, found) && error_fits(job, found);
}

/* Returns the version that the job may have behind a cut, and has; NULL: none. */
static const struct model_job *version_at(const struct model_history *history, uint64_t cut,
                                          const struct model_found *found)
{
    const struct model_job *fits = NULL;
    for (unsigned v = 0; v < history->count; v++) {
        const struct model_job *job = &history->versions[v];
        bool loose = job->apart || job->unwritten;
        if (job->seq > cut + 1 || (job->seq == cut + 1 && !loose))
            break;
        bool replaces = job->seq <= cut && !job->unwritten;
        if (replaces)
            fits = NULL;
        if (is_version(job, found))
            fits = job;
    }
    return fits;
}

static const struct model_found *found_of(const struct model_found *found, unsigned count,
                                          uint64_t id)
{
    for (unsigned i = 0; i < count; i++) {
        if (found[i].view.id == id)
            return &found[i];
    }
    return NULL;
}

/* Returns how much of the pause of a tube is left. */
static int64_t pause_left(struct elapse__queue *queue, struct elapse__queue_now now, unsigned tube)
{
    struct elapse__queue_statistics statistics = {.pause_left_ms = 0};
    (void)elapse__queue_tube_statistics(queue, now, model_tube(tube), &statistics);
    return (int64_t)statistics.pause_left_ms;
}

/* What was found after a start. */
struct seen {
    const struct elapse__queue *queue;
    const struct model_found *jobs;
    unsigned count;
    int64_t pauses[MODEL_TUBES];
};

/* Returns whether all jobs and pauses fit a cut; `*wrong` is the first job that does not, or 0. */
static bool cut_fits(uint64_t cut, const struct seen *seen, uint64_t *wrong)
{
    *wrong = 0;
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++)
        if (!model_pause_fits(tube, cut, seen->pauses[tube]))
            return false;
    if (!model_limits_fit(seen->queue, cut))
        return false;
    for (unsigned i = 0; i < model.job_count; i++) {
        uint64_t id = model.jobs[i].versions[0].id;
        if (version_at(&model.jobs[i], cut, found_of(seen->jobs, seen->count, id)) == NULL) {
            *wrong = id;
            return false;
        }
    }
    return true;
}

static void adopt(struct model_job *job, const struct model_found *found)
{
    job->replayed = true;
    job->is_damaged = found != NULL && found->is_damaged;
    job->error_is_open = found != NULL && found->error_is_lost;
    job->connection = 0;
    job->apart = job->unwritten = false;
    if (job->state == ELAPSE__QUEUE_SHADOW && !job->keeps_place)
        job->state = ELAPSE__QUEUE_FREE;
    if (job->state == ELAPSE__QUEUE_FREE)
        return;
    if (job->state == ELAPSE__QUEUE_SHADOW) {
        job->may_lack_key = job->begun = true;
        job->end_is_open |= model.offset_count > 1;
        job->lease_end = job->lease_written = model.t + (int64_t)found->view.left_ms;
        return;
    }
    if (job->state == ELAPSE__QUEUE_READY)
        job->state = ELAPSE__QUEUE_DELAYED;
    job->expiry = MODEL_NEVER;
    job->waits = found->view.waits;
    int64_t moved = 0;
    if (!job->by_wall && job->due != MODEL_NEVER) {
        moved = found->view.due_ms - model.offset - job->due;
        job->due += moved;
    }
    job->set_at = model.t;
    if (job->state == ELAPSE__QUEUE_RESERVED) {
        int64_t end = model.t + (int64_t)found->view.left_ms;
        job->end_is_open |= model.offset_count > 1;
        job->begun = true;
        job->lease_end = job->lease_written = end;
    }
}

static void cut_tokens(uint64_t least, uint64_t most)
{
    for (unsigned token = 1; token < MODEL_ALL_TOKENS; token++) {
        unsigned *count = &model.token_counts[token];
        while (*count > 0 && model.tokens[token][*count - 1].seq > most)
            --*count;
        for (unsigned i = 0; i < *count; i++) {
            struct model_token *kept = &model.tokens[token][i];
            kept->may_be_lost |= kept->seq > least;
            kept->fuzzy |= model.offset_count > 1;
        }
    }
}

/* Goes back to what was found behind a cut. */
static void go_back(uint64_t cut, const struct model_found *found, unsigned count)
{
    for (unsigned i = 0; i < model.job_count;) {
        struct model_history *history = &model.jobs[i];
        const struct model_found *seen = found_of(found, count, history->versions[0].id);
        struct model_job job = *version_at(history, cut, seen);
        adopt(&job, seen);
        job.first_is_open |= job.has_first && model.offset_count > 1;
        job.seq = model.seq;
        if (job.state == ELAPSE__QUEUE_FREE) {
            free(history->versions);
            *history = model.jobs[--model.job_count];
            continue;
        }
        history->versions[0] = job;
        history->count = 1;
        i++;
    }
}

/* Says what was found of a job, and what was expected. */
static void explain(uint64_t id, const struct model_found *found, uint64_t least)
{
    const struct model_job *job = model_find(id);
    char seen[96] = "is lost";
    if (found != NULL)
        (void)snprintf(seen, sizeof seen, "is in state %d with due %lld, attempts %u, missed %u",
                       (int)found->view.state, (long long)found->view.due_ms, found->view.attempts,
                       found->view.missed);
    model_violate("after a start job %llu %s; its last version (command %llu of %llu, %llu are "
                  "certain) was in state %d with due %lld, attempts %u, missed %u",
                  (unsigned long long)id, seen, (unsigned long long)job->seq,
                  (unsigned long long)model.seq, (unsigned long long)least, (int)job->state,
                  (long long)(job->by_wall ? job->due : job->due + model.offset), job->attempts,
                  job->missed);
}

void model_recover(struct elapse__queue *queue, struct elapse__queue_now now, uint64_t least,
                   const struct model_found *found, unsigned count)
{
    uint64_t wrong = 0, most = model.seq;
    struct seen seen = {queue, found, count, {0}};
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++)
        seen.pauses[tube] = pause_left(queue, now, tube);
    if (least < model.certain)
        model.told_id = 0; /* with `interval` the replies may be lost */
    if (least < model.life_start)
        least = model.life_start;
    for (unsigned i = 0; i < count; i++) {
        if (model_history_of(found[i].view.id) == NULL) {
            model_violate("job %llu is back, or never was", (unsigned long long)found[i].view.id);
            return;
        }
    }
    while (!cut_fits(most, &seen, &wrong)) {
        if (most == least && wrong == 0 && !model_limits_fit(queue, most)) {
            model_violate("after a start the tubes have other limits");
            return;
        }
        if (most == least && wrong == 0) {
            model_violate("after a start the tubes are paused for %lld, %lld and %lld ms",
                          (long long)seen.pauses[0], (long long)seen.pauses[1],
                          (long long)seen.pauses[2]);
            return;
        }
        if (most == least) {
            explain(wrong, found_of(found, count, wrong), least);
            return;
        }
        most--;
    }
    /* Several may fit: what they differ in, tokens of jobs that came and went, stays open. */
    uint64_t lowest = most;
    for (uint64_t cut = least; cut < most && lowest == most; cut++)
        if (cut_fits(cut, &seen, &wrong))
            lowest = cut;
    model.seq++;
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++)
        model_adopt_pause(tube, lowest, most, seen.pauses[tube]);
    model_adopt_limits(lowest, most);
    go_back(most, found, count);
    cut_tokens(lowest, most);
    model.certain = model.life_start = model.seq;
    model.offsets[0] = (struct model_offset){.since = 0, .offset = model.offset};
    model.offset_count = 1;
    model.greatest_id = model.told_id;
    for (unsigned i = 0; i < model.job_count; i++)
        if (model_at(i)->id > model.greatest_id)
            model.greatest_id = model_at(i)->id;
    model_drawn_count = 0;
    compare_keys(queue, now);
}
