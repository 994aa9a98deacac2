/*
 * What the files of this room share. node.h defines the words.
 *
 *   life.c     life, owners, turns
 *   client.c   bytes of clients, and replies in their order
 *   route.c    the table of commands, and which partition a command belongs to
 *   take.c     commands become parts
 *   local.c    commands that no partition has to see
 *   lane.c     parts wait, are sent, and are lost
 *   link.c     bytes of links
 *   answer.c   answers become replies
 *   merge.c    replies that are put together from the answers of many partitions
 *   reserve.c  RESERVE: partitions in turn, and waiting
 *   hands.c    jobs that were handed out, and are given back
 *   pipe.c     clients whose bytes pass as they are
 *
 * Nothing takes further commands of a client, or reads on in a link, in the middle of something
 * else: that waits in the ring `work`, for the turn.
 */
#ifndef ELAPSE__NODE_INNER_H
#define ELAPSE__NODE_INNER_H

#include <elapse/timer.h>
#include <elapse/wheel.h>

#include "../../base/assert.h"
#include "../../base/ring.h"
#include "../../protocol/resp_parse.h"
#include "../../protocol/resp_value.h"
#include "../../protocol/resp_write.h"
#include "../../server/core/buffer.h"
#include "router.h"

enum {
    ELAPSE__NODE_NAME_MAX = 64,       /* CLIENT SETNAME */
    ELAPSE__NODE_TAKE_MAX = 256,      /* commands of a client in one turn */
    ELAPSE__NODE_LINK_OUT = 64 << 10, /* bytes that wait in a link's output */
    ELAPSE__NODE_ERROR_MAX = 200,
    ELAPSE__NODE_RETRY_FIRST_MS = 50, /* between two tries to open a link; it doubles */
    ELAPSE__NODE_RETRY_LAST_MS = 1000,
    ELAPSE__NODE_LEASE_MAX = 44,
    ELAPSE__NODE_EMPTIES = 16,
    ELAPSE__NODE_SUMS_MAX = 64,
};

/* What becomes of a part whose link is lost after it was wholly sent. */
enum elapse__on_loss {
    ELAPSE__LOSS_UNKNOWN, /* it is answered -UNKNOWN */
    ELAPSE__LOSS_LOOK,    /* it changes nothing: it is sent again */
    ELAPSE__LOSS_TOKEN,   /* it is sent again, because the partition knows its token */
    ELAPSE__LOSS_EMPTY,   /* a question of a RESERVE: it has no jobs; also if it was not sent */
    ELAPSE__LOSS_DROP,    /* nobody waits for it; also if it was not sent */
};

enum elapse__part_end {
    ELAPSE__PART_ANSWERED,
    ELAPSE__PART_NOT_DONE,
    ELAPSE__PART_UNKNOWN,
};

struct elapse__node_part {
    struct elapse__link link; /* first; in a lane's `queued`, or a link's `sent` or `returned` */
    struct elapse__node_command *command; /* NULL: nobody waits for the answer */
    enum elapse__on_loss on_loss;
    bool by_chain;     /* a question of the partition's chain */
    bool was_sent;     /* once, wholly; it is sent again */
    uint64_t since_ms; /* when it was made */
    uint64_t sent_ms;  /* when it went into the link's output */
    uint64_t end_at;   /* where it ends in the bytes of the link */
    size_t size;
    unsigned char bytes[];
};

struct elapse__node_lane {
    struct elapse__node *node;
    struct elapse__node_link *carrier; /* the link; NULL: none */
    struct elapse__link queued;        /* parts */
    struct elapse__link blocked;       /* clients whose next command finds the lane full */
    size_t bytes;                      /* of parts, queued and sent */
    uint64_t retry_at_ms;              /* when a link may be wanted again */
    uint32_t retry_after_ms;
    bool has_moved; /* the owner has changed since the link was wanted */
    uint32_t partition;
    bool slow;
};

/* The questions of reserves that wait go to a partition one after the other, in the order in which
 * the reserves began to wait. */
struct elapse__node_chain {
    struct elapse__link *next; /* the waiter to be asked next; the ring itself: at its end */
    bool asks;                 /* a question is under way */
    bool again;                /* at the end: from the beginning */
    bool has_missed;           /* it came by a waiter that was asked elsewhere */
    uint32_t empty_count;
    uint64_t empties[ELAPSE__NODE_EMPTIES]; /* hashes of tubes that had nothing in this pass */
    uint64_t poll_at_ms;
};

enum { ELAPSE__NODE_TROUBLE_MAX = 160 };

