/*
 * Keeps tokens. For ten minutes, or for as long as the put says, the token of a put stands for the
 * job that the put made. Tokens are in lists by the time at which they came. The lives of the
 * tokens in a list differ by less than a factor of two. So a token that has ended may wait behind
 * another token before it is released, but for no longer than it lived. Tokens that were replayed
 * are in the list of the longest lives, and wait there for ten minutes at most.
 */
#include <string.h>

#include "tables.h"

enum { TOKENS_CHUNK_BITS = 8 };

static struct elapse__queue_token *token_at(const struct elapse__queue *queue, uint32_t number)
{
    return elapse__queue_slab_at(&queue->tokens, number);
}

static uint32_t *token_link(void *owner, uint32_t number)
{
    return &token_at(owner, number)->link;
}

static uint64_t token_hash(void *owner, uint32_t number)
{
    return token_at(owner, number)->hash.low;
}

static const struct elapse__queue_index_owner token_calls = {token_link, token_hash};

void elapse__queue_tokens_init(struct elapse__queue *queue)
{
    elapse__queue_slab_init(&queue->tokens, TOKENS_CHUNK_BITS, sizeof(struct elapse__queue_token),
                            ELAPSE__QUEUE_ITEMS_MAX);
    elapse__queue_index_init(&queue->token_index, &token_calls, queue);
}

struct elapse__hash_128 elapse__queue_token_hash(const struct elapse__queue *queue,
                                                 struct elapse__queue_text token)
{
    return elapse__sip_hash_128(&queue->secret, token.bytes, token.size);
}

struct elapse__hash_128 elapse__queue_arrival_hash(const struct elapse__queue *queue,
                                                   struct elapse__queue_text tube,
                                                   struct elapse__queue_text key,
                                                   struct elapse__queue_text token)
{
    struct {
        struct elapse__hash_128 job;
        unsigned char token[ELAPSE__QUEUE_KEY_BYTES_MAX];
    } bytes = {.job = elapse__queue_key_hash(queue, tube, key)};
    ELAPSE__ASSERT_THAT(token.size, <=, sizeof bytes.token);
    if (token.size > 0)
        memcpy(bytes.token, token.bytes, token.size);
    return elapse__sip_hash_128(&queue->secret, &bytes, sizeof bytes.job + token.size);
}

struct elapse__hash_128 elapse__queue_token_hash_of(const struct elapse__queue *queue,
                                                    const struct elapse__queue_fields *fields)
{
    return fields->key.size == 0
               ? elapse__queue_token_hash(queue, fields->token)
               : elapse__queue_arrival_hash(queue, fields->tube, fields->key, fields->token);
}

static uint32_t seconds_of(uint64_t tick)
{
    uint64_t seconds = (tick - ELAPSE__QUEUE_ORIGIN) / 1000;
    return seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
}

struct elapse__queue_token *elapse__queue_token_find(const struct elapse__queue *queue,
                                                     struct elapse__hash_128 hash, uint64_t tick)
{
    uint32_t number = elapse__queue_index_first(&queue->token_index, hash.low);
    for (; number != 0; number = elapse__queue_index_next(&queue->token_index, number, hash.low)) {
        struct elapse__queue_token *token = token_at(queue, number);
        if (token->hash.low == hash.low && token->hash.high == hash.high &&
            token->end_s > seconds_of(tick))
            return token;
    }
    return NULL;
}

bool elapse__queue_knows_token(const struct elapse__queue *queue, struct elapse__queue_now now,
                               struct elapse__queue_text token)
{
    ELAPSE__ASSERT(queue->open);
    return token.size > 0 && elapse__queue_token_find(queue, elapse__queue_token_hash(queue, token),
                                                      elapse__queue_boot_tick(now.boot_ms)) != NULL;
}

struct elapse__queue_token *elapse__queue_token_of_record(const struct elapse__queue *queue,
                                                          struct elapse__hash_128 hash,
                                                          uint64_t position)
{
    uint32_t number = elapse__queue_index_first(&queue->token_index, hash.low);
    for (; number != 0; number = elapse__queue_index_next(&queue->token_index, number, hash.low)) {
        struct elapse__queue_token *token = token_at(queue, number);
        if (token->position == position)
            return token;
    }
    return NULL;
}

uint32_t elapse__queue_token_make(struct elapse__queue *queue)
{
    if (!elapse__queue_index_prepare(&queue->token_index, &queue->memory))
        return 0;
    return elapse__queue_slab_take(&queue->tokens, &queue->memory);
}

void elapse__queue_token_give(struct elapse__queue *queue, uint32_t number)
{
    elapse__queue_slab_give(&queue->tokens, number);
}

/* Returns the list for tokens that live for this time. List n has the tokens that live for 2^n to
 * 2^(n + 1) seconds. */
static unsigned list_of(uint64_t life_ms)
{
    unsigned list = 0;

    ELAPSE__ASSERT_THAT(life_ms, >=, ELAPSE__QUEUE_TOKEN_MS_MIN);
    ELAPSE__ASSERT_THAT(life_ms, <=, ELAPSE__QUEUE_TOKEN_MS);
    while (life_ms / 1000 >> (list + 1) != 0)
        list++;
    ELAPSE__ASSERT_THAT(list, <, ELAPSE__QUEUE_TOKEN_LISTS);
    return list;
}

void elapse__queue_token_link(struct elapse__queue *queue, uint32_t number,
                              struct elapse__queue_token token, uint64_t life_ms)
{
    uint32_t *oldest = &queue->oldest_token[list_of(life_ms)];
    uint32_t *newest = &queue->newest_token[list_of(life_ms)];

