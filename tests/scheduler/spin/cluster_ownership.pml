/*
 * Who owns a partition of a cluster: src/cluster/, with a database that loses connections and
 * fails over to its standby.
 *
 * Nodes send statements to the primary; one is under way for each node. A write locks the row, is
 * in the log of the primary, then on the standby, and only then visible and answered. In between
 * the connection may be lost, and the statement run later; the wait may be cancelled, which makes
 * the write visible without a standby; and the standby may be promoted, which undoes what it has
 * not. Time passes for all in ticks: L of them are a lease, and an owner answers for less.
 *
 * Shown: at most one node answers, and what it knows has everything that was ever answered; what
 * was answered is on the standby, and is there after the fail-over; no number of a group is taken
 * twice; an owner never finds its log otherwise than it has written it.
 *
 * Mutants, one macro each, that have to be found out:
 *   MUTANT_FENCE_IS_A_CONDITION    an append looks at the epoch, and does not update the row
 *   MUTANT_NO_BARRIER              after an unclear outcome the row is read, not written
 *   MUTANT_CLOCK_OF_ANOTHER        the lease is measured by the clock of the database, which is set
 *   MUTANT_REPLY_BEFORE_ANSWER     a reply leaves when the append is sent
 *   MUTANT_ANSWERS_AFTER_LEASE     an owner answers as long as it does not know better
 *   MUTANT_READS_BEFORE_EPOCH      a node reads the log, and then takes the epoch
 *   MUTANT_LEASE_FROM_RECEIPT      the lease is counted from the answer, not from the sending
 *   MUTANT_NOTICE_IS_SUCCESS       a cancelled commit counts as confirmed
 *   MUTANT_EPOCH_ALONE             a barrier believes the epoch, and not the name of the owner
 *   MUTANT_TAKES_UNMATCHED         a take-over compares the epoch, and not the beat and the group
 *   MUTANT_SEEN_ELSEWHERE          what was seen on the old primary counts on the new one: a beat that
 *                                  went back comes again with the same number
 *   MUTANT_APPENDS_UNNUMBERED      an append takes the next number, whichever that is
 */
#define NODES 2
#define TAKES 2
#define BEATS 1
#define LOSSES 1
#if defined(LONG) || defined(MUTANT_APPENDS_UNNUMBERED)
#define GROUPS 2
#else
#define GROUPS 1
#endif
#define L 1 /* with 2, and two groups, there is no fault either, in 8.6 million states */
#define NOBODY NODES
#define NEVER 255

/* The row and its log: as it is visible, as the log of the primary has it, as the standby has it. */
#define VISIBLE 0
#define WRITTEN 1
#define STANDBY 2
byte epoch[3];
byte owner[3] = NOBODY;
byte beat[3];
byte last[3];
byte log1[3]; /* group 1: who wrote it; 0: not there */
byte log2[3];
bool pending;         /* the row is locked by a write that waits for the standby */
byte holder = NOBODY; /* the node whose statement that is; NOBODY: its connection is lost */

mtype = { FOLLOWING, TAKING, OWNING, UNKNOWN };
mtype = { IDLE, SENT, CHECKED, WAITING, YES, NO };
mtype = { TAKE, BEAT, APPEND };

mtype role[NODES] = FOLLOWING;
mtype statement[NODES] = IDLE;
mtype kind[NODES] = BEAT;
byte my_epoch[NODES];
bool owned[NODES];
byte seen_epoch[NODES];
byte seen_beat[NODES];
byte seen_last[NODES];
byte my_last[NODES];
byte my1[NODES];
byte my2[NODES];
bool flight[NODES]; /* group my_last + 1 is submitted, and not confirmed */
byte found_last[NODES]; /* what the row said in the answer */
byte found_writer[NODES];

/* Ticks; L stands for all that is longer. */
byte lease_age[NODES] = L; /* since the last confirmed write was sent */
byte sent_age[NODES];
byte seen_age[NODES] = L; /* since the row was seen to change */

/* A statement whose connection is lost, and which may still run. */
byte late_epoch[NODES];
byte late_number[NODES];

/* What some client knows. */
byte told_last;
byte told1;
byte told2;

byte takes_left = TAKES;
byte beats_left = BEATS;
byte losses_left = LOSSES;
bool may_cancel = true;
bool may_fail_over = true;
bool clock_was_set;

/* A group has its writer, and the epoch, as its content. */
#define WRITER(e, n) ((e) * 4 + (n) + 1)

