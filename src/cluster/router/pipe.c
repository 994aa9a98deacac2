/*
 * Serves clients whose protocol is not RESP. Their bytes pass unchanged on a link of their own, a
 * pipe. That works only if the queue has one partition, because the router cannot tell from the
 * bytes to which partition they belong.
 */
#include <string.h>

#include "kinds.h"

/* Ends a client that the router cannot serve, and tells the client why. */
static void refuse(struct elapse__router_client *client, const char *line)
{
    size_t size = strlen(line);

    if (!elapse__buffer_append(&client->out, line, size))
        elapse__router_client_fail(client);
    client->out_end += size;
    client->ending = true;
}

void elapse__router_pipe_choose(struct elapse__router_client *client)
{
    struct elapse__router *router = client->router;

    ELAPSE__ASSERT_THAT(client->speech, ==, ELAPSE__ROUTER_SPEECH_UNKNOWN);
    ELAPSE__ASSERT(elapse__ring_empty(&client->commands));
    if (elapse__buffer_first(&client->input)[0] == '*') {
        client->speech = ELAPSE__ROUTER_SPEECH_RESP;
        return;
    }
    client->speech = ELAPSE__ROUTER_SPEECH_PIPE;
    /* The owner may speak it, with other options. The client has come to this node. */
    if (router->options.no_beanstalkd) {
        client->ending = true;
        return;
    }
    if (router->options.partitions > 1) {
        refuse(client, "INTERNAL_ERROR: this queue has more than one partition, and beanstalkd's "
                       "protocol takes one\r\n");
        return;
    }
    if (router->options.admit != NULL && !client->may_use_beanstalkd) {
        refuse(client, "UNAUTHORIZED: this server wants a password, which this protocol does not "
                       "have\r\n");
        return;
    }
    client->pipe = elapse__router_link_new(router, 0, NULL, client);
    if (client->pipe == NULL)
        elapse__router_client_fail(client);
}

/* Moves bytes until `to` has `most` bytes. Returns false if there is no memory. */
static bool move(struct elapse__buffer *to, struct elapse__buffer *from, size_t most)
{
    size_t there = elapse__buffer_size(to);
    size_t room = there < most ? most - there : 0;
    size_t size = elapse__buffer_size(from);

    if (size > room)
        size = room;
    if (size == 0)
        return true;
    if (!elapse__buffer_append(to, elapse__buffer_first(from), size))
        return false;
    elapse__buffer_take(from, size);
    return true;
}

void elapse__router_pipe_pump(struct elapse__router_client *client)
{
    struct elapse__router_link *link = client->pipe;

    if (link == NULL || link->state != ELAPSE__ROUTER_LINK_OPEN)
        return;
    ELAPSE__ASSERT(link->client == client && link->is_pipe);
    size_t before = elapse__buffer_size(&link->out);
    size_t out_before = elapse__buffer_size(&client->out);
    if (!move(&link->out, &client->input, ELAPSE__ROUTER_LINK_OUT) ||
        !move(&client->out, &link->input, client->router->options.output_bytes_max)) {
        elapse__router_client_fail(client);
        return;
    }
    link->out_end += elapse__buffer_size(&link->out) - before;
    client->out_end += elapse__buffer_size(&client->out) - out_before;
    elapse__router_link_arrange(link);
    elapse__router_client_arrange(client);
}

/* Ends the pipes of a ring that did not open in time. */
static void look(struct elapse__router *router, struct elapse__ring_node *ring)
{
    struct elapse__ring_node *at = ring->next;

    while (at != ring) {
        struct elapse__router_link *link =
            ELAPSE__CONTAINER_OF(at, struct elapse__router_link, ring_node);
        uint64_t deadline = link->since_ms + router->options.answer_ms;
        at = at->next;
        if (!link->is_pipe || link->state == ELAPSE__ROUTER_LINK_OPEN ||
            link->state == ELAPSE__ROUTER_LINK_LOST)
            continue;
        if (deadline <= router->now)
            elapse__router_link_give_up(link);
        else
            elapse__router_look_by(router, deadline);
    }
}

void elapse__router_pipe_look(struct elapse__router *router)
{
    look(router, &router->wanted);
    look(router, &router->links);
}

/* A pipe to a core of this process is left alone. The core still has answers for the client, and
 * ends the pipe itself. */
void elapse__router_pipe_moved(struct elapse__router *router)
{
    struct elapse__ring_node *at = router->links.next;

    ELAPSE__ASSERT_THAT(router->options.partitions, ==, 1);
    while (at != &router->links) {
        struct elapse__router_link *link =
            ELAPSE__CONTAINER_OF(at, struct elapse__router_link, ring_node);
        at = at->next;
        if (link->is_pipe && !link->is_here)
            elapse__router_link_lose(link);
    }
}
