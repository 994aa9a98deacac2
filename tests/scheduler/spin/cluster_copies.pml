/*
 * Where the copies of a partition lie, and who notices that the database lost groups:
 * src/cluster/ownership/partition.h, with three nodes. cluster_ownership.pml has the single
 * statement, its lost answer and its late execution; here a statement is one step.
 *
 * Node 0 owns the partition at the beginning, node 1 follows it with a copy, and node 2 has none:
 * it only reads the row. It may be in the list of replicas, and builds a copy then, or when nobody
 * with a copy takes over. Every node is a witness: it knows a place of the log, a group with its
 * hash, that is certainly durable, from two rows of one connection, from the log, or from the
 * owner's news. A group stands for its hash, and for the whole log up to it, because the hash of a
 * group tells the group before it. The owner appends, moves the tail, and releases the partition.
 * Anybody changes the list of replicas to anything. A commit may be cancelled, so that the right
 * standby, which is promoted then, lacks its group (R6). A standby may receive nothing from a write
 * on, and be promoted later all the same: that is the wrong one. Nodes die with their disks, or
 * start again with what they have on them. Time passes for all in ticks. One is a lease. A
 * connected node looks at a promoted server within one and a half leases, so before the second
 * tick.
 *
 * Shown: unless the wrong standby was promoted, one node answers at a time, and what was
 * acknowledged is in the log of the primary, at a new owner, and never below the tail without a
 * copy above it. No node says that groups are lost if none are. A node that has looked at the
 * primary, and goes on, knows of no lost group that does not stand in the mark or in `missed`,
 * unless the log was trimmed behind that group before the node came. The mark comes before a
 * take-over, if a node that knows of the loss looks in time; but a node that started after the
 * promotion waits for one lease only. A directory that is given up has nothing that the database
 * lacks, and leaves an owner and one follower with complete copies, if no node has died. In the end
 * somebody owns the partition, if anybody can.
 *
 * check.sh searches this with two groups, one take-over, one promotion, and one more event. Nothing
 * was found either with three groups (-DGROUPS=3, 8.9 million states), with two events
 * (-DEVENTS=2, 10.9 million) or with two take-overs (-DTAKES=2, 6.9 million).
 *
 * A node that has stopped counts as dead for those that help out. In the program it may go on with other
 * partitions, and be an heir; then N3 and N4 of guests.h bring others.
 *
 * Not modelled: R7 and R10 (cluster_lines.pml), R12 and R13. A take-over, a beat or a mark whose
 * outcome is unclear (cluster_ownership.pml). The dropping of tables, which is one step with the
 * beat that confirms the tail (R9), and a tail that is held for a reader. A node without a copy
 * takes over when it lacks one group, not 64. Two promotions. Directories that are renamed first
 * and removed later, flags `ready` that are old (cluster_give_up.pml), the balancer's rules, what operators do about a
 * mark, and a loss that is found when the log was trimmed behind it.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_NO_WITNESSES            a node without a copy remembers no place
 *   MUTANT_WITNESS_IN_MEMORY       the place that a node without a copy knows is not on its disk
 *   MUTANT_SEEN_ELSEWHERE          a row of the old primary and one of the new make a group durable
 *   MUTANT_NOT_COMPARED            a node that comes back replaces the place that it knows, although
 *                                  it has compared it with the row alone, and not with the log
 *   MUTANT_NEWS_NOT_COMPARED       it replaces it by what an owner tells
 *   MUTANT_TAKES_AT_ONCE           a node takes over without waiting for the lease
 *   MUTANT_NOT_WARY                on a new timeline a node takes over after one lease
 *   MUTANT_ONLY_REPLICAS           a node that is no replica never takes over
 *   MUTANT_TAKES_UNREAD            a new owner does not read the log to its end
 *   MUTANT_GIVEN_UP_UNREADY        a directory is given up while the others are not ready
 *   MUTANT_OWNER_IS_ANOTHER        the owner counts as one of the F others that are ready
 *   MUTANT_GIVEN_UP_UNOWNED        a directory is given up while nobody owns the partition
 *   MUTANT_GIVEN_UP_BY_NUMBER      a directory is given up when the log is as long, whatever the hash
 *   MUTANT_GIVEN_UP_WHILE_MARKED   a node that stopped, for a mark or for what it misses, gives its
 *                                  directory up
 *   MUTANT_TRIMS_AHEAD             the tail is above the last confirmed group, which has the copies
 *                                  of what lived below
 *   MUTANT_DROPS_EARLY             a table is dropped when the beat with the tail is sent
 *   MUTANT_STOPS_AT_UNCONFIRMED    a node that has one group more than the database takes it for lost
 */