struct elapse__node_partition {
    enum elapse__node_place place;
    uint64_t epoch;
    char trouble[ELAPSE__NODE_TROUBLE_MAX]; /* of its links; "": none */
    struct elapse__node_lane quick, slow;
    struct elapse__node_chain chain;
};

enum elapse__link_state {
    ELAPSE__LINK_WANTED,   /* in the node's ring `wanted` */
    ELAPSE__LINK_OPENING,  /* with the shell */
    ELAPSE__LINK_GREETING, /* the answers to its greeting are to come */
    ELAPSE__LINK_OPEN,
    ELAPSE__LINK_PARTING, /* it may answer what it was sent; the owner has changed */
    ELAPSE__LINK_LOST,    /* the shell has to close it */
};

struct elapse__node_link {
    struct elapse__link link; /* first; in the node's `links` or `wanted` */
    struct elapse__link attention;
    struct elapse__node *node;
    struct elapse__node_lane *lane;     /* NULL: a pipe, or lost */
    struct elapse__node_client *client; /* of a pipe; NULL: it has closed */
    enum elapse__link_state state;
    uint32_t partition;
    uint32_t greetings; /* answers that are to come */
    bool is_pipe;
    bool had_room;
    struct elapse__buffer input, out;
    struct elapse__resp_scanner scanner;
    struct elapse__link sent;     /* parts, the oldest first */
    struct elapse__link returned; /* parts that the partition refused: it has another owner */
    uint64_t out_end;             /* bytes that `out` has had */
    uint64_t out_sent;            /* of them, those that were sent */
    uint64_t since_ms;            /* of the state */
    void *shell;
};

enum elapse__command_kind {
    ELAPSE__COMMAND_ONE,       /* one part; its answer is the reply */
    ELAPSE__COMMAND_ITEMS,     /* parts with items; the reply has a place for each */
    ELAPSE__COMMAND_PAGE,      /* one part; its answer begins with a cursor */
    ELAPSE__COMMAND_CANCELALL, /* all partitions; sums */
    ELAPSE__COMMAND_STATS,     /* all partitions; sums */
    ELAPSE__COMMAND_PAUSE,     /* all partitions; one that says ok is enough */
    ELAPSE__COMMAND_KICK,      /* partitions in turn */
    ELAPSE__COMMAND_RESERVE,   /* partitions in turn, and waiting */
};

struct elapse__node_item {
    uint32_t partition;
    uint32_t at, size; /* its answer, in the command's reply */
};

/* A job that was handed out, and whose reply was not wholly sent. */
struct elapse__node_hand {
    uint64_t id;
    uint32_t lease_size;
    char lease[ELAPSE__NODE_LEASE_MAX];
};

/* What a RESERVE knows beyond other commands. */
struct elapse__node_reserve {
    struct elapse_timer timer;  /* first; runs while it waits */
    struct elapse__link waiter; /* in the node's ring `waiters` */
    struct elapse__node *node;
    struct elapse__node_command *command;
    struct elapse__buffer question; /* the command without WAIT */
    uint64_t tubes_hash;
    uint64_t deadline_ms; /* 0: it does not wait */
    uint64_t readied;     /* the node's `readied` when the first round began */
    uint32_t rounds;      /* partitions that the first round has come past */
    uint32_t first;       /* where it began */
    bool is_even;         /* it does not prefer this node */
    bool reached;         /* some partition could be asked */
    bool asks;            /* a question is under way */
    bool missed;          /* a chain came by meanwhile */
    bool is_late;         /* the time is over, and a question is under way */
};

/* What STATS adds up. */
struct elapse__node_sum {
    char name[32];
    bool is_boolean;
    bool is_greatest; /* the greatest one counts, not the sum */
    int64_t value;
};

struct elapse__node_command {
    struct elapse__link link; /* first; in a client's `commands` or `leavings`; or `orphans` */
    struct elapse__node_client *client; /* NULL: it has closed */
    enum elapse__command_kind kind;
    bool resp3;
    bool done;
    bool is_barrier; /* those behind it wait until it is done */
    uint32_t parts;  /* under way */
    size_t charge;   /* what it counts in its client */
    struct elapse__buffer reply;
    char error[ELAPSE__NODE_ERROR_MAX]; /* of a command for many partitions; "": none */

