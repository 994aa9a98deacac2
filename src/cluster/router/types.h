/*
 * Declares the types of this room. All of its files may include them. router.h defines the words.
 *
 * Each layer has a header, and a file includes that of its own layer, which includes those below:
 *
 *   take.h     client.c      bytes of clients become commands
 *              link_bytes.c  what the shell says about links: opened, received, sent, closed
 *              life.c        life, owners, turns
 *              take.c        commands become fragments
 *              answer.c      answers become replies
 *   kinds.h    route.c       the table of commands, and which partition a command belongs to
 *              local.c       commands that no partition has to see
 *              given.c       clients that turn out to be other nodes
 *              merge.c       replies that are put together from the answers of many partitions
 *              reserve.c     RESERVE: partitions in turn, and waiting
 *              pipe.c        clients whose bytes pass as they are
 *   lane.h     fragment.c    fragments are made, end, and are sorted out when their link is lost
 *              link.c        links to partitions
 *              lane.c        fragments wait and are sent
 *              hands.c       jobs that were handed out, and are given back
 *   command.h  command.c     commands, and replies in their order
 *              reply.c       appends to the reply of a command
 *
 * A file calls its own layer or a lower one. To reach a higher layer, it calls a function pointer,
 * or puts the client into the ring `work` for the next turn. So no command is taken, and no link is
 * read, in the middle of another function's work.
 */
#ifndef ELAPSE__ROUTER_TYPES_H
#define ELAPSE__ROUTER_TYPES_H

#include <elapse/timer.h>
#include <elapse/wheel.h>

#include "../../base/assert.h"
#include "../../base/buffer.h"
#include "../../base/ring_member.h"
#include "../../protocol/resp_options.h"
#include "../../protocol/resp_parse.h"
#include "../../protocol/resp_value.h"
#include "../../protocol/resp_write.h"
#include "router.h"

_Static_assert((int)ELAPSE__REFUSAL_BYTES >= 200, "any error of the router fits, too");

enum {
    ELAPSE__ROUTER_NAME_MAX = 64,       /* the longest name that CLIENT SETNAME takes */
    ELAPSE__ROUTER_TAKE_MAX = 256,      /* commands that a client has taken in one turn */
    ELAPSE__ROUTER_LINK_OUT = 64 << 10, /* a link with this many unsent bytes takes no fragment */
    ELAPSE__ROUTER_ERROR_MAX = 200,
    ELAPSE__ROUTER_RETRY_FIRST_MS = 50, /* before a link is opened again; doubles each time */
    ELAPSE__ROUTER_RETRY_LAST_MS = 1000,
    ELAPSE__ROUTER_LEASE_MAX = 44,
    ELAPSE__ROUTER_EMPTIES = 16,
    ELAPSE__ROUTER_SUMS_MAX = 64,
    /* Of the commands between MULTI and EXEC. src/queue/transact.h has the first one, too. */
    ELAPSE__ROUTER_PARTS_MAX = 1000,          /* each key, id or lease of a command counts */
    ELAPSE__ROUTER_PARTS_BYTES_MAX = 3 << 20, /* their arguments */
    ELAPSE__ROUTER_PARTS_IDLE_MS = 60000,     /* without a command the transaction is discarded */
};

/* What becomes of a fragment whose link is lost after it was wholly sent. */
enum elapse__router_on_loss {
    ELAPSE__ROUTER_LOSS_UNKNOWN, /* the fragment is answered -UNKNOWN */
    ELAPSE__ROUTER_LOSS_LOOK,    /* the fragment changes nothing, and is sent again */
    ELAPSE__ROUTER_LOSS_TOKEN,   /* the partition knows the token: the fragment is sent again */
    ELAPSE__ROUTER_LOSS_EMPTY,   /* a question of a RESERVE: counts as "no jobs", even if it was not
                                    sent */
    ELAPSE__ROUTER_LOSS_DROP, /* nobody waits for the answer: the fragment ends, even if it was not
                                 sent */
};

enum elapse__router_fragment_end {
    ELAPSE__ROUTER_FRAGMENT_ANSWERED,
    ELAPSE__ROUTER_FRAGMENT_NOT_DONE,
    ELAPSE__ROUTER_FRAGMENT_UNKNOWN,
    ELAPSE__ROUTER_FRAGMENT_NO_MEMORY, /* the fragment was not made */
};

/* A command for one partition, parsed. A link to another node writes it as bytes; the core of this
 * process gets the arguments as they are.
 *
 * A transaction is one fragment, too: EXEC, with the commands from MULTI on in front of it. All
 * are sent as one, and only the answer to EXEC counts. If the link is lost before EXEC is wholly
 * sent, the partition discards what it has got. */
