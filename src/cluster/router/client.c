/*
 * Takes the bytes of clients, makes commands of them, and sends replies when it is their turn.
 */
#include <stdlib.h>
#include <string.h>

#include "take.h"

/* ---- commands are taken ---- */

static void refuse_bytes(struct elapse__router_client *client, const char *why)
{
    char text[ELAPSE__ROUTER_ERROR_MAX] = "ERR Protocol error: ";

    strncat(text, why, sizeof text - strlen(text) - 1);
    client->ending = true;
    elapse__router_client_refuse(client, text);
}

/* Returns whether the next command may be taken. No command may be taken while a barrier is not
 * done, or while the unread replies take too many bytes. (A barrier is a command for whose reply
 * the next commands wait.) */
static bool may_take(const struct elapse__router_client *client)
{
    const struct elapse__ring_node *last = client->commands.previous;

    if (client->dead || client->ending || client->is_given ||
        elapse__router_client_is_choked(client))
        return false;
    if (last == &client->commands)
        return true;
    const struct elapse__router_command *command =
        ELAPSE__CONTAINER_OF(last, struct elapse__router_command, ring_node);
    return command->done || !command->is_barrier;
}

/* Takes the command at the front of the input. Returns how many bytes of the input it used, or 0 if
 * the command cannot be taken now. */