#if defined(MUTANT_SEEN_ELSEWHERE) || defined(MUTANT_NOT_COMPARED) || \
    defined(MUTANT_NEWS_NOT_COMPARED) || defined(MUTANT_GIVEN_UP_BY_NUMBER) || \
    defined(MUTANT_GIVEN_UP_WHILE_MARKED)
#define GROUPS 3
#elif !defined(GROUPS)
#define GROUPS 2
#endif
#ifndef TAKES
#define TAKES 1
#endif
/* A mutant that needs many steps to be found out is searched with those faults alone that it needs,
 * because all of them take too long. */
#if defined(MUTANT_WITNESS_IN_MEMORY) || defined(MUTANT_NOT_COMPARED) || defined(MUTANT_NEWS_NOT_COMPARED)
#define EVENTS 2
#define DEATHS(n) ((n) == 0 && promoted)
#ifdef MUTANT_WITNESS_IN_MEMORY
#define RESTARTS(n) ((n) == 2)
#else
#define RESTARTS(n) ((n) == 2 && promoted)
#endif
#define LISTS false
#define CANCELS false
#define OTHER_EVENTS false
#elif defined(MUTANT_ONLY_REPLICAS)
#define EVENTS 2
#define DEATHS(n) ((n) != 2)
#define RESTARTS(n) false
#define LISTS false
#define CANCELS false
#define OTHER_EVENTS false
#elif defined(MUTANT_GIVEN_UP_BY_NUMBER) || defined(MUTANT_GIVEN_UP_WHILE_MARKED)
#define EVENTS 2
#define DEATHS(n) false
#define RESTARTS(n) ((n) == 0 && behind)
#define LISTS (owner == 2 && groups == GROUPS)
#define TAKES_PART(n) ((n) == 2 && promoted)
#define CANCELS false
#define OTHER_EVENTS false
#elif defined(MUTANT_GIVEN_UP_UNOWNED)
#define EVENTS 2
#define DEATHS(n) false
#define RESTARTS(n) false
#define LISTS true
#define CANCELS false
#define OTHER_EVENTS true
#elif defined(MUTANT_SEEN_ELSEWHERE)
#define EVENTS 1
#define DEATHS(n) false
#define RESTARTS(n) false
#define LISTS false
#define CANCELS true
#define OTHER_EVENTS false
#else
#ifdef SHORT
#define EVENTS 0
#elif !defined(EVENTS)
#define EVENTS 1
#endif
#define DEATHS(n) true
#define RESTARTS(n) true
#define LISTS true
#define CANCELS true
#define OTHER_EVENTS true
#endif
#ifndef TAKES_PART
#define TAKES_PART(n) true
#endif
#define OTHERS 1 /* F: ready followers besides the owner */
#define NODES 3
#define NOBODY NODES
#define NONE 15

/* Groups, by numbers in the order in which they were made. Group 0 is the beginning. */
byte groups;
byte before[GROUPS + 1]; /* the group before it */
byte number[GROUPS + 1]; /* its number in the log */

/* The row, as the primary shows it. */
byte epoch = 1;
byte owner;
byte last;     /* the last group */
byte tail = 1; /* a number */
byte list; /* the replicas, a bit for each node */
bool mark;
bool missed;
bool unsafe; /* the right standby lacks the last group */

/* The row, as a standby has it that receives nothing any more. */
bool behind;
byte behind_epoch;
byte behind_owner;
byte behind_last;
byte behind_tail;
byte behind_list;

mtype = { FOLLOWING, OWNING, UNKNOWN, MARKING, STOPPED, DEAD };
mtype = { NO_COPY, BUILDING, COMPLETE };

