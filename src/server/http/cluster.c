/*
 * Writes the state of a cluster as JSON and as metrics.
 */
#include "cluster.h"

#include <inttypes.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/node_json.h"

#include "metric_text.h"

/* Returns how many groups of the log this node lacks. */
static uint64_t lag(const struct elapse__loop_partition *partition)
{
    return partition->last_group > partition->local_group
               ? partition->last_group - partition->local_group
               : 0;
}

/* Returns whether this node could take the partition over at once. */
static bool is_ready_replica(const struct elapse__loop_partition *partition)
{
    enum { READY_GROUPS = 64 }; /* a node reads so many groups in a moment */

    return partition->follows && !partition->is_stopped && lag(partition) <= READY_GROUPS;
}

/* ---- JSON ---- */

static void write_node(struct elapse__json *json, const struct elapse__loop_node *node,
                       uint32_t partitions)
{
    ELAPSE__ASSERT_THAT(partitions, <=, ELAPSE__LOOP_PARTITIONS_MAX);
    const struct elapse__node_json shown = {
        node->name,   node->address,  node->version, node->zone,  node->lives, node->drains,
        node->age_ms, node->ahead_ms, node->owns,    node->ready, partitions,
    };
    elapse__node_json_write(json, &shown);
}

/* Writes the nodes of the queue; null: they are not known. */
static void write_nodes(struct elapse__json *json, const struct elapse__loop_cluster *cluster)
{
    struct elapse__loop_node node;
    uint32_t count = 0;
    bool is_paused = false;

    bool are_known = cluster->nodes(cluster->context, &count, &is_paused);
    elapse__json_boolean_member(json, "moves_paused", is_paused);
    elapse__json_name(json, "nodes");
    if (!are_known) {
        elapse__json_null(json);
        return;
    }
    elapse__json_open(json, '[');
    for (uint32_t i = 0; i < count && cluster->node_at(cluster->context, i, &node); i++)
        write_node(json, &node, cluster->partitions);
    elapse__json_close(json, ']');
}

static void write_partition(struct elapse__json *json,
                            const struct elapse__loop_partition *partition)
{
    ELAPSE__ASSERT(partition->is_owned || !partition->may_answer);
    elapse__json_open(json, '{');
    elapse__json_unsigned_member(json, "partition", partition->number);
    elapse__json_text_member(json, "role", partition->role);
    elapse__json_boolean_member(json, "owned", partition->is_owned);
    elapse__json_boolean_member(json, "answering", partition->may_answer);
    elapse__json_text_member(json, "owner", partition->owner);
    elapse__json_text_member(json, "address", partition->address);
    elapse__json_unsigned_member(json, "epoch", partition->epoch);
    elapse__json_unsigned_member(json, "last_group", partition->last_group);
    elapse__json_unsigned_member(json, "lag", lag(partition));
    elapse__json_unsigned_member(json, "tail", partition->tail);
    elapse__json_text_member(json, "preferred", partition->preferred);
    elapse__json_text_member(json, "target", partition->target);
    elapse__json_text_member(json, "complaint", partition->complaint);
    elapse__json_text_member(json, "clock", partition->clock);
    elapse__json_close(json, '}');
}

void elapse__http_write_cluster(struct elapse__json *json,
                                const struct elapse__loop_cluster *cluster)
{
    struct elapse__loop_partition partition;

    ELAPSE__ASSERT_THAT(cluster->partitions, >, 0);
    elapse__json_open(json, '{');
    elapse__json_text_member(json, "queue", cluster->queue);
    elapse__json_text_member(json, "node", cluster->node);
    elapse__json_name(json, "partitions");
    elapse__json_open(json, '[');
    for (uint32_t i = 0; i < cluster->partitions; i++) {
        cluster->partition(cluster->context, i, &partition);
        ELAPSE__ASSERT_THAT(partition.number, ==, i);
        write_partition(json, &partition);
    }
    elapse__json_close(json, ']');
    write_nodes(json, cluster);
    elapse__json_close(json, '}');
}

/* ---- metrics ---- */

/* A metric that has a value for each partition, and a function that reads the value. */
struct gauge {
    const char *name;
    const char *help;
    uint64_t (*value)(const struct elapse__loop_partition *partition);
};

static uint64_t left_files(const struct elapse__loop_partition *partition)
{
    return partition->left_files;
}

static uint64_t is_owned(const struct elapse__loop_partition *partition)
{
    return partition->is_owned;
}

static uint64_t is_answering(const struct elapse__loop_partition *partition)
{
    return partition->may_answer;
}

static uint64_t has_no_owner(const struct elapse__loop_partition *partition)
{
    return partition->owner[0] == '\0';
}

static uint64_t has_complaint(const struct elapse__loop_partition *partition)
{
    return partition->complaint[0] != '\0';
}

static uint64_t clock_off_ms(const struct elapse__loop_partition *partition)
{
    return partition->clock_off_ms;
}

