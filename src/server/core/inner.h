/*
 * The types of the core, and what all of its files call. core.h and session.h say what the core
 * does. Each file calls only files below it:
 *
 *   server.c      the life of the server, its turns, its statistics
 *   connection.c  (connection.h) a connection, from the first byte to the last lease that is undone
 *   hand_over.c   (hand_over.h) replies that have a job: reading, leases, formatting
 *   reserve.c     (reserve.h) replies of reserves and looks, until they have a job
 *   run.c         (run.h) runs commands; what a protocol asks meanwhile
 *   guesses.c     (guesses.h) wrong passwords
 *   tubes.c       (tubes.h) the tubes that connections know, and the reserves that wait in them
 *   marks.c       (marks.h) which bytes have which gate, and which leases are on their way
 *   reply.c       appends to replies (session.h)
 *   entry.c       enters and leaves the core; ends a connection that fails
 *   buffer.c      (buffer.h) bytes
 *   check.c       the invariants
 *
 *      connection
 *        |-- input     bytes that wait to be run
 *        |-- held      bytes of replies whose gates are not durable, oldest first
 *        |-- marks     a ring: which part of `held` has which gate, and where replies stand between
 *        |               whose bytes do not exist yet (hand-outs, looks)
 *        +-- out       bytes that may leave
 *
 *      held  | aaaa bbb ccccccc dd |         marks  (4, gate a) (7, gate b) [reply] (16, gate d)
 *
 * Rings of the server that a connection may be in:
 *
 *      open, closing   exactly one of them
 *      work            it has something to do in the next turn
 *      stalled         its command waits for the journal
 *      gated           its first mark waits to become durable
 *      attention       the shell should look at it
 *
 * Budget: work is counted in units. A command costs one unit, and one more for each KiB; a hand-out
 * and a look cost several, and one more for each KiB of the body. A round, which ends with a turn,
 * has ELAPSE__BUDGET units for all connections together. The turn has at least half of them. Of the
 * other half, the calls that tell what was sent, or which readings are done, leave a part to
 * received bytes, so that a client that begins to speak is heard although others read. No entry
 * point but the turn spends more than a quantum. A connection that needs more stays in the ring
 * `work`, and has another quantum when a turn comes to it. In a turn each stage has its share, so
 * that neither commands nor hand-outs starve.
 */
#ifndef ELAPSE__CORE_INNER_H
#define ELAPSE__CORE_INNER_H

#include <elapse/wheel.h>

#include "../../base/assert.h"
#include "../../base/buffer.h"
#include "../../base/ring_member.h"
#include "guesses.h"
#include "session.h"

enum {
    ELAPSE__BUDGET = 1000,        /* units of a round: about a millisecond */
    ELAPSE__TURN_BUDGET = 500,    /* units that a turn has at least */
    ELAPSE__HEARING_BUDGET = 250, /* units for received bytes at least, beside TURN_BUDGET */
    ELAPSE__QUANTUM = 250,        /* units of one connection in a call or in a turn */
    ELAPSE__UNIT_BYTES = 1024,    /* this many bytes of a command cost one unit more */
    ELAPSE__COST_HAND_OUT = 2,    /* units for taking a job, and for reading it */
    ELAPSE__OUT_BYTES = 64 << 10, /* while this many bytes wait in `out`, no reply gets bytes */
    ELAPSE__INLINE_READ_BYTES = 256 << 10, /* the longest body that is read without the shell */
    ELAPSE__DEADLINE_SOON_MS = 1000,
    ELAPSE__LEASES_EXAMINED = 4096,
    ELAPSE__NEED_SPARE = 1 << 20, /* bytes that a command may have beside its body */
    ELAPSE__OWN_WAITERS = 2,      /* waiters inside the struct of a reply */
    ELAPSE__FREE_REPLIES = 1024   /* freed replies that are kept for reuse */
};

/* A timer of the server's wheel. */
struct elapse__server_alarm {
    struct elapse_timer timer; /* first */
    struct elapse__connection
        *idle; /* the connection, if the alarm is one of a connection; NULL: a reply */
};

/* ---- replies whose bytes do not exist yet ---- */

