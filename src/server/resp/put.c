/*
 * PUT.
 */
#include "resp.h"

enum option {
    OPTION_IN,
    OPTION_AT,
    OPTION_EVERY,
    OPTION_CRON,
    OPTION_KEY,
    OPTION_TAG,
    OPTION_TOKEN,
    OPTION_TTR,
    OPTION_PRIORITY,
    OPTION_IFKEY,
    OPTION_MAX,
    OPTION_EXPIRE,
    OPTION_RETRY,
    OPTION_BACKOFF,
    OPTION_ZONE,
    OPTIONS,
};

static const struct elapse__resp_option options[OPTIONS] = {
    [OPTION_IN] = {"IN", 1},
    [OPTION_AT] = {"AT", 1},
    [OPTION_EVERY] = {"EVERY", 1},
    [OPTION_CRON] = {"CRON", 1},
    [OPTION_KEY] = {"KEY", 1},
    [OPTION_TAG] = {"TAG", 1},
    [OPTION_TOKEN] = {"TOKEN", 1},
    [OPTION_TTR] = {"TTR", 1},
    [OPTION_PRIORITY] = {"PRIORITY", 1},
    [OPTION_IFKEY] = {"IFKEY", 1},
    [OPTION_MAX] = {"MAX", 1},
    [OPTION_EXPIRE] = {"EXPIRE", 1},
    [OPTION_RETRY] = {"RETRY", 1},
    [OPTION_BACKOFF] = {"BACKOFF", 2},
    [OPTION_ZONE] = {"ZONE", 1},
};

_Static_assert((int)OPTIONS <= (int)ELAPSE__RESP_OPTIONS_MAX, "all options fit");

static bool refuse(const struct elapse__resp_call *call, const char *text)
{
    (void)elapse__resp_reply_error(call->connection, text, NULL);
    return false;
}

/* Reads when the job is due. */
static bool read_when(const struct elapse__resp_call *call, const uint32_t *places,
                      struct elapse__queue_put *put)
{
    if ((places[OPTION_IN] != 0) + (places[OPTION_AT] != 0) + (places[OPTION_EVERY] != 0) +
            (places[OPTION_CRON] != 0) >
        1)
        return refuse(call, "ERR syntax error: only one of IN, AT, EVERY and CRON");
    if (places[OPTION_ZONE] != 0 && places[OPTION_CRON] == 0)
        return refuse(call, "ERR syntax error: ZONE needs CRON");
    if (places[OPTION_IN] != 0)
        return elapse__resp_read_duration(call, places[OPTION_IN], &put->delay_ms);
    if (places[OPTION_AT] != 0) {
        put->when = ELAPSE__QUEUE_AT;
        return elapse__resp_read_moment(call, places[OPTION_AT], &put->at_ms);
    }
    if (places[OPTION_EVERY] != 0) {
        put->when = ELAPSE__QUEUE_EVERY;
        return elapse__resp_read_duration(call, places[OPTION_EVERY], &put->period_ms);
    }
    if (places[OPTION_CRON] != 0) {
        put->when = ELAPSE__QUEUE_CRON;
        put->cron = elapse__resp_text(call->arguments[places[OPTION_CRON]]);
        if (places[OPTION_ZONE] != 0)
            put->zone = elapse__resp_text(call->arguments[places[OPTION_ZONE]]);
    }
    return true;
}

/* Reads what happens if the key is taken. */
static bool read_if_key(const struct elapse__resp_call *call, const uint32_t *places,
                        struct elapse__queue_put *put)
{
    static const struct {
        const char *name;
        enum elapse__queue_if_key if_key;
    } words[] = {
        {"REPLACE", ELAPSE__QUEUE_REPLACE},
        {"KEEP", ELAPSE__QUEUE_KEEP},
        {"FAIL", ELAPSE__QUEUE_FAIL},
        {"DEBOUNCE", ELAPSE__QUEUE_DEBOUNCE},
    };
    enum { WORDS = sizeof words / sizeof *words };

