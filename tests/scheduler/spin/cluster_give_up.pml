/*
 * When nodes give up the files of copies that they have left: src/cluster/ownership/give_up.h.
 * cluster_copies.pml has the log, and what the files alone may know. Here there are only the files,
 * what the nodes tell of them, and what they read.
 *
 * Four nodes; a partition is to have an owner and one follower. Anybody changes the list of replicas
 * to anything, again and again: it has no fence. A node makes a copy when the list names it, or when
 * nobody owns the partition. It leaves a copy when the list does not name it; then its files are
 * compared and closed. Its flag `ready` is in a table, and follows later. A node that has left its
 * files reads list and flags, decides, and acts on that later; meanwhile other nodes go on. Files
 * that were set aside count for nothing: nobody opens them.
 *
 * Shown: whenever a node has set its files aside, two nodes have complete files, if no node has lost
 * its disk. So neither the list nor the time between reading and acting has to be guarded.
 *
 * Not modelled: the log, and what it has lost; nodes that die (a flag counts only for two leases
 * after its node has told it); a view that a standby does not have (G7).
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_FLAG_COMES_LATER    a node decides while its own flag still says that it is ready
 *   MUTANT_OWNER_IS_ANOTHER    one ready node is enough, beside the owner or not
 *   MUTANT_COUNTS_THE_LIST     nodes are counted that are to have a copy, ready or not
 *   MUTANT_KEEPS_ITS_DECISION  a node that opened its files again acts on what it decided before
 */
/* The search for threads that go round has an end to changes, because nothing else ends them. */
#ifdef SHORT
byte changes_left = 4;
#define MAY_CHANGE (changes_left > 0)
#define CHANGE changes_left--
#else
#define MAY_CHANGE true
#define CHANGE skip
#endif
#define NODES 4
#define NOBODY NODES
#define FOLLOWERS 1

mtype = { NONE, BUILDING, OPEN, LEFT };

mtype copy[NODES] = NONE;
bool ready[NODES];   /* the flag, as the table has it */
bool decided[NODES]; /* to set its files aside */
byte list;           /* the replicas, a bit for each node */
byte owner;

#define NAMED(n) ((list >> (n)) & 1)
#define HAS_FILES(n) (copy[n] == OPEN || copy[n] == LEFT)
#define FILES (HAS_FILES(0) + HAS_FILES(1) + HAS_FILES(2) + HAS_FILES(3))

#ifdef MUTANT_COUNTS_THE_LIST
#define COUNTS(n) NAMED(n)
#else
#define COUNTS(n) (NAMED(n) && ready[n])
#endif
#define READY (COUNTS(0) + COUNTS(1) + COUNTS(2) + COUNTS(3))

#ifdef MUTANT_OWNER_IS_ANOTHER
#define ENOUGH FOLLOWERS
#else
#define ENOUGH (FOLLOWERS + 1)
#endif

#ifdef MUTANT_FLAG_COMES_LATER
#define HAS_TOLD(n) true
#else
#define HAS_TOLD(n) (!ready[n])
#endif

inline open_copy(n)
{
#ifndef MUTANT_KEEPS_ITS_DECISION
    decided[n] = false;
#endif
    copy[n] = OPEN
}

proctype node(byte n)
{
end:
    do
    :: d_step { ready[n] != (copy[n] == OPEN) -> ready[n] = (copy[n] == OPEN) }
    :: d_step { copy[n] == NONE && (NAMED(n) || owner == NOBODY) -> copy[n] = BUILDING }
    :: d_step { copy[n] == BUILDING -> open_copy(n) }
    :: d_step { copy[n] == LEFT && (NAMED(n) || owner == NOBODY) -> open_copy(n) }
    :: d_step { copy[n] == OPEN && owner == NOBODY -> owner = n }
    :: d_step { owner == n && MAY_CHANGE -> CHANGE; owner = NOBODY }
    :: d_step { copy[n] == OPEN && !NAMED(n) && owner != n && owner != NOBODY -> copy[n] = LEFT }
    :: d_step { copy[n] == LEFT && !decided[n] && !NAMED(n) && HAS_TOLD(n) && owner != NOBODY && READY >= ENOUGH ->
            decided[n] = true }
    :: d_step { decided[n] && copy[n] == LEFT ->
            decided[n] = false;
            copy[n] = NONE;
            assert(FILES >= FOLLOWERS + 1) }
    od
}

proctype world()
{
end:
    do
    :: d_step { MAY_CHANGE -> CHANGE; list = list ^ 1 }
    :: d_step { MAY_CHANGE -> CHANGE; list = list ^ 2 }
    :: d_step { MAY_CHANGE -> CHANGE; list = list ^ 4 }
    :: d_step { MAY_CHANGE -> CHANGE; list = list ^ 8 }
    od
}

init
{
    atomic {
        copy[0] = OPEN;
        copy[1] = OPEN;
        ready[0] = true;
        ready[1] = true;
        list = 3;
        run node(0);
        run node(1);
        run node(2);
        run node(3);
        run world()
    }
}
