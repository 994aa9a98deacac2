/*
 * Runs the commands of a connection. Has the functions that a protocol calls while it runs a
 * command.
 */
#include <string.h>

#include "../../protocol/resp_parse.h"
#include "../../queue/names.h"
#include "ahead.h"
#include "marks.h"
#include "run.h"

/* ---- which protocol ---- */

enum choice { CHOICE_NEEDS_MORE, CHOICE_MADE, CHOICE_REFUSED };

enum { HTTP_LINE_MAX = 8192 };

/* Refuses a request of HTTP. A page in a browser can send such a request to any port, and its lines
 * must not be run as commands. Returns NEEDS_MORE while there are too few bytes to tell whether
 * they are a request of HTTP. */
static enum choice refuse_http(const uint8_t *bytes, size_t size)
{
    static const char *const methods[] = {"GET ",     "HEAD ",  "POST ",    "PUT ",  "DELETE ",
                                          "OPTIONS ", "PATCH ", "CONNECT ", "TRACE "};
    static const char version[] = " HTTP/1.";

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        size_t length = strlen(methods[i]);
        size_t common = size < length ? size : length;
        if (memcmp(bytes, methods[i], common) != 0)
            continue;
        const uint8_t *line_end = memchr(bytes, '\n', size);
        if (common < length && line_end == NULL)
            return CHOICE_NEEDS_MORE;
        if (common < length)
            continue;
        if (line_end == NULL)
            return size < HTTP_LINE_MAX ? CHOICE_NEEDS_MORE : CHOICE_REFUSED;
        for (const uint8_t *at = bytes; at + sizeof version - 1 <= line_end; at++)
            if (memcmp(at, version, sizeof version - 1) == 0)
                return CHOICE_REFUSED;
        return CHOICE_MADE;
    }
    return CHOICE_MADE;
}

static enum choice choose_protocol(struct elapse__connection *connection, const uint8_t *bytes,
                                   size_t size)
{
    const struct elapse__server_options *options = &connection->server->options;

    if (bytes[0] == '*' && options->resp != NULL) {
        connection->protocol = options->resp;
        return CHOICE_MADE;
    }
    if (options->beanstalkd == NULL)
        return CHOICE_REFUSED;
    if (elapse__keys_are_needed(&options->keys) && !options->is_behind_router &&
        !connection->facts.may_use_beanstalkd) {
        elapse__reply_text(connection, "UNAUTHORIZED: this server wants a password, which this "
                                       "protocol does not have\r\n");
        return CHOICE_REFUSED;
    }
    enum choice choice = refuse_http(bytes, size);
    if (choice == CHOICE_MADE)
        connection->protocol = options->beanstalkd;
    return choice;
}

/* Notes that the next command needs more than `size` bytes, because the first `size` bytes are only
 * a part of it. */
static void await_more(struct elapse__connection *connection, size_t size)
{
    if (connection->need <= size)
        connection->need = size + 1;
}

/* Begins the session of the protocol. Returns false if there is no memory. */
static bool begin(struct elapse__connection *connection)
{
    connection->has_begun = true;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the choice has set it */
    if (connection->protocol->begin != NULL && !connection->protocol->begin(connection))
        elapse__connection_fail(connection);
    return !connection->dead;
}

/* Chooses the protocol, unless it was chosen before. Returns whether the connection has one. */
static bool begin_session(struct elapse__connection *connection, const uint8_t *bytes, size_t size)
{
    if (connection->protocol != NULL)
        return true;
    enum choice choice = choose_protocol(connection, bytes, size);
    if (choice == CHOICE_NEEDS_MORE) {
        await_more(connection, size);
        return false;
    }
    if (choice == CHOICE_REFUSED) {
        connection->ending = true;
        elapse__reply_marks_close_reply(connection);
        return false;
    }
    return begin(connection);
}

/* ---- running ---- */

bool elapse__connection_may_run(const struct elapse__connection *connection)
{
    const struct elapse__server *server = connection->server;
    return !connection->closed && !connection->dead && !connection->ending && !server->stopped &&
           connection->waiting == 0 && !connection->is_guessing &&
           !elapse__connection_is_behind(connection) && !elapse__connection_is_choked(connection);
}

