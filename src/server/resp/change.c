/*
 * Runs the commands that change jobs, named by key or id, and whole tubes.
 */
#include <stdlib.h>

#include "../../queue/tubes.h"
#include "commands.h"
#include "options.h"
#include "reply.h"

enum { PLACES_A_STEP = 256 }; /* places of jobs that one step of CANCELALL examines */

/* ---- cancel ---- */

/* Returns a change of a job that is named by its key or id. */
static struct elapse__queue_change named_change(enum elapse__queue_verb verb)
{
    struct elapse__queue_change change;
    change.verb = verb;
    change.named = (struct elapse__queue_change_named){.id = 0};
    return change;
}

enum elapse__session_step elapse__resp_cancel(const struct elapse__resp_call *call)
{
    struct elapse__queue_change change = named_change(ELAPSE__QUEUE_CANCEL);
    enum elapse__session_step step = ELAPSE__STEP_RAN;
    bool goes_on = true;

    change.named.tube = elapse__resp_text(call->arguments[1]);
    while (goes_on) {
        ELAPSE__ASSERT_THAT(2 + call->session->done, <, call->count);
        change.named.key = elapse__resp_text(call->arguments[2 + call->session->done]);
        step = elapse__resp_run_part(call, call->count - 2, &change, &goes_on);
    }
    return step;
}

enum elapse__session_step elapse__resp_cancel_id(const struct elapse__resp_call *call)
{
    struct elapse__queue_change change = named_change(ELAPSE__QUEUE_CANCEL_ID);
    enum elapse__session_step step = ELAPSE__STEP_RAN;
    uint32_t place = 0; /* of the id that `change` has; one id is read once */
    bool goes_on = true;

    for (uint32_t i = 1; i < call->count && call->session->done == 0; i++) {
        if (!elapse__resp_read_id(call, i, &change.named.id))
            return ELAPSE__STEP_RAN;
        place = i;
    }
    while (goes_on) {
        bool is_read = place == 1 + call->session->done ||
                       elapse__resp_read_id(call, 1 + call->session->done, &change.named.id);
        ELAPSE__ASSERT(is_read); /* the same text was read before the first part */
        (void)is_read;
        place = 0;
        step = elapse__resp_run_part(call, call->count - 1, &change, &goes_on);
    }
    return step;
}

struct sweep {
    struct elapse__queue_filter filter;
    struct elapse__resp_session *session;
};

static struct elapse__queue_answer
do_cancel_all(struct elapse__queue *queue, struct elapse__queue_now now, const void *arguments)
{
    const struct sweep *sweep = arguments;
    return elapse__queue_cancel_all(queue, now, &sweep->filter, &sweep->session->cursor,
                                    PLACES_A_STEP, &sweep->session->counts[0],
                                    &sweep->session->counts[1]);
}

/* Replies with the error that has ended a CANCELALL. If jobs were cancelled before, the error says
 * how many, and not that nothing has changed. */
static void refuse_sweep(const struct elapse__resp_call *call,
                         const struct elapse__queue_answer *answer)
{
    const struct elapse__resp_session *session = call->session;
    struct elapse__resp_line line = {.size = 0};

    ELAPSE__ASSERT(answer->result != ELAPSE__QUEUE_OK);
    if (session->counts[0] == 0 && session->counts[1] == 0) {
        elapse__resp_reply_result(call, answer);
        return;
    }
    ELAPSE__ASSERT(answer->result == ELAPSE__QUEUE_REFUSED ||
                   answer->result == ELAPSE__QUEUE_NO_MEMORY);
    elapse__resp_add(&line, answer->result == ELAPSE__QUEUE_REFUSED
                                ? "DISKFULL the disk is full; before that, removed "
                                : "OOM there is no memory; before that, removed ");
    elapse__resp_add_number(&line, session->counts[0]);
    elapse__resp_add(&line, " and running ");
    elapse__resp_add_number(&line, session->counts[1]);
    (void)elapse__resp_reply_error(call->connection, line.text, NULL);
}

