/*
 * Has words for the states of a partition, and fills the figures of src/server/loop/cluster.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "base.h"

/* ---- words ---- */

const char *elapse__cluster_role(enum elapse__partition_role role)
{
    static const char *const words[ELAPSE__ROLES] = {
        [ELAPSE__ROLE_STARTING] = "starting",       [ELAPSE__ROLE_FOLLOWING] = "following",
        [ELAPSE__ROLE_TAKING_OVER] = "taking over", [ELAPSE__ROLE_CATCHING_UP] = "catching up",
        [ELAPSE__ROLE_OWNING] = "owning",           [ELAPSE__ROLE_UNKNOWN] = "unknown",
        [ELAPSE__ROLE_FENCED] = "fenced",           [ELAPSE__ROLE_HANDING_OVER] = "handing over",
        [ELAPSE__ROLE_MARKING] = "marking",         [ELAPSE__ROLE_ENDED] = "ended",
        [ELAPSE__ROLE_STOPPED] = "stopped",
    };

    ELAPSE__ASSERT_THAT(role, <, ELAPSE__ROLES);
    return words[role];
}

/* In these texts "it" means the database. */
const char *elapse__cluster_complaint(enum elapse__complaint complaint)
{
    switch (complaint) {
    case ELAPSE__COMPLAINT_NONE:
        return "";
    case ELAPSE__COMPLAINT_POOLER:
        return ELAPSE__WHY_POOLER;
    case ELAPSE__COMPLAINT_LATE:
        return "it does not answer in time";
    case ELAPSE__COMPLAINT_ERROR:
        return "it answers with an error";
    case ELAPSE__COMPLAINT_NOTICE:
        return "it answers with a notice";
    case ELAPSE__COMPLAINT_LOCKED:
        return "another session blocks the row of the partition";
    case ELAPSE__COMPLAINT_INBOX:
        return "it has lost rows of the inbox that were read before";
    case ELAPSE__COMPLAINT_NO_STANDBY:
        return "synchronous_standby_names is empty: nothing is acknowledged without --single-copy";
    case ELAPSE__COMPLAINT_COMMIT_IS_WEAK:
        return "synchronous_commit does not wait for the disk of a standby";
    case ELAPSE__COMPLAINT_RELOADED:
        return "its settings were loaded again meanwhile";
    case ELAPSE__COMPLAINT_IN_RECOVERY:
        return "it is a standby";
    case ELAPSE__COMPLAINT_OLD_TIMELINE:
        return "it is a primary of the past";
    case ELAPSE__COMPLAINT_OTHER_SYSTEM:
        return "it is another system than the one before";
    default:
        return "the connection is lost, or cannot be made";
    }
}

const char *elapse__cluster_clock(enum elapse__clock_verdict verdict)
{
    switch (verdict) {
    case ELAPSE__CLOCK_RIGHT:
        break;
    case ELAPSE__CLOCK_OFF:
        return "this node's wall clock differs from the database's: watch NTP on both";
    case ELAPSE__CLOCK_APART:
        return "this node's wall clock differs from the database's by more than 5 s: the node "
               "takes "
               "nothing over until the other nodes have said what they see";
    case ELAPSE__CLOCK_WRONG:
        return "this node's wall clock is wrong by more than 5 s: the node owns nothing until it "
               "is "
               "right";
    case ELAPSE__CLOCK_DATABASE:
        return "the database's clock is wrong by more than 5 s, because no node that lives agrees "
               "with it: the nodes go on";
    }
    return "";
}

const char *elapse__cluster_stop(enum elapse__partition_stop stop)
{
    ELAPSE__ASSERT_THAT(stop, !=, ELAPSE__STOP_NONE);
    switch (stop) {
    case ELAPSE__STOP_NONE:
        break;
    case ELAPSE__STOP_NO_ROW:
        return "the database has no such partition";
    case ELAPSE__STOP_LEASE:
        return "the database has another lease than when this node began";
    case ELAPSE__STOP_LOST_GROUPS:
        return "the database lacks groups that were acknowledged: the wrong standby was promoted, "
               "or an old copy restored";
    case ELAPSE__STOP_MARKED:
        return "a node has found that the database lacks groups that were acknowledged; "
               "elapse cluster status shows it, and append-lost or accept-loss ends it";
    case ELAPSE__STOP_BROKEN_LOG:
        return "the log in the database contradicts itself, or lacks groups that its row has";
    case ELAPSE__STOP_REFUSED:
        return "a table, a function or a right is missing in the database";
    }
    return "for no reason";
}

