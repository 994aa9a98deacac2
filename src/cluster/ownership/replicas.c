/*
 * Chooses the next list of replicas, by the rules C1 to C9 of replicas.h.
 */
#include "replicas.h"

#include <string.h>

#include "../../base/assert.h"

/* Returns whether a member that lives has not been ready for so long that nobody waits for it. */
static bool is_late(const struct elapse__balance_view *view,
                    const struct elapse__replicas_options *options, uint32_t partition, int node)
{
    if (!elapse__balance_lives(view, node) || elapse__balance_is_ready(view, partition, node))
        return false;
    uint64_t since_ms = view->nodes[node].unready_since_ms[partition];
    ELAPSE__ASSERT_THAT(since_ms, <=, options->now_ms);
    return since_ms > 0 && options->now_ms - since_ms > options->replace_after_ms;
}

static bool is_stuck(const struct elapse__balance_view *view,
                     const struct elapse__replicas_options *options, uint32_t partition, int node)
{
    return node != view->partitions[partition].owner && is_late(view, options, partition, node);
}

static bool has(const struct elapse__replicas_change *list, int node)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->nodes[i] == node)
            return true;
    return false;
}

static struct elapse__replicas_change list_of(const struct elapse__balance_view *view,
                                              uint32_t partition)
{
    const struct elapse__balance_partition *row = &view->partitions[partition];
    struct elapse__replicas_change list = {.partition = partition, .count = row->replica_count};

    ELAPSE__ASSERT_THAT(row->replica_count, <=, ELAPSE__BALANCE_REPLICAS_MAX);
    for (uint32_t i = 0; i < row->replica_count; i++)
        list.nodes[i] = row->replicas[i];
    return list;
}

bool elapse__replicas_wants(const struct elapse__balance_view *view, uint32_t partition, int node)
{
    ELAPSE__ASSERT_THAT(partition, <, view->partition_count);
    const struct elapse__replicas_change list = list_of(view, partition);
    return list.count == 0 || (node >= 0 && has(&list, node));
}

enum elapse__replicas_copy elapse__replicas_copy(const struct elapse__balance_view *view,
                                                 uint32_t partition, int node)
{
    const struct elapse__replicas_change list = list_of(view, partition);

    ELAPSE__ASSERT(node >= 0 && node < (int)view->node_count);
    if (!elapse__balance_lives(view, node))
        return has(&list, node) ? ELAPSE__REPLICAS_AWAY : ELAPSE__REPLICAS_NONE;
    if (node == view->partitions[partition].owner)
        return ELAPSE__REPLICAS_OWNER;
    if (!elapse__replicas_wants(view, partition, node))
        return elapse__balance_is_ready(view, partition, node) ? ELAPSE__REPLICAS_LEAVING
                                                               : ELAPSE__REPLICAS_NONE;
    return elapse__balance_is_ready(view, partition, node) ? ELAPSE__REPLICAS_READY
                                                           : ELAPSE__REPLICAS_COPYING;
}

const char *elapse__replicas_copy_word(enum elapse__replicas_copy copy)
{
    static const char *const words[] = {
#define ELAPSE__REPLICAS_COPY(name, word) [ELAPSE__REPLICAS_##name] = (word),
        ELAPSE__REPLICAS_COPIES(ELAPSE__REPLICAS_COPY)
#undef ELAPSE__REPLICAS_COPY
    };

    ELAPSE__ASSERT_THAT((size_t)copy, <, sizeof words / sizeof words[0]);
    return words[copy];
}

uint32_t elapse__replicas_rank(const struct elapse__balance_view *view, uint32_t partition,
                               int node)
{
    uint32_t rank = 1;

    ELAPSE__ASSERT_THAT(partition, <, view->partition_count);
    for (size_t i = 0; i < view->node_count; i++) {
        int other = (int)((partition + i) % view->node_count);
        if (other == node)
            break;
        rank +=
            elapse__balance_lives(view, other) && !elapse__replicas_wants(view, partition, other);
    }
    return rank;
}