mtype role[NODES] = FOLLOWING;
mtype copy[NODES] = NO_COPY;
byte copied[NODES];           /* the last group of the directory */
byte known[NODES];           /* the last group known to be durable */
byte seen[NODES];            /* the last group of the row as read on this connection, or NONE */
bool fresh[NODES];           /* the row has not changed since */
bool waited[NODES];          /* for a lease, since then */
byte wary[NODES];            /* ticks before a take-over, on a new timeline */
bool line_is_new[NODES];     /* to this node */
byte my_epoch[NODES];        /* the highest epoch that it has owned */
byte seen_epoch[NODES] = 1;  /* the highest one in which the log continued what it knows */
bool answers[NODES];         /* its lease is not over */
byte in_flight[NODES];       /* a group that was appended by an unclear write */
byte due[NODES];             /* ticks + 1 until it has to look at a promoted server; 0: it has, or need not */

/* What some client knows, and what each node ever had reason to know. */
byte told;
byte knew[NODES];
bool lossy; /* the wrong standby was promoted, and lacks a write */
bool promoted;

byte takes_left = TAKES;
byte events_left = EVENTS; /* faults, changes of the list, and what an owner may do or not */
bool has_died;
bool has_restarted; /* since the promotion: such a node waits for one lease only */

#ifdef MUTANT_SEEN_ELSEWHERE
byte seen_elsewhere[NODES] = NONE;
#endif
#ifdef MUTANT_DROPS_EARLY
byte dropped_below = 1;
#endif

/* The log that ends with `end` has the group. */
#define HAS(end, group) \
    ((group) == 0 || (end) == (group) || before[end] == (group) || before[before[end]] == (group) || \
     before[before[before[end]]] == (group))
/* The group with the number `n` of the log that ends with `end`. */
#define AT(end, n) \
    (number[end] == (n) -> (end) : (number[before[end]] == (n) -> before[end] : \
     (number[before[before[end]]] == (n) -> before[before[end]] : before[before[before[end]]])))
#define NEXT(group) AT(last, number[group] + 1)

#define NAMED(n) ((list >> (n)) & 1)
#define LACKS_FEW(n) (number[copied[n]] + 1 >= number[last])
#define IS_READY(n) (role[n] == FOLLOWING && owner != n && copy[n] == COMPLETE && NAMED(n) && LACKS_FEW(n))
#define IS_OTHER_READY(n, other) ((other) != (n) && IS_READY(other))
#define OTHERS_READY(n) (IS_OTHER_READY(n, 0) + IS_OTHER_READY(n, 1) + IS_OTHER_READY(n, 2))
#define OWNS(n) (epoch == my_epoch[n] && owner == (n))

/* elapse__row_has_lost, and elapse__mark_compared */
#define LOST_BY_ROW(n) \
    (epoch < my_epoch[n] || number[last] < number[known[n]] || \
     (number[last] == number[known[n]] && last != known[n]))
#define LOST_BY_LOG(n) \
    (number[last] > number[known[n]] && number[known[n]] + 1 >= tail && before[NEXT(known[n])] != known[n])
#if defined(MUTANT_NOT_COMPARED)
#define HAS_LOST(n) (LOST_BY_ROW(n) || (copy[n] != NO_COPY && LOST_BY_LOG(n)))
#elif defined(MUTANT_GIVEN_UP_BY_NUMBER)
#define HAS_LOST(n) (LOST_BY_ROW(n) || (copy[n] == NO_COPY && LOST_BY_LOG(n)))
#else
#define HAS_LOST(n) (LOST_BY_ROW(n) || LOST_BY_LOG(n))
#endif
#define LACKS_KNOWN(n) (!HAS(last, knew[n]))

/* ---- small steps ---- */

inline change_row()
{
    fresh[0] = false;
    fresh[1] = false;
    fresh[2] = false;
    waited[0] = false;
    waited[1] = false;
    waited[2] = false
}

/* A fenced write was confirmed. */
inline confirm(n)
{
    unsafe = false;
    change_row();
    answers[n] = true;
    assert(lossy || answers[0] + answers[1] + answers[2] == 1)
}

inline learn(n, group)
{
#ifdef MUTANT_NO_WITNESSES
    if
    :: copy[n] != NO_COPY -> known[n] = group
    :: else -> skip
    fi;
#else
    known[n] = group;
#endif
    if
    :: HAS(group, knew[n]) -> knew[n] = group
    :: else -> skip
    fi
}

inline have(n, group)
{
    copied[n] = group;
    learn(n, group)
}

inline tell(group)
{
    if
    :: lossy -> told = 0
    :: else ->
        assert(HAS(group, told));
        told = group
    fi
}

