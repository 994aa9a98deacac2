/*
 * The types of the core, and the functions that all its files call. core.h and session.h say what
 * the core does. Each file calls only files below it in this list:
 *
 *   check.c       the invariants
 *   server.c      the life of the server, its turns, its statistics
 *   clients.c     what is known of each connection
 *   connection.c  (connection.h) a connection, from the first byte to the last lease that is undone
 *   hand_over.c   (hand_over.h) replies that have a job: reading, leases, formatting
 *   reserve.c     (reserve.h) replies of reserves and looks, until they have a job
 *   run.c         (run.h) runs commands; the functions that a protocol calls meanwhile
 *   ahead.c       (ahead.h) prefetches the jobs of the next commands
 *   admit.c       (admit.h) to which user a name and a password belong
 *   guesses.c     (guesses.h) wrong passwords
 *   tubes.c       (tubes.h) the tubes that connections know, and the reserves that wait in them
 *   marks.c       (marks.h) which bytes have which gate, and which leases are on their way
 *   reply.c       appends to replies (session.h)
 *   entry.c       enters and leaves the core; ends a connection that fails
 *
 * A connection has these buffers. A reply without bytes is the reply of a reserve or of a look
 * whose bytes do not exist yet. Its jobs are its hands.
 *
 *      connection
 *        |-- input     bytes that wait to be run
 *        |-- held      bytes of replies whose gates are not durable; the oldest bytes come first
 *        |-- marks     a queue. A mark says which gate a part of `held` has, or that a reply
 *        |               without bytes stands at this place
 *        +-- out       bytes that may leave
 *
 *      held  | aaaa bbb ccccccc dd |         marks  (4, gate a) (7, gate b) [reply] (16, gate d)
 *
 * Rings of the server that a connection may be in:
 *
 *      open, closing   each connection is in exactly one of these two
 *      work            the connection has something to do in the next turn
 *      stalled         the next command of the connection waits for the journal
 *      gated           the first mark of the connection waits to become durable; the connection
 *                      whose marks were looked at last is the last one
 *      attention       the shell should look at the connection
 *
 * The budget. Work is counted in units. A command costs one unit, and one more for each KiB. A
 * hand-out and a look cost several units, and one more for each KiB of the body. A round is all
 * calls up to the end of a turn. It has ELAPSE__BUDGET units for all connections together. The turn
 * has at least half of them. Of the other half, the calls that report sent bytes and readings leave
 * a part for received bytes. So a client that begins to speak is served although others read much.
 * A call that is not the turn spends at most a quantum. A connection that needs more stays in the
 * ring `work`, and gets another quantum when a turn comes to it. In a turn each stage has its
 * share, so that neither commands nor hand-outs starve.
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
    ELAPSE__BUDGET = 1000,     /* units of a round, about a millisecond of work */
    ELAPSE__TURN_BUDGET = 500, /* a turn has at least so many units */
    /* Received bytes have at least so many units, beside TURN_BUDGET. */
    ELAPSE__HEARING_BUDGET = 250,
    ELAPSE__QUANTUM = 250,        /* units that one connection may spend in a call or in a turn */
    ELAPSE__UNIT_BYTES = 1024,    /* this many bytes of a command cost one unit more */
    ELAPSE__COST_HAND_OUT = 2,    /* units to take a job, and again to read it */
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
    struct elapse_timer timer; /* must be the first member */
    /* The connection that the alarm belongs to; NULL: it belongs to a reply. */
    struct elapse__connection *idle;
};

/* ---- replies whose bytes do not exist yet ---- */

/* The place of a waiting reserve in the ring of one of its tubes. */
struct elapse__waiter {
    /* In the tube's ring; its `next` is NULL while the reserve does not wait. */
    struct elapse__ring_node ring_node;
    struct elapse__server_tube *tube;
    struct elapse__server_reply *reply;
};

enum elapse__hand_state {
    ELAPSE__HAND_TAKEN, /* the job is leased, and its body is not read yet */
    ELAPSE__HAND_BEGUN, /* the reading has begun, so the journal keeps the segment */
    ELAPSE__HAND_WITH_SHELL,
    ELAPSE__HAND_READ,
    ELAPSE__HAND_GONE, /* the job cannot be handed out after all */
};

struct elapse__hand {
    struct elapse__server_reading reading; /* must be the first member */
    struct elapse__server_job job;
    enum elapse__hand_state state;
    struct elapse__queue_told told; /* where the error is; only in a reply that shows errors */
    struct elapse__server_reading *of_error; /* NULL: there is no error to read */
};

enum elapse__reply_state {
    ELAPSE__REPLY_WAITING, /* the reply waits for a job */
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
    /* Must be the first member. Fires when a wait ends, or a deadline is soon. */
    struct elapse__server_alarm alarm;
    struct elapse__connection *connection;
    enum elapse__reply_kind kind;
    enum elapse__reply_state state;
    enum elapse__server_nothing why;
    bool tell_deadline;
    bool shows_errors;
    bool read_failed; /* a job for this reply could not be read */
    bool was_patient; /* the wait was prolonged once, because the disk could not read */
    uint64_t context;
    uint64_t gate;
    uint64_t until_ms; /* when the wait ends, by the boot-time clock */
    uint32_t wanted;
    uint32_t waiter_count;
    uint32_t hand_count;
    uint32_t hand_room;
    uint32_t unread; /* readings that are with the shell */
    uint32_t holder; /* only of RESERVE: the number of the holder's name, to which the reply has a
                        reference; 0: none */
    struct elapse__waiter *waiters;
    struct elapse__hand *hands;
    struct elapse__queue_view view; /* only of LOOK; the name of its tube is not kept */
    struct elapse__server_reply *next_free;
    struct elapse__waiter own_waiters[ELAPSE__OWN_WAITERS];
    struct elapse__hand own_hand;
};

