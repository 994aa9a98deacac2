/*
 * Counts arrivals. A job that was put with AWAIT waits for a number of arrivals, and each arrival
 * makes the number smaller. The last arrival makes the job ready, as a due time does.
 */
#include "commands.h"

const char *elapse__queue_arrival_fault(const struct elapse__queue *queue,
                                        const struct elapse__queue_arrival *arrival)
{
    if (queue->options.old_records)
        return elapse__queue_upgrade_first;
    if (!elapse__queue_text_fits(arrival->tube, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX))
        return "the tube's name must have 1 to 200 bytes";
    if (!elapse__queue_text_fits(arrival->key, 1, ELAPSE__QUEUE_KEY_BYTES_MAX))
        return "a key has 1 to 250 bytes";
    if (arrival->count == 0)
        return "at least one arrives";
    return elapse__queue_token_fault(arrival->token, arrival->token_life_ms);
}

uint64_t elapse__queue_arrival_token_bytes(const struct elapse__queue_arrival *arrival)
{
    enum { FIXED = 8 + 8 + 3 };
    return arrival->token.size == 0 ? 0
                                    : elapse__record_bytes_max(FIXED, 0) + arrival->token.size +
                                          arrival->tube.size + arrival->key.size;
}

/* Returns the job with the key if the job waits for arrivals. Otherwise returns NULL. */
static struct elapse__queue_entry *waiting_job(const struct elapse__queue *queue,
                                               const struct elapse__queue_arrival *arrival)
{
    struct elapse__queue_entry *entry = elapse__queue_key_find(
        queue, elapse__queue_key_hash(queue, arrival->tube, arrival->key), false);
    const struct elapse__queue_side *side =
        entry == NULL ? NULL : elapse__queue_side_of(queue, entry);
    return side != NULL && side->awaits == ELAPSE__QUEUE_AWAITS_WAITING ? entry : NULL;
}

bool elapse__queue_arrival_is_known(const struct elapse__queue *queue,
                                    const struct elapse__queue_arrival *arrival,
                                    struct elapse__hash_128 *hash)
{
    if (arrival->token.size == 0)
        return false;
    *hash = elapse__queue_arrival_hash(queue, arrival->tube, arrival->key, arrival->token);
    return elapse__queue_token_find(queue, *hash, elapse__queue_present(queue, false)) != NULL;
}

/* Makes the token of an arrival, if the arrival has one. If a transaction has made the token
 * before, takes that one. Returns OK, TOKENS_FULL or NO_MEMORY. */
static enum elapse__queue_result make_token(struct elapse__queue *queue,
                                            const struct elapse__queue_arrival *arrival,
                                            uint32_t *token)
{
    *token = 0;
    if (arrival->token.size == 0)
        return ELAPSE__QUEUE_OK;
    if (queue->transaction != NULL) {
        *token = queue->transaction->prepared->token;
        queue->transaction->prepared->token = 0;
        ELAPSE__ASSERT_THAT(*token, !=, 0);
        return ELAPSE__QUEUE_OK;
    }
    if (!elapse__queue_tokens_fit(queue, 1))
        return ELAPSE__QUEUE_TOKENS_FULL;
    *token = elapse__queue_token_make(queue);
    return *token != 0 ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_NO_MEMORY;
}

/* Makes room for everything that the arrival does, and begins the group of its records. If the
 * arrival is the last one for which the job waits, `due` is the present. */
static enum elapse__queue_result begin_arrival(struct elapse__queue *queue,
                                               const struct elapse__queue_entry *entry,
                                               const struct elapse__queue_arrival *arrival,
                                               struct elapse__queue_tick due)
{
    if (!elapse__queue_waiting_room(queue, entry, due))
        return ELAPSE__QUEUE_NO_MEMORY;
    /* The work that has arrived is done, so the arrival must count on a full disk, too. But a token
     * takes room on the disk. */
    return elapse__queue_begin(queue, 1, elapse__queue_arrival_token_bytes(arrival),
                               arrival->token.size > 0 ? ELAPSE__RECORD_FOR_GROWTH
                                                       : ELAPSE__RECORD_FOR_RELIEF)
               ? ELAPSE__QUEUE_OK
               : ELAPSE__QUEUE_REFUSED;
}

/* Takes the arrivals off the number for which the job waits. If no arrival is missing then, makes
 * the job ready. */
static struct elapse__queue_answer take_off(struct elapse__queue *queue,
                                            struct elapse__queue_entry *entry,
                                            const struct elapse__queue_arrival *arrival,
                                            uint32_t token, struct elapse__hash_128 hash)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    uint32_t missing = elapse__queue_await_of(side);
    uint32_t left = missing > arrival->count ? missing - arrival->count : 0;
    struct elapse__queue_tick due = {false, left == 0 ? elapse__queue_present(queue, false)
                                                      : ELAPSE__QUEUE_NO_DUE};
    struct elapse__queue_answer answer = {.id = elapse__queue_id(entry)};
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_DELAYED);
    ELAPSE__ASSERT_THAT(missing, >, 0);
    answer.result = begin_arrival(queue, entry, arrival, due);
    if (answer.result != ELAPSE__QUEUE_OK) {
        if (token != 0)
            elapse__queue_token_give(queue, token);
        return answer;
    }
    elapse__queue_set_await(
        side, left == 0 ? ELAPSE__QUEUE_AWAITS_NONE : ELAPSE__QUEUE_AWAITS_WAITING, left);
    if (left == 0)
        elapse__queue_wait_again(queue, entry, due, true);
    else
        elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);
    if (token != 0)
        elapse__queue_keep_token(queue, token, hash,
                                 (struct elapse__queue_fields){.id = answer.id,
                                                               .token = arrival->token,
                                                               .tube = arrival->tube,
                                                               .key = arrival->key},
                                 arrival->token_life_ms);
    answer.left = left;
    answer.position = elapse__queue_end(queue);
    return answer;
}

struct elapse__queue_answer elapse__queue_arrive(struct elapse__queue *queue,
                                                 struct elapse__queue_now now,
                                                 const struct elapse__queue_arrival *arrival)
{
    struct elapse__hash_128 hash = {0};
    uint32_t token = 0;
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    const char *fault = elapse__queue_arrival_fault(queue, arrival);
    if (fault != NULL)
        return elapse__queue_fault(fault);
    struct elapse__queue_entry *entry = waiting_job(queue, arrival);
    if (elapse__queue_arrival_is_known(queue, arrival, &hash)) {
        struct elapse__queue_answer answer = elapse__queue_say(ELAPSE__QUEUE_KNOWN, 0);
        if (entry != NULL)
            answer.left = elapse__queue_await_of(elapse__queue_side_of(queue, entry));
        return answer;
    }
    if (entry == NULL)
        return elapse__queue_say(ELAPSE__QUEUE_GONE, 0);
    enum elapse__queue_result result = make_token(queue, arrival, &token);
    if (result != ELAPSE__QUEUE_OK)
        return elapse__queue_say(result, elapse__queue_id(entry));
    return take_off(queue, entry, arrival, token, hash);
}
