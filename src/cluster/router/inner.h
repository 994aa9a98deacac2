/*
 * What the files of this room share. router.h defines the words.
 *
 *   life.c     life, owners, turns
 *   client.c   bytes of clients, and replies in their order
 *   route.c    the table of commands, and which partition a command belongs to
 *   take.c     commands become fragments
 *   local.c    commands that no partition has to see
 *   lane.c     fragments wait, are sent, and are lost
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
#ifndef ELAPSE__ROUTER_INNER_H
#define ELAPSE__ROUTER_INNER_H

#include <elapse/timer.h>
#include <elapse/wheel.h>

#include "../../base/assert.h"
#include "../../base/buffer.h"
#include "../../base/ring.h"
#include "../../protocol/resp_parse.h"
#include "../../protocol/resp_value.h"
#include "../../protocol/resp_write.h"
#include "router.h"

enum {
    ELAPSE__ROUTER_NAME_MAX = 64,       /* CLIENT SETNAME */
    ELAPSE__ROUTER_TAKE_MAX = 256,      /* commands of a client in one turn */
    ELAPSE__ROUTER_LINK_OUT = 64 << 10, /* bytes that wait in a link's output */
    ELAPSE__ROUTER_ERROR_MAX = 200,
    ELAPSE__ROUTER_RETRY_FIRST_MS = 50, /* between two tries to open a link; it doubles */
    ELAPSE__ROUTER_RETRY_LAST_MS = 1000,
    ELAPSE__ROUTER_LEASE_MAX = 44,
    ELAPSE__ROUTER_EMPTIES = 16,
    ELAPSE__ROUTER_SUMS_MAX = 64,
};

/* What becomes of a fragment whose link is lost after it was wholly sent. */
enum elapse__router_on_loss {
    ELAPSE__ROUTER_LOSS_UNKNOWN, /* it is answered -UNKNOWN */
    ELAPSE__ROUTER_LOSS_LOOK,    /* it changes nothing: it is sent again */
    ELAPSE__ROUTER_LOSS_TOKEN,   /* it is sent again, because the partition knows its token */
    ELAPSE__ROUTER_LOSS_EMPTY,   /* a question of a RESERVE: it has no jobs; also if it was not sent
                                  */
    ELAPSE__ROUTER_LOSS_DROP,    /* nobody waits for it; also if it was not sent */
};

enum elapse__router_fragment_end {
    ELAPSE__ROUTER_FRAGMENT_ANSWERED,
    ELAPSE__ROUTER_FRAGMENT_NOT_DONE,
    ELAPSE__ROUTER_FRAGMENT_UNKNOWN,
};

struct elapse__router_fragment {
    struct elapse__ring_node
        ring_node; /* first; in a lane's `queued`, or a link's `sent` or `returned` */
    struct elapse__router_command *command; /* NULL: nobody waits for the answer */
    enum elapse__router_on_loss on_loss;
    bool by_chain;     /* a question of the partition's chain */
    bool was_sent;     /* once, wholly; it is sent again */
    uint64_t since_ms; /* when it was made */
    uint64_t sent_ms;  /* when it went into the link's output */
    uint64_t end_at;   /* where it ends in the bytes of the link */
    size_t size;
    unsigned char bytes[];
};

struct elapse__router_lane {
    struct elapse__router *router;
    struct elapse__router_link *carrier; /* the link; NULL: none */
    struct elapse__ring_node queued;     /* fragments */
    struct elapse__ring_node blocked;    /* clients whose next command finds the lane full */
    size_t bytes;                        /* of fragments, queued and sent */
    uint64_t retry_at_ms;                /* when a link may be wanted again */
    uint32_t retry_after_ms;
    bool has_moved; /* the owner has changed since the link was wanted */
    uint32_t partition;
    bool slow;
};

/* The questions of reserves that wait go to a partition one after the other, in the order in which
 * the reserves began to wait. */
struct elapse__router_chain {
    struct elapse__ring_node *next; /* the waiter to be asked next; the ring itself: at its end */
    bool asks;                      /* a question is under way */
    bool again;                     /* at the end: from the beginning */
    bool has_missed;                /* it came by a waiter that was asked elsewhere */
    uint32_t empty_count;
    uint64_t empties[ELAPSE__ROUTER_EMPTIES]; /* hashes of tubes that had nothing in this pass */
    uint64_t poll_at_ms;
};

enum { ELAPSE__ROUTER_TROUBLE_MAX = 160 };

