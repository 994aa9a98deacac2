/*
 * The router of a node of a cluster: takes the commands of clients, passes them to the partitions
 * that they belong to, and puts the replies in order. It is pure: it has no socket, thread, clock
 * or file. Bytes and `now` come in, bytes and parsed commands go out. The shell (src/cluster/serve)
 * has the sockets.
 *
 *      client --bytes--> parser --command--> route --fragments--> lanes --> link --> partition
 *                                                                             |
 *      client <--bytes-- replies, in the order of the commands <---answers----+
 *
 * Definitions
 *
 *   partition  one queue with one log and one owner. The owner is this node or another node; for a
 *              while there may be no owner.
 *   fragment   what one command asks of one partition. It is a parsed command itself. A fragment of
 *              EXEC has the commands of its transaction in front of it. All are sent as one.
 *   lane       the fragments that wait for one partition, in their order. Each partition has two
 *              lanes: one for quick commands, and one for commands that pass over many jobs.
 *   link       a connection of one lane to its partition. To another node, a link carries commands
 *              and answers as bytes. To the core of this process (src/server/core), it hands over
 *              parsed commands, and takes answers as bytes. Any link may be lost.
 *   pipe       a link for one client alone, whose bytes pass unchanged. It serves beanstalkd's
 *              protocol, which works only if there is one partition.
 *
 * Life of a fragment
 *
 *      QUEUED --a link is open--> SENT --its reply--> answered
 *        ^  |                      |
 *        |  +--too late----------> | -------------> -TRYAGAIN: nothing has changed
 *        |                         | the link is lost
 *        +--not wholly sent--------+
 *        +--wholly sent, and doing it twice does what once does
 *                                  +--wholly sent--> -UNKNOWN: it may have been done
 *
 *   A fragment is wholly sent when its last byte was sent, or when the core of this process has
 *   begun with it. A transaction is wholly sent with its EXEC. A partition discards the commands of
 *   a transaction if EXEC does not come.
 *
 * Rules
 *
 *   N1  Each command has exactly one reply, in its place, as long as its client reads.
 *   N2  A fragment that was wholly sent is never sent again, unless it changes nothing, or is a PUT
 *       with a TOKEN. So nothing is done twice.
 *   N3  A fragment is answered -TRYAGAIN only if it was never wholly sent or changes nothing. A
 *       RESERVE is answered -TRYAGAIN only if it got no jobs.
 *   N4  The fragments of one client for one partition are done in the order of its commands.
 *       Fragments that are answered -UNKNOWN are the exception: they may be done later, or not at
 *       all.
 *   N5  Jobs that a client asked for and cannot get any more are given back.
 *   N6  Memory is bounded. A client takes what its options allow. A lane takes lane_bytes_max and
 *       one command of each client that waits for the lane. A link takes one reply. All
 *       transactions together take kept_bytes_max.
 *
 * The shell's loop:
 *
 *      for each socket with bytes:   elapse__router_client_received, elapse__router_link_received
 *      more = elapse__router_turn(router, now)
 *      while (elapse__router_link_wanted):       open the link, or say ..._link_closed
 *      while (elapse__router_client_attention):  write ..._output, say ..._sent; look at ..._room
 *                                                and ..._wants_end
 *      while (elapse__router_link_attention):    the same; or run ..._command, and say ..._ran
 *      wait for sockets, or elapse__router_next_ms; not if `more`
 *
 * For all functions: at most one thread at a time may be in them. `now` is the time of the
 * boot-time clock in milliseconds, and does not go back.
 */
#ifndef ELAPSE__ROUTER_H
#define ELAPSE__ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/history.h"
#include "../../users/users.h"

struct elapse__router;
struct elapse__router_client;
struct elapse__router_link;

/* ---- where things are ---- */

enum { ELAPSE__ROUTER_PARTITIONS_MAX = 1024 };