/* A place of a reserve in the ring of a tube. */
struct elapse__waiter {
    struct elapse__ring_node ring_node; /* in the tube's ring; NULL: not waiting */
    struct elapse__server_tube *tube;
    struct elapse__server_reply *reply;
};

enum elapse__hand_state {
    ELAPSE__HAND_TAKEN, /* the job is leased, and its body not read yet */
    ELAPSE__HAND_BEGUN, /* the reading has begun: the journal keeps the segment */
    ELAPSE__HAND_WITH_SHELL,
    ELAPSE__HAND_READ,
    ELAPSE__HAND_GONE, /* the job cannot be handed out after all */
};

struct elapse__hand {
    struct elapse__server_reading reading; /* first */
    struct elapse__server_job job;
    enum elapse__hand_state state;
    struct elapse__queue_told told;          /* of a reply that shows errors */
    struct elapse__server_reading *of_error; /* NULL: there is no error to read */
};

enum elapse__reply_state {
    ELAPSE__REPLY_WAITING, /* for a job */
    ELAPSE__REPLY_READY,   /* the reply has hands, and its gate is set */
    ELAPSE__REPLY_READING, /* the hands are being read */
    ELAPSE__REPLY_NOTHING, /* the reply has no hands, and its gate is set */
};

enum elapse__reply_kind {
    ELAPSE__REPLY_RESERVE,
    ELAPSE__REPLY_RESERVE_ID,
    ELAPSE__REPLY_LOOK,
};

struct elapse__server_reply {
    struct elapse__server_alarm alarm; /* first: when a wait ends, or a deadline is soon */
    struct elapse__connection *connection;
    enum elapse__reply_kind kind;
    enum elapse__reply_state state;
    enum elapse__server_nothing why;
    bool tell_deadline;
    bool shows_errors;
    bool read_failed; /* a job for this reply could not be read */
    bool was_patient; /* the wait was prolonged, because the disk could not read */
    uint64_t context;
    uint64_t gate;
    uint64_t until_ms; /* boot-time clock */
    uint32_t wanted;
    uint32_t waiter_count;
    uint32_t hand_count;
    uint32_t hand_room;
    uint32_t unread; /* readings that are with the shell */
    uint32_t
        holder; /* RESERVE: the number of a name, of which the reply has a reference; 0: none */
    struct elapse__waiter *waiters;
    struct elapse__hand *hands;
    struct elapse__queue_view view; /* LOOK; its tube is not kept */
    struct elapse__server_reply *next_free;
    struct elapse__waiter own_waiters[ELAPSE__OWN_WAITERS];
    struct elapse__hand own_hand;
};

/* ---- tubes ---- */

struct elapse__server_tube {
    struct elapse__queue_watch watch; /* first */
    struct elapse__ring_node waiters; /* of reserves; the first is served first */
    uint32_t references;
    struct elapse__server_tube_figures figures;
};

/* ---- connections ---- */

struct elapse__reply_mark {
    uint64_t end;  /* where its bytes end, counted from the begin of the connection */
    uint64_t gate; /* of bytes */
    struct elapse__server_reply *reply; /* NULL: bytes */
};

/* A hand-out whose reply is on its way to the client. */
struct elapse__leaving {
    uint64_t end; /* where the reply ends, counted in all bytes that `out` has had */
    struct elapse__queue_holder holder;
};

/* A queue of small items in a ring of memory: marks or leavings. */
struct elapse__items {
    void *memory;
    uint32_t first, count, room; /* room is a power of two, or 0 */
};

