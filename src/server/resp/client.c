/*
 * Runs the commands that clients of this protocol send when they connect and before they end.
 */
#include <string.h>

#include <elapse/version.h>

#include "commands.h"
#include "options.h"
#include "reply.h"
#include "transaction.h"

/* ---- PING, ECHO and the like ---- */

enum elapse__session_step elapse__resp_ping(const struct elapse__resp_call *call)
{
    if (call->count > 2)
        return elapse__resp_reply_error(call->connection,
                                        "ERR wrong number of arguments for 'ping' command", NULL);
    if (elapse__resp_is_only_checked(call))
        return ELAPSE__STEP_LATER;
    if (call->count == 1)
        elapse__resp_reply_word(call, "PONG");
    else
        elapse__resp_reply_bytes(call, call->arguments[1].bytes, call->arguments[1].size);
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_echo(const struct elapse__resp_call *call)
{
    if (elapse__resp_is_only_checked(call))
        return ELAPSE__STEP_LATER;
    elapse__resp_reply_bytes(call, call->arguments[1].bytes, call->arguments[1].size);
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_select(const struct elapse__resp_call *call)
{
    uint64_t number = 0;

    if (!elapse__resp_read_number(call, 1, UINT32_MAX, &number))
        return ELAPSE__STEP_RAN;
    if (number != 0)
        return elapse__resp_reply_error(call->connection, "ERR DB index is out of range", NULL);
    if (elapse__resp_is_only_checked(call))
        return ELAPSE__STEP_LATER;
    elapse__resp_reply_word(call, "OK");
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_quit(const struct elapse__resp_call *call)
{
    elapse__resp_reply_word(call, "OK");
    return ELAPSE__STEP_END;
}

enum elapse__session_step elapse__resp_reset(const struct elapse__resp_call *call)
{
    const struct elapse__server_options *options = elapse__session_options(call->connection);

    call->session->resp3 = false;
    call->session->known = options->is_behind_router || !elapse__keys_are_needed(&options->keys);
    call->session->who = (struct elapse__identity){.user = NULL};
    call->session->name_size = 0;
    elapse__session_set_name(call->connection, (struct elapse__queue_text){NULL, 0});
    elapse__resp_transaction_end(call->connection);
    elapse__resp_reply_word(call, "RESET");
    return ELAPSE__STEP_RAN;
}

/* ---- who the client is ---- */

/* Logs the client in with a user and a password. If they are wrong, replies with the error and
 * returns false. */
static bool authenticate(const struct elapse__resp_call *call,
                         struct elapse__wire_resp_argument user,
                         struct elapse__wire_resp_argument password)
{
    struct elapse__identity who;

    if (elapse__admit(&elapse__session_options(call->connection)->keys, user, password, &who)) {
        call->session->known = true;
        call->session->who = who;
        return true;
    }
    elapse__session_wrong_password(call->connection);
    (void)elapse__resp_reply_error(
        call->connection, "WRONGPASS invalid username-password pair or user is disabled.", NULL);
    return false;
}

enum elapse__session_step elapse__resp_auth(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_argument default_user = {
        .bytes = (const unsigned char *)"default", .size = 7};

    if (call->count > 3)
        return elapse__resp_reply_error(call->connection, "ERR syntax error", NULL);
    if (!elapse__keys_are_needed(&elapse__session_options(call->connection)->keys))
        return elapse__resp_reply_error(
            call->connection,
            "ERR AUTH called without any password configured: the server needs none", NULL);
    if (authenticate(call, call->count == 2 ? default_user : call->arguments[1],
                     call->arguments[call->count - 1]))
        elapse__resp_reply_word(call, "OK");
    return ELAPSE__STEP_RAN;
}

/* If the name of a client is wrong, replies with the error and returns false. */
static bool check_name(const struct elapse__resp_call *call, struct elapse__wire_resp_argument name)
{
    bool fits = name.size <= ELAPSE__RESP_CLIENT_NAME_MAX;

    for (uint32_t i = 0; fits && i < name.size; i++)
        fits = name.bytes[i] > ' ' && name.bytes[i] <= '~';
    if (!fits)
        (void)elapse__resp_reply_error(
            call->connection,
            "ERR the name of a client has up to 64 bytes, without blanks and newlines", NULL);
    return fits;
}

/* Stores the name of the client, which was checked. */
static void set_name(const struct elapse__resp_call *call, struct elapse__wire_resp_argument name)
{
    ELAPSE__ASSERT_THAT(name.size, <=, sizeof call->session->name);
    memcpy(call->session->name, name.bytes, name.size);
    call->session->name_size = (uint8_t)name.size;
    elapse__session_set_name(call->connection, elapse__resp_text(name));
}

static void reply_hello(const struct elapse__resp_call *call)
{
    enum { PAIRS = 7, BYTES = 400 };
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3, BYTES);

    elapse__wire_resp_write_map(&writer, PAIRS);
    elapse__wire_resp_write_text(&writer, "server");
    elapse__wire_resp_write_text(&writer, "elapse");
    elapse__wire_resp_write_text(&writer, "version");
    elapse__wire_resp_write_text(&writer, ELAPSE_VERSION_TEXT);
    elapse__wire_resp_write_text(&writer, "proto");
    elapse__wire_resp_write_integer(&writer, call->session->resp3 ? 3 : 2);
    elapse__wire_resp_write_text(&writer, "id");
    elapse__wire_resp_write_integer(&writer, (int64_t)elapse__session_number(call->connection));
    elapse__wire_resp_write_text(&writer, "mode");
    elapse__wire_resp_write_text(&writer, "standalone");
    elapse__wire_resp_write_text(&writer, "role");
    elapse__wire_resp_write_text(&writer, "master");
    elapse__wire_resp_write_text(&writer, "modules");
    elapse__wire_resp_write_array(&writer, 0);
    elapse__resp_end(call->connection, &writer);
}

/* Reads the arguments of HELLO, [version [AUTH user password] [SETNAME name]], and does what they
 * say. If one of them is wrong, replies with the error and returns false. */
static bool greet(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {{"AUTH", 2}, {"SETNAME", 1}};
    const struct elapse__wire_resp_argument *arguments = call->arguments;
    uint32_t places[2] = {0, 0};
    uint64_t version = call->session->resp3 ? 3 : 2;

    if (call->count > 1 &&
        (!elapse__decimal_read(arguments[1].bytes, arguments[1].size, 3, &version) ||
         version < 2)) {
        (void)elapse__resp_reply_error(call->connection, "NOPROTO unsupported protocol version",
                                       NULL);
        return false;
    }
    if (!elapse__resp_find_options(call, 2, options, 2, places))
        return false;
    if (places[0] != 0 && !authenticate(call, arguments[places[0]], arguments[places[0] + 1]))
        return false;
    if (!call->session->known) {
        (void)elapse__resp_reply_error(
            call->connection,
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
            "HELLO <proto> AUTH <user> <pass> option can be used",
            NULL);
        return false;
    }
    if (places[1] != 0) {
        if (!check_name(call, arguments[places[1]]))
            return false;
        set_name(call, arguments[places[1]]);
    }
    call->session->resp3 = version == 3;
    return true;
}

enum elapse__session_step elapse__resp_hello(const struct elapse__resp_call *call)
{
    if (greet(call))
        reply_hello(call);
    return ELAPSE__STEP_RAN;
}

/* ---- CLIENT ---- */

/* Replies with one line about this connection. */
static void reply_client(const struct elapse__resp_call *call)
{
    struct elapse__resp_line line = {.size = 0};

    elapse__resp_add(&line, "id=");
    elapse__resp_add_number(&line, elapse__session_number(call->connection));
    elapse__resp_add(&line, " name=");
    elapse__resp_add_bytes(&line, call->session->name, call->session->name_size);
    elapse__resp_add(&line, call->session->resp3 ? " db=0 resp=3\n" : " db=0 resp=2\n");
    elapse__resp_reply_bytes(call, line.text, line.size);
}

enum subcommand {
    SETNAME,
    GETNAME,
    ID,
    INFO,
    LIST,
    SETINFO,
    NO_EVICT,
    NO_TOUCH,
    SUBCOMMANDS /* no subcommand, or one with another number of arguments */
};

static enum subcommand subcommand_of(const struct elapse__resp_call *call)
{
    static const struct {
        const char *name;
        uint32_t count; /* of the arguments, with CLIENT */
    } forms[SUBCOMMANDS] = {
        [SETNAME] = {"SETNAME", 3},   [GETNAME] = {"GETNAME", 2},   [ID] = {"ID", 2},
        [INFO] = {"INFO", 2},         [LIST] = {"LIST", 2},         [SETINFO] = {"SETINFO", 4},
        [NO_EVICT] = {"NO-EVICT", 3}, [NO_TOUCH] = {"NO-TOUCH", 3},
    };
    unsigned place = 0;

    ELAPSE__ASSERT_THAT(call->count, >=, 2);
    while (place < SUBCOMMANDS && (forms[place].count != call->count ||
                                   !elapse__wire_resp_is(call->arguments[1], forms[place].name)))
        place++;
    return (enum subcommand)place;
}

enum elapse__session_step elapse__resp_client(const struct elapse__resp_call *call)
{
    enum subcommand subcommand = subcommand_of(call);

    if (subcommand == SUBCOMMANDS)
        return elapse__resp_reply_error(call->connection,
                                        "ERR unknown subcommand or wrong number of arguments for",
                                        &call->arguments[1]);
    if (subcommand == SETNAME && !check_name(call, call->arguments[2]))
        return ELAPSE__STEP_RAN;
    if (elapse__resp_is_only_checked(call))
        return ELAPSE__STEP_LATER;
    if (subcommand == LIST && call->pass == NULL)
        return elapse__resp_client_list(call);
    if (subcommand == SETNAME)
        set_name(call, call->arguments[2]);
    if (subcommand == INFO || subcommand == LIST)
        reply_client(call);
    else if (subcommand == ID)
        elapse__resp_reply_integer(call, elapse__session_number(call->connection));
    else if (subcommand == GETNAME && call->session->name_size == 0)
        elapse__resp_reply_null(call);
    else if (subcommand == GETNAME)
        elapse__resp_reply_bytes(call, call->session->name, call->session->name_size);
    else
        elapse__resp_reply_word(call, "OK");
    return ELAPSE__STEP_RAN;
}

/* ---- WHOAMI ---- */

enum elapse__session_step elapse__resp_whoami(const struct elapse__resp_call *call)
{
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3, elapse__user_bytes(call->user));

    elapse__user_write(&writer, call->user);
    elapse__resp_end(call->connection, &writer);
    return ELAPSE__STEP_RAN;
}

/* ---- CONFIG and INFO ---- */

enum elapse__session_step elapse__resp_config(const struct elapse__resp_call *call)
{
    if (!elapse__wire_resp_is(call->arguments[1], "GET"))
        return elapse__resp_reply_error(
            call->connection, "ERR the server is configured when it starts; unknown subcommand",
            &call->arguments[1]);
    elapse__resp_reply_map(call, 0);
    return ELAPSE__STEP_RAN;
}

/* Moves the test clock forward. If the clock cannot be moved, replies with an error and returns
 * false. */
static bool advance_clock(const struct elapse__resp_call *call, uint64_t *advanced_ms)
{
    static const struct elapse__wire_resp_option option = {"ADVANCE", 1};
    const struct elapse__server_options *options = elapse__session_options(call->connection);
    uint32_t place = 0;

    if (!elapse__resp_find_options(call, 1, &option, 1, &place))
        return false;
    if (options->advance_clock == NULL) {
        (void)elapse__resp_reply_error(
            call->connection,
            "ERR the clock is the machine's: only a server with --test-clock moves it", NULL);
        return false;
    }
    ELAPSE__ASSERT_THAT(place, >, 0); /* the caller has seen that there is an option */
    if (!elapse__resp_read_duration(call, place, advanced_ms))
        return false;
    if (options->advance_clock(*advanced_ms))
        return true;
    (void)elapse__resp_reply_error(
        call->connection, "ERR the test clock goes at most 100 years ahead of the machine's", NULL);
    return false;
}

/* Runs CLOCK. With ADVANCE, the answer leaves when everything that is due by the new time has
 * happened. The steps are these:
 *
 *      the clock is moved --> the next turn reads it --> nothing is due any more --> the answer
 *
 * So a client that has moved the clock never finds a job as it was before. */
enum elapse__session_step elapse__resp_clock(const struct elapse__resp_call *call)
{
    struct elapse__resp_session *session = call->session;
    struct elapse__queue_now now = elapse__session_now(call->connection);

