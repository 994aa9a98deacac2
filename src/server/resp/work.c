/*
 * Runs the commands of workers, and writes the replies that hand out jobs.
 */
#include "commands.h"
#include "options.h"
#include "reply.h"

/* ---- reserve ---- */

/* Finds or makes `count` tubes by their names, and holds a reference to each. Returns how many
 * tubes are held. If that is less than `count`, has replied with the error. */
static uint32_t get_tubes(const struct elapse__resp_call *call, uint32_t count,
                          struct elapse__server_tube **tubes)
{
    struct elapse__server *server = elapse__session_server(call->connection);
    uint32_t held = 0;

    for (; held < count; held++) {
        struct elapse__queue_answer answer = {.fault = "the name of a tube has 1 to 200 bytes"};
        tubes[held] = elapse__server_tube_get(server, elapse__resp_text(call->arguments[1 + held]),
                                              &answer.result);
        if (tubes[held] == NULL) {
            elapse__resp_reply_result(call, &answer);
            break;
        }
    }
    return held;
}

static void give_tubes(const struct elapse__resp_call *call, uint32_t count,
                       struct elapse__server_tube **tubes)
{
    for (uint32_t i = 0; i < count; i++)
        elapse__server_tube_give(elapse__session_server(call->connection), tubes[i]);
}

enum elapse__session_step elapse__resp_reserve(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {
        {"COUNT", 1}, {"WAIT", 1}, {"DETAILS", 0}, {"HOLDER", 1}};
    struct elapse__server_tube *tubes[ELAPSE__QUEUE_RESERVE_MAX];
    uint32_t tube_count = elapse__wire_resp_count_tubes(call->arguments, call->count);
    uint32_t places[4];
    uint64_t count = 1;
    uint64_t wait_ms = 0;

    if (!elapse__resp_find_options(call, 1 + tube_count, options, 4, places) ||
        (places[0] != 0 &&
         !elapse__resp_read_number(call, places[0], ELAPSE__RESP_COUNT_MAX, &count)) ||
        (places[1] != 0 && !elapse__resp_read_duration(call, places[1], &wait_ms)))
        return ELAPSE__STEP_RAN;
    if (count == 0)
        return elapse__resp_reply_error(call->connection, "ERR COUNT is 1 to 1000", NULL);
    if (tube_count > ELAPSE__QUEUE_RESERVE_MAX)
        return elapse__resp_reply_error(call->connection, "ERR too many tubes: at most 1000", NULL);

    ELAPSE__ASSERT_THAT(tube_count, >, 0U);
    ELAPSE__ASSERT_THAT(count, <=, (uint64_t)ELAPSE__RESP_COUNT_MAX);
    ELAPSE__ASSERT(call->pass == NULL);
    uint32_t held = get_tubes(call, tube_count, tubes);
    ELAPSE__ASSERT_THAT(held, <=, tube_count);
    enum elapse__session_step step = ELAPSE__STEP_RAN;
    if (held == tube_count) {
        struct elapse__session_reserve request = {
            .tubes = tubes,
            .tube_count = tube_count,
            .count = (uint32_t)count,
            .wait_ms = wait_ms,
            .holder = places[3] == 0 ? (struct elapse__queue_text){NULL, 0}
                                     : elapse__resp_text(call->arguments[places[3]]),
            .shows_errors = places[2] != 0,
            .context = (call->session->resp3 ? ELAPSE__RESP_CONTEXT_RESP3 : 0U) |
                       (places[2] != 0 ? ELAPSE__RESP_CONTEXT_DETAILS : 0U),
        };
        if (elapse__session_reserve(call->connection, &request))
            elapse__session_count(call->connection, ELAPSE__VERB_RESERVE);
        else
            step = ELAPSE__STEP_LATER;
    }
    give_tubes(call, held, tubes);
    return step;
}

/* Each of these macros names the struct that has the value of a kind of field. Numbers are in the
 * hand-out, and texts are in the record. */
#define OWNER_ID       (&job->handed)
#define OWNER_LEASE    (&job->handed)
#define OWNER_NUMBER   (&job->handed)
#define OWNER_MOMENT   (&job->handed)
#define OWNER_DURATION (&job->handed)
#define OWNER_TEXT     (&job->texts)
#define OWNER_NAME     (&job->texts)

