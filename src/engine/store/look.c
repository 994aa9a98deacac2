/*
 * Looks at jobs, tubes and counts. A function that looks at all jobs does so in slices, so that it
 * does not hold the lock for long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../queue/tubes.h"
#include "command.h"

/* How many places in the queue's tables a slice examines: places of jobs, and places of tubes. */
enum { SLICE = 256, TUBES_SLICE = 1 << 14 };

static void fill_job(struct elapse_job *job, const struct elapse__queue_view *view)
{
    static const enum elapse_job_state states[] = {
        [ELAPSE__QUEUE_DELAYED] = ELAPSE_JOB_DELAYED,
        [ELAPSE__QUEUE_READY] = ELAPSE_JOB_READY,
        [ELAPSE__QUEUE_RESERVED] = ELAPSE_JOB_RESERVED,
        [ELAPSE__QUEUE_BURIED] = ELAPSE_JOB_BURIED,
    };

    ELAPSE__ASSERT_THAT(view->state, >=, ELAPSE__QUEUE_DELAYED);
    ELAPSE__ASSERT_THAT(view->state, <=, ELAPSE__QUEUE_BURIED);
    ELAPSE__ASSERT_THAT(view->tube.size, <=, ELAPSE_TUBE_BYTES_MAX);
    *job = (struct elapse_job){
        .id = view->id,
        .state = states[view->state],
        .body_bytes = view->body_size,
        .priority = view->priority,
        .due_ms = view->due_ms,
        .recurring = view->recurring,
        .ttr_ms = view->ttr_ms,
        .left_ms = view->left_ms,
        .attempts = view->attempts,
        .missed = view->missed,
        .failures = view->failures,
        .await = view->await,
        .waits = view->waits,
        .has_due = view->has_due,
        .lease = {.life = view->lease.life, .number = view->lease.number},
        .reason = view->state == ELAPSE__QUEUE_BURIED ? view->reason : NULL,
    };
    memcpy(job->tube, view->tube.bytes, view->tube.size);
}

static enum elapse_error answer_look_up(struct elapse_queue *queue, enum elapse__queue_result found,
                                        const struct elapse__queue_view *view,
                                        struct elapse_job *job)
{
    *job = (struct elapse_job){.id = 0};
    if (found == ELAPSE__QUEUE_OK)
        fill_job(job, view);
    elapse__store_leave(queue);
    return found == ELAPSE__QUEUE_OK ? ELAPSE_OK : ELAPSE_ERROR_GONE;
}

enum elapse_error elapse_queue_look_up(struct elapse_queue *queue, const char *tube,
                                       const void *key, size_t key_bytes, struct elapse_job *job)
{
    struct elapse__queue_view view;
    enum elapse_error error = elapse__store_enter(queue);

    if (error != ELAPSE_OK)
        return error;
    return answer_look_up(
        queue,
        elapse__queue_look_up_key(queue->engine.jobs, elapse__store_now(), elapse__store_text(tube),
                                  (struct elapse__queue_text){key, key_bytes}, &view),
        &view, job);
}

enum elapse_error elapse_queue_look_up_id(struct elapse_queue *queue, uint64_t id,
                                          struct elapse_job *job)
{
    struct elapse__queue_view view;
    enum elapse_error error = elapse__store_enter(queue);

    if (error != ELAPSE_OK)
        return error;
    return answer_look_up(
        queue, elapse__queue_look_up_id(queue->engine.jobs, elapse__store_now(), id, &view), &view,
        job);
}

static struct elapse__queue_filter filter_of(const struct elapse_job_filter *filter)
{
    static const enum elapse__queue_state states[] = {
        [ELAPSE_JOB_ANY] = ELAPSE__QUEUE_FREE,      [ELAPSE_JOB_DELAYED] = ELAPSE__QUEUE_DELAYED,
        [ELAPSE_JOB_READY] = ELAPSE__QUEUE_READY,   [ELAPSE_JOB_RESERVED] = ELAPSE__QUEUE_RESERVED,
        [ELAPSE_JOB_BURIED] = ELAPSE__QUEUE_BURIED,
    };

    if (filter == NULL)
        return (struct elapse__queue_filter){.state = ELAPSE__QUEUE_FREE};
    ELAPSE__ASSERT_THAT(filter->state, <=, ELAPSE_JOB_BURIED);
    return (struct elapse__queue_filter){
        .tube = elapse__store_text(filter->tube),
        .state = states[filter->state],
        .tag = {filter->tag, filter->tag == NULL ? 0 : filter->tag_bytes},
    };
}