inline leave_connection(n)
{
    seen[n] = NONE;
    fresh[n] = false;
    waited[n] = false
}

inline give_up_epoch(n)
{
    answers[n] = false;
    in_flight[n] = 0;
    leave_connection(n)
}

inline follow(n)
{
    role[n] = FOLLOWING;
    give_up_epoch(n)
}

inline stop(n)
{
    role[n] = STOPPED;
    give_up_epoch(n);
    due[n] = 0;
    wary[n] = 0;
    line_is_new[n] = false
}

/* elapse__row_rebuild: the directory begins anew, before the tail */
inline rebuild(n)
{
    copied[n] = (last == 0 -> 0 : before[AT(last, tail)]);
    copy[n] = (LACKS_FEW(n) -> COMPLETE : BUILDING)
}

/* ---- a follower, or a node without a copy ---- */

/* The last group of the directory may be the one above the durable ones. */
#define IS_UNCONFIRMED(n) (!HAS(known[n], copied[n]))
#define LEADS_ELSEWHERE(n) \
    (copy[n] != NO_COPY && (number[copied[n]] > number[last] || (number[copied[n]] == number[last] && copied[n] != last)))

/* R4 */
inline meet_line(n)
{
    if
    :: line_is_new[n] ->
        line_is_new[n] = false;
#ifdef MUTANT_NOT_WARY
        wary[n] = 1
#else
        wary[n] = 2
#endif
    :: else -> skip
    fi
}

/* A loss stands in the row, or the log was trimmed behind it. */
#define IS_NOTICED(n) (HAS(last, knew[n]) || mark || missed || number[knew[n]] + 1 < tail)

inline note_row(n)
{
    if
#ifdef MUTANT_SEEN_ELSEWHERE
    :: seen[n] == NONE && seen_elsewhere[n] != NONE ->
        if
        :: number[seen_elsewhere[n]] < number[last] && number[seen_elsewhere[n]] > number[known[n]] ->
            learn(n, seen_elsewhere[n])
        :: else -> skip
        fi;
        seen_elsewhere[n] = NONE
#endif
#ifdef MUTANT_GIVEN_UP_BY_NUMBER
    :: copy[n] != NO_COPY -> skip
#endif
    :: seen[n] != NONE && number[seen[n]] < number[last] && number[seen[n]] > number[known[n]] ->
        learn(n, seen[n])
    :: else -> skip
    fi;
    meet_line(n);
    if
#ifdef MUTANT_STOPS_AT_UNCONFIRMED
    :: LEADS_ELSEWHERE(n) -> role[n] = MARKING
#else
    :: LEADS_ELSEWHERE(n) -> rebuild(n)
#endif
    :: copy[n] == BUILDING && !LEADS_ELSEWHERE(n) && LACKS_FEW(n) -> copy[n] = COMPLETE
    :: else -> skip
    fi;
    seen_epoch[n] = epoch;
    seen[n] = last;
    fresh[n] = true;
    due[n] = 0;
#ifdef MUTANT_GIVEN_UP_BY_NUMBER
    assert(copy[n] != NO_COPY || IS_NOTICED(n)) /* the others notice it when they read the log */
#else
    assert(IS_NOTICED(n))
#endif
}

inline look(n)
{
    if
    :: HAS_LOST(n) -> role[n] = MARKING; leave_connection(n)
    :: !HAS_LOST(n) && mark -> stop(n)
    :: else -> note_row(n)
    fi
}

#define IS_CONNECTED(n) (role[n] == FOLLOWING && seen[n] != NONE)

/* elapse__follow_log, one group */
inline read_log(n)
{
#ifdef MUTANT_DROPS_EARLY
    assert(number[copied[n]] + 1 < tail || number[copied[n]] + 1 >= dropped_below);
#endif
    if
    :: number[copied[n]] + 1 < tail -> rebuild(n)
    :: number[copied[n]] + 1 >= tail && before[NEXT(copied[n])] != copied[n] ->
        if
        :: IS_UNCONFIRMED(n) -> rebuild(n)
        :: else -> role[n] = MARKING; leave_connection(n)
        fi
    :: else ->
        if
        :: number[copied[n]] > number[known[n]] -> learn(n, copied[n])
        :: else -> skip
        fi;
        copied[n] = NEXT(copied[n]);
        if
        :: LACKS_FEW(n) -> copy[n] = COMPLETE
        :: else -> skip
        fi
    fi
}

