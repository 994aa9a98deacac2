/*
 * Runs PUT.
 */
#include <string.h>

#include "commands.h"
#include "options.h"
#include "reply.h"

static bool refuse(const struct elapse__resp_call *call, const char *text)
{
    (void)elapse__resp_reply_error(call->connection, text, NULL);
    return false;
}

/* Reads a whole number if the option was given. */
static bool read_number(const struct elapse__resp_call *call, uint32_t place, uint32_t *number)
{
    uint64_t value = *number;

    if (place != 0 && !elapse__resp_read_number(call, place, UINT32_MAX, &value))
        return false;
    *number = (uint32_t)value;
    return true;
}

/* Reads a duration, if the option was given. */
static bool read_duration(const struct elapse__resp_call *call, uint32_t place,
                          uint64_t *duration_ms)
{
    return place == 0 || elapse__resp_read_duration(call, place, duration_ms);
}

/* Reads the options that say when the job is due. */
static bool read_when(const struct elapse__resp_call *call, const uint32_t *places,
                      struct elapse__queue_put *put)
{
    if ((places[ELAPSE__PUT_IN] != 0) + (places[ELAPSE__PUT_AT] != 0) +
            (places[ELAPSE__PUT_EVERY] != 0) + (places[ELAPSE__PUT_CRON] != 0) >
        1)
        return refuse(call, "ERR syntax error: only one of IN, AT, EVERY and CRON");
    if (places[ELAPSE__PUT_ZONE] != 0 && places[ELAPSE__PUT_CRON] == 0)
        return refuse(call, "ERR syntax error: ZONE needs CRON");
    if (places[ELAPSE__PUT_IN] != 0) {
        if (!elapse__resp_read_duration(call, places[ELAPSE__PUT_IN], &put->delay_ms))
            return false;
        if (put->delay_ms == 0 && places[ELAPSE__PUT_AWAIT] != 0)
            put->when = ELAPSE__QUEUE_NO_TIME;
        return true;
    }
    if (places[ELAPSE__PUT_AT] != 0) {
        put->when = ELAPSE__QUEUE_AT;
        return elapse__resp_read_moment(call, places[ELAPSE__PUT_AT], &put->at_ms);
    }
    if (places[ELAPSE__PUT_EVERY] != 0) {
        put->when = ELAPSE__QUEUE_EVERY;
        return elapse__resp_read_duration(call, places[ELAPSE__PUT_EVERY], &put->period_ms);
    }
    if (places[ELAPSE__PUT_CRON] != 0) {
        put->when = ELAPSE__QUEUE_CRON;
        put->cron = elapse__resp_text(call->arguments[places[ELAPSE__PUT_CRON]]);
        if (places[ELAPSE__PUT_ZONE] != 0)
            put->zone = elapse__resp_text(call->arguments[places[ELAPSE__PUT_ZONE]]);
        return true;
    }
    if (places[ELAPSE__PUT_AWAIT] != 0)
        put->when = ELAPSE__QUEUE_NO_TIME;
    return true;
}

/* Reads for how many arrivals the job waits. If a client sends the put of such a job again, the
 * count must not begin anew. So without IFKEY the job that has the key stays. */
static bool read_await(const struct elapse__resp_call *call, const uint32_t *places,
                       struct elapse__queue_put *put)
{
    if (places[ELAPSE__PUT_AWAIT] == 0)
        return true;
    if (!read_number(call, places[ELAPSE__PUT_AWAIT], &put->await))
        return false;
    if (put->await == 0)
        return refuse(call, "ERR AWAIT is 1 to 4294967295");
    if (places[ELAPSE__PUT_KEY] == 0)
        return refuse(call, "ERR syntax error: AWAIT needs KEY");
    if (places[ELAPSE__PUT_IFKEY] == 0)
        put->if_key = ELAPSE__QUEUE_KEEP;
    return true;
}

/* Reads what happens if another job has the key. */
static bool read_if_key(const struct elapse__resp_call *call, const uint32_t *places,
                        struct elapse__queue_put *put)
{
    static const char *const words[] = {
#define WORD(NAME, word) [ELAPSE__QUEUE_##NAME] = #NAME,
        ELAPSE__IF_KEY_WORDS(WORD)
#undef WORD
    };
    enum { WORDS = sizeof words / sizeof *words };