static uint64_t is_ready(const struct elapse__loop_partition *partition)
{
    return is_ready_replica(partition);
}

static uint64_t unconfirmed_ms(const struct elapse__loop_partition *partition)
{
    ELAPSE__ASSERT(partition->is_owned || partition->unconfirmed_ms == 0);
    return partition->unconfirmed_ms;
}

static uint64_t is_stopped(const struct elapse__loop_partition *partition)
{
    return partition->is_stopped;
}

static uint64_t epoch(const struct elapse__loop_partition *partition)
{
    return partition->epoch;
}

static uint64_t last_group(const struct elapse__loop_partition *partition)
{
    return partition->last_group;
}

static uint64_t log_groups(const struct elapse__loop_partition *partition)
{
    return partition->last_group + 1 -
           (partition->tail <= partition->last_group ? partition->tail : partition->last_group);
}

static const struct gauge gauges[] = {
    {"partition_owned", "1 if this node owns the partition.", is_owned},
    {"partition_answering", "1 if its lease allows this node to answer for it.", is_answering},
    {"partition_without_owner", "1 if nobody owns it, as far as this node knows.", has_no_owner},
    {"partition_complaint", "1 while the database does not do what it should.", has_complaint},
    {"partition_clock_off_ms",
     "Milliseconds by which this node's wall clock and the database's differ.", clock_off_ms},
    {"partition_replica_ready",
     "1 if this node follows the partition, and lacks so few groups that it could take over at "
     "once.",
     is_ready},
    {"partition_unconfirmed_ms",
     "Milliseconds since the owner sent the last write that the database has confirmed; 0 at other "
     "nodes.",
     unconfirmed_ms},
    {"partition_left_files",
     "Files of a copy that this node has left: 0 none, 1 as they were, 2 set aside.", left_files},
    {"partition_stopped", "1 if the node goes on without it, until it is started again.",
     is_stopped},
    {"partition_epoch", "How many owners it has had.", epoch},
    {"partition_last_group", "The last group of its log.", last_group},
    {"partition_lag_groups", "Groups of its log, as seen last, that this node has not got.", lag},
    {"partition_log_groups", "Groups of its log that are kept.", log_groups},
};

static void write_gauge(struct elapse__json *out, const struct elapse__loop_cluster *cluster,
                        const struct gauge *gauge)
{
    struct elapse__loop_partition partition;

    elapse__metric_begin(out, gauge->name, "gauge", gauge->help);
    for (uint32_t i = 0; i < cluster->partitions; i++) {
        cluster->partition(cluster->context, i, &partition);
        ELAPSE__ASSERT_THAT(partition.number, ==, i);
        elapse__metric_add(out, "elapse_%s{partition=\"%" PRIu32 "\"} %" PRIu64 "\n", gauge->name,
                           i, gauge->value(&partition));
    }
}

static void write_roles(struct elapse__json *out, const struct elapse__loop_cluster *cluster)
{
    struct elapse__loop_partition partition;

    elapse__metric_begin(out, "partition_role", "gauge",
                         "The role of this node in the partition, as a label.");
    for (uint32_t i = 0; i < cluster->partitions; i++) {
        cluster->partition(cluster->context, i, &partition);
        ELAPSE__ASSERT(strpbrk(partition.role, "\"\\\n") == NULL);
        elapse__metric_add(out, "elapse_partition_role{partition=\"%" PRIu32 "\",role=\"%s\"} 1\n",
                           i, partition.role);
    }
}

static void write_router(struct elapse__json *out, const struct elapse__loop_cluster *cluster)
{
    struct elapse__loop_router router;

    cluster->router(cluster->context, &router);
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } figures[] = {
        {"router_clients", "gauge", "Clients of the node.", router.clients},
        {"router_waiting", "gauge", "Clients that wait for a job.", router.waiting},
        {"router_clients_total", "counter", "Clients since the start.", router.total_clients},
        {"router_commands_total", "counter", "Commands of clients.", router.commands},
        {"router_sent_total", "counter", "Commands that went to partitions.", router.sent},
        {"router_sent_again_total", "counter", "Commands that went to partitions again.",
         router.sent_again},
        {"router_unknown_total", "counter", "Commands that were answered UNKNOWN.", router.unknown},
        {"router_try_again_total", "counter", "Commands that were answered TRYAGAIN.",
         router.try_again},
        {"router_links_lost_total", "counter", "Links to partitions that were lost.",
         router.links_lost},
    };

    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        elapse__metric_begin(out, figures[i].name, figures[i].type, figures[i].help);
        elapse__metric_add(out, "elapse_%s %" PRIu64 "\n", figures[i].name, figures[i].value);
    }
}

void elapse__http_write_cluster_metrics(struct elapse__json *out,
                                        const struct elapse__loop_cluster *cluster)
{
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++)
        write_gauge(out, cluster, &gauges[i]);
    write_roles(out, cluster);
    write_router(out, cluster);
}