void elapse__replicas_note(struct elapse__balance_view *view,
                           const struct elapse__balance_view *before, uint64_t now_ms)
{
    ELAPSE__ASSERT_THAT(now_ms, >, 0U);
    for (uint32_t i = 0; i < view->partition_count; i++) {
        const struct elapse__balance_partition *row = &view->partitions[i];
        for (uint32_t j = 0; j < row->replica_count; j++) {
            int node = row->replicas[j];
            if (!elapse__balance_lives(view, node) || elapse__balance_is_ready(view, i, node))
                continue;
            int old = elapse__balance_find(before, view->nodes[node].name);
            uint64_t since_ms = old < 0 ? 0 : before->nodes[old].unready_since_ms[i];
            ELAPSE__ASSERT_THAT(since_ms, <=, now_ms);
            view->nodes[node].unready_since_ms[i] = since_ms > 0 ? since_ms : now_ms;
        }
    }
}

/* Returns how many lists name the node, as they were counted once for all of this round. */
static uint32_t copies_of(const struct elapse__balance_view *view, int node)
{
    ELAPSE__ASSERT(node >= 0 && node < (int)view->node_count);
    return view->nodes[node].copies;
}

static bool is_gone(const struct elapse__balance_view *view,
                    const struct elapse__replicas_options *options, int node)
{
    return node < 0 || (!elapse__balance_lives(view, node) &&
                        view->nodes[node].age_ms > options->replace_after_ms);
}

static bool shares_zone(const struct elapse__balance_view *view, int one, int other)
{
    return one >= 0 && other >= 0 && view->nodes[one].zone[0] != '\0' &&
           strcmp(view->nodes[one].zone, view->nodes[other].zone) == 0;
}

/* Returns whether the node shares its zone with a member other than `except`. */
static bool is_crowded(const struct elapse__balance_view *view,
                       const struct elapse__replicas_change *list, int node, int except)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->nodes[i] != except && list->nodes[i] != node &&
            shares_zone(view, list->nodes[i], node))
            return true;
    return false;
}

/* Returns the node with the fewest copies of those that may get one, or -1: a node that shares its
 * zone with no member but `except`, if there is one. If `ready`, the node is ready for the
 * partition. */
static int emptiest_for(const struct elapse__balance_view *view,
                        const struct elapse__replicas_change *list, int except, bool ready)
{
    bool crowds = true;
    uint32_t fewest = UINT32_MAX;
    int found = -1;

    for (size_t i = 0; i < view->node_count; i++) {
        int node = (int)((list->partition + i) % view->node_count);
        if (!elapse__balance_lives(view, node) || view->nodes[node].drains || has(list, node) ||
            (ready && !elapse__balance_is_ready(view, list->partition, node)))
            continue;
        uint32_t copies = copies_of(view, node);
        bool is_worse = is_crowded(view, list, node, except);
        if (is_worse != crowds ? is_worse : copies >= fewest)
            continue;
        fewest = copies;
        crowds = is_worse;
        found = node;
    }
    return found;
}

static int emptiest(const struct elapse__balance_view *view,
                    const struct elapse__replicas_change *list, bool ready)
{
    return emptiest_for(view, list, -1, ready);
}

/* C9: returns whether the node could be a member in place of `from`. */
static bool can_replace(const struct elapse__balance_view *view,
                        const struct elapse__replicas_change *list, int from, int node)
{
    return node >= 0 && !has(list, node) &&
           (!is_crowded(view, list, node, from) || is_crowded(view, list, from, -1));
}

static bool add(struct elapse__replicas_change *list, int node)
{
    if (node < 0 || has(list, node) || list->count == ELAPSE__BALANCE_REPLICAS_MAX)
        return false;
    list->nodes[list->count++] = node;
    return true;
}

static void remove_at(struct elapse__replicas_change *list, uint32_t at)
{
    ELAPSE__ASSERT_THAT(at, <, list->count);
    for (uint32_t i = at; i + 1 < list->count; i++)
        list->nodes[i] = list->nodes[i + 1];
    list->count--;
}

