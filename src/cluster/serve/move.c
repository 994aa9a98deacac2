/*
 * Planned moves: hands a partition over to another node while this node goes on.
 *
 *      STAYS --asked--> LEAVES --all have left--> SETTLES --all is logged--> RELEASES
 *        ^                |                          |                          |
 *        +---too late, called off--------------------+                core is gone
 *        +----------------------------------------------------------------------+
 *
 *   LEAVES    The router and the other nodes send no further command to the core. Clients of
 *             beanstalkd's protocol, which a queue with one partition has, do not leave by
 *             themselves: the core takes no further bytes of them, and ends their connections when
 *             they have their answers. A client that does not read its answers is cut after a
 *             quarter of the lease. A client whose answers are not there yet is not cut, since
 *             the log may get its commands afterwards.
 *   SETTLES   All commands are answered. The log gets the records that nobody waits for, such as
 *             those of leases. Records that are made meanwhile, by time or by cleaning, may be
 *             without end. They are waited for a little while only, because the next owner makes
 *             the same ones.
 *   RELEASES  The runner writes that nobody owns the partition, and fences the store.
 *
 * LEAVES and SETTLES take at most half of the lease each. Then the move is given up, and the core
 * serves again. That happens only if the database or the disk does not confirm in time, or if a
 * command takes longer than half of the lease. So a move loses no answer, and no record that
 * somebody relies on. Until it releases, a move is given up also if it is called off: the target
 * has died, an operator has paused moves, or this node does not know any more what is wanted.
 */
#include "move.h"

#include <inttypes.h>

#include "../../base/assert.h"

/* Parts of a lease: the most that a step takes; after how much clients are cut; for how much the
 * records of no command are waited for. */
enum { STEP_PARTS = 2, CUT_PARTS = 4, SETTLED_PARTS = 8 };

static void enter(struct elapse__cluster_partition *partition, enum elapse__cluster_moving moving,
                  uint64_t limit_ms)
{
    partition->moving = moving;
    partition->move_until_ms = elapse__runner_now_ms() + limit_ms;
    atomic_store(&partition->is_moving, moving != ELAPSE__CLUSTER_STAYS);
}

/* Enters a step that may be given up. */
static void enter_step(struct elapse__cluster_partition *partition,
                       enum elapse__cluster_moving moving)
{
    enter(partition, moving, partition->cluster->queue.lease_ms / STEP_PARTS);
}

/* The router learns where the partition is. */
static void tell(struct elapse__cluster_partition *partition)
{
    elapse__cluster_partition_look(partition);
}

static void begin(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->core != NULL);
    elapse__logger(elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_NOTICE,
                   ELAPSE__EVENT_CLUSTER, "partition %" PRIu32 ": it moves to another node",
                   partition->number);
    enter_step(partition, ELAPSE__CLUSTER_LEAVES);
    tell(partition);
}

static void give_up(struct elapse__cluster_partition *partition, const char *why)
{
    elapse__logger(elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_WARNING,
                   ELAPSE__EVENT_CLUSTER, "partition %" PRIu32 ": it does not move: %s",
                   partition->number, why);
    enter(partition, ELAPSE__CLUSTER_STAYS, 0);
    partition->rests_until_ms = elapse__runner_now_ms() + partition->cluster->queue.lease_ms;
    tell(partition);
    elapse__runner_wake(partition->runner); /* rows of the inbox are asked for again */
}

/* Returns whether this step of the move has taken a lease divided by `parts`. */
static bool has_taken(const struct elapse__cluster_partition *partition, uint64_t now_ms,
                      uint32_t parts)
{
    const uint64_t lease_ms = partition->cluster->queue.lease_ms;

    return now_ms + lease_ms / STEP_PARTS >= partition->move_until_ms + lease_ms / parts;
}

static void go_on_leaving(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    if (elapse__links_leave(partition)) {
        enter_step(partition, ELAPSE__CLUSTER_SETTLES);
        partition->settled = elapse__store_appended(partition->store);
    } else if (now_ms >= partition->move_until_ms) {
        give_up(partition, "not all commands were answered in time");
    } else if (has_taken(partition, now_ms, CUT_PARTS)) {
        elapse__links_cut_clients(partition);
    }
}

/* Returns whether the log has all that it needs: everything, or, after an eighth of the lease,
 * everything that was there when the last command was answered. */
static bool is_settled(const struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    return elapse__store_is_logged(partition->store) ||
           (has_taken(partition, now_ms, SETTLED_PARTS) &&
            elapse__store_is_logged_before(partition->store, partition->settled));
}

static void go_on_settling(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    if (is_settled(partition, now_ms)) {
        enter(partition, ELAPSE__CLUSTER_RELEASES, 0);
        elapse__runner_move(partition->runner);
    } else if (now_ms >= partition->move_until_ms) {
        give_up(partition, "the database has not confirmed everything in time");
    }
}

static void go_on(struct elapse__cluster_partition *partition)
{
    uint64_t now_ms = elapse__runner_now_ms();

    if (partition->core == NULL) {
        enter(partition, ELAPSE__CLUSTER_STAYS, 0);
        return;
    }
    ELAPSE__ASSERT(partition->runner != NULL);
    if (partition->core->is_broken)
        return; /* the core is about to be freed */
    if (!partition->is_to_move && partition->moving != ELAPSE__CLUSTER_RELEASES)
        give_up(partition, "it is not wanted elsewhere any more");
    else if (partition->moving == ELAPSE__CLUSTER_LEAVES)
        go_on_leaving(partition, now_ms);
    else if (partition->moving == ELAPSE__CLUSTER_SETTLES)
        go_on_settling(partition, now_ms);
}

/* Tells the runner which node is to own the partition next. */
static void expect(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    enum elapse__partition_next_owner next = partition->wanted_owner;

    if (now_ms < atomic_load(&partition->no_room_until_ms))
        next = ELAPSE__NEXT_OWNER_THERE;
    if (partition->told_owner == next)
        return;
    partition->told_owner = next;
    elapse__runner_expect(partition->runner, next);
}

/* Begins the move that the balancer wants. A partition that is not served yet has no command to
 * answer, so it is handed over at once. If it then is served after all, the runner fences it. */
static void look_for_move(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    if (!partition->is_to_move || partition->moving != ELAPSE__CLUSTER_STAYS ||
        partition->cluster->cores_close || now_ms < partition->rests_until_ms)
        return;
    if (partition->core != NULL && !partition->core->is_broken) {
        begin(partition);
    } else if (partition->core == NULL && atomic_load(&partition->is_beginning)) {
        partition->rests_until_ms = now_ms + partition->cluster->queue.lease_ms;
        elapse__runner_move(partition->runner);
    }
}

void elapse__cluster_moves_look(struct elapse__cluster *cluster)
{
    const uint64_t now_ms = elapse__runner_now_ms();

    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        struct elapse__cluster_partition *partition = &cluster->partitions[i];
        if (partition->runner == NULL)
            continue;
        expect(partition, now_ms);
        look_for_move(partition, now_ms);
    }
}

bool elapse__cluster_moves_turn(struct elapse__cluster *cluster)
{
    bool any = false;

    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        struct elapse__cluster_partition *partition = &cluster->partitions[i];
        if (partition->moving == ELAPSE__CLUSTER_STAYS)
            continue;
        if (!cluster->cores_close)
            go_on(partition);
        any = any || partition->moving != ELAPSE__CLUSTER_STAYS;
    }
    return any;
}