enum elapse__session_step elapse__resp_cancel_all(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {{"STATE", 1}, {"TAG", 1}};
    uint32_t places[2];
    struct sweep sweep = {.session = call->session};
    struct elapse__queue_answer answer;

    if (!elapse__resp_find_options(call, 2, options, 2, places) ||
        !elapse__resp_read_filter(call, places[0], places[1], &sweep.filter))
        return ELAPSE__STEP_RAN;
    ELAPSE__ASSERT(call->pass == NULL); /* a transaction would be changed by this */
    if (!elapse__session_run(call->connection, do_cancel_all, &sweep, &answer))
        return ELAPSE__STEP_LATER;
    if (answer.result != ELAPSE__QUEUE_OK) {
        refuse_sweep(call, &answer);
        return ELAPSE__STEP_RAN;
    }
    if (call->session->cursor != 0)
        return ELAPSE__STEP_MORE;
    elapse__session_count(call->connection, ELAPSE__VERB_CANCEL_ALL);
    elapse__resp_reply_map(call, 2);
    elapse__resp_reply_bytes(call, "removed", 7);
    elapse__resp_reply_integer(call, call->session->counts[0]);
    elapse__resp_reply_bytes(call, "running", 7);
    elapse__resp_reply_integer(call, call->session->counts[1]);
    return ELAPSE__STEP_RAN;
}

/* ---- reschedule ---- */

enum elapse__session_step elapse__resp_reschedule(const struct elapse__resp_call *call)
{
    struct elapse__queue_change change = named_change(ELAPSE__QUEUE_RESCHEDULE);

    change.named.tube = elapse__resp_text(call->arguments[1]);
    change.named.key = elapse__resp_text(call->arguments[2]);
    if (!elapse__resp_read_time(call, 3, &change.named.time))
        return ELAPSE__STEP_RAN;
    return elapse__resp_run_one(call, &change);
}

enum elapse__session_step elapse__resp_reschedule_id(const struct elapse__resp_call *call)
{
    struct elapse__queue_change change = named_change(ELAPSE__QUEUE_RESCHEDULE_ID);

    if (!elapse__resp_read_id(call, 1, &change.named.id) ||
        !elapse__resp_read_time(call, 2, &change.named.time))
        return ELAPSE__STEP_RAN;
    return elapse__resp_run_one(call, &change);
}

/* ---- arrive ---- */

/* Reads how many have arrived, and the token. */
static bool read_arrival(const struct elapse__resp_call *call,
                         struct elapse__queue_arrival *arrival)
{
    static const struct elapse__wire_resp_option options[] = {{"TOKEN", 1}, {"FOR", 1}};
    uint32_t places[2];
    uint64_t count = 1;
    bool has_count = call->count > 3 && !elapse__wire_resp_is(call->arguments[3], "TOKEN") &&
                     !elapse__wire_resp_is(call->arguments[3], "FOR");
    const char *fault = NULL;

    if ((has_count && !elapse__resp_read_number(call, 3, UINT32_MAX, &count)) ||
        !elapse__resp_find_options(call, has_count ? 4 : 3, options, 2, places) ||
        (places[1] != 0 && !elapse__resp_read_duration(call, places[1], &arrival->token_life_ms)))
        return false;
    arrival->count = (uint32_t)count;
    if (places[0] != 0)
        arrival->token = elapse__resp_text(call->arguments[places[0]]);
    if (count == 0)
        fault = "ERR the count is 1 to 4294967295";
    else if (places[0] != 0 && arrival->token.size == 0)
        fault = "ERR a token has 1 to 250 bytes";
    else if (places[1] != 0 && places[0] == 0)
        fault = "ERR syntax error: FOR needs TOKEN";
    else if (places[1] != 0 && arrival->token_life_ms == 0)
        fault = "ERR a token lives from 1 s to 10 min";
    if (fault != NULL)
        (void)elapse__resp_reply_error(call->connection, fault, NULL);
    return fault == NULL;
}

enum elapse__session_step elapse__resp_arrive(const struct elapse__resp_call *call)
{
    struct elapse__queue_change change = {.verb = ELAPSE__QUEUE_ARRIVE};
    struct elapse__queue_answer answer;

