#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/decimal.h"

enum { LINE_MAX_BYTES = 4096, TUBES_MAX = 1200 };

unsigned lines_run;

struct session {
    unsigned steps;
    unsigned begun; /* 1: the session has begun */
};

static bool begin(struct elapse__connection *connection)
{
    struct session *session = elapse__session(connection);
    if (session->begun != 0)
        abort();
    session->begun = 1;
    return true;
}

static void end(struct elapse__connection *connection)
{
    struct session *session = elapse__session(connection);
    if (session->begun != 1)
        abort();
    session->begun = 2;
}

static void reply_digits(struct elapse__connection *connection, uint64_t number)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    elapse__reply_bytes(connection, digits, elapse__decimal_write(digits, number));
}

static void reply_number(struct elapse__connection *connection, const char *before, uint64_t number)
{
    elapse__reply_text(connection, before);
    reply_digits(connection, number);
    elapse__reply_text(connection, "\n");
}

static void reply_job(struct elapse__connection *connection, char sign, uint64_t id,
                      struct elapse__queue_text body)
{
    char *room = elapse__reply_begin(connection, 1);
    *room = sign;
    elapse__reply_end(connection, 1);
    reply_digits(connection, id);
    elapse__reply_text(connection, " ");
    elapse__reply_bytes(connection, body.bytes, body.size);
    elapse__reply_text(connection, "\n");
}

/* ---- commands ---- */

static struct elapse__queue_answer do_put(struct elapse__queue *jobs, struct elapse__queue_now now,
                                          const void *arguments)
{
    return elapse__queue_put(jobs, now, arguments);
}

static enum elapse__session_step put(struct elapse__connection *connection, char *line,
                                     uint64_t delay_ms)
{
    char *tube = strtok(line, " ");
    char *body = strtok(NULL, "");
    struct elapse__queue_answer answer;
    struct elapse__queue_put put = {
        .tube = {tube, strlen(tube)},
        .body = {body, strlen(body)},
        .delay_ms = delay_ms,
        .ttr_ms = 10000,
    };

    switch (elapse__session_may_put(connection, &put, (struct elapse__server_puts){.jobs = 0})) {
    case ELAPSE__MAY_PUT:
        break;
    case ELAPSE__PUT_DRAINING:
        elapse__reply_text(connection, "-draining\n");
        return ELAPSE__STEP_RAN;
    case ELAPSE__PUT_TOO_BIG:
        elapse__reply_text(connection, "-big\n");
        return ELAPSE__STEP_RAN;
    case ELAPSE__PUT_NO_MEMORY:
        elapse__reply_text(connection, "-memory\n");
        return ELAPSE__STEP_RAN;
    case ELAPSE__PUT_TUBE_FULL:
        elapse__reply_text(connection, "-full\n");
        return ELAPSE__STEP_RAN;
    }
    if (!elapse__session_run(connection, do_put, &put, &answer))
        return ELAPSE__STEP_LATER;
    if (answer.result == ELAPSE__QUEUE_SCHEDULED)
        reply_number(connection, "+", answer.id);
    else
        reply_number(connection, "-result ", answer.result);
    return ELAPSE__STEP_RAN;
}

static enum elapse__session_step reserve(struct elapse__connection *connection, char *line,
                                         bool deadlines)
{
    struct elapse__server *server = elapse__session_server(connection);
    static struct elapse__server_tube *tubes[TUBES_MAX];
    struct elapse__session_reserve request = {.tubes = tubes, .tell_deadline = deadlines};
    enum elapse__queue_result result;
    char *name;

    request.wait_ms = strtoull(strtok(line, " "), NULL, 10);
    request.count = deadlines ? 1 : (uint32_t)strtoul(strtok(NULL, " "), NULL, 10);
    while ((name = strtok(NULL, " ")) != NULL)
        tubes[request.tube_count++] = elapse__server_tube_get(
            server, (struct elapse__queue_text){name, strlen(name)}, &result);
    bool done = elapse__session_reserve(connection, &request);
    for (uint32_t i = 0; i < request.tube_count; i++)
        elapse__server_tube_give(server, tubes[i]);
    return done ? ELAPSE__STEP_RAN : ELAPSE__STEP_LATER;
}

static enum elapse__session_step reserve_id(struct elapse__connection *connection, uint64_t id)
{
    enum elapse__queue_result result;
    if (!elapse__session_reserve_id(connection, id, 7, &result))
        return ELAPSE__STEP_LATER;
    if (result != ELAPSE__QUEUE_OK)
        elapse__reply_text(connection, "-gone\n");
    return ELAPSE__STEP_RAN;
}

static enum elapse__session_step look(struct elapse__connection *connection, uint64_t id)
{
    struct elapse__queue_view view;
    if (elapse__queue_look_up_id(elapse__session_queue(connection), elapse__session_now(connection),
                                 id, &view) != ELAPSE__QUEUE_OK)
        elapse__reply_text(connection, "-gone\n");
    else if (!elapse__session_look(connection, &view, 8))
        elapse__reply_text(connection, "-memory\n");
    return ELAPSE__STEP_RAN;
}