/* Begins a call that takes the lock anew for each slice. The queue is not freed before
 * end_slices(). */
static void begin_slices(struct elapse_queue *queue)
{
    elapse__store_arrive(queue);
    elapse__unlock(&queue->lock);
}

static void end_slices(struct elapse_queue *queue)
{
    elapse__lock(&queue->lock);
    elapse__store_depart(queue);
}

/* A cursor of elapse/queue.h is the cursor of the room src/queue plus one. The greatest number is
 * the end. */
#define CURSOR_END UINT64_MAX

size_t elapse_queue_list(struct elapse_queue *queue, const struct elapse_job_filter *filter,
                         uint64_t *cursor, struct elapse_job *jobs, size_t capacity)
{
    struct elapse__queue_filter inner = filter_of(filter);
    struct elapse__queue_view views[16];
    size_t stored = 0;

    begin_slices(queue);
    while (stored < capacity && *cursor != CURSOR_END) {
        uint32_t place = (uint32_t)*cursor;
        uint32_t room = capacity - stored < 16 ? (uint32_t)(capacity - stored) : 16;

        if (elapse__store_enter(queue) != ELAPSE_OK)
            break;
        uint32_t count = elapse__queue_list(queue->engine.jobs, elapse__store_now(), &inner, &place,
                                            SLICE, views, room);
        ELAPSE__ASSERT_THAT(count, <=, room);
        for (uint32_t i = 0; i < count; i++)
            fill_job(&jobs[stored + i], &views[i]);
        elapse__store_leave(queue);
        stored += count;
        *cursor = place == 0 ? CURSOR_END : place;
    }
    end_slices(queue);
    return stored;
}

/* ---- what a job has ---- */

enum elapse_error elapse_queue_peek(struct elapse_queue *queue, uint64_t id,
                                    struct elapse_content *content)
{
    struct elapse__engine_job texts;
    enum elapse_error error = elapse__store_enter(queue);

    *content = (struct elapse_content){.memory = NULL};
    if (error != ELAPSE_OK)
        return error;
    int failed = elapse__engine_peek(&queue->engine, id, &texts);
    if (failed == 0)
        elapse__engine_error(&queue->engine, id, &texts);
    elapse__store_leave(queue);
    if (failed != 0)
        return failed == ENOENT    ? ELAPSE_ERROR_GONE
               : failed == EBADMSG ? ELAPSE_ERROR_DAMAGED
               : failed == ENOMEM  ? ELAPSE_ERROR_MEMORY
                                   : ELAPSE_ERROR_SYSTEM;
    *content = (struct elapse_content){
        .key = texts.key.size > 0 ? texts.key.bytes : NULL,
        .key_bytes = texts.key.size,
        .tag = texts.tag.size > 0 ? texts.tag.bytes : NULL,
        .tag_bytes = texts.tag.size,
        .group = texts.group.size > 0 ? texts.group.bytes : NULL,
        .group_bytes = texts.group.size,
        .headers = texts.headers.size > 0 ? texts.headers.bytes : NULL,
        .headers_bytes = texts.headers.size,
        .body = texts.body.size > 0 ? texts.body.bytes : "",
        .body_bytes = texts.body.size,
        .error = texts.error.bytes,
        .error_bytes = texts.error.size,
        .error_ms = texts.error_ms,
        .memory = texts.memory,
        .error_memory = texts.error_memory,
    };
    return ELAPSE_OK;
}

void elapse_content_free(struct elapse_content *content)
{
    free(content->memory);
    free(content->error_memory);
    *content = (struct elapse_content){.memory = NULL};
}

/* ---- in slices ---- */

struct cancel_slice {
    const struct elapse__queue_filter *filter;
    uint32_t *cursor;
    uint64_t *removed;
    uint64_t *running;
};

static struct elapse__queue_answer
do_cancel_slice(struct elapse__queue *jobs, struct elapse__queue_now now, const void *arguments)
{
    const struct cancel_slice *slice = arguments;
    return elapse__queue_cancel_all(jobs, now, slice->filter, slice->cursor, SLICE, slice->removed,
                                    slice->running);
}

