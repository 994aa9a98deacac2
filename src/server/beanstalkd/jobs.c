#include "session.h"

#include <stdlib.h>

#include "../../base/assert.h"

static uint64_t ms_of(uint32_t seconds)
{
    return (uint64_t)seconds * 1000;
}

/* ---- put ---- */

static struct elapse__queue_answer do_put(struct elapse__queue *jobs, struct elapse__queue_now now,
                                          const void *arguments)
{
    return elapse__queue_put(jobs, now, arguments);
}

static enum elapse__session_step refuse_put(struct elapse__connection *connection,
                                            enum elapse__server_refusal refusal)
{
    ELAPSE__ASSERT(refusal != ELAPSE__MAY_PUT);
    switch (refusal) {
    case ELAPSE__PUT_DRAINING:
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_DRAINING);
    case ELAPSE__PUT_TOO_BIG:
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_JOB_TOO_BIG);
    default: /* the client may try again later */
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
    }
}

enum elapse__session_step
elapse__beanstalkd_put(struct elapse__connection *connection,
                       const struct elapse__wire_beanstalkd_command *command)
{
    const struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    const struct elapse__queue_put put = {
        .tube = elapse__server_tube_name(session->used),
        .body = {command->body, command->body_size},
        .when = ELAPSE__QUEUE_IN,
        .delay_ms = ms_of(command->delay_s),
        .priority = command->priority,
        .ttr_ms = ms_of(command->ttr_s > 0 ? command->ttr_s : 1),
    };
    struct elapse__queue_answer answer;
    char *line;

    ELAPSE__ASSERT_THAT(put.body.size, <=, session->parser.body_bytes_max);
    ELAPSE__ASSERT_THAT(put.ttr_ms, >=, 1000);
    enum elapse__server_refusal refusal =
        elapse__session_may_put(connection, &put, (struct elapse__server_puts){.jobs = 0});
    if (refusal != ELAPSE__MAY_PUT)
        return refuse_put(connection, refusal);
    if (!elapse__session_run(connection, do_put, &put, &answer))
        return ELAPSE__STEP_LATER;
    switch (answer.result) {
    case ELAPSE__QUEUE_SCHEDULED:
        ELAPSE__ASSERT_THAT(answer.id, >, 0);
        line = elapse__reply_begin(connection, ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX);
        if (line != NULL)
            elapse__reply_end(connection, elapse__wire_beanstalkd_inserted(line, answer.id));
        return ELAPSE__STEP_RAN;
    case ELAPSE__QUEUE_ARGUMENT:
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_INTERNAL_ERROR);
    default: /* no memory, too many jobs or a full disk: the client may try again later */
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
    }
}

/* ---- commands on one job ---- */

enum elapse__session_step elapse__beanstalkd_say_of(struct elapse__connection *connection,
                                                    enum elapse__queue_result result,
                                                    enum elapse__wire_beanstalkd_reply good)
{
    switch (result) {
    case ELAPSE__QUEUE_OK:
        return elapse__beanstalkd_say(connection, good);
    case ELAPSE__QUEUE_CANCELLED: /* the job has gone for everybody except its worker */
    case ELAPSE__QUEUE_RUNNING:   /* another worker has the job */
    case ELAPSE__QUEUE_GONE:
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_FOUND);
    case ELAPSE__QUEUE_NO_MEMORY:
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
    default:
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_INTERNAL_ERROR);
    }
}

struct job_arguments {
    const struct elapse__wire_beanstalkd_command *command;
    struct elapse__queue_connection *leases;
};

static struct elapse__queue_holder holder_of(const struct job_arguments *arguments)
{
    return (struct elapse__queue_holder){.id = arguments->command->id,
                                         .connection = arguments->leases};
}

static struct elapse__queue_answer do_delete(struct elapse__queue *jobs,
                                             struct elapse__queue_now now, const void *arguments)
{
    const struct job_arguments *job = arguments;
    return elapse__queue_delete(jobs, now, job->command->id, job->leases);
}

static struct elapse__queue_answer do_release(struct elapse__queue *jobs,
                                              struct elapse__queue_now now, const void *arguments)
{
    const struct job_arguments *job = arguments;
    return elapse__queue_release(jobs, now, holder_of(job), job->command->priority,
                                 ms_of(job->command->delay_s));
}

static struct elapse__queue_answer do_bury(struct elapse__queue *jobs, struct elapse__queue_now now,
                                           const void *arguments)
{
    const struct job_arguments *job = arguments;
    return elapse__queue_bury(jobs, now, holder_of(job), &job->command->priority);
}

