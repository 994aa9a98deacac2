/*
 * Turns: bytes from sockets to the router, from the router to cores and other nodes, and back.
 */
#include "../../base/assert.h"
#include "inner.h"

enum { ROUNDS_MAX = 4, MS_PER_S = 1000, LONGEST_WAIT_MS = 3600 * MS_PER_S };

size_t elapse__cluster_receive(struct elapse__cluster *cluster, struct elapse__peer *peer,
                               size_t room)
{
    size_t most = ELAPSE__BATCH_PEER_BYTES;

    if (peer->has_ended || room == 0 || peer->peers->is_stopping)
        return 0;
    /* To the end of the line. What the socket has after this is read in the next turn. */
    elapse__peer_enter(peer, ELAPSE__PEER_READY);
    return elapse__peer_receive(peer, cluster->batch, room < most ? room : most);
}

/* Jobs have become ready: reserves that wait ask for them. Returns whether any have. */
static bool tell_ready(struct elapse__cluster_part *part)
{
    if (part->core->readied == part->readied)
        return false;
    part->readied = part->core->readied;
    part->has_news = true;
    elapse__node_ready(part->cluster->node, elapse__runner_now_ms(), part->part);
    return true;
}

/* Tells the other nodes, once a millisecond at most. */
static void tell_others(struct elapse__cluster_part *part, uint64_t *wait_ms)
{
    uint64_t now_ms = elapse__runner_now_ms();

    if (!part->has_news)
        return;
    if (part->pushed_ms == now_ms) {
        *wait_ms = 1;
        return;
    }
    part->has_news = false;
    part->pushed_ms = now_ms;
    elapse__links_push_ready(part);
}

/* Gives the core of a partition its turn. Returns whether there is more to do; lowers `wait_ms` to
 * when it needs the next one. */
static bool turn_part(struct elapse__cluster_part *part, uint64_t *wait_ms)
{
    if (part->core == NULL)
        return false;
    if (part->core->is_broken) {
        elapse__part_look(part);
        return false;
    }
    bool more = elapse__links_turn(part);
    if (part->core->is_broken)
        return false;
    if (part->core->is_held && *wait_ms > ELAPSE__CLUSTER_HELD_MS)
        *wait_ms = ELAPSE__CLUSTER_HELD_MS;
    more |= tell_ready(part);
    tell_others(part, wait_ms);
    return more || !elapse__ring_empty(&part->dirty);
}

static bool turn_parts(struct elapse__cluster *cluster, uint64_t *wait_ms)
{
    bool more = false;

    for (uint32_t i = 0; i < cluster->part_count; i++)
        more |= turn_part(&cluster->parts[i], wait_ms);
    return more;
}

/* The loop wakes up when the router needs a turn, or after `wait_ms`. */
static void set_alarm(struct elapse__cluster *cluster, uint64_t wait_ms)
{
    uint64_t now_ms = elapse__runner_now_ms();
    uint64_t next_ms = elapse__node_next_ms(cluster->node);
    uint64_t router_ms = next_ms > now_ms ? next_ms - now_ms : 0;

    if (wait_ms > router_ms)
        wait_ms = router_ms;
    const struct timeval wait = {.tv_sec = (time_t)(wait_ms / MS_PER_S),
                                 .tv_usec = (suseconds_t)(wait_ms % MS_PER_S * 1000)};
    (void)event_add(cluster->alarm, &wait);
}

static bool is_ready(const struct elapse__peers *peers)
{
    return !elapse__ring_empty(&peers->rings[ELAPSE__PEER_READY]);
}

bool elapse__cluster_turn(struct elapse__cluster *cluster)
{
    uint64_t wait_ms = LONGEST_WAIT_MS;
    bool more = true;

    elapse__front_receive(cluster);
    elapse__links_receive(cluster);
    for (unsigned i = 0; i < ROUNDS_MAX && more; i++) {
        more = elapse__node_turn(cluster->node, elapse__runner_now_ms());
        elapse__links_open(cluster);
        more |= elapse__links_send(cluster);
        more |= turn_parts(cluster, &wait_ms);
        more |= elapse__links_send(cluster);
        more |= elapse__front_send(cluster);
    }
    set_alarm(cluster, wait_ms);
    return more || is_ready(&cluster->service.loop.peers) || is_ready(&cluster->links);
}