enum elapse_error elapse_queue_cancel_all(struct elapse_queue *queue,
                                          const struct elapse_job_filter *filter, uint64_t *removed,
                                          uint64_t *running, struct elapse_answer *answer)
{
    struct elapse__queue_filter inner = filter_of(filter);
    uint64_t removed_count = 0;
    uint64_t running_count = 0;
    uint32_t cursor = 0;
    struct cancel_slice slice = {&inner, &cursor, &removed_count, &running_count};
    enum elapse_error error;

    begin_slices(queue);
    do {
        error = elapse__store_run(queue, do_cancel_slice, &slice, answer);
    } while (error == ELAPSE_OK && cursor != 0);
    end_slices(queue);
    if (removed != NULL)
        *removed = removed_count;
    if (running != NULL)
        *running = running_count;
    return error;
}

static struct elapse__queue_answer do_kick(struct elapse__queue *jobs, struct elapse__queue_now now,
                                           const void *arguments)
{
    struct elapse__queue_kick *const *kick = arguments;
    return (struct elapse__queue_answer){
        .result = elapse__queue_kick(jobs, now, *kick),
    };
}

enum elapse_error elapse_queue_kick(struct elapse_queue *queue, const char *tube, uint64_t count,
                                    uint64_t *kicked, struct elapse_answer *answer)
{
    struct elapse_answer own;
    struct elapse__queue_kick *kick = calloc(1, sizeof *kick);
    enum elapse_error error;

    *kicked = 0;
    if (kick == NULL)
        return ELAPSE_ERROR_MEMORY;
    answer = answer == NULL ? &own : answer;
    kick->tube = elapse__store_text(tube);
    kick->wanted = count;
    begin_slices(queue);
    do {
        error = elapse__store_run(queue, do_kick, &kick, answer);
    } while (error == ELAPSE_OK && answer->result == ELAPSE_RESULT_KEPT);
    elapse__lock(&queue->lock);
    elapse__queue_kick_end(queue->engine.jobs, kick);
    elapse__unlock(&queue->lock);
    end_slices(queue);
    ELAPSE__ASSERT_THAT(kick->kicked, <=, count);
    *kicked = kick->kicked;
    free(kick);
    return error;
}

struct pausing {
    struct elapse__queue_text tube;
    uint64_t pause_ms;
};

static struct elapse__queue_answer do_pause(struct elapse__queue *jobs,
                                            struct elapse__queue_now now, const void *arguments)
{
    const struct pausing *pausing = arguments;
    return elapse__queue_pause(jobs, now, pausing->tube, pausing->pause_ms);
}

enum elapse_error elapse_queue_pause(struct elapse_queue *queue, const char *tube,
                                     uint64_t pause_ms, struct elapse_answer *answer)
{
    const struct pausing pausing = {elapse__store_text(tube), pause_ms};
    struct elapse_answer own;

    answer = answer == NULL ? &own : answer;
    enum elapse_error error = elapse__store_run(queue, do_pause, &pausing, answer);
    return error == ELAPSE_OK && answer->result == ELAPSE_RESULT_GONE ? ELAPSE_ERROR_GONE : error;
}

struct limiting {
    struct elapse__queue_text tube;
    struct elapse__queue_limits limits;
};

static struct elapse__queue_answer do_limit(struct elapse__queue *jobs,
                                            struct elapse__queue_now now, const void *arguments)
{
    const struct limiting *limiting = arguments;
    return elapse__queue_limit(jobs, now, limiting->tube, &limiting->limits);
}

/* Gives a rate without a burst the least one. */
static void default_burst(struct elapse__queue_rate *rate)
{
    if (rate->burst == 0 && rate->count != 0 && rate->period_ms != 0)
        rate->burst = elapse__queue_rate_least_burst(rate->count, rate->period_ms);
}

enum elapse_error elapse_queue_limit(struct elapse_queue *queue, const char *tube,
                                     const struct elapse_limits *limits,
                                     struct elapse_answer *answer)
{
    struct limiting limiting = {
        elapse__store_text(tube),
        {
            .concurrency = limits->concurrency,
            .rate = {limits->rate, limits->rate_per_ms, limits->rate_burst},
            .group_concurrency = limits->group_concurrency,
            .group_order = limits->group_order,
            .group_rate = {limits->group_rate, limits->group_rate_per_ms, limits->group_rate_burst},
            .buried = limits->buried,
            .buried_age_ms = limits->buried_age_ms,
        },
    };
    struct elapse_answer own;

    default_burst(&limiting.limits.rate);
    default_burst(&limiting.limits.group_rate);
    return elapse__store_run(queue, do_limit, &limiting, answer == NULL ? &own : answer);
}

