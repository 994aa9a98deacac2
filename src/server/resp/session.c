/*
 * The session of a connection that speaks RESP. It parses the commands, finds their functions, and
 * calls these.
 */
#include <stdlib.h>

#include "commands.h"
#include "reply.h"
#include "rights.h"
#include "transaction.h"

static bool begin(struct elapse__connection *connection)
{
    struct elapse__resp_session *session = elapse__session(connection);
    const struct elapse__server_options *options = elapse__session_options(connection);
    uint32_t body_bytes_max =
        options->body_bytes_max == 0 ? ELAPSE__SERVER_BODY_BYTES : options->body_bytes_max;

    ELAPSE__ASSERT(session->transaction == NULL && session->done == 0); /* it is new */
    session->parser.argument_bytes_max = body_bytes_max < ELAPSE__RESP_ARGUMENT_BYTES_MIN
                                             ? ELAPSE__RESP_ARGUMENT_BYTES_MIN
                                             : body_bytes_max;
    session->known = options->is_behind_router || !elapse__keys_are_needed(&options->keys);
    session->resp3 = elapse__session_speaks_resp3(connection);
    return true;
}

/* Forgets the command that is under way. */
static void forget(struct elapse__connection *connection)
{
    struct elapse__resp_session *session = elapse__session(connection);

    session->done = 0;
    session->cursor = 0;
    session->counts[0] = 0;
    session->counts[1] = 0;
    free(session->first);
    session->first = NULL;
    free(session->holdings);
    session->holdings = NULL;
    session->holding_count = 0;
    if (session->kick == NULL)
        return;
    elapse__queue_kick_end(elapse__session_queue(connection), session->kick);
    free(session->kick);
    session->kick = NULL;
}

/* Releases everything that the session has allocated. */
static void end(struct elapse__connection *connection)
{
    forget(connection);
    elapse__resp_transaction_end(connection);
}

static enum elapse__session_step refuse_arity(const struct elapse__resp_call *call)
{
    struct elapse__resp_line line = {.size = 0};

    elapse__resp_add(&line, "ERR wrong number of arguments for '");
    elapse__resp_add_small(&line, call->command->name);
    elapse__resp_add(&line, "' command; syntax: ");
    elapse__resp_add(&line, call->command->name);
    elapse__resp_add(&line, " ");
    elapse__resp_add(&line, call->command->syntax);
    elapse__resp_spoil(call->connection);
    return elapse__resp_reply_error(call->connection, line.text, NULL);
}

static enum elapse__session_step refuse_unknown(const struct elapse__resp_call *call)
{
    elapse__resp_spoil(call->connection);
    return elapse__resp_reply_error(call->connection, "ERR unknown command", &call->arguments[0]);
}

/* Returns whether a command was begun and is not done. Its reply may be half written. */
static bool is_under_way(const struct elapse__resp_session *session)
{
    return session->done > 0 || session->cursor > 0 || session->kick != NULL ||
           session->first != NULL || session->holdings != NULL;
}

static enum elapse__session_step run_call(struct elapse__resp_call *call)
{
    bool goes_on = is_under_way(call->session);

    if (elapse__session_options(call->connection)->keys.users != NULL)
        elapse__resp_find_user(call);
    call->command = elapse__resp_find(call->arguments[0]);
    if (call->command == NULL)
        return refuse_unknown(call);
    /* A command is asked for its rights when it begins. A refusal of a later step would be an
     * element of its reply. If the password has gone since, the rest finds no job by its id. */
    if (goes_on && !call->session->known)
        call->user = &elapse__user_nobody;
    if (!goes_on && !elapse__resp_is_allowed(call)) {
        elapse__resp_spoil(call->connection);
        return ELAPSE__STEP_RAN;
    }
    int arity = call->command->arity;
    if (arity >= 0 ? call->count != (uint32_t)arity : call->count < (uint32_t)-arity)
        return refuse_arity(call);
    ELAPSE__ASSERT(!goes_on || call->session->transaction == NULL);
    bool controls = (call->command->flags & ELAPSE__RESP_CONTROLS) != 0;
    /* If the password of a client is no longer valid, the client may say AUTH again. Its
     * transaction is spoiled by then. */
    bool says_auth = !call->session->known && (call->command->flags & ELAPSE__RESP_NO_AUTH) != 0;
    if (call->session->transaction != NULL && says_auth)
        elapse__resp_spoil(call->connection);
    else if (call->session->transaction != NULL && !controls)
        return elapse__resp_queue(call);
    return call->command->run(call);
}