    ELAPSE__ASSERT((*oldest == 0) == (*newest == 0));
    ELAPSE__ASSERT_THAT(token.position % 8, ==, 0);
    token.newer = 0;
    *token_at(queue, number) = token;
    if (*newest != 0)
        token_at(queue, *newest)->newer = number;
    else
        *oldest = number;
    *newest = number;
    elapse__queue_index_insert(&queue->token_index, number, &queue->memory);
}

/* Ends the oldest token of a list. Requires that the list has a token. */
static void end_oldest(struct elapse__queue *queue, unsigned list)
{
    uint32_t number = queue->oldest_token[list];
    const struct elapse__queue_token *token = token_at(queue, number);

    if (token->position != 0)
        queue->sink->live(queue->sink, token->position, -(int64_t)token->size);
    queue->oldest_token[list] = token->newer;
    ELAPSE__ASSERT((queue->oldest_token[list] == 0) == (number == queue->newest_token[list]));
    if (queue->oldest_token[list] == 0)
        queue->newest_token[list] = 0;
    elapse__queue_index_remove(&queue->token_index, number, &queue->memory);
    elapse__queue_slab_give(&queue->tokens, number);
}

bool elapse__queue_tokens_expire(struct elapse__queue *queue, uint64_t tick, uint32_t most)
{
    /* Most queues have no tokens: this saves 150 instructions in each turn. */
    if (queue->tokens.count == 0)
        return false;
    for (unsigned list = 0; list < ELAPSE__QUEUE_TOKEN_LISTS; list++) {
        while (queue->oldest_token[list] != 0 &&
               token_at(queue, queue->oldest_token[list])->end_s <= seconds_of(tick)) {
            if (most-- == 0)
                return true;
            end_oldest(queue, list);
        }
    }
    return false;
}

bool elapse__queue_tokens_fit(struct elapse__queue *queue, uint32_t more)
{
    (void)elapse__queue_tokens_expire(queue, elapse__queue_present(queue, false),
                                      ELAPSE__QUEUE_TURN_MAX);
    return (uint64_t)queue->tokens.count + more <= queue->options.tokens_max;
}

uint64_t elapse__queue_token_next(const struct elapse__queue *queue)
{
    uint64_t next = ELAPSE_NEVER;

    if (queue->tokens.count == 0)
        return next;
    for (unsigned list = 0; list < ELAPSE__QUEUE_TOKEN_LISTS; list++) {
        uint32_t number = queue->oldest_token[list];
        uint64_t end = number == 0
                           ? ELAPSE_NEVER
                           : ELAPSE__QUEUE_ORIGIN + (uint64_t)token_at(queue, number)->end_s * 1000;
        next = end < next ? end : next;
    }
    return next;
}

bool elapse__queue_token_replay(struct elapse__queue *queue, struct elapse__queue_token token)
{
    ELAPSE__ASSERT(!queue->open);
    struct elapse__queue_token *known =
        elapse__queue_token_find(queue, token.hash, ELAPSE__QUEUE_ORIGIN);
    if (known != NULL) {
        queue->sink->live(queue->sink, known->position, -(int64_t)known->size);
        known->size = token.size;
        known->id = token.id;
        known->position = token.position;
        known->end_s = token.end_s;
    } else {
        uint32_t number = elapse__queue_token_make(queue);
        if (number == 0)
            return false;
        elapse__queue_token_link(queue, number, token, ELAPSE__QUEUE_TOKEN_MS);
    }
    queue->sink->live(queue->sink, token.position, (int64_t)token.size);
    return true;
}

static void forget_in_list(struct elapse__queue *queue, unsigned list, uint64_t position)
{
    uint32_t before = 0;

    for (uint32_t number = queue->oldest_token[list], newer; number != 0; number = newer) {
        const struct elapse__queue_token *token = token_at(queue, number);
        newer = token->newer;
        if (token->position >= position) {
            before = number;
            continue;
        }
        queue->sink->live(queue->sink, token->position, -(int64_t)token->size);
        if (before != 0)
            token_at(queue, before)->newer = newer;
        else
            queue->oldest_token[list] = newer;
        if (newer == 0)
            queue->newest_token[list] = before;
        elapse__queue_index_remove(&queue->token_index, number, &queue->memory);
        elapse__queue_slab_give(&queue->tokens, number);
    }
}

void elapse__queue_tokens_forget(struct elapse__queue *queue, uint64_t position)
{
    for (unsigned list = 0; list < ELAPSE__QUEUE_TOKEN_LISTS; list++)
        forget_in_list(queue, list, position);
}

void elapse__queue_tokens_open(struct elapse__queue *queue)
{
    const int64_t lasts_s = ELAPSE__QUEUE_TOKEN_MS / 1000 + 1;
    int64_t wall_s = queue->now.wall_ms / 1000;
    /* The present is rounded up, and so is the end of the token, because a token must not end
     * early. */
    uint32_t boot_s = seconds_of(elapse__queue_present(queue, false) + 999);
    uint32_t number = queue->oldest_token[ELAPSE__QUEUE_TOKEN_LISTS - 1];
    for (; number != 0; number = token_at(queue, number)->newer) {
        struct elapse__queue_token *token = token_at(queue, number);
        int64_t left_s = (int64_t)token->end_s - wall_s;
        /* If the wall clock was set back meanwhile, the time that is left would be too long. */
        if (left_s > lasts_s)
            left_s = lasts_s;
        token->end_s = left_s > 0 ? boot_s + (uint32_t)left_s : 0;
    }
}
