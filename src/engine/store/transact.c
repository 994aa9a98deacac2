/*
 * Transactions of the queue that is embedded in a program.
 */
#include <stdlib.h>

#include "../../base/assert.h"
#include "command.h"

struct transaction {
    const struct elapse__queue_change *changes;
    uint32_t count;
    struct elapse__queue_answer *answers;
};

static struct elapse__queue_answer do_transact(struct elapse__queue *jobs,
                                               struct elapse__queue_now now, const void *arguments)
{
    const struct transaction *transaction = arguments;
    return elapse__queue_transact(jobs, now, transaction->changes, transaction->count,
                                  transaction->answers);
}

/* Returns the command of the queue for a change by id. */
static enum elapse__queue_verb verb_of(enum elapse_change_verb verb)
{
    static const enum elapse__queue_verb verbs[] = {
        [ELAPSE_CHANGE_PUT] = ELAPSE__QUEUE_PUT,
        [ELAPSE_CHANGE_CANCEL] = ELAPSE__QUEUE_CANCEL_ID,
        [ELAPSE_CHANGE_RESCHEDULE] = ELAPSE__QUEUE_RESCHEDULE_ID,
        [ELAPSE_CHANGE_KICK_ID] = ELAPSE__QUEUE_KICK_ID,
        [ELAPSE_CHANGE_ACK] = ELAPSE__QUEUE_ACK,
        [ELAPSE_CHANGE_NACK] = ELAPSE__QUEUE_NACK,
        [ELAPSE_CHANGE_NACK_IN] = ELAPSE__QUEUE_NACK_IN,
        [ELAPSE_CHANGE_EXTEND] = ELAPSE__QUEUE_EXTEND,
        [ELAPSE_CHANGE_BURY] = ELAPSE__QUEUE_BURY,
        [ELAPSE_CHANGE_LEASED] = ELAPSE__QUEUE_LEASED,
        [ELAPSE_CHANGE_ARRIVE] = ELAPSE__QUEUE_ARRIVE,
    };
    ELAPSE__ASSERT_THAT((size_t)verb, <, sizeof verbs / sizeof *verbs);
    return verbs[verb];
}

static void name_job(struct elapse__queue_change *inner, const struct elapse_change *change)
{
    inner->named = (struct elapse__queue_change_named){
        .tube = elapse__store_text(change->tube),
        .key = elapse__store_bytes(change->key, change->key_bytes),
        .id = change->id,
        .time = elapse__store_time(&change->time),
    };
    if (change->tube == NULL || change->verb == ELAPSE_CHANGE_KICK_ID)
        return;
    inner->verb =
        change->verb == ELAPSE_CHANGE_CANCEL ? ELAPSE__QUEUE_CANCEL : ELAPSE__QUEUE_RESCHEDULE;
}

static void name_lease(struct elapse__queue_change *inner, const struct elapse_change *change)
{
    bool has_error = change->verb == ELAPSE_CHANGE_NACK || change->verb == ELAPSE_CHANGE_BURY;
    inner->held = (struct elapse__queue_change_held){
        .holder = {.id = change->id,
                   .lease = {.life = change->lease.life, .number = change->lease.number}},
        .delay_ms = change->verb == ELAPSE_CHANGE_NACK_IN ? change->delay_ms : 0,
    };
    if (has_error)
        inner->held.holder.error = elapse__store_bytes(change->error, change->error_bytes);
}

/* Translates a change. Returns NULL, or what is wrong with the change. */
static const char *translate(struct elapse__queue_change *inner, const struct elapse_change *change)
{
    if ((unsigned)change->verb > ELAPSE_CHANGE_ARRIVE)
        return "there is no such verb";
    inner->verb = verb_of(change->verb);
    if (change->verb == ELAPSE_CHANGE_PUT) {
        if (change->put == NULL)
            return "the put of a change is NULL";
        inner->put = elapse__store_put(change->put);
        return elapse__store_token_fault(change->put->token, change->put->token_bytes);
    }
    if (change->verb == ELAPSE_CHANGE_ARRIVE) {
        if (change->arrival == NULL)
            return "the arrival of a change is NULL";
        inner->arrival = elapse__store_arrival(change->arrival);
        return elapse__store_token_fault(change->arrival->token, change->arrival->token_bytes);
    }
    if (change->verb <= ELAPSE_CHANGE_KICK_ID) {
        name_job(inner, change);
    } else {
        name_lease(inner, change);
    }
    return NULL;
}