/* ---- figures ---- */

static bool may_answer(const struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->core == NULL || partition->runner != NULL);
    return partition->core != NULL &&
           elapse__runner_now_ms() < elapse__runner_answer_until_ms(partition->runner);
}

bool elapse__cluster_could_take_over(const struct elapse__cluster_partition *partition,
                                     const struct elapse__partition_figures *seen)
{
    return seen->role == ELAPSE__ROLE_FOLLOWING && elapse__clock_permits(seen->clock) &&
           elapse__runner_now_ms() >= atomic_load(&partition->no_room_until_ms);
}

void elapse__cluster_note_confirmed(struct elapse__cluster_partition *partition)
{
    uint32_t lease_ms = partition->cluster->queue.lease_ms;
    uint32_t answer_for_ms = lease_ms - lease_ms / 10; /* R3 of ../ownership/partition.h */
    uint64_t until_ms =
        partition->core == NULL ? 0 : elapse__runner_answer_until_ms(partition->runner);

    if (partition->core == NULL) {
        partition->confirmed_ms = 0;
    } else if (until_ms > 0) {
        ELAPSE__ASSERT_THAT(until_ms, >=, answer_for_ms);
        partition->confirmed_ms = until_ms - answer_for_ms;
    } else if (partition->confirmed_ms == 0) {
        partition->confirmed_ms = elapse__runner_now_ms();
    }
}

/* Returns how long ago the last write was sent that the database has confirmed, or 0 if this node
 * does not serve the partition. */
static uint64_t unconfirmed_ms(struct elapse__cluster_partition *partition)
{
    elapse__cluster_note_confirmed(partition);
    if (partition->core == NULL)
        return 0;
    uint64_t now_ms = elapse__runner_now_ms();
    return now_ms > partition->confirmed_ms ? now_ms - partition->confirmed_ms : 0;
}

/* Copies the name of a node of the view. Stores "" for -1. */
static void copy_name(char name[ELAPSE__LOOP_NODE_BYTES], const struct elapse__balance_view *view,
                      int node)
{
    ELAPSE__ASSERT(node < (int)view->node_count);
    (void)snprintf(name, ELAPSE__LOOP_NODE_BYTES, "%s", node < 0 ? "" : view->nodes[node].name);
}

static void show_place(struct elapse__cluster *cluster, struct elapse__loop_partition *figures)
{
    const struct elapse__balance_view *view = &cluster->nodes.view;

    if (!cluster->nodes.errand.is_running)
        return;
    elapse__lock(&cluster->nodes.errand.monitor.lock);
    if (figures->number < view->partition_count) {
        copy_name(figures->preferred, view, view->partitions[figures->number].preferred);
        copy_name(figures->target, view, view->partitions[figures->number].target);
    }
    elapse__unlock(&cluster->nodes.errand.monitor.lock);
}

static void show_partition(void *context, uint32_t number, struct elapse__loop_partition *figures)
{
    struct elapse__cluster *cluster = context;
    ELAPSE__ASSERT_THAT(number, <, cluster->queue.partitions);
    struct elapse__cluster_partition *partition = &cluster->partitions[number];
    struct elapse__runner_figures seen = partition->figures;

    if (partition->runner != NULL)
        elapse__runner_figures(partition->runner, &seen);
    *figures = (struct elapse__loop_partition){
        .number = number,
        .role = elapse__cluster_role(seen.partition.role),
        .complaint = elapse__cluster_complaint(seen.partition.complaint),
        .clock = elapse__cluster_clock(seen.partition.clock),
        .clock_off_ms = (uint64_t)llabs(seen.partition.ahead_ms),
        .is_owned = partition->core != NULL,
        .may_answer = may_answer(partition),
        .follows = elapse__cluster_could_take_over(partition, &seen.partition),
        .unconfirmed_ms = unconfirmed_ms(partition),
        .epoch = seen.partition.epoch,
        .last_group = seen.partition.last_group,
        .local_group = seen.partition.local.group,
        .tail = seen.partition.tail,
        .left_files = partition->shown_files,
    };
    if (partition->copy == ELAPSE__CLUSTER_HAS_NO_COPY ||
        partition->copy == ELAPSE__CLUSTER_OPENS_COPY)
        figures->role = "watching";
    if (figures->last_group < figures->local_group)
        figures->last_group = figures->local_group;
    show_place(cluster, figures);
    if (partition->seen_out != NULL) {
        figures->is_stopped = true;
        figures->complaint = partition->seen_out;
        return; /* a node that does not follow the partition does not know its owner */
    }
    (void)snprintf(figures->owner, sizeof figures->owner, "%s", seen.partition.owner);
    (void)snprintf(figures->address, sizeof figures->address, "%s", seen.partition.address);
    (void)snprintf(figures->message, sizeof figures->message, "%s", seen.message);
}