/* ---- tubes ---- */

struct elapse__server_tube {
    struct elapse__queue_watch watch; /* must be the first member */
    /* The reserves that wait for this tube; the first is served first. */
    struct elapse__ring_node waiters;
    uint32_t references;
    struct elapse__server_tube_figures figures;
};

/* ---- connections ---- */

struct elapse__reply_mark {
    uint64_t end;  /* where the bytes end, counted in all bytes that `held` has had */
    uint64_t gate; /* the last gate of these bytes; all of them lie in one group of the journal */
    /* A reply without bytes at this place; NULL: the mark stands for bytes. */
    struct elapse__server_reply *reply;
};

/* A hand-out whose reply is on its way to the client. */
struct elapse__leaving {
    /* Where the reply of the hand-out ends, counted in all bytes that `out` has had. */
    uint64_t end;
    struct elapse__queue_holder holder;
};

/* A queue of small items, marks or leavings, in a piece of memory that is used in turns. */
struct elapse__items {
    void *memory;
    uint32_t first, count, room; /* room is a power of two, or 0 */
};

struct elapse__connection {
    struct elapse__ring_node ring_node; /* must be the first member; in `open` or `closing` */
    struct elapse__ring_node attention;
    struct elapse__ring_node work; /* in the ring `work` or `stalled` */
    struct elapse__ring_node gated;
    struct elapse__server_alarm idle;
    struct elapse__server_alarm guess; /* fires when the answer to a wrong password may leave */
    /* Fires when the session has kept a transaction for too long. */
    struct elapse__server_alarm kept;
    struct elapse__server *server;
    const struct elapse__protocol *protocol; /* NULL: the protocol is not known yet */
    struct elapse__connection_facts facts;
    struct elapse__queue_connection leases;
    struct elapse__buffer input, held, out;
    struct elapse__buffer *writing; /* the buffer to which replies are appended: `held` or `out` */
    struct elapse__items marks;     /* items of struct elapse__reply_mark */
    struct elapse__items leavings;  /* items of struct elapse__leaving */
    uint64_t held_end;              /* bytes that `held` has had, up to the last mark */
    uint64_t held_gone;             /* bytes that have left `held` */
    uint64_t out_end;               /* bytes that `out` has had */
    uint64_t sent;                  /* bytes of `out` that were sent */
    uint64_t examined;              /* the durable position when the marks were looked at last */
    uint64_t heard_ms; /* when bytes came, were sent, or began to wait for the socket */
    uint64_t number;
    size_t reply_begin; /* where the reply of the running command begins in `held` */
    size_t need;        /* bytes that the next command needs at least */
    uint32_t waiting;   /* replies that wait for a job; if not 0, no command runs */
    uint32_t named;     /* replies of reserve_id that have no bytes yet */
    size_t kept_bytes;  /* bytes that the session keeps of transactions */
    size_t reply_bytes; /* bytes of memory that the replies without bytes take */
    uint32_t guesses;   /* how many wrong passwords the client has given */
    bool is_guessing;   /* the answer to a wrong password waits: no byte leaves, no command runs */
    bool has_commands;  /* the source of the connection may have commands */
    bool has_begun;     /* the session has begun */
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
    uint64_t turned_ms; /* when the last turn was done */
    uint64_t durable;   /* everything before this position of the journal is durable */
    uint64_t memory_bytes;
    uint64_t kept_bytes; /* bytes that all sessions keep of transactions */
    uint32_t budget;     /* units left in this call */
    uint32_t round;      /* units left in this round */
    bool refused;        /* the journal took no lease in this turn: the core waits for a commit */
    bool draining;
    bool stopped;
    struct elapse__ring_node open, closing, work, stalled, gated, attention, readings;
    struct elapse__guesses guesses;
    struct elapse__guesses old_names; /* connections that use the old name of an option */
    struct elapse__server_reply *free_replies;
    uint32_t free_reply_count;
    struct elapse__server_statistics figures; /* without the figures of jobs and of the journal */
    struct elapse__histogram lateness;        /* the lateness of hand-outs, in milliseconds */
    struct elapse_wheel wheel;                /* a tick is a millisecond of the boot-time clock */
};

/* ---- entry.c ---- */

/* These two functions begin and end each function of core.h that does work. The function leaves
 * `kept` units of the round to the calls that follow. */
void elapse__server_enter(struct elapse__server *server, struct elapse__queue_now now,
                          uint32_t kept);
void elapse__server_leave(struct elapse__server *server);

/* Ends the connection, and sends no further byte, because there is no memory, or because the client
 * has violated the protocol. */
void elapse__connection_fail(struct elapse__connection *connection);

/* Returns whether a reply may get its bytes now. Returns false if more bytes wait than a socket
 * takes at once, because these would only use memory, and make other connections wait. */
bool elapse__connection_may_format(const struct elapse__connection *connection);

/* Returns whether the connection is choked: it has too many replies that were not sent, so it runs
 * no command. */
bool elapse__connection_is_choked(const struct elapse__connection *connection);

/* ---- inline ---- */

/* Takes units from the budget. Returns whether units are left. */
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