static struct elapse__queue_answer do_touch(struct elapse__queue *jobs,
                                            struct elapse__queue_now now, const void *arguments)
{
    return elapse__queue_extend(jobs, now, holder_of(arguments));
}

static struct elapse__queue_answer do_kick_job(struct elapse__queue *jobs,
                                               struct elapse__queue_now now, const void *arguments)
{
    const struct job_arguments *job = arguments;
    return elapse__queue_kick_id(jobs, now, job->command->id);
}

/* The commands on one job, by their verbs. */
static const struct change {
    elapse__engine_command *run;
    enum elapse__wire_beanstalkd_reply good;
} changes[ELAPSE__WIRE_BEANSTALKD_VERBS] = {
    [ELAPSE__WIRE_BEANSTALKD_DELETE] = {do_delete, ELAPSE__WIRE_BEANSTALKD_SAYS_DELETED},
    [ELAPSE__WIRE_BEANSTALKD_RELEASE] = {do_release, ELAPSE__WIRE_BEANSTALKD_SAYS_RELEASED},
    [ELAPSE__WIRE_BEANSTALKD_BURY] = {do_bury, ELAPSE__WIRE_BEANSTALKD_SAYS_BURIED},
    [ELAPSE__WIRE_BEANSTALKD_TOUCH] = {do_touch, ELAPSE__WIRE_BEANSTALKD_SAYS_TOUCHED},
    [ELAPSE__WIRE_BEANSTALKD_KICK_JOB] = {do_kick_job, ELAPSE__WIRE_BEANSTALKD_SAYS_KICKED},
};

enum elapse__session_step
elapse__beanstalkd_change(struct elapse__connection *connection,
                          const struct elapse__wire_beanstalkd_command *command)
{
    const struct change *change = &changes[command->verb];
    const struct job_arguments arguments = {command, elapse__session_leases(connection)};
    struct elapse__queue_answer answer;

    ELAPSE__ASSERT(change->run != NULL);
    ELAPSE__ASSERT(elapse__beanstalkd_session(connection)->kick == NULL);
    if (elapse__session_is_named(connection))
        return ELAPSE__STEP_BEHIND;
    if (!elapse__session_run(connection, change->run, &arguments, &answer))
        return ELAPSE__STEP_LATER;
    return elapse__beanstalkd_say_of(connection, answer.result, change->good);
}

/* ---- kick ---- */

void elapse__beanstalkd_end_kick(struct elapse__connection *connection)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    if (session->kick == NULL)
        return;
    elapse__queue_kick_end(elapse__session_queue(connection), session->kick);
    free(session->kick);
    session->kick = NULL;
}

static struct elapse__queue_answer do_kick(struct elapse__queue *jobs, struct elapse__queue_now now,
                                           const void *arguments)
{
    struct elapse__queue_kick *const *kick = arguments;
    enum elapse__queue_result result = elapse__queue_kick(jobs, now, *kick);
    return (struct elapse__queue_answer){.result = result, .position = (*kick)->position};
}

enum elapse__session_step
elapse__beanstalkd_kick(struct elapse__connection *connection,
                        const struct elapse__wire_beanstalkd_command *command)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    struct elapse__queue_answer answer;
    char line[ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX];

    ELAPSE__ASSERT(session->goes_on || session->kick == NULL);
    if (session->kick == NULL) {
        session->kick = calloc(1, sizeof *session->kick);
        if (session->kick == NULL)
            return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
        session->kick->wanted = command->bound;
        session->kick->tube = elapse__server_tube_name(session->used);
    }
    if (!elapse__session_run(connection, do_kick, &session->kick, &answer))
        return ELAPSE__STEP_LATER;
    if (answer.result == ELAPSE__QUEUE_KEPT)
        return ELAPSE__STEP_MORE;
    uint64_t kicked = session->kick->kicked;
    ELAPSE__ASSERT_THAT(kicked, <=, session->kick->wanted);
    elapse__beanstalkd_end_kick(connection);
    if (answer.result != ELAPSE__QUEUE_OK && kicked == 0)
        return elapse__beanstalkd_say_of(connection, answer.result,
                                         ELAPSE__WIRE_BEANSTALKD_SAYS_KICKED);
    elapse__reply_bytes(connection, line, elapse__wire_beanstalkd_kicked(line, kicked));
    return ELAPSE__STEP_RAN;
}

/* ---- reserve ---- */