struct elapse__router_partition {
    enum elapse__router_place place;
    uint64_t epoch;
    char trouble[ELAPSE__ROUTER_TROUBLE_MAX]; /* of its links; "": none */
    struct elapse__router_lane quick, slow;
    struct elapse__router_chain chain;
};

enum elapse__database_link_state {
    ELAPSE__ROUTER_LINK_WANTED,   /* in the node's ring `wanted` */
    ELAPSE__ROUTER_LINK_OPENING,  /* with the shell */
    ELAPSE__ROUTER_LINK_GREETING, /* the answers to its greeting are to come */
    ELAPSE__ROUTER_LINK_OPEN,
    ELAPSE__ROUTER_LINK_PARTING, /* it may answer what it was sent; the owner has changed */
    ELAPSE__ROUTER_LINK_LOST,    /* the shell has to close it */
};

struct elapse__router_link {
    struct elapse__ring_node ring_node; /* first; in the node's `links` or `wanted` */
    struct elapse__ring_node attention;
    struct elapse__router *router;
    struct elapse__router_lane *lane;     /* NULL: a pipe, or lost */
    struct elapse__router_client *client; /* of a pipe; NULL: it has closed */
    enum elapse__database_link_state state;
    uint32_t partition;
    uint32_t greetings; /* answers that are to come */
    bool is_pipe;
    bool had_room;
    struct elapse__buffer input, out;
    struct elapse__wire_resp_scanner scanner;
    struct elapse__ring_node sent; /* fragments, the oldest first */
    struct elapse__ring_node
        returned;      /* fragments that the partition refused: it has another owner */
    uint64_t out_end;  /* bytes that `out` has had */
    uint64_t out_sent; /* of them, those that were sent */
    uint64_t since_ms; /* of the state */
    void *shell;
};

enum elapse__router_command_kind {
    ELAPSE__ROUTER_COMMAND_ONE,       /* one fragment; its answer is the reply */
    ELAPSE__ROUTER_COMMAND_ITEMS,     /* fragments with items; the reply has a place for each */
    ELAPSE__ROUTER_COMMAND_PAGE,      /* one fragment; its answer begins with a cursor */
    ELAPSE__ROUTER_COMMAND_CANCELALL, /* all partitions; sums */
    ELAPSE__ROUTER_COMMAND_STATS,     /* all partitions; sums */
    ELAPSE__ROUTER_COMMAND_PAUSE,     /* all partitions; one that says ok is enough */
    ELAPSE__ROUTER_COMMAND_KICK,      /* partitions in turn */
    ELAPSE__ROUTER_COMMAND_RESERVE,   /* partitions in turn, and waiting */
};

struct elapse__router_item {
    uint32_t partition;
    uint32_t at, size; /* its answer, in the command's reply */
};

/* A job that was handed out, and whose reply was not wholly sent. */
struct elapse__router_hand {
    uint64_t id;
    uint32_t lease_size;
    char lease[ELAPSE__ROUTER_LEASE_MAX];
};

/* What a RESERVE knows beyond other commands. */
struct elapse__router_reserve {
    struct elapse_timer timer;       /* first; runs while it waits */
    struct elapse__ring_node waiter; /* in the node's ring `waiters` */
    struct elapse__router *router;
    struct elapse__router_command *command;
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
struct elapse__router_sum {
    char name[32];
    bool is_boolean;
    bool is_greatest; /* the greatest one counts, not the sum */
    int64_t value;
};

struct elapse__router_command {
    struct elapse__ring_node
        ring_node; /* first; in a client's `commands` or `leavings`; or `orphans` */
    struct elapse__router_client *client; /* NULL: it has closed */
    enum elapse__router_command_kind kind;
    bool resp3;
    bool done;
    bool is_barrier;    /* those behind it wait until it is done */
    uint32_t fragments; /* under way */
    size_t charge;      /* what it counts in its client */
    struct elapse__buffer reply;
    char error[ELAPSE__ROUTER_ERROR_MAX]; /* of a command for many partitions; "": none */