    struct elapse__node_item *items; /* ITEMS */
    uint32_t item_count;
    uint32_t cursor_of;            /* PAGE: the partition */
    uint64_t counts[2];            /* CANCELALL, PAUSE, KICK */
    uint64_t wanted;               /* KICK */
    uint32_t first;                /* KICK: the partition that is asked first */
    uint32_t rounds;               /* KICK: partitions asked */
    struct elapse__buffer tube;    /* KICK */
    struct elapse__node_sum *sums; /* STATS */
    uint32_t sum_count;

    struct elapse__node_reserve *reserve;
    struct elapse__node_hand *hands;
    uint32_t hand_count;
    uint32_t hands_of; /* the partition */
    uint64_t end_at;   /* in `leavings`: where it ends in the bytes of the client */
};

enum elapse__client_speech {
    ELAPSE__SPEECH_UNKNOWN,
    ELAPSE__SPEECH_RESP,
    ELAPSE__SPEECH_PIPE,
};

struct elapse__node_client {
    struct elapse__link link; /* first; in the node's `clients` */
    struct elapse__link attention;
    struct elapse__link work; /* in the node's `work`, or in a lane's `blocked` */
    struct elapse__node *node;
    struct elapse__node_link *pipe;
    struct elapse__buffer input, out;
    struct elapse__resp_parser parser;
    struct elapse__link commands; /* the oldest first */
    struct elapse__link leavings; /* hand-outs in `out` */
    size_t charges;               /* of the commands */
    size_t need;                  /* bytes that the next command needs at least */
    uint64_t number;
    uint64_t out_end, out_sent;
    uint32_t home;        /* the partition of commands that may go to any */
    uint32_t reserves;    /* RESERVEs that it has begun */
    uint64_t home_serial; /* the node's `serial` when it was chosen; 0: not yet */
    enum elapse__client_speech speech;
    bool may_use_beanstalkd;
    bool resp3;
    bool known; /* it has said AUTH, or nobody has to */
    bool input_ended;
    bool ending; /* no command is taken any more */
    bool dead;   /* the shell closes it now */
    bool had_room;
    bool is_given; /* to a partition: it takes no command any more */
    struct elapse__node_given given;
    uint8_t name_size;
    char name[ELAPSE__NODE_NAME_MAX];
    void *shell;
};

struct elapse__node {
    struct elapse__node_options options;
    struct elapse__node_partition *partitions;
    struct elapse__link clients, links, wanted, work, waiters, orphans;
    struct elapse__link client_attention, link_attention;
    struct elapse__node_figures figures;
    struct elapse_wheel wheel; /* of reserves that wait */
    uint64_t now;
    uint64_t look_at_ms; /* when lanes and links are looked at next */
    uint64_t serial;     /* counts changes of owners, from 1 */
    uint64_t readied;    /* counts elapse__node_ready */
};

/* ---- links of rings that may be in none ---- */

static inline bool elapse__node_linked(const struct elapse__link *link)
{
    return link->next != NULL;
}

static inline void elapse__node_unlink(struct elapse__link *link)
{
    if (!elapse__node_linked(link))
        return;
    (void)elapse__ring_remove(link);
    link->next = NULL;
}

static inline void elapse__node_link_once(struct elapse__link *ring, struct elapse__link *link)
{
    if (!elapse__node_linked(link))
        elapse__ring_append(ring, link);
}

#define ELAPSE__NODE_OWNER(pointer, type, member) \
    ((type *)((uintptr_t)(pointer)-offsetof(type, member)))

/* ---- life.c ---- */

/* Each function of node.h that does something begins with it. */
void elapse__node_enter(struct elapse__node *node, uint64_t now);

/* Lanes and links are looked at no later than `at_ms`. */
static inline void elapse__node_look_by(struct elapse__node *node, uint64_t at_ms)
{
    if (at_ms < node->look_at_ms)
        node->look_at_ms = at_ms;
}

/* Returns the partition for commands of a client that may go to any. */
uint32_t elapse__node_home(struct elapse__node_client *client);

/* ---- client.c ---- */

/* Moves the replies that are complete to the output, and lets further commands be taken. */
void elapse__client_release(struct elapse__node_client *client);
/* It ends without another byte. */
void elapse__client_fail(struct elapse__node_client *client);
/* Shows the shell what has changed. */
void elapse__client_arrange(struct elapse__node_client *client);
bool elapse__client_is_choked(const struct elapse__node_client *client);
/* A turn of a client in `work`. Returns whether it has more to do. */
bool elapse__client_work(struct elapse__node_client *client);

/* Appends a new command to a client's. NULL: no memory, and the client fails. */
struct elapse__node_command *elapse__command_new(struct elapse__node_client *client,
                                                 enum elapse__command_kind kind, size_t charge);
