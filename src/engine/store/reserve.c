/*
 * Hands out jobs, and has the commands of workers: ack, nack, extend, bury.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "command.h"

enum { TUBES_MAX = 1000 };

static struct elapse__queue_holder holder_of(uint64_t id, struct elapse_lease lease)
{
    return (struct elapse__queue_holder){
        .id = id,
        .lease = {.life = lease.life, .number = lease.number},
    };
}

/* The jobs that one call hands out. */
struct batch {
    struct elapse__queue_reserve reserve;
    struct elapse__queue_handed *handed;
    struct elapse__journal_reading *readings; /* one for each element of `handed` */
    uint32_t count;
    uint64_t until_ns; /* when the call has to return, by the monotonic clock */
    bool read_failed;  /* the disk could not read the body of a job for this call */
    bool was_patient;  /* `until_ns` was set later once, because the disk could not read */
    struct elapse__queue_now now;
};

/* Begins a batch. Until end_batch() the clocks are not read again, so that everything in the batch
 * happens at one time. */
static void begin_batch(struct elapse_queue *store, struct batch *batch)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    ELAPSE__ASSERT(store->engine.batch == NULL);
    batch->now = elapse__store_now();
    store->engine.batch = &batch->now;
}

static void end_batch(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    store->engine.batch = NULL;
}

/* Gives the disk a little more time when the time of the call is over, because the disk could not
 * read a job. Returns OK, or SYSTEM if the disk has had more time before. */
static enum elapse_error give_disk_time(struct batch *batch)
{
    if (batch->was_patient)
        return ELAPSE_ERROR_SYSTEM;
    batch->was_patient = true;
    batch->until_ns = elapse__store_until_ns(ELAPSE__ENGINE_READ_PATIENCE_MS);
    return ELAPSE_OK;
}

/* Waits while the engine takes no jobs because the disk could not read, although jobs are ready.
 * Returns OK or SYSTEM. */
static enum elapse_error wait_for_disk(struct elapse_queue *store, struct batch *batch)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    uint64_t rests_until_ms = elapse__engine_rests_until_ms(&store->engine);
    uint64_t now_ms = elapse__store_now().boot_ms;
    uint64_t end_ns = elapse__store_until_ns(rests_until_ms > now_ms ? rests_until_ms - now_ms : 0);

    if (elapse__store_has_passed(batch->until_ns))
        return give_disk_time(batch);
    elapse__store_pass_on(store);
    (void)elapse__store_wait_progress(store, end_ns < batch->until_ns ? end_ns : batch->until_ns);
    return ELAPSE_OK;
}

/* Called when no job could be taken. Waits until there may be one. Returns OK, TIMEOUT, or an
 * error. */
static enum elapse_error wait_for_job(struct elapse_queue *store, struct batch *batch,
                                      struct elapse__store_stall *stall)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    /* Two reasons are over soon: the journal has no room for the lease of a ready job, or more jobs
     * have expired than one call drops. */
    if (elapse__engine_lacks_room(&store->engine))
        return elapse__store_wait_room(store, stall);
    if (elapse__queue_has_ready(store->engine.jobs, &batch->reserve))
        return elapse__engine_rests(&store->engine) ? wait_for_disk(store, batch) : ELAPSE_OK;
    enum elapse_error error = elapse__store_sleep(store, &batch->reserve, batch->until_ns);
    return error == ELAPSE_ERROR_TIMEOUT && batch->read_failed ? give_disk_time(batch) : error;
}

/* Takes jobs, and waits until there is one. Returns OK, NOTHING_DUE, or an error. */
static enum elapse_error take(struct elapse_queue *store, struct batch *batch, uint64_t *gate)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    struct elapse__store_stall stall = {.until_ns = 0};
    enum elapse_error error = elapse__store_may_hand_out(store);

    while (error == ELAPSE_OK) {
        enum elapse__queue_result result;
        if (elapse__engine_take_many(&store->engine, &batch->reserve, batch->handed, &batch->count,
                                     &result, gate))
            return ELAPSE_OK;
        error = elapse__store_error(store, result);
        if (error == ELAPSE_OK)
            error = wait_for_job(store, batch, &stall);
        if (error == ELAPSE_OK)
            error = elapse__store_may_hand_out(store);
    }
    if (error == ELAPSE_ERROR_DISK_FULL)
        elapse__store_retry_room(store);
    return error == ELAPSE_ERROR_TIMEOUT ? ELAPSE_ERROR_NOTHING_DUE : error;
}

