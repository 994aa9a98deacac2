/*
 * Writes the state of a cluster, for people and as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/node_json.h"
#include "../../cluster/ownership/replicas.h"
#include "../common/duration.h"
#include "../common/text.h"
#include "cluster.h"

#define NS_PER_MS UINT64_C(1000000)

enum { WARNINGS_MAX = 3 };

/* ---- warnings ---- */

struct warnings {
    const char *texts[WARNINGS_MAX];
    size_t count;
    char clock[ELAPSE__NODE_ADDRESS_BYTES + 96];
    char rights[384];
};

/* Writes the names of the tables that the role may not read, with a comma and a blank between. */
static void name_unread(const struct elapse__status *status, char *text, size_t room)
{
    size_t length = 0;

    text[0] = '\0';
    for (enum elapse__status_table i = 0; i < ELAPSE__STATUS_TABLES; i++)
        if (status->lacks_select[i])
            length += (size_t)snprintf(text + length, room - length, "%s%s",
                                       length == 0 ? "" : ", ", elapse__status_table(i));
    ELAPSE__ASSERT_THAT(length, <, room);
}

static void find_missing_rights(const struct elapse__status *status, struct warnings *warnings)
{
    char tables[ELAPSE__STATUS_TABLES * 16];

    name_unread(status, tables, sizeof tables);
    if (tables[0] == '\0')
        return;
    (void)snprintf(warnings->rights, sizeof warnings->rights,
                   "the role %s lacks the right SELECT on %s: what these tables say is not shown; "
                   "their owner gives it: grant select on %s to the role",
                   status->role, tables, tables);
    warnings->texts[warnings->count++] = warnings->rights;
}

/* Returns whether commits wait for a standby. A standby counts as one if this user may not see its
 * kind (its `sync` is empty). */
static bool has_synchronous(const struct elapse__status *status)
{
    for (size_t i = 0; i < status->standby_count; i++) {
        const char *sync = status->standbys[i].sync;
        if (sync[0] == '\0' || strcmp(sync, "sync") == 0 || strcmp(sync, "quorum") == 0)
            return true;
    }
    return false;
}

static void find_warnings(const struct elapse__status *status, struct warnings *warnings)
{
    warnings->count = 0;
    if (status->names[0] == '\0')
        warnings->texts[warnings->count++] = "synchronous_standby_names is empty: no commit waits "
                                             "for a standby, and no node answers "
                                             "unless it has --single-copy";
    else if (!has_synchronous(status))
        warnings->texts[warnings->count++] =
            "no synchronous standby is connected: each commit waits for one";
    if (status->clock_node[0] != '\0') {
        (void)snprintf(warnings->clock, sizeof warnings->clock,
                       "the wall clock of the node at %s is %" PRId64 " ms %s the database's",
                       status->clock_node,
                       status->clock_ahead_ms < 0 ? -status->clock_ahead_ms
                                                  : status->clock_ahead_ms,
                       status->clock_ahead_ms < 0 ? "behind" : "ahead of");
        warnings->texts[warnings->count++] = warnings->clock;
    }
    find_missing_rights(status, warnings);
    ELAPSE__ASSERT_THAT(warnings->count, <=, (size_t)WARNINGS_MAX);
}

static bool has_tags(const struct elapse__status *status)
{
    return status->queue.hash_tags == ELAPSE__SCHEMA_TAGS_ON;
}

/* ---- for people ---- */

/* Adds a text of unknown origin, made harmless for a terminal. */
static void add_word(struct elapse__buffer *text, const char *word)
{
    const char *shown = word[0] == '\0' ? "-" : word;

    buffer_add_masked(text, shown, strlen(shown));
}

/* Adds at least one blank, up to a column of the line that begins at `line`. */
static void pad(struct elapse__buffer *text, size_t line, size_t column)
{
    ELAPSE__ASSERT_THAT(line, <=, elapse__buffer_size(text));
    do
        buffer_add_text(text, " ");
    while (elapse__buffer_size(text) - line < column);
}

static void add_partition(struct elapse__buffer *text, uint32_t number,
                          const struct elapse__status_partition *partition,
                          const struct cluster_watched *watched)
{
    enum { EPOCH = 11, GROUP = 19, TAIL = 32, SEEN = 45, ADDRESS = 58, OWNER = 82 };
    size_t line = elapse__buffer_size(text);
    uint64_t unchanged_ns = watched->unchanged_ns / NS_PER_MS * NS_PER_MS;

    ELAPSE__ASSERT_THAT(partition->tail, <=, partition->last_group + 1);
    buffer_add_format(text, "%" PRIu32, number);
    pad(text, line, EPOCH);
    buffer_add_format(text, "%" PRIu64, partition->epoch);
    pad(text, line, GROUP);
    buffer_add_format(text, "%" PRIu64, partition->last_group);
    pad(text, line, TAIL);
    buffer_add_format(text, "%" PRIu64, partition->tail);
    pad(text, line, SEEN);
    if (partition->owner[0] == '\0')
        buffer_add_text(text, "no owner");
    else
        buffer_add_format(text, "%s%s", watched->has_changed ? "" : "> ",
                          duration_format(unchanged_ns).text);
    pad(text, line, ADDRESS);
    add_word(text, partition->address);
    pad(text, line, OWNER);
    add_word(text, partition->owner);
    buffer_add_text(text, "\n");
}