/* Returns what a function would return that makes only this change. */
static enum elapse_error error_of(const struct elapse_queue *queue,
                                  const struct elapse_change *change,
                                  enum elapse__queue_result result)
{
    bool needs_lease = change->verb >= ELAPSE_CHANGE_ACK && change->verb != ELAPSE_CHANGE_ARRIVE;

    if (result == ELAPSE__QUEUE_GONE && needs_lease)
        return ELAPSE_ERROR_GONE;
    return elapse__store_error(queue, result);
}

static enum elapse_error run(struct elapse_queue *queue, const struct elapse_change *changes,
                             const struct transaction *transaction,
                             struct elapse_change_answer *answers, struct elapse_answer *answer)
{
    ELAPSE__ASSERT(transaction->count > 0 && transaction->count <= ELAPSE_CHANGES_MAX);
    bool puts = false;
    for (uint32_t i = 0; i < transaction->count; i++)
        puts |= changes[i].verb == ELAPSE_CHANGE_PUT;
    enum elapse_error error =
        puts ? elapse__store_run_unless_stopped(queue, do_transact, transaction, answer)
             : elapse__store_run(queue, do_transact, transaction, answer);

    if (error != ELAPSE_OK)
        return error;
    if (answer->result == ELAPSE_RESULT_GONE)
        return ELAPSE_ERROR_GONE;
    for (uint32_t i = 0; i < transaction->count && answers != NULL; i++)
        answers[i] = (struct elapse_change_answer){
            .error = error_of(queue, &changes[i], transaction->answers[i].result),
            .result = elapse__store_result(transaction->answers[i].result),
            .id = transaction->answers[i].id,
            .left = transaction->answers[i].left,
        };
    return ELAPSE_OK;
}

/* Translates the changes. Returns NULL, or what is wrong with them. */
static const char *translate_all(struct elapse_queue *queue, struct elapse__queue_change *inner,
                                 const struct elapse_change *changes, size_t count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        const char *fault = translate(&inner[i], &changes[i]);
        if (fault != NULL)
            return fault;
        bytes += elapse__queue_change_bytes(&inner[i]);
    }
    return bytes <= elapse__engine_transaction_bytes_max(&queue->engine)
               ? NULL
               : "the changes are longer than a quarter of a segment, or than 4 MiB";
}

enum elapse_error elapse_queue_transact(struct elapse_queue *queue,
                                        const struct elapse_change *changes, size_t count,
                                        struct elapse_change_answer *answers,
                                        struct elapse_answer *answer)
{
    struct elapse_answer own;
    enum elapse_error error = ELAPSE_ERROR_ARGUMENT;

    if (answer == NULL)
        answer = &own;
    *answer = (struct elapse_answer){.result = ELAPSE_RESULT_NONE};
    if (count == 0 || count > ELAPSE_CHANGES_MAX) {
        answer->fault = "a transaction has 1 to 1000 changes";
        return error;
    }
    struct elapse__queue_change *inner = malloc(count * sizeof *inner);
    struct elapse__queue_answer *inner_answers = malloc(count * sizeof *inner_answers);
    const struct transaction transaction = {inner, (uint32_t)count, inner_answers};
    if (inner == NULL || inner_answers == NULL)
        error = ELAPSE_ERROR_MEMORY;
    else if ((answer->fault = translate_all(queue, inner, changes, count)) == NULL)
        error = run(queue, changes, &transaction, answers, answer);
    free(inner);
    free(inner_answers);
    return error;
}

_Static_assert((int)ELAPSE_CHANGES_MAX == (int)ELAPSE__QUEUE_CHANGES_MAX,
               "the public limit is that of the queue");
