/*
 * Runs the commands that no partition needs to see. Clients of RESP send them when they connect and
 * before they end. The replies are those of src/server/resp/client.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <elapse/version.h>

#include "../../base/decimal.h"
#include "../../protocol/history_reply.h"
#include "../../protocol/resp_options.h"
#include "kinds.h"

/* ---- replies ---- */

static void reply_bytes(struct elapse__router_command *command, const void *bytes, size_t size)
{
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, size + ELAPSE__WIRE_RESP_FRAME_MAX);

    elapse__wire_resp_write_bytes(&writer, bytes, size);
    elapse__router_reply_written(command, &writer);
}

static void reply_subcommand(struct elapse__router_command *command)
{
    elapse__router_reply_fail(command, "ERR unknown subcommand or wrong number of arguments");
}

/* ---- PING, ECHO and the like ---- */

void elapse__router_local_ping(struct elapse__router_command *command,
                               const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    if (count > 2)
        elapse__router_reply_fail(command, "ERR wrong number of arguments for 'ping' command");
    else if (count == 1)
        elapse__router_reply_word(command, "PONG");
    else
        reply_bytes(command, arguments[1].bytes, arguments[1].size);
}

void elapse__router_local_echo(struct elapse__router_command *command,
                               const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    if (count != 2)
        elapse__router_reply_fail(command, "ERR wrong number of arguments for 'echo' command");
    else
        reply_bytes(command, arguments[1].bytes, arguments[1].size);
}

void elapse__router_local_select(struct elapse__router_command *command,
                                 const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    uint64_t number = 0;

    if (count != 2 ||
        !elapse__decimal_read(arguments[1].bytes, arguments[1].size, UINT32_MAX, &number))
        elapse__router_reply_fail(command, "ERR not a number, or out of range");
    else if (number != 0)
        elapse__router_reply_fail(command, "ERR DB index is out of range");
    else
        elapse__router_reply_word(command, "OK");
}

void elapse__router_local_quit(struct elapse__router_command *command,
                               const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    (void)arguments, (void)count;
    elapse__router_reply_word(command, "OK");
    command->client->ending = true;
}

void elapse__router_local_reset(struct elapse__router_command *command,
                                const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    struct elapse__router_client *client = command->client;

    (void)arguments, (void)count;
    client->resp3 = false;
    client->known = client->router->options.admit == NULL;
    client->who = (struct elapse__identity){.user = NULL};
    client->name_size = 0;
    elapse__router_transaction_end(client);
    elapse__router_reply_word(command, "RESET");
}

/* ---- who the client is ---- */

/* Sends the reply to a wrong password, when its wait is over. */
static void end_guess(struct elapse__router_alarm *alarm)
{
    struct elapse__router_client *client =
        ELAPSE__CONTAINER_OF(alarm, struct elapse__router_client, alarm);
    struct elapse__router_command *guess = client->guess;

    ELAPSE__ASSERT(guess != NULL && !guess->done);
    client->guess = NULL;
    elapse__router_command_done(guess);
}

/* Replies to a wrong user or password. The reply waits. So do all commands that the client sends
 * after it. */
static void refuse_guess(struct elapse__router_command *command)
{
    struct elapse__router_client *client = command->client;
    struct elapse__router *router = client->router;
    uint64_t wait_ms = 0; /* if there are no passwords, there is nothing to guess */

    if (router->options.wrong_password != NULL)
        wait_ms = router->options.wrong_password(router->options.context, client->shell);
    elapse__router_reply_fail(command,
                              "WRONGPASS invalid username-password pair or user is disabled.");
    client->ending = ++client->guesses >= ELAPSE__WIRE_GUESSES_MAX;
    ELAPSE__ASSERT(client->guess == NULL);
    command->is_barrier = true;
    client->guess = command;
    client->alarm.ring = end_guess;
    elapse_wheel_start(&router->wheel, &client->alarm.timer, router->now + wait_ms);
}

/* Checks a user and a password. If they are wrong, replies with an error, and returns false. */
static bool authenticate(struct elapse__router_command *command,
                         struct elapse__wire_resp_argument user,
                         struct elapse__wire_resp_argument password)
{
    const struct elapse__router_options *options = &command->client->router->options;
    struct elapse__identity who = {.user = NULL};

