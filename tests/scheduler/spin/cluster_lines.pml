/*
 * A primary of the past, and rows of the inbox that go: R7 and R10 of
 * src/cluster/ownership/partition.h, with two nodes. cluster_ownership.pml and cluster_copies.pml
 * have one primary at a time, and no inbox.
 *
 * Node 0 owns the partition on the old primary. The right standby is promoted once. Later the old
 * primary comes back, with standbys that confirm its commits. That is more than a cluster can bear
 * if a node has never seen the new one. So the old one comes back when every node that lives has
 * the new timeline on its disk, or when one node alone is left, whatever that has on its disk, and
 * the other acknowledged nothing on the new one. A program puts one row into the inbox of the old primary. The commit may be cancelled while it
 * waits for a standby: then the row is there, and the promoted standby does not have it, unless a
 * later commit was confirmed. Nodes lose their connections, die, and start again with what they have
 * on their disks.
 *
 * Shown: one node answers at a time. No group is acknowledged on the old primary when one was on the
 * new one. A row is run at most once, and only where it is. A node whose row has gone goes on without
 * it: nothing goes round, and in the end somebody owns the partition, if anybody can.
 *
 * Not modelled: clocks, copies, the log, lost groups, and unclear outcomes (the other two models).
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_USES_OLD_LINE           a node uses any primary
 *   MUTANT_LINE_IN_MEMORY          the timeline is not on the disk
 *   MUTANT_ANSWERS_BEFORE_DISK     a node answers before its disk has the timeline
 *   MUTANT_ROW_STAYS               the append does not take the row out of the inbox
 *   MUTANT_ROW_NOT_MISSED          the append does not look whether the row is there
 *   MUTANT_TRIES_AGAIN             goes round: an owner whose row has gone sends its group again
 */
#define OLD 0
#define NEW 1
#define NOWHERE 2
#define NOBODY 2
#ifdef LONG
#define LOSSES 3
#elif defined(SHORT)
#define LOSSES 1
#else
#define LOSSES 2
#endif
#define GROUPS 2
#define TAKES 2

/* The two primaries. */
byte epoch[2] = 1;
byte owner[2];
bool has_row[2]; /* in the inbox */
bool has_run[2]; /* a group of the log has taken the row */
bool row_is_unsafe;
bool is_there[2]; /* a primary that can be reached */
bool promoted;

mtype = { FOLLOWING, OWNING, UNKNOWN, DEAD };

mtype role[2] = FOLLOWING;
byte at[2];         /* the primary that it is connected to */
byte line[2];       /* the highest that it has seen */
byte disk_line[2];  /* the same on its disk */
byte my_epoch[2];
bool fresh[2];      /* the row of the partition has not changed since it was read on this connection */
bool waited[2];     /* for a lease, since then */
bool leased[2];
bool has_news[2];   /* a group that was confirmed, and not acknowledged */
bool in_hand[2];    /* the next group has the row of the inbox */

bool told_new[2]; /* a node has acknowledged a group on the new primary */

byte takes_left = TAKES;
byte losses_left = LOSSES;
byte groups_left = GROUPS;
bool may_beat = true;
bool may_put = true;
bool may_come_back = true;
bool calm; /* from now on nothing fails */

#ifdef MUTANT_ANSWERS_BEFORE_DISK
#define MAY_ANSWER(n) (leased[n])
#else
#define MAY_ANSWER(n) (leased[n] && disk_line[n] == line[n])
#endif
#ifdef MUTANT_USES_OLD_LINE
#define MAY_USE(n, primary) (is_there[primary])
#else
#define MAY_USE(n, primary) (is_there[primary] && (primary) >= line[n])
#endif
#define OWNS(n) (epoch[at[n]] == my_epoch[n] && owner[at[n]] == (n))
#define IS_SERVING(n) (role[n] == OWNING && OWNS(n))

inline change_row(primary)
{
    if
    :: at[0] == primary -> fresh[0] = false; waited[0] = false
    :: else -> skip
    fi;
    if
    :: at[1] == primary -> fresh[1] = false; waited[1] = false
    :: else -> skip
    fi
}

/* A fenced write was confirmed. So the standby has everything that was written before it. */
inline confirm(n)
{
    change_row(at[n]);
    leased[n] = true;
    if
    :: at[n] == OLD -> row_is_unsafe = false
    :: else -> skip
    fi;
    assert(!MAY_ANSWER(0) || !MAY_ANSWER(1))
}

inline leave_connection(n)
{
    at[n] = NOWHERE;
    fresh[n] = false;
    waited[n] = false
}

inline follow(n)
{
    role[n] = FOLLOWING;
    leased[n] = false;
    has_news[n] = false;
    in_hand[n] = false;
    leave_connection(n)
}

inline connect(n, primary)
{
    at[n] = primary;
    if
    :: line[n] < primary -> line[n] = primary
    :: else -> skip
    fi
}

inline lose_connection(n)
{
    leave_connection(n);
    role[n] = (role[n] == OWNING -> UNKNOWN : role[n])
}

inline start_again(n)
{
    follow(n);
#ifdef MUTANT_LINE_IN_MEMORY
    disk_line[n] = OLD;
#endif
    line[n] = disk_line[n]
}

inline take_over(n)
{
    takes_left--;
    epoch[at[n]]++;
    owner[at[n]] = n;
    my_epoch[n] = epoch[at[n]];
    role[n] = OWNING;
    confirm(n)
}

