#include "session.h"

#include <string.h>

#include "../../base/assert.h"

/* ---- commands ---- */

/* The scope of a command. A command needs its right for all tubes of its scope. Each row of the
 * table of commands has a scope other than NO_SCOPE. Tests check that. */
enum scope {
    NO_SCOPE,
    NO_TUBE,
    USED,    /* the tube that the connection uses */
    WATCHED, /* each tube that the connection watches */
    NAMED,   /* the tube that the command names */
    ID,      /* the tube of the job that the command names */
    DELETED, /* as ID; but if nobody has reserved the job, the command needs the right admin */
    ALL,     /* all tubes */
};

struct verb {
    beanstalkd_function *run;
    enum elapse__server_verb counted;
    enum elapse__right right;
    enum scope scope;
};

static enum elapse__session_step run_quit(struct elapse__connection *connection,
                                          const struct elapse__wire_beanstalkd_command *command)
{
    (void)connection;
    (void)command;
    return ELAPSE__STEP_END;
}

static const struct verb verbs[ELAPSE__WIRE_BEANSTALKD_VERBS] = {
    [ELAPSE__WIRE_BEANSTALKD_PUT] = {elapse__beanstalkd_put, ELAPSE__VERB_PUT, ELAPSE__RIGHT_PUT,
                                     USED},
    [ELAPSE__WIRE_BEANSTALKD_PEEK] = {elapse__beanstalkd_peek, ELAPSE__VERB_PEEK,
                                      ELAPSE__RIGHT_LOOK, ID},
    [ELAPSE__WIRE_BEANSTALKD_PEEK_READY] = {elapse__beanstalkd_peek_tube, ELAPSE__VERB_PEEK_READY,
                                            ELAPSE__RIGHT_LOOK, USED},
    [ELAPSE__WIRE_BEANSTALKD_PEEK_DELAYED] = {elapse__beanstalkd_peek_delayed,
                                              ELAPSE__VERB_PEEK_DELAYED, ELAPSE__RIGHT_LOOK, USED},
    [ELAPSE__WIRE_BEANSTALKD_PEEK_BURIED] = {elapse__beanstalkd_peek_tube, ELAPSE__VERB_PEEK_BURIED,
                                             ELAPSE__RIGHT_LOOK, USED},
    [ELAPSE__WIRE_BEANSTALKD_RESERVE] = {elapse__beanstalkd_reserve, ELAPSE__VERB_RESERVE,
                                         ELAPSE__RIGHT_WORK, WATCHED},
    [ELAPSE__WIRE_BEANSTALKD_RESERVE_WITH_TIMEOUT] = {elapse__beanstalkd_reserve,
                                                      ELAPSE__VERB_RESERVE_WITH_TIMEOUT,
                                                      ELAPSE__RIGHT_WORK, WATCHED},
    [ELAPSE__WIRE_BEANSTALKD_RESERVE_JOB] = {elapse__beanstalkd_reserve_job,
                                             ELAPSE__VERB_RESERVE_JOB, ELAPSE__RIGHT_WORK, ID},
    [ELAPSE__WIRE_BEANSTALKD_DELETE] = {elapse__beanstalkd_change, ELAPSE__VERB_DELETE,
                                        ELAPSE__RIGHT_WORK, DELETED},
    [ELAPSE__WIRE_BEANSTALKD_RELEASE] = {elapse__beanstalkd_change, ELAPSE__VERB_RELEASE,
                                         ELAPSE__RIGHT_WORK, ID},
    [ELAPSE__WIRE_BEANSTALKD_USE] = {elapse__beanstalkd_use, ELAPSE__VERB_USE, ELAPSE__RIGHT_NONE,
                                     NO_TUBE},
    [ELAPSE__WIRE_BEANSTALKD_WATCH] = {elapse__beanstalkd_watch, ELAPSE__VERB_WATCH,
                                       ELAPSE__RIGHT_NONE, NO_TUBE},
    [ELAPSE__WIRE_BEANSTALKD_IGNORE] = {elapse__beanstalkd_ignore, ELAPSE__VERB_IGNORE,
                                        ELAPSE__RIGHT_NONE, NO_TUBE},
    [ELAPSE__WIRE_BEANSTALKD_BURY] = {elapse__beanstalkd_change, ELAPSE__VERB_BURY,
                                      ELAPSE__RIGHT_WORK, ID},
    [ELAPSE__WIRE_BEANSTALKD_KICK] = {elapse__beanstalkd_kick, ELAPSE__VERB_KICK,
                                      ELAPSE__RIGHT_ADMIN, USED},
    [ELAPSE__WIRE_BEANSTALKD_KICK_JOB] = {elapse__beanstalkd_change, ELAPSE__VERB_KICK_JOB,
                                          ELAPSE__RIGHT_ADMIN, ID},
    [ELAPSE__WIRE_BEANSTALKD_TOUCH] = {elapse__beanstalkd_change, ELAPSE__VERB_TOUCH,
                                       ELAPSE__RIGHT_WORK, ID},
    [ELAPSE__WIRE_BEANSTALKD_STATS] = {elapse__beanstalkd_stats, ELAPSE__VERB_STATS,
                                       ELAPSE__RIGHT_LOOK, ALL},
    [ELAPSE__WIRE_BEANSTALKD_STATS_JOB] = {elapse__beanstalkd_stats_job, ELAPSE__VERB_STATS_JOB,
                                           ELAPSE__RIGHT_LOOK, ID},
    [ELAPSE__WIRE_BEANSTALKD_STATS_TUBE] = {elapse__beanstalkd_stats_tube, ELAPSE__VERB_STATS_TUBE,
                                            ELAPSE__RIGHT_LOOK, NAMED},
    [ELAPSE__WIRE_BEANSTALKD_LIST_TUBES] = {elapse__beanstalkd_list_tubes, ELAPSE__VERB_LIST_TUBES,
                                            ELAPSE__RIGHT_LOOK, ALL},
    [ELAPSE__WIRE_BEANSTALKD_LIST_TUBE_USED] = {elapse__beanstalkd_list_tube_used,
                                                ELAPSE__VERB_LIST_TUBE_USED, ELAPSE__RIGHT_NONE,
                                                NO_TUBE},
    [ELAPSE__WIRE_BEANSTALKD_LIST_TUBES_WATCHED] = {elapse__beanstalkd_list_tubes_watched,
                                                    ELAPSE__VERB_LIST_TUBES_WATCHED,
                                                    ELAPSE__RIGHT_NONE, NO_TUBE},
    [ELAPSE__WIRE_BEANSTALKD_PAUSE_TUBE] = {elapse__beanstalkd_pause_tube, ELAPSE__VERB_PAUSE_TUBE,
                                            ELAPSE__RIGHT_ADMIN, NAMED},
    [ELAPSE__WIRE_BEANSTALKD_QUIT] = {run_quit, ELAPSE__VERB_QUIT, ELAPSE__RIGHT_NONE, NO_TUBE},
};