struct elapse__router_fragment {
    struct elapse__ring_node
        ring_node; /* first; in the ring `queued` of a lane, or in `sent` or `returned` of a link */
    struct elapse__router_command *command; /* NULL: nobody waits for the answer */
    enum elapse__router_on_loss on_loss;
    bool was_sent;     /* the fragment was wholly sent once, and is sent again */
    uint64_t since_ms; /* when the fragment was put into its lane */
    uint64_t sent_ms;  /* when a link got the fragment */
    uint64_t end_at;   /* where the fragment ends in the bytes of the link */
    size_t memory;     /* of the whole fragment, with what is in front */
    struct elapse__router_fragment *front;  /* the first command in front of this one; NULL: none */
    struct elapse__router_fragment *behind; /* of a command in front: the next one; NULL: none */
    struct elapse__router_fragment
        *awaits;    /* in front: the command whose answer comes next; NULL: this one */
    uint32_t place; /* of a command between MULTI and EXEC: its place in the reply, from 0 */
    const struct elapse__router_route *route; /* of such a command; otherwise NULL */
    uint32_t count;
    struct elapse__wire_resp_argument arguments[]; /* their bytes lie behind the last argument */
};

struct elapse__router_lane {
    struct elapse__router *router;
    struct elapse__router_link *carrier; /* the link; NULL: none */
    struct elapse__ring_node queued;     /* fragments */
    struct elapse__ring_node blocked;    /* clients whose next command finds the lane full */
    size_t bytes;                        /* of the fragments that are queued or sent */
    uint64_t retry_at_ms;                /* when a link may be wanted again */
    uint32_t retry_after_ms;
    bool has_moved; /* the owner has changed since the link was wanted */
    uint32_t partition;
    bool slow;
};

/* A partition is asked for the RESERVEs that wait (the waiters) one after the other, in the order
 * in which they began to wait. That is a pass of the chain of this partition. */
struct elapse__router_chain {
    struct elapse__ring_node *next; /* the waiter to ask for next; the ring itself: none is left */
    bool asks;                      /* a question is under way */
    bool again;                     /* after this pass, another one begins */
    bool has_missed; /* the pass left out a waiter that another partition was being asked for */
    uint32_t empty_count;
    uint64_t empties[ELAPSE__ROUTER_EMPTIES]; /* of this pass: hashes of tubes that had no job */
    uint64_t poll_at_ms;
};

enum { ELAPSE__ROUTER_TROUBLE_MAX = 160 };

struct elapse__router_partition {
    enum elapse__router_place place;
    uint64_t epoch;
    char trouble[ELAPSE__ROUTER_TROUBLE_MAX]; /* why no link works, in words; "": no trouble */
    bool is_old; /* the owner understands NODE HELLO 1 alone, and no HOLDER */
    struct elapse__router_lane quick, slow;
    struct elapse__router_chain chain;
};

enum elapse__router_link_state {
    ELAPSE__ROUTER_LINK_WANTED,   /* in the router's ring `wanted` */
    ELAPSE__ROUTER_LINK_OPENING,  /* the shell opens it */
    ELAPSE__ROUTER_LINK_GREETING, /* answers to the greeting are still expected */
    ELAPSE__ROUTER_LINK_OPEN,
    ELAPSE__ROUTER_LINK_PARTING, /* the owner has changed, but may answer what the link has sent */
    ELAPSE__ROUTER_LINK_LOST,    /* the shell has to close it */
};

struct elapse__router_link {
    struct elapse__ring_node ring_node; /* first; in the router's `links` or `wanted` */
    struct elapse__ring_node attention;
    struct elapse__router *router;
    struct elapse__router_lane *lane;     /* NULL: the link is a pipe, or lost */
    struct elapse__router_client *client; /* of a pipe; NULL: no pipe, or the client has closed */
    enum elapse__router_link_state state;
    uint32_t partition;
    uint32_t greetings; /* answers to the greeting that are still expected */
    bool is_pipe;
    bool is_here; /* leads to a core of this process, and hands over commands instead of bytes */
    bool is_old;  /* the other node has version 1 */
    bool had_room;
    struct elapse__buffer input, out;
    struct elapse__wire_resp_scanner scanner;
    struct elapse__ring_node sent;    /* fragments, the oldest first */
    struct elapse__ring_node *to_run; /* of `sent`, the first that the core of this process has not
                                         run; the ring itself: none */
    struct elapse__router_fragment
        *run_first; /* in front of `to_run`: the command to run before it; NULL: none */
    struct elapse__ring_node
        returned;      /* fragments that the partition refused, because it has another owner */
    uint64_t out_end;  /* counts all bytes put into `out`; for a core, the bytes of its commands */
    uint64_t out_sent; /* how many of them were sent; for a core, of commands that it has begun */
    uint64_t since_ms; /* when the link entered its state */
    void *shell;
};