    change.arrival = (struct elapse__queue_arrival){.tube = elapse__resp_text(call->arguments[1]),
                                                    .key = elapse__resp_text(call->arguments[2])};
    if (!read_arrival(call, &change.arrival))
        return ELAPSE__STEP_RAN;
    if (!elapse__resp_make(call, &change, &answer))
        return ELAPSE__STEP_LATER;
    elapse__session_count(call->connection, ELAPSE__VERB_ARRIVE);
    if (answer.result == ELAPSE__QUEUE_OK || answer.result == ELAPSE__QUEUE_KNOWN)
        elapse__resp_reply_integer(call, answer.left);
    else
        elapse__resp_reply_result(call, &answer);
    return ELAPSE__STEP_RAN;
}

/* ---- kick and pause ---- */

enum elapse__session_step elapse__resp_kick_id(const struct elapse__resp_call *call)
{
    struct elapse__queue_change change = named_change(ELAPSE__QUEUE_KICK_ID);

    if (!elapse__resp_read_id(call, 1, &change.named.id))
        return ELAPSE__STEP_RAN;
    return elapse__resp_run_one(call, &change);
}

struct kicking {
    struct elapse__queue_kick *kick;
};

static struct elapse__queue_answer do_kick(struct elapse__queue *queue,
                                           struct elapse__queue_now now, const void *arguments)
{
    const struct kicking *kicking = arguments;
    struct elapse__queue_answer answer = {.result = elapse__queue_kick(queue, now, kicking->kick)};
    answer.position = kicking->kick->position;
    return answer;
}

/* Begins a KICK. Its memory is kept between its steps. */
static bool begin_kick(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option option = {"BURIED", 0};
    uint64_t wanted = 0;
    uint32_t place = 0;

    ELAPSE__ASSERT_THAT(call->session->done, ==, 0);
    ELAPSE__ASSERT(call->pass == NULL);
    if (!elapse__resp_read_number(call, 2, UINT64_MAX, &wanted) ||
        !elapse__resp_find_options(call, 3, &option, 1, &place))
        return false;
    call->session->kick = calloc(1, sizeof *call->session->kick);
    if (call->session->kick == NULL) {
        (void)elapse__resp_reply_error(call->connection, "OOM there is no memory", NULL);
        return false;
    }
    call->session->kick->wanted = wanted;
    call->session->kick->only_buried = place != 0;
    return true;
}

enum elapse__session_step elapse__resp_kick(const struct elapse__resp_call *call)
{
    struct elapse__queue_answer answer;

    if (call->session->kick == NULL && !begin_kick(call))
        return ELAPSE__STEP_RAN;
    struct kicking kicking = {.kick = call->session->kick};
    /* The bytes of the command may have moved since the last step. */
    kicking.kick->tube = elapse__resp_text(call->arguments[1]);
    if (!elapse__session_run(call->connection, do_kick, &kicking, &answer))
        return ELAPSE__STEP_LATER;
    ELAPSE__ASSERT_THAT(kicking.kick->kicked, <=, kicking.kick->wanted);
    if (answer.result == ELAPSE__QUEUE_KEPT)
        return ELAPSE__STEP_MORE;
    elapse__session_count(call->connection, ELAPSE__VERB_KICK);
    /* An error would say that nothing has changed. */
    if (answer.result == ELAPSE__QUEUE_OK || kicking.kick->kicked > 0)
        elapse__resp_reply_integer(call, kicking.kick->kicked);
    else
        elapse__resp_reply_result(call, &answer);
    return ELAPSE__STEP_RAN;
}

/* Runs a command that changes the settings of a tube, counts it, and replies with its word or its
 * error. Returns LATER if the journal takes nothing now. */
static enum elapse__session_step set_tube(const struct elapse__resp_call *call,
                                          elapse__engine_command *command, const void *arguments)
{
    struct elapse__queue_answer answer;

    ELAPSE__ASSERT(call->pass == NULL);
    if (!elapse__session_run(call->connection, command, arguments, &answer))
        return ELAPSE__STEP_LATER;
    elapse__session_count(call->connection, (enum elapse__server_verb)call->command->verb);
    elapse__resp_reply_result(call, &answer);
    return ELAPSE__STEP_RAN;
}

struct pausing {
    struct elapse__queue_text tube;
    uint64_t duration_ms;
};

static struct elapse__queue_answer do_pause(struct elapse__queue *queue,
                                            struct elapse__queue_now now, const void *arguments)
{
    const struct pausing *pausing = arguments;
    return elapse__queue_pause(queue, now, pausing->tube, pausing->duration_ms);
}

