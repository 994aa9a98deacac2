/*
 * Makes and frees a router, takes the news about owners of partitions, and does the turns.
 */
#include <stdlib.h>
#include <string.h>

#include "take.h"

/* ---- life ---- */

static void set_default(uint32_t *option, uint32_t value)
{
    if (*option == 0)
        *option = value;
}

/* Returns how long the answer of a partition may be. The answer to a RESERVE of many jobs may be as
 * long as the output of a connection and one more job. */
static uint32_t longest_reply(const struct elapse__router_options *options)
{
    uint64_t bytes = (uint64_t)options->argument_bytes_max + options->output_bytes_max + (8U << 20);

    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static void set_defaults(struct elapse__router_options *options)
{
    enum { ARGUMENT_BYTES_MIN = 4096 }; /* names and keys are arguments too */

    set_default(&options->argument_bytes_max, 65535);
    if (options->argument_bytes_max < ARGUMENT_BYTES_MIN)
        options->argument_bytes_max = ARGUMENT_BYTES_MIN;
    set_default(&options->clients_max, 100000);
    set_default(&options->input_bytes_max, 256 << 10);
    set_default(&options->output_bytes_max, 1 << 20);
    set_default(&options->lane_bytes_max, 4 << 20);
    set_default(&options->reply_bytes_max, longest_reply(options));
    set_default(&options->kept_bytes_max, 64 << 20);
    set_default(&options->retry_ms, 10000);
    set_default(&options->answer_ms, 15000);
    set_default(&options->sweep_ms, 600000);
    set_default(&options->parting_ms, 1000);
    set_default(&options->poll_ms, 100);
}

static bool options_are_in_range(const struct elapse__router_options *options)
{
    return options->partitions >= 1 && options->partitions <= ELAPSE__ROUTER_PARTITIONS_MAX &&
           options->queue != NULL && (options->admit == NULL || options->wrong_password != NULL) &&
           options->argument_bytes_max <= (uint32_t)ELAPSE__WIRE_RESP_REFUSED_BYTES_MAX;
}

static void make_lane(struct elapse__router *router, struct elapse__router_lane *lane,
                      uint32_t partition, bool slow)
{
    lane->router = router;
    lane->partition = partition;
    lane->slow = slow;
    lane->retry_after_ms = ELAPSE__ROUTER_RETRY_FIRST_MS;
    elapse__ring_init(&lane->queued);
    elapse__ring_init(&lane->blocked);
}

static void make_rings(struct elapse__router *router)
{
    struct elapse__ring_node *rings[] = {
        &router->clients, &router->links,   &router->wanted,           &router->work,
        &router->waiters, &router->orphans, &router->client_attention, &router->link_attention};

    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++)
        elapse__ring_init(rings[i]);
}

struct elapse__router *elapse__router_new(const struct elapse__router_options *options,
                                          uint64_t now)
{
    struct elapse__router *router = NULL;

    if (options_are_in_range(options))
        router = calloc(1, sizeof *router);
    if (router == NULL)
        return NULL;
    router->partitions = calloc(options->partitions, sizeof *router->partitions);
    if (router->partitions == NULL || elapse_wheel_init(&router->wheel, now) != ELAPSE_OK) {
        free(router->partitions);
        free(router);
        return NULL;
    }
    router->options = *options;
    set_defaults(&router->options);
    router->now = now;
    router->look_at_ms = UINT64_MAX;
    router->serial = 1;
    router->fragment_ended = elapse__router_command_answer;
    make_rings(router);
    for (uint32_t i = 0; i < options->partitions; i++) {
        make_lane(router, &router->partitions[i].quick, i, false);
        make_lane(router, &router->partitions[i].slow, i, true);
        router->partitions[i].chain.next = &router->waiters;
        router->partitions[i].chain.poll_at_ms = UINT64_MAX;
    }
    return router;
}

static void free_fragments(struct elapse__ring_node *ring)
{
    while (!elapse__ring_empty(ring)) {
        struct elapse__ring_node *first = ring->next;
        elapse__ring_leave(first);
        elapse__router_fragment_free(elapse__router_fragment_at(first));
    }
}

static void free_links(struct elapse__ring_node *ring)
{
    while (!elapse__ring_empty(ring)) {
        struct elapse__router_link *link =
            ELAPSE__CONTAINER_OF(ring->next, struct elapse__router_link, ring_node);
        free_fragments(&link->sent);
        free_fragments(&link->returned);
        elapse__router_link_free(link);
    }
}

static void free_commands(struct elapse__ring_node *ring)
{
    while (!elapse__ring_empty(ring))
        elapse__router_command_free(
            ELAPSE__CONTAINER_OF(ring->next, struct elapse__router_command, ring_node));
}

static void free_clients(struct elapse__router *router)
{
    while (!elapse__ring_empty(&router->clients)) {
        struct elapse__router_client *client =
            ELAPSE__CONTAINER_OF(router->clients.next, struct elapse__router_client, ring_node);
        free_commands(&client->commands);
        free_commands(&client->leavings);
        elapse__router_transaction_end(client);
        elapse__ring_leave(&client->ring_node);
        elapse__buffer_free(&client->input);
        elapse__buffer_free(&client->out);
        free(client);
    }
}

void elapse__router_free(struct elapse__router *router)
{
    if (router == NULL)
        return;
    free_links(&router->links);
    free_links(&router->wanted);
    for (uint32_t i = 0; i < router->options.partitions; i++) {
        free_fragments(&router->partitions[i].quick.queued);
        free_fragments(&router->partitions[i].slow.queued);
    }
    free_clients(router);
    free_commands(&router->orphans);
    free(router->partitions);
    free(router);
}