/* Returns the partition of a key in a tube. The token of a put without a key counts as a key in an
 * empty tube. The rule never changes, because the data lie where the rule has put them. It is
 * FNV-1a of 64 bits over one byte with the tube's size, the tube, and the key; then (h ^ h >> 32)
 * modulo the partitions. Requires that the tube has up to 255 bytes. */
uint32_t elapse__router_partition_of_key(uint32_t partitions, const void *tube, size_t tube_size,
                                         const void *key, size_t key_size);

/* Returns whether the braces in a tube's name choose its partition (src/base/braces.h). If so,
 * stores the partition: that of the empty key in a tube whose name is the text in the braces. This
 * rule never changes either. It is for queues with `hash_tags` only. In tubes with names of more
 * than 255 bytes braces choose nothing. */
bool elapse__router_partition_of_braces(uint32_t partitions, const void *tube, size_t tube_size,
                                        uint32_t *partition);

/* Returns the partition of a job. The ids that a partition gives its jobs are equal to the
 * partition's number, modulo the count of partitions. */
static inline uint32_t elapse__router_partition_of_id(uint32_t partitions, uint64_t id)
{
    return (uint32_t)(id % partitions);
}

/* ---- options ---- */

enum { ELAPSE__ROUTER_ADDRESS_BYTES = 64 };

struct elapse__router_options {
    uint32_t partitions; /* 1 to ELAPSE__ROUTER_PARTITIONS_MAX */
    bool hash_tags;      /* braces in the name of a tube choose the partition of the whole tube */
    const char *queue;   /* the name of the queue, for the greetings of links; without blanks */

    /* Returns whether this user has this password, and stores who the user is. NULL: there are no
     * passwords, and everybody may do everything. */
    bool (*admit)(void *context, struct elapse__wire_resp_argument name,
                  struct elapse__wire_resp_argument password, struct elapse__identity *identity);
    const struct elapse__users *users; /* changed in its place; NULL: every user has all rights */
    bool has_node_password;            /* nodes have a password: the user default is no node */
    bool no_beanstalkd;                /* clients cannot speak beanstalkd's protocol */

    /* Notes a wrong user or password of the client of this shell. Returns how many milliseconds the
     * reply has to wait. Meanwhile the router takes no command of the client. NULL: nobody counts,
     * and no reply waits. NULL is allowed only if there are no passwords. */
    uint64_t (*wrong_password)(void *context, void *shell);

    /* Notes that the client of this shell has put with RETRY, the old name of ATTEMPTS. Called once
     * for a client. May be NULL. */
    void (*old_name)(void *context, void *shell);
    void *context;

    /* Stores the address of the client of this shell as a text. NULL: a job shows who holds it only
     * if the client has a name. */
    void (*address)(void *shell, char text[ELAPSE__ROUTER_ADDRESS_BYTES]);

    /* Returns the password for the greeting of a link, and stores its length. Returns NULL for no
     * password. */
    const void *(*link_password)(void *context, size_t *size);

    /* What HISTORY tells of this node; the shell adds to it. NULL: nothing is known. */
    const struct elapse__history *history;

    /* Limits and times. 0 stands for the default, which is the last number of the comment. */
    uint32_t argument_bytes_max; /* in a command; the limit of the partitions; 65,535 */
    uint32_t clients_max;        /* 100,000 */
    uint32_t input_bytes_max;    /* input of a client, beside one command; 256 KiB */
    uint32_t output_bytes_max;   /* replies of a client, unread or expected; 1 MiB */
    uint32_t lane_bytes_max;     /* 4 MiB */
    uint32_t reply_bytes_max;    /* answer of a partition; the two maxima above and 8 MiB */
    uint32_t kept_bytes_max;     /* all open transactions together; 64 MiB */
    uint32_t retry_ms;           /* how long a fragment waits for an owner; 10 s */
    uint32_t answer_ms;          /* a link that owes an answer for so long is lost; 15 s */
    uint32_t sweep_ms;           /* the same for a command that passes over many jobs; 10 min */
    uint32_t parting_ms;         /* how long a previous owner may still answer; 1 s */
    uint32_t poll_ms;            /* how often a waiting RESERVE asks again without news; 100 */
};

