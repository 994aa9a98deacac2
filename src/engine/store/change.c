/*
 * Puts, cancels, kicks and reschedules jobs.
 */
#include "../../base/assert.h"
#include "command.h"

/* How long a lease lasts if the put does not say it. */
#define TTR_DEFAULT_MS UINT64_C(60000)

/* Returns what happens if the key is in use. Unless the put says otherwise, the put replaces the
 * job with its key. A put that waits for arrivals keeps the job, because a put that is repeated
 * must not begin the count of arrivals again. */
static enum elapse__queue_if_key if_key_of(const struct elapse_put *put)
{
    if (put->if_key == ELAPSE_IF_KEY_DEFAULT)
        return put->await > 0 ? ELAPSE__QUEUE_KEEP : ELAPSE__QUEUE_REPLACE;
    return put->if_key == ELAPSE_IF_KEY_REPLACE ? ELAPSE__QUEUE_REPLACE
                                                : (enum elapse__queue_if_key)put->if_key;
}

/* Returns how the due time is given. A job that waits for arrivals and has a delay of 0 gets no due
 * time. With a due time it would not wait for any arrival. */
static enum elapse__queue_when when_of(const struct elapse_put *put)
{
    return put->await > 0 && put->due == ELAPSE_DUE_IN && put->delay_ms == 0
               ? ELAPSE__QUEUE_NO_TIME
               : (enum elapse__queue_when)put->due;
}

struct elapse__queue_put elapse__store_put(const struct elapse_put *put)
{
    return (struct elapse__queue_put){
        .tube = elapse__store_text(put->tube),
        .body = {put->body, put->body_bytes},
        .key = elapse__store_bytes(put->key, put->key_bytes),
        .tag = elapse__store_bytes(put->tag, put->tag_bytes),
        .group = elapse__store_bytes(put->group, put->group_bytes),
        .headers = elapse__store_bytes(put->headers, put->headers_bytes),
        .token = elapse__store_bytes(put->token, put->token_bytes),
        .token_life_ms = put->token_life_ms,
        .when = when_of(put),
        .await = put->await,
        .delay_ms = put->delay_ms,
        .at_ms = put->at_ms,
        .period_ms = put->period_ms,
        .cron = elapse__store_text(put->cron),
        .zone = elapse__store_text(put->zone),
        .if_key = if_key_of(put),
        .debounce_max_ms = put->debounce_max_ms,
        .priority = put->priority,
        .ttr_ms = put->ttr_ms == 0 ? TTR_DEFAULT_MS : put->ttr_ms,
        .expire_ms = put->expire_ms,
        .retry = put->retry,
        .backoff_min_ms = put->backoff_min_ms,
        .backoff_max_ms = put->backoff_max_ms,
    };
}

const char *elapse__store_token_fault(const void *token, size_t bytes)
{
    return token != NULL && bytes == 0 ? "a token has 1 to 250 bytes" : NULL;
}

/* Refuses a command. Returns OK if nothing is wrong with its token. */
static enum elapse_error refuse_token(const void *token, size_t bytes, struct elapse_answer *answer)
{
    const char *fault = elapse__store_token_fault(token, bytes);

    if (fault != NULL && answer != NULL)
        *answer = (struct elapse_answer){.result = ELAPSE_RESULT_NONE, .fault = fault};
    return fault != NULL ? ELAPSE_ERROR_ARGUMENT : ELAPSE_OK;
}

static struct elapse__queue_answer do_put(struct elapse__queue *jobs, struct elapse__queue_now now,
                                          const void *arguments)
{
    struct elapse__queue_put put = elapse__store_put(arguments);
    return elapse__queue_put(jobs, now, &put);
}

_Static_assert((int)ELAPSE_DUE_IN == ELAPSE__QUEUE_IN && (int)ELAPSE_DUE_AT == ELAPSE__QUEUE_AT &&
                   (int)ELAPSE_DUE_EVERY == ELAPSE__QUEUE_EVERY &&
                   (int)ELAPSE_DUE_CRON == ELAPSE__QUEUE_CRON,
               "the due times are those of the queue");
_Static_assert((int)ELAPSE_IF_KEY_KEEP == ELAPSE__QUEUE_KEEP &&
                   (int)ELAPSE_IF_KEY_FAIL == ELAPSE__QUEUE_FAIL &&
                   (int)ELAPSE_IF_KEY_DEBOUNCE == ELAPSE__QUEUE_DEBOUNCE,
               "the modes of a key are those of the queue");

enum elapse_error elapse_queue_put(struct elapse_queue *queue, const struct elapse_put *put,
                                   struct elapse_answer *answer)
{
    enum elapse_error error = refuse_token(put->token, put->token_bytes, answer);