enum elapse__router_command_kind {
    ELAPSE__ROUTER_COMMAND_ONE,       /* one fragment; its answer is the reply */
    ELAPSE__ROUTER_COMMAND_ITEMS,     /* fragments with items; the reply has a place for each */
    ELAPSE__ROUTER_COMMAND_PAGE,      /* one fragment; its answer begins with a cursor */
    ELAPSE__ROUTER_COMMAND_CANCELALL, /* all partitions; sums */
    ELAPSE__ROUTER_COMMAND_STATS,     /* all partitions; sums */
    ELAPSE__ROUTER_COMMAND_PAUSE,     /* all partitions; +OK of one partition is enough */
    ELAPSE__ROUTER_COMMAND_KICK,      /* partitions in turn */
    ELAPSE__ROUTER_COMMAND_RESERVE,   /* partitions in turn, and waiting */
    ELAPSE__ROUTER_COMMAND_EXEC,      /* one fragment or none; the reply has a place for each */
};

struct elapse__router_item {
    uint32_t partition;
    uint32_t at, size; /* where the item's answer lies in the reply of the command */
};

/* A job that was handed out, and whose reply was not wholly sent. */
struct elapse__router_hand {
    uint64_t id;
    uint32_t lease_size;
    char lease[ELAPSE__ROUTER_LEASE_MAX];
};

/* A timer of the router, and what it calls in the turn in which it is due. */
struct elapse__router_alarm {
    struct elapse_timer timer; /* first */
    void (*ring)(struct elapse__router_alarm *alarm);
};

/* What a RESERVE has beyond what all commands have. */
struct elapse__router_reserve {
    struct elapse__router_alarm alarm; /* first; runs while the RESERVE waits */
    struct elapse__ring_node waiter;   /* in the router's ring `waiters` */
    struct elapse__router *router;
    struct elapse__router_command *command;
    struct elapse__router_fragment *question; /* the command without WAIT; partitions get copies */
    uint32_t *partitions; /* those that may have its tubes, without repeats; NULL: all */
    uint32_t partition_count;
    uint64_t tubes_hash;
    uint64_t deadline_ms; /* 0: the RESERVE does not wait */
    uint64_t readied;     /* the router's `readied` when the first round began */
    uint64_t serial;      /* the router's `serial` when the first round began */
    uint32_t rounds;      /* how many partitions the first round has dealt with */
    uint32_t first;       /* the partition at which the first round began */
    bool is_even;         /* the first round does not prefer this node */
    bool left_out;        /* some partition could not be asked, or did not answer */
    bool asks;            /* a question is under way */
    bool by_chain;        /* a chain has asked that question */
    bool missed;          /* a chain left this RESERVE out meanwhile */
    bool is_late;         /* the time is over, and a question is under way */
};

/* A figure that STATS adds up over the partitions. */
struct elapse__router_sum {
    char name[32];
    bool is_boolean;
    bool is_greatest; /* the greatest value counts, not the sum */
    int64_t value;
};

struct elapse__router_command {
    struct elapse__ring_node
        ring_node; /* first; in a client's `commands` or `leavings`; or `orphans` */
    struct elapse__router_client *client; /* NULL: the client has closed */
    enum elapse__router_command_kind kind;
    bool resp3;
    bool done;
    bool is_barrier;    /* the commands behind this one wait until it is done */
    uint32_t fragments; /* that have not ended yet */
    size_t charge;      /* bytes that the reply may take, counted in the client's `charges` */
    struct elapse__buffer reply;
    char error[ELAPSE__ROUTER_ERROR_MAX]; /* of a command for many partitions; "": none */

    struct elapse__router_item *items; /* ITEMS */
    uint32_t item_count;
    uint32_t cursor_of;              /* PAGE: the partition */
    bool is_whole;                   /* PAGE, KICK: of one partition, because of braces */
    uint64_t counts[2];              /* CANCELALL, PAUSE, KICK */
    uint64_t wanted;                 /* KICK */
    uint32_t first;                  /* KICK: the partition that is asked first */
    uint32_t rounds;                 /* KICK: partitions asked */
    struct elapse__buffer tube;      /* KICK */
    struct elapse__router_sum *sums; /* STATS */
    uint32_t sum_count;

    struct elapse__router_reserve *reserve;
    struct elapse__router_hand *hands;
    uint32_t hand_count;
    uint32_t hands_of;                      /* the partition */
    uint32_t places;                        /* EXEC: commands of the transaction */
    struct elapse__router_fragment *locals; /* EXEC: those that the router runs when it replies */
    uint64_t end_at; /* in `leavings`: where the reply ends in the bytes of the client */
};