    if (places[OPTION_IFKEY] != 0) {
        struct elapse__wire_resp_argument word = call->arguments[places[OPTION_IFKEY]];
        uint32_t i = 0;
        while (i < WORDS && !elapse__resp_is(word, words[i].name))
            i++;
        if (i == WORDS)
            return refuse(call, "ERR syntax error: IFKEY takes REPLACE, KEEP, FAIL or DEBOUNCE");
        if (places[OPTION_KEY] == 0)
            return refuse(call, "ERR syntax error: IFKEY needs KEY");
        put->if_key = words[i].if_key;
    }
    if ((put->if_key == ELAPSE__QUEUE_DEBOUNCE) != (places[OPTION_MAX] != 0))
        return refuse(call, "ERR syntax error: DEBOUNCE and MAX belong together");
    return places[OPTION_MAX] == 0 ||
           elapse__resp_read_duration(call, places[OPTION_MAX], &put->debounce_max_ms);
}

/* Reads a text that must not be empty; an empty one would mean that there is none. */
static bool read_text(const struct elapse__resp_call *call, uint32_t place, const char *fault,
                      struct elapse__queue_text *text)
{
    if (place == 0)
        return true;
    *text = elapse__resp_text(call->arguments[place]);
    return text->size > 0 || refuse(call, fault);
}

/* Reads how the job is handed out, and how often. */
static bool read_work(const struct elapse__resp_call *call, const uint32_t *places,
                      struct elapse__queue_put *put)
{
    uint64_t number = ELAPSE__RESP_PRIORITY;

    if (places[OPTION_PRIORITY] != 0 &&
        !elapse__resp_read_number(call, places[OPTION_PRIORITY], UINT32_MAX, &number))
        return false;
    put->priority = (uint32_t)number;
    number = 0;
    if (places[OPTION_RETRY] != 0 &&
        !elapse__resp_read_number(call, places[OPTION_RETRY], UINT32_MAX, &number))
        return false;
    put->retry = (uint32_t)number;
    return (places[OPTION_TTR] == 0 ||
            elapse__resp_read_duration(call, places[OPTION_TTR], &put->ttr_ms)) &&
           (places[OPTION_EXPIRE] == 0 ||
            elapse__resp_read_duration(call, places[OPTION_EXPIRE], &put->expire_ms)) &&
           (places[OPTION_BACKOFF] == 0 ||
            (elapse__resp_read_duration(call, places[OPTION_BACKOFF], &put->backoff_min_ms) &&
             elapse__resp_read_duration(call, places[OPTION_BACKOFF] + 1, &put->backoff_max_ms)));
}

static bool read_put(const struct elapse__resp_call *call, struct elapse__queue_put *put)
{
    uint32_t places[OPTIONS];

    *put = (struct elapse__queue_put){.tube = elapse__resp_text(call->arguments[1]),
                                      .body = elapse__resp_text(call->arguments[2]),
                                      .ttr_ms = ELAPSE__RESP_TTR_MS};
    return elapse__resp_find_options(call, 3, options, OPTIONS, places) &&
           read_when(call, places, put) &&
           read_text(call, places[OPTION_KEY], "ERR a key has 1 to 250 bytes", &put->key) &&
           read_text(call, places[OPTION_TAG], "ERR a tag has 1 to 250 bytes", &put->tag) &&
           read_text(call, places[OPTION_TOKEN], "ERR a token has 1 to 250 bytes", &put->token) &&
           read_if_key(call, places, put) && read_work(call, places, put);
}

/* Returns why this put is refused, NULL if it may run. */
static const char *refusal(const struct elapse__resp_call *call,
                           const struct elapse__queue_put *put)
{
    switch (elapse__session_may_put(call->connection, put->tube, put->body.size)) {
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

static struct elapse__queue_answer do_put(struct elapse__queue *queue, struct elapse__queue_now now,
                                          const void *arguments)
{
    return elapse__queue_put(queue, now, arguments);
}

enum elapse__session_step elapse__resp_put(const struct elapse__resp_call *call)
{
    struct elapse__queue_put put;
    struct elapse__queue_answer answer;

    if (!read_put(call, &put))
        return ELAPSE__STEP_RAN;
    const char *refused = refusal(call, &put);
    if (refused != NULL)
        return elapse__resp_reply_error(call->connection, refused, NULL);
    if (!elapse__session_run(call->connection, do_put, &put, &answer))
        return ELAPSE__STEP_LATER;
    elapse__session_count(call->connection, ELAPSE__VERB_PUT);
    if (answer.result < ELAPSE__QUEUE_KEY_TAKEN)
        elapse__resp_reply_job(call, &answer);
    else
        elapse__resp_reply_result(call, &answer);
    return ELAPSE__STEP_RAN;
}
