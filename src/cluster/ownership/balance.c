/*
 * Chooses the next move, by the rules B1 to B7 of balance.h.
 */
#include "balance.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"

/* A target that has not come true after so many leases is taken away (B1). */
#define TARGET_LEASES UINT64_C(3)
#define AGAIN_LEASES  UINT64_C(6) /* how long no target follows one that has not come true (B3) */

/* ---- looking ---- */

int elapse__balance_find(const struct elapse__balance_view *view, const char *name)
{
    for (size_t i = 0; i < view->node_count; i++)
        if (strcmp(view->nodes[i].name, name) == 0)
            return (int)i;
    return -1;
}

int elapse__balance_node_of(const struct elapse__balance_view *view, const char *life)
{
    const char *slash = strrchr(life, '/');

    for (size_t i = 0; slash != NULL && i < view->node_count; i++) {
        size_t length = strlen(view->nodes[i].name);
        if (length == (size_t)(slash - life) && memcmp(view->nodes[i].name, life, length) == 0)
            return (int)i;
    }
    return -1;
}

/* Returns whether an earlier place of the list has the same node. */
static bool is_repeated(const struct elapse__balance_partition *row, uint32_t place)
{
    for (uint32_t i = 0; i < place; i++)
        if (row->replicas[i] == row->replicas[place])
            return true;
    return false;
}

static void count_copies(const struct elapse__balance_view *view,
                         const struct elapse__balance_partition *row)
{
    ELAPSE__ASSERT_THAT(row->replica_count, <=, ELAPSE__BALANCE_REPLICAS_MAX);
    for (uint32_t i = 0; i < row->replica_count; i++)
        if (row->replicas[i] >= 0 && !is_repeated(row, i))
            view->nodes[row->replicas[i]].copies++;
}

void elapse__balance_count(const struct elapse__balance_view *view)
{
    for (size_t i = 0; i < view->node_count; i++)
        view->nodes[i].owns = view->nodes[i].copies = 0;
    for (uint32_t i = 0; i < view->partition_count; i++) {
        if (view->partitions[i].owner >= 0)
            view->nodes[view->partitions[i].owner].owns++;
        count_copies(view, &view->partitions[i]);
    }
}

bool elapse__balance_lives(const struct elapse__balance_view *view, int node)
{
    ELAPSE__ASSERT(node < (int)view->node_count);
    return node >= 0 && view->nodes[node].lives;
}

bool elapse__balance_is_ready(const struct elapse__balance_view *view, uint32_t partition, int node)
{
    return elapse__balance_lives(view, node) && view->nodes[node].ready[partition];
}

bool elapse__balance_has_other(const struct elapse__balance_view *view, uint32_t partition,
                               int node)
{
    ELAPSE__ASSERT_THAT(partition, <, view->partition_count);
    for (int i = 0; i < (int)view->node_count; i++)
        if (i != node && elapse__balance_is_ready(view, partition, i))
            return true;
    return false;
}

/* Returns whether the balancer itself may choose the node (B2, B6). */
static bool is_choosable(const struct elapse__balance_view *view, int node)
{
    return elapse__balance_lives(view, node) && !view->nodes[node].drains &&
           llabs(view->nodes[node].ahead_ms) <= ELAPSE__BALANCE_CLOCK_MS;
}

enum elapse__partition_next_owner elapse__balance_expect(const struct elapse__balance_view *view,
                                                         uint32_t partition, int me)
{
    const struct elapse__balance_partition *row = &view->partitions[partition];

    ELAPSE__ASSERT_THAT(partition, <, view->partition_count);
    if (row->has_target && elapse__balance_lives(view, row->target))
        return row->target == me ? ELAPSE__NEXT_OWNER_HERE : ELAPSE__NEXT_OWNER_THERE;
    if (me < 0 || !view->nodes[me].drains)
        return ELAPSE__NEXT_OWNER_ANY;
    for (int i = 0; i < (int)view->node_count; i++)
        if (i != me && !view->nodes[i].drains && elapse__balance_is_ready(view, partition, i))
            return ELAPSE__NEXT_OWNER_THERE;
    return ELAPSE__NEXT_OWNER_ANY;
}

/* ---- targets that are set ---- */

/* Returns whether the target of the partition is of no use any more (B1). */
static bool has_ended(struct elapse__balance *balance, const struct elapse__balance_view *view,
                      const struct elapse__balance_options *options, uint32_t partition,
                      uint64_t now_ms)
{
    const struct elapse__balance_partition *row = &view->partitions[partition];

    ELAPSE__ASSERT(row->has_target);
    if (!balance->has_target || balance->partition != partition) {
        balance->has_target = true;
        balance->partition = partition;
        balance->target_since_ms = now_ms;
    }
    return row->target == row->owner || view->is_paused || row->is_stopped ||
           !elapse__balance_is_ready(view, partition, row->target) ||
           (view->nodes[row->target].drains && row->target != row->preferred) ||
           now_ms - balance->target_since_ms >= TARGET_LEASES * options->lease_ms;
}

/* ---- choosing ---- */

/* Returns the node with the fewest partitions of those that are ready for this one and may be
 * chosen, or -1. */
static int emptiest(const struct elapse__balance_view *view, uint32_t partition)
{
    uint32_t fewest = UINT32_MAX;
    int found = -1;

    for (int i = 0; i < (int)view->node_count; i++) {
        if (i == view->partitions[partition].owner || !is_choosable(view, i) ||
            !elapse__balance_is_ready(view, partition, i))
            continue;
        if (view->nodes[i].owns < fewest) {
            fewest = view->nodes[i].owns;
            found = i;
        }
    }
    return found;
}

