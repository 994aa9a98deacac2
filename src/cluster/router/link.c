/*
 * Makes, loses and frees links to partitions, and sends fragments on them.
 */
#include <stdlib.h>
#include <string.h>

#include "lane.h"

/* ---- life ---- */

struct elapse__router_link *elapse__router_link_new(struct elapse__router *router,
                                                    uint32_t partition,
                                                    struct elapse__router_lane *lane,
                                                    struct elapse__router_client *client)
{
    struct elapse__router_link *link = calloc(1, sizeof *link);

    ELAPSE__ASSERT((lane == NULL) != (client == NULL));
    ELAPSE__ASSERT(lane == NULL || (lane->carrier == NULL && lane->partition == partition));
    if (link == NULL)
        return NULL;
    link->router = router;
    link->partition = partition;
    link->lane = lane;
    link->client = client;
    link->is_pipe = client != NULL;
    link->had_room = true;
    link->since_ms = router->now;
    elapse__ring_init(&link->sent);
    link->to_run = &link->sent;
    elapse__ring_init(&link->returned);
    elapse__ring_append(&router->wanted, &link->ring_node);
    elapse__router_look_by(router, router->now + router->options.answer_ms);
    return link;
}

void elapse__router_link_free(struct elapse__router_link *link)
{
    ELAPSE__ASSERT(elapse__ring_empty(&link->sent) && elapse__ring_empty(&link->returned));
    elapse__ring_leave(&link->ring_node);
    elapse__ring_leave(&link->attention);
    elapse__buffer_free(&link->input);
    elapse__buffer_free(&link->out);
    free(link);
}

void elapse__router_link_enter(struct elapse__router_link *link,
                               enum elapse__router_link_state state)
{
    struct elapse__router *router = link->router;

    ELAPSE__ASSERT_THAT(link->state, <, state);
    ELAPSE__ASSERT_THAT(state, <, ELAPSE__ROUTER_LINK_LOST);
    link->state = state;
    link->since_ms = router->now;
    elapse__router_look_by(router, router->now + (state == ELAPSE__ROUTER_LINK_PARTING
                                                      ? router->options.parting_ms
                                                      : router->options.answer_ms));
}

void elapse__router_link_lose(struct elapse__router_link *link)
{
    struct elapse__router_lane *lane = link->lane;
    struct elapse__router_client *client = link->client;
    bool was_wanted = link->state == ELAPSE__ROUTER_LINK_WANTED;

    if (link->state == ELAPSE__ROUTER_LINK_LOST)
        return;
    link->state = ELAPSE__ROUTER_LINK_LOST;
    elapse__router_link_run_at(link, &link->sent);
    link->lane = NULL;
    link->client = NULL;
    link->router->figures.links_lost += !was_wanted;
    elapse__buffer_free(&link->out);
    elapse__buffer_free(&link->input);
    if (client != NULL) {
        client->pipe = NULL;
        client->ending = true;
        elapse__router_client_arrange(client);
    }
    elapse__ring_join_once(&link->router->link_attention, &link->attention);
    if (lane != NULL)
        elapse__router_lane_lose(lane, link);
}

void elapse__router_link_give_up(struct elapse__router_link *link)
{
    bool was_wanted = link->state == ELAPSE__ROUTER_LINK_WANTED;

    ELAPSE__ASSERT_THAT(link->state, !=, ELAPSE__ROUTER_LINK_LOST);
    elapse__router_link_lose(link);
    if (was_wanted)
        elapse__router_link_free(link);
}

void elapse__router_link_arrange(struct elapse__router_link *link)
{
    bool has_room = elapse__router_link_room(link) > 0;

    ELAPSE__ASSERT(link->is_here || link->to_run == &link->sent);
    if (elapse__buffer_size(&link->out) > 0 || link->to_run != &link->sent ||
        link->state == ELAPSE__ROUTER_LINK_LOST || has_room != link->had_room)
        elapse__ring_join_once(&link->router->link_attention, &link->attention);
    link->had_room = has_room;
}

/* ---- sending ---- */

bool elapse__router_link_write(struct elapse__router_link *link,
                               const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    size_t room = ELAPSE__WIRE_RESP_FRAME_MAX;

    ELAPSE__ASSERT(!link->is_here);
    for (uint32_t i = 0; i < count; i++)
        room += arguments[i].size + ELAPSE__WIRE_RESP_FRAME_MAX;
    if (!elapse__buffer_reserve(&link->out, room))
        return false;
    struct elapse__wire_resp_writer writer = {.bytes = link->out.bytes + link->out.end,
                                              .capacity = room};
    elapse__wire_resp_write_array(&writer, count);
    for (uint32_t i = 0; i < count; i++)
        elapse__wire_resp_write_bytes(&writer, arguments[i].bytes, arguments[i].size);
    ELAPSE__ASSERT(!writer.too_small);
    link->out.end += writer.size;
    link->out_end += writer.size;
    return true;
}

