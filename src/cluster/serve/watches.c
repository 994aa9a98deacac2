/*
 * Watches the rows of all partitions. For which of them this node comes as a guest is decided by
 * src/cluster/ownership/guests.h, which says why a row that does not change is not enough.
 */
#include "watches.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../ownership/guests.h"
#include "../ownership/replicas.h"
#include "../postgres/nodes.h"

struct elapse__watches {
    struct elapse__cluster *cluster;
    struct elapse__watch *rows; /* an element for each partition, as the next two have */
    bool *has_copy;
    bool is_other_system; /* the rows that were taken last are of another one */
    bool *had_copy; /* when the rows were taken last; the runner has taken the witness since */
    struct elapse__guests guests;
};

struct elapse__watches *elapse__watches_new(struct elapse__cluster *cluster)
{
    struct elapse__watches *watches = calloc(1, sizeof *watches);
    const uint32_t partitions = cluster->queue.partitions;

    if (watches == NULL)
        return NULL;
    watches->cluster = cluster;
    watches->rows = calloc(partitions, sizeof *watches->rows);
    watches->has_copy = calloc(partitions, sizeof *watches->has_copy);
    watches->had_copy = calloc(partitions, sizeof *watches->had_copy);
    if (watches->rows == NULL || watches->has_copy == NULL || watches->had_copy == NULL) {
        elapse__watches_free(watches);
        return NULL;
    }
    memset(watches->had_copy, true, partitions * sizeof *watches->had_copy);
    return watches;
}

void elapse__watches_free(struct elapse__watches *watches)
{
    if (watches == NULL)
        return;
    free(watches->rows);
    free(watches->has_copy);
    free(watches->had_copy);
    free(watches);
}

void elapse__watches_note_copies(struct elapse__watches *watches, const bool *has_copy)
{
    memcpy(watches->has_copy, has_copy,
           watches->cluster->queue.partitions * sizeof *watches->has_copy);
}

void elapse__watches_connect(struct elapse__watches *watches)
{
    elapse__guests_connect(&watches->guests);
    for (uint32_t i = 0; i < watches->cluster->queue.partitions; i++) {
        elapse__watch_connect(&watches->rows[i]);
        watches->had_copy[i] = true; /* the witness is read again */
    }
}

static struct elapse__guests_look look_of(const struct elapse__watches *watches,
                                          const struct elapse__balance_view *view, int me,
                                          uint64_t now_ms)
{
    return (struct elapse__guests_look){
        .view = view,
        .rows = watches->rows,
        .me = me,
        .lease_ms = watches->cluster->queue.lease_ms,
        .now_ms = now_ms,
    };
}

/* Takes the row of a partition without a copy, of which this thread alone keeps the witness. */
static bool take(struct elapse__watches *watches, uint32_t partition,
                 const struct elapse__balance_view *view, struct elapse__nodes_session *session,
                 uint64_t now_ms, struct elapse__schema_why *why)
{
    const struct elapse__cluster_partition *own = &watches->cluster->partitions[partition];
    struct elapse__watch *watch = &watches->rows[partition];
    uint64_t group, hash = 0;
    bool has_group;

    if (watches->had_copy[partition]) {
        elapse__watch_connect(watch);
        watch->witness = elapse__cluster_witness(own);
    }
    elapse__watch_take(watch, view, &view->partitions[partition].row, now_ms);
    watches->is_other_system =
        watches->is_other_system || (watch->witness.place.group > 0 &&
                                     watch->witness.system_identifier != view->system_identifier);
    if (elapse__watch_doubts(watch, &group)) {
        if (!elapse__nodes_read_hash(session, partition, group, &has_group, &hash, why))
            return false;
        elapse__watch_prove(watch, has_group, hash);
    }
    if (watch->witness.place.group > 0)
        elapse__cluster_note_witness(own, &watch->witness);
    return true;
}

bool elapse__watches_take(struct elapse__watches *watches, const struct elapse__balance_view *view,
                          struct elapse__nodes_session *session, uint64_t now_ms,
                          struct elapse__schema_why *why)
{
    ELAPSE__ASSERT_THAT(view->partition_count, ==, watches->cluster->queue.partitions);
    watches->is_other_system = false;
    for (uint32_t i = 0; i < view->partition_count; i++) {
        bool has_copy = watches->has_copy[i];
        if (!has_copy && !take(watches, i, view, session, now_ms, why))
            return false;
        if (has_copy) { /* the runner has the witness */
            watches->rows[i].witness = (struct elapse__partition_witness){.epoch = 0};
            watches->rows[i].is_lost = false;
            elapse__watch_take(&watches->rows[i], view, &view->partitions[i].row, now_ms);
        }
        watches->had_copy[i] = has_copy;
    }
    const struct elapse__guests_look look = look_of(watches, view, -1, now_ms);
    elapse__guests_take(&watches->guests, &look);
    return true;
}

bool elapse__watches_is_other_system(const struct elapse__watches *watches)
{
    return watches->is_other_system;
}

static bool is_same_row(const struct elapse__balance_row *left,
                        const struct elapse__balance_row *right)
{
    return left->epoch == right->epoch && left->beat == right->beat &&
           left->last_group == right->last_group;
}

bool elapse__watches_publish(struct elapse__watches *watches,
                             const struct elapse__balance_view *view, uint32_t partition, int me,
                             uint64_t now_ms)
{
    struct elapse__cluster_nodes *nodes = &watches->cluster->nodes;
    const struct elapse__balance_row *row = &view->partitions[partition].row;
    const struct elapse__balance_row *before = &nodes->rows[partition];
    const struct elapse__guests_look look = look_of(watches, view, me, now_ms);

    ELAPSE__ASSERT_LOCK_HELD(&nodes->errand.monitor.lock);
    bool has_come = nodes->calls[partition] && is_same_row(before, row); /* N5 */
    bool calls = elapse__guests_comes(&watches->guests, &look, partition, has_come);
    bool wants = elapse__replicas_wants(view, partition, me);
    /* Without a copy no runner sees the mark. `has_row`: the row is of a database to use (R7). */
    bool is_marked = view->partitions[partition].is_stopped && !watches->has_copy[partition] &&
                     watches->rows[partition].has_row;
    bool has_changed = nodes->wants[partition] != wants || nodes->calls[partition] != calls ||
                       before->epoch != row->epoch || strcmp(before->owner, row->owner) != 0 ||
                       (is_marked && nodes->marked == 0);
    nodes->wants[partition] = wants;
    nodes->calls[partition] = calls;
    nodes->marked = is_marked ? partition + 1 : nodes->marked;
    nodes->rows[partition] = *row;
    return has_changed;
}
