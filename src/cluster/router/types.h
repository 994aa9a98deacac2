/*
 * Declares the types of this room, which all of its files share. router.h defines the words.
 *
 * The room has layers, and each layer has a header. A file includes the header of its own layer,
 * which includes the headers of the layers below:
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
    ELAPSE__ROUTER_TAKE_MAX = 256,      /* the most commands that a client has taken in one turn */
    ELAPSE__ROUTER_LINK_OUT = 64 << 10, /* a link with this many unsent bytes takes no fragment */
    ELAPSE__ROUTER_ERROR_MAX = 200,
    ELAPSE__ROUTER_RETRY_FIRST_MS = 50, /* the first pause before a link opens again; it doubles */
    ELAPSE__ROUTER_RETRY_LAST_MS = 1000,
    ELAPSE__ROUTER_LEASE_MAX = 44,
    ELAPSE__ROUTER_EMPTIES = 16,
    ELAPSE__ROUTER_SUMS_MAX = 64,
    /* Limits of the commands between MULTI and EXEC. src/queue/transact.h has the same first
     * number. */
    ELAPSE__ROUTER_PARTS_MAX = 1000,          /* each key, id or lease of a command is a part */
    ELAPSE__ROUTER_PARTS_BYTES_MAX = 3 << 20, /* bytes of the arguments */
    ELAPSE__ROUTER_PARTS_IDLE_MS = 60000, /* a transaction ends when nothing comes for so long */
};

/* What happens to a fragment whose link is lost after the fragment was wholly sent. */
enum elapse__router_on_loss {
    ELAPSE__ROUTER_LOSS_UNKNOWN, /* the fragment is answered -UNKNOWN */
    ELAPSE__ROUTER_LOSS_LOOK,    /* the fragment changes nothing, and is sent again */
    ELAPSE__ROUTER_LOSS_TOKEN,   /* the token makes one job of both puts: it is sent again */
    ELAPSE__ROUTER_LOSS_EMPTY,   /* a question of a RESERVE: counts as "no jobs", sent or not */
    ELAPSE__ROUTER_LOSS_DROP,    /* nobody waits for the answer: the fragment ends, sent or not */
};

enum elapse__router_fragment_end {
    ELAPSE__ROUTER_FRAGMENT_ANSWERED,
    ELAPSE__ROUTER_FRAGMENT_NOT_DONE,
    ELAPSE__ROUTER_FRAGMENT_UNKNOWN,
    ELAPSE__ROUTER_FRAGMENT_NO_MEMORY, /* the fragment was not made */
};

/* A parsed command for one partition. A link to another node writes it as bytes. The core of this
 * process gets the arguments without a copy.
 *
 * A transaction is one fragment, too: EXEC, with MULTI and the commands after it in front of EXEC.
 * All are sent as one, and only the answer to EXEC counts. If the link is lost before EXEC is
 * wholly sent, the partition discards what it has got. */
struct elapse__router_fragment {
    struct elapse__ring_node
        ring_node; /* must be first; in `queued` of a lane, or `sent` or `returned` of a link */
    struct elapse__router_command *command; /* NULL: nobody waits for the answer */
    enum elapse__router_on_loss on_loss;
    bool was_sent;     /* the fragment was wholly sent once, and is sent again */
    uint64_t since_ms; /* when the fragment was put into its lane */
    uint64_t sent_ms;  /* when a link got the fragment */
    uint64_t end_at;   /* up to which byte of the link's output the fragment goes */
    size_t memory;     /* bytes of the fragment and of the commands in front of it */
    struct elapse__router_fragment *front;  /* the first command in front of this one; NULL: none */
    struct elapse__router_fragment *behind; /* in front: the next command; NULL: none */
    struct elapse__router_fragment
        *awaits;    /* the command in front whose answer comes next; NULL: this one */
    uint32_t place; /* for a command of a transaction: its place in the reply, from 0 */
    const struct elapse__router_route *route; /* for a command of a transaction; else NULL */
    uint32_t count;
    struct elapse__wire_resp_argument arguments[]; /* their bytes lie after the last argument */
};

struct elapse__router_lane {
    struct elapse__router *router;
    struct elapse__router_link *carrier; /* the link of the lane; NULL: none */
    struct elapse__ring_node queued;     /* the fragments that wait */
    struct elapse__ring_node blocked;    /* clients whose next command found the lane full */
    size_t bytes;                        /* of the fragments that wait or were sent */
    uint64_t retry_at_ms;                /* no link is wanted before this time */
    uint32_t retry_after_ms;
    bool has_moved; /* the owner has changed since the lane wanted the link */
    uint32_t partition;
    bool slow;
};