    if (options->admit == NULL ? elapse__router_is_text(user.bytes, user.size, "default")
                               : options->admit(options->context, user, password, &who)) {
        command->client->known = true;
        command->client->who = who;
        return true;
    }
    refuse_guess(command);
    return false;
}

void elapse__router_local_auth(struct elapse__router_command *command,
                               const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    static const struct elapse__wire_resp_argument default_user = {
        .bytes = (const unsigned char *)"default", .size = 7};

    if (count < 2 || count > 3)
        elapse__router_reply_fail(command, "ERR syntax error");
    else if (command->client->router->options.admit == NULL)
        elapse__router_reply_fail(
            command, "ERR AUTH called without any password configured: the server needs none");
    else if (authenticate(command, count == 2 ? default_user : arguments[1], arguments[count - 1]))
        elapse__router_reply_word(command, "OK");
}

/* Keeps the name of a client. If the name is not valid, replies with an error, and returns
 * false. */
static bool set_name(struct elapse__router_command *command, struct elapse__wire_resp_argument name)
{
    bool fits = name.size <= ELAPSE__ROUTER_NAME_MAX;

    for (uint32_t i = 0; fits && i < name.size; i++)
        fits = name.bytes[i] > ' ' && name.bytes[i] <= '~';
    if (!fits) {
        elapse__router_reply_fail(
            command, "ERR the name of a client has up to 64 bytes, without blanks and newlines");
        return false;
    }
    ELAPSE__ASSERT_THAT(name.size, <=, sizeof command->client->name);
    memcpy(command->client->name, name.bytes, name.size);
    command->client->name_size = (uint8_t)name.size;
    return true;
}

static void reply_hello(struct elapse__router_command *command)
{
    enum { PAIRS = 7, BYTES = 400 };
    struct elapse__wire_resp_writer writer = elapse__router_reply_room(command, BYTES);

    elapse__wire_resp_write_map(&writer, PAIRS);
    elapse__wire_resp_write_text(&writer, "server");
    elapse__wire_resp_write_text(&writer, "elapse");
    elapse__wire_resp_write_text(&writer, "version");
    elapse__wire_resp_write_text(&writer, ELAPSE_VERSION_TEXT);
    elapse__wire_resp_write_text(&writer, "proto");
    elapse__wire_resp_write_integer(&writer, writer.resp3 ? 3 : 2);
    elapse__wire_resp_write_text(&writer, "id");
    elapse__wire_resp_write_integer(&writer, (int64_t)command->client->number);
    elapse__wire_resp_write_text(&writer, "mode");
    elapse__wire_resp_write_text(&writer, "standalone");
    elapse__wire_resp_write_text(&writer, "role");
    elapse__wire_resp_write_text(&writer, "master");
    elapse__wire_resp_write_text(&writer, "modules");
    elapse__wire_resp_write_array(&writer, 0);
    elapse__router_reply_written(command, &writer);
}

/* Reads the arguments [version [AUTH user password] [SETNAME name]] of HELLO, and does what they
 * say. If one of them is wrong, replies with an error, and returns false. */
static bool greet(struct elapse__router_command *command,
                  const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    static const struct elapse__wire_resp_option options[] = {{"AUTH", 2}, {"SETNAME", 1}};
    struct elapse__router_client *client = command->client;
    uint32_t places[2] = {0, 0};
    uint64_t version = client->resp3 ? 3 : 2;

    if (count > 1 && (!elapse__decimal_read(arguments[1].bytes, arguments[1].size, 3, &version) ||
                      version < 2)) {
        elapse__router_reply_fail(command, "NOPROTO unsupported protocol version");
        return false;
    }
    if (!elapse__wire_resp_find_options(arguments, count, 2, options, 2, places, NULL)) {
        elapse__router_reply_fail(command, "ERR syntax error");
        return false;
    }
    if (places[0] != 0 && !authenticate(command, arguments[places[0]], arguments[places[0] + 1]))
        return false;
    if (!client->known) {
        elapse__router_reply_fail(
            command, "NOAUTH HELLO must be called with the client already authenticated, otherwise "
                     "the HELLO <proto> AUTH <user> <pass> option can be used");
        return false;
    }
    if (places[1] != 0 && !set_name(command, arguments[places[1]]))
        return false;
    client->resp3 = version == 3;
    command->resp3 = client->resp3;
    return true;
}

