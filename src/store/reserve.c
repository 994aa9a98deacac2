/*
 * Handing out jobs, and the verbs of workers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/assert.h"
#include "store.h"

enum { TUBES_MAX = 1000 };

static struct elapse__queue_holder holder_of(uint64_t id, struct elapse_lease lease)
{
    return (struct elapse__queue_holder){
        .id = id,
        .lease = {.life = lease.life, .number = lease.number},
    };
}

/* Reads the job, without the lock: a slow disk must not hold up the others. */
static int hand_over(struct elapse_queue *store, const struct elapse__queue_handed *handed,
                     struct elapse__joint_job *texts)
{
    struct elapse__journal_reading reading;
    int error = elapse__joint_hand_over_begin(&store->joint, handed, &reading);

    if (error != 0)
        return error;
    elapse__unlock(&store->lock);
    elapse__journal_read_perform(store->joint.journal, true, &reading);
    elapse__lock(&store->lock);
    return elapse__joint_hand_over_end(&store->joint, handed, &reading, texts);
}

/* Everything that led to the hand-out is durable: reads the job, and begins the lease. Returns OK;
 * GONE: the job cannot be handed out after all; or an error. */
static enum elapse_error finish(struct elapse_queue *store,
                                const struct elapse__queue_handed *handed,
                                struct elapse_reserved *job)
{
    struct elapse__joint_job texts;
    int failed = hand_over(store, handed, &texts);

    if (failed == ENOENT)
        return ELAPSE_ERROR_GONE;
    if (failed != 0)
        return failed == ENOMEM ? ELAPSE_ERROR_MEMORY : ELAPSE_ERROR_SYSTEM;
    ELAPSE__ASSERT_THAT(texts.tube.size, <=, ELAPSE_TUBE_BYTES_MAX);
    *job = (struct elapse_reserved){
        .id = handed->id,
        .lease = {.life = handed->lease.life, .number = handed->lease.number},
        .key = texts.key.size > 0 ? texts.key.bytes : NULL,
        .key_bytes = texts.key.size,
        .body = texts.body.size > 0 ? texts.body.bytes : "",
        .body_bytes = texts.body.size,
        .due_ms = handed->due_ms,
        .ttr_ms = handed->ttr_ms,
        .priority = handed->priority,
        .attempt = handed->attempt,
        .missed = handed->missed,
        .position = store->joint.last_position,
        .memory = texts.memory,
    };
    memcpy(job->tube, texts.tube.bytes, texts.tube.size);
    return ELAPSE_OK;
}

static enum elapse_error reserve_locked(struct elapse_queue *store,
                                        const struct elapse__queue_reserve *reserve,
                                        uint64_t until_ns, struct elapse_reserved *job)
{
    struct elapse__queue_handed handed;
    enum elapse__queue_result result;
    enum elapse_error error;
    uint64_t gate;

    for (;;) {
        if (!elapse__joint_take(&store->joint, reserve, &handed, &result, &gate)) {
            error = elapse__store_error(store, result);
            if (error == ELAPSE_OK)
                error = elapse__store_wait(store, until_ns);
            if (error == ELAPSE_ERROR_TIMEOUT)
                return ELAPSE_ERROR_NOTHING_DUE;
            if (error != ELAPSE_OK)
                return error;
            continue;
        }
        error = elapse__store_wait_durable(store, gate, ELAPSE__OS_NEVER);
        if (error != ELAPSE_OK) {
            elapse__joint_take_back(&store->joint, &handed);
            return error;
        }
        error = finish(store, &handed, job);
        if (error != ELAPSE_ERROR_GONE)
            return error;
    }
}

enum elapse_error elapse_queue_reserve_any(struct elapse_queue *queue, const char *const *tubes,
                                           size_t tube_count, uint64_t timeout_ms,
                                           struct elapse_reserved *job)
{
    uint64_t until_ns = elapse__store_until_ns(timeout_ms);

    *job = (struct elapse_reserved){.memory = NULL};
    if (tube_count == 0 || tube_count > TUBES_MAX)
        return ELAPSE_ERROR_ARGUMENT;
    struct elapse__queue_text *texts = calloc(tube_count, sizeof *texts);
    if (texts == NULL)
        return ELAPSE_ERROR_MEMORY;
    for (size_t i = 0; i < tube_count; i++)
        texts[i] = elapse__store_text(tubes[i]);