struct elapse__connection {
    struct elapse__ring_node ring_node; /* first; in `open` or `closing` */
    struct elapse__ring_node attention;
    struct elapse__ring_node work; /* in `work` or `stalled` */
    struct elapse__ring_node gated;
    struct elapse__server_alarm idle;
    struct elapse__server_alarm guess; /* when the answer to a wrong password may leave */
    struct elapse__server_alarm kept;  /* when the session has kept a transaction too long */
    struct elapse__server *server;
    const struct elapse__protocol *protocol; /* NULL: not known yet */
    struct elapse__connection_facts facts;
    struct elapse__queue_connection leases;
    struct elapse__buffer input, held, out;
    struct elapse__buffer *writing; /* where replies are appended: `held`, or `out` */
    struct elapse__items marks;     /* of struct elapse__reply_mark */
    struct elapse__items leavings;  /* of struct elapse__leaving */
    uint64_t held_end;              /* bytes that `held` has had, up to the last mark */
    uint64_t held_gone;             /* bytes that have left `held` */
    uint64_t out_end;               /* bytes that `out` has had */
    uint64_t sent;                  /* bytes of `out` that were sent */
    uint64_t examined;              /* what was durable when the marks were looked at */
    uint64_t heard_ms;              /* when bytes came or went */
    uint64_t number;
    size_t reply_begin; /* in `held`: where the reply of the running command begins */
    size_t need;        /* bytes that the next command needs at least */
    uint32_t waiting;   /* replies that wait for a job: no command runs */
    uint32_t named;     /* replies of reserve_id that have no bytes yet */
    size_t kept_bytes;  /* that the session keeps */
    size_t reply_bytes; /* of memory, of the replies that have no bytes yet */
    uint32_t guesses;   /* wrong passwords */
    bool is_guessing;   /* the answer to a wrong password waits: nothing leaves or runs */
    bool has_commands;  /* its source may have some */
    bool has_begun;     /* the session */
    bool input_ended;   /* the client sends nothing more */
    bool behind;        /* the next command waits until `named` is 0 */
    bool ending;        /* no command is taken any more */
    bool dead;          /* the shell closes the socket now */
    bool closed;        /* the shell has closed the socket */
    bool had_room;      /* whether there was room when the shell looked last */
    bool is_producer;
    bool is_worker;
    max_align_t session[];
};

/* ---- the server ---- */

struct elapse__server {
    struct elapse__server_options options;
    struct elapse__engine *engine;
    struct elapse__queue_now now;
    uint64_t started_ms;
    uint64_t turned_ms; /* when the last turn was */
    uint64_t durable;   /* everything before this position of the journal is durable */
    uint64_t memory_bytes;
    uint64_t kept_bytes; /* that the sessions keep */
    uint32_t budget;     /* units left in this call */
    uint32_t round;      /* units left in this round */
    bool refused;        /* the journal took no lease in this turn: its news come first */
    bool draining;
    bool stopped;
    struct elapse__ring_node open, closing, work, stalled, gated, attention, readings;
    struct elapse__guesses guesses;
    struct elapse__guesses old_names; /* connections that use the old name of an option */
    struct elapse__server_reply *free_replies;
    uint32_t free_reply_count;
    struct elapse__server_statistics figures; /* without jobs and journal */
    struct elapse__histogram lateness;        /* of hand-outs, in milliseconds */
    struct elapse_wheel wheel;                /* milliseconds of the boot-time clock */
};

/* ---- entry.c ---- */

/* Begin and end each function of core.h that does something. A function leaves `kept` units of the
 * round to the calls that follow. */
void elapse__server_enter(struct elapse__server *server, struct elapse__queue_now now,
                          uint32_t kept);
void elapse__server_leave(struct elapse__server *server);

/* Ends the connection without sending another byte, because there is no memory, or because the
 * client has violated the protocol. */
void elapse__connection_fail(struct elapse__connection *connection);

/* Returns whether a reply may get its bytes now. More bytes than a socket takes at once would only
 * use memory, and make other connections wait. */
bool elapse__connection_may_format(const struct elapse__connection *connection);

/* Returns whether the replies of the connection that were not sent are too many. */
bool elapse__connection_is_choked(const struct elapse__connection *connection);

/* ---- inline ---- */

/* Takes units from the budget. Returns whether any are left. */
static inline bool elapse__server_spend(struct elapse__server *server, uint32_t units)
{
    server->budget = server->budget > units ? server->budget - units : 0;
    server->round = server->round > units ? server->round - units : 0;
    return server->budget > 0;
}

/* Returns whether the journal takes no record now. */
static inline bool elapse__server_journal_is_full(const struct elapse__server *server)
{
    return elapse__journal_is_full(server->engine->journal);
}

/* Returns whether the next command waits for replies before it. */
static inline bool elapse__connection_is_behind(const struct elapse__connection *connection)
{
    return connection->behind && connection->named > 0;
}

#endif