/* A node that is no replica comes when no heir lives (N2 of guests.h). */
#define IS_HEIR(m, n) ((m) != (n) && LIVES(m) && (NAMED(m) || owner == (m)))
#define HAS_HEIR(n) (IS_HEIR(0, n) || IS_HEIR(1, n) || IS_HEIR(2, n))
#ifdef MUTANT_ONLY_REPLICAS
#define HELPS_OUT(n) false
#else
#define HELPS_OUT(n) (waited[n] && wary[n] == 0 && takes_left > 0 && !HAS_HEIR(n))
#endif

#ifdef MUTANT_TAKES_AT_ONCE
#define MAY_TAKE(n) true
#else
#define MAY_TAKE(n) ((waited[n] || owner == NOBODY) && wary[n] == 0)
#endif

#define IS_MARKED_IN_TIME(n) (due[n] == 0 || !LACKS_KNOWN(n))

inline take_over(n)
{
    takes_left--;
    assert(has_restarted || (IS_MARKED_IN_TIME(0) && IS_MARKED_IN_TIME(1) && IS_MARKED_IN_TIME(2)));
    assert(tail == 1 || tail <= number[last]);
    epoch++;
    owner = n;
    my_epoch[n] = epoch;
    seen_epoch[n] = epoch;
    seen[n] = 0;
    role[n] = OWNING;
    confirm(n);
#ifdef MUTANT_TAKES_UNREAD
    learn(n, copied[n]);
#else
    have(n, last);
#endif
    assert(lossy || HAS(copied[n], told))
}

/* Node n has no directory any more. */
#define IS_COMPLETE(n) (role[n] != DEAD && copy[n] == COMPLETE)

inline give_up_directory(n)
{
    assert(HAS(last, copied[n]));
    copy[n] = NO_COPY;
    copied[n] = 0;
    assert(has_died || IS_COMPLETE(0) + IS_COMPLETE(1) + IS_COMPLETE(2) >= OTHERS + 1)
}

#define GOES_ON(n) (copied[n] == last || (number[copied[n]] + 1 >= tail && before[NEXT(copied[n])] == copied[n]))
#define IS_AS_LONG(n) (number[copied[n]] <= number[last])
#define HAS_OWNER (owner != NOBODY && role[owner] == OWNING && OWNS(owner))
#if defined(MUTANT_GIVEN_UP_UNREADY)
#define ARE_OTHERS_READY(n) true
#elif defined(MUTANT_OWNER_IS_ANOTHER)
#define ARE_OTHERS_READY(n) (OTHERS_READY(n) + HAS_OWNER >= OTHERS)
#elif defined(MUTANT_GIVEN_UP_UNOWNED)
#define ARE_OTHERS_READY(n) (OTHERS_READY(n) >= OTHERS)
#else
#define ARE_OTHERS_READY(n) (OTHERS_READY(n) + HAS_OWNER >= OTHERS + 1)
#endif

#if defined(MUTANT_GIVEN_UP_BY_NUMBER)
#define MAY_GIVE_UP(n) (IS_CONNECTED(n) && fresh[n] && IS_AS_LONG(n))
#elif defined(MUTANT_GIVEN_UP_WHILE_MARKED)
#define MAY_GIVE_UP(n) (((IS_CONNECTED(n) && fresh[n]) || role[n] == STOPPED) && IS_AS_LONG(n))
#else
#define MAY_GIVE_UP(n) (IS_CONNECTED(n) && fresh[n] && IS_AS_LONG(n) && GOES_ON(n))
#endif

/* ---- a node that knows of a loss ---- */

/* MARK of statements.h. Time may have passed since the node found the loss. A node whose directory
 * lacks nothing forgets what it knew, and goes on if the others do. */
inline write_mark(n)
{
    assert(lossy);
    if
    :: epoch <= seen_epoch[n] ->
        mark = true;
        epoch = seen_epoch[n]
    :: else -> missed = true
    fi;
    change_row();
    if
    :: !mark && epoch >= my_epoch[n] && HAS(last, copied[n]) ->
        known[n] = 0;
        knew[n] = 0;
        due[n] = 0;
        follow(n)
    :: else -> stop(n)
    fi
}

/* ---- an owner ---- */

inline write_group()
{
    groups++;
    before[groups] = last;
    number[groups] = number[last] + 1;
    last = groups
}