static void add_words(struct elapse__buffer *text, uint32_t number, const char *what,
                      const char *words)
{
    if (words[0] == '\0')
        return;
    buffer_add_format(text, "\npartition %" PRIu32 " %s: ", number, what);
    add_word(text, words);
    buffer_add_text(text, "\n");
}

/* Adds lines about groups that the database lost of a partition. The columns of the table do not
 * show this. */
static void add_loss(struct elapse__buffer *text, uint32_t number,
                     const struct elapse__status_partition *partition)
{
    add_words(text, number, "is stopped, because groups are lost", partition->stopped);
    add_words(text, number, "went on without groups that are lost", partition->missed);
}

static void add_standby(struct elapse__buffer *text, const struct elapse__status_standby *standby)
{
    buffer_add_text(text, "standby ");
    add_word(text, standby->name);
    if (standby->address[0] != '\0') {
        buffer_add_text(text, " at ");
        add_word(text, standby->address);
    }
    if (standby->sync[0] == '\0') {
        buffer_add_text(text, ": its state is for roles that have pg_monitor\n");
        return;
    }
    buffer_add_format(text, ": %s, %s", standby->sync, standby->state);
    if (standby->behind >= 0)
        buffer_add_format(text, ", %s bytes behind",
                          group_digits((unsigned long long)standby->behind).text);
    buffer_add_text(text, "\n");
}

static void add_node(struct elapse__buffer *text, const struct elapse__status *status, size_t index)
{
    enum { VERSION = 25, OWNS = 35, READY = 42, SEEN = 50, CLOCK = 63, ADDRESS = 76 };
    const struct elapse__balance_node *node = &status->view.nodes[index];
    size_t line = elapse__buffer_size(text);
    uint32_t ready = 0;

    for (uint32_t i = 0; i < status->view.partition_count; i++)
        ready += node->ready[i];
    add_word(text, node->name);
    pad(text, line, VERSION);
    add_word(text, node->version);
    pad(text, line, OWNS);
    buffer_add_format(text, "%" PRIu32, node->owns);
    pad(text, line, READY);
    buffer_add_format(text, "%" PRIu32, ready);
    pad(text, line, SEEN);
    buffer_add_format(text, "%s%s", node->lives ? "" : "> ",
                      duration_format(node->age_ms * NS_PER_MS).text);
    pad(text, line, CLOCK);
    buffer_add_format(text, "%" PRId64 " ms", node->ahead_ms);
    pad(text, line, ADDRESS);
    add_word(text, node->address);
    if (node->zone[0] != '\0') {
        buffer_add_text(text, "  zone ");
        add_word(text, node->zone);
    }
    buffer_add_text(text, node->drains ? "  drains\n" : "\n");
}

/* Adds where operators want partitions, and which partition moves. */
static void add_places(struct elapse__buffer *text, const struct elapse__balance_view *view)
{
    for (uint32_t i = 0; i < view->partition_count; i++) {
        const struct elapse__balance_partition *row = &view->partitions[i];
        if (row->is_preferred) {
            buffer_add_format(text, "partition %" PRIu32 " belongs to node ", i);
            add_word(text, row->preferred < 0 ? "" : view->nodes[row->preferred].name);
            buffer_add_text(text, "\n");
        }
        if (row->target >= 0) {
            buffer_add_format(text, "partition %" PRIu32 " moves to node ", i);
            add_word(text, view->nodes[row->target].name);
            buffer_add_text(text, "\n");
        }
    }
}