#define NO_NUMBER UINT64_MAX

struct details {
    uint64_t ttr_ms;
    struct elapse__queue_text tag, group, headers;
    uint64_t attempts_left; /* attempts after this one; NO_NUMBER: there is no limit */
    bool recurring;
    struct elapse__queue_text error;
    int64_t error_ms;
    uint64_t await; /* arrivals that are missing; NO_NUMBER: none */
};

#define HAS_INSTANT(value)   ((value) != 0)
#define HAS_DURATION(value)  true
#define HAS_NAME(value)      ((value).size > 0)
#define HAS_NUMBER(value)    ((value) != NO_NUMBER)
#define HAS_YES_OR_NO(value) (value)

/* Writes the details that have a value. */
static void write_details(struct elapse__wire_resp_writer *writer,
                          const struct elapse__server_job *job)
{
    const struct elapse__queue_handed *handed = &job->handed;
    const struct details details = {
        .ttr_ms = handed->ttr_ms,
        .tag = job->texts.tag,
        .group = job->texts.group,
        .headers = job->texts.headers,
        .attempts_left = handed->retry == 0                ? NO_NUMBER
                         : handed->retry > handed->attempt ? handed->retry - handed->attempt
                                                           : 0,
        .recurring = handed->recurring,
        .error = job->texts.error,
        .error_ms = job->texts.error_ms,
        .await = handed->await == 0 ? NO_NUMBER : handed->await,
    };
    size_t pairs = 0;

#define COUNT(field, name, kind) pairs += HAS_##kind(details.field) ? 1 : 0;
    ELAPSE__DETAIL_FIELDS(COUNT)
#undef COUNT
    elapse__wire_resp_write_map(writer, pairs);
#define WRITE(field, name, kind)                          \
    if (HAS_##kind(details.field)) {                      \
        elapse__wire_resp_write_text(writer, name);       \
        ELAPSE__RESP_WRITE_##kind(writer, details.field); \
    }
    ELAPSE__DETAIL_FIELDS(WRITE)
#undef WRITE
}

/* Formats one job that is handed out. */
static void hand_out(struct elapse__connection *connection, uint64_t context,
                     const struct elapse__server_job *job)
{
    enum {
        FIELDS = ELAPSE__HANDED_FIELDS(ELAPSE__RESP_COUNT_ROW),
        DETAILS = ELAPSE__DETAIL_FIELDS(ELAPSE__RESP_COUNT_ROW),
    };
    bool has_details = (context & ELAPSE__RESP_CONTEXT_DETAILS) != 0;
    const struct elapse__engine_job *texts = &job->texts;
    size_t size = texts->tube.size + texts->key.size + texts->body.size +
                  (size_t)(FIELDS + 2) * 2 * ELAPSE__WIRE_RESP_FRAME_MAX;
    if (has_details)
        size += texts->tag.size + texts->group.size + texts->headers.size + texts->error.size +
                (size_t)(1 + 2 * DETAILS) * ELAPSE__WIRE_RESP_FRAME_MAX;
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(connection, (context & ELAPSE__RESP_CONTEXT_RESP3) != 0, size);

    ELAPSE__ASSERT_THAT(job->handed.lease.number, !=, 0);
    ELAPSE__ASSERT_THAT(job->handed.attempt, >, 0);
    ELAPSE__ASSERT_THAT(texts->tube.size, >, 0);
    elapse__wire_resp_write_array(&writer, (size_t)FIELDS + has_details);
#define WRITE(field, kind) ELAPSE__RESP_WRITE_##kind(&writer, OWNER_##kind->field);
    ELAPSE__HANDED_FIELDS(WRITE)
#undef WRITE
    if (has_details)
        write_details(&writer, job);
    elapse__resp_end(connection, &writer);
}