static size_t take_one(struct elapse__router_client *client, const unsigned char *bytes,
                       size_t size)
{
    struct elapse__wire_resp_argument arguments[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    struct elapse__wire_resp_parsed parsed =
        elapse__wire_resp_parse(&client->parser, bytes, size, arguments);

    ELAPSE__ASSERT_THAT(parsed.consumed, <=, size);
    switch (parsed.outcome) {
    case ELAPSE__WIRE_RESP_MORE:
        client->need = parsed.wanted;
        return parsed.consumed;
    case ELAPSE__WIRE_RESP_EMPTY:
        break;
    case ELAPSE__WIRE_RESP_TOO_MANY:
        elapse__router_transaction_spoil(client);
        elapse__router_client_refuse(client, "ERR too many arguments: a command may have 2048");
        break;
    case ELAPSE__WIRE_RESP_TOO_LONG:
        elapse__router_transaction_spoil(client);
        elapse__router_client_refuse(
            client,
            "ERR too long: a body, or all arguments together, exceed the --max-body of the server");
        break;
    case ELAPSE__WIRE_RESP_BROKEN:
        refuse_bytes(client, parsed.error);
        return size;
    case ELAPSE__WIRE_RESP_COMMAND:
        if (elapse__router_take(client, arguments, parsed.count) == ELAPSE__ROUTER_TAKEN_LATER)
            return 0;
        client->router->figures.commands++;
        break;
    }
    client->need = 0;
    return parsed.consumed;
}

/* Takes commands from the input. Returns whether it can take more in the next turn. */
static bool take_commands(struct elapse__router_client *client)
{
    for (client->spent = 0; client->spent < ELAPSE__ROUTER_TAKE_MAX; client->spent++) {
        size_t size = elapse__buffer_size(&client->input);
        if (size == 0 || size < client->need || !may_take(client))
            return false;
        size_t used = take_one(client, elapse__buffer_first(&client->input), size);
        if (used == 0)
            return false;
        elapse__buffer_take(&client->input, used);
    }
    return true;
}

/* Ends a client that sends no more bytes, when its input is used up. The rest of the input may be
 * the beginning of a command. It is thrown away when all commands before it have replied. */
static void end_if_over(struct elapse__router_client *client)
{
    size_t size = elapse__buffer_size(&client->input);

    if (client->input_ended && client->speech != ELAPSE__ROUTER_SPEECH_PIPE &&
        !elapse__ring_has_node(&client->work) &&
        (size == 0 || (size < client->need && elapse__ring_empty(&client->commands))))
        client->ending = true;
}

bool elapse__router_client_work(struct elapse__router_client *client)
{
    bool more = false;

    ELAPSE__ASSERT(!elapse__ring_has_node(&client->work));
    if (client->dead)
        return false;
    if (client->speech == ELAPSE__ROUTER_SPEECH_UNKNOWN && elapse__buffer_size(&client->input) > 0)
        elapse__router_pipe_choose(client);
    if (client->speech == ELAPSE__ROUTER_SPEECH_PIPE)
        elapse__router_pipe_pump(client);
    if (client->speech == ELAPSE__ROUTER_SPEECH_RESP)
        more = take_commands(client);
    if (!more)
        end_if_over(client);
    /* Another node has to wait for the reply to NODE before it sends more. */
    if (client->is_given && elapse__buffer_size(&client->input) > 0)
        elapse__router_client_fail(client);
    if (client->ending || client->dead)
        elapse__buffer_free(&client->input);
    elapse__router_client_arrange(client);
    return more && !client->ending && !client->dead;
}

/* ---- what the shell sees ---- */

struct elapse__router_client *elapse__router_client_new(struct elapse__router *router, uint64_t now,
                                                        bool may_use_beanstalkd, void *shell)
{
    struct elapse__router_client *client = NULL;

    elapse__router_enter(router, now);
    if (router->figures.clients < router->options.clients_max)
        client = calloc(1, sizeof *client);
    if (client == NULL) {
        router->figures.refused++;
        return NULL;
    }
    client->router = router;
    client->shell = shell;
    client->may_use_beanstalkd = may_use_beanstalkd;
    client->known = router->options.admit == NULL;
    client->parser.argument_bytes_max = router->options.argument_bytes_max;
    client->number = ++router->figures.total_clients;
    client->had_room = true;
    elapse__ring_init(&client->commands);
    elapse__ring_init(&client->leavings);
    elapse__ring_append(&router->clients, &client->ring_node);
    router->figures.clients++;
    return client;
}

void *elapse__router_client_shell(const struct elapse__router_client *client)
{
    return client->shell;
}

void elapse__router_client_received(struct elapse__router_client *client, uint64_t now,
                                    const void *bytes, size_t size)
{
    elapse__router_enter(client->router, now);
    if (size == 0 || client->ending || client->dead)
        return;
    ELAPSE__ASSERT_THAT(size, <=, elapse__router_client_room(client));
    elapse__router_transaction_heard(client);
    if (!elapse__buffer_append(&client->input, bytes, size))
        elapse__router_client_fail(client);
    else
        elapse__ring_join_once(&client->router->work, &client->work);
    elapse__router_client_arrange(client);
}

void elapse__router_client_received_all(struct elapse__router_client *client, uint64_t now)
{
    const struct elapse__ring_node *last = client->commands.previous;

    elapse__router_enter(client->router, now);
    client->input_ended = true;
    if (last != &client->commands && elapse__router_reserve_waits(ELAPSE__CONTAINER_OF(
                                         last, struct elapse__router_command, ring_node)))
        elapse__router_client_fail(client);
    elapse__ring_join_once(&client->router->work, &client->work);
}

size_t elapse__router_client_output(const struct elapse__router_client *client,
                                    const uint8_t **bytes)
{
    *bytes = elapse__buffer_first(&client->out);
    return elapse__buffer_size(&client->out);
}

void elapse__router_client_sent(struct elapse__router_client *client, uint64_t now, size_t size)
{
    elapse__router_enter(client->router, now);
    elapse__buffer_take(&client->out, size);
    client->out_sent += size;
    ELAPSE__ASSERT_THAT(client->out_sent, <=, client->out_end);
    ELAPSE__ASSERT(client->dead ||
                   client->out_end - client->out_sent == elapse__buffer_size(&client->out));
    while (!elapse__ring_empty(&client->leavings)) {
        struct elapse__router_command *command =
            ELAPSE__CONTAINER_OF(client->leavings.next, struct elapse__router_command, ring_node);
        if (command->end_at > client->out_sent)
            break;
        elapse__router_command_free(command);
    }
    if (client->pipe != NULL)
        elapse__router_link_arrange(client->pipe);
    if (!client->dead && elapse__buffer_size(&client->input) > 0)
        elapse__ring_join_once(&client->router->work, &client->work);
    elapse__router_client_arrange(client);
}

/* Separates a command from its client, which has closed. A command that is not done continues
 * without a client, in the ring `orphans`. Jobs in the reply of a command that is done go back to
 * their partition. */
static void orphan(struct elapse__router *router, struct elapse__router_command *command)
{
    ELAPSE__ASSERT(command->done || command->hand_count == 0);
    elapse__ring_leave(&command->ring_node);
    command->client = NULL;
    if (command->hand_count > 0)
        elapse__router_hands_give_back(router, command);
    if (command->done) {
        elapse__router_command_free(command);
        return;
    }
    elapse__ring_append(&router->orphans, &command->ring_node);
    if (command->kind == ELAPSE__ROUTER_COMMAND_RESERVE)
        elapse__router_reserve_abandon(command);
}

void elapse__router_client_closed(struct elapse__router_client *client, uint64_t now)
{
    struct elapse__router *router = client->router;
    struct elapse__ring_node *const rings[] = {&client->leavings, &client->commands};

    elapse__router_enter(router, now);
    client->dead = true;
    elapse__router_transaction_end(client);
    if (client->guess != NULL) {
        (void)elapse_wheel_stop(&router->wheel, &client->alarm.timer);
        elapse__router_command_free(client->guess);
    }
    for (int i = 0; i < 2; i++) {
        while (!elapse__ring_empty(rings[i]))
            orphan(router,
                   ELAPSE__CONTAINER_OF(rings[i]->next, struct elapse__router_command, ring_node));
    }
    if (client->pipe != NULL) {
        client->pipe->client = NULL;
        elapse__router_link_give_up(client->pipe);
    }
    ELAPSE__ASSERT_THAT(router->figures.clients, >, 0);
    router->figures.clients--;
    elapse__ring_leave(&client->work);
    elapse__ring_leave(&client->attention);
    elapse__ring_leave(&client->ring_node);
    elapse__buffer_free(&client->input);
    elapse__buffer_free(&client->out);
    free(client);
}