/* A barrier, on a new connection. */
inline ask(n)
{
    if
    :: OWNS(n) -> role[n] = OWNING; confirm(n)
    :: else -> follow(n)
    fi
}

inline write_group(n)
{
    groups_left--;
    has_news[n] = true;
    confirm(n)
}

/* The group in flight has the row of the inbox, and the statement takes it out. */
inline append_with_row(n)
{
    if
#ifdef MUTANT_ROW_NOT_MISSED
    :: true ->
#else
    :: has_row[at[n]] ->
#endif
        assert(has_row[at[n]] && !has_run[at[n]]);
        has_run[at[n]] = true;
#ifndef MUTANT_ROW_STAYS
        has_row[at[n]] = false;
#endif
        in_hand[n] = false;
        write_group(n)
#ifndef MUTANT_ROW_NOT_MISSED
#ifdef MUTANT_TRIES_AGAIN
    :: else -> skip
#else
    :: else -> follow(n)
#endif
#endif
    fi
}

inline acknowledge(n)
{
    has_news[n] = false;
    assert(at[n] == NEW || (!told_new[0] && !told_new[1]));
    told_new[n] = told_new[n] || at[n] == NEW
}

#define LIVES(n) (role[n] != DEAD)
#define IS_READING(n) (role[n] == FOLLOWING && at[n] != NOWHERE)

proctype node(byte n)
{
end:
    do
    :: d_step { LIVES(n) && at[n] == NOWHERE && MAY_USE(n, OLD) -> connect(n, OLD) }
    :: d_step { LIVES(n) && at[n] == NOWHERE && MAY_USE(n, NEW) -> connect(n, NEW) }
    :: d_step { LIVES(n) && disk_line[n] != line[n] -> disk_line[n] = line[n] }
    :: d_step { IS_READING(n) && !fresh[n] -> fresh[n] = true }
    :: d_step { IS_READING(n) && fresh[n] && waited[n] && takes_left > 0 -> take_over(n) }
    :: d_step { role[n] == UNKNOWN && at[n] != NOWHERE -> ask(n) }
    :: d_step { role[n] == OWNING && !OWNS(n) -> follow(n) }
    :: d_step { IS_SERVING(n) && may_beat -> may_beat = false; confirm(n) }
    :: d_step { IS_SERVING(n) && has_row[at[n]] && !in_hand[n] && groups_left > 0 -> in_hand[n] = true }
    :: d_step { IS_SERVING(n) && !in_hand[n] && groups_left > 0 && !has_news[n] -> write_group(n) }
    :: d_step { IS_SERVING(n) && in_hand[n] && groups_left > 0 && !has_news[n] -> append_with_row(n) }
    :: d_step { role[n] == OWNING && has_news[n] && MAY_ANSWER(n) -> acknowledge(n) }
    :: d_step { LIVES(n) && losses_left > 0 && at[n] != NOWHERE -> losses_left--; lose_connection(n) }
    :: d_step { LIVES(n) && losses_left > 0 -> losses_left--; start_again(n) }
    :: d_step { LIVES(n) && losses_left > 0 ->
            losses_left--;
            follow(n);
            role[n] = DEAD;
            line[n] = OLD;
            disk_line[n] = OLD }
    od
}

#define KNOWS_NEW_LINE(n, other) (!LIVES(n) || disk_line[n] == NEW || (!LIVES(other) && !told_new[other]))
#define IS_YOUNG(n) (leased[n] || (IS_READING(n) && fresh[n] && !waited[n]))
#define IS_OWNED(primary) \
    (owner[primary] != NOBODY && role[owner[primary]] == OWNING && at[owner[primary]] == primary && \
     my_epoch[owner[primary]] == epoch[primary])

inline pass_time(n)
{
    leased[n] = false;
    waited[n] = IS_READING(n) && fresh[n]
}

inline meet_promotion(n)
{
    if
    :: LIVES(n) -> lose_connection(n)
    :: else -> skip
    fi
}

proctype world()
{
    do
    :: d_step { may_put && !promoted -> may_put = false; has_row[OLD] = true; row_is_unsafe = true }
    :: d_step { row_is_unsafe && !promoted -> row_is_unsafe = false }
    :: d_step { !promoted && !calm ->
            promoted = true;
            may_put = false;
            epoch[NEW] = epoch[OLD];
            owner[NEW] = owner[OLD];
            has_row[NEW] = has_row[OLD] && !row_is_unsafe;
            has_run[NEW] = has_run[OLD];
            is_there[NEW] = true;
            is_there[OLD] = false;
            meet_promotion(0);
            meet_promotion(1) }
    :: d_step { promoted && may_come_back && KNOWS_NEW_LINE(0, 1) && KNOWS_NEW_LINE(1, 0) ->
            may_come_back = false;
            is_there[OLD] = true }
    :: d_step { IS_YOUNG(0) || IS_YOUNG(1) -> pass_time(0); pass_time(1) }
    :: d_step { !calm ->
            calm = true;
            losses_left = 0;
            may_put = false;
            may_come_back = false }
    :: timeout -> break
    od;
    assert(takes_left == 0 || IS_OWNED(OLD) || IS_OWNED(NEW) || (role[0] == DEAD && role[1] == DEAD))
}

init
{
    atomic {
        role[0] = OWNING;
        my_epoch[0] = 1;
        is_there[OLD] = true;
        epoch[NEW] = 0;
        run node(0);
        run node(1);
        run world()
    }
}