/* Reads the bodies of the jobs. Releases the lock meanwhile, so that a slow disk does not delay
 * other threads. Removes those jobs from the batch that cannot be handed out after all. */
static void read_jobs(struct elapse_queue *store, struct batch *batch)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    uint32_t kept = 0;

    begin_batch(store, batch);
    for (uint32_t i = 0; i < batch->count; i++) {
        struct elapse__queue_handed *handed = &batch->handed[kept];
        *handed = batch->handed[i];
        if (elapse__engine_hand_over_begin(&store->engine, handed, &batch->readings[kept]) == 0)
            kept++;
    }
    end_batch(store);
    ELAPSE__ASSERT_THAT(kept, <=, batch->reserve.count);
    batch->count = kept;
    elapse__store_pass_on(store);
    elapse__unlock(&store->lock);
    elapse__journal_read_perform(store->engine.journal, true, batch->readings, kept);
    elapse__lock(&store->lock);
}

static void fill(struct elapse_reserved *job, const struct elapse__queue_handed *handed,
                 const struct elapse__engine_job *texts, uint64_t position)
{
    ELAPSE__ASSERT_THAT(texts->tube.size, <=, ELAPSE_TUBE_BYTES_MAX);
    ELAPSE__ASSERT(handed->id > 0 && handed->lease.number > 0);
    *job = (struct elapse_reserved){
        .id = handed->id,
        .lease = {.life = handed->lease.life, .number = handed->lease.number},
        .key = texts->key.size > 0 ? texts->key.bytes : NULL,
        .key_bytes = texts->key.size,
        .body = texts->body.size > 0 ? texts->body.bytes : "",
        .body_bytes = texts->body.size,
        .tag = texts->tag.size > 0 ? texts->tag.bytes : NULL,
        .tag_bytes = texts->tag.size,
        .group = texts->group.size > 0 ? texts->group.bytes : NULL,
        .group_bytes = texts->group.size,
        .headers = texts->headers.bytes,
        .headers_bytes = texts->headers.size,
        .due_ms = handed->due_ms,
        .ttr_ms = handed->ttr_ms,
        .priority = handed->priority,
        .attempt = handed->attempt,
        .missed = handed->missed,
        .retry = handed->retry,
        .await = handed->await,
        .recurring = handed->recurring,
        .position = position,
        .memory = texts->memory,
    };
    memcpy(job->tube, texts->tube.bytes, texts->tube.size);
}

/* Reads the jobs of the batch, and begins their leases. Stores in `*reserved` how many. Requires
 * that everything up to the gate is durable. Returns OK, GONE if no job can be handed out after
 * all, or MEMORY. */
static enum elapse_error finish(struct elapse_queue *store, struct batch *batch,
                                struct elapse_reserved *jobs, size_t *reserved)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    enum elapse_error error = ELAPSE_ERROR_GONE;

    ELAPSE__ASSERT_THAT(*reserved, ==, 0);
    read_jobs(store, batch);
    begin_batch(store, batch);
    for (uint32_t i = 0; i < batch->count; i++) {
        struct elapse__engine_job texts;
        int failed = elapse__engine_hand_over_end(&store->engine, &batch->handed[i],
                                                  &batch->readings[i], &texts);
        if (failed == 0)
            fill(&jobs[(*reserved)++], &batch->handed[i], &texts, store->engine.last_position);
        else if (failed == ENOMEM)
            error = ELAPSE_ERROR_MEMORY;
        batch->read_failed |= failed == EIO;
    }
    end_batch(store);
    /* The journal kept the files while this call read them. Now the background thread may retire
     * them. */
    elapse__store_offer_background(store);
    ELAPSE__ASSERT_THAT(*reserved, <=, batch->count);
    return *reserved > 0 ? ELAPSE_OK : error;
}

