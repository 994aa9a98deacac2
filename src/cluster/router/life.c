/*
 * Life, owners, and turns.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

/* ---- life ---- */

static void set_default(uint32_t *option, uint32_t value)
{
    if (*option == 0)
        *option = value;
}

/* A RESERVE of many jobs may fill the output of a connection, and the job that fills it comes on
 * top. */
static uint32_t longest_reply(const struct elapse__node_options *options)
{
    uint64_t bytes = (uint64_t)options->argument_bytes_max + options->output_bytes_max + (8U << 20);

    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static void set_defaults(struct elapse__node_options *options)
{
    enum { ARGUMENT_BYTES_MIN = 4096 }; /* names and keys are arguments, too */

    set_default(&options->argument_bytes_max, 65535);
    if (options->argument_bytes_max < ARGUMENT_BYTES_MIN)
        options->argument_bytes_max = ARGUMENT_BYTES_MIN;
    set_default(&options->clients_max, 100000);
    set_default(&options->input_bytes_max, 256 << 10);
    set_default(&options->output_bytes_max, 1 << 20);
    set_default(&options->lane_bytes_max, 4 << 20);
    set_default(&options->reply_bytes_max, longest_reply(options));
    set_default(&options->retry_ms, 10000);
    set_default(&options->answer_ms, 15000);
    set_default(&options->sweep_ms, 600000);
    set_default(&options->parting_ms, 1000);
    set_default(&options->poll_ms, 100);
}

static bool options_are_in_range(const struct elapse__node_options *options)
{
    return options->partitions >= 1 && options->partitions <= ELAPSE__NODE_PARTITIONS_MAX &&
           options->queue != NULL &&
           options->argument_bytes_max <= (uint32_t)ELAPSE__RESP_REFUSED_BYTES_MAX;
}

static void make_lane(struct elapse__node *node, struct elapse__node_lane *lane, uint32_t partition,
                      bool slow)
{
    lane->node = node;
    lane->partition = partition;
    lane->slow = slow;
    lane->retry_after_ms = ELAPSE__NODE_RETRY_FIRST_MS;
    elapse__ring_init(&lane->queued);
    elapse__ring_init(&lane->blocked);
}

static void make_rings(struct elapse__node *node)
{
    struct elapse__link *rings[] = {
        &node->clients, &node->links,   &node->wanted,           &node->work,
        &node->waiters, &node->orphans, &node->client_attention, &node->link_attention};

    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++)
        elapse__ring_init(rings[i]);
}

struct elapse__node *elapse__node_new(const struct elapse__node_options *options, uint64_t now)
{
    struct elapse__node *node = NULL;

    if (options_are_in_range(options))
        node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->partitions = calloc(options->partitions, sizeof *node->partitions);
    if (node->partitions == NULL || elapse_wheel_init(&node->wheel, now) != ELAPSE_OK) {
        free(node->partitions);
        free(node);
        return NULL;
    }
    node->options = *options;
    set_defaults(&node->options);
    node->now = now;
    node->look_at_ms = UINT64_MAX;
    node->serial = 1;
    make_rings(node);
    for (uint32_t i = 0; i < options->partitions; i++) {
        make_lane(node, &node->partitions[i].quick, i, false);
        make_lane(node, &node->partitions[i].slow, i, true);
        node->partitions[i].chain.next = &node->waiters;
        node->partitions[i].chain.poll_at_ms = UINT64_MAX;
    }
    return node;
}

static void free_parts(struct elapse__link *ring)
{
    while (!elapse__ring_empty(ring)) {
        struct elapse__link *first = ring->next;
        elapse__node_unlink(first);
        free(ELAPSE__NODE_OWNER(first, struct elapse__node_part, link));
    }
}

static void free_links(struct elapse__link *ring)
{
    while (!elapse__ring_empty(ring)) {
        struct elapse__node_link *link =
            ELAPSE__NODE_OWNER(ring->next, struct elapse__node_link, link);
        free_parts(&link->sent);
        free_parts(&link->returned);
        elapse__node_link_free(link);
    }
}

static void free_commands(struct elapse__link *ring)
{
    while (!elapse__ring_empty(ring))
        elapse__command_free(ELAPSE__NODE_OWNER(ring->next, struct elapse__node_command, link));
}

static void free_clients(struct elapse__node *node)
{
    while (!elapse__ring_empty(&node->clients)) {
        struct elapse__node_client *client =
            ELAPSE__NODE_OWNER(node->clients.next, struct elapse__node_client, link);
        free_commands(&client->commands);
        free_commands(&client->leavings);
        elapse__node_unlink(&client->link);
        elapse__buffer_free(&client->input);
        elapse__buffer_free(&client->out);
        free(client);
    }
}

void elapse__node_free(struct elapse__node *node)
{
    if (node == NULL)
        return;
    free_links(&node->links);
    free_links(&node->wanted);
    for (uint32_t i = 0; i < node->options.partitions; i++) {
        free_parts(&node->partitions[i].quick.queued);
        free_parts(&node->partitions[i].slow.queued);
    }
    free_clients(node);
    free_commands(&node->orphans);
    free(node->partitions);
    free(node);
}

void elapse__node_enter(struct elapse__node *node, uint64_t now)
{
    ELAPSE__ASSERT_THAT(now, >=, node->now);
    node->now = now;
    elapse_wheel_advance(&node->wheel, now);
}

/* ---- owners ---- */

void elapse__node_owner(struct elapse__node *node, uint64_t now, uint32_t partition,
                        enum elapse__node_place place, uint64_t epoch)
{
    struct elapse__node_partition *changed = &node->partitions[partition];