/* A chain asks one partition for jobs for all waiters: RESERVEs that wait. It asks for one waiter
 * after the other, in the order in which they began to wait. Once through all waiters is a pass. */
struct elapse__router_chain {
    struct elapse__ring_node *next; /* the waiter that comes next; the ring itself: none */
    bool asks;                      /* a question to the partition is under way */
    bool again;                     /* another pass follows this pass */
    bool has_missed; /* this pass left out a waiter that another partition was asked for */
    uint32_t empty_count;
    uint64_t empties[ELAPSE__ROUTER_EMPTIES]; /* hashes of tubes without a job in this pass */
    uint64_t poll_at_ms;
};

enum { ELAPSE__ROUTER_TROUBLE_MAX = 160 };

struct elapse__router_partition {
    enum elapse__router_place place;
    uint64_t epoch;
    char trouble[ELAPSE__ROUTER_TROUBLE_MAX]; /* why no link works, in words; "": a link works */
    bool is_old;                              /* the owner knows only NODE HELLO 1, and no HOLDER */
    struct elapse__router_lane quick, slow;
    struct elapse__router_chain chain;
};

enum elapse__router_link_state {
    ELAPSE__ROUTER_LINK_WANTED,   /* in the router's ring `wanted` */
    ELAPSE__ROUTER_LINK_OPENING,  /* the shell is opening the link */
    ELAPSE__ROUTER_LINK_GREETING, /* answers to the greeting are missing */
    ELAPSE__ROUTER_LINK_OPEN,
    ELAPSE__ROUTER_LINK_PARTING, /* the owner has changed, but may answer what was sent */
    ELAPSE__ROUTER_LINK_LOST,    /* the shell has to close the link */
};

struct elapse__router_link {
    struct elapse__ring_node ring_node; /* must be first; in the router's `links` or `wanted` */
    struct elapse__ring_node attention;
    struct elapse__router *router;
    struct elapse__router_lane *lane;     /* NULL: the link is a pipe or lost */
    struct elapse__router_client *client; /* the client of a pipe; NULL: none, or it has closed */
    enum elapse__router_link_state state;
    uint32_t partition;
    uint32_t greetings; /* how many answers to the greeting are missing */
    bool is_pipe;
    bool is_here; /* the link leads to a core of this process: it hands over commands, not bytes */
    bool is_old;  /* the other node speaks version 1 */
    bool had_room;
    struct elapse__buffer input, out;
    struct elapse__wire_resp_scanner scanner;
    struct elapse__ring_node sent; /* fragments that were sent, the oldest first */
    struct elapse__ring_node
        *to_run; /* the first in `sent` that the core here has not run; or the ring */
    struct elapse__router_fragment
        *run_first; /* the command in front of `to_run` that runs next; NULL: none */
    struct elapse__ring_node
        returned;      /* fragments that a partition gave back, because it has another owner */
    uint64_t out_end;  /* counts the bytes put into `out`; for a core, the bytes of its commands */
    uint64_t out_sent; /* how many of these were sent; for a core, of commands that it has begun */
    uint64_t since_ms; /* when the link entered its state */
    void *shell;
};

enum elapse__router_command_kind {
    ELAPSE__ROUTER_COMMAND_ONE,       /* one fragment; its answer is the reply */
    ELAPSE__ROUTER_COMMAND_ITEMS,     /* fragments with items; the reply has a place for each */
    ELAPSE__ROUTER_COMMAND_PAGE,      /* one fragment, whose answer begins with a cursor */
    ELAPSE__ROUTER_COMMAND_CANCELALL, /* all partitions, and the sums of their answers */
    ELAPSE__ROUTER_COMMAND_STATS,     /* all partitions, and the sums of their answers */
    ELAPSE__ROUTER_COMMAND_PAUSE,     /* all partitions; +OK from one partition is enough */
    ELAPSE__ROUTER_COMMAND_KICK,      /* one partition after the other */
    ELAPSE__ROUTER_COMMAND_RESERVE,   /* one partition after the other, then waiting */
    ELAPSE__ROUTER_COMMAND_EXEC,      /* one fragment or none; the reply has a place for each */
};

struct elapse__router_item {
    uint32_t partition;
    uint32_t at, size; /* where the answer to the item lies in the reply */
};