    return error != ELAPSE_OK ? error
                              : elapse__store_run_unless_stopped(queue, do_put, put, answer);
}

/* ---- arrive ---- */

struct elapse__queue_arrival elapse__store_arrival(const struct elapse_arrival *arrival)
{
    return (struct elapse__queue_arrival){
        .tube = elapse__store_text(arrival->tube),
        .key = elapse__store_bytes(arrival->key, arrival->key_bytes),
        .count = arrival->count == 0 ? 1 : arrival->count,
        .token = elapse__store_bytes(arrival->token, arrival->token_bytes),
        .token_life_ms = arrival->token_life_ms,
    };
}

static struct elapse__queue_answer do_arrive(struct elapse__queue *jobs,
                                             struct elapse__queue_now now, const void *arguments)
{
    struct elapse__queue_arrival arrival = elapse__store_arrival(arguments);
    return elapse__queue_arrive(jobs, now, &arrival);
}

enum elapse_error elapse_queue_arrive(struct elapse_queue *queue,
                                      const struct elapse_arrival *arrival,
                                      struct elapse_answer *answer)
{
    enum elapse_error error = refuse_token(arrival->token, arrival->token_bytes, answer);

    return error != ELAPSE_OK ? error : elapse__store_run(queue, do_arrive, arrival, answer);
}

/* ---- by key or id ---- */

struct named {
    struct elapse__queue_text tube;
    struct elapse__queue_text key;
    uint64_t id;
    /* A function of the queue that takes only an id; or NULL, and the command has its own call. */
    struct elapse__queue_answer (*verb)(struct elapse__queue *, struct elapse__queue_now, uint64_t);
    struct elapse__queue_time time;
};

static struct elapse__queue_answer do_cancel(struct elapse__queue *jobs,
                                             struct elapse__queue_now now, const void *arguments)
{
    const struct named *named = arguments;
    return elapse__queue_cancel_key(jobs, now, named->tube, named->key);
}

static struct elapse__queue_answer do_by_id(struct elapse__queue *jobs,
                                            struct elapse__queue_now now, const void *arguments)
{
    const struct named *named = arguments;
    return named->verb(jobs, now, named->id);
}

static struct elapse__queue_answer
do_reschedule(struct elapse__queue *jobs, struct elapse__queue_now now, const void *arguments)
{
    const struct named *named = arguments;
    return elapse__queue_reschedule_key(jobs, now, named->tube, named->key, named->time);
}

static struct elapse__queue_answer
do_reschedule_id(struct elapse__queue *jobs, struct elapse__queue_now now, const void *arguments)
{
    const struct named *named = arguments;
    return elapse__queue_reschedule_id(jobs, now, named->id, named->time);
}

struct elapse__queue_time elapse__store_time(const struct elapse_due_time *time)
{
    return (struct elapse__queue_time){
        .when = (enum elapse__queue_when)time->due,
        .delay_ms = time->delay_ms,
        .at_ms = time->at_ms,
    };
}

enum elapse_error elapse_queue_cancel(struct elapse_queue *queue, const char *tube, const void *key,
                                      size_t key_bytes, struct elapse_answer *answer)
{
    struct named named = {.tube = elapse__store_text(tube),
                          .key = elapse__store_bytes(key, key_bytes)};
    return elapse__store_run(queue, do_cancel, &named, answer);
}

enum elapse_error elapse_queue_cancel_id(struct elapse_queue *queue, uint64_t id,
                                         struct elapse_answer *answer)
{
    struct named named = {.id = id, .verb = elapse__queue_cancel_id};
    return elapse__store_run(queue, do_by_id, &named, answer);
}

enum elapse_error elapse_queue_reschedule(struct elapse_queue *queue, const char *tube,
                                          const void *key, size_t key_bytes,
                                          const struct elapse_due_time *time,
                                          struct elapse_answer *answer)
{
    struct named named = {.tube = elapse__store_text(tube),
                          .key = elapse__store_bytes(key, key_bytes),
                          .time = elapse__store_time(time)};
    return elapse__store_run(queue, do_reschedule, &named, answer);
}

enum elapse_error elapse_queue_reschedule_id(struct elapse_queue *queue, uint64_t id,
                                             const struct elapse_due_time *time,
                                             struct elapse_answer *answer)
{
    struct named named = {.id = id, .time = elapse__store_time(time)};
    return elapse__store_run(queue, do_reschedule_id, &named, answer);
}

enum elapse_error elapse_queue_kick_id(struct elapse_queue *queue, uint64_t id,
                                       struct elapse_answer *answer)
{
    struct named named = {.id = id, .verb = elapse__queue_kick_any_id};
    return elapse__store_run(queue, do_by_id, &named, answer);
}
