/*
 * The router of a node of a cluster: takes the commands of clients, passes them to the partitions
 * that they belong to, and puts the replies in order. It is pure: no socket, thread, clock or file.
 * Bytes and `now` come in; bytes and parsed commands go out.
 *
 *      client --bytes--> parser --command--> route --fragments--> lanes --> link --> partition
 *                                                                             |
 *      client <--bytes-- replies, in the order of the commands <---answers----+
 *
 * Definitions
 *
 *   partition  one queue with one log and one owner: this node, another one, or nobody for now.
 *   fragment   what one command asks of one partition: a command by itself, parsed. EXEC has the
 *              commands of its transaction in front of it, which are sent with it as one.
 *   lane       the fragments for one partition, in order. Each partition has two lanes: one for
 *              commands that take a moment, and one for those that pass over many jobs.
 *   link       a way to a partition, for one lane. A link to the node that owns the partition has
 *              commands and answers as bytes. A link to the core of this process hands over the
 *              commands as they were parsed, and has answers as bytes. Any link may be lost.
 *   pipe       a link for one client alone, whose bytes pass as they are: for beanstalkd's
 *              protocol, which is spoken if there is one partition.
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
 *   begun with it. Of a transaction that is EXEC: a partition discards what came without it.
 *
 * Promises
 *
 *   N1  Each command has exactly one reply, in its place, as long as its client reads.
 *   N2  A fragment is never sent again once it was wholly sent, unless it only looks, or is a PUT
 *       with a TOKEN. So nothing is done twice.
 *   N3  A fragment is answered -TRYAGAIN only if it was never wholly sent or only looks, a RESERVE
 *       only if it got no jobs.
 *   N4  The fragments of one client for one partition are done in the order of its commands, except
 *       those that are answered -UNKNOWN: they may be done later, or not at all.
 *   N5  Jobs that a client asked for and cannot get any more are given back.
 *   N6  Memory is bounded: for each client by its options, for each lane by lane_bytes_max and a
 *       command of each client that waits for the lane, for each link by one reply, for
 *       transactions by kept_bytes_max.
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
 * The following holds for every function: one thread at a time. `now` is that of the boot-time
 * clock, in milliseconds, and does not go back.
 */
#ifndef ELAPSE__ROUTER_H
#define ELAPSE__ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../users/users.h"

struct elapse__router;
struct elapse__router_client;
struct elapse__router_link;

/* ---- where things are ---- */

enum { ELAPSE__ROUTER_PARTITIONS_MAX = 1024 };

/* Returns the partition of a key in a tube; tokens of puts without a key have an empty tube. The
 * rule never changes, because the data lie where the rule has put them: FNV-1a of 64 bits over one
 * byte with the tube's size, the tube, and the key; then (h ^ h >> 32) modulo the partitions.
 * Requires that the tube has up to 255 bytes. */
uint32_t elapse__router_partition_of_key(uint32_t partitions, const void *tube, size_t tube_size,
                                         const void *key, size_t key_size);

/* Returns whether the braces in a tube's name choose its partition (src/base/braces.h), and stores
 * it: that of what stands in them, as a tube, with an empty key. This rule never changes either. It
 * holds in queues with `hash_tags` alone. Tubes with longer names than 255 bytes have none. */
bool elapse__router_partition_of_braces(uint32_t partitions, const void *tube, size_t tube_size,
                                        uint32_t *partition);

/* Returns the partition of a job. A partition gives its jobs only ids that, modulo the count of
 * partitions, are its own number. */
static inline uint32_t elapse__router_partition_of_id(uint32_t partitions, uint64_t id)
{
    return (uint32_t)(id % partitions);
}

/* ---- options ---- */

enum { ELAPSE__ROUTER_ADDRESS_BYTES = 64 };

struct elapse__router_options {
    uint32_t partitions; /* 1 to ELAPSE__ROUTER_PARTITIONS_MAX */
    bool hash_tags;      /* braces in a tube's name choose the partition of the whole tube */
    const char *queue;   /* the name of the queue, in the greetings of links; no blanks */

    /* Returns whether this user has this password, and stores who it is. NULL: there are no
     * passwords, and everybody may do everything. */
    bool (*admit)(void *context, struct elapse__wire_resp_argument name,
                  struct elapse__wire_resp_argument password, struct elapse__identity *identity);
    const struct elapse__users *users; /* replaced in its place; NULL: no user has less rights */
    bool has_node_password;            /* the user default is no node */