#ifdef MUTANT_ANSWERS_AFTER_LEASE
#define MAY_ANSWER(n) (owned[n])
#else
#define MAY_ANSWER(n) (owned[n] && lease_age[n] < L)
#endif
#if NODES == 2
#define MAY_ANOTHER_ANSWER(n) MAY_ANSWER(1 - n)
#else
#define MAY_ANOTHER_ANSWER(n) \
    ((n != 0 && MAY_ANSWER(0)) || (n != 1 && MAY_ANSWER(1)) || (n != 2 && MAY_ANSWER(2)))
#endif

inline copy_row(from, to)
{
    epoch[to] = epoch[from];
    owner[to] = owner[from];
    beat[to] = beat[from];
    last[to] = last[from];
    log1[to] = log1[from];
    log2[to] = log2[from]
}

/* Replies leave that follow from groups up to `upto`. */
inline answer(n, upto)
{
    if
    :: MAY_ANSWER(n) ->
        assert(!MAY_ANOTHER_ANSWER(n));
        assert(upto >= told_last);
        assert(told_last < 1 || my1[n] == told1);
        assert(told_last < 2 || my2[n] == told2);
        assert(last[STANDBY] >= upto);
        assert(upto < 1 || log1[STANDBY] == my1[n]);
        assert(upto < 2 || log2[STANDBY] == my2[n]);
        told_last = upto;
        told1 = (upto >= 1 -> my1[n] : 0);
        told2 = (upto >= 2 -> my2[n] : 0)
    :: else -> skip
    fi
}

inline renew(n)
{
#ifdef MUTANT_LEASE_FROM_RECEIPT
    lease_age[n] = 0
#else
    lease_age[n] = sent_age[n]
#endif
}

inline send(n, what)
{
    kind[n] = what;
    statement[n] = SENT;
    sent_age[n] = 0
}

/* elapse__partition_follow */
inline become_follower(n)
{
    role[n] = FOLLOWING;
    owned[n] = false;
    flight[n] = false;
    my_epoch[n] = 0;
    my_last[n] = 0;
    my1[n] = 0;
    my2[n] = 0;
    lease_age[n] = L;
    seen_epoch[n] = NEVER;
    seen_age[n] = 0
}

/* elapse__partition_unclear */
inline lose_answer(n)
{
    statement[n] = IDLE;
    sent_age[n] = 0;
    found_last[n] = 0;
    found_writer[n] = 0;
    role[n] = UNKNOWN
}

/* ---- the database runs a statement ---- */

inline find(n, row)
{
    found_last[n] = last[row];
    found_writer[n] = (last[row] == 0 -> 0 : (last[row] == 1 -> log1[row] : log2[row]))
}

inline write_group(row, writer)
{
    last[row]++;
    if
    :: last[row] == 1 -> log1[row] = writer
    :: else -> log2[row] = writer
    fi
}

#ifdef MUTANT_TAKES_UNMATCHED
#define TAKE_MATCHES(n) (epoch[VISIBLE] == seen_epoch[n])
#else
#define TAKE_MATCHES(n) \
    (epoch[VISIBLE] == seen_epoch[n] && beat[VISIBLE] == seen_beat[n] && last[VISIBLE] == seen_last[n])
#endif
#ifdef MUTANT_EPOCH_ALONE
#define BEAT_MATCHES(n) (epoch[VISIBLE] == my_epoch[n])
#else
#define BEAT_MATCHES(n) (epoch[VISIBLE] == my_epoch[n] && owner[VISIBLE] == n)
#endif
#ifdef MUTANT_APPENDS_UNNUMBERED
#define APPEND_MATCHES(e, number) (epoch[VISIBLE] == e && last[VISIBLE] < GROUPS)
#else
#define APPEND_MATCHES(e, number) (epoch[VISIBLE] == e && last[VISIBLE] + 1 == number)
#endif

inline begin_write(n)
{
    pending = true;
    holder = n;
    statement[n] = WAITING
}

inline execute(n)
{
    if
    :: kind[n] == TAKE && TAKE_MATCHES(n) ->
        epoch[WRITTEN]++;
        owner[WRITTEN] = n;
        beat[WRITTEN]++;
        find(n, WRITTEN);
        begin_write(n)
    :: kind[n] == BEAT && BEAT_MATCHES(n) ->
        beat[WRITTEN]++;
        find(n, WRITTEN);
        begin_write(n)
#ifdef MUTANT_FENCE_IS_A_CONDITION
    :: kind[n] == APPEND && epoch[VISIBLE] == my_epoch[n] -> statement[n] = CHECKED
#else
    :: kind[n] == APPEND && APPEND_MATCHES(my_epoch[n], my_last[n] + 1) ->
        write_group(WRITTEN, WRITER(my_epoch[n], n));
        begin_write(n)
#endif
    :: else -> statement[n] = NO
    fi
}