/* ---- owners ---- */

void elapse__router_owner(struct elapse__router *router, uint64_t now, uint32_t partition,
                          enum elapse__router_place place, uint64_t epoch)
{
    ELAPSE__ASSERT_THAT(partition, <, router->options.partitions);
    struct elapse__router_partition *changed = &router->partitions[partition];

    elapse__router_enter(router, now);
    if (changed->place == place && changed->epoch == epoch)
        return;
    changed->place = place;
    changed->epoch = epoch;
    changed->trouble[0] = '\0';
    changed->is_old = false;
    router->serial++;
    elapse__router_lane_moved(&changed->quick);
    elapse__router_lane_moved(&changed->slow);
    if (router->options.partitions == 1)
        elapse__router_pipe_moved(router);
}

/* ---- turns ---- */

/* Looks at all lanes and links. */
static void look(struct elapse__router *router)
{
    router->look_at_ms = UINT64_MAX;
    for (uint32_t i = 0; i < router->options.partitions; i++) {
        elapse__router_lane_look(&router->partitions[i].quick);
        elapse__router_lane_look(&router->partitions[i].slow);
    }
    if (router->options.partitions == 1)
        elapse__router_pipe_look(router);
}

static void ring_alarms(struct elapse__router *router)
{
    struct elapse_timer *timer;

    while ((timer = elapse_wheel_pop(&router->wheel)) != NULL) {
        struct elapse__router_alarm *alarm =
            ELAPSE__CONTAINER_OF(timer, struct elapse__router_alarm, timer);
        alarm->ring(alarm);
    }
}

bool elapse__router_turn(struct elapse__router *router, uint64_t now)
{
    struct elapse__ring_node round;
    bool more = false;

    elapse__router_enter(router, now);
    if (router->look_at_ms <= now)
        look(router);
    ring_alarms(router);
    elapse__router_reserve_look(router);
    if (elapse__ring_empty(&router->work))
        return false;
    elapse__ring_init(&round);
    elapse__ring_take_all(&round, &router->work);
    while (!elapse__ring_empty(&round)) {
        struct elapse__router_client *client =
            ELAPSE__CONTAINER_OF(round.next, struct elapse__router_client, work);
        elapse__ring_leave(&client->work);
        if (elapse__router_client_work(client))
            elapse__ring_join_once(&router->work, &client->work);
    }
    more = !elapse__ring_empty(&router->work);
    return more;
}

uint64_t elapse__router_next_ms(const struct elapse__router *router)
{
    uint64_t timer = elapse_wheel_next(&router->wheel);
    uint64_t next = timer < router->look_at_ms ? timer : router->look_at_ms;

    if (!elapse__ring_empty(&router->work))
        return router->now;
    for (uint32_t i = 0; i < router->options.partitions && !elapse__ring_empty(&router->waiters);
         i++) {
        if (router->partitions[i].chain.poll_at_ms < next)
            next = router->partitions[i].chain.poll_at_ms;
    }
    return next;
}

struct elapse__router_client *elapse__router_client_attention(struct elapse__router *router)
{
    struct elapse__ring_node *first = router->client_attention.next;

    if (first == &router->client_attention)
        return NULL;
    elapse__ring_leave(first);
    return ELAPSE__CONTAINER_OF(first, struct elapse__router_client, attention);
}

struct elapse__router_link *elapse__router_link_attention(struct elapse__router *router)
{
    struct elapse__ring_node *first = router->link_attention.next;

    if (first == &router->link_attention)
        return NULL;
    elapse__ring_leave(first);
    return ELAPSE__CONTAINER_OF(first, struct elapse__router_link, attention);
}

/* ---- whether something is under way ---- */

static bool link_is_idle(const struct elapse__router_link *link)
{
    return link->state == ELAPSE__ROUTER_LINK_LOST ||
           (elapse__ring_empty(&link->sent) && elapse__buffer_size(&link->out) == 0 &&
            (!link->is_pipe || elapse__buffer_size(&link->input) == 0));
}

static bool lane_is_idle(const struct elapse__router_partition *partition,
                         const struct elapse__router_lane *lane)
{
    return partition->place != ELAPSE__ROUTER_THERE || elapse__ring_empty(&lane->queued);
}

static bool partition_is_idle(const struct elapse__router_partition *partition)
{
    return lane_is_idle(partition, &partition->quick) && lane_is_idle(partition, &partition->slow);
}

bool elapse__router_is_idle(const struct elapse__router *router)
{
    const struct elapse__ring_node *i;
    bool is_idle = elapse__ring_empty(&router->work);

    for (uint32_t number = 0; number < router->options.partitions && is_idle; number++)
        is_idle = partition_is_idle(&router->partitions[number]);
    for (i = router->links.next; i != &router->links && is_idle; i = i->next)
        is_idle =
            link_is_idle(ELAPSE__CONTAINER_OF(i, const struct elapse__router_link, ring_node));
    for (i = router->clients.next; i != &router->clients && is_idle; i = i->next)
        is_idle =
            elapse__buffer_size(
                &ELAPSE__CONTAINER_OF(i, const struct elapse__router_client, ring_node)->out) == 0;
    return is_idle;
}

/* ---- figures ---- */

const char *elapse__router_trouble(const struct elapse__router *router, uint32_t partition)
{
    ELAPSE__ASSERT_THAT(partition, <, router->options.partitions);
    return router->partitions[partition].trouble;
}

void elapse__router_figures(const struct elapse__router *router,
                            struct elapse__router_figures *figures)
{
    *figures = router->figures;
}