/* Replies to a command that cannot run. Counts every put whose line is well formed, as beanstalkd
 * does. A client whose put is too big does not count as a producer. */
static enum elapse__session_step run_fault(struct elapse__connection *connection,
                                           const struct elapse__wire_beanstalkd_command *command)
{
    const struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    ELAPSE__ASSERT(!session->goes_on);
    switch (command->verb) {
    case ELAPSE__WIRE_BEANSTALKD_TOO_BIG:
        elapse__session_count(connection, ELAPSE__VERB_PUT);
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_JOB_TOO_BIG);
    case ELAPSE__WIRE_BEANSTALKD_EXPECTED_CRLF:
        elapse__session_count(connection, ELAPSE__VERB_PUT);
        (void)elapse__session_may_put(
            connection,
            &(struct elapse__queue_put){.tube = elapse__server_tube_name(session->used)},
            (struct elapse__server_puts){.jobs = 0});
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_EXPECTED_CRLF);
    case ELAPSE__WIRE_BEANSTALKD_UNKNOWN:
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_UNKNOWN_COMMAND);
    default:
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_BAD_FORMAT);
    }
}

/* ---- rights ---- */

/* Returns the user whose rights the connection has, or NULL if it may do everything. */
static const struct elapse__user *user_of(const struct elapse__connection *connection)
{
    const struct elapse__server_options *options = elapse__session_options(connection);
    const struct elapse__users *users = options->keys.users;
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    const char *name = options->beanstalkd_user;

    if (users == NULL || name == NULL)
        return NULL;
    if (session->users_serial != users->serial) {
        session->users_serial = users->serial;
        session->user = elapse__users_named(users, name, strlen(name));
        if (session->user == NULL)
            session->user = &elapse__user_nobody;
    }
    return session->user;
}