/* ---- what the node makes of the answer ---- */

inline confirm_group(n)
{
    if
    :: my_last[n] == 0 -> my1[n] = WRITER(my_epoch[n], n)
    :: else -> my2[n] = WRITER(my_epoch[n], n)
    fi;
    my_last[n]++;
    flight[n] = false
}

/* elapse__own_taken, and catching up: what was in the log when the epoch was taken cannot change */
inline begin_epoch(n)
{
#ifndef MUTANT_READS_BEFORE_EPOCH
    my_last[n] = found_last[n];
    my1[n] = (my_last[n] >= 1 -> log1[VISIBLE] : 0);
    my2[n] = (my_last[n] >= 2 -> log2[VISIBLE] : 0);
#endif
    owned[n] = true;
    seen_epoch[n] = 0;
    seen_beat[n] = 0;
    seen_last[n] = 0;
    seen_age[n] = L;
    role[n] = OWNING
}

/* decide */
inline decide(n)
{
    if
    :: found_last[n] == my_last[n] ->
        assert(found_writer[n] == (my_last[n] == 0 -> 0 : (my_last[n] == 1 -> my1[n] : my2[n])))
    :: else ->
        assert(flight[n] && found_last[n] == my_last[n] + 1);
        assert(found_writer[n] == WRITER(my_epoch[n], n));
        confirm_group(n)
    fi;
    role[n] = OWNING
}

inline take_yes(n)
{
    if
    :: kind[n] == APPEND -> renew(n); confirm_group(n)
    :: kind[n] != APPEND && !owned[n] -> renew(n); begin_epoch(n)
    :: kind[n] != APPEND && owned[n] -> renew(n); decide(n)
    fi;
    answer(n, my_last[n])
}

inline take_no(n)
{
    if
    :: kind[n] == APPEND -> role[n] = UNKNOWN
    :: else -> become_follower(n)
    fi
}

inline forget_answer(n)
{
    statement[n] = IDLE;
    kind[n] = BEAT;
    sent_age[n] = 0;
    found_last[n] = 0;
    found_writer[n] = 0
}

#define SEES_NEWS(n) \
    (seen_epoch[n] != epoch[VISIBLE] || seen_beat[n] != beat[VISIBLE] || seen_last[n] != last[VISIBLE])

#ifdef MUTANT_CLOCK_OF_ANOTHER
#define LEASE_IS_OVER(n) (seen_age[n] >= L || clock_was_set)
#else
#define LEASE_IS_OVER(n) (seen_age[n] >= L)
#endif

proctype node(byte n)
{
end:
    do
    :: d_step { role[n] == FOLLOWING && SEES_NEWS(n) ->
            seen_epoch[n] = epoch[VISIBLE];
            seen_beat[n] = beat[VISIBLE];
            seen_last[n] = last[VISIBLE];
            seen_age[n] = 0 }
#ifdef MUTANT_READS_BEFORE_EPOCH
    :: d_step { role[n] == FOLLOWING && my_last[n] != last[VISIBLE] ->
            my_last[n] = last[VISIBLE];
            my1[n] = log1[VISIBLE];
            my2[n] = log2[VISIBLE] }
#endif
    :: d_step { role[n] == FOLLOWING && seen_epoch[n] != NEVER && LEASE_IS_OVER(n) && takes_left > 0 ->
            takes_left--;
            my_epoch[n] = seen_epoch[n] + 1;
            role[n] = TAKING;
            send(n, TAKE) }
    :: d_step { role[n] == OWNING && statement[n] == IDLE && my_last[n] < GROUPS ->
            flight[n] = true;
#ifdef MUTANT_REPLY_BEFORE_ANSWER
            answer(n, my_last[n] + 1);
#endif
            send(n, APPEND) }
    :: d_step { role[n] == OWNING && statement[n] == IDLE && beats_left > 0 ->
            beats_left--;
            send(n, BEAT) }
#ifdef MUTANT_NO_BARRIER
    :: d_step { role[n] == UNKNOWN && statement[n] == IDLE ->
            send(n, BEAT);
            find(n, VISIBLE);
            statement[n] = (BEAT_MATCHES(n) -> YES : NO) }
#else
    :: d_step { role[n] == UNKNOWN && statement[n] == IDLE -> send(n, BEAT) }
#endif
    :: d_step { statement[n] == SENT && !pending -> execute(n) }
#ifdef MUTANT_FENCE_IS_A_CONDITION
    :: d_step { statement[n] == CHECKED && !pending ->
            if
            :: last[VISIBLE] == my_last[n] ->
                write_group(WRITTEN, WRITER(my_epoch[n], n));
                begin_write(n)
            :: else -> statement[n] = NO
            fi }
#endif
    :: d_step { statement[n] == YES -> take_yes(n); forget_answer(n) }
    :: d_step { statement[n] == NO -> take_no(n); forget_answer(n) }
    :: d_step { statement[n] != IDLE && losses_left > 0 ->
            losses_left--;
            if
            :: statement[n] == SENT && kind[n] == APPEND && late_number[n] == 0 ->
                late_epoch[n] = my_epoch[n];
                late_number[n] = my_last[n] + 1
            :: statement[n] == WAITING -> holder = NOBODY
            :: else -> skip
            fi;
            lose_answer(n) }
    :: d_step { late_number[n] != 0 && !pending ->
            if
            :: APPEND_MATCHES(late_epoch[n], late_number[n]) ->
                write_group(WRITTEN, WRITER(late_epoch[n], n));
                pending = true;
                holder = NOBODY
            :: else -> skip
            fi;
            late_epoch[n] = 0;
            late_number[n] = 0 }
    od
}