    if (places[ELAPSE__PUT_IFKEY] != 0) {
        struct elapse__wire_resp_argument word = call->arguments[places[ELAPSE__PUT_IFKEY]];
        uint32_t i = 0;
        while (i < WORDS && !elapse__wire_resp_is(word, words[i]))
            i++;
        if (i == WORDS)
            return refuse(call, "ERR syntax error: IFKEY takes REPLACE, KEEP, FAIL or DEBOUNCE");
        if (places[ELAPSE__PUT_KEY] == 0)
            return refuse(call, "ERR syntax error: IFKEY needs KEY");
        put->if_key = (enum elapse__queue_if_key)i;
    }
    if ((put->if_key == ELAPSE__QUEUE_DEBOUNCE) != (places[ELAPSE__PUT_MAX] != 0))
        return refuse(call, "ERR syntax error: DEBOUNCE and MAX belong together");
    return read_duration(call, places[ELAPSE__PUT_MAX], &put->debounce_max_ms);
}

/* Reads a text, if the option was given. An empty text is a fault, because it would mean that the
 * option is missing. */
static bool read_text(const struct elapse__resp_call *call, uint32_t place, const char *fault,
                      struct elapse__queue_text *text)
{
    if (place == 0)
        return true;
    *text = elapse__resp_text(call->arguments[place]);
    return text->size > 0 || refuse(call, fault);
}

/* Reads the token, and how long it lives. */
static bool read_token(const struct elapse__resp_call *call, const uint32_t *places,
                       struct elapse__queue_put *put)
{
    uint32_t life = places[ELAPSE__PUT_FOR];

    if (!read_text(call, places[ELAPSE__PUT_TOKEN], "ERR a token has 1 to 250 bytes", &put->token))
        return false;
    if (life == 0)
        return true;
    if (places[ELAPSE__PUT_TOKEN] == 0)
        return refuse(call, "ERR syntax error: FOR needs TOKEN");
    return elapse__resp_read_duration(call, life, &put->token_life_ms) &&
           (put->token_life_ms > 0 || refuse(call, "ERR a token lives from 1 s to 10 min"));
}

/* Reads the number of failed hand-outs after which the job is buried. The option has two names,
 * ATTEMPTS and RETRY. */
static bool read_attempts(const struct elapse__resp_call *call, const uint32_t *places,
                          struct elapse__queue_put *put)
{
    uint32_t attempts = places[ELAPSE__PUT_ATTEMPTS];
    uint32_t retry = places[ELAPSE__PUT_RETRY];

    if (attempts != 0 && retry != 0)
        return refuse(call, "ERR syntax error: RETRY is the old name of ATTEMPTS: give one");
    if (retry != 0 && !call->session->said_retry) {
        call->session->said_retry = true;
        elapse__session_old_name(call->connection);
    }
    return read_number(call, attempts + retry, &put->retry);
}

/* Reads how the job is handed out, and how often. */
static bool read_work(const struct elapse__resp_call *call, const uint32_t *places,
                      struct elapse__queue_put *put)
{
    uint32_t backoff = places[ELAPSE__PUT_BACKOFF];

    return read_number(call, places[ELAPSE__PUT_PRIORITY], &put->priority) &&
           read_attempts(call, places, put) &&
           read_duration(call, places[ELAPSE__PUT_TTR], &put->ttr_ms) &&
           read_duration(call, places[ELAPSE__PUT_EXPIRE], &put->expire_ms) &&
           read_duration(call, backoff, &put->backoff_min_ms) &&
           read_duration(call, backoff == 0 ? 0 : backoff + 1, &put->backoff_max_ms);
}

static bool read_put(const struct elapse__resp_call *call, struct elapse__queue_put *put)
{
    uint32_t places[ELAPSE__PUT_OPTION_COUNT];

    *put = (struct elapse__queue_put){.tube = elapse__resp_text(call->arguments[1]),
                                      .body = elapse__resp_text(call->arguments[2]),
                                      .priority = ELAPSE__PUT_PRIORITY_DEFAULT,
                                      .ttr_ms = ELAPSE__PUT_TTR_MS_DEFAULT,
                                      .retry = ELAPSE__PUT_ATTEMPTS_DEFAULT,
                                      .backoff_min_ms = ELAPSE__PUT_BACKOFF_MIN_MS_DEFAULT,
                                      .backoff_max_ms = ELAPSE__PUT_BACKOFF_MAX_MS_DEFAULT};
    if (call->count == 3)
        return true;
    if (!elapse__resp_find_options(call, 3, elapse__wire_resp_put_options, ELAPSE__PUT_OPTION_COUNT,
                                   places))
        return false;
    /* Most puts say nothing but when the job is due. Then there is no other option to read. */
    if (call->count == 5 && places[ELAPSE__PUT_IN] != 0)
        return elapse__resp_read_duration(call, places[ELAPSE__PUT_IN], &put->delay_ms);
    return read_when(call, places, put) &&
           read_text(call, places[ELAPSE__PUT_KEY], "ERR a key has 1 to 250 bytes", &put->key) &&
           read_text(call, places[ELAPSE__PUT_TAG], "ERR a tag has 1 to 250 bytes", &put->tag) &&
           read_text(call, places[ELAPSE__PUT_GROUP], "ERR a group has 1 to 250 bytes",
                     &put->group) &&
           read_token(call, places, put) &&
           read_text(call, places[ELAPSE__PUT_HEADERS], "ERR headers have 1 to 4096 bytes",
                     &put->headers) &&
           read_await(call, places, put) && read_if_key(call, places, put) &&
           read_work(call, places, put);
}