    /* Notes a wrong user or password of the client of this shell. Returns how many milliseconds its
     * answer waits. Meanwhile no command of the client is taken. NULL: nobody counts, and no answer
     * waits, which is possible only if there are no passwords. */
    uint64_t (*wrong_password)(void *context, void *shell);

    /* Notes that the client of this shell has put with RETRY, the old name of ATTEMPTS. Called once
     * a client. NULL: nobody wants to know. */
    void (*old_name)(void *context, void *shell);
    void *context;

    /* Stores the address of the client of this shell in words. NULL: jobs do not show who holds
     * them, unless the client has a name. */
    void (*address)(void *shell, char text[ELAPSE__ROUTER_ADDRESS_BYTES]);

    /* Returns the password of a greeting of a link, and stores how long it is; NULL: none. */
    const void *(*link_password)(void *context, size_t *size);

    /* Limits and times; 0 is the default. */
    uint32_t argument_bytes_max; /* of commands: as the partitions have it; 65,535 */
    uint32_t clients_max;        /* 100,000 */
    uint32_t input_bytes_max;    /* of a client, beside one command; 256 KiB */
    uint32_t output_bytes_max;   /* of a client, unread or expected; 1 MiB */
    uint32_t lane_bytes_max;     /* 4 MiB */
    uint32_t reply_bytes_max;    /* of a partition; the two maxima before, and 8 MiB */
    uint32_t kept_bytes_max;     /* of all transactions that are open; 64 MiB */
    uint32_t retry_ms;           /* how long a fragment waits for an owner; 10 s */
    uint32_t answer_ms;          /* a link that owes an answer for this time is lost; 15 s */
    uint32_t sweep_ms;           /* the same for commands that pass over many jobs; 10 min */
    uint32_t parting_ms;         /* how long an old owner may still answer; 1 s */
    uint32_t poll_ms;            /* how often a waiting RESERVE asks again, without news; 100 */
};

/* Makes a router. Returns NULL if there is no memory, or the options are out of range. */
struct elapse__router *elapse__router_new(const struct elapse__router_options *options,
                                          uint64_t now);

/* Releases the router, with its clients and links, of which the shell has no more use. */
void elapse__router_free(struct elapse__router *router);

/* ---- owners ---- */

enum elapse__router_place {
    ELAPSE__ROUTER_NOWHERE, /* nobody owns it, or nobody knows who */
    ELAPSE__ROUTER_HERE,
    ELAPSE__ROUTER_THERE,
};

/* Says who owns a partition. `epoch` differs whenever the owner does. Links to the owner before may
 * still answer what they were sent, for parting_ms. */
void elapse__router_owner(struct elapse__router *router, uint64_t now, uint32_t partition,
                          enum elapse__router_place place, uint64_t epoch);

/* A job may have become ready in this partition: reserves that wait ask it now. */
void elapse__router_ready(struct elapse__router *router, uint64_t now, uint32_t partition);

/* ---- clients ---- */

/* Returns a client; NULL: there are clients_max of them, or there is no memory. With passwords, it
 * speaks beanstalkd's protocol only if `may_use_beanstalkd`. */
struct elapse__router_client *elapse__router_client_new(struct elapse__router *router, uint64_t now,
                                                        bool may_use_beanstalkd, void *shell);
void *elapse__router_client_shell(const struct elapse__router_client *client);

/* Returns how many bytes `received` takes now; 0: read nothing until the client comes by
 * elapse__router_client_attention. */
size_t elapse__router_client_room(const struct elapse__router_client *client);
void elapse__router_client_received(struct elapse__router_client *client, uint64_t now,
                                    const void *bytes, size_t size);

/* The client will send nothing more, but it may read: it ends when its replies were sent. */
void elapse__router_client_received_all(struct elapse__router_client *client, uint64_t now);

/* Returns how many bytes may leave now, and where they are, until the next call. */
size_t elapse__router_client_output(const struct elapse__router_client *client,
                                    const uint8_t **bytes);
void elapse__router_client_sent(struct elapse__router_client *client, uint64_t now, size_t size);

/* Returns whether the shell should close the socket, and say elapse__router_client_closed. */
bool elapse__router_client_wants_end(const struct elapse__router_client *client);

/* What another node has asked for, in place of a client: docs/cluster_protocol.md. */
struct elapse__router_given {
    uint32_t partition;
    bool is_pipe; /* for one client, whose bytes pass as they are */
};

/* Returns whether the client is such a node, and all replies to it were sent. Then its connection
 * belongs to the core of the partition in this process: the shell passes it to that core, and calls
 * elapse__router_client_closed. A node that sends more before it has the reply is ended. */