static enum elapse_error reserve_locked(struct elapse_queue *store, struct batch *batch,
                                        struct elapse_reserved *jobs, size_t *reserved)
{
    enum elapse_error error;
    uint64_t gate;

    do {
        error = take(store, batch, &gate);
        if (error != ELAPSE_OK)
            return error;
        error = elapse__store_wait_durable(store, gate, ELAPSE__OS_NEVER);
        if (error == ELAPSE_OK)
            error = finish(store, batch, jobs, reserved);
        else
            for (uint32_t i = 0; i < batch->count; i++)
                elapse__engine_take_back(&store->engine, &batch->handed[i]);
    } while (error == ELAPSE_ERROR_GONE);
    return error;
}

/* Reserves jobs of the tubes. Requires that `handed` and `readings` of the batch have memory. */
static enum elapse_error reserve(struct elapse_queue *queue, const char *const *tubes,
                                 size_t tube_count, uint64_t timeout_ms, struct batch *batch,
                                 struct elapse_reserved *jobs, size_t *reserved)
{
    struct elapse__queue_text one;

    batch->until_ns = elapse__store_until_ns(timeout_ms);

    if (tube_count == 0 || tube_count > TUBES_MAX)
        return ELAPSE_ERROR_ARGUMENT;
    struct elapse__queue_text *texts = tube_count == 1 ? &one : calloc(tube_count, sizeof *texts);
    if (texts == NULL)
        return ELAPSE_ERROR_MEMORY;
    for (size_t i = 0; i < tube_count; i++)
        texts[i] = elapse__store_text(tubes[i]);
    batch->reserve.tubes = texts;
    batch->reserve.tube_count = tube_count;
    enum elapse_error error = elapse__store_enter(queue);
    if (error == ELAPSE_OK) {
        error = reserve_locked(queue, batch, jobs, reserved);
        elapse__store_leave(queue);
    }
    batch->reserve.tubes = NULL;
    if (texts != &one)
        free(texts);
    return error;
}

enum elapse_error elapse_queue_reserve_any(struct elapse_queue *queue, const char *const *tubes,
                                           size_t tube_count, uint64_t timeout_ms,
                                           struct elapse_reserved *job)
{
    struct elapse__queue_handed handed;
    struct elapse__journal_reading reading;
    struct batch batch = {.reserve = {.count = 1}, .handed = &handed, .readings = &reading};
    size_t reserved = 0;

    *job = (struct elapse_reserved){.memory = NULL};
    return reserve(queue, tubes, tube_count, timeout_ms, &batch, job, &reserved);
}

enum elapse_error elapse_queue_reserve(struct elapse_queue *queue, const char *tube,
                                       uint64_t timeout_ms, struct elapse_reserved *job)
{
    return elapse_queue_reserve_any(queue, &tube, 1, timeout_ms, job);
}

enum elapse_error elapse_queue_reserve_many(struct elapse_queue *queue, const char *const *tubes,
                                            size_t tube_count, uint64_t timeout_ms,
                                            struct elapse_reserved *jobs, size_t capacity,
                                            size_t *reserved)
{
    *reserved = 0;
    if (capacity == 0 || capacity > ELAPSE_RESERVE_MAX)
        return ELAPSE_ERROR_ARGUMENT;
    struct batch batch = {.reserve = {.count = (uint32_t)capacity}};
    batch.handed = calloc(capacity, sizeof *batch.handed);
    batch.readings = calloc(capacity, sizeof *batch.readings);
    enum elapse_error error = ELAPSE_ERROR_MEMORY;
    if (batch.handed != NULL && batch.readings != NULL)
        error = reserve(queue, tubes, tube_count, timeout_ms, &batch, jobs, reserved);
    free(batch.handed);
    free(batch.readings);
    return error;
}