/* ---- one partition ---- */

/* C1: makes the first list, or adds the owner. */
static bool take_owner(const struct elapse__balance_view *view,
                       const struct elapse__replicas_options *options,
                       struct elapse__replicas_change *list)
{
    const struct elapse__balance_partition *row = &view->partitions[list->partition];
    bool is_new = list->count == 0;

    if (row->is_stopped || !elapse__balance_lives(view, row->owner) ||
        (is_new && !options->is_calm))
        return false;
    bool is_added = add(list, row->owner);
    while (is_new && list->count <= options->followers && add(list, emptiest(view, list, true)))
        ;
    return is_added && (!is_new || list->count > options->followers);
}

/* C3 */
static bool replace_gone(const struct elapse__balance_view *view,
                         const struct elapse__replicas_options *options,
                         struct elapse__replicas_change *list)
{
    bool has_changed = false;

    for (uint32_t i = list->count; i-- > 0 && list->count > 1;) {
        if (!is_gone(view, options, list->nodes[i]))
            continue;
        remove_at(list, i);
        has_changed = true;
    }
    while (has_changed && list->count <= options->followers &&
           add(list, emptiest(view, list, false)))
        ;
    return has_changed;
}

/* Returns how many members are not stuck (C8). */
static uint32_t count_useful(const struct elapse__balance_view *view,
                             const struct elapse__replicas_options *options,
                             const struct elapse__replicas_change *list)
{
    uint32_t useful = 0;

    for (uint32_t i = 0; i < list->count; i++)
        useful += !is_stuck(view, options, list->partition, list->nodes[i]);
    return useful;
}

/* Returns how readily a member leaves: one that does not live first, then one that shares its zone,
 * then the one with most copies. */
static uint64_t eagerness(const struct elapse__balance_view *view,
                          const struct elapse__replicas_change *list, int node)
{
    if (!elapse__balance_lives(view, node))
        return UINT64_MAX;
    return ((uint64_t)is_crowded(view, list, node, -1) << 32) + copies_of(view, node);
}

/* C2: removes a member, if there are enough others. No member leaves that owns the partition, or is
 * preferred or stuck. */
static bool remove_one(const struct elapse__balance_view *view,
                       const struct elapse__replicas_options *options,
                       struct elapse__replicas_change *list)
{
    const struct elapse__balance_partition *row = &view->partitions[list->partition];
    uint32_t ready = 0, victim = UINT32_MAX;
    uint64_t most = 0;

    if (count_useful(view, options, list) <= options->followers + 1)
        return false;
    for (uint32_t i = 0; i < list->count; i++) {
        int node = list->nodes[i];
        ready += elapse__balance_is_ready(view, list->partition, node);
        if (node == row->owner || node == row->preferred ||
            is_stuck(view, options, list->partition, node))
            continue;
        uint64_t eager = eagerness(view, list, node);
        if (victim == UINT32_MAX || eager > most) {
            victim = i;
            most = eager;
        }
    }
    if (victim == UINT32_MAX)
        return false;
    ready -= elapse__balance_is_ready(view, list->partition, list->nodes[victim]);
    if (ready <= options->followers)
        return false;
    remove_at(list, victim);
    return true;
}

/* Returns whether a copy is being made: a member that lives is not ready, and not late. */
static bool is_being_made(const struct elapse__balance_view *view,
                          const struct elapse__replicas_options *options,
                          const struct elapse__replicas_change *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (elapse__balance_lives(view, list->nodes[i]) &&
            !elapse__balance_is_ready(view, list->partition, list->nodes[i]) &&
            !is_late(view, options, list->partition, list->nodes[i]))
            return true;
    return false;
}

/* C4: returns whether each other member than the owner is dead or stuck. A member that is only not
 * ready yet gets a copy, so it is no reason to make another one. */