/* Its reply is complete. */
void elapse__command_done(struct elapse__node_command *command);
void elapse__command_free(struct elapse__node_command *command);

/* ---- replies of commands (answer.c) ---- */

/* Returns a writer with room for `size` bytes at the end of the reply; without memory the client
 * fails, and nothing is written. */
struct elapse__resp_writer elapse__reply_room(struct elapse__node_command *command, size_t size);
void elapse__reply_written(struct elapse__node_command *command,
                           const struct elapse__resp_writer *writer);
void elapse__reply_fail(struct elapse__node_command *command, const char *error);
/* Appends a value in the version of the client. */
void elapse__reply_value(struct elapse__node_command *command, const unsigned char *value,
                         size_t size);

/* A part has ended. `value` is its answer, or the error that says why it has none. */
void elapse__command_answer(struct elapse__node_command *command, uint32_t partition,
                            const struct elapse__node_part *part, enum elapse__part_end end,
                            const unsigned char *value, size_t size);

/* ---- merge.c ---- */

void elapse__merge_page(struct elapse__node_command *command, const unsigned char *value,
                        size_t size);
/* Takes the answer of one partition into a command for all; the last one completes the reply. */
void elapse__merge_answer(struct elapse__node_command *command, const unsigned char *value,
                          size_t size);
/* Asks the next partition of a KICK, or completes it. */
void elapse__kick_step(struct elapse__node_command *command);

/* ---- take.c ---- */

enum elapse__taken {
    ELAPSE__TAKEN,
    ELAPSE__TAKEN_LATER, /* it is in the `blocked` ring of a lane */
};

/* Makes a command of `size` bytes and its arguments into parts. */
enum elapse__taken elapse__take(struct elapse__node_client *client, const unsigned char *bytes,
                                size_t size, const struct elapse__resp_argument *arguments,
                                uint32_t count);

/* ---- route.c ---- */

enum elapse__route_kind {
    ELAPSE__ROUTE_LOCAL,
    ELAPSE__ROUTE_ANY,    /* any partition */
    ELAPSE__ROUTE_PUT,    /* by its key, its token, or any */
    ELAPSE__ROUTE_KEY,    /* by tube and key */
    ELAPSE__ROUTE_ID,     /* by an id */
    ELAPSE__ROUTE_KEYS,   /* CANCEL */
    ELAPSE__ROUTE_IDS,    /* CANCELID */
    ELAPSE__ROUTE_LEASES, /* ACK */
    ELAPSE__ROUTE_PAGE,   /* LIST, TUBES */
    ELAPSE__ROUTE_ALL,
    ELAPSE__ROUTE_KICK,
    ELAPSE__ROUTE_RESERVE,
};

typedef void elapse__local_function(struct elapse__node_command *command,
                                    const struct elapse__resp_argument *arguments, uint32_t count);

struct elapse__route {
    char name[16]; /* in capitals, and zeros */
    enum elapse__route_kind kind;
    uint32_t least;   /* arguments with the name; with fewer, any partition refuses it */
    bool looks;       /* it changes nothing */
    bool before_auth; /* it may be said before AUTH */
    bool slow;        /* it may take long */
    enum elapse__command_kind command; /* ALL */
    elapse__local_function *local;
};

/* Returns the route of a command, NULL: there is none. */
const struct elapse__route *elapse__route_find(struct elapse__resp_argument name);

/* Returns whether an argument is this word of capitals, in capitals or not. */
bool elapse__argument_is(struct elapse__resp_argument argument, const char *word);
bool elapse__argument_id(struct elapse__resp_argument argument, uint64_t *id);

struct elapse__route_option {
    const char *name;
    uint8_t values;
};
/* Finds the first value of each option: its place, or 0. Returns false if a partition refuses the
 * options, whichever it is. */
bool elapse__route_options(const struct elapse__resp_argument *arguments, uint32_t count,
                           uint32_t first, const struct elapse__route_option *options,
                           uint32_t option_count, uint32_t *places);

/* Returns the partition of a PUT. */
uint32_t elapse__route_put(struct elapse__node_client *client,
                           const struct elapse__resp_argument *arguments, uint32_t count,
                           bool *has_token);

/* ---- local.c ---- */

elapse__local_function elapse__local_ping;
elapse__local_function elapse__local_echo;
elapse__local_function elapse__local_hello;
elapse__local_function elapse__local_auth;
elapse__local_function elapse__local_select;
elapse__local_function elapse__local_client;
elapse__local_function elapse__local_config;
elapse__local_function elapse__local_info;
elapse__local_function elapse__local_quit;
elapse__local_function elapse__local_reset;