/* Returns whether a command needs more bytes than the limit. */
static bool needs_too_much(const struct elapse__connection *connection, size_t size)
{
    const struct elapse__server_options *options = &connection->server->options;
    size_t most = options->input_bytes_max;

    if (connection->need > (size_t)options->body_bytes_max + ELAPSE__NEED_SPARE)
        return true;
    if (connection->need > size)
        return false;
    return size >= most;
}

/* Does what a step of a command asks for, except NEED. Returns whether the command is done. */
static bool take_step(struct elapse__connection *connection, enum elapse__session_step step)
{
    struct elapse__server *server = connection->server;

    ELAPSE__ASSERT(step != ELAPSE__STEP_NEED);
    switch (step) {
    case ELAPSE__STEP_MORE:
        (void)elapse__server_spend(server, ELAPSE__QUANTUM);
        elapse__ring_join_once(&server->work, &connection->work);
        return false;
    case ELAPSE__STEP_LATER:
        elapse__ring_leave(&connection->work);
        elapse__ring_join_once(&server->stalled, &connection->work);
        return false;
    case ELAPSE__STEP_BEHIND:
        connection->behind = true;
        ELAPSE__ASSERT(elapse__connection_is_behind(connection));
        return false;
    case ELAPSE__STEP_END:
        connection->ending = true;
        break;
    default:
        break;
    }
    elapse__reply_marks_close_reply(connection);
    return true;
}

/* Runs one command. Returns whether another command may follow. */
static bool run_one(struct elapse__connection *connection, const uint8_t *bytes, size_t size,
                    size_t *used)
{
    const struct elapse__protocol *protocol = connection->protocol;
    enum elapse__session_step step;

    ELAPSE__ASSERT_THAT(size, >, 0);
    ELAPSE__ASSERT(elapse__connection_may_run(connection));
    *used = 0;
    connection->need = 0;
    connection->behind = false;
    connection->writing = &connection->held;
    step = protocol->run(connection, bytes, size, used);
    if (step == ELAPSE__STEP_NEED) {
        *used = 0;
        if (needs_too_much(connection, size))
            elapse__connection_fail(connection);
        await_more(connection, size);
        return false;
    }
    if (!take_step(connection, step)) {
        *used = 0;
        return false;
    }
    ELAPSE__ASSERT_THAT(*used, >, 0);
    ELAPSE__ASSERT_THAT(*used, <=, size);
    return elapse__server_spend(connection->server, 1 + (uint32_t)(*used / ELAPSE__UNIT_BYTES));
}

/* Returns whether the budget and the journal have room for a command in this call. If not, puts the
 * connection into the ring in which it waits to run later. */
static bool has_turn(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;

    ELAPSE__ASSERT(elapse__connection_may_run(connection));
    if (server->budget == 0) {
        elapse__ring_join_once(&server->work, &connection->work);
        return false;
    }
    if (elapse__server_journal_is_full(server)) {
        elapse__ring_leave(&connection->work);
        elapse__ring_join_once(&server->stalled, &connection->work);
        return false;
    }
    return true;
}

/* Returns whether a command of the connection's source of commands may run. */
static bool may_run_command(struct elapse__connection *connection)
{
    if (!elapse__connection_may_run(connection) || !has_turn(connection))
        return false;
    if (connection->protocol != NULL)
        return true;
    connection->protocol = connection->server->options.resp;
    return begin(connection);
}

void elapse__connection_run_commands(struct elapse__connection *connection)
{
    struct elapse__command_source *source = connection->facts.source;
    const struct elapse__wire_resp_argument *arguments;
    uint32_t count;

    while ((arguments = source->next(source, &count)) != NULL) {
        size_t size = 0;
        if (!may_run_command(connection))
            return;
        ELAPSE__ASSERT(connection->protocol == connection->server->options.resp);
        for (uint32_t i = 0; i < count; i++)
            size += arguments[i].size;
        connection->behind = false;
        connection->writing = &connection->held;
        bool is_done =
            take_step(connection, connection->protocol->command(connection, arguments, count));
        source->ran(source, is_done);
        if (!is_done)
            return;
        (void)elapse__server_spend(connection->server, 1 + (uint32_t)(size / ELAPSE__UNIT_BYTES));
    }
    connection->has_commands = false;
}