/* Finds a partition that is not where an operator wants it (B4), and is not passed over (B7). */
static bool find_preferred(const struct elapse__balance_view *view, const bool *passes_over,
                           struct elapse__balance_move *move)
{
    for (uint32_t i = 0; i < view->partition_count; i++) {
        const struct elapse__balance_partition *row = &view->partitions[i];
        if (passes_over[i] || row->owner < 0 || row->is_stopped || row->preferred < 0 ||
            row->preferred == row->owner || !elapse__balance_is_ready(view, i, row->preferred) ||
            view->nodes[row->preferred].drains)
            continue;
        *move = (struct elapse__balance_move){i, row->preferred};
        return true;
    }
    return false;
}

/* Finds a partition of a node that drains (B4), and that is not passed over (B7). */
static bool find_drained(const struct elapse__balance_view *view, const bool *passes_over,
                         struct elapse__balance_move *move)
{
    for (uint32_t i = 0; i < view->partition_count; i++) {
        const struct elapse__balance_partition *row = &view->partitions[i];
        if (passes_over[i] || row->owner < 0 || row->is_stopped || !view->nodes[row->owner].drains)
            continue;
        int target = emptiest(view, i);
        if (target < 0)
            continue;
        *move = (struct elapse__balance_move){i, target};
        return true;
    }
    return false;
}

/* Returns whether all partitions have owners that live and are ready (B5). */
static bool is_whole(const struct elapse__balance_view *view)
{
    bool whole = true;

    for (uint32_t i = 0; i < view->partition_count; i++)
        whole = whole && !view->partitions[i].is_stopped &&
                elapse__balance_is_ready(view, i, view->partitions[i].owner);
    return whole;
}

/* Finds a partition that makes the counts more even, and is not passed over (B7). Partition 0 is
 * the last choice, because the balancer moves with it. Requires that all have owners. */
static bool find_uneven(const struct elapse__balance_view *view, const bool *passes_over,
                        struct elapse__balance_move *move)
{
    uint32_t best = 1; /* the counts have to differ by more */
    bool is_found = false;

    for (uint32_t i = view->partition_count; i-- > 0;) {
        const struct elapse__balance_partition *row = &view->partitions[i];
        int target = passes_over[i] || row->is_preferred ? -1 : emptiest(view, i);
        if (target < 0)
            continue;
        uint32_t from = view->nodes[row->owner].owns;
        uint32_t to = view->nodes[target].owns;
        if (from <= to || from - to <= best)
            continue;
        best = from - to;
        *move = (struct elapse__balance_move){i, target};
        is_found = true;
    }
    return is_found;
}

/* Returns whether the counts have been uneven for long enough. */
static bool is_balance_due(struct elapse__balance *balance, const struct elapse__balance_view *view,
                           const struct elapse__balance_options *options, uint64_t now_ms)
{
    static const bool nothing[ELAPSE__BALANCE_PARTITIONS_MAX] = {false};
    struct elapse__balance_move even;
    bool is_uneven = is_whole(view) && find_uneven(view, nothing, &even);

    if (is_uneven && !balance->is_uneven)
        balance->uneven_since_ms = now_ms;
    balance->is_uneven = is_uneven;
    return is_uneven && now_ms - balance->uneven_since_ms >= options->balance_after_ms;
}

/* Finds a partition that is to move, by B4. */
static bool find(const struct elapse__balance_view *view, const bool *passes_over,
                 bool is_balance_due_now, struct elapse__balance_move *move)
{
    return find_preferred(view, passes_over, move) || find_drained(view, passes_over, move) ||
           (is_balance_due_now && find_uneven(view, passes_over, move));
}

/* Takes a target away that is of no use any more, and notes whether it came true (B7). */
static void take_away(struct elapse__balance *balance, const struct elapse__balance_view *view,
                      const struct elapse__balance_options *options, uint32_t partition,
                      uint64_t now_ms, struct elapse__balance_move *move)
{
    const struct elapse__balance_partition *row = &view->partitions[partition];
    bool has_failed = row->target < 0 || row->target != row->owner;

    *move = (struct elapse__balance_move){partition, -1};
    balance->has_failed[partition] = has_failed;
    if (has_failed)
        balance->next_ms = now_ms + AGAIN_LEASES * options->lease_ms;
}

bool elapse__balance_next(struct elapse__balance *balance, const struct elapse__balance_view *view,
                          const struct elapse__balance_options *options, uint64_t now_ms,
                          struct elapse__balance_move *move)
{
    ELAPSE__ASSERT_THAT(view->partition_count, <=, ELAPSE__BALANCE_PARTITIONS_MAX);
    for (uint32_t i = 0; i < view->partition_count; i++) {
        if (!view->partitions[i].has_target)
            continue;
        if (!has_ended(balance, view, options, i, now_ms))
            return false; /* B1 */
        take_away(balance, view, options, i, now_ms, move);
        return true;
    }
    balance->has_target = false;
    if (view->is_paused || !options->is_calm) {
        balance->is_uneven = false;
        return false;
    }
    /* Looks at the counts in any case, so that it knows since when they have been uneven. */
    bool is_due = is_balance_due(balance, view, options, now_ms);
    if (now_ms < balance->next_ms)
        return false;
    bool is_found = find(view, balance->has_failed, is_due, move);
    if (!is_found) { /* B7: those that failed come last */
        memset(balance->has_failed, 0, sizeof balance->has_failed);
        is_found = find(view, balance->has_failed, is_due, move);
    }
    ELAPSE__ASSERT(!is_found ||
                   elapse__balance_is_ready(view, move->partition, move->target)); /* B2 */
    if (is_found)
        balance->next_ms = now_ms + ELAPSE__BALANCE_PAUSE_MS;
    return is_found;
}