/* Adds the copies of a partition: the owner, those in the list, and others that have one. */
static void add_copies(struct elapse__buffer *text, const struct elapse__balance_view *view,
                       uint32_t partition)
{
    enum { COPIES = 11 };
    const struct elapse__balance_partition *row = &view->partitions[partition];
    size_t line = elapse__buffer_size(text);
    const char *before = "";

    buffer_add_format(text, "%" PRIu32, partition);
    pad(text, line, COPIES);
    for (int i = 0; i < 2 * (int)view->node_count; i++) { /* the owner first */
        int node = i % (int)view->node_count;
        enum elapse__replicas_copy copy = elapse__replicas_copy(view, partition, node);
        if (copy == ELAPSE__REPLICAS_NONE ||
            (copy == ELAPSE__REPLICAS_OWNER) != (i < (int)view->node_count))
            continue;
        buffer_add_text(text, before);
        add_word(text, view->nodes[node].name);
        buffer_add_format(text, " %s", elapse__replicas_copy_word(copy));
        before = ", ";
    }
    for (uint32_t i = 0; i < row->replica_count; i++) {
        if (row->replicas[i] >= 0)
            continue;
        buffer_add_format(text, "%sa node that was removed", before);
        before = ", ";
    }
    if (before[0] == '\0')
        buffer_add_text(text, "-");
    buffer_add_text(text, row->replica_count == 0 ? "; all nodes follow\n" : "\n");
}

static void add_nodes(struct elapse__buffer *text, const struct elapse__status *status)
{
    if (!status->has_nodes)
        return;
    buffer_add_text(text,
                    "\nNODE                     VERSION   OWNS   READY   LAST BEAT    CLOCK   "
                    "     ADDRESS\n");
    for (size_t i = 0; i < status->view.node_count; i++)
        add_node(text, status, i);
    buffer_add_text(text, "\nPARTITION  COPIES\n");
    for (uint32_t i = 0; i < status->view.partition_count; i++)
        add_copies(text, &status->view, i);
    add_places(text, &status->view);
    if (status->view.is_paused)
        buffer_add_text(text, "planned moves are paused\n");
}

void cluster_add_text(struct elapse__buffer *text, const char *queue,
                      const struct elapse__status *status, const struct cluster_watched *watched)
{
    struct warnings warnings;

    find_warnings(status, &warnings);
    buffer_add_format(text, "queue %s: %" PRIu32 " partition%s, lease %s, hash tags %s\n", queue,
                      status->queue.partitions, status->queue.partitions == 1 ? "" : "s",
                      duration_format(status->queue.lease_ms * NS_PER_MS).text,
                      has_tags(status) ? "on" : "off");
    buffer_add_text(text, "database at ");
    add_word(text, status->server);
    buffer_add_format(text,
                      ", timeline %" PRIu32 "\nsynchronous_standby_names: ", status->timeline);
    add_word(text, status->names);
    buffer_add_text(text, "\n");
    for (size_t i = 0; i < status->standby_count; i++)
        add_standby(text, &status->standbys[i]);
    for (size_t i = 0; i < warnings.count; i++) {
        buffer_add_text(text, "warning: ");
        add_word(text, warnings.texts[i]);
        buffer_add_text(text, "\n");
    }
    buffer_add_text(text,
                    "\nPARTITION  EPOCH   LAST GROUP   TAIL         LAST BEAT    ADDRESS      "
                    "           OWNER\n");
    for (uint32_t partition = 0; partition < status->queue.partitions; partition++)
        add_partition(text, partition, &status->partitions[partition], &watched[partition]);
    for (uint32_t partition = 0; partition < status->queue.partitions; partition++)
        add_loss(text, partition, &status->partitions[partition]);
    add_nodes(text, status);
}

/* ---- as JSON ---- */

/* Adds the name of a member and the beginning of its array. */
static void open_array(struct elapse__json *json, const char *name)
{
    elapse__json_name(json, name);
    elapse__json_open(json, '[');
}

/* Adds the name of a node, or "". */
static void add_json_node_name(struct elapse__json *json, const char *member,
                               const struct elapse__balance_view *view, int node)
{
    elapse__json_any_text_member(json, member, node < 0 ? "" : view->nodes[node].name);
}

static void add_json_place(struct elapse__json *json, const struct elapse__status *status,
                           uint32_t number)
{
    const struct elapse__balance_view *view = &status->view;
    bool is_known = number < view->partition_count;

    add_json_node_name(json, "preferred", view, is_known ? view->partitions[number].preferred : -1);
    add_json_node_name(json, "target", view, is_known ? view->partitions[number].target : -1);
}

/* Adds the list of a partition. An element is null if its node was removed. */
static void add_json_list(struct elapse__json *json, const struct elapse__balance_view *view,
                          uint32_t partition)
{
    const struct elapse__balance_partition *row = &view->partitions[partition];

    elapse__json_open(json, '[');
    for (uint32_t i = 0; i < row->replica_count; i++)
        if (row->replicas[i] < 0)
            elapse__json_null(json);
        else
            elapse__json_text(json, view->nodes[row->replicas[i]].name);
    elapse__json_close(json, ']');
}

/* Adds the list of a partition, and what the nodes are to the partition. Both are null if the
 * database does not tell it. */