/* Makes a router. Returns NULL if there is no memory, or if an option is out of range. */
struct elapse__router *elapse__router_new(const struct elapse__router_options *options,
                                          uint64_t now);

/* Frees the router with its clients and links. Requires that the shell does not use these any
 * more. */
void elapse__router_free(struct elapse__router *router);

/* ---- owners ---- */

enum elapse__router_place {
    ELAPSE__ROUTER_NOWHERE, /* nobody owns the partition, or nobody knows who does */
    ELAPSE__ROUTER_HERE,
    ELAPSE__ROUTER_THERE,
};

/* Says who owns a partition. `epoch` must differ whenever the owner differs. Links to the previous
 * owner may still take answers to what they have sent, for parting_ms. */
void elapse__router_owner(struct elapse__router *router, uint64_t now, uint32_t partition,
                          enum elapse__router_place place, uint64_t epoch);

/* Says that a job may have become ready in this partition. RESERVEs that wait ask the partition
 * now. */
void elapse__router_ready(struct elapse__router *router, uint64_t now, uint32_t partition);

/* ---- clients ---- */

/* Returns a client, or NULL if there are clients_max clients or no memory. If there are passwords,
 * the client may speak beanstalkd's protocol only with `may_use_beanstalkd`. */
struct elapse__router_client *elapse__router_client_new(struct elapse__router *router, uint64_t now,
                                                        bool may_use_beanstalkd, void *shell);
void *elapse__router_client_shell(const struct elapse__router_client *client);

/* Returns how many bytes elapse__router_client_received takes now. If it is 0, the shell must read
 * nothing until elapse__router_client_attention returns the client. */
size_t elapse__router_client_room(const struct elapse__router_client *client);
void elapse__router_client_received(struct elapse__router_client *client, uint64_t now,
                                    const void *bytes, size_t size);

/* Says that the client will send nothing more. The client may still read. It ends when its replies
 * were sent. */
void elapse__router_client_received_all(struct elapse__router_client *client, uint64_t now);

/* Returns how many bytes may leave now, and stores where they are. They are valid until the next
 * call. */
size_t elapse__router_client_output(const struct elapse__router_client *client,
                                    const uint8_t **bytes);
void elapse__router_client_sent(struct elapse__router_client *client, uint64_t now, size_t size);

/* Returns whether the shell should close the socket, and then call elapse__router_client_closed. */
bool elapse__router_client_wants_end(const struct elapse__router_client *client);

/* What a client asks for that is another node: docs/cluster_protocol.md. */
struct elapse__router_given {
    uint32_t partition;
    bool is_pipe; /* the node serves one client, whose bytes pass unchanged */
};

/* Returns whether the client is another node, and all replies to it were sent. Then its connection
 * belongs to the core of the partition in this process. The shell passes the connection to that
 * core, and calls elapse__router_client_closed. The router ends a node that sends more before it
 * has the reply. */
bool elapse__router_client_given(const struct elapse__router_client *client,
                                 struct elapse__router_given *given);

/* Says that the socket of the client is closed. The commands of the client are done all the same.
 * Jobs that the client cannot get any more are given back. */
void elapse__router_client_closed(struct elapse__router_client *client, uint64_t now);

/* ---- links ---- */

/* Returns a link that the shell should open, or NULL if there is none. The link leads to the owner
 * that elapse__router_owner has named last for the partition. */
struct elapse__router_link *elapse__router_link_wanted(struct elapse__router *router, uint64_t now);

uint32_t elapse__router_link_partition(const struct elapse__router_link *link);
bool elapse__router_link_is_pipe(const struct elapse__router_link *link);
void elapse__router_link_set_shell(struct elapse__router_link *link, void *shell);
void *elapse__router_link_shell(const struct elapse__router_link *link);