/* A job that a reply hands out, until the reply was wholly sent. */
struct elapse__router_hand {
    uint64_t id;
    uint32_t lease_size;
    char lease[ELAPSE__ROUTER_LEASE_MAX];
};

/* A timer of the router, and the function that it calls when it is due. */
struct elapse__router_alarm {
    struct elapse_timer timer; /* must be first */
    void (*ring)(struct elapse__router_alarm *alarm);
};

/* What a RESERVE has in addition to what all commands have. */
struct elapse__router_reserve {
    struct elapse__router_alarm alarm; /* must be first; runs while the RESERVE waits */
    struct elapse__ring_node waiter;   /* in the router's ring `waiters` */
    struct elapse__router *router;
    struct elapse__router_command *command;
    struct elapse__router_fragment *question; /* without WAIT; each partition gets a copy */
    uint32_t *partitions; /* the partitions that may have its tubes, each once; NULL: all */
    uint32_t partition_count;
    uint64_t tubes_hash;
    uint64_t deadline_ms; /* when the wait ends; 0: the RESERVE does not wait */
    uint64_t readied;     /* the router's `readied` when the first round began */
    uint64_t serial;      /* the router's `serial` when the first round began */
    uint32_t rounds;      /* how many partitions the first round is done with */
    uint32_t first;       /* the partition with which the first round began */
    bool is_even;         /* the first round does not prefer this node */
    bool left_out;        /* a partition could not be asked, or did not answer */
    bool asks;            /* a question to a partition is under way */
    bool by_chain;        /* a chain asked that question */
    bool missed;          /* a chain left this RESERVE out meanwhile */
    bool is_late;         /* its time is over, but a question is under way */
};

/* A figure that STATS adds up over the partitions. */
struct elapse__router_sum {
    char name[32];
    bool is_boolean;
    bool is_greatest; /* the reply has the greatest value, not the sum */
    int64_t value;
};

struct elapse__router_command {
    struct elapse__ring_node
        ring_node; /* must be first; in a client's `commands` or `leavings`, or in `orphans` */
    struct elapse__router_client *client; /* NULL: the client has closed */
    enum elapse__router_command_kind kind;
    bool resp3;
    bool done;
    bool is_barrier;    /* the commands after this one wait until this one is done */
    uint32_t fragments; /* how many fragments have not ended yet */
    size_t charge;      /* bytes that the reply may take; part of the client's `charges` */
    struct elapse__buffer reply;
    char error[ELAPSE__ROUTER_ERROR_MAX]; /* the first error of a partition; "": none */

    struct elapse__router_item *items; /* for ITEMS */
    uint32_t item_count;
    uint32_t cursor_of;              /* for PAGE: the partition */
    bool is_whole;                   /* only one partition is asked: it has the tube (braces) */
    uint64_t counts[2];              /* for CANCELALL, PAUSE, KICK: sums of the answers */
    uint64_t wanted;                 /* for KICK: how many jobs to kick */
    bool only_buried;                /* for KICK: it says BURIED */
    uint32_t first;                  /* for KICK: the partition that is asked first */
    uint32_t rounds;                 /* for KICK: how many partitions were asked */
    struct elapse__buffer tube;      /* for KICK: the tube */
    struct elapse__router_sum *sums; /* for STATS */
    uint32_t sum_count;

    struct elapse__router_reserve *reserve;
    struct elapse__router_hand *hands;
    uint32_t hand_count;
    uint32_t hands_of;                      /* the partition of the jobs in `hands` */
    uint32_t places;                        /* for EXEC: how many commands the transaction has */
    struct elapse__router_fragment *locals; /* for EXEC: the commands that the router runs itself */
    uint64_t end_at; /* in `leavings`: up to which byte of the client's output the reply goes */
};

/* The commands of a client since MULTI. */
struct elapse__router_transaction {
    struct elapse__router_alarm alarm; /* must be first; runs unless the transaction is spoiled */
    struct elapse__router_client *client;
    struct elapse__router_fragment *first, *last; /* the commands, in their order */
    uint32_t count;                               /* how many commands */
    uint32_t parts;                               /* as ELAPSE__ROUTER_PARTS_MAX counts them */
    size_t bytes;                                 /* bytes of the arguments */
    size_t memory;                                /* part of the router's `kept` */
    enum {
        ELAPSE__ROUTER_PARTS_ANYWHERE, /* no command has named a partition */
        ELAPSE__ROUTER_PARTS_LIKELY,   /* only a token names one: any other name replaces it */
        ELAPSE__ROUTER_PARTS_ONE,
        ELAPSE__ROUTER_PARTS_SEVERAL, /* several partitions: EXEC refuses that */
    } where;
    uint32_t partition;  /* for LIKELY and ONE */
    const char *spoiled; /* why EXEC will do nothing; NULL: it will do all commands */
};