enum elapse__session_step elapse__resp_pause(const struct elapse__resp_call *call)
{
    struct pausing pausing = {.tube = elapse__resp_text(call->arguments[1])};

    if (!elapse__resp_read_duration(call, 2, &pausing.duration_ms))
        return ELAPSE__STEP_RAN;
    return set_tube(call, do_pause, &pausing);
}

/* ---- limits ---- */

struct limiting {
    struct elapse__queue_text tube;
    struct elapse__queue_limits limits;
};

static struct elapse__queue_answer do_limit(struct elapse__queue *queue,
                                            struct elapse__queue_now now, const void *arguments)
{
    const struct limiting *limiting = arguments;
    return elapse__queue_limit(queue, now, limiting->tube, &limiting->limits);
}

#define WRITE(field, name, kind)                 \
    elapse__wire_resp_write_text(&writer, name); \
    if (limits.field == 0)                       \
        elapse__wire_resp_write_null(&writer);   \
    else                                         \
        ELAPSE__RESP_WRITE_##kind(&writer, limits.field);

/* Replies with the limits of the tube. */
static enum elapse__session_step show_limits(const struct elapse__resp_call *call)
{
    enum { PAIRS = ELAPSE__LIMIT_FIELDS(ELAPSE__RESP_COUNT_ROW) };
    struct elapse__queue_limits limits;

    elapse__session_count(call->connection, ELAPSE__VERB_STATS_TUBE);
    if (elapse__queue_limits_of(elapse__session_queue(call->connection),
                                elapse__resp_text(call->arguments[1]),
                                &limits) != ELAPSE__QUEUE_OK) {
        elapse__resp_reply_null(call);
        return ELAPSE__STEP_RAN;
    }
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3,
                           (size_t)(3 * PAIRS + 1) * ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__wire_resp_write_map(&writer, PAIRS);
    ELAPSE__LIMIT_FIELDS(WRITE)
    elapse__resp_end(call->connection, &writer);
    return ELAPSE__STEP_RAN;
}

/* Replies with an error, and returns false. */
static bool refuse_limit(const struct elapse__resp_call *call, const char *text)
{
    (void)elapse__resp_reply_error(call->connection, text, NULL);
    return false;
}

/* The next functions read an option whose value is at this place; 0: it was not given. If the value
 * is wrong, they reply with an error and return false. */
static bool read_concurrency(const struct elapse__resp_call *call, uint32_t place,
                             uint32_t *concurrency, const char *fault)
{
    uint64_t number = 0;

    if (place == 0)
        return true;
    if (!elapse__resp_read_number(call, place, UINT32_MAX, &number))
        return false;
    *concurrency = (uint32_t)number;
    return number > 0 || refuse_limit(call, fault);
}

static bool read_buried(const struct elapse__resp_call *call, uint32_t place, uint32_t age,
                        struct elapse__queue_limits *limits)
{
    uint64_t number = 0;

    if (place != 0 && !elapse__resp_read_number(call, place, UINT32_MAX, &number))
        return false;
    limits->buried = (uint32_t)number;
    if (place != 0 && number == 0)
        return refuse_limit(call, "ERR BURIED is 1 to 4294967295");
    if (age == 0)
        return true;
    return elapse__resp_read_duration(call, age, &limits->buried_age_ms) &&
           (limits->buried_age_ms > 0 || refuse_limit(call, "ERR BURIED AGE is at least 1ms"));
}

/* What the two rates say when they are wrong. */
struct rate_texts {
    const char *syntax, *count, *burst;
};