inline append(n)
{
    write_group();
    have(n, groups);
    tell(groups);
    confirm(n)
}

/* The wait for the standby is cancelled. */
inline append_unclearly(n)
{
    write_group();
    unsafe = true;
    in_flight[n] = groups;
    role[n] = UNKNOWN;
    change_row()
}

/* From now on one standby receives nothing. */
inline fall_behind()
{
    behind = true;
    behind_epoch = epoch;
    behind_owner = owner;
    behind_last = last;
    behind_tail = tail;
    behind_list = list
}

#define IS_SERVING(n) (role[n] == OWNING && OWNS(n) && !mark)

/* News of the owner's confirmed place. */
#ifdef MUTANT_NEWS_NOT_COMPARED
#define TAKES_NEWS(n, from) (role[n] == FOLLOWING)
#else
#define TAKES_NEWS(n, from) (IS_CONNECTED(n) && seen_epoch[n] == my_epoch[from])
#endif
#define MAY_TELL(from, n) \
    ((n) != (from) && answers[from] && role[from] == OWNING && TAKES_NEWS(n, from) && \
     number[known[from]] > number[known[n]] && number[known[from]] > number[knew[n]])

/* UNKNOWN: looks at the row on a new connection, and then writes a barrier. */
inline decide(n)
{
    if
    :: last == in_flight[n] && in_flight[n] != 0 ->
        have(n, last);
        tell(last)
    :: else -> assert(last == known[n])
    fi;
    in_flight[n] = 0;
    seen[n] = 0;
    due[n] = 0;
    meet_line(n);
    role[n] = OWNING;
    confirm(n)
}

inline ask(n)
{
    if
    :: LOST_BY_ROW(n) -> role[n] = MARKING; give_up_epoch(n)
    :: !LOST_BY_ROW(n) && mark -> stop(n)
    :: !LOST_BY_ROW(n) && !mark && OWNS(n) -> decide(n)
    :: else -> follow(n)
    fi
}

/* ---- faults of a node ---- */

inline die(n)
{
    stop(n);
    role[n] = DEAD;
    has_died = true;
    copy[n] = NO_COPY;
    copied[n] = 0;
    known[n] = 0;
    knew[n] = 0;
    my_epoch[n] = 0;
    seen_epoch[n] = 0
}

inline start_again(n)
{
    follow(n);
    due[n] = 0;
    wary[n] = 0;
    has_restarted = promoted;
#ifdef MUTANT_WITNESS_IN_MEMORY
    if
    :: copy[n] == NO_COPY -> known[n] = 0
    :: else -> skip
    fi
#endif
}

#define CAN_FALL_BEHIND (!promoted && !behind && !unsafe)
#define WANTS(n) \
    (IS_CONNECTED(n) && fresh[n] && copy[n] == COMPLETE && takes_left > 0 && TAKES_PART(n) && \
     MAY_TAKE(n))
#define LIVES(n) (role[n] == FOLLOWING || role[n] == OWNING || role[n] == UNKNOWN || role[n] == MARKING)