/* ---- tubes and counts ---- */

bool elapse_queue_tubes(struct elapse_queue *queue, uint64_t *cursor,
                        char name[ELAPSE_TUBE_BYTES_MAX + 1])
{
    uint32_t place = (uint32_t)*cursor;
    struct elapse__queue_text tube;

    if (*cursor == CURSOR_END)
        return false;
    /* Releases the lock between slices, because there may be very many places of tubes that have
     * ended. */
    do {
        uint32_t most = TUBES_SLICE;
        if (elapse__store_enter(queue) != ELAPSE_OK)
            return false;
        tube = elapse__queue_tubes(queue->engine.jobs, &place, &most);
        ELAPSE__ASSERT_THAT(tube.size, <=, ELAPSE_TUBE_BYTES_MAX);
        if (tube.size > 0)
            memcpy(name, tube.bytes, tube.size);
        name[tube.size] = '\0';
        elapse__store_leave(queue);
    } while (tube.size == 0 && place != 0);
    *cursor = tube.size == 0 || place == 0 ? CURSOR_END : place;
    return tube.size > 0;
}

bool elapse_queue_groups(struct elapse_queue *queue, const char *tube, uint64_t *cursor,
                         struct elapse_job_group *group)
{
    struct elapse__queue_group_view view = {.ready = 0};
    uint32_t place = (uint32_t)*cursor;
    bool is_found = false;

    if (*cursor == CURSOR_END)
        return false;
    do {
        uint32_t most = TUBES_SLICE;
        if (elapse__store_enter(queue) != ELAPSE_OK)
            return false;
        is_found = elapse__queue_groups(queue->engine.jobs, elapse__store_now(),
                                        elapse__store_text(tube), &place, &most, &view);
        *group = (struct elapse_job_group){.delayed = view.delayed,
                                           .ready = view.ready,
                                           .running = view.running,
                                           .buried = view.buried,
                                           .name_bytes = view.name.size};
        ELAPSE__ASSERT_THAT(view.name.size, <=, sizeof group->name);
        if (is_found)
            memcpy(group->name, view.name.bytes, view.name.size);
        elapse__store_leave(queue);
    } while (!is_found && place != 0);
    *cursor = !is_found || place == 0 ? CURSOR_END : place;
    return is_found;
}

static void fill_statistics(struct elapse_queue_counts *statistics,
                            const struct elapse__queue_statistics *counts)
{
    *statistics = (struct elapse_queue_counts){
        .delayed = counts->delayed,
        .ready = counts->ready,
        .reserved = counts->reserved,
        .buried = counts->buried,
        .put = counts->total_jobs,
        .done = counts->deletes,
        .timeouts = counts->timeouts,
        .cancelled = counts->cancelled,
        .replaced = counts->replaced,
        .expired = counts->expired,
        .dead = counts->dead,
        .buried_dropped = counts->buried_dropped,
        .missed = counts->missed,
        .job_groups = counts->groups,
        .held = counts->held,
        .running = counts->running,
    };
}

enum elapse_error elapse_queue_statistics(struct elapse_queue *queue, const char *tube,
                                          struct elapse_queue_counts *statistics)
{
    struct elapse__queue_statistics counts;
    enum elapse__queue_result result = ELAPSE__QUEUE_OK;
    enum elapse_error error = elapse__store_enter(queue);

    *statistics = (struct elapse_queue_counts){.delayed = 0};
    if (error != ELAPSE_OK)
        return error;
    if (tube == NULL)
        counts = elapse__queue_statistics(queue->engine.jobs);
    else
        result = elapse__queue_tube_statistics(queue->engine.jobs, elapse__store_now(),
                                               elapse__store_text(tube), &counts);
    if (result == ELAPSE__QUEUE_OK)
        fill_statistics(statistics, &counts);
    if (tube == NULL) {
        struct elapse__journal_figures figures;
        elapse__journal_figures(queue->engine.journal, &figures);
        ELAPSE__ASSERT_THAT(figures.tail, <=, figures.head);
        statistics->segments = figures.head - figures.tail + 1;
        statistics->file_bytes = figures.log_bytes + figures.spare_bytes;
        statistics->live_bytes = figures.live_bytes;
        statistics->groups = figures.groups;
    }
    elapse__store_leave(queue);
    return result == ELAPSE__QUEUE_OK ? ELAPSE_OK : ELAPSE_ERROR_GONE;
}