    ELAPSE__ASSERT_THAT(partition, <, node->options.partitions);
    elapse__node_enter(node, now);
    if (changed->place == place && changed->epoch == epoch)
        return;
    changed->place = place;
    changed->epoch = epoch;
    changed->trouble[0] = '\0';
    node->serial++;
    elapse__lane_moved(&changed->quick);
    elapse__lane_moved(&changed->slow);
    if (node->options.partitions == 1)
        elapse__pipe_moved(node);
}

/* Returns how many partitions are at a place, or at any for NOWHERE. */
static uint32_t count_at(const struct elapse__node *node, enum elapse__node_place place)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < node->options.partitions; i++)
        count += place == ELAPSE__NODE_NOWHERE || node->partitions[i].place == place;
    return count;
}

/* One of this node, if it has any; otherwise one that somebody owns. Clients are spread evenly. */
uint32_t elapse__node_home(struct elapse__node_client *client)
{
    struct elapse__node *node = client->node;
    enum elapse__node_place place = ELAPSE__NODE_HERE;

    if (client->home_serial == node->serial)
        return client->home;
    client->home_serial = node->serial;
    if (count_at(node, place) == 0)
        place = ELAPSE__NODE_THERE;
    if (count_at(node, place) == 0)
        place = ELAPSE__NODE_NOWHERE;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is a partition */
    uint64_t left = client->number % count_at(node, place);
    for (uint32_t i = 0; i < node->options.partitions; i++) {
        if ((place == ELAPSE__NODE_NOWHERE || node->partitions[i].place == place) && left-- == 0)
            client->home = i;
    }
    return client->home;
}

/* ---- turns ---- */

/* Looks at all lanes and links. */
static void look(struct elapse__node *node)
{
    node->look_at_ms = UINT64_MAX;
    for (uint32_t i = 0; i < node->options.partitions; i++) {
        elapse__lane_look(&node->partitions[i].quick);
        elapse__lane_look(&node->partitions[i].slow);
    }
    if (node->options.partitions == 1)
        elapse__pipe_look(node);
}

bool elapse__node_turn(struct elapse__node *node, uint64_t now)
{
    struct elapse__link round;
    bool more = false;

    elapse__node_enter(node, now);
    if (node->look_at_ms <= now)
        look(node);
    elapse__reserve_look(node);
    if (elapse__ring_empty(&node->work))
        return false;
    elapse__ring_init(&round);
    elapse__ring_take_all(&round, &node->work);
    while (!elapse__ring_empty(&round)) {
        struct elapse__node_client *client =
            ELAPSE__NODE_OWNER(round.next, struct elapse__node_client, work);
        elapse__node_unlink(&client->work);
        if (elapse__client_work(client))
            elapse__node_link_once(&node->work, &client->work);
    }
    more = !elapse__ring_empty(&node->work);
    return more;
}

uint64_t elapse__node_next_ms(const struct elapse__node *node)
{
    uint64_t timer = elapse_wheel_next(&node->wheel);
    uint64_t next = timer < node->look_at_ms ? timer : node->look_at_ms;

    if (!elapse__ring_empty(&node->work))
        return node->now;
    for (uint32_t i = 0; i < node->options.partitions && !elapse__ring_empty(&node->waiters); i++) {
        if (node->partitions[i].chain.poll_at_ms < next)
            next = node->partitions[i].chain.poll_at_ms;
    }
    return next;
}

struct elapse__node_client *elapse__node_client_attention(struct elapse__node *node)
{
    struct elapse__link *first = node->client_attention.next;

    if (first == &node->client_attention)
        return NULL;
    elapse__node_unlink(first);
    return ELAPSE__NODE_OWNER(first, struct elapse__node_client, attention);
}

struct elapse__node_link *elapse__node_link_attention(struct elapse__node *node)
{
    struct elapse__link *first = node->link_attention.next;

    if (first == &node->link_attention)
        return NULL;
    elapse__node_unlink(first);
    return ELAPSE__NODE_OWNER(first, struct elapse__node_link, attention);
}

/* ---- whether something is under way ---- */

static bool link_is_idle(const struct elapse__node_link *link)
{
    return link->state == ELAPSE__LINK_LOST ||
           (elapse__ring_empty(&link->sent) && elapse__buffer_size(&link->out) == 0 &&
            (!link->is_pipe || elapse__buffer_size(&link->input) == 0));
}

static bool lane_is_idle(const struct elapse__node_partition *partition,
                         const struct elapse__node_lane *lane)
{
    return partition->place != ELAPSE__NODE_THERE || elapse__ring_empty(&lane->queued);
}

static bool partition_is_idle(const struct elapse__node_partition *partition)
{
    return lane_is_idle(partition, &partition->quick) && lane_is_idle(partition, &partition->slow);
}

bool elapse__node_is_idle(const struct elapse__node *node)
{
    const struct elapse__link *i;
    bool is_idle = elapse__ring_empty(&node->work);

    for (uint32_t part = 0; part < node->options.partitions && is_idle; part++)
        is_idle = partition_is_idle(&node->partitions[part]);
    for (i = node->links.next; i != &node->links && is_idle; i = i->next)
        is_idle = link_is_idle(ELAPSE__NODE_OWNER(i, const struct elapse__node_link, link));
    for (i = node->clients.next; i != &node->clients && is_idle; i = i->next)
        is_idle = elapse__buffer_size(
                      &ELAPSE__NODE_OWNER(i, const struct elapse__node_client, link)->out) == 0;
    return is_idle;
}

/* ---- figures ---- */

const char *elapse__node_trouble(const struct elapse__node *node, uint32_t partition)
{
    ELAPSE__ASSERT_THAT(partition, <, node->options.partitions);
    return node->partitions[partition].trouble;
}

void elapse__node_figures(const struct elapse__node *node, struct elapse__node_figures *figures)
{
    *figures = node->figures;
}