static bool may(const struct elapse__user *user, enum elapse__right right,
                struct elapse__queue_text tube, struct elapse__refusal *refusal)
{
    *refusal = (struct elapse__refusal){.right = right,
                                        .tube = {.bytes = tube.bytes, .size = (uint32_t)tube.size}};
    return elapse__user_may(user, right, tube.bytes, tube.size);
}

/* Hides the job of a command from a user who has no rights for the tube of the job. Changes the id
 * in the command, so that the command finds no job. */
static void hide(struct elapse__connection *connection, const struct elapse__user *user,
                 const struct verb *verb, struct elapse__wire_beanstalkd_command *command)
{
    struct elapse__queue_view view;

    if (elapse__queue_look_up_id(elapse__session_queue(connection), elapse__session_now(connection),
                                 command->id, &view) == ELAPSE__QUEUE_GONE)
        return;
    bool is_held = view.state == ELAPSE__QUEUE_RESERVED || view.state == ELAPSE__QUEUE_SHADOW;
    enum elapse__right right =
        verb->scope == DELETED && !is_held ? ELAPSE__RIGHT_ADMIN : verb->right;
    if (!elapse__user_may(user, right, view.tube.bytes, view.tube.size))
        command->id = UINT64_MAX;
}

static bool may_reserve(const struct elapse__connection *connection,
                        const struct elapse__user *user, const struct verb *verb,
                        struct elapse__refusal *refusal)
{
    const struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    for (uint32_t i = 0; i < session->watched_count; i++)
        if (!may(user, verb->right, elapse__server_tube_name(session->watched[i]), refusal))
            return false;
    return true;
}

/* Returns whether the user may run the command. If not, fills `refusal`. A command that names a job
 * by its id may always run. If the user has no rights for the job, the command does not find the
 * job. */
static bool is_allowed(struct elapse__connection *connection, const struct elapse__user *user,
                       const struct verb *verb, struct elapse__wire_beanstalkd_command *command,
                       struct elapse__refusal *refusal)
{
    const struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    ELAPSE__ASSERT(verb->scope != NO_SCOPE);
    switch (verb->scope) {
    case USED:
        return may(user, verb->right, elapse__server_tube_name(session->used), refusal);
    case WATCHED:
        return may_reserve(connection, user, verb, refusal);
    case NAMED:
        return may(user, verb->right,
                   (struct elapse__queue_text){command->tube, command->tube_size}, refusal);
    case ID:
    case DELETED:
        hide(connection, user, verb, command);
        return true;
    case NO_TUBE:
        return true;
    default:
        *refusal = (struct elapse__refusal){.right = verb->right, .of_all = true};
        return elapse__user_may_all(user, verb->right);
    }
}

static enum elapse__session_step refuse(struct elapse__connection *connection,
                                        const struct elapse__user *user,
                                        const struct elapse__refusal *refusal)
{
    char text[ELAPSE__REFUSAL_BYTES];

    elapse__refusal_write(text, user, refusal);
    elapse__reply_text(connection, "UNAUTHORIZED: ");
    elapse__reply_text(connection, text + strlen("NOPERM "));
    elapse__reply_text(connection, "\r\n");
    return ELAPSE__STEP_RAN;
}

static enum elapse__session_step run_command(struct elapse__connection *connection,
                                             struct elapse__wire_beanstalkd_command *command)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    ELAPSE__ASSERT_THAT(command->verb, <, ELAPSE__WIRE_BEANSTALKD_VERBS);
    if (command->verb < ELAPSE__WIRE_BEANSTALKD_PUT)
        return run_fault(connection, command);
    const struct verb *verb = &verbs[command->verb];
    const struct elapse__user *user = user_of(connection);
    struct elapse__refusal refusal;
    ELAPSE__ASSERT(verb->run != NULL);
    /* A command is refused only when it begins, because its reply may be half written later. A job
     * is hidden at each step. */
    if (user != NULL && !is_allowed(connection, user, verb, command, &refusal) && !session->goes_on)
        return refuse(connection, user, &refusal);
    /* Counts a command once, even if its function is called again. Counts it before it runs, so
     * that statistics include the command that asks for them. */
    if (!session->goes_on)
        elapse__session_count(connection, verb->counted);
    enum elapse__session_step step = verb->run(connection, command);
    session->goes_on =
        step == ELAPSE__STEP_MORE || step == ELAPSE__STEP_LATER || step == ELAPSE__STEP_BEHIND;
    return step;
}