/* Says that the link is open. `is_here` says that the link leads to a core of this process. Such a
 * link needs no greeting. It has commands instead of output, unless it is a pipe. */
void elapse__router_link_opened(struct elapse__router_link *link, uint64_t now, bool is_here);

/* Returns the arguments of the command that the core of this process has to run next, and stores
 * how many there are. Returns NULL if there is no command. The arguments are valid until the core
 * has done the command, or the link is lost. */
const struct elapse__wire_resp_argument *
elapse__router_link_command(const struct elapse__router_link *link, uint32_t *count);

/* Says that the core has begun with that command. `is_done` says that the core does not need the
 * command again. The time of the call is `now` of the last call that had a `now`. */
void elapse__router_link_ran(struct elapse__router_link *link, bool is_done);

/* These functions do for links what the functions of the same names do for clients. */
size_t elapse__router_link_room(const struct elapse__router_link *link);
void elapse__router_link_received(struct elapse__router_link *link, uint64_t now, const void *bytes,
                                  size_t size);
size_t elapse__router_link_output(const struct elapse__router_link *link, const uint8_t **bytes);
void elapse__router_link_sent(struct elapse__router_link *link, uint64_t now, size_t size);
bool elapse__router_link_wants_end(const struct elapse__router_link *link);

/* Says that the link is closed, or could not be opened. The router frees the link. */
void elapse__router_link_closed(struct elapse__router_link *link, uint64_t now);

/* Does what elapse__router_link_closed does, and keeps `why` for elapse__router_trouble. */
void elapse__router_link_failed(struct elapse__router_link *link, uint64_t now, const char *why);

/* Returns in words why no link to the owner of a partition works. Returns "" if a link works, or if
 * none was tried. The text is valid until the next call. */
const char *elapse__router_trouble(const struct elapse__router *router, uint32_t partition);

/* ---- turns ---- */

/* Does what is due at `now`. Takes a limited number of commands of each client that has sent some.
 * Returns whether there is more to do now. */
bool elapse__router_turn(struct elapse__router *router, uint64_t now);

/* Returns when the next turn is needed if nothing happens before, or UINT64_MAX for never. */
uint64_t elapse__router_next_ms(const struct elapse__router *router);

/* Returns whether everything that was begun has ended: no link owes an answer, nothing is to be
 * sent to another node, and no client has output. RESERVEs that wait for a job do not count, and
 * neither do commands that wait for an owner. Of a pipe, only the bytes count that the router has.
 * Cost: looks at all clients and links. */
bool elapse__router_is_idle(const struct elapse__router *router);

/* These functions return a client or a link whose output, room or end may have changed since they
 * last returned it. They return NULL if there is none left. */
struct elapse__router_client *elapse__router_client_attention(struct elapse__router *router);
struct elapse__router_link *elapse__router_link_attention(struct elapse__router *router);

/* ---- figures ---- */

struct elapse__router_figures {
    uint64_t clients;       /* at present */
    uint64_t total_clients; /* since the start, like all figures below */
    uint64_t refused;       /* clients beyond the limit, which were refused */
    uint64_t commands;
    uint64_t fragments;  /* all fragments that were sent, counted each time */
    uint64_t again;      /* fragments that were sent again */
    uint64_t unknown;    /* fragments that were answered -UNKNOWN */
    uint64_t try_again;  /* fragments and RESERVEs that were answered -TRYAGAIN */
    uint64_t given_back; /* jobs that were given back */
    uint64_t links_lost;
    uint64_t waiting; /* RESERVEs that wait at present */
};

void elapse__router_figures(const struct elapse__router *router,
                            struct elapse__router_figures *figures);

/* Tests the invariants; for tests. Returns 0, or the number of the first broken invariant
 * (src/cluster/router/check.c). */
unsigned elapse__router_check(const struct elapse__router *router);

#endif
