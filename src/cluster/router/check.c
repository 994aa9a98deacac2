/*
 * The invariants of the router, for tests. Each invariant has a number.
 */
#include "types.h"

enum broken {
    SOUND,
    LANE_BYTES = 1,        /* a lane's bytes are those of its fragments, queued and sent */
    SENT_ORDER = 2,        /* a link's fragments end in their order, up to the link's last byte */
    FRAGMENT_COMMAND = 3,  /* a fragment's command is not done, and has fragments under way */
    CHARGES = 4,           /* a client's charges are the sum of those of its commands */
    COMMAND_FRAGMENTS = 5, /* a command that is not done has a fragment under way, or waits */
    CARRIER = 6,           /* a lane and its link point to each other */
    CHAIN = 7,             /* a chain that asks has a question under way */
    REPLY_ORDER = 8,       /* a client's first command is not done, unless the client is dead */
    FULL_LANE = 9,         /* clients wait for a lane only if it is at least half full */
    WAITING = 10,          /* the count of waiters is right */
    TRANSACTIONS = 12,     /* the memory of transactions is counted, and given back in time */
    GUESS = 11,            /* a guess is the client's last command and a barrier; its alarm runs */
};

struct sums {
    size_t bytes;
    uint32_t chain_questions;
};

static enum broken check_fragment(const struct elapse__router_fragment *fragment, struct sums *sums)
{
    const struct elapse__router_command *command = fragment->command;

    sums->bytes += fragment->memory;
    sums->chain_questions +=
        command != NULL && command->reserve != NULL && command->reserve->by_chain;
    if (command != NULL && (command->done || command->fragments == 0))
        return FRAGMENT_COMMAND;
    return SOUND;
}

static enum broken check_fragments(const struct elapse__ring_node *ring, struct sums *sums)
{
    for (const struct elapse__ring_node *at = ring->next; at != ring; at = at->next) {
        enum broken broken = check_fragment(
            ELAPSE__CONTAINER_OF(at, struct elapse__router_fragment, ring_node), sums);
        if (broken != SOUND)
            return broken;
    }
    return SOUND;
}

static enum broken check_sent(const struct elapse__router_link *link)
{
    uint64_t end = 0;

    for (const struct elapse__ring_node *at = link->sent.next; at != &link->sent; at = at->next) {
        const struct elapse__router_fragment *fragment =
            ELAPSE__CONTAINER_OF(at, struct elapse__router_fragment, ring_node);
        if (fragment->end_at <= end || fragment->end_at > link->out_end)
            return SENT_ORDER;
        end = fragment->end_at;
    }
    return SOUND;
}

static enum broken check_lane(const struct elapse__router_lane *lane, struct sums *questions)
{
    const struct elapse__router_link *link = lane->carrier;
    struct sums sums = {.bytes = 0};
    enum broken broken = check_fragments(&lane->queued, &sums);

    if (broken == SOUND && link != NULL) {
        if (link->lane != lane || link->state == ELAPSE__ROUTER_LINK_LOST || link->is_pipe)
            return CARRIER;
        broken = check_fragments(&link->sent, &sums);
        if (broken == SOUND)
            broken = check_fragments(&link->returned, &sums);
        if (broken == SOUND)
            broken = check_sent(link);
    }
    if (broken != SOUND)
        return broken;
    questions->chain_questions += sums.chain_questions;
    if (lane->blocked.next != &lane->blocked &&
        lane->bytes <= lane->router->options.lane_bytes_max / 2)
        return FULL_LANE;
    return sums.bytes == lane->bytes ? SOUND : LANE_BYTES;
}

static enum broken check_partition(const struct elapse__router_partition *partition)
{
    struct sums sums = {.bytes = 0};
    enum broken broken = check_lane(&partition->quick, &sums);

    if (broken == SOUND)
        broken = check_lane(&partition->slow, &sums);
    if (broken == SOUND && sums.chain_questions != (uint32_t)partition->chain.asks)
        return CHAIN;
    return broken;
}

static bool guess_is_sound(const struct elapse__router_client *client)
{
    const struct elapse__router_command *guess = client->guess;
    bool runs = elapse_timer_pending(&client->alarm.timer);

    return guess == NULL ? !runs
                         : runs && guess->is_barrier && !guess->done &&
                               client->commands.previous == &guess->ring_node;
}

static enum broken check_client(const struct elapse__router_client *client)
{
    size_t charges = 0;

    if (!guess_is_sound(client))
        return GUESS;
    for (const struct elapse__ring_node *at = client->commands.next; at != &client->commands;
         at = at->next) {
        const struct elapse__router_command *command =
            ELAPSE__CONTAINER_OF(at, struct elapse__router_command, ring_node);
        bool waits = command == client->guess ||
                     (command->reserve != NULL && elapse__ring_has_node(&command->reserve->waiter));
        charges += command->charge;
        if (!command->done && command->fragments == 0 && !waits && !client->dead)
            return COMMAND_FRAGMENTS;
        if (command->done && at == client->commands.next && !client->dead)
            return REPLY_ORDER;
    }
    return charges == client->charges ? SOUND : CHARGES;
}

static bool transactions_are_sound(const struct elapse__router *router)
{
    uint64_t kept = 0;

    for (const struct elapse__ring_node *at = router->clients.next; at != &router->clients;
         at = at->next) {
        const struct elapse__router_transaction *transaction =
            ELAPSE__CONTAINER_OF(at, struct elapse__router_client, ring_node)->transaction;
        if (transaction == NULL)
            continue;
        if ((transaction->spoiled == NULL) != elapse_timer_pending(&transaction->alarm.timer) ||
            (transaction->spoiled != NULL && transaction->memory > 0))
            return false;
        kept += transaction->memory;
    }
    return kept == router->kept;
}

unsigned elapse__router_check(const struct elapse__router *router)
{
    enum broken broken = SOUND;
    uint64_t waiting = 0;

    for (uint32_t i = 0; i < router->options.partitions && broken == SOUND; i++)
        broken = check_partition(&router->partitions[i]);
    for (const struct elapse__ring_node *at = router->clients.next;
         at != &router->clients && broken == SOUND; at = at->next)
        broken = check_client(ELAPSE__CONTAINER_OF(at, struct elapse__router_client, ring_node));
    for (const struct elapse__ring_node *at = router->waiters.next; at != &router->waiters;
         at = at->next)
        waiting++;
    if (broken == SOUND && waiting != router->figures.waiting)
        broken = WAITING;
    if (broken == SOUND && !transactions_are_sound(router))
        broken = TRANSACTIONS;
    return (unsigned)broken;
}