size_t elapse__connection_run(struct elapse__connection *connection, const uint8_t *bytes,
                              size_t size)
{
    size_t done = 0, seen = 0;

    while (elapse__connection_may_run(connection)) {
        size_t used;
        if (size == done || size - done < connection->need)
            break;
        if (done >= seen)
            seen = done + elapse__look_ahead(connection, bytes + done, size - done);
        if (!has_turn(connection) || !begin_session(connection, bytes + done, size - done))
            break;
        bool goes_on = run_one(connection, bytes + done, size - done, &used);
        done += used;
        if (!goes_on && (used == 0 || connection->dead))
            break;
    }
    ELAPSE__ASSERT_THAT(done, <=, size);
    return done;
}

/* ---- what a protocol asks ---- */

void *elapse__session(const struct elapse__connection *connection)
{
    return (void *)(uintptr_t)connection->session;
}

struct elapse__server *elapse__session_server(const struct elapse__connection *connection)
{
    return connection->server;
}

bool elapse__session_speaks_resp3(const struct elapse__connection *connection)
{
    return connection->facts.speaks_resp3;
}

uint64_t elapse__session_number(const struct elapse__connection *connection)
{
    return connection->number;
}

const struct elapse__server_options *
elapse__session_options(const struct elapse__connection *connection)
{
    return &connection->server->options;
}

struct elapse__queue *elapse__session_queue(const struct elapse__connection *connection)
{
    return connection->server->engine->jobs;
}

struct elapse__queue_now elapse__session_now(const struct elapse__connection *connection)
{
    return connection->server->now;
}

bool elapse__session_has_due(const struct elapse__connection *connection)
{
    const struct elapse__server *server = connection->server;
    struct elapse__queue_due due = elapse__queue_next_due(server->engine->jobs);

    return due.boot_ms <= server->now.boot_ms || due.wall_ms <= server->now.wall_ms ||
           elapse_wheel_next(&server->wheel) <= server->now.boot_ms;
}

struct elapse__queue_connection *elapse__session_leases(struct elapse__connection *connection)
{
    return connection->protocol->leases_end_with_connection ? &connection->leases : NULL;
}

bool elapse__session_is_named(const struct elapse__connection *connection)
{
    return connection->named > 0;
}

void elapse__session_count(struct elapse__connection *connection, enum elapse__server_verb verb)
{
    ELAPSE__ASSERT_THAT(verb, <, ELAPSE__VERBS);
    connection->server->figures.commands[verb]++;
}

void elapse__session_spend(struct elapse__connection *connection, uint32_t commands)
{
    (void)elapse__server_spend(connection->server, commands);
}

bool elapse__session_run(struct elapse__connection *connection, elapse__engine_command *command,
                         const void *arguments, struct elapse__queue_answer *answer)
{
    return elapse__engine_run(connection->server->engine, command, arguments, answer);
}

bool elapse__session_keep(struct elapse__connection *connection, size_t bytes)
{
    struct elapse__server *server = connection->server;

    if (bytes > server->options.kept_bytes_max - server->kept_bytes)
        return false;
    server->kept_bytes += bytes;
    connection->kept_bytes += bytes;
    elapse_wheel_start(&server->wheel, &connection->kept.timer,
                       server->now.boot_ms + ELAPSE__KEPT_MS);
    return true;
}

uint64_t elapse__session_transaction_bytes_max(const struct elapse__connection *connection)
{
    return elapse__engine_transaction_bytes_max(connection->server->engine);
}

void elapse__session_keep_nothing(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;

    ELAPSE__ASSERT_THAT(connection->kept_bytes, <=, server->kept_bytes);
    server->kept_bytes -= connection->kept_bytes;
    connection->kept_bytes = 0;
    (void)elapse_wheel_stop(&server->wheel, &connection->kept.timer);
}

