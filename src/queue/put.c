#include <string.h>

#include "commands.h"

const char elapse__queue_upgrade_first[] = "upgrade all nodes first";

const char *elapse__queue_token_fault(struct elapse__queue_text token, uint64_t life_ms)
{
    if (token.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
        return "a token has at most 250 bytes";
    if (life_ms != 0 && (life_ms < ELAPSE__QUEUE_TOKEN_MS_MIN || life_ms > ELAPSE__QUEUE_TOKEN_MS))
        return "a token lives from 1 s to 10 min";
    return NULL;
}

static const char *put_texts_fault(const struct elapse__queue *queue,
                                   const struct elapse__queue_put *put)
{
    if (!elapse__queue_text_fits(put->tube, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX))
        return "the tube's name must have 1 to 200 bytes";
    if (put->body.size > queue->options.body_bytes_max)
        return "the body is too long";
    if (put->headers.size > ELAPSE__QUEUE_HEADERS_BYTES_MAX)
        return "headers have at most 4096 bytes";
    const char *split_fault = elapse__queue_split_fault(queue, put->tube);
    if (put->group.size > 0 && split_fault != NULL)
        return split_fault;
    if (put->headers.size + put->group.size + put->await > 0 && queue->options.old_records)
        return elapse__queue_upgrade_first;
    if (put->key.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
        return "a key has at most 250 bytes";
    if (put->tag.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
        return "a tag has at most 250 bytes";
    if (put->group.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
        return "a group has at most 250 bytes";
    return elapse__queue_token_fault(put->token, put->token_life_ms);
}

static const char *put_time_fault(const struct elapse__queue_put *put)
{
    const uint64_t longest = (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX;
    switch (put->when) {
    case ELAPSE__QUEUE_IN:
        return put->delay_ms <= longest ? NULL : "a delay is at most 292 years";
    case ELAPSE__QUEUE_AT:
        return put->at_ms >= -ELAPSE__QUEUE_WALL_MS_MAX && put->at_ms <= ELAPSE__QUEUE_WALL_MS_MAX
                   ? NULL
                   : "a time is at most that of the year 9999";
    case ELAPSE__QUEUE_EVERY:
        return put->period_ms >= 1 && put->period_ms <= longest
                   ? NULL
                   : "a period is from 1 ms to 292 years";
    case ELAPSE__QUEUE_CRON:
        if (!elapse__queue_text_fits(put->cron, 1, ELAPSE__QUEUE_CRON_BYTES_MAX))
            return "a cron expression has 1 to 1023 characters";
        return put->zone.size <= ELAPSE__QUEUE_ZONE_BYTES_MAX
                   ? NULL
                   : "the name of a zone has at most 64 bytes";
    case ELAPSE__QUEUE_NO_TIME:
        return put->await > 0 ? NULL : "a job without a time needs AWAIT";
    }
    return "there is no such kind of time";
}

static const char *put_options_fault(const struct elapse__queue_put *put)
{
    const uint64_t longest = (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX;
    if (put->ttr_ms < 1 || put->ttr_ms > longest)
        return "ttr is from 1 ms to 292 years";
    if (put->expire_ms > longest)
        return "EXPIRE is at most 292 years";
    if (put->backoff_max_ms > longest || put->backoff_min_ms > put->backoff_max_ms)
        return "BACKOFF takes a minimum, and a maximum that is no less";
    if ((unsigned)put->if_key > ELAPSE__QUEUE_DEBOUNCE)
        return "there is no such mode of IFKEY";
    if (put->if_key != ELAPSE__QUEUE_DEBOUNCE)
        return NULL;
    if (put->key.size == 0)
        return "debounce needs a key";
    if (put->when != ELAPSE__QUEUE_IN)
        return "debounce needs a delay";
    if (put->debounce_max_ms < put->delay_ms)
        return "the MAX of debounce is less than the delay";
    return NULL;
}

static const char *put_await_fault(const struct elapse__queue_put *put)
{
    if (put->await == 0)
        return NULL;
    if (put->key.size == 0)
        return "AWAIT needs a key";
    if (put->when == ELAPSE__QUEUE_EVERY || put->when == ELAPSE__QUEUE_CRON)
        return "a job that recurs waits for no arrivals";
    return put->if_key == ELAPSE__QUEUE_DEBOUNCE ? "a job with debounce waits for no arrivals"
                                                 : NULL;
}

const char *elapse__queue_put_fault(const struct elapse__queue *queue,
                                    const struct elapse__queue_put *put)
{
    const char *fault = put_texts_fault(queue, put);
    if (fault == NULL)
        fault = put_time_fault(put);
    if (fault == NULL)
        fault = put_await_fault(put);
    return fault != NULL ? fault : put_options_fault(put);
}

/* The plan of a put that was checked. It has everything that the put needs. */
struct put_plan {
    const struct elapse__queue_put *put;
    struct elapse__queue_fields fields;
    struct elapse__queue_prepared prepared;
    struct elapse__hash_128 token_hash;
    struct elapse__queue_entry *existing; /* the job that has the key, or NULL */
    bool debounce; /* DEBOUNCE: the existing job stays, and gets the new body */
    struct elapse__queue_tick due;
    uint64_t id;    /* the id of the new job, or of the existing job if `debounce` is true */
    uint64_t first; /* DEBOUNCE: the tick of the first put; 0: there is no debounce */
};

static uint64_t next_id(const struct elapse__queue *queue)
{
    uint64_t partitions = queue->options.partitions;
    if (partitions == 1)
        return queue->last_id + 1; /* this is the usual case, and a division would take long */
    uint64_t id = (queue->last_id / partitions + 1) * partitions + queue->options.partition;
    ELAPSE__ASSERT_THAT(id, >, queue->last_id); /* invariant 1: no id is given twice */
    return id;
}

static enum elapse__queue_result check_limits(struct elapse__queue *queue, struct put_plan *plan)
{
    bool ends =
        plan->existing != NULL && elapse__queue_state_of(plan->existing) != ELAPSE__QUEUE_RESERVED;
    plan->id = plan->debounce ? elapse__queue_id(plan->existing) : next_id(queue);
    if (queue->transaction != NULL)
        return ELAPSE__QUEUE_OK; /* the transaction has checked the limits for all its puts */
    if (queue->jobs.count - ends >= queue->options.jobs_max || plan->id > ELAPSE__QUEUE_ID_MAX)
        return ELAPSE__QUEUE_LIMIT;
    return plan->put->token.size == 0 || elapse__queue_tokens_fit(queue, 1)
               ? ELAPSE__QUEUE_OK
               : ELAPSE__QUEUE_TOKENS_FULL;
}

/* Plans when the job is due. For DEBOUNCE also notes when the first put was. */
static void plan_due(struct elapse__queue *queue, struct put_plan *plan)
{
    const struct elapse__queue_put *put = plan->put;
    uint64_t present = elapse__queue_present(queue, false);
    if (put->when == ELAPSE__QUEUE_AT) {
        plan->due = (struct elapse__queue_tick){true, elapse__queue_wall_tick(put->at_ms)};
        return;
    }
    if (put->when == ELAPSE__QUEUE_NO_TIME) {
        plan->due = (struct elapse__queue_tick){false, ELAPSE__QUEUE_NO_DUE};
        return;
    }
    plan->due = (struct elapse__queue_tick){false, elapse__queue_after(queue, put->delay_ms)};
    if (put->if_key != ELAPSE__QUEUE_DEBOUNCE)
        return;
    plan->first = present;
    if (plan->debounce) {
        const struct elapse__queue_side *side = elapse__queue_side_of(queue, plan->existing);
        if (side != NULL && elapse__queue_first_of(side) != 0)
            plan->first = side->first;
    }
    uint64_t longest = elapse__queue_whole(queue, put->debounce_max_ms);
    if (put->debounce_max_ms <= (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX &&
        plan->first + longest < plan->due.tick)
        plan->due.tick = plan->first + longest;
}

/* Fills in the fields that the client gave. The plan begins with zeros, so other fields are not set
 * again, which would take long. */
static void plan_fields(struct put_plan *plan)
{
    const struct elapse__queue_put *put = plan->put;
    struct elapse__queue_fields *fields = &plan->fields;
    fields->id = plan->debounce ? 0 : plan->id;
    fields->state = ELAPSE__QUEUE_DELAYED;
    fields->priority = put->priority;
    fields->recurring = put->when == ELAPSE__QUEUE_CRON || put->when == ELAPSE__QUEUE_EVERY;
    fields->tube = put->tube;
    fields->key = put->key;
    fields->tag = put->tag;
    fields->group = put->group;
    fields->kind = put->when;
    fields->ttr_ms = put->ttr_ms;
    fields->expire_ms = put->expire_ms;
    fields->backoff_min_ms = put->backoff_min_ms;
    fields->backoff_max_ms = put->backoff_max_ms;
    fields->retry = put->retry;
    fields->has_first = plan->first != 0;
    fields->token = put->token;
    fields->await = put->await;
    if (put->await > 0)
        fields->awaits = ELAPSE__QUEUE_AWAITS_WAITING;
    if (put->when == ELAPSE__QUEUE_EVERY)
        fields->period_ms = put->period_ms;
    if (put->when == ELAPSE__QUEUE_CRON) {
        fields->cron = put->cron;
        fields->zone = put->zone;
    }
}

/* Puts the headers after the body. Returns false if there is no memory. */
static bool join_headers(struct elapse__queue *queue, const struct elapse__queue_put *put,
                         struct elapse__queue_prepared *prepared)
{
    prepared->body = put->body;
    if (put->headers.size == 0)
        return true;
    prepared->body.size += put->headers.size;
    prepared->joined = elapse__allocate_locked(&queue->memory, 1, prepared->body.size);
    if (prepared->joined == NULL)
        return false;
    if (put->body.size > 0)
        memcpy(prepared->joined, put->body.bytes, put->body.size);
    memcpy(prepared->joined + put->body.size, put->headers.bytes, put->headers.size);
    prepared->body.bytes = prepared->joined;
    return true;
}

static void release_joined(struct elapse__queue *queue,
                           const struct elapse__queue_prepared *prepared)
{
    if (prepared->joined != NULL)
        elapse__release_locked(&queue->memory, prepared->joined, prepared->body.size);
}

static struct elapse__queue_recurrence *recurrence_of(const struct elapse__queue *queue,
                                                      const struct elapse__queue_built *built)
{
    return elapse__queue_side_of(queue, built->entry)->recurrence;
}

/* Allocates everything that the put needs, except room in the heap and in the journal. If this
 * fails, nothing has changed. */
static enum elapse__queue_result prepare(struct elapse__queue *queue, struct put_plan *plan,
                                         const char **fault)
{
    struct elapse__queue_prepared *prepared = &plan->prepared;
    enum elapse__queue_result result =
        elapse__queue_build(queue, &plan->fields, &prepared->built, fault);
    if (result != ELAPSE__QUEUE_OK)
        return result;
    if (plan->fields.recurring &&
        !elapse__queue_recurrence_first(queue, recurrence_of(queue, &prepared->built))) {
        *fault = "the cron expression names no moment from now on";
        result = ELAPSE__QUEUE_ARGUMENT;
    }
    if (result == ELAPSE__QUEUE_OK && plan->put->token.size > 0) {
        prepared->token = elapse__queue_token_make(queue);
        if (prepared->token == 0)
            result = ELAPSE__QUEUE_NO_MEMORY;
    }
    if (result == ELAPSE__QUEUE_OK && !join_headers(queue, plan->put, prepared))
        result = ELAPSE__QUEUE_NO_MEMORY;
    if (result != ELAPSE__QUEUE_OK)
        elapse__queue_put_unprepare(queue, prepared);
    return result;
}

void elapse__queue_put_unprepare(struct elapse__queue *queue,
                                 struct elapse__queue_prepared *prepared)
{
    release_joined(queue, prepared);
    if (prepared->token != 0)
        elapse__queue_token_give(queue, prepared->token);
    elapse__queue_build_undo(queue, &prepared->built);
    *prepared = (struct elapse__queue_prepared){0};
}

enum elapse__queue_result elapse__queue_put_prepare(struct elapse__queue *queue,
                                                    const struct elapse__queue_put *put,
                                                    struct elapse__queue_prepared *prepared,
                                                    const char **fault)
{
    ELAPSE__ASSERT(elapse__queue_put_fault(queue, put) == NULL);
    /* The id of the put depends on whether a job has the key, which is not known yet. */
    struct put_plan plan = {.put = put, .first = put->if_key == ELAPSE__QUEUE_DEBOUNCE};
    plan_fields(&plan);
    enum elapse__queue_result result = prepare(queue, &plan, fault);
    *prepared = plan.prepared;
    return result;
}

uint64_t elapse__queue_put_bytes(const struct elapse__queue_put *put)
{
    enum {
        TEXTS_MAX = ELAPSE__QUEUE_TUBE_BYTES_MAX + 3 * ELAPSE__QUEUE_KEY_BYTES_MAX +
                    ELAPSE__QUEUE_CRON_BYTES_MAX + ELAPSE__QUEUE_ZONE_BYTES_MAX,
        FIXED_MAX = ELAPSE__QUEUE_FIELDS_MAX - TEXTS_MAX,
    };
    uint64_t texts = (uint64_t)put->tube.size + put->key.size + put->tag.size + put->group.size +
                     put->cron.size + put->zone.size + put->headers.size + put->body.size;
    uint64_t frame = elapse__record_bytes_max(FIXED_MAX, 0);
    uint64_t ended = elapse__record_bytes_max(ELAPSE__QUEUE_SMALL_MAX, 0);
    return frame + texts + (put->key.size > 0 ? ended : 0) +
           (put->token.size > 0 ? frame + put->token.size : 0);
}

/* Makes room for the put in the heap and in the journal. */
static enum elapse__queue_result make_room(struct elapse__queue *queue, struct put_plan *plan)
{
    const struct elapse__queue_prepared *prepared = &plan->prepared;
    uint64_t bytes =
        elapse__record_bytes_max(ELAPSE__QUEUE_FIELDS_MAX, (uint32_t)prepared->body.size) +
        elapse__record_bytes_max(ELAPSE__QUEUE_FIELDS_MAX, 0);
    if (plan->fields.recurring)
        plan->due = (struct elapse__queue_tick){
            true, elapse__queue_wall_tick(recurrence_of(queue, &prepared->built)->occurrence_ms)};
    if (!elapse__queue_waiting_room(queue, prepared->built.entry, plan->due))
        return ELAPSE__QUEUE_NO_MEMORY;
    return elapse__queue_begin(queue, 1, bytes, ELAPSE__RECORD_FOR_GROWTH) ? ELAPSE__QUEUE_OK
                                                                           : ELAPSE__QUEUE_REFUSED;
}

/* Allocates everything that the put needs, and begins its group. If this fails, nothing has
 * changed. */
static enum elapse__queue_result plan_memory(struct elapse__queue *queue, struct put_plan *plan,
                                             const char **fault)
{
    struct elapse__queue_transaction *transaction = queue->transaction;
    enum elapse__queue_result result = ELAPSE__QUEUE_OK;
    if (transaction == NULL) {
        result = prepare(queue, plan, fault);
        if (result != ELAPSE__QUEUE_OK)
            return result;
    } else {
        plan->prepared = *transaction->prepared;
        *transaction->prepared = (struct elapse__queue_prepared){0};
    }
    result = make_room(queue, plan);
    ELAPSE__ASSERT(result == ELAPSE__QUEUE_OK || transaction == NULL);
    if (result != ELAPSE__QUEUE_OK)
        elapse__queue_put_unprepare(queue, &plan->prepared);
    return result;
}

#ifdef ELAPSE__ASSERTIONS
/* Returns whether the fields describe the job. Does not compare its texts. */
static bool describes(const struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                      const struct elapse__queue_fields *fields)
{
    unsigned char bytes[2][ELAPSE__QUEUE_FIELDS_MAX];
    struct elapse__queue_fields described;
    elapse__queue_describe(queue, entry, &described);
    described.key = fields->key;
    described.tag = fields->tag;
    described.group = fields->group;
    described.cron = fields->cron;
    described.zone = fields->zone;
    described.put_ms = fields->put_ms;
    described.headers_size = fields->headers_size;
    uint16_t size = elapse__queue_fields_encode(fields, ELAPSE__RECORD_PUT, bytes[0]);
    return elapse__queue_fields_encode(&described, ELAPSE__RECORD_PUT, bytes[1]) == size &&
           memcmp(bytes[0], bytes[1], size) == 0;
}
#endif

/* Writes the record of the job. Some fields come from the plan, which has what the client gave. The
 * other fields come from the job as it is now. */
static void write_job(struct elapse__queue *queue, struct put_plan *plan)
{
    struct elapse__queue_fields *fields = &plan->fields;
    elapse__queue_describe_state(queue, plan->prepared.built.entry, fields);
    fields->put_ms = queue->now.wall_ms;
    fields->headers_size = (uint16_t)plan->put->headers.size;
    ELAPSE__ASSERT(describes(queue, plan->prepared.built.entry, fields));
    elapse__queue_write_put(queue, plan->prepared.built.entry, fields, plan->prepared.body, 0);
    release_joined(queue, &plan->prepared);
}

void elapse__queue_keep_token(struct elapse__queue *queue, uint32_t number,
                              struct elapse__hash_128 hash, struct elapse__queue_fields fields,
                              uint64_t life_ms)
{
    if (life_ms == 0)
        life_ms = ELAPSE__QUEUE_TOKEN_MS;
    /* A token in a record always lives for ten minutes. So if a token lives for less time, its
     * record says that the token came earlier than it did. */
    fields.token_ms = queue->now.wall_ms - (int64_t)(ELAPSE__QUEUE_TOKEN_MS - life_ms);
    uint64_t end = elapse__queue_present(queue, false) + life_ms + 999;
    struct elapse__queue_token token = {
        .end_s = (uint32_t)((end - ELAPSE__QUEUE_ORIGIN) / 1000),
        .hash = hash,
        .id = fields.id,
    };
    token.position = elapse__queue_write_token(queue, &fields, &token.size);
    elapse__queue_token_link(queue, number, token, life_ms);
}

/* Carries out the plan. Cannot fail. */
static struct elapse__queue_answer perform_put(struct elapse__queue *queue, struct put_plan *plan)
{
    enum elapse__queue_result result = ELAPSE__QUEUE_SCHEDULED;
    ELAPSE__ASSERT(plan->prepared.built.tube != NULL && plan->prepared.built.entry != NULL);
    ELAPSE__ASSERT((plan->prepared.token != 0) == (plan->put->token.size > 0));
    ELAPSE__ASSERT(!plan->debounce || plan->existing != NULL);
    if (plan->existing != NULL) {
        result = ELAPSE__QUEUE_REPLACED;
        queue->totals.replaced++;
        plan->prepared.built.tube->totals.replaced++;
    }
    if (plan->debounce) {
        elapse__queue_set_failure(queue, plan->existing, ELAPSE__QUEUE_FAILURE_NONE);
        elapse__queue_leave_state(queue, plan->existing);
        elapse__queue_build_replace(queue, &plan->prepared.built, plan->existing);
    } else {
        if (plan->existing != NULL) {
            elapse__queue_tell(queue, plan->existing, ELAPSE__OUTCOME_REPLACED);
            (void)elapse__queue_cancel_entry(queue, plan->existing);
        }
        ELAPSE__ASSERT_THAT(plan->id, ==, next_id(queue));
        queue->last_id = plan->id;
        elapse__queue_build_enter(queue, &plan->prepared.built, plan->id);
        queue->totals.total_jobs++;
        plan->prepared.built.tube->totals.total_jobs++;
    }
    struct elapse__queue_entry *entry = plan->prepared.built.entry;
    if (plan->first != 0)
        elapse__queue_side_of(queue, entry)->first = plan->first;
    if (plan->put->await > 0)
        elapse__queue_set_await(elapse__queue_side_of(queue, entry), ELAPSE__QUEUE_AWAITS_WAITING,
                                plan->put->await);
    elapse__queue_enter_waiting(queue, entry, plan->due);
    write_job(queue, plan);
    if (plan->prepared.token != 0)
        elapse__queue_keep_token(
            queue, plan->prepared.token, plan->token_hash,
            (struct elapse__queue_fields){.id = plan->id, .token = plan->put->token},
            plan->put->token_life_ms);
    elapse__queue_tube_release(queue, plan->prepared.built.tube);
    return (struct elapse__queue_answer){
        .result = result, .id = plan->id, .position = elapse__queue_end(queue)};
}

/* Returns the answer of the put if the put stores nothing because another job has the key. Returns
 * SCHEDULED if the put goes on. */
static enum elapse__queue_result answer_of_key(const struct elapse__queue_put *put,
                                               enum elapse__queue_state state)
{
    if (put->if_key == ELAPSE__QUEUE_FAIL)
        return ELAPSE__QUEUE_KEY_TAKEN;
    if (put->if_key != ELAPSE__QUEUE_KEEP)
        return ELAPSE__QUEUE_SCHEDULED;
    if (state == ELAPSE__QUEUE_RESERVED)
        return ELAPSE__QUEUE_RUNNING;
    return state == ELAPSE__QUEUE_BURIED ? ELAPSE__QUEUE_WAS_BURIED : ELAPSE__QUEUE_KEPT;
}

struct elapse__queue_answer elapse__queue_put(struct elapse__queue *queue,
                                              struct elapse__queue_now now,
                                              const struct elapse__queue_put *put)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    const char *fault = elapse__queue_put_fault(queue, put);
    if (fault != NULL)
        return elapse__queue_fault(fault);
    struct put_plan plan = {.put = put};
    if (put->token.size > 0) {
        plan.token_hash = elapse__queue_token_hash(queue, put->token);
        const struct elapse__queue_token *known =
            elapse__queue_token_find(queue, plan.token_hash, elapse__queue_present(queue, false));
        if (known != NULL)
            return elapse__queue_say(ELAPSE__QUEUE_KNOWN, known->id);
    }
    if (put->key.size > 0)
        plan.existing = elapse__queue_key_find(
            queue, elapse__queue_key_hash(queue, put->tube, put->key), false);
    if (plan.existing != NULL) {
        enum elapse__queue_state state = elapse__queue_state_of(plan.existing);
        enum elapse__queue_result result = answer_of_key(put, state);
        if (result != ELAPSE__QUEUE_SCHEDULED)
            return elapse__queue_say(result, elapse__queue_id(plan.existing));
        plan.debounce = put->if_key == ELAPSE__QUEUE_DEBOUNCE &&
                        (state == ELAPSE__QUEUE_DELAYED || state == ELAPSE__QUEUE_READY);
    }
    enum elapse__queue_result result = check_limits(queue, &plan);
    if (result != ELAPSE__QUEUE_OK)
        return elapse__queue_say(result, 0);
    plan_due(queue, &plan);
    plan_fields(&plan);
    result = plan_memory(queue, &plan, &fault);
    if (result != ELAPSE__QUEUE_OK) {
        struct elapse__queue_answer answer = elapse__queue_say(result, 0);
        answer.fault = result == ELAPSE__QUEUE_ARGUMENT ? fault : NULL;
        return answer;
    }
    return perform_put(queue, &plan);
}