static bool is_urgent(const struct elapse__balance_view *view,
                      const struct elapse__replicas_options *options,
                      const struct elapse__replicas_change *list)
{
    int owner = view->partitions[list->partition].owner;

    for (uint32_t i = 0; i < list->count; i++)
        if (list->nodes[i] != owner && elapse__balance_lives(view, list->nodes[i]) &&
            !is_stuck(view, options, list->partition, list->nodes[i]))
            return false;
    return true;
}

/* C1, C5 and C8. */
static bool fill(const struct elapse__balance_view *view,
                 const struct elapse__replicas_options *options,
                 struct elapse__replicas_change *list)
{
    int preferred = view->partitions[list->partition].preferred;

    if (elapse__balance_lives(view, preferred) && add(list, preferred))
        return true;
    return count_useful(view, options, list) <= options->followers &&
           list->count <= options->followers + 1 && add(list, emptiest(view, list, false));
}

/* ---- all partitions ---- */

/* C6: finds a partition that the fullest node follows, and that the emptiest one can get. */
static bool even(const struct elapse__balance_view *view,
                 const struct elapse__replicas_options *options,
                 struct elapse__replicas_change *change)
{
    uint32_t best = 1; /* the counts have to differ by more */
    bool is_found = false;

    for (uint32_t i = 0; i < view->partition_count; i++) {
        struct elapse__replicas_change list = list_of(view, i);
        const struct elapse__balance_partition *row = &view->partitions[i];
        if (row->is_stopped || list.count != options->followers + 1)
            continue;
        for (uint32_t j = 0; j < list.count; j++) {
            int from = list.nodes[j];
            if (from == row->owner || from == row->preferred || from < 0)
                continue;
            int to = emptiest_for(view, &list, from, false);
            if (!can_replace(view, &list, from, to))
                continue;
            uint32_t many = copies_of(view, from), few = copies_of(view, to);
            if (many <= few || many - few <= best)
                continue;
            best = many - few;
            *change = list;
            is_found = add(change, to);
        }
    }
    return is_found;
}

/* Returns whether the node follows a partition that `even` can move to the other node, which has no
 * copy of it. */
static bool can_give(const struct elapse__balance_view *view,
                     const struct elapse__replicas_options *options, int node, int other)
{
    for (uint32_t i = 0; i < view->partition_count; i++) {
        const struct elapse__replicas_change list = list_of(view, i);
        const struct elapse__balance_partition *row = &view->partitions[i];
        if (!row->is_stopped && list.count == options->followers + 1 && node != row->owner &&
            node != row->preferred && has(&list, node) && can_replace(view, &list, node, other))
            return true;
    }
    return false;
}

/* Returns a node that can get the copy, and can then give another one to the emptiest node, or -1.
 * It has one copy more than that node. */
static int find_between(const struct elapse__balance_view *view,
                        const struct elapse__replicas_options *options,
                        const struct elapse__replicas_change *list, int from, int emptiest_node,
                        uint32_t fewest)
{
    for (size_t i = 0; i < view->node_count; i++) {
        int node = (int)((list->partition + i) % view->node_count);
        if (elapse__balance_lives(view, node) && !view->nodes[node].drains &&
            can_replace(view, list, from, node) && copies_of(view, node) == fewest + 1 &&
            can_give(view, options, node, emptiest_node))
            return node;
    }
    return -1;
}

/* Returns whether a node is between: most often none is, and then no partition has to be looked at.
 */
static bool has_between(const struct elapse__balance_view *view,
                        const struct elapse__replicas_options *options, int emptiest_node,
                        uint32_t fewest)
{
    for (int i = 0; i < (int)view->node_count; i++)
        if (elapse__balance_lives(view, i) && !view->nodes[i].drains &&
            copies_of(view, i) == fewest + 1 && can_give(view, options, i, emptiest_node))
            return true;
    return false;
}

/* C6, where the emptiest node has a copy of all that the fullest one follows: a node between them
 * gets a copy from the fullest one. It is then one of the fullest, and gives one to the emptiest.
 */