enum elapse__router_client_speech {
    ELAPSE__ROUTER_SPEECH_UNKNOWN,
    ELAPSE__ROUTER_SPEECH_RESP,
    ELAPSE__ROUTER_SPEECH_PIPE,
};

struct elapse__router_client {
    struct elapse__ring_node ring_node;   /* must be first; in the router's `clients` */
    struct elapse__router_alarm alarm;    /* runs while `guess` waits */
    struct elapse__router_command *guess; /* it had a wrong password, and waits; NULL: none */
    struct elapse__router_transaction *transaction; /* from MULTI to EXEC; else NULL */
    struct elapse__ring_node attention;
    struct elapse__ring_node work; /* in the router's ring `work`, or in `blocked` of a lane */
    struct elapse__router *router;
    struct elapse__router_link *pipe;
    struct elapse__buffer input, out;
    struct elapse__wire_resp_parser parser;
    struct elapse__ring_node commands; /* the oldest first */
    struct elapse__ring_node leavings; /* commands whose replies in `out` hand out jobs */
    size_t charges;                    /* the sum of the charges of its commands */
    size_t need;                       /* the input is parsed again when it has so many bytes */
    uint64_t number;
    uint64_t out_end, out_sent;
    uint32_t home;        /* the partition of commands that may go to any partition */
    uint32_t reserves;    /* how many RESERVEs the client has begun */
    uint32_t guesses;     /* how many wrong passwords the client has sent */
    uint32_t spent;       /* of TAKE_MAX in this turn; a long command counts as many short ones */
    uint64_t home_serial; /* the router's `serial` when `home` was chosen; 0: not chosen */
    enum elapse__router_client_speech speech;
    bool may_use_beanstalkd;
    bool resp3;
    bool known;                  /* the client has sent a right password, or needs none */
    struct elapse__identity who; /* valid if `known`: who the client is */
    bool said_retry;             /* the shell has been told that the client uses RETRY */
    bool input_ended;
    bool ending; /* no command is taken any more */
    bool dead;   /* the shell closes the socket now */
    bool had_room;
    bool is_given; /* the client is another node, for a core: no command is taken */
    struct elapse__router_given given;
    uint8_t name_size;
    char name[ELAPSE__ROUTER_NAME_MAX];
    char address[ELAPSE__ROUTER_ADDRESS_BYTES]; /* "", until a RESERVE of a client without a name */
    void *shell;
};

/* Tells a command that one of its fragments has ended. `value` is the answer, or an error that says
 * why there is no answer. */
typedef void elapse__router_fragment_ended(struct elapse__router_command *command,
                                           uint32_t partition, enum elapse__router_fragment_end end,
                                           const unsigned char *value, size_t size);

struct elapse__router {
    struct elapse__router_options options;
    elapse__router_fragment_ended *fragment_ended; /* in answer.c, a higher layer */
    struct elapse__router_partition *partitions;
    struct elapse__ring_node clients, links, wanted, work, waiters, orphans;
    struct elapse__ring_node client_attention, link_attention;
    struct elapse__router_figures figures;
    struct elapse_wheel wheel; /* the alarms of RESERVEs that wait, and of wrong passwords */
    uint64_t now;
    uint64_t look_at_ms; /* when the router looks at lanes and links next */
    uint64_t serial;     /* counts changes of owners, from 1 */
    uint64_t readied;    /* counts calls of elapse__router_ready */
    uint64_t kept;       /* bytes of all open transactions */
};

/* Sets the time at the beginning of a call of router.h. */
static inline void elapse__router_enter(struct elapse__router *router, uint64_t now)
{
    ELAPSE__ASSERT_THAT(now, >=, router->now);
    router->now = now;
    elapse_wheel_advance(&router->wheel, now);
}

/* Makes the router look at its lanes and links at `at_ms` at the latest. */
static inline void elapse__router_look_by(struct elapse__router *router, uint64_t at_ms)
{
    if (at_ms < router->look_at_ms)
        router->look_at_ms = at_ms;
}

#endif
