/*
 * Keeps the commands of clients, and sends the replies of a client in the order of its commands.
 */
#include <stdlib.h>

#include "command.h"

/* ---- what the shell sees of a client ---- */

size_t elapse__router_client_room(const struct elapse__router_client *client)
{
    size_t most = client->router->options.input_bytes_max;
    size_t there = elapse__buffer_size(&client->input);

    if (client->ending || client->dead || client->input_ended || client->is_given ||
        client->guess != NULL)
        return 0;
    most = client->need > most ? client->need : most;
    return there < most ? most - there : 0;
}

bool elapse__router_client_wants_end(const struct elapse__router_client *client)
{
    return client->dead || (client->ending && elapse__ring_empty(&client->commands) &&
                            elapse__buffer_size(&client->out) == 0);
}

void elapse__router_client_arrange(struct elapse__router_client *client)
{
    bool has_room = elapse__router_client_room(client) > 0;

    if (elapse__buffer_size(&client->out) > 0 || elapse__router_client_wants_end(client) ||
        has_room != client->had_room)
        elapse__ring_join_once(&client->router->client_attention, &client->attention);
    client->had_room = has_room;
}

void elapse__router_client_fail(struct elapse__router_client *client)
{
    client->dead = true;
    elapse__ring_join_once(&client->router->client_attention, &client->attention);
}

/* ---- RESERVEs that wait ---- */

void elapse__router_reserve_stop(struct elapse__router *router,
                                 struct elapse__router_reserve *reserve)
{
    if (!elapse__ring_has_node(&reserve->waiter))
        return;
    ELAPSE__ASSERT(reserve->router == router);
    ELAPSE__ASSERT_THAT(router->figures.waiting, >, 0);
    for (uint32_t i = 0; i < router->options.partitions; i++) {
        if (router->partitions[i].chain.next == &reserve->waiter)
            router->partitions[i].chain.next = reserve->waiter.next;
    }
    elapse__ring_leave(&reserve->waiter);
    (void)elapse_wheel_stop(&router->wheel, &reserve->alarm.timer);
    router->figures.waiting--;
}

static void free_reserve(struct elapse__router_reserve *reserve)
{
    elapse__router_reserve_stop(reserve->router, reserve);
    free(reserve->question);
    free(reserve->partitions);
    free(reserve);
}

bool elapse__router_reserve_waits(const struct elapse__router_command *command)
{
    return command->kind == ELAPSE__ROUTER_COMMAND_RESERVE && !command->done &&
           command->reserve != NULL && command->reserve->deadline_ms != 0;
}

/* ---- replies leave ---- */

bool elapse__router_client_is_choked(const struct elapse__router_client *client)
{
    return client->charges + elapse__buffer_size(&client->out) >=
           client->router->options.output_bytes_max;
}

/* Called when the reply of the command is in the output. Frees the command. If the reply hands out
 * jobs, keeps the command until the reply was sent. */
static void leave(struct elapse__router_client *client, struct elapse__router_command *command)
{
    ELAPSE__ASSERT(command->done);
    ELAPSE__ASSERT_THAT(client->charges, >=, command->charge);
    elapse__ring_leave(&command->ring_node);
    client->charges -= command->charge;
    if (command->hand_count == 0) {
        elapse__router_command_free(command);
        return;
    }
    elapse__buffer_free(&command->reply);
    command->end_at = client->out_end;
    elapse__ring_append(&client->leavings, &command->ring_node);
}

static void release(struct elapse__router_client *client)
{
    while (!elapse__ring_empty(&client->commands) && !client->dead) {
        struct elapse__router_command *command =
            ELAPSE__CONTAINER_OF(client->commands.next, struct elapse__router_command, ring_node);
        size_t size = elapse__buffer_size(&command->reply);
        ELAPSE__ASSERT(command->client == client);
        if (!command->done)
            break;
        /* If the output is empty, a long reply becomes the output without a copy. Any other reply
         * is copied to the end of the output. */
        if (elapse__buffer_size(&client->out) == 0 && size > ELAPSE__BUFFER_KEPT) {
            struct elapse__buffer empty = client->out;
            client->out = command->reply;
            command->reply = empty;
        } else if (!elapse__buffer_append(&client->out, elapse__buffer_first(&command->reply),
                                          size)) {
            elapse__router_client_fail(client);
            break;
        }
        client->out_end += size;
        leave(client, command);
    }
    if (!client->dead && elapse__buffer_size(&client->input) > 0)
        elapse__ring_join_once(&client->router->work, &client->work);
    elapse__router_client_arrange(client);
}

/* ---- life ---- */

void elapse__router_fragments_free(struct elapse__router_fragment *first)
{
    while (first != NULL) {
        struct elapse__router_fragment *next = first->behind;
        ELAPSE__ASSERT(first->front == NULL);
        free(first);
        first = next;
    }
}

void elapse__router_fragment_free(struct elapse__router_fragment *fragment)
{
    elapse__router_fragments_free(fragment->front);
    free(fragment);
}

struct elapse__router_command *elapse__router_command_new(struct elapse__router_client *client,
                                                          enum elapse__router_command_kind kind,
                                                          size_t charge)
{
    struct elapse__router_command *command = calloc(1, sizeof *command);

    ELAPSE__ASSERT(!client->dead);
    if (command == NULL) {
        elapse__router_client_fail(client);
        return NULL;
    }
    command->client = client;
    command->kind = kind;
    command->resp3 = client->resp3;
    command->charge = charge + sizeof *command;
    client->charges += command->charge;
    elapse__ring_append(&client->commands, &command->ring_node);
    return command;
}

void elapse__router_command_free(struct elapse__router_command *command)
{
    elapse__ring_leave(&command->ring_node);
    elapse__buffer_free(&command->reply);
    elapse__buffer_free(&command->tube);
    if (command->reserve != NULL)
        free_reserve(command->reserve);
    elapse__router_fragments_free(command->locals);
    free(command->items);
    free(command->sums);
    free(command->hands);
    free(command);
}

void elapse__router_command_done(struct elapse__router_command *command)
{
    struct elapse__router_client *client = command->client;

    ELAPSE__ASSERT(!command->done);
    ELAPSE__ASSERT_THAT(command->fragments, ==, 0);
    command->done = true;
    if (client == NULL) {
        elapse__router_command_free(command);
        return;
    }
    ELAPSE__ASSERT_THAT(client->charges, >=, command->charge);
    client->charges -= command->charge;
    command->charge = elapse__buffer_size(&command->reply) + sizeof *command;
    client->charges += command->charge;
    release(client);
}