static bool even_by_two(const struct elapse__balance_view *view,
                        const struct elapse__replicas_options *options,
                        struct elapse__replicas_change *change)
{
    const struct elapse__replicas_change nobody = {.count = 0};
    int to = emptiest(view, &nobody, false);
    uint32_t fewest = to < 0 ? 0 : copies_of(view, to);

    if (to < 0 || !has_between(view, options, to, fewest))
        return false;
    for (uint32_t i = 0; i < view->partition_count; i++) {
        const struct elapse__replicas_change list = list_of(view, i);
        const struct elapse__balance_partition *row = &view->partitions[i];
        if (row->is_stopped || list.count != options->followers + 1)
            continue;
        for (uint32_t j = 0; j < list.count; j++) {
            int from = list.nodes[j];
            if (from < 0 || from == row->owner || from == row->preferred ||
                copies_of(view, from) != fewest + 2)
                continue;
            *change = list;
            if (add(change, find_between(view, options, &list, from, to, fewest)))
                return true;
        }
    }
    return false;
}

/* C9: finds a member that shares its zone, and a node that does not, and gives that node a copy. */
static bool spread(const struct elapse__balance_view *view,
                   const struct elapse__replicas_options *options,
                   struct elapse__replicas_change *change)
{
    for (uint32_t i = 0; i < view->partition_count; i++) {
        const struct elapse__replicas_change list = list_of(view, i);
        const struct elapse__balance_partition *row = &view->partitions[i];
        if (row->is_stopped || list.count != options->followers + 1)
            continue;
        for (uint32_t j = 0; j < list.count; j++) {
            int from = list.nodes[j];
            if (from < 0 || from == row->owner || from == row->preferred ||
                !is_crowded(view, &list, from, -1))
                continue;
            int to = emptiest_for(view, &list, from, false);
            if (to < 0 || is_crowded(view, &list, to, from))
                continue;
            *change = list;
            return add(change, to);
        }
    }
    return false;
}

static bool give_up_lists(const struct elapse__balance_view *view,
                          struct elapse__replicas_change *change)
{
    for (uint32_t i = 0; i < view->partition_count; i++) {
        if (view->partitions[i].replica_count == 0)
            continue;
        *change = (struct elapse__replicas_change){.partition = i};
        return true;
    }
    return false;
}

typedef bool rule_t(const struct elapse__balance_view *view,
                    const struct elapse__replicas_options *options,
                    struct elapse__replicas_change *list);

/* Returns whether the rule changes a list, and stores that list. */
static bool find(const struct elapse__balance_view *view,
                 const struct elapse__replicas_options *options, rule_t *rule, bool urgent_only,
                 struct elapse__replicas_change *change)
{
    for (uint32_t i = 0; i < view->partition_count; i++) {
        *change = list_of(view, i);
        if (rule != take_owner && (change->count == 0 || view->partitions[i].is_stopped))
            continue;
        if (urgent_only && !is_urgent(view, options, change))
            continue;
        if (rule(view, options, change))
            return true;
    }
    return false;
}

bool elapse__replicas_next(const struct elapse__balance_view *view,
                           const struct elapse__replicas_options *options,
                           struct elapse__replicas_change *change)
{
    bool busy = false, uneven = false;

    ELAPSE__ASSERT_THAT(options->followers, <=, ELAPSE__REPLICAS_FOLLOWERS_MAX);
    if (!view->has_lists)
        return false;
    if (options->followers == 0)
        return give_up_lists(view, change);
    if (find(view, options, take_owner, false, change))
        return true;
    if (view->is_paused || !options->is_calm)
        return false;
    for (uint32_t i = 0; i < view->partition_count; i++) {
        const struct elapse__replicas_change list = list_of(view, i);
        busy = busy || is_being_made(view, options, &list);
        uneven = uneven || count_useful(view, options, &list) > options->followers + 1;
    }
    if (find(view, options, replace_gone, false, change) ||
        find(view, options, remove_one, false, change) || find(view, options, fill, busy, change))
        return true;
    return !busy && !uneven &&
           (spread(view, options, change) || even(view, options, change) ||
            even_by_two(view, options, change));
}