/* given.c */
elapse__local_function elapse__local_node;

/* ---- lane.c ---- */

bool elapse__lane_is_full(const struct elapse__node_lane *lane);
/* Whether a part that is put into it now is sent at once. */
bool elapse__lane_is_open(const struct elapse__node_lane *lane);

/* Returns a part with room for `size` bytes, which is not in the lane yet; NULL: no memory. */
struct elapse__node_part *elapse__part_new(struct elapse__node_lane *lane,
                                           struct elapse__node_command *command,
                                           enum elapse__on_loss on_loss, size_t size);
/* Puts it into the lane, and sends what can be sent. */
void elapse__lane_push(struct elapse__node_lane *lane, struct elapse__node_part *part);
/* The same in one step, for bytes that are there. Without memory the part ends with -OOM. */
void elapse__lane_send(struct elapse__node_lane *lane, struct elapse__node_command *command,
                       enum elapse__on_loss on_loss, const void *bytes, size_t size);
void elapse__lane_pump(struct elapse__node_lane *lane);
/* A part in no ring any more has ended. */
void elapse__lane_end(struct elapse__node_lane *lane, struct elapse__node_part *part,
                      enum elapse__part_end end, const unsigned char *value, size_t size);
/* Takes back what its link has not done: the link is lost. */
void elapse__lane_lose(struct elapse__node_lane *lane, struct elapse__node_link *link);
/* Does what the time asks for. */
void elapse__lane_look(struct elapse__node_lane *lane);
/* The owner has changed. */
void elapse__lane_moved(struct elapse__node_lane *lane);

/* ---- link.c ---- */

/* Wants a link for a lane, or for a pipe. Returns NULL if there is no memory. */
struct elapse__node_link *elapse__node_link_new(struct elapse__node *node, uint32_t partition,
                                                struct elapse__node_lane *lane,
                                                struct elapse__node_client *client);
void elapse__node_link_free(struct elapse__node_link *link);
void elapse__link_enter(struct elapse__node_link *link, enum elapse__link_state state);
/* It is of no more use: gives its lane back what it has not done. */
void elapse__link_lose(struct elapse__node_link *link);
/* The same for one that the shell may not know yet: then it is released. */
void elapse__link_give_up(struct elapse__node_link *link);
/* Shows the shell what has changed. */
void elapse__link_arrange(struct elapse__node_link *link);
/* Notes why links to this partition are of no use; control characters end the words. */
void elapse__link_complain(struct elapse__node_link *link, const char *why, size_t size);

/* ---- reserve.c ---- */

/* Begins a RESERVE. Returns false if it is not well formed, and any partition refuses it. */
bool elapse__reserve_take(struct elapse__node_client *client,
                          const struct elapse__resp_argument *arguments, uint32_t count);
void elapse__reserve_answer(struct elapse__node_command *command, uint32_t partition,
                            const struct elapse__node_part *part, enum elapse__part_end end,
                            const unsigned char *value, size_t size);
void elapse__reserve_free(struct elapse__node_reserve *reserve);
/* Returns whether it is a RESERVE that has to wait for a job. */
bool elapse__reserve_waits(const struct elapse__node_command *command);
/* The client has closed. */
void elapse__reserve_abandon(struct elapse__node_command *command);
/* Asks the waiters from the beginning. */
void elapse__chain_begin(struct elapse__node *node, uint32_t partition);
/* Ends the waits whose time is over, and polls. */
void elapse__reserve_look(struct elapse__node *node);

/* ---- hands.c ---- */

/* Reads the jobs of an answer. Returns false if it is no hand-out, or there is no memory. */
bool elapse__hands_read(struct elapse__node_command *command, uint32_t partition,
                        const unsigned char *value, size_t size);
/* Gives them back. */
void elapse__hands_give_back(struct elapse__node *node, const struct elapse__node_command *command);

/* ---- pipe.c ---- */

/* Chooses what a client speaks by its first byte. */
void elapse__pipe_choose(struct elapse__node_client *client);
/* Moves bytes between a client and its pipe. */
void elapse__pipe_pump(struct elapse__node_client *client);
/* Ends pipes that could not be opened in time. */
void elapse__pipe_look(struct elapse__node *node);
/* The owner has changed: ends the pipes to the one before. */
void elapse__pipe_moved(struct elapse__node *node);

#endif