    struct elapse__queue_reserve reserve = {.tubes = texts, .tube_count = tube_count, .count = 1};
    enum elapse_error error = elapse__store_enter(queue);
    if (error == ELAPSE_OK) {
        error = reserve_locked(queue, &reserve, until_ns, job);
        elapse__store_leave(queue);
    }
    free(texts);
    return error;
}

enum elapse_error elapse_queue_reserve(struct elapse_queue *queue, const char *tube,
                                       uint64_t timeout_ms, struct elapse_reserved *job)
{
    return elapse_queue_reserve_any(queue, &tube, 1, timeout_ms, job);
}

void elapse_reserved_free(struct elapse_reserved *job)
{
    free(job->memory);
    *job = (struct elapse_reserved){.memory = NULL};
}

/* ---- the verbs of a worker ---- */

struct holding {
    struct elapse__queue_holder holder;
    uint64_t delay_ms;
};

/* A lease that is gone is an error for these verbs. */
static enum elapse_error run_holding(struct elapse_queue *queue, elapse__joint_command *command,
                                     struct holding holding, struct elapse_answer *answer)
{
    struct elapse_answer own;
    enum elapse_error error =
        elapse__store_run(queue, command, &holding, answer == NULL ? &own : answer);

    if (error == ELAPSE_OK && (answer == NULL ? &own : answer)->result == ELAPSE_RESULT_GONE)
        return ELAPSE_ERROR_GONE;
    return error;
}

static struct elapse__queue_answer do_ack(struct elapse__queue *jobs, struct elapse__queue_now now,
                                          const void *arguments)
{
    const struct holding *holding = arguments;
    return elapse__queue_ack(jobs, now, holding->holder);
}

static struct elapse__queue_answer do_nack(struct elapse__queue *jobs, struct elapse__queue_now now,
                                           const void *arguments)
{
    const struct holding *holding = arguments;
    return elapse__queue_nack(jobs, now, holding->holder);
}

static struct elapse__queue_answer do_nack_in(struct elapse__queue *jobs,
                                              struct elapse__queue_now now, const void *arguments)
{
    const struct holding *holding = arguments;
    return elapse__queue_nack_in(jobs, now, holding->holder, holding->delay_ms);
}

static struct elapse__queue_answer do_extend(struct elapse__queue *jobs,
                                             struct elapse__queue_now now, const void *arguments)
{
    const struct holding *holding = arguments;
    return elapse__queue_extend(jobs, now, holding->holder);
}

static struct elapse__queue_answer do_bury(struct elapse__queue *jobs, struct elapse__queue_now now,
                                           const void *arguments)
{
    const struct holding *holding = arguments;
    return elapse__queue_bury(jobs, now, holding->holder, NULL);
}

enum elapse_error elapse_queue_ack(struct elapse_queue *queue, uint64_t id,
                                   struct elapse_lease lease, struct elapse_answer *answer)
{
    return run_holding(queue, do_ack, (struct holding){.holder = holder_of(id, lease)}, answer);
}

enum elapse_error elapse_queue_nack(struct elapse_queue *queue, uint64_t id,
                                    struct elapse_lease lease, struct elapse_answer *answer)
{
    return run_holding(queue, do_nack, (struct holding){.holder = holder_of(id, lease)}, answer);
}

enum elapse_error elapse_queue_nack_in(struct elapse_queue *queue, uint64_t id,
                                       struct elapse_lease lease, uint64_t delay_ms,
                                       struct elapse_answer *answer)
{
    return run_holding(queue, do_nack_in,
                       (struct holding){.holder = holder_of(id, lease), .delay_ms = delay_ms},
                       answer);
}

enum elapse_error elapse_queue_extend(struct elapse_queue *queue, uint64_t id,
                                      struct elapse_lease lease, struct elapse_answer *answer)
{
    return run_holding(queue, do_extend, (struct holding){.holder = holder_of(id, lease)}, answer);
}

enum elapse_error elapse_queue_bury(struct elapse_queue *queue, uint64_t id,
                                    struct elapse_lease lease, struct elapse_answer *answer)
{
    return run_holding(queue, do_bury, (struct holding){.holder = holder_of(id, lease)}, answer);
}
