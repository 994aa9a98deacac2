/*
 * Decides for which partitions a node that has no copy comes as a guest. The functions are pure.
 *
 * Definitions
 *
 *   guest, member  see replicas.h. Guests of a partition have an order: elapse__replicas_rank.
 *   idle       a row is idle for as long as it was seen unchanged in one session (watch.h).
 *   patience   of the guest of rank r: (1 + r) L. L is the lease.
 *   heir       another node that lives, and is a member, or has the name of the owner in the row.
 *   served     a partition is served if its owner lives and is ready, and its row has changed in
 *              the last L. An owner is ready only while the database confirms what it writes.
 *
 * Rules
 *
 *   N1  A node whose witness is lost comes at once, and marks the row (R11 of partition.h).
 *   N2  If no heir lives, a node comes when the row has been idle for its patience. It needs no
 *       other evidence: whatever else stands still, whether this node owns anything or not, and
 *       also if the queue has one partition. A row with the name of an earlier life of this node
 *       has no heir in it: this life has no copy.
 *   N3  If an heir lives, a node comes when the row has been idle for its patience, and meanwhile
 *       some partition was served all the time.
 *   N4  If an heir lives, and none is served, a node comes for one partition, when the row has been
 *       idle for TRIAL_LEASES more than its patience. It tries no other one before that row has
 *       changed, and for TRIAL_LEASES afterwards: perhaps the owners go on, one after the other.
 *       So a partition that this node cannot open keeps it from trying others.
 *   N5  A node that has come stays until the row changes, also in another session.
 *   N6  Nobody comes to a partition that is stopped, or of which it is a member.
 *
 * An idle row does not say why nobody writes it. Its owner and those that could follow it may be
 * dead or stuck. Or nobody can write: there is no standby that confirms, another session has locked
 * the rows, or the disk of the database hangs. Then all rows are idle, all owners live, and a guest
 * could not write either. Without N3 each node would make a copy of each partition then, which is
 * more than the nodes of a large cluster have room for. Another partition that is served shows that
 * one can write, so that this one alone stands still. That a row changes does not show it: a commit
 * that waits for a standby shows its row when somebody ends its session.
 *
 * N4 is for liveness. All owners may live, be stuck, and have no living follower. Then nothing is
 * served, and nothing shows that one could write, unless somebody tries. The first guest that owns
 * a partition serves it, and N3 brings guests to the others. If nobody can write, the trial costs
 * each node one copy.
 */
#ifndef ELAPSE__OWNERSHIP_GUESTS_H
#define ELAPSE__OWNERSHIP_GUESTS_H

#include "watch.h"

/* What a node remembers of all partitions. Begins as zeros. */
struct elapse__guests {
    bool is_served; /* some partition is, and was at each look since `served_since_ms` */
    uint64_t served_since_ms;
    bool has_trial;
    uint32_t trial;         /* the partition of N4 */
    uint64_t next_trial_ms; /* no other one is tried before */
};

/* What a node sees when it looks at the rows. */
struct elapse__guests_look {
    const struct elapse__balance_view *view;
    const struct elapse__watch *rows; /* of all partitions; they have taken the rows of the view */
    int me;                           /* this node, or -1 */
    uint32_t lease_ms;
    uint64_t now_ms;
};

/* Called when another session begins: nobody knows what happened meanwhile. */
void elapse__guests_connect(struct elapse__guests *guests);

/* Called once for each look, before elapse__guests_comes. Cost: the partitions. */
void elapse__guests_take(struct elapse__guests *guests, const struct elapse__guests_look *look);

/* Returns whether this node is to look after the partition. `has_come`: it was to at the last look,
 * and the row is the same. Called for the partitions in order. Cost: the nodes, for a row that is
 * idle. */
bool elapse__guests_comes(struct elapse__guests *guests, const struct elapse__guests_look *look,
                          uint32_t partition, bool has_come);

#endif