    struct elapse__router_item *items; /* ITEMS */
    uint32_t item_count;
    uint32_t cursor_of;              /* PAGE: the partition */
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
    uint32_t hands_of; /* the partition */
    uint64_t end_at;   /* in `leavings`: where it ends in the bytes of the client */
};

enum elapse__router_client_speech {
    ELAPSE__ROUTER_SPEECH_UNKNOWN,
    ELAPSE__ROUTER_SPEECH_RESP,
    ELAPSE__ROUTER_SPEECH_PIPE,
};

struct elapse__router_client {
    struct elapse__ring_node ring_node; /* first; in the node's `clients` */
    struct elapse__ring_node attention;
    struct elapse__ring_node work; /* in the node's `work`, or in a lane's `blocked` */
    struct elapse__router *router;
    struct elapse__router_link *pipe;
    struct elapse__buffer input, out;
    struct elapse__wire_resp_parser parser;
    struct elapse__ring_node commands; /* the oldest first */
    struct elapse__ring_node leavings; /* hand-outs in `out` */
    size_t charges;                    /* of the commands */
    size_t need;                       /* bytes that the next command needs at least */
    uint64_t number;
    uint64_t out_end, out_sent;
    uint32_t home;        /* the partition of commands that may go to any */
    uint32_t reserves;    /* RESERVEs that it has begun */
    uint64_t home_serial; /* the node's `serial` when it was chosen; 0: not yet */
    enum elapse__router_client_speech speech;
    bool may_use_beanstalkd;
    bool resp3;
    bool known; /* it has said AUTH, or nobody has to */
    bool input_ended;
    bool ending; /* no command is taken any more */
    bool dead;   /* the shell closes it now */
    bool had_room;
    bool is_given; /* to a partition: it takes no command any more */
    struct elapse__router_given given;
    uint8_t name_size;
    char name[ELAPSE__ROUTER_NAME_MAX];
    void *shell;
};

struct elapse__router {
    struct elapse__router_options options;
    struct elapse__router_partition *partitions;
    struct elapse__ring_node clients, links, wanted, work, waiters, orphans;
    struct elapse__ring_node client_attention, link_attention;
    struct elapse__router_figures figures;
    struct elapse_wheel wheel; /* of reserves that wait */
    uint64_t now;
    uint64_t look_at_ms; /* when lanes and links are looked at next */
    uint64_t serial;     /* counts changes of owners, from 1 */
    uint64_t readied;    /* counts elapse__router_ready */
};

/* ---- life.c ---- */

/* Each function of router.h that does something begins with it. */
void elapse__router_enter(struct elapse__router *router, uint64_t now);

/* Lanes and links are looked at no later than `at_ms`. */
static inline void elapse__router_look_by(struct elapse__router *router, uint64_t at_ms)
{
    if (at_ms < router->look_at_ms)
        router->look_at_ms = at_ms;
}

/* Returns the partition for commands of a client that may go to any. */
uint32_t elapse__router_home(struct elapse__router_client *client);

/* ---- client.c ---- */

/* Moves the replies that are complete to the output, and lets further commands be taken. */
void elapse__router_client_release(struct elapse__router_client *client);
/* It ends without another byte. */
void elapse__router_client_fail(struct elapse__router_client *client);
/* Shows the shell what has changed. */
void elapse__router_client_arrange(struct elapse__router_client *client);
bool elapse__router_client_is_choked(const struct elapse__router_client *client);
/* A turn of a client in `work`. Returns whether it has more to do. */
bool elapse__router_client_work(struct elapse__router_client *client);

/* Appends a new command to a client's. NULL: no memory, and the client fails. */
struct elapse__router_command *elapse__router_command_new(struct elapse__router_client *client,
                                                          enum elapse__router_command_kind kind,
                                                          size_t charge);
/* Its reply is complete. */
void elapse__router_command_done(struct elapse__router_command *command);
void elapse__router_command_free(struct elapse__router_command *command);

/* ---- replies of commands (answer.c) ---- */

/* Returns a writer with room for `size` bytes at the end of the reply; without memory the client
 * fails, and nothing is written. */
struct elapse__wire_resp_writer elapse__router_reply_room(struct elapse__router_command *command,
                                                          size_t size);
void elapse__router_reply_written(struct elapse__router_command *command,
                                  const struct elapse__wire_resp_writer *writer);
void elapse__router_reply_fail(struct elapse__router_command *command, const char *error);
/* Appends a value in the version of the client. */
void elapse__router_reply_value(struct elapse__router_command *command, const unsigned char *value,
                                size_t size);

/* A fragment has ended. `value` is its answer, or the error that says why it has none. */
void elapse__router_command_answer(struct elapse__router_command *command, uint32_t partition,
                                   const struct elapse__router_fragment *fragment,
                                   enum elapse__router_fragment_end end, const unsigned char *value,
                                   size_t size);

/* ---- merge.c ---- */

void elapse__router_merge_page(struct elapse__router_command *command, const unsigned char *value,
                               size_t size);
/* Takes the answer of one partition into a command for all; the last one completes the reply. */
void elapse__router_merge_answer(struct elapse__router_command *command, const unsigned char *value,
                                 size_t size);
/* Asks the next partition of a KICK, or completes it. */
void elapse__router_kick_step(struct elapse__router_command *command);

/* ---- take.c ---- */

enum elapse__router_taken {
    ELAPSE__ROUTER_TAKEN,
    ELAPSE__ROUTER_TAKEN_LATER, /* it is in the `blocked` ring of a lane */
};

/* Makes a command of `size` bytes and its arguments into fragments. */
enum elapse__router_taken elapse__router_take(struct elapse__router_client *client,
                                              const unsigned char *bytes, size_t size,
                                              const struct elapse__wire_resp_argument *arguments,
                                              uint32_t count);

/* ---- route.c ---- */

enum elapse__router_route_kind {
    ELAPSE__ROUTER_ROUTE_LOCAL,
    ELAPSE__ROUTER_ROUTE_ANY,    /* any partition */
    ELAPSE__ROUTER_ROUTE_PUT,    /* by its key, its token, or any */
    ELAPSE__ROUTER_ROUTE_KEY,    /* by tube and key */
    ELAPSE__ROUTER_ROUTE_ID,     /* by an id */
    ELAPSE__ROUTER_ROUTE_KEYS,   /* CANCEL */
    ELAPSE__ROUTER_ROUTE_IDS,    /* CANCELID */
    ELAPSE__ROUTER_ROUTE_LEASES, /* ACK */
    ELAPSE__ROUTER_ROUTE_PAGE,   /* LIST, TUBES */
    ELAPSE__ROUTER_ROUTE_ALL,
    ELAPSE__ROUTER_ROUTE_KICK,
    ELAPSE__ROUTER_ROUTE_RESERVE,
};

typedef void elapse__router_local_function(struct elapse__router_command *command,
                                           const struct elapse__wire_resp_argument *arguments,
                                           uint32_t count);

struct elapse__router_route {
    char name[16]; /* in capitals, and zeros */
    enum elapse__router_route_kind kind;
    uint32_t least;   /* arguments with the name; with fewer, any partition refuses it */
    bool looks;       /* it changes nothing */
    bool before_auth; /* it may be said before AUTH */
    bool slow;        /* it may take long */
    enum elapse__router_command_kind command; /* ALL */
    elapse__router_local_function *local;
};

/* Returns the route of a command, NULL: there is none. */
const struct elapse__router_route *
elapse__router_route_find(struct elapse__wire_resp_argument name);

/* Returns whether an argument is this word of capitals, in capitals or not. */
bool elapse__router_argument_is(struct elapse__wire_resp_argument argument, const char *word);
bool elapse__router_argument_id(struct elapse__wire_resp_argument argument, uint64_t *id);

struct elapse__router_route_option {
    const char *name;
    uint8_t values;
};
/* Finds the first value of each option: its place, or 0. Returns false if a partition refuses the
 * options, whichever it is. */
bool elapse__router_route_options(const struct elapse__wire_resp_argument *arguments,
                                  uint32_t count, uint32_t first,
                                  const struct elapse__router_route_option *options,
                                  uint32_t option_count, uint32_t *places);

/* Returns the partition of a PUT. */
uint32_t elapse__router_route_put(struct elapse__router_client *client,
                                  const struct elapse__wire_resp_argument *arguments,
                                  uint32_t count, bool *has_token);

/* ---- local.c ---- */

elapse__router_local_function elapse__router_local_ping;
elapse__router_local_function elapse__router_local_echo;
elapse__router_local_function elapse__router_local_hello;
elapse__router_local_function elapse__router_local_auth;
elapse__router_local_function elapse__router_local_select;
elapse__router_local_function elapse__router_local_client;
elapse__router_local_function elapse__router_local_config;
elapse__router_local_function elapse__router_local_info;
elapse__router_local_function elapse__router_local_quit;
elapse__router_local_function elapse__router_local_reset;

/* given.c */
elapse__router_local_function elapse__router_local_node;

/* ---- lane.c ---- */

bool elapse__router_lane_is_full(const struct elapse__router_lane *lane);
/* Whether a fragment that is put into it now is sent at once. */
bool elapse__router_lane_is_open(const struct elapse__router_lane *lane);

/* Returns a fragment with room for `size` bytes, which is not in the lane yet; NULL: no memory. */
struct elapse__router_fragment *elapse__router_fragment_new(struct elapse__router_lane *lane,
                                                            struct elapse__router_command *command,
                                                            enum elapse__router_on_loss on_loss,
                                                            size_t size);
/* Puts it into the lane, and sends what can be sent. */
void elapse__router_lane_push(struct elapse__router_lane *lane,
                              struct elapse__router_fragment *fragment);
/* The same in one step, for bytes that are there. Without memory the fragment ends with -OOM. */
void elapse__router_lane_send(struct elapse__router_lane *lane,
                              struct elapse__router_command *command,
                              enum elapse__router_on_loss on_loss, const void *bytes, size_t size);
void elapse__router_lane_pump(struct elapse__router_lane *lane);
/* A fragment in no ring any more has ended. */
void elapse__router_lane_end(struct elapse__router_lane *lane,
                             struct elapse__router_fragment *fragment,
                             enum elapse__router_fragment_end end, const unsigned char *value,
                             size_t size);
/* Takes back what its link has not done: the link is lost. */
void elapse__router_lane_lose(struct elapse__router_lane *lane, struct elapse__router_link *link);
/* Does what the time asks for. */
void elapse__router_lane_look(struct elapse__router_lane *lane);
/* The owner has changed. */
void elapse__router_lane_moved(struct elapse__router_lane *lane);

/* ---- link.c ---- */

/* Wants a link for a lane, or for a pipe. Returns NULL if there is no memory. */
struct elapse__router_link *elapse__router_link_new(struct elapse__router *router,
                                                    uint32_t partition,
                                                    struct elapse__router_lane *lane,
                                                    struct elapse__router_client *client);
void elapse__router_link_free(struct elapse__router_link *link);
void elapse__router_link_enter(struct elapse__router_link *link,
                               enum elapse__database_link_state state);
/* It is of no more use: gives its lane back what it has not done. */
void elapse__router_link_lose(struct elapse__router_link *link);
/* The same for one that the shell may not know yet: then it is released. */
void elapse__router_link_give_up(struct elapse__router_link *link);
/* Shows the shell what has changed. */
void elapse__router_link_arrange(struct elapse__router_link *link);
/* Notes why links to this partition are of no use; control characters end the words. */
void elapse__router_link_complain(struct elapse__router_link *link, const char *why, size_t size);

/* ---- reserve.c ---- */

/* Begins a RESERVE. Returns false if it is not well formed, and any partition refuses it. */
bool elapse__router_reserve_take(struct elapse__router_client *client,
                                 const struct elapse__wire_resp_argument *arguments,
                                 uint32_t count);
void elapse__router_reserve_answer(struct elapse__router_command *command, uint32_t partition,
                                   const struct elapse__router_fragment *fragment,
                                   enum elapse__router_fragment_end end, const unsigned char *value,
                                   size_t size);
void elapse__router_reserve_free(struct elapse__router_reserve *reserve);
/* Returns whether it is a RESERVE that has to wait for a job. */
bool elapse__router_reserve_waits(const struct elapse__router_command *command);
/* The client has closed. */
void elapse__router_reserve_abandon(struct elapse__router_command *command);
/* Asks the waiters from the beginning. */
void elapse__router_chain_begin(struct elapse__router *router, uint32_t partition);
/* Ends the waits whose time is over, and polls. */
void elapse__router_reserve_look(struct elapse__router *router);

/* ---- hands.c ---- */

/* Reads the jobs of an answer. Returns false if it is no hand-out, or there is no memory. */
bool elapse__router_hands_read(struct elapse__router_command *command, uint32_t partition,
                               const unsigned char *value, size_t size);
/* Gives them back. */
void elapse__router_hands_give_back(struct elapse__router *router,
                                    const struct elapse__router_command *command);

/* ---- pipe.c ---- */

/* Chooses what a client speaks by its first byte. */
void elapse__router_pipe_choose(struct elapse__router_client *client);
/* Moves bytes between a client and its pipe. */
void elapse__router_pipe_pump(struct elapse__router_client *client);
/* Ends pipes that could not be opened in time. */
void elapse__router_pipe_look(struct elapse__router *router);
/* The owner has changed: ends the pipes to the one before. */
void elapse__router_pipe_moved(struct elapse__router *router);

#endif