_Static_assert((int)ELAPSE_RESERVE_MAX == ELAPSE__QUEUE_RESERVE_MAX,
               "a call hands out as many jobs as the queue does at once");

void elapse_reserved_free(struct elapse_reserved *job)
{
    free(job->memory);
    *job = (struct elapse_reserved){.memory = NULL};
}

/* ---- the commands of a worker ---- */

/* A function of the queue that takes only a lease. */
typedef struct elapse__queue_answer verb_function(struct elapse__queue *jobs,
                                                  struct elapse__queue_now now,
                                                  struct elapse__queue_holder holder);

struct holding {
    struct elapse__queue_holder holder;
    verb_function *verb; /* NULL: the command has a call of its own */
    uint64_t delay_ms;
};

/* Runs a command of a worker. For these commands a lease that has ended is an error. */
static enum elapse_error run_holding(struct elapse_queue *queue, elapse__engine_command *command,
                                     struct holding holding, struct elapse_answer *answer)
{
    struct elapse_answer own;
    enum elapse_error error =
        elapse__store_run(queue, command, &holding, answer == NULL ? &own : answer);

    if (error == ELAPSE_OK && (answer == NULL ? &own : answer)->result == ELAPSE_RESULT_GONE)
        return ELAPSE_ERROR_GONE;
    return error;
}

static struct elapse__queue_answer do_verb(struct elapse__queue *jobs, struct elapse__queue_now now,
                                           const void *arguments)
{
    const struct holding *holding = arguments;
    return holding->verb(jobs, now, holding->holder);
}

static struct elapse__queue_answer do_nack_in(struct elapse__queue *jobs,
                                              struct elapse__queue_now now, const void *arguments)
{
    const struct holding *holding = arguments;
    return elapse__queue_nack_in(jobs, now, holding->holder, holding->delay_ms);
}

static struct elapse__queue_answer bury(struct elapse__queue *jobs, struct elapse__queue_now now,
                                        struct elapse__queue_holder holder)
{
    return elapse__queue_bury(jobs, now, holder, NULL);
}

static enum elapse_error run_verb(struct elapse_queue *queue, verb_function *verb, uint64_t id,
                                  struct elapse_lease lease, struct elapse_answer *answer)
{
    return run_holding(queue, do_verb,
                       (struct holding){.holder = holder_of(id, lease), .verb = verb}, answer);
}

enum elapse_error elapse_queue_ack(struct elapse_queue *queue, uint64_t id,
                                   struct elapse_lease lease, struct elapse_answer *answer)
{
    return run_verb(queue, elapse__queue_ack, id, lease, answer);
}

struct many {
    verb_function *verb;
    const struct elapse_held *held;
    size_t count;
    enum elapse_result *results; /* NULL: the caller does not want them */
    size_t *reached;             /* how many jobs of `held` are finished */
    uint64_t *position;          /* the position of the last job's record; 0: none */
};

static enum elapse_result result_of(const struct elapse__queue_answer *answer)
{
    return answer->result == ELAPSE__QUEUE_GONE        ? ELAPSE_RESULT_GONE
           : answer->result == ELAPSE__QUEUE_CANCELLED ? ELAPSE_RESULT_CANCELLED
                                                       : ELAPSE_RESULT_DONE;
}

/* Runs the command for the jobs. If a call is refused in the middle, the next call continues
 * there. */
static struct elapse__queue_answer do_many(struct elapse__queue *jobs, struct elapse__queue_now now,
                                           const void *arguments)
{
    const struct many *many = arguments;

    ELAPSE__ASSERT_THAT(*many->reached, <, many->count);
    for (; *many->reached < many->count; ++*many->reached) {
        const struct elapse_held *held = &many->held[*many->reached];
        struct elapse__queue_answer answer =
            many->verb(jobs, now, holder_of(held->id, held->lease));
        if (answer.result != ELAPSE__QUEUE_OK && answer.result != ELAPSE__QUEUE_GONE &&
            answer.result != ELAPSE__QUEUE_CANCELLED)
            return answer;
        if (answer.position != 0)
            *many->position = answer.position;
        if (many->results != NULL)
            many->results[*many->reached] = result_of(&answer);
    }
    return (struct elapse__queue_answer){.result = ELAPSE__QUEUE_OK};
}