void elapse__router_local_hello(struct elapse__router_command *command,
                                const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    if (greet(command, arguments, count))
        reply_hello(command);
}

/* ---- CLIENT, CONFIG, INFO ---- */

/* Replies with one line about this connection. */
static void reply_client(struct elapse__router_command *command)
{
    const struct elapse__router_client *client = command->client;
    char text[200];

    int size = snprintf(text, sizeof text, "id=%" PRIu64 " name=%.*s db=0 resp=%d\n",
                        client->number, client->name_size, client->name, client->resp3 ? 3 : 2);
    ELAPSE__ASSERT_THAT(size, <, (int)sizeof text);
    reply_bytes(command, text, (size_t)size);
}

/* Returns whether the client may see the other connections. If not, replies with an error. */
static bool may_list(struct elapse__router_command *command)
{
    const struct elapse__user *user = command->client->who.user;
    struct elapse__refusal refusal = {.right = ELAPSE__RIGHT_ADMIN, .of_all = true};
    char text[ELAPSE__REFUSAL_BYTES];

    if (user == NULL || elapse__user_may_all(user, ELAPSE__RIGHT_ADMIN))
        return true;
    elapse__refusal_write(text, user, &refusal);
    elapse__router_reply_fail(command, text);
    return false;
}

/* Adds a line about a client. Returns false if there is no memory. */
static bool add_line(struct elapse__buffer *text, const struct elapse__router_client *client)
{
    const struct elapse__router_options *options = &client->router->options;
    char address[ELAPSE__ROUTER_ADDRESS_BYTES] = "";
    char line[2 * ELAPSE__DECIMAL_BYTES + ELAPSE__ROUTER_ADDRESS_BYTES +
              3 * ELAPSE__ROUTER_NAME_MAX + 20];
    size_t size;

    if (options->address != NULL)
        options->address(client->shell, address);
    size = (size_t)snprintf(line, sizeof line, "id=%" PRIu64 " addr=%s name=", client->number,
                            address);
    for (uint32_t i = 0; i < client->name_size; i++) {
        bool ends_a_name = strchr("%,=", client->name[i]) != NULL;
        size += (size_t)snprintf(line + size, sizeof line - size, ends_a_name ? "%%%02X" : "%c",
                                 (unsigned char)client->name[i]);
    }
    line[size++] = '\n';
    ELAPSE__ASSERT_THAT(size, <=, sizeof line);
    return elapse__buffer_append(text, line, size);
}

/* Replies with a line about each connection of this node. The leases are with the owners of the
 * partitions, so a line has none. */
static void reply_clients(struct elapse__router_command *command)
{
    struct elapse__router_client *asking = command->client;
    const struct elapse__ring_node *ring = &asking->router->clients;
    struct elapse__buffer text = {.bytes = NULL};
    bool has_room = true;

    for (const struct elapse__ring_node *at = ring->next; has_room && at != ring; at = at->next) {
        const struct elapse__router_client *client = (const void *)at;
        if (!client->dead && !client->is_given)
            has_room = add_line(&text, client);
        asking->spent += 1;
    }
    if (has_room)
        reply_bytes(command, elapse__buffer_first(&text), elapse__buffer_size(&text));
    else
        elapse__router_reply_fail(command, "OOM there is no memory");
    elapse__buffer_free(&text);
}

static void reply_name(struct elapse__router_command *command)
{
    if (command->client->name_size > 0) {
        reply_bytes(command, command->client->name, command->client->name_size);
        return;
    }
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__wire_resp_write_null(&writer);
    elapse__router_reply_written(command, &writer);
}

void elapse__router_local_client(struct elapse__router_command *command,
                                 const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    if (count == 3 && elapse__wire_resp_is(arguments[1], "SETNAME")) {
        if (set_name(command, arguments[2]))
            elapse__router_reply_word(command, "OK");
    } else if (count == 2 && elapse__wire_resp_is(arguments[1], "GETNAME")) {
        reply_name(command);
    } else if (count == 2 && elapse__wire_resp_is(arguments[1], "ID")) {
        elapse__router_reply_integer(command, command->client->number);
    } else if (count == 2 && elapse__wire_resp_is(arguments[1], "INFO")) {
        reply_client(command);
    } else if (count == 2 && elapse__wire_resp_is(arguments[1], "LIST")) {
        if (may_list(command))
            reply_clients(command);
    } else if ((count == 4 && elapse__wire_resp_is(arguments[1], "SETINFO")) ||
               (count == 3 && (elapse__wire_resp_is(arguments[1], "NO-EVICT") ||
                               elapse__wire_resp_is(arguments[1], "NO-TOUCH")))) {
        elapse__router_reply_word(command, "OK");
    } else {
        reply_subcommand(command);
    }
}

