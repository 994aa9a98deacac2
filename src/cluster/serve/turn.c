/*
 * Does the turns of a node: passes bytes from sockets to the router, from the router to cores and
 * other nodes, and back.
 */
#include "turn.h"
#include "../../base/assert.h"

enum { MOVE_MS = 5 }; /* how soon the loop looks again at a move */
enum { ROUNDS_MAX = 4, MS_PER_S = 1000, LONGEST_WAIT_MS = 3600 * MS_PER_S };

/* Tells the router if jobs of the partition have become ready, so that waiting RESERVEs ask for
 * them. Returns whether jobs have become ready. */
static bool tell_ready(struct elapse__cluster_partition *partition)
{
    if (partition->core->readied == partition->readied)
        return false;
    partition->readied = partition->core->readied;
    partition->has_news = true;
    elapse__router_ready(partition->cluster->router, elapse__runner_now_ms(), partition->number);
    return true;
}

/* Tells the other nodes that jobs have become ready, at most once a millisecond. */
static void tell_others(struct elapse__cluster_partition *partition, uint64_t *wait_ms)
{
    uint64_t now_ms = elapse__runner_now_ms();

    if (!partition->has_news)
        return;
    if (partition->pushed_ms == now_ms) {
        *wait_ms = 1;
        return;
    }
    partition->has_news = false;
    partition->pushed_ms = now_ms;
    elapse__links_push_ready(partition);
}

/* Gives the core of a partition its turn. Returns whether there is more to do. Lowers `wait_ms` if
 * the core needs its next turn earlier. */
static bool turn_partition(struct elapse__cluster_partition *partition, uint64_t *wait_ms)
{
    if (partition->core == NULL)
        return false;
    if (partition->core->is_broken) {
        elapse__cluster_partition_look(partition);
        return false;
    }
    bool more = elapse__links_turn(partition);
    if (partition->core->is_broken)
        return false;
    if (partition->core->is_held && *wait_ms > ELAPSE__CLUSTER_HELD_MS)
        *wait_ms = ELAPSE__CLUSTER_HELD_MS;
    more |= tell_ready(partition);
    tell_others(partition, wait_ms);
    return more || !elapse__ring_empty(&partition->dirty);
}

static bool turn_partitions(struct elapse__cluster *cluster, uint64_t *wait_ms)
{
    bool more = false;

    for (uint32_t i = 0; i < cluster->partition_count; i++)
        more |= turn_partition(&cluster->partitions[i], wait_ms);
    return more;
}

/* Sets the alarm that wakes the loop. It goes off when the router needs a turn, and after `wait_ms`
 * at the latest. */
static void set_alarm(struct elapse__cluster *cluster, uint64_t wait_ms)
{
    uint64_t now_ms = elapse__runner_now_ms();
    uint64_t next_ms = elapse__router_next_ms(cluster->router);
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
        more = elapse__router_turn(cluster->router, elapse__runner_now_ms());
        elapse__links_open(cluster);
        more |= elapse__links_send(cluster);
        more |= turn_partitions(cluster, &wait_ms);
        more |= elapse__links_send(cluster);
        more |= elapse__front_send(cluster);
    }
    if (elapse__cluster_moves_turn(cluster) && wait_ms > MOVE_MS)
        wait_ms = MOVE_MS;
    set_alarm(cluster, wait_ms);
    return more || is_ready(&cluster->service.loop.peers) || is_ready(&cluster->links);
}