static enum elapse__session_step run_command(struct elapse__connection *connection,
                                             const struct elapse__wire_resp_argument *arguments,
                                             uint32_t count)
{
    struct elapse__resp_call call = {.connection = connection,
                                     .session = elapse__session(connection),
                                     .arguments = arguments,
                                     .count = count};
    ELAPSE__ASSERT_THAT(call.count, >, 0U);
    ELAPSE__ASSERT_THAT(call.count, <=, (uint32_t)ELAPSE__WIRE_RESP_ARGUMENTS_MAX);
    enum elapse__session_step step = run_call(&call);
    ELAPSE__ASSERT(step != ELAPSE__STEP_NEED);
    if (step == ELAPSE__STEP_RAN || step == ELAPSE__STEP_END)
        forget(connection);
    return step;
}

static enum elapse__session_step refuse_bytes(struct elapse__connection *connection,
                                              const struct elapse__wire_resp_parsed *parsed)
{
    struct elapse__resp_line line = {.size = 0};

    elapse__resp_add(&line, "ERR Protocol error: ");
    elapse__resp_add(&line, parsed->error);
    (void)elapse__resp_reply_error(connection, line.text, NULL);
    return ELAPSE__STEP_END;
}

static enum elapse__session_step run(struct elapse__connection *connection, const uint8_t *bytes,
                                     size_t size, size_t *used)
{
    struct elapse__wire_resp_argument arguments[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    struct elapse__resp_session *session = elapse__session(connection);
    struct elapse__wire_resp_parsed parsed =
        elapse__wire_resp_parse(&session->parser, bytes, size, arguments);

    ELAPSE__ASSERT_THAT(parsed.consumed, <=, size);
    *used = parsed.consumed;
    switch (parsed.outcome) {
    case ELAPSE__WIRE_RESP_MORE:
        /* The consumed bytes belong to a command that will be refused. The reply comes after the
         * last byte of that command. */
        if (parsed.consumed > 0)
            return ELAPSE__STEP_RAN;
        elapse__session_need(connection, parsed.wanted);
        return ELAPSE__STEP_NEED;
    case ELAPSE__WIRE_RESP_EMPTY:
        return ELAPSE__STEP_RAN;
    case ELAPSE__WIRE_RESP_TOO_MANY:
        elapse__resp_spoil(connection);
        return elapse__resp_reply_error(connection,
                                        "ERR too many arguments: a command may have 2048", NULL);
    case ELAPSE__WIRE_RESP_TOO_LONG:
        elapse__resp_spoil(connection);
        return elapse__resp_reply_error(
            connection,
            "ERR too long: a body, or all arguments together, exceed the --max-body of the server",
            NULL);
    case ELAPSE__WIRE_RESP_BROKEN:
        *used = size;
        return refuse_bytes(connection, &parsed);
    case ELAPSE__WIRE_RESP_COMMAND:
        break;
    }
    ELAPSE__ASSERT_THAT(parsed.consumed, >, 0);
    return run_command(connection, arguments, parsed.count);
}

const struct elapse__protocol elapse__resp = {
    .name = "resp",
    .session_bytes = sizeof(struct elapse__resp_session),
    .begin = begin,
    .end = end,
    .run = run,
    .kept_too_long = elapse__resp_kept_too_long,
    .command = run_command,
    .handed_out = elapse__resp_handed_out,
    .nothing = elapse__resp_nothing,
    .looked = elapse__resp_looked,
};