void elapse__router_local_whoami(struct elapse__router_command *command,
                                 const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    const struct elapse__user *user = command->client->who.user;

    (void)arguments;
    if (count != 1) {
        elapse__router_reply_fail(command, "ERR wrong number of arguments for 'whoami' command");
        return;
    }
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, elapse__user_bytes(user));
    elapse__user_write(&writer, user);
    elapse__router_reply_written(command, &writer);
}

void elapse__router_local_config(struct elapse__router_command *command,
                                 const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    (void)count;
    if (!elapse__wire_resp_is(arguments[1], "GET")) {
        reply_subcommand(command);
        return;
    }
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__wire_resp_write_map(&writer, 0);
    elapse__router_reply_written(command, &writer);
}

void elapse__router_local_info(struct elapse__router_command *command,
                               const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    const struct elapse__router *router = command->client->router;
    const struct elapse__router_figures *figures = &router->figures;
    char text[1024];
    uint32_t here = 0;
    uint32_t unowned = 0;

    (void)arguments, (void)count;
    for (uint32_t i = 0; i < router->options.partitions; i++) {
        here += router->partitions[i].place == ELAPSE__ROUTER_HERE &&
                elapse__router_lane_is_open(&router->partitions[i].quick);
        unowned += router->partitions[i].place == ELAPSE__ROUTER_NOWHERE;
    }
    int size =
        snprintf(text, sizeof text,
                 "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n"
                 "elapse_version:" ELAPSE_VERSION_TEXT "\r\n"
                 "\r\n# Clients\r\nconnected_clients:%" PRIu64 "\r\nblocked_clients:%" PRIu64 "\r\n"
                 "\r\n# Persistence\r\nloading:0\r\n"
                 "\r\n# Stats\r\ntotal_connections_received:%" PRIu64 "\r\n"
                 "rejected_connections:%" PRIu64 "\r\n"
                 "\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
                 "\r\n# Partitions\r\npartitions:%" PRIu32 "\r\npartitions_here:%" PRIu32 "\r\n"
                 "partitions_without_owner:%" PRIu32 "\r\nanswered_unknown:%" PRIu64 "\r\n"
                 "answered_tryagain:%" PRIu64 "\r\nlinks_lost:%" PRIu64 "\r\n",
                 figures->clients, figures->waiting, figures->total_clients, figures->refused,
                 router->options.partitions, here, unowned, figures->unknown, figures->try_again,
                 figures->links_lost);
    ELAPSE__ASSERT_THAT(size, <, (int)sizeof text);
    reply_bytes(command, text, (size_t)size);
}

/* ---- HISTORY ---- */

void elapse__router_local_history(struct elapse__router_command *command,
                                  const struct elapse__wire_resp_argument *arguments,
                                  uint32_t count)
{
    static const struct elapse__wire_resp_option option = {"COUNT", 1};
    const struct elapse__history *history = command->client->router->options.history;
    uint32_t place = 0;
    uint64_t most = ELAPSE__HISTORY_POINTS;

    if (!elapse__wire_resp_find_options(arguments, count, 1, &option, 1, &place, NULL)) {
        elapse__router_reply_fail(command, "ERR syntax error");
        return;
    }
    if (place != 0 && (!elapse__decimal_read(arguments[place].bytes, arguments[place].size,
                                             ELAPSE__HISTORY_POINTS, &most) ||
                       most == 0)) {
        elapse__router_reply_fail(command, "ERR COUNT is 1 to 1440");
        return;
    }
    command->client->spent += ELAPSE__HISTORY_COST;
    unsigned points = elapse__history_count(history, (unsigned)most);
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__history_write_head(&writer);
    elapse__router_reply_written(command, &writer);
    for (unsigned field = 0; field < elapse__history_fields; field++) {
        writer = elapse__router_reply_room(command, elapse__history_field_bytes(points));
        elapse__history_write_field(&writer, history, points, field);
        elapse__router_reply_written(command, &writer);
    }
}