/* Returns how many arguments of a fragment the other side understands. An older node does not
 * understand HOLDER, which stands at the end. */
static uint32_t understood(const struct elapse__router_link *link,
                           const struct elapse__router_fragment *fragment)
{
    uint32_t count = fragment->count;
    bool has_holder = count > 3 && elapse__wire_resp_is(fragment->arguments[0], "RESERVE") &&
                      elapse__wire_resp_is(fragment->arguments[count - 2], "HOLDER");

    return link->is_old && has_holder ? count - 2 : count;
}

/* Writes the commands that stand in front of a fragment. */
static bool write_front(struct elapse__router_link *link,
                        const struct elapse__router_fragment *fragment)
{
    for (struct elapse__router_fragment *at = fragment->front; at != NULL; at = at->behind) {
        if (!elapse__router_link_write(link, at->arguments, at->count))
            return false;
        at->end_at = link->out_end;
    }
    return true;
}

void elapse__router_link_run_at(struct elapse__router_link *link, struct elapse__ring_node *place)
{
    link->to_run = place;
    link->run_first = place == &link->sent ? NULL : elapse__router_fragment_at(place)->front;
}

bool elapse__router_link_send(struct elapse__router_link *link,
                              struct elapse__router_fragment *fragment)
{
    ELAPSE__ASSERT_THAT(link->state, ==, ELAPSE__ROUTER_LINK_OPEN);
    ELAPSE__ASSERT(!elapse__ring_has_node(&fragment->ring_node));
    if (link->is_here)
        link->out_end += fragment->memory;
    else if (!write_front(link, fragment) ||
             !elapse__router_link_write(link, fragment->arguments, understood(link, fragment)))
        return false;
    elapse__ring_append(&link->sent, &fragment->ring_node);
    if (link->is_here && link->to_run == &link->sent)
        elapse__router_link_run_at(link, &fragment->ring_node);
    fragment->awaits = fragment->front;
    if (fragment->front != NULL && fragment->command != NULL)
        fragment->command->error[0] = '\0';
    fragment->end_at = link->out_end;
    fragment->sent_ms = link->router->now;
    return true;
}

/* ---- trouble ---- */

void elapse__router_link_complain(struct elapse__router_link *link, const char *why)
{
    char *text = link->router->partitions[link->partition].trouble;
    size_t length = 0;

    ELAPSE__ASSERT_THAT(link->partition, <, link->router->options.partitions);
    while (length + 1 < ELAPSE__ROUTER_TROUBLE_MAX && (unsigned char)why[length] >= ' ') {
        text[length] = why[length];
        length++;
    }
    text[length] = '\0';
}

/* ---- what the shell sees ---- */

uint32_t elapse__router_link_partition(const struct elapse__router_link *link)
{
    return link->partition;
}

bool elapse__router_link_is_pipe(const struct elapse__router_link *link)
{
    return link->is_pipe;
}

void elapse__router_link_set_shell(struct elapse__router_link *link, void *shell)
{
    link->shell = shell;
}

void *elapse__router_link_shell(const struct elapse__router_link *link)
{
    return link->shell;
}

size_t elapse__router_link_room(const struct elapse__router_link *link)
{
    enum { AT_ONCE = 64 << 10 };

    if (link->state == ELAPSE__ROUTER_LINK_LOST || link->state == ELAPSE__ROUTER_LINK_OPENING ||
        link->state == ELAPSE__ROUTER_LINK_WANTED)
        return 0;
    /* A core in this process hands over whole values at once, and so needs this much room. */
    if (link->is_here && !link->is_pipe)
        return link->router->options.reply_bytes_max;
    if (link->is_pipe && link->state == ELAPSE__ROUTER_LINK_OPEN) {
        size_t most = link->router->options.output_bytes_max;
        size_t there = link->client == NULL ? most : elapse__buffer_size(&link->client->out);
        return there < most ? most - there : 0;
    }
    return AT_ONCE;
}

const struct elapse__wire_resp_argument *
elapse__router_link_command(const struct elapse__router_link *link, uint32_t *count)
{
    if (link->to_run == &link->sent)
        return NULL;
    ELAPSE__ASSERT(link->is_here);
    const struct elapse__router_fragment *fragment =
        link->run_first != NULL ? link->run_first : elapse__router_fragment_at(link->to_run);
    *count = fragment->count;
    return fragment->arguments;
}

size_t elapse__router_link_output(const struct elapse__router_link *link, const uint8_t **bytes)
{
    /* A core in this process gets commands instead of bytes. A lost link has given its bytes up. */
    ELAPSE__ASSERT((link->is_here && !link->is_pipe) || link->state == ELAPSE__ROUTER_LINK_LOST ||
                   link->out_end - link->out_sent == elapse__buffer_size(&link->out));
    *bytes = elapse__buffer_first(&link->out);
    return elapse__buffer_size(&link->out);
}

bool elapse__router_link_wants_end(const struct elapse__router_link *link)
{
    return link->state == ELAPSE__ROUTER_LINK_LOST;
}