struct deletion {
    uint64_t id;
    const struct elapse__queue_connection *leases;
};

static struct elapse__queue_answer do_delete(struct elapse__queue *jobs,
                                             struct elapse__queue_now now, const void *arguments)
{
    const struct deletion *deletion = arguments;
    if (deletion->leases == NULL)
        return elapse__queue_cancel_id(jobs, now, deletion->id);
    return elapse__queue_delete(jobs, now, deletion->id, deletion->leases);
}

static enum elapse__session_step delete_job(struct elapse__connection *connection, uint64_t id)
{
    struct deletion deletion = {id, elapse__session_leases(connection)};
    struct elapse__queue_answer answer;
    if (!elapse__session_run(connection, do_delete, &deletion, &answer))
        return ELAPSE__STEP_LATER;
    elapse__reply_text(connection, answer.result == ELAPSE__QUEUE_GONE ? "-gone\n" : "+deleted\n");
    return ELAPSE__STEP_RAN;
}

static enum elapse__session_step go_on(struct elapse__connection *connection, unsigned steps)
{
    struct session *session = elapse__session(connection);
    if (session->steps == 0)
        elapse__reply_text(connection, "+");
    if (++session->steps < steps)
        return ELAPSE__STEP_MORE;
    session->steps = 0;
    elapse__reply_text(connection, "slices\n");
    return ELAPSE__STEP_RAN;
}

static enum elapse__session_step reply_big(struct elapse__connection *connection, size_t size)
{
    char *room = elapse__reply_begin(connection, size + 1);
    memset(room, '.', size);
    room[size] = '\n';
    elapse__reply_end(connection, size + 1);
    return ELAPSE__STEP_RAN;
}

static enum elapse__session_step run(struct elapse__connection *connection, const uint8_t *bytes,
                                     size_t size, size_t *used)
{
    char line[LINE_MAX_BYTES * 4];
    const uint8_t *line_end = memchr(bytes, '\n', size);

    if (line_end == NULL)
        return ELAPSE__STEP_NEED;
    size_t length = (size_t)(line_end - bytes);
    if (length >= sizeof line) {
        elapse__reply_text(connection, "-long\n");
        *used = length + 1;
        return ELAPSE__STEP_END;
    }
    memcpy(line, bytes, length);
    line[length] = '\0';
    *used = length + 1;
    size_t number = length > 2 ? (size_t)strtoull(line + 2, NULL, 10) : 0;
    if ((line[0] == 'n' || line[0] == 'N') && size < length + 1 + number) {
        if (line[0] == 'n')
            elapse__session_need(connection, length + 1 + number);
        return ELAPSE__STEP_NEED;
    }
    lines_run++;
    elapse__session_count(connection, ELAPSE__VERB_OTHER);
    switch (line[0]) {
    case 'p':
        return put(connection, line + 2, 0);
    case 'd':
        return put(connection, strchr(line + 2, ' ') + 1, number);
    case 'r':
    case 'R':
        return reserve(connection, line + 2, line[0] == 'R');
    case 'i':
        return reserve_id(connection, number);
    case 'l':
        return look(connection, number);
    case 'x':
        return delete_job(connection, number);
    case 's':
        return go_on(connection, (unsigned)number);
    case 'b':
        return reply_big(connection, (size_t)number);
    case 'n':
    case 'N':
        *used += (size_t)number;
        elapse__reply_text(connection, "+needed\n");
        return ELAPSE__STEP_RAN;
    case 'q':
        elapse__reply_text(connection, "+bye\n");
        return ELAPSE__STEP_END;
    case '*':
        elapse__reply_text(connection, "+star\n");
        return ELAPSE__STEP_RAN;
    default:
        elapse__reply_text(connection, "-error\n");
        return ELAPSE__STEP_RAN;
    }
}

/* ---- formats ---- */

static void handed_out(struct elapse__connection *connection, uint64_t context,
                       const struct elapse__server_job *jobs, uint32_t count)
{
    (void)context;
    for (uint32_t i = 0; i < count; i++)
        reply_job(connection, '=', jobs[i].handed.id, jobs[i].texts.body);
}

static void nothing(struct elapse__connection *connection, uint64_t context,
                    enum elapse__server_nothing why)
{
    static const char *const texts[] = {"-timeout\n", "-soon\n", "-memory\n",
                                        "-gone\n",    "-disk\n", "-damaged\n"};
    (void)context;
    elapse__reply_text(connection, texts[why]);
}

static void looked(struct elapse__connection *connection, uint64_t context,
                   const struct elapse__queue_view *view, const struct elapse__engine_job *texts)
{
    if (context != 8)
        abort();
    reply_job(connection, '~', view->id, texts->body);
}

#define LINES(owned)                                                                   \
    {                                                                                  \
        .name = "lines", .session_bytes = sizeof(struct session),                      \
        .leases_end_with_connection = (owned), .begin = begin, .end = end, .run = run, \
        .handed_out = handed_out, .nothing = nothing, .looked = looked,                \
    }

const struct elapse__protocol lines_owned = LINES(true);
const struct elapse__protocol lines_free = LINES(false);