bool elapse__router_client_given(const struct elapse__router_client *client,
                                 struct elapse__router_given *given);

/* The socket is closed: the client is gone. Its commands are done all the same. Jobs that it cannot
 * get any more are given back. */
void elapse__router_client_closed(struct elapse__router_client *client, uint64_t now);

/* ---- links ---- */

/* Returns a link that the shell should open, NULL: none is left. The link leads to the owner of its
 * partition that elapse__router_owner named last. */
struct elapse__router_link *elapse__router_link_wanted(struct elapse__router *router, uint64_t now);

uint32_t elapse__router_link_partition(const struct elapse__router_link *link);
bool elapse__router_link_is_pipe(const struct elapse__router_link *link);
void elapse__router_link_set_shell(struct elapse__router_link *link, void *shell);
void *elapse__router_link_shell(const struct elapse__router_link *link);

/* The link is open. `is_here`: it leads to a core of this process, and needs no greeting. Such a
 * link has commands in place of output, unless it is a pipe. */
void elapse__router_link_opened(struct elapse__router_link *link, uint64_t now, bool is_here);

/* Returns the arguments of the command that the core of this process has to run next, and stores
 * how many; NULL: none. The arguments stay until the core has done the command, or the link is
 * lost. */
const struct elapse__wire_resp_argument *
elapse__router_link_command(const struct elapse__router_link *link, uint32_t *count);

/* Says that the core has begun with that command. `is_done`: the core does not need the command
 * again. The time is `now` of the last call that had one. */
void elapse__router_link_ran(struct elapse__router_link *link, bool is_done);

/* These functions do for links what the functions of the same names do for clients. */
size_t elapse__router_link_room(const struct elapse__router_link *link);
void elapse__router_link_received(struct elapse__router_link *link, uint64_t now, const void *bytes,
                                  size_t size);
size_t elapse__router_link_output(const struct elapse__router_link *link, const uint8_t **bytes);
void elapse__router_link_sent(struct elapse__router_link *link, uint64_t now, size_t size);
bool elapse__router_link_wants_end(const struct elapse__router_link *link);

/* The link is closed, or could not be opened. The router releases it. */
void elapse__router_link_closed(struct elapse__router_link *link, uint64_t now);

/* Does what elapse__router_link_closed does. elapse__router_trouble tells `why`. */
void elapse__router_link_failed(struct elapse__router_link *link, uint64_t now, const char *why);

/* Returns why no link to the owner of a partition works, in words; "": one works, or none was
 * tried. Valid until the next call. */
const char *elapse__router_trouble(const struct elapse__router *router, uint32_t partition);

/* ---- turns ---- */

/* Does what is due at `now`, and takes a limited number of commands of each client that has some.
 * Returns whether there is more to do now. */
bool elapse__router_turn(struct elapse__router *router, uint64_t now);

/* Returns when a turn is next needed, unless something happens before; UINT64_MAX: never. */
uint64_t elapse__router_next_ms(const struct elapse__router *router);

/* Returns whether what was begun has ended: no link owes an answer, nothing is to be sent to
 * another node, and no client has output. Reserves that wait for a job do not count, nor do
 * commands that wait for an owner; of a pipe only the bytes count that the router holds. Cost: it
 * looks at all clients and links. */
bool elapse__router_is_idle(const struct elapse__router *router);

/* Return a client or a link whose output, room or end may have changed since it was returned last;
 * NULL: none is left. */
struct elapse__router_client *elapse__router_client_attention(struct elapse__router *router);
struct elapse__router_link *elapse__router_link_attention(struct elapse__router *router);

/* ---- figures ---- */

struct elapse__router_figures {
    uint64_t clients;       /* now */
    uint64_t total_clients; /* since the start, as all below */
    uint64_t refused;       /* clients above the limit */
    uint64_t commands;
    uint64_t fragments;  /* all that were sent, counted each time */
    uint64_t again;      /* sent again */
    uint64_t unknown;    /* fragments that were answered -UNKNOWN */
    uint64_t try_again;  /* fragments and RESERVEs that were answered -TRYAGAIN */
    uint64_t given_back; /* jobs */
    uint64_t links_lost;
    uint64_t waiting; /* reserves that wait, now */
};

void elapse__router_figures(const struct elapse__router *router,
                            struct elapse__router_figures *figures);

/* Tests the invariants; for tests. Returns 0, or the number of the first one found broken, as in
 * src/cluster/router/check.c. */
unsigned elapse__router_check(const struct elapse__router *router);

#endif