void elapse__session_need(struct elapse__connection *connection, size_t size)
{
    connection->need = size;
}

void elapse__session_set_name(struct elapse__connection *connection, struct elapse__queue_text name)
{
    struct elapse__queue *jobs = connection->server->engine->jobs;
    uint32_t before = connection->leases.name;

    connection->leases.name = elapse__queue_name_get(jobs, name);
    elapse__queue_name_drop(jobs, before);
}

uint64_t elapse__server_wrong_password(struct elapse__server *server, struct elapse__queue_now now,
                                       uint64_t place)
{
    return elapse__guesses_note(&server->guesses, place, now.boot_ms);
}

struct elapse__guesses *elapse__server_guesses(struct elapse__server *server)
{
    return &server->guesses;
}

struct elapse__guesses *elapse__server_old_names(struct elapse__server *server)
{
    return &server->old_names;
}

void elapse__session_old_name(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;

    /* A connection of another node is left out, because the router of that node counts its
     * clients. */
    if (!connection->facts.speaks_resp3)
        (void)elapse__guesses_note(&server->old_names, connection->facts.place,
                                   server->now.boot_ms);
}

void elapse__session_wrong_password(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;
    uint64_t wait_ms = elapse__server_wrong_password(server, server->now, connection->facts.place);

    ELAPSE__ASSERT(!connection->is_guessing);
    connection->is_guessing = true;
    elapse_wheel_start(&server->wheel, &connection->guess.timer, server->now.boot_ms + wait_ms);
    if (++connection->guesses >= ELAPSE__WIRE_GUESSES_MAX)
        connection->ending = true;
}

static bool tube_is_full(const struct elapse__server *server, struct elapse__queue_text tube,
                         size_t body_bytes, struct elapse__server_puts before)
{
    const struct elapse__server_options *options = &server->options;
    struct elapse__queue_statistics figures;
    uint64_t bytes = before.bytes + body_bytes;

    if (options->tube_jobs_max == 0 && options->tube_bytes_max == 0)
        return false;
    if (elapse__queue_tube_statistics(server->engine->jobs, server->now, tube, &figures) !=
        ELAPSE__QUEUE_OK)
        figures = (struct elapse__queue_statistics){.ready = 0};
    uint64_t jobs =
        figures.delayed + figures.ready + figures.reserved + figures.buried + before.jobs;
    return (options->tube_jobs_max > 0 && jobs >= options->tube_jobs_max) ||
           (options->tube_bytes_max > 0 && figures.body_bytes + bytes > options->tube_bytes_max);
}

/* Returns why a new job is refused, or MAY_PUT. */
static enum elapse__server_refusal refusal_of_new(const struct elapse__server *server,
                                                  const struct elapse__queue_put *put,
                                                  struct elapse__server_puts before)
{
    const struct elapse__server_options *options = &server->options;

    if (server->draining)
        return ELAPSE__PUT_DRAINING;
    if (options->memory_bytes_max > 0 && server->memory_bytes >= options->memory_bytes_max)
        return ELAPSE__PUT_NO_MEMORY;
    return tube_is_full(server, put->tube, put->body.size, before) ? ELAPSE__PUT_TUBE_FULL
                                                                   : ELAPSE__MAY_PUT;
}

enum elapse__server_refusal elapse__session_may_put(struct elapse__connection *connection,
                                                    const struct elapse__queue_put *put,
                                                    struct elapse__server_puts before)
{
    struct elapse__server *server = connection->server;

    if (!connection->is_producer) {
        connection->is_producer = true;
        server->figures.producers++;
        ELAPSE__ASSERT_THAT(server->figures.producers, <=, server->figures.connections);
    }
    if (put->body.size > server->options.body_bytes_max)
        return ELAPSE__PUT_TOO_BIG;
    enum elapse__server_refusal refusal = refusal_of_new(server, put, before);
    /* Most puts have room, so their token is not looked for here: the queue does that anyway. */
    if (refusal != ELAPSE__MAY_PUT &&
        elapse__queue_knows_token(server->engine->jobs, server->now, put->token))
        return ELAPSE__MAY_PUT;
    return refusal;
}