/* Reads RATE or GROUPRATE. `burst` is the place of the value of its BURST. */
static bool read_rate(const struct elapse__resp_call *call, uint32_t place, uint32_t burst,
                      const struct rate_texts *texts, struct elapse__queue_rate *rate)
{
    if (place == 0)
        return burst == 0 || refuse_limit(call, "ERR syntax error: BURST stands behind RATE");
    ELAPSE__ASSERT_THAT(place + 2, <, call->count);
    if (!elapse__wire_resp_is(call->arguments[place + 1], "PER"))
        return refuse_limit(call, texts->syntax);
    if (!elapse__resp_read_number(call, place, ELAPSE__QUEUE_RATE_MAX, &rate->count) ||
        !elapse__resp_read_duration(call, place + 2, &rate->period_ms))
        return false;
    if (rate->count == 0)
        return refuse_limit(call, texts->count);
    if (rate->period_ms == 0 || rate->period_ms > (uint64_t)ELAPSE__QUEUE_RATE_PERIOD_MS_MAX)
        return refuse_limit(call, "ERR the time of a rate is 1ms to 366d");
    rate->burst = elapse__queue_rate_least_burst(rate->count, rate->period_ms);
    if (burst != 0 && !elapse__resp_read_number(call, burst, ELAPSE__QUEUE_RATE_MAX, &rate->burst))
        return false;
    return elapse__queue_rate_fits(rate) || refuse_limit(call, texts->burst);
}

/* Reads both rates. A BURST belongs to GROUPRATE if it stands right behind it, and otherwise to
 * RATE. `bursts` are the places of up to two. */
static bool read_rates(const struct elapse__resp_call *call, uint32_t rate, uint32_t group_rate,
                       const uint32_t bursts[2], struct elapse__queue_limits *limits)
{
    static const struct rate_texts texts = {
        "ERR syntax error: RATE count PER duration",
        "ERR RATE is 1 to 100000000; PAUSE stops a tube",
        "ERR BURST is at least 1, and at least what comes in a millisecond",
    };
    static const struct rate_texts group_texts = {
        "ERR syntax error: GROUPRATE count PER duration",
        "ERR GROUPRATE is 1 to 100000000; PAUSE stops a tube",
        "ERR BURST is at least 1, and at least what comes in a millisecond",
    };
    enum { TO_BURST = 4 }; /* from the count of a rate to the value of its BURST */
    uint32_t burst = bursts[0], group_burst = bursts[1];

    if (group_rate != 0 && burst == group_rate + TO_BURST) {
        burst = bursts[1];
        group_burst = bursts[0];
    }
    if (group_burst != 0 && (group_rate == 0 || group_burst != group_rate + TO_BURST))
        return refuse_limit(call, "ERR syntax error: BURST stands once behind each rate");
    return read_rate(call, rate, burst, &texts, &limits->rate) &&
           read_rate(call, group_rate, group_burst, &group_texts, &limits->group_rate);
}

enum elapse__session_step elapse__resp_limit(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {
        {"CONCURRENCY", 1}, {"GROUPCONCURRENCY", 1}, {"RATE", 3},   {"GROUPRATE", 3},  {"BURST", 1},
        {"BURST", 1},       {"BURIED AGE", 1},       {"BURIED", 1}, {"GROUPORDER", 0}, {"NONE", 0}};
    enum {
        CONCURRENCY,
        GROUPCONCURRENCY,
        RATE,
        GROUPRATE,
        BURSTS,
        AGE = BURSTS + 2,
        BURIED,
        GROUPORDER,
        NONE,
        OPTIONS
    };
    struct limiting limiting = {.tube = elapse__resp_text(call->arguments[1])};
    uint32_t places[OPTIONS];

    if (call->count == 2)
        return show_limits(call);
    if (!elapse__resp_find_options(call, 2, options, OPTIONS, places) ||
        !read_concurrency(call, places[CONCURRENCY], &limiting.limits.concurrency,
                          "ERR CONCURRENCY is 1 to 4294967295; PAUSE stops a tube") ||
        !read_concurrency(call, places[GROUPCONCURRENCY], &limiting.limits.group_concurrency,
                          "ERR GROUPCONCURRENCY is 1 to 4294967295; PAUSE stops a tube") ||
        !read_rates(call, places[RATE], places[GROUPRATE], &places[BURSTS], &limiting.limits) ||
        !read_buried(call, places[BURIED], places[AGE], &limiting.limits))
        return ELAPSE__STEP_RAN;
    limiting.limits.group_order = places[GROUPORDER] != 0;
    if (places[NONE] != 0 && call->count > 3)
        return elapse__resp_reply_error(call->connection, "ERR syntax error: NONE stands alone",
                                        NULL);
    return set_tube(call, do_limit, &limiting);
}
