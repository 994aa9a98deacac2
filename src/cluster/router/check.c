/*
 * The invariants of a node, for tests. Each has a number.
 */
#include "inner.h"

enum broken {
    SOUND,
    LANE_BYTES = 1,    /* a lane's bytes are those of its parts, waiting and sent */
    SENT_ORDER = 2,    /* the parts of a link end one behind the other, up to its last byte */
    PART_COMMAND = 3,  /* a part's command is not done, and has parts under way */
    CHARGES = 4,       /* a client's charges are those of its commands */
    COMMAND_PARTS = 5, /* a command that is not done has a part under way, or waits */
    CARRIER = 6,       /* a lane and its link know each other */
    CHAIN = 7,         /* a chain that asks has a question under way */
    REPLY_ORDER = 8,   /* a client's first command is not done, unless the client is dead */
    FULL_LANE = 9,     /* clients wait for a lane only if it is at least half full */
    WAITING = 10,      /* the count of waiters is right */
};

struct sums {
    size_t bytes;
    uint32_t chain_questions;
};

static enum broken check_part(const struct elapse__node_part *part, struct sums *sums)
{
    sums->bytes += sizeof *part + part->size;
    sums->chain_questions += part->by_chain;
    if (part->command != NULL && (part->command->done || part->command->parts == 0))
        return PART_COMMAND;
    return SOUND;
}

static enum broken check_parts(const struct elapse__link *ring, struct sums *sums)
{
    for (const struct elapse__link *at = ring->next; at != ring; at = at->next) {
        enum broken broken =
            check_part(ELAPSE__NODE_OWNER(at, struct elapse__node_part, link), sums);
        if (broken != SOUND)
            return broken;
    }
    return SOUND;
}

static enum broken check_sent(const struct elapse__node_link *link)
{
    uint64_t end = 0;

    for (const struct elapse__link *at = link->sent.next; at != &link->sent; at = at->next) {
        const struct elapse__node_part *part =
            ELAPSE__NODE_OWNER(at, struct elapse__node_part, link);
        if (part->end_at < end + part->size || part->end_at > link->out_end)
            return SENT_ORDER;
        end = part->end_at;
    }
    return SOUND;
}

static enum broken check_lane(const struct elapse__node_lane *lane, struct sums *questions)
{
    const struct elapse__node_link *link = lane->carrier;
    struct sums sums = {.bytes = 0};
    enum broken broken = check_parts(&lane->queued, &sums);

    if (broken == SOUND && link != NULL) {
        if (link->lane != lane || link->state == ELAPSE__LINK_LOST || link->is_pipe)
            return CARRIER;
        broken = check_parts(&link->sent, &sums);
        if (broken == SOUND)
            broken = check_parts(&link->returned, &sums);
        if (broken == SOUND)
            broken = check_sent(link);
    }
    if (broken != SOUND)
        return broken;
    questions->chain_questions += sums.chain_questions;
    if (lane->blocked.next != &lane->blocked &&
        lane->bytes <= lane->node->options.lane_bytes_max / 2)
        return FULL_LANE;
    return sums.bytes == lane->bytes ? SOUND : LANE_BYTES;
}

static enum broken check_partition(const struct elapse__node_partition *partition)
{
    struct sums sums = {.bytes = 0};
    enum broken broken = check_lane(&partition->quick, &sums);

    if (broken == SOUND)
        broken = check_lane(&partition->slow, &sums);
    if (broken == SOUND && sums.chain_questions != (uint32_t)partition->chain.asks)
        return CHAIN;
    return broken;
}

static enum broken check_client(const struct elapse__node_client *client)
{
    size_t charges = 0;

    for (const struct elapse__link *at = client->commands.next; at != &client->commands;
         at = at->next) {
        const struct elapse__node_command *command =
            ELAPSE__NODE_OWNER(at, struct elapse__node_command, link);
        bool waits = command->reserve != NULL && elapse__node_linked(&command->reserve->waiter);
        charges += command->charge;
        if (!command->done && command->parts == 0 && !waits && !client->dead)
            return COMMAND_PARTS;
        if (command->done && at == client->commands.next && !client->dead)
            return REPLY_ORDER;
    }
    return charges == client->charges ? SOUND : CHARGES;
}

unsigned elapse__node_check(const struct elapse__node *node)
{
    enum broken broken = SOUND;
    uint64_t waiting = 0;

    for (uint32_t i = 0; i < node->options.partitions && broken == SOUND; i++)
        broken = check_partition(&node->partitions[i]);
    for (const struct elapse__link *at = node->clients.next;
         at != &node->clients && broken == SOUND; at = at->next)
        broken = check_client(ELAPSE__NODE_OWNER(at, struct elapse__node_client, link));
    for (const struct elapse__link *at = node->waiters.next; at != &node->waiters; at = at->next)
        waiting++;
    if (broken == SOUND && waiting != node->figures.waiting)
        broken = WAITING;
    return (unsigned)broken;
}