    ELAPSE__ASSERT(call->pass == NULL);
    if (call->count > 1) {
        uint64_t advanced_ms = 0;
        if (session->done == 0 && !advance_clock(call, &advanced_ms))
            return ELAPSE__STEP_RAN;
        if (session->done++ == 0)
            session->counts[0] = now.boot_ms + advanced_ms; /* that clock is never set back */
        if (now.boot_ms < session->counts[0] || elapse__session_has_due(call->connection))
            return ELAPSE__STEP_MORE;
    }
    elapse__resp_reply_integer(call, (uint64_t)now.wall_ms);
    return ELAPSE__STEP_RAN;
}

struct information {
    char text[1024];
    size_t size;
};

static void append(struct information *information, const char *text)
{
    size_t length = strlen(text);

    ELAPSE__ASSERT_THAT(information->size + length, <=, sizeof information->text);
    memcpy(information->text + information->size, text, length);
    information->size += length;
}

static void append_number(struct information *information, const char *name, uint64_t value)
{
    append(information, name);
    ELAPSE__ASSERT_THAT(information->size + ELAPSE__DECIMAL_BYTES, <=, sizeof information->text);
    information->size += elapse__decimal_write(information->text + information->size, value);
    append(information, "\r\n");
}

enum elapse__session_step elapse__resp_info(const struct elapse__resp_call *call)
{
    struct information information = {.size = 0};
    struct elapse__server_statistics server;