static bool has_known_token(const struct elapse__resp_call *call,
                            const struct elapse__queue_change *change)
{
    return elapse__queue_knows_token(elapse__session_queue(call->connection),
                                     elapse__session_now(call->connection), change->put.token);
}

/* Adds up the puts into the same tube that come before this one in its transaction. Passes over
 * those whose token is known if `only_new` is set: they make no job. Returns zeros if there is no
 * transaction. */
static struct elapse__server_puts puts_before(const struct elapse__resp_call *call,
                                              struct elapse__queue_text tube, bool only_new)
{
    const struct elapse__server_options *options = elapse__session_options(call->connection);
    bool has_limits = options->tube_jobs_max > 0 || options->tube_bytes_max > 0;
    struct elapse__server_puts before = {.jobs = 0};

    ELAPSE__ASSERT(call->pass == NULL || call->pass->kind == ELAPSE__RESP_COLLECTS);
    for (uint32_t i = 0; has_limits && call->pass != NULL && i < call->pass->count; i++) {
        const struct elapse__queue_change *change = &call->pass->changes[i];
        if (change->verb != ELAPSE__QUEUE_PUT || change->put.tube.size != tube.size ||
            memcmp(change->put.tube.bytes, tube.bytes, tube.size) != 0 ||
            (only_new && has_known_token(call, change)))
            continue;
        before.jobs++;
        before.bytes += change->put.body.size;
    }
    return before;
}

/* Returns why this put is refused, or NULL if it may run. */
static const char *refusal(const struct elapse__resp_call *call,
                           const struct elapse__queue_put *put)
{
    enum elapse__server_refusal reason =
        elapse__session_may_put(call->connection, put, puts_before(call, put->tube, false));

    /* Most tubes have room for all, so the tokens are looked for only now. */
    if (reason == ELAPSE__PUT_TUBE_FULL)
        reason = elapse__session_may_put(call->connection, put, puts_before(call, put->tube, true));
    switch (reason) {
    case ELAPSE__PUT_DRAINING:
        return "DRAINING the server takes no new jobs";
    case ELAPSE__PUT_TOO_BIG:
        return "ERR the body is longer than the server allows";
    case ELAPSE__PUT_NO_MEMORY:
        return "OOM the server has as much memory as it may take";
    case ELAPSE__PUT_TUBE_FULL:
        return "LIMIT the tube has as many jobs or bytes as it may have";
    case ELAPSE__MAY_PUT:
        break;
    }
    return NULL;
}

enum elapse__session_step elapse__resp_put(const struct elapse__resp_call *call)
{
    struct elapse__queue_change change;
    const struct elapse__queue_put *put = &change.put;
    struct elapse__queue_answer answer;

    change.verb = ELAPSE__QUEUE_PUT;
    if (!read_put(call, &change.put))
        return ELAPSE__STEP_RAN;
    ELAPSE__ASSERT(put->key.size > 0 || put->if_key == ELAPSE__QUEUE_REPLACE);
    ELAPSE__ASSERT(put->key.size > 0 || put->await == 0);
    ELAPSE__ASSERT(put->token.size > 0 || put->token_life_ms == 0);
    ELAPSE__ASSERT((put->cron.size == 0 && put->zone.size == 0) || put->when == ELAPSE__QUEUE_CRON);
    bool is_made = call->pass == NULL || call->pass->kind == ELAPSE__RESP_COLLECTS;
    const char *refused = is_made ? refusal(call, put) : NULL;
    if (refused != NULL)
        return elapse__resp_reply_error(call->connection, refused, NULL);
    if (!elapse__resp_make(call, &change, &answer))
        return ELAPSE__STEP_LATER;
    elapse__session_count(call->connection, ELAPSE__VERB_PUT);
    if (answer.result < ELAPSE__QUEUE_KEY_TAKEN)
        elapse__resp_reply_job(call, &answer);
    else
        elapse__resp_reply_result(call, &answer);
    return ELAPSE__STEP_RAN;
}
