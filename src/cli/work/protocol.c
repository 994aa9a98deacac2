#include "protocol.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../base/assert.h"
#include "../client/answer.h"

void protocol_reserve(struct request *request, char *const *tubes, size_t tube_count, size_t count,
                      bool waits)
{
    ELAPSE__ASSERT_THAT(count, >, 0U);
    ELAPSE__ASSERT_THAT(tube_count, >, 0U);
    request_clear(request);
    request_add_text(request, "RESERVE");
    for (size_t i = 0; i < tube_count; i++)
        request_add_text(request, tubes[i]);
    request_add_text(request, "COUNT");
    request_add_number(request, count);
    if (waits) {
        request_add_text(request, "WAIT");
        request_add_text(request, "10s");
    }
    request_add_text(request, "DETAILS");
}

/* Adds the job with its lease, and the other jobs of an extension with theirs. */
static void add_leases(struct request *request, const struct work_effect *effect)
{
    const struct work_job *job = effect->job;

    _Static_assert(1 + 2 * WORKER_EXTENDED_MAX <= REQUEST_WORDS_MAX,
                   "EXTEND has its verb, and an id and a lease for each job");
    do {
        request_add_number(request, job->id);
        request_add_text(request, job->lease);
        job = effect->kind == EFFECT_EXTEND ? job->next_extended : NULL;
    } while (job != NULL);
}

void protocol_ask_about(struct request *request, const struct work_effect *effect)
{
    static const char *const verbs[] = {
        [EFFECT_LOOK] = "LOOKUPID", [EFFECT_EXTEND] = "EXTEND", [EFFECT_ACK] = "ACK",
        [EFFECT_NACK] = "NACK",     [EFFECT_NACK_IN] = "NACK",
    };
    char delay[24];

    ELAPSE__ASSERT(effect->kind >= EFFECT_LOOK && effect->kind <= EFFECT_NACK_IN);
    request_clear(request);
    request_add_text(request, verbs[effect->kind]);
    if (effect->kind == EFFECT_LOOK)
        request_add_number(request, effect->job->id);
    else
        add_leases(request, effect);
    if (effect->kind == EFFECT_NACK_IN || effect->delay_ms > 0) {
        (void)snprintf(delay, sizeof delay, "%" PRIu64 "ms", effect->delay_ms);
        request_add_text(request, effect->kind == EFFECT_NACK_IN ? "IN" : "AFTER");
        request_add_text(request, delay);
    }
    bool is_nack = effect->kind == EFFECT_NACK || effect->kind == EFFECT_NACK_IN;
    if (is_nack && effect->job->error != NULL) {
        request_add_text(request, "ERROR");
        request_add_text(request, effect->job->error);
    }
}

/* Reads what is not a word. */
static enum work_answer read_error(const redisReply *reply)
{
    enum exit_status status =
        reply->type == REDIS_REPLY_ERROR ? answer_status_of_error(reply->str) : STATUS_FAILED;

    if (status == STATUS_USAGE)
        return ANSWER_REFUSED;
    return status == STATUS_UNKNOWN ? ANSWER_UNKNOWN : ANSWER_ERROR;
}

enum work_answer protocol_read_word(const redisReply *reply, size_t place)
{
    /* The reply to ACK, and the reply for many leases, is an array with a word for each job. */
    if (reply->type == REDIS_REPLY_ARRAY && place < reply->elements)
        reply = reply->element[place];
    if (!answer_is_name(reply))
        return read_error(reply);
    if (answer_is_word(reply, "gone"))
        return ANSWER_GONE;
    return answer_is_word(reply, "cancelled") ? ANSWER_CANCELLED : ANSWER_OK;
}

enum work_answer protocol_read_look(const redisReply *reply, const char *lease, uint64_t *ttr_ns)
{
    const uint64_t millisecond_ns = 1000000;
    const redisReply *state = answer_member(reply, "state");
    const redisReply *own = answer_member(reply, "lease");

    *ttr_ns = answer_number(reply, "ttr") * millisecond_ns;
    if (reply->type == REDIS_REPLY_ERROR)
        return ANSWER_ERROR;
    if (state != NULL && answer_is_word(state, "cancelled"))
        return ANSWER_CANCELLED;
    return own != NULL && answer_is_word(own, lease) ? ANSWER_OK : ANSWER_GONE;
}
