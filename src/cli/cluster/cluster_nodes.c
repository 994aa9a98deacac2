/*
 * elapse cluster move, drain, undrain, may-stop, remove, pause and resume: says where partitions
 * should be, and asks whether a node may stop. The nodes do the moves.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/decimal.h"
#include "../../cluster/ownership/balance.h"
#include "../../cluster/postgres/nodes.h"
#include "../common/output.h"
#include "../common/text.h"
#include "cluster.h"

/* The work of one command. */
struct change {
    const struct cluster_options *options;
    struct elapse__nodes_session *session;
    struct elapse__balance_view view;
    struct elapse__schema_why why;
};

static enum exit_status begin(struct change *change, const struct cluster_options *options)
{
    bool has_tables = false;

    ELAPSE__ASSERT_THAT(options->host_count, >, 0U);
    *change = (struct change){.options = options};
    for (size_t i = 0;
         i < options->host_count && change->session == NULL && !change->why.is_connected; i++)
        change->session = elapse__nodes_open(options->hosts[i], options->queue, 0, &change->why);
    if (change->session == NULL ||
        !elapse__nodes_look(change->session, &change->view, &has_tables, &change->why))
        return cluster_refused(&change->why);
    if (!has_tables)
        return error_of(STATUS_FAILED, "the database has no table of nodes: elapse cluster upgrade "
                                       "makes it");
    return STATUS_OK;
}

static enum exit_status end(struct change *change, enum exit_status status)
{
    elapse__nodes_free(&change->view);
    elapse__nodes_close(change->session);
    return status;
}

/* Finds a node by its name or its address. */
static enum exit_status find_node(const struct change *change, const char *word, int *node)
{
    *node = elapse__balance_find(&change->view, word);
    for (int i = 0; *node < 0 && i < (int)change->view.node_count; i++)
        if (strcmp(change->view.nodes[i].address, word) == 0)
            *node = i;
    if (*node >= 0)
        return STATUS_OK;
    return error_of(STATUS_GONE, "queue %s has no node %s: elapse cluster status shows them",
                    change->options->queue, quote_string(word).text);
}

/* Says that the node has told nothing of itself for a while. */
static void warn_of_dead(const struct elapse__balance_node *node)
{
    if (!node->lives)
        print_error("warning: node %s does not live", quote_string(node->name).text);
}

/* ---- the commands ---- */

static enum exit_status move(struct change *change)
{
    const struct cluster_options *options = change->options;
    const char *word = options->words[0];
    uint64_t partition = 0;
    int node = -1;

    if (!elapse__decimal_read(word, strlen(word), change->view.partition_count - 1, &partition))
        return usage_error("partition %s: queue %s has %" PRIu32 ", which count from 0",
                           quote_string(word).text, options->queue, change->view.partition_count);
    enum exit_status status =
        options->word_count > 1 ? find_node(change, options->words[1], &node) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    const char *name = node < 0 ? "" : change->view.nodes[node].name;
    if (!elapse__nodes_prefer(change->session, (uint32_t)partition, name, &change->why))
        return cluster_refused(&change->why);
    if (node < 0) {
        output_add_format("partition %" PRIu64 " may be at any node\n", partition);
        return output_finish();
    }
    output_add_format("partition %" PRIu64 " belongs to node ", partition);
    output_add_masked(name);
    output_add_text(change->view.partitions[partition].owner == node
                        ? ", which owns it\n"
                        : ", and moves there when that node is ready\n");
    warn_of_dead(&change->view.nodes[node]);
    if (change->view.is_paused)
        print_error("warning: moves are paused: elapse cluster resume ends that");
    return output_finish();
}

static enum exit_status set_drain(struct change *change, bool drains)
{
    int node = -1;
    enum exit_status status = find_node(change, change->options->words[0], &node);

    if (status != STATUS_OK)
        return status;
    const struct elapse__balance_node *found = &change->view.nodes[node];
    if (!elapse__nodes_drain(change->session, found->name, drains, &change->why))
        return cluster_refused(&change->why);
    output_add_text("node ");
    output_add_masked(found->name);
    if (drains)
        output_add_format(" drains: %" PRIu32 " partition%s to move\n", found->owns,
                          found->owns == 1 ? "" : "s");
    else
        output_add_text(" owns partitions again\n");
    if (drains && change->view.is_paused)
        print_error("warning: moves are paused: elapse cluster resume ends that");
    return output_finish();
}

static enum exit_status drain(struct change *change)
{
    return set_drain(change, true);
}

static enum exit_status undrain(struct change *change)
{
    return set_drain(change, false);
}

static enum exit_status may_stop(struct change *change)
{
    uint32_t missing = 0;
    int node = -1;
    enum exit_status status = find_node(change, change->options->words[0], &node);

    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < change->view.partition_count; i++) {
        if (elapse__balance_has_other(&change->view, i, node))
            continue;
        missing++;
        output_add_format("partition %" PRIu32 ": no other node is ready\n", i);
    }
    if (missing == 0)
        output_add_text("it may stop: other nodes are ready for all partitions\n");
    status = output_finish();
    return status == STATUS_OK && missing > 0 ? STATUS_FAILED : status;
}

static enum exit_status remove_node(struct change *change)
{
    int node = -1;
    enum exit_status status = find_node(change, change->options->words[0], &node);

    if (status != STATUS_OK)
        return status;
    const struct elapse__balance_node *found = &change->view.nodes[node];
    if (found->lives)
        return error_of(STATUS_FAILED, "node %s lives: end it first",
                        quote_string(found->name).text);
    if (!elapse__nodes_remove(change->session, found->name, &change->why))
        return cluster_refused(&change->why);
    output_add_text("node ");
    output_add_masked(found->name);
    output_add_text(" is forgotten\n");
    return output_finish();
}

static enum exit_status set_pause(struct change *change, bool is_paused)
{
    if (!elapse__nodes_pause(change->session, is_paused, &change->why))
        return cluster_refused(&change->why);
    output_add_text(is_paused ? "planned moves are paused\n" : "planned moves go on\n");
    return output_finish();
}

static enum exit_status pause_moves(struct change *change)
{
    return set_pause(change, true);
}

static enum exit_status resume_moves(struct change *change)
{
    return set_pause(change, false);
}

/* ---- around them ---- */

static enum exit_status run(const struct cluster_options *options,
                            enum exit_status (*what)(struct change *change))
{
    struct change change;
    enum exit_status status = begin(&change, options);

    return end(&change, status == STATUS_OK ? what(&change) : status);
}

enum exit_status cluster_move(const struct cluster_options *options)
{
    return run(options, move);
}

enum exit_status cluster_drain(const struct cluster_options *options)
{
    return run(options, drain);
}

enum exit_status cluster_undrain(const struct cluster_options *options)
{
    return run(options, undrain);
}

enum exit_status cluster_may_stop(const struct cluster_options *options)
{
    return run(options, may_stop);
}

enum exit_status cluster_remove(const struct cluster_options *options)
{
    return run(options, remove_node);
}

enum exit_status cluster_pause(const struct cluster_options *options)
{
    return run(options, pause_moves);
}

enum exit_status cluster_resume(const struct cluster_options *options)
{
    return run(options, resume_moves);
}