static void reply_array(struct elapse__connection *connection, size_t count)
{
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(connection, false, ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__wire_resp_write_array(&writer, count);
    elapse__resp_end(connection, &writer);
}

void elapse__resp_handed_out(struct elapse__connection *connection, uint64_t context,
                             const struct elapse__server_job *jobs, uint32_t count)
{
    ELAPSE__ASSERT((context & ELAPSE__RESP_CONTEXT_LOOK) == 0);
    ELAPSE__ASSERT_THAT(count, >, 0);
    reply_array(connection, count);
    for (uint32_t i = 0; i < count; i++)
        hand_out(connection, context, &jobs[i]);
}

void elapse__resp_nothing(struct elapse__connection *connection, uint64_t context,
                          enum elapse__server_nothing why)
{
    bool look = (context & ELAPSE__RESP_CONTEXT_LOOK) != 0;

    elapse__resp_begin_items(connection, context);
    if (why == ELAPSE__NOTHING_NO_MEMORY) {
        (void)elapse__resp_reply_error(connection, "OOM there is no memory", NULL);
    } else if (why == ELAPSE__NOTHING_ERROR) {
        (void)elapse__resp_reply_error(
            connection, "DISKERROR the disk cannot read it now; it is tried again", NULL);
    } else if (why == ELAPSE__NOTHING_DAMAGED) {
        (void)elapse__resp_reply_error(connection, "DAMAGED its body is damaged", NULL);
    } else if (look) {
        struct elapse__wire_resp_writer writer = elapse__resp_begin(
            connection, (context & ELAPSE__RESP_CONTEXT_RESP3) != 0, ELAPSE__WIRE_RESP_FRAME_MAX);
        elapse__wire_resp_write_null(&writer);
        elapse__resp_end(connection, &writer);
    } else {
        reply_array(connection, 0);
    }
}

/* ---- the end of a lease ---- */

/* Returns a change that a worker asks for, with this verb. */
static struct elapse__queue_change held_change(enum elapse__queue_verb verb)
{
    struct elapse__queue_change change;
    change.verb = verb;
    change.held = (struct elapse__queue_change_held){.delay_ms = 0};
    return change;
}

static enum elapse__session_step refuse_lone_id(const struct elapse__resp_call *call)
{
    return elapse__resp_reply_error(call->connection, "ERR syntax error: each id needs a lease",
                                    NULL);
}

/* Reads a job and its lease into the change. Keeps the error that the worker tells. */
static bool read_pair(const struct elapse__resp_call *call, uint32_t place,
                      struct elapse__queue_change *change)
{
    struct elapse__queue_text error = change->held.holder.error;
    bool is_read = elapse__resp_read_holder(call, place, &change->held.holder);

    change->held.holder.error = error;
    return is_read;
}

/* What the first step of a command has read of its pairs. It runs these without reading them
 * again. */
struct pairs_read {
    uint32_t count; /* 0 in a later step */
    struct {
        uint64_t id;
        struct elapse__queue_lease lease;
    } pairs[ELAPSE__RESP_PARTS_A_STEP];
};

/* Reads all pairs before the first part is done, and keeps as many as one step runs. */
static bool read_pairs(const struct elapse__resp_call *call, uint32_t pairs,
                       struct elapse__queue_change *change, struct pairs_read *read)
{
    for (uint32_t i = 0; i < pairs; i++) {
        if (!read_pair(call, 1 + 2 * i, change))
            return false;
        if (i >= ELAPSE__RESP_PARTS_A_STEP)
            continue;
        read->pairs[i].id = change->held.holder.id;
        read->pairs[i].lease = change->held.holder.lease;
        read->count = i + 1;
    }
    return true;
}

/* Runs a command for each pair of a job and its lease, and replies with an array. */
static enum elapse__session_step run_pairs(const struct elapse__resp_call *call, uint32_t pairs,
                                           struct elapse__queue_change *change)
{
    enum elapse__session_step step = ELAPSE__STEP_RAN;
    struct pairs_read read;
    bool goes_on = true;

    ELAPSE__ASSERT_THAT(1 + 2 * pairs, <=, call->count);
    read.count = 0;
    if (call->session->done == 0 && !read_pairs(call, pairs, change, &read))
        return ELAPSE__STEP_RAN;
    while (goes_on) {
        uint32_t done = call->session->done;
        if (done < read.count) {
            change->held.holder.id = read.pairs[done].id;
            change->held.holder.lease = read.pairs[done].lease;
        } else {
            bool is_read = read_pair(call, 1 + 2 * done, change);
            ELAPSE__ASSERT(is_read); /* the text was read without a fault before the first part */
            (void)is_read;
        }
        step = elapse__resp_run_part(call, pairs, change, &goes_on);
    }
    return step;
}

enum elapse__session_step elapse__resp_ack(const struct elapse__resp_call *call)
{
    struct elapse__queue_change change = held_change(ELAPSE__QUEUE_ACK);

    if (call->count % 2 == 0)
        return refuse_lone_id(call);
    return run_pairs(call, (call->count - 1) / 2, &change);
}

/* Runs a command for each pair of a job and its lease. The reply to one pair is a word. The reply
 * to several pairs is an array. */
static enum elapse__session_step run_held(const struct elapse__resp_call *call, uint32_t pairs,
                                          struct elapse__queue_change *change)
{
    if (pairs == 0)
        return refuse_lone_id(call);
    if (pairs > 1)
        return run_pairs(call, pairs, change);
    if (!read_pair(call, 1, change))
        return ELAPSE__STEP_RAN;
    return elapse__resp_run_one(call, change);
}

/* Returns the value of the option ERROR. `place` is the place of the value; 0: the option was not
 * given. */
static struct elapse__queue_text error_at(const struct elapse__resp_call *call, uint32_t place)
{
    ELAPSE__ASSERT_THAT(place, <, call->count);
    return place == 0 ? (struct elapse__queue_text){NULL, 0}
                      : elapse__resp_text(call->arguments[place]);
}

enum elapse__session_step elapse__resp_nack(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {
        {"IN", 1}, {"AFTER", 1}, {"ERROR", 1}};
    uint32_t pairs = elapse__wire_resp_count_pairs(call->arguments, call->count);
    struct elapse__queue_change change = held_change(ELAPSE__QUEUE_NACK);
    uint32_t places[3] = {0, 0, 0};

    if (pairs > 0 && !elapse__resp_find_options(call, 1 + 2 * pairs, options, 3, places))
        return ELAPSE__STEP_RAN;
    change.held.holder.error = error_at(call, places[2]);
    if (places[0] != 0 && places[1] != 0)
        return elapse__resp_reply_error(call->connection,
                                        "ERR syntax error: only one of IN and AFTER", NULL);
    uint32_t place = places[0] + places[1];
    if (place != 0 && !elapse__resp_read_duration(call, place, &change.held.delay_ms))
        return ELAPSE__STEP_RAN;
    if (places[0] != 0)
        change.verb = ELAPSE__QUEUE_NACK_IN;
    return run_held(call, pairs, &change);
}

/* Runs a command that has no options. */
static enum elapse__session_step run_plain(const struct elapse__resp_call *call,
                                           enum elapse__queue_verb verb)
{
    uint32_t pairs = elapse__wire_resp_count_pairs(call->arguments, call->count);
    struct elapse__queue_change change = held_change(verb);
    uint32_t place;

    if (pairs > 0 && !elapse__resp_find_options(call, 1 + 2 * pairs, NULL, 0, &place))
        return ELAPSE__STEP_RAN;
    return run_held(call, pairs, &change);
}

enum elapse__session_step elapse__resp_extend(const struct elapse__resp_call *call)
{
    return run_plain(call, ELAPSE__QUEUE_EXTEND);
}

enum elapse__session_step elapse__resp_bury(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option option = {"ERROR", 1};
    uint32_t pairs = elapse__wire_resp_count_pairs(call->arguments, call->count);
    struct elapse__queue_change change = held_change(ELAPSE__QUEUE_BURY);
    uint32_t place = 0;

    if (pairs > 0 && !elapse__resp_find_options(call, 1 + 2 * pairs, &option, 1, &place))
        return ELAPSE__STEP_RAN;
    change.held.holder.error = error_at(call, place);
    return run_held(call, pairs, &change);
}

enum elapse__session_step elapse__resp_leased(const struct elapse__resp_call *call)
{
    if (call->pass == NULL)
        return elapse__resp_reply_error(
            call->connection, "ERR LEASED guards a transaction: it stands between MULTI and EXEC",
            NULL);
    return run_plain(call, ELAPSE__QUEUE_LEASED);
}
