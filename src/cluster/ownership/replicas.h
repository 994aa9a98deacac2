/*
 * Decides which nodes have a copy of a partition. The functions are pure.
 *
 * Definitions
 *
 *   list       the nodes that are to have a copy of the partition: its owner, and those that follow
 *              it. A list without nodes means that all nodes follow.
 *   member     a node in the list.
 *   gone       a member is gone if an operator has removed it, or if it has not told anything of
 *              itself for `replace_after_ms`.
 *   guest      a node that is no member, and opens the partition all the same, because nobody looks
 *              after it (guests.h).
 *   stuck      a member is stuck if it lives, does not own the partition, and has not been ready
 * for it for more than `replace_after_ms`. Its files may be broken, its disk full, or the log
 * longer than it can read in that time.
 *
 * The log in the database is the whole partition, and its row says who owns it. So a list that is
 * wrong, old, or seen by some nodes only, costs memory or time, and never a job. The balancer
 * (balance.h) alone writes lists, one list at a time.
 *
 * Rules
 *
 *   C1  A list has `followers` + 1 members, or all nodes if there are fewer. The owner is a member.
 *       The first list comes when so many nodes are ready, and has only such nodes. Until then all
 *       nodes follow.
 *   C2  Who joins is added first. Who leaves is removed when `followers` + 1 others are ready.
 *   C3  A member that is gone is replaced at once. Other members that do not live keep their
 *       places.
 *   C4  While a member that lives is not ready for its partition, no list gets a member for the
 *       sake of C1, C5 or C6, unless each other member than its owner is dead or stuck. So mostly
 *       one copy is made at a time. Nobody waits for a member any more that has not been ready for
 *       `replace_after_ms`, so a partition that cannot be copied does not keep the other lists from
 *       changing.
 *   C5  A node that an operator prefers as the owner is a member.
 *   C6  When the copies of two nodes differ by more than one, a partition that the fuller one only
 *       follows moves to the other.
 *   C7  Nothing changes while moves are paused, or while the view of the balancer is not calm (B3).
 *       A list that lacks the owner gets it all the same.
 *   C8  A stuck member is not counted for C1 and C2, and is not removed by C2: it leaves when it is
 *       gone, or as any other member when it has become ready. But C1 gives a list at most
 *       `followers` + 2 members. So a partition that no node can copy is not tried by all nodes,
 *       one after the other. C6 leaves such a list alone.
 *   C9  Nodes of different zones come first: whoever joins a list is of a zone that no member has,
 * if such a node can join. A list with two members of one zone gets one of another zone, under the
 *       conditions of C6, and gives up one of the two. No copy moves for C6 if two members would be
 *       of one zone then that are not now. A node without a zone shares it with nobody. Zones come
 *       before even copies: if a zone has fewer nodes than others, they have more copies.
 */
#ifndef ELAPSE__OWNERSHIP_REPLICAS_H
#define ELAPSE__OWNERSHIP_REPLICAS_H

#include "balance.h"

enum { ELAPSE__REPLICAS_FOLLOWERS_MAX = ELAPSE__BALANCE_REPLICAS_MAX - 2 };

struct elapse__replicas_options {
    uint32_t followers; /* 0: all nodes follow all partitions */
    uint64_t replace_after_ms;
    bool is_calm;
    uint64_t now_ms; /* by the clock of elapse__replicas_note */
};

/* A list that changes. */
struct elapse__replicas_change {
    uint32_t partition;
    uint32_t count; /* 0: all nodes follow */
    int nodes[ELAPSE__BALANCE_REPLICAS_MAX];
};

/* Notes in `view` since when members that live have not been ready. `before` is the last view, for
 * which this was called, too; nodes and lists may have changed since. Each node calls this for each
 * view, so that a node that becomes the balancer knows the times. After an empty view the times
 * begin anew. `now_ms` is above 0 and does not go back. Cost: the members of all lists, and nodes
 * for each of them that is not ready. */
void elapse__replicas_note(struct elapse__balance_view *view,
                           const struct elapse__balance_view *before, uint64_t now_ms);

/* Returns whether a list has to change now, and stores the new list. Only the balancer calls this,
 * after elapse__balance_count. Cost: nodes times partitions times the members of a list, a few
 * times; more where the emptiest node has a copy of all that the fullest one follows (C6). */
bool elapse__replicas_next(const struct elapse__balance_view *view,
                           const struct elapse__replicas_options *options,
                           struct elapse__replicas_change *change);

/* What a node is to a partition. X(NAME, word) */
#define ELAPSE__REPLICAS_COPIES(X)                                              \
    X(NONE, "none")       /* it has no copy, and is to have none */             \
    X(OWNER, "owner")     /* it owns the partition */                           \
    X(READY, "ready")     /* it follows, and could own the partition at once */ \
    X(COPYING, "copying") /* it is to follow, lives, and is not ready yet */    \
    X(AWAY, "away")       /* it is in the list, and does not live */            \
    X(LEAVING, "leaving") /* it still has a copy, and is not in the list */

enum elapse__replicas_copy {
#define ELAPSE__REPLICAS_COPY(name, word) ELAPSE__REPLICAS_##name,
    ELAPSE__REPLICAS_COPIES(ELAPSE__REPLICAS_COPY)
#undef ELAPSE__REPLICAS_COPY
};

/* Returns what the node is to the partition, as far as the nodes have told. A node that does not
 * live is nothing to a partition that all nodes follow. */
enum elapse__replicas_copy elapse__replicas_copy(const struct elapse__balance_view *view,
                                                 uint32_t partition, int node);

/* Returns the word for it. */
const char *elapse__replicas_copy_word(enum elapse__replicas_copy copy);

/* Returns whether the node is to have a copy of the partition. */
bool elapse__replicas_wants(const struct elapse__balance_view *view, uint32_t partition, int node);

/* Returns the place of a node among the living nodes that are no members, from 1. Each partition
 * has an order of its own. Guests come in that order. */
uint32_t elapse__replicas_rank(const struct elapse__balance_view *view, uint32_t partition,
                               int node);

#endif