static void add_json_copies(struct elapse__json *json, const struct elapse__balance_view *view,
                            uint32_t partition)
{
    elapse__json_name(json, "replicas");
    if (partition >= view->partition_count) {
        elapse__json_null(json);
        elapse__json_name(json, "copies");
        elapse__json_null(json);
        return;
    }
    add_json_list(json, view, partition);
    open_array(json, "copies");
    for (int i = 0; i < (int)view->node_count; i++) {
        enum elapse__replicas_copy copy = elapse__replicas_copy(view, partition, i);
        if (copy == ELAPSE__REPLICAS_NONE)
            continue;
        elapse__json_open(json, '{');
        elapse__json_any_text_member(json, "node", view->nodes[i].name);
        elapse__json_text_member(json, "state", elapse__replicas_copy_word(copy));
        elapse__json_close(json, '}');
    }
    elapse__json_close(json, ']');
}

static void add_json_node(struct elapse__json *json, const struct elapse__balance_view *view,
                          const struct elapse__balance_node *node)
{
    const struct elapse__node_json shown = {
        node->name,  node->address, node->version,         node->zone,
        node->lives, node->drains,  node->age_ms,          node->ahead_ms,
        node->owns,  node->ready,   view->partition_count,
    };
    elapse__node_json_write(json, &shown);
}

static void add_json_partition(struct elapse__json *json, const struct elapse__status *status,
                               uint32_t number, const struct cluster_watched *watched)
{
    const struct elapse__status_partition *partition = &status->partitions[number];

    elapse__json_open(json, '{');
    elapse__json_unsigned_member(json, "partition", number);
    elapse__json_boolean_member(json, "alive", cluster_watch_lives(watched, partition));
    elapse__json_any_text_member(json, "owner", partition->owner);
    elapse__json_any_text_member(json, "address", partition->address);
    elapse__json_any_text_member(json, "stopped", partition->stopped);
    elapse__json_any_text_member(json, "missed", partition->missed);
    elapse__json_unsigned_member(json, "epoch", partition->epoch);
    elapse__json_unsigned_member(json, "last_group", partition->last_group);
    elapse__json_unsigned_member(json, "tail", partition->tail);
    elapse__json_unsigned_member(json, "unchanged_ms", watched->unchanged_ns / NS_PER_MS);
    add_json_place(json, status, number);
    add_json_copies(json, &status->view, number);
    elapse__json_close(json, '}');
}

static void add_json_standby(struct elapse__json *json,
                             const struct elapse__status_standby *standby)
{
    elapse__json_open(json, '{');
    elapse__json_any_text_member(json, "name", standby->name);
    elapse__json_any_text_member(json, "address", standby->address);
    elapse__json_any_text_member(json, "state", standby->state);
    elapse__json_any_text_member(json, "sync", standby->sync);
    elapse__json_name(json, "behind_bytes");
    if (standby->behind < 0)
        elapse__json_null(json);
    else
        elapse__json_signed(json, standby->behind);
    elapse__json_close(json, '}');
}

void cluster_add_json(struct elapse__json *json, const char *queue,
                      const struct elapse__status *status, const struct cluster_watched *watched)
{
    struct warnings warnings;

    find_warnings(status, &warnings);
    elapse__json_open(json, '{');
    elapse__json_any_text_member(json, "queue", queue);
    elapse__json_unsigned_member(json, "lease_ms", status->queue.lease_ms);
    elapse__json_boolean_member(json, "hash_tags", has_tags(status));
    elapse__json_unsigned_member(json, "timeline", status->timeline);
    elapse__json_any_text_member(json, "server", status->server);
    elapse__json_any_text_member(json, "synchronous_standby_names", status->names);
    open_array(json, "partitions");
    for (uint32_t partition = 0; partition < status->queue.partitions; partition++)
        add_json_partition(json, status, partition, &watched[partition]);
    elapse__json_close(json, ']');
    open_array(json, "standbys");
    for (size_t i = 0; i < status->standby_count; i++)
        add_json_standby(json, &status->standbys[i]);
    elapse__json_close(json, ']');
    open_array(json, "nodes");
    for (size_t i = 0; i < status->view.node_count; i++)
        add_json_node(json, &status->view, &status->view.nodes[i]);
    elapse__json_close(json, ']');
    elapse__json_boolean_member(json, "moves_paused", status->view.is_paused);
    open_array(json, "lacks_select");
    for (enum elapse__status_table i = 0; i < ELAPSE__STATUS_TABLES; i++)
        if (status->lacks_select[i])
            elapse__json_text(json, elapse__status_table(i));
    elapse__json_close(json, ']');
    open_array(json, "warnings");
    for (size_t i = 0; i < warnings.count; i++)
        elapse__json_text(json, warnings.texts[i]);
    elapse__json_close(json, ']');
    elapse__json_close(json, '}');
}