    elapse__server_statistics(elapse__session_server(call->connection),
                              elapse__session_now(call->connection), &server);
    /* Clients of Redis read this version. They may treat this server as a Redis of that version. */
    append(&information, "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n"
                         "elapse_version:" ELAPSE_VERSION_TEXT "\r\n");
    append_number(&information,
                  "process_id:", elapse__session_options(call->connection)->process_id);
    append_number(&information, "uptime_in_seconds:", server.uptime_ms / 1000);
    append(&information, "\r\n# Clients\r\n");
    append_number(&information, "connected_clients:", server.connections);
    append_number(&information, "blocked_clients:", server.waiting);
    append(&information, "\r\n# Persistence\r\nloading:0\r\n");
    append(&information, "\r\n# Stats\r\n");
    append_number(&information, "total_connections_received:", server.total_connections);
    append_number(&information, "rejected_connections:", server.refused);
    append(&information, "\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n");
    append(&information, "\r\n# Jobs\r\n");
    append_number(&information, "jobs_delayed:", server.jobs.delayed);
    append_number(&information, "jobs_ready:", server.jobs.ready);
    append_number(&information, "jobs_reserved:", server.jobs.reserved);
    append_number(&information, "jobs_buried:", server.jobs.buried);
    elapse__resp_reply_bytes(call, information.text, information.size);
    return ELAPSE__STEP_RAN;
}