/* The statements that the primary has are lost with it. */
inline fail_over_node(n)
{
#ifndef MUTANT_SEEN_ELSEWHERE
    if
    :: role[n] == FOLLOWING -> seen_epoch[n] = NEVER; seen_beat[n] = 0; seen_last[n] = 0; seen_age[n] = 0
    :: else -> skip
    fi;
#endif
    if
    :: statement[n] == SENT || statement[n] == CHECKED || statement[n] == WAITING -> lose_answer(n)
    :: else -> skip
    fi;
    late_epoch[n] = 0;
    late_number[n] = 0
}

active proctype database()
{
end:
    do
    :: d_step { beat[STANDBY] + last[STANDBY] != beat[WRITTEN] + last[WRITTEN] ->
            copy_row(WRITTEN, STANDBY) }
    :: d_step { pending && beat[STANDBY] + last[STANDBY] == beat[WRITTEN] + last[WRITTEN] ->
            copy_row(WRITTEN, VISIBLE);
            pending = false;
            if
            :: holder != NOBODY -> statement[holder] = YES
            :: else -> skip
            fi;
            holder = NOBODY }
    :: d_step { pending && may_cancel ->
            may_cancel = false;
            copy_row(WRITTEN, VISIBLE);
            pending = false;
            if
#ifdef MUTANT_NOTICE_IS_SUCCESS
            :: holder != NOBODY -> statement[holder] = YES
#else
            :: holder != NOBODY -> lose_answer(holder)
#endif
            :: else -> skip
            fi;
            holder = NOBODY }
    :: d_step { may_fail_over ->
            may_fail_over = false;
            copy_row(STANDBY, VISIBLE);
            copy_row(STANDBY, WRITTEN);
            pending = false;
            holder = NOBODY;
            fail_over_node(0);
            fail_over_node(1);
#if NODES == 3
            fail_over_node(2);
#endif
            assert(last[VISIBLE] >= told_last);
            assert(told_last < 1 || log1[VISIBLE] == told1);
            assert(told_last < 2 || log2[VISIBLE] == told2) }
#ifdef MUTANT_CLOCK_OF_ANOTHER
    :: d_step { !clock_was_set -> clock_was_set = true }
#endif
    od
}

#define OLDER(age) (age < L -> age + 1 : L)
#define IS_YOUNG(n) \
    ((owned[n] && lease_age[n] < L) || (role[n] == FOLLOWING && seen_age[n] < L) || \
     (statement[n] != IDLE && sent_age[n] < L))

inline age(n)
{
    lease_age[n] = (owned[n] -> OLDER(lease_age[n]) : L);
    seen_age[n] = (role[n] == FOLLOWING -> OLDER(seen_age[n]) : L);
    sent_age[n] = (statement[n] == IDLE -> 0 : OLDER(sent_age[n]))
}

active proctype time()
{
end:
    do
#if NODES == 3
    :: d_step { IS_YOUNG(0) || IS_YOUNG(1) || IS_YOUNG(2) -> age(0); age(1); age(2) }
#else
    :: d_step { IS_YOUNG(0) || IS_YOUNG(1) -> age(0); age(1) }
#endif
    od
}

init
{
    atomic {
        run node(0);
        run node(1);
#if NODES == 3
        run node(2);
#endif
    }
}