/* What a client has said since MULTI. */
struct elapse__router_transaction {
    struct elapse__router_alarm alarm; /* first; runs unless the transaction is spoiled */
    struct elapse__router_client *client;
    struct elapse__router_fragment *first, *last; /* the commands, in their order */
    uint32_t count;                               /* commands */
    uint32_t parts;                               /* as ELAPSE__ROUTER_PARTS_MAX counts them */
    size_t bytes;                                 /* of the arguments */
    size_t memory;                                /* counted in the router's `kept` */
    enum {
        ELAPSE__ROUTER_PARTS_ANYWHERE, /* no command has named a partition */
        ELAPSE__ROUTER_PARTS_LIKELY,   /* only a token has: it gives way to anything else */
        ELAPSE__ROUTER_PARTS_ONE,
        ELAPSE__ROUTER_PARTS_SEVERAL, /* EXEC refuses it */
    } where;
    uint32_t partition;  /* LIKELY, ONE */
    const char *spoiled; /* why EXEC will do nothing; NULL: it will do all */
};

enum elapse__router_client_speech {
    ELAPSE__ROUTER_SPEECH_UNKNOWN,
    ELAPSE__ROUTER_SPEECH_RESP,
    ELAPSE__ROUTER_SPEECH_PIPE,
};

struct elapse__router_client {
    struct elapse__ring_node ring_node;   /* first; in the router's `clients` */
    struct elapse__router_alarm alarm;    /* runs while there is a guess */
    struct elapse__router_command *guess; /* a wrong password, whose reply waits; NULL: none */
    struct elapse__router_transaction *transaction; /* between MULTI and EXEC; otherwise NULL */
    struct elapse__ring_node attention;
    struct elapse__ring_node work; /* in the router's ring `work`, or in `blocked` of a lane */
    struct elapse__router *router;
    struct elapse__router_link *pipe;
    struct elapse__buffer input, out;
    struct elapse__wire_resp_parser parser;
    struct elapse__ring_node commands; /* the oldest first */
    struct elapse__ring_node leavings; /* commands whose reply in `out` hands out jobs */
    size_t charges;                    /* sum of the charges of the commands */
    size_t need;                       /* how long the input must be before it is parsed again */
    uint64_t number;
    uint64_t out_end, out_sent;
    uint32_t home;        /* the partition of commands that may go to any */
    uint32_t reserves;    /* RESERVEs that the client has begun */
    uint32_t guesses;     /* wrong passwords */
    uint64_t home_serial; /* the router's `serial` when `home` was chosen; 0: not yet */
    enum elapse__router_client_speech speech;
    bool may_use_beanstalkd;
    bool resp3;
    bool known;                  /* the client has given a password, or none is needed */
    struct elapse__identity who; /* with `known`: who the client is */
    bool said_retry;             /* the shell knows that the client uses the old name of ATTEMPTS */
    bool input_ended;
    bool ending; /* no command is taken any more */
    bool dead;   /* the shell closes the socket now */
    bool had_room;
    bool is_given; /* the client is another node, and goes to a core: no command is taken */
    struct elapse__router_given given;
    uint8_t name_size;
    char name[ELAPSE__ROUTER_NAME_MAX];
    char address[ELAPSE__ROUTER_ADDRESS_BYTES]; /* ""; set by a RESERVE without a name */
    void *shell;
};

/* Tells a command that one of its fragments has ended. `value` is the answer, or the error that
 * says why there is none. */
typedef void elapse__router_fragment_ended(struct elapse__router_command *command,
                                           uint32_t partition, enum elapse__router_fragment_end end,
                                           const unsigned char *value, size_t size);

struct elapse__router {
    struct elapse__router_options options;
    elapse__router_fragment_ended *fragment_ended; /* in answer.c: a higher layer than lanes */
    struct elapse__router_partition *partitions;
    struct elapse__ring_node clients, links, wanted, work, waiters, orphans;
    struct elapse__ring_node client_attention, link_attention;
    struct elapse__router_figures figures;
    struct elapse_wheel wheel; /* alarms: of RESERVEs that wait, and of wrong passwords */
    uint64_t now;
    uint64_t look_at_ms; /* when lanes and links are looked at next */
    uint64_t serial;     /* counts changes of owners, from 1 */
    uint64_t readied;    /* counts elapse__router_ready */
    uint64_t kept;       /* bytes of transactions that are open */
};

/* Begins a call of router.h that does something: the time is `now`. */
static inline void elapse__router_enter(struct elapse__router *router, uint64_t now)
{
    ELAPSE__ASSERT_THAT(now, >=, router->now);
    router->now = now;
    elapse_wheel_advance(&router->wheel, now);
}

/* Makes the router look at lanes and links at `at_ms` at the latest. */
static inline void elapse__router_look_by(struct elapse__router *router, uint64_t at_ms)
{
    if (at_ms < router->look_at_ms)
        router->look_at_ms = at_ms;
}

#endif