static enum elapse__session_step run(struct elapse__connection *connection, const uint8_t *bytes,
                                     size_t size, size_t *used)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    struct elapse__wire_beanstalkd_command command;

    struct elapse__wire_beanstalkd_parsed parsed =
        elapse__beanstalkd_parse(&session->parser, bytes, size, &command);
    *used = parsed.consumed;
    ELAPSE__ASSERT_THAT(parsed.consumed, <=, size);
    ELAPSE__ASSERT(!parsed.whole || parsed.consumed > 0);
    if (parsed.whole)
        return run_command(connection, &command);
    if (parsed.consumed > 0)
        return ELAPSE__STEP_RAN; /* the bytes are skipped, and the reply comes after them */
    ELAPSE__ASSERT(!session->goes_on);
    ELAPSE__ASSERT_THAT(parsed.wanted, >, size);
    elapse__session_need(connection, parsed.wanted);
    return ELAPSE__STEP_NEED;
}

/* ---- life ---- */

static bool begin(struct elapse__connection *connection)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    ELAPSE__ASSERT(session->watched_count == 0 && session->used == NULL);
    session->parser.body_bytes_max = elapse__session_options(connection)->body_bytes_max;
    return elapse__beanstalkd_tubes_begin(connection);
}

static void end(struct elapse__connection *connection)
{
    elapse__beanstalkd_tubes_end(connection);
    elapse__beanstalkd_end_kick(connection);
}

/* ---- replies that come later ---- */

static void reply_body(struct elapse__connection *connection, struct elapse__queue_text body)
{
    elapse__reply_bytes(connection, body.bytes, body.size);
    elapse__reply_text(connection, "\r\n");
}

static void handed_out(struct elapse__connection *connection, uint64_t context,
                       const struct elapse__server_job *jobs, uint32_t count)
{
    char line[ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX];

    ELAPSE__ASSERT_THAT(context, ==, BEANSTALKD_RESERVED);
    ELAPSE__ASSERT_THAT(count, ==, 1);
    (void)context;
    (void)count;
    size_t size = elapse__wire_beanstalkd_reserved(line, jobs->handed.id, jobs->texts.body.size);
    elapse__reply_bytes(connection, line, size);
    reply_body(connection, jobs->texts.body);
}

static void looked(struct elapse__connection *connection, uint64_t context,
                   const struct elapse__queue_view *view, const struct elapse__engine_job *texts)
{
    char line[ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX];

    if (context == BEANSTALKD_STATS_JOB) {
        elapse__beanstalkd_looked_at_job(connection, view, texts);
        return;
    }
    ELAPSE__ASSERT_THAT(context, ==, BEANSTALKD_FOUND);
    size_t size = elapse__wire_beanstalkd_found(line, view->id, texts->body.size);
    elapse__reply_bytes(connection, line, size);
    reply_body(connection, texts->body);
}

static void nothing(struct elapse__connection *connection, uint64_t context,
                    enum elapse__server_nothing why)
{
    ELAPSE__ASSERT_THAT(context, <=, BEANSTALKD_STATS_JOB);
    (void)context;
    switch (why) {
    case ELAPSE__NOTHING_TIMED_OUT:
        (void)elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_TIMED_OUT);
        return;
    case ELAPSE__NOTHING_DEADLINE_SOON:
        (void)elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_DEADLINE_SOON);
        return;
    case ELAPSE__NOTHING_NO_MEMORY:
        (void)elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
        return;
    case ELAPSE__NOTHING_GONE:
        (void)elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_FOUND);
        return;
    case ELAPSE__NOTHING_ERROR:
    case ELAPSE__NOTHING_DAMAGED:
        break;
    }
    (void)elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_INTERNAL_ERROR);
}

const struct elapse__protocol elapse__beanstalkd = {
    .name = "beanstalkd",
    .session_bytes = sizeof(struct beanstalkd_session),
    .leases_end_with_connection = true,
    .begin = begin,
    .end = end,
    .run = run,
    .handed_out = handed_out,
    .nothing = nothing,
    .looked = looked,
};