static enum elapse_error run_many(struct elapse_queue *queue, verb_function *verb,
                                  const struct elapse_held *held, size_t count,
                                  enum elapse_result *results, struct elapse_answer *answer)
{
    struct elapse_answer own;
    size_t reached = 0;
    uint64_t position = 0;
    struct many many = {verb, held, count, results, &reached, &position};

    if (answer == NULL)
        answer = &own;
    *answer = (struct elapse_answer){.result = ELAPSE_RESULT_DONE};
    if (count == 0 || count > ELAPSE_RESERVE_MAX) {
        answer->fault = "a call takes 1 to 1000 jobs";
        return ELAPSE_ERROR_ARGUMENT;
    }
    for (size_t i = 0; results != NULL && i < count; i++)
        results[i] = ELAPSE_RESULT_NONE;
    enum elapse_error error = elapse__store_run(queue, do_many, &many, answer);
    ELAPSE__ASSERT(error != ELAPSE_OK || reached == count);
    if (error != ELAPSE_OK)
        answer->position = position;
    return error;
}

enum elapse_error elapse_queue_ack_many(struct elapse_queue *queue, const struct elapse_held *held,
                                        size_t count, enum elapse_result *results,
                                        struct elapse_answer *answer)
{
    return run_many(queue, elapse__queue_ack, held, count, results, answer);
}

enum elapse_error elapse_queue_nack_many(struct elapse_queue *queue, const struct elapse_held *held,
                                         size_t count, enum elapse_result *results,
                                         struct elapse_answer *answer)
{
    return run_many(queue, elapse__queue_nack, held, count, results, answer);
}

enum elapse_error elapse_queue_extend_many(struct elapse_queue *queue,
                                           const struct elapse_held *held, size_t count,
                                           enum elapse_result *results,
                                           struct elapse_answer *answer)
{
    return run_many(queue, elapse__queue_extend, held, count, results, answer);
}

enum elapse_error elapse_queue_bury_many(struct elapse_queue *queue, const struct elapse_held *held,
                                         size_t count, enum elapse_result *results,
                                         struct elapse_answer *answer)
{
    return run_many(queue, bury, held, count, results, answer);
}

enum elapse_error elapse_queue_nack(struct elapse_queue *queue, uint64_t id,
                                    struct elapse_lease lease, struct elapse_answer *answer)
{
    return run_verb(queue, elapse__queue_nack, id, lease, answer);
}

static struct elapse__queue_holder failing(uint64_t id, struct elapse_lease lease,
                                           const void *error, size_t error_bytes)
{
    struct elapse__queue_holder holder = holder_of(id, lease);
    holder.error = (struct elapse__queue_text){error, error == NULL ? 0 : error_bytes};
    return holder;
}

enum elapse_error elapse_queue_nack_error(struct elapse_queue *queue, uint64_t id,
                                          struct elapse_lease lease, const void *error,
                                          size_t error_bytes, struct elapse_answer *answer)
{
    struct holding holding = {failing(id, lease, error, error_bytes), elapse__queue_nack, 0};
    return run_holding(queue, do_verb, holding, answer);
}

enum elapse_error elapse_queue_bury_error(struct elapse_queue *queue, uint64_t id,
                                          struct elapse_lease lease, const void *error,
                                          size_t error_bytes, struct elapse_answer *answer)
{
    struct holding holding = {failing(id, lease, error, error_bytes), bury, 0};
    return run_holding(queue, do_verb, holding, answer);
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
    return run_verb(queue, elapse__queue_extend, id, lease, answer);
}

enum elapse_error elapse_queue_bury(struct elapse_queue *queue, uint64_t id,
                                    struct elapse_lease lease, struct elapse_answer *answer)
{
    return run_verb(queue, bury, id, lease, answer);
}