proctype node(byte n)
{
end:
    do
    :: d_step { role[n] == FOLLOWING && !fresh[n] -> look(n) }
    :: d_step { IS_CONNECTED(n) && copy[n] != NO_COPY && number[copied[n]] < number[last] -> read_log(n) }
    :: d_step { IS_CONNECTED(n) && copy[n] == NO_COPY && fresh[n] && (NAMED(n) || HELPS_OUT(n)) -> rebuild(n) }
    :: d_step { WANTS(n) && CAN_FALL_BEHIND -> fall_behind(); take_over(n) }
    :: d_step { WANTS(n) -> take_over(n) }
    :: d_step { copy[n] != NO_COPY && !NAMED(n) && owner != n && !mark && MAY_GIVE_UP(n) && ARE_OTHERS_READY(n) ->
            give_up_directory(n) }
    :: d_step { role[n] == MARKING -> write_mark(n) }
    :: d_step { IS_SERVING(n) && groups < GROUPS && CAN_FALL_BEHIND -> fall_behind(); append(n) }
    :: d_step { IS_SERVING(n) && groups < GROUPS -> append(n) }
    :: d_step { IS_SERVING(n) && groups < GROUPS && CANCELS && events_left > 0 && !promoted ->
            events_left--;
            append_unclearly(n) }
#ifdef MUTANT_TRIMS_AHEAD
    :: d_step { IS_SERVING(n) && OTHER_EVENTS && events_left > 0 -> events_left--; tail = number[known[n]] + 1; confirm(n) }
#else
    :: d_step { IS_SERVING(n) && OTHER_EVENTS && events_left > 0 && number[known[n]] > tail ->
            events_left--;
            tail = number[known[n]];
            confirm(n) }
#endif
#ifdef MUTANT_DROPS_EARLY
    :: d_step { IS_SERVING(n) && number[known[n]] > dropped_below -> dropped_below = number[known[n]] }
#endif
    :: d_step { IS_SERVING(n) && OTHER_EVENTS && events_left > 0 -> events_left--; owner = NOBODY; change_row(); follow(n) }
    :: d_step { MAY_TELL(n, 0) -> learn(0, known[n]) }
    :: d_step { MAY_TELL(n, 1) -> learn(1, known[n]) }
    :: d_step { MAY_TELL(n, 2) -> learn(2, known[n]) }
    :: d_step { role[n] == OWNING && !IS_SERVING(n) -> follow(n) }
    :: d_step { role[n] == UNKNOWN -> ask(n) }
    :: d_step { LIVES(n) && DEATHS(n) && events_left > 0 -> events_left--; die(n) }
    :: d_step { LIVES(n) && RESTARTS(n) && events_left > 0 && seen[n] != NONE -> events_left--; start_again(n) }
    od
}

/* A new primary. The statements that the old one had are lost with it. */
inline meet_new_line(n)
{
    if
    :: LIVES(n) ->
#ifdef MUTANT_SEEN_ELSEWHERE
        seen_elsewhere[n] = seen[n];
#endif
        due[n] = (seen[n] != NONE || role[n] == UNKNOWN -> 2 : 0);
        line_is_new[n] = true;
        if
        :: role[n] == OWNING -> role[n] = UNKNOWN
        :: else -> skip
        fi;
        leave_connection(n)
    :: else -> skip
    fi
}

inline forget_standby()
{
    behind = false;
    behind_epoch = 0;
    behind_owner = 0;
    behind_last = 0;
    behind_tail = 0;
    behind_list = 0
}

inline promote()
{
    promoted = true;
    unsafe = false;
    forget_standby();
    meet_new_line(0);
    meet_new_line(1);
    meet_new_line(2);
    assert(lossy || HAS(last, told))
}

#define WAITS(n) (wary[n] > 0 || due[n] == 2 || (role[n] == FOLLOWING && fresh[n] && !waited[n]))

inline pass_time(n)
{
    answers[n] = false;
    waited[n] = role[n] == FOLLOWING && fresh[n];
    wary[n] = (wary[n] > 0 -> wary[n] - 1 : 0);
    due[n] = (due[n] > 0 -> due[n] - 1 : 0)
}

proctype world()
{
    do
    :: d_step { !promoted && unsafe -> last = before[last]; promote() }
    :: d_step { !promoted && behind ->
            lossy = behind_last != (unsafe -> before[last] : last) || behind_epoch != epoch;
            epoch = behind_epoch;
            owner = behind_owner;
            last = behind_last;
            tail = behind_tail;
            list = behind_list;
            promote() }
    :: d_step { LISTS && events_left > 0 -> events_left--; list = list ^ 1 }
    :: d_step { LISTS && events_left > 0 -> events_left--; list = list ^ 2 }
    :: d_step { LISTS && events_left > 0 -> events_left--; list = list ^ 4 }
    :: d_step { (WAITS(0) || WAITS(1) || WAITS(2)) && due[0] != 1 && due[1] != 1 && due[2] != 1 ->
            pass_time(0);
            pass_time(1);
            pass_time(2) }
    :: timeout -> break
    od;
    assert(mark || takes_left == 0 || HAS_OWNER ||
           (role[0] != FOLLOWING && role[1] != FOLLOWING && role[2] != FOLLOWING))
}

init
{
    atomic {
        if
        :: list = 3
        :: list = 7
        fi;
        role[0] = OWNING;
        my_epoch[0] = 1;
        copy[0] = COMPLETE;
        copy[1] = COMPLETE;
        fresh[1] = true;
        fresh[2] = true;
        run node(0);
        run node(1);
        run node(2);
        run world()
    }
}