static void show_router(void *context, struct elapse__loop_router *figures)
{
    const struct elapse__cluster *cluster = context;
    struct elapse__router_figures seen;

    elapse__router_figures(cluster->router, &seen);
    *figures = (struct elapse__loop_router){
        .clients = seen.clients,
        .waiting = seen.waiting,
        .total_clients = seen.total_clients,
        .commands = seen.commands,
        .sent = seen.fragments,
        .sent_again = seen.again,
        .unknown = seen.unknown,
        .try_again = seen.try_again,
        .links_lost = seen.links_lost,
        .wrong_passwords = cluster->guesses.total,
    };
}

static bool show_nodes(void *context, uint32_t *count, bool *is_paused)
{
    struct elapse__cluster *cluster = context;

    if (!cluster->nodes.errand.is_running)
        return false;
    elapse__lock(&cluster->nodes.errand.monitor.lock);
    *count = (uint32_t)cluster->nodes.view.node_count;
    *is_paused = cluster->nodes.view.is_paused;
    elapse__unlock(&cluster->nodes.errand.monitor.lock);
    return *count > 0;
}

/* Copies what a node has told of itself. Time has passed since the database told it. */
static void copy_node(const struct elapse__cluster_nodes *nodes, uint32_t number,
                      struct elapse__loop_node *shown)
{
    const struct elapse__balance_node *node = &nodes->view.nodes[number];
    const uint64_t now_ms = elapse__runner_now_ms();

    *shown = (struct elapse__loop_node){
        .lives = node->lives,
        .drains = node->drains,
        .age_ms = node->age_ms + (now_ms > nodes->seen_ms ? now_ms - nodes->seen_ms : 0),
        .ahead_ms = node->ahead_ms,
        .owns = node->owns,
    };
    (void)snprintf(shown->name, sizeof shown->name, "%s", node->name);
    (void)snprintf(shown->address, sizeof shown->address, "%s", node->address);
    (void)snprintf(shown->version, sizeof shown->version, "%s", node->version);
    (void)snprintf(shown->zone, sizeof shown->zone, "%s", node->zone);
    ELAPSE__ASSERT_THAT(nodes->view.partition_count, <=, ELAPSE__LOOP_PARTITIONS_MAX);
    memcpy(shown->ready, node->ready, nodes->view.partition_count * sizeof *node->ready);
}

static bool show_node(void *context, uint32_t number, struct elapse__loop_node *node)
{
    struct elapse__cluster *cluster = context;

    elapse__lock(&cluster->nodes.errand.monitor.lock);
    bool is_there = number < cluster->nodes.view.node_count;
    if (is_there)
        copy_node(&cluster->nodes, number, node);
    elapse__unlock(&cluster->nodes.errand.monitor.lock);
    return is_there;
}

static bool with_core(void *context, uint32_t number,
                      void (*call)(struct elapse__loop *loop, void *argument), void *argument)
{
    const struct elapse__cluster *cluster = context;
    ELAPSE__ASSERT_THAT(number, <, cluster->queue.partitions);
    struct elapse__loop *core = cluster->partitions[number].core;

    if (core == NULL)
        return false;
    elapse__loop_with_core(core, call, argument);
    return true;
}

static uint64_t wrong_password(void *context, uint64_t place)
{
    struct elapse__cluster *cluster = context;

    return elapse__guesses_note(&cluster->guesses, place, elapse__runner_now_ms());
}

void elapse__cluster_show(struct elapse__cluster *cluster)
{
    ELAPSE__ASSERT_THAT(cluster->partition_count, ==, cluster->queue.partitions);
    cluster->shown = (struct elapse__loop_cluster){
        .context = cluster,
        .queue = elapse__cluster_options(cluster)->queue,
        .node = cluster->name,
        .partitions = cluster->queue.partitions,
        .partition = show_partition,
        .router = show_router,
        .nodes = show_nodes,
        .node_at = show_node,
        .with_core = with_core,
        .wrong_password = wrong_password,
    };
    cluster->service.loop.cluster = &cluster->shown;
}