static uint64_t wait_ms_of(const struct elapse__wire_beanstalkd_command *command)
{
    if (command->for_ever || command->timeout_s >= ELAPSE__SERVER_FOREVER / 1000)
        return ELAPSE__SERVER_FOREVER;
    return command->timeout_s * 1000;
}

enum elapse__session_step
elapse__beanstalkd_reserve(struct elapse__connection *connection,
                           const struct elapse__wire_beanstalkd_command *command)
{
    const struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    const struct elapse__session_reserve request = {
        .tubes = session->watched,
        .tube_count = session->watched_count,
        .count = 1,
        .wait_ms = wait_ms_of(command),
        .tell_deadline = true,
        .context = BEANSTALKD_RESERVED,
    };
    ELAPSE__ASSERT_THAT(request.tube_count, >, 0);
    ELAPSE__ASSERT_THAT(request.tube_count, <=, BEANSTALKD_WATCHED_MAX);
    return elapse__session_reserve(connection, &request) ? ELAPSE__STEP_RAN : ELAPSE__STEP_LATER;
}

enum elapse__session_step
elapse__beanstalkd_reserve_job(struct elapse__connection *connection,
                               const struct elapse__wire_beanstalkd_command *command)
{
    enum elapse__queue_result result = ELAPSE__QUEUE_OK;

    if (!elapse__session_reserve_id(connection, command->id, BEANSTALKD_RESERVED, &result))
        return ELAPSE__STEP_LATER;
    if (result == ELAPSE__QUEUE_OK)
        return ELAPSE__STEP_RAN;
    return elapse__beanstalkd_say_of(connection, result, ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_FOUND);
}

/* ---- peek ---- */

/* Begins to read the body of a job that was found. */
static enum elapse__session_step look_at(struct elapse__connection *connection,
                                         enum elapse__queue_result result,
                                         const struct elapse__queue_view *view)
{
    if (result != ELAPSE__QUEUE_OK)
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_FOUND);
    ELAPSE__ASSERT_THAT(view->id, >, 0);
    if (!elapse__session_look(connection, view, BEANSTALKD_FOUND))
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step
elapse__beanstalkd_peek(struct elapse__connection *connection,
                        const struct elapse__wire_beanstalkd_command *command)
{
    struct elapse__queue_view view;
    enum elapse__queue_result result = elapse__queue_look_up_id(
        elapse__session_queue(connection), elapse__session_now(connection), command->id, &view);
    return look_at(connection, result, &view);
}

static struct elapse__queue_text used_tube(const struct elapse__connection *connection)
{
    return elapse__server_tube_name(elapse__beanstalkd_session(connection)->used);
}

enum elapse__session_step
elapse__beanstalkd_peek_tube(struct elapse__connection *connection,
                             const struct elapse__wire_beanstalkd_command *command)
{
    struct elapse__queue *queue = elapse__session_queue(connection);
    struct elapse__queue_now now = elapse__session_now(connection);
    struct elapse__queue_text tube = used_tube(connection);
    struct elapse__queue_view view;

    ELAPSE__ASSERT(command->verb == ELAPSE__WIRE_BEANSTALKD_PEEK_READY ||
                   command->verb == ELAPSE__WIRE_BEANSTALKD_PEEK_BURIED);
    enum elapse__queue_result result = command->verb == ELAPSE__WIRE_BEANSTALKD_PEEK_READY
                                           ? elapse__queue_peek_ready(queue, now, tube, &view)
                                           : elapse__queue_peek_buried(queue, now, tube, &view);
    return look_at(connection, result, &view);
}

/* At how many jobs one slice of peek-delayed looks. */
enum { PEEK_SLICE = 4096 };

enum elapse__session_step
elapse__beanstalkd_peek_delayed(struct elapse__connection *connection,
                                const struct elapse__wire_beanstalkd_command *command)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    struct elapse__queue *queue = elapse__session_queue(connection);
    struct elapse__queue_now now = elapse__session_now(connection);
    struct elapse__queue_view view;

    (void)command;
    if (!session->goes_on)
        session->soonest = (struct elapse__queue_soonest){.tube = used_tube(connection)};
    if (!elapse__queue_peek_delayed(queue, now, &session->soonest, PEEK_SLICE))
        return ELAPSE__STEP_MORE;
    if (session->soonest.id == 0)
        return look_at(connection, ELAPSE__QUEUE_GONE, NULL);
    return look_at(connection, elapse__queue_look_up_id(queue, now, session->soonest.id, &view),
                   &view);
}
