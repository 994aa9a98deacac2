/*
 * The third layer of the router, above lanes: what is special to each kind of command, and pipes.
 */
#ifndef ELAPSE__ROUTER_KINDS_H
#define ELAPSE__ROUTER_KINDS_H

#include "lane.h"

/* ---- route.c ---- */

enum elapse__router_route_kind {
    ELAPSE__ROUTER_ROUTE_LOCAL,
    ELAPSE__ROUTER_ROUTE_ANY,    /* any partition */
    ELAPSE__ROUTER_ROUTE_PUT,    /* by its tube's braces, its key or its token; else any */
    ELAPSE__ROUTER_ROUTE_KEY,    /* by its tube and key */
    ELAPSE__ROUTER_ROUTE_TUBE,   /* LIMIT: by a tube that lies whole in one partition; else any */
    ELAPSE__ROUTER_ROUTE_ID,     /* by the id of a job */
    ELAPSE__ROUTER_ROUTE_KEYS,   /* CANCEL */
    ELAPSE__ROUTER_ROUTE_IDS,    /* CANCELID */
    ELAPSE__ROUTER_ROUTE_LEASES, /* ACK, NACK, EXTEND, BURY */
    ELAPSE__ROUTER_ROUTE_PAGE,   /* LIST, TUBES */
    ELAPSE__ROUTER_ROUTE_ALL,
    ELAPSE__ROUTER_ROUTE_KICK,
    ELAPSE__ROUTER_ROUTE_RESERVE,
    ELAPSE__ROUTER_ROUTE_EXEC,
};

typedef void elapse__router_local_function(struct elapse__router_command *command,
                                           const struct elapse__wire_resp_argument *arguments,
                                           uint32_t count);

struct elapse__router_route {
    char name[16]; /* in capitals, filled with zeros */
    enum elapse__router_route_kind kind;
    uint32_t least;   /* fewest arguments, with the name; any partition refuses fewer */
    bool looks;       /* the command changes nothing */
    bool before_auth; /* the command may come before AUTH */
    bool slow;        /* the command may take long */
    bool queues;      /* between MULTI and EXEC the command waits for EXEC */
    bool controls;    /* between MULTI and EXEC the command runs at once */
    bool guards;      /* LEASED: anywhere but in a transaction, any partition refuses it */
    bool has_tube;    /* PAGE, ALL, KICK: the first argument, if any, is a tube */
    /* LEASES: how many options may follow the leases. 1: only ERROR. 3: IN and AFTER, too. */
    uint32_t lease_options;
    enum elapse__router_command_kind command; /* for ALL: the kind of the command */
    elapse__router_local_function *local;
};

/* Returns the route of a command, or NULL if there is no such command. */
const struct elapse__router_route *
elapse__router_route_find(struct elapse__wire_resp_argument name);

/* Returns the route with the number `place`, from 0 on, or NULL after the last one. For tests. */
const struct elapse__router_route *elapse__router_route_at(unsigned place);

enum { ELAPSE__ROUTER_TUBE_MAX = 200 }; /* the longest name of a tube */

/* Returns whether a tube lies whole in one partition because of its braces. If so, stores the
 * partition. */
bool elapse__router_find_whole(const struct elapse__router *router,
                               struct elapse__wire_resp_argument tube, uint32_t *partition);

/* Returns the partition of a key in a tube. The tube may have braces. */
uint32_t elapse__router_partition_in(const struct elapse__router *router,
                                     struct elapse__wire_resp_argument tube,
                                     struct elapse__wire_resp_argument key);

/* Returns the partition that gets those commands of a client which may go to any partition. */
uint32_t elapse__router_home(struct elapse__router_client *client);

/* Reads the id of a job. Returns false if the argument is no id. */
bool elapse__router_argument_id(struct elapse__wire_resp_argument argument, uint64_t *id);

/* Says where a PUT goes. */
struct elapse__router_put {
    uint32_t partition;
    enum {
        ELAPSE__ROUTER_PUT_ANYWHERE,
        ELAPSE__ROUTER_PUT_BY_TOKEN,
        ELAPSE__ROUTER_PUT_BY_PLACE, /* its key, or the braces of its tube, choose the partition */
    } chosen;
    bool may_repeat; /* the put may be sent again, because with its token both puts make one job */
};
struct elapse__router_put
elapse__router_route_put(struct elapse__router_client *client,
                         const struct elapse__wire_resp_argument *arguments, uint32_t count);

/* ---- local.c, given.c ---- */

elapse__router_local_function elapse__router_local_ping;
elapse__router_local_function elapse__router_local_echo;
elapse__router_local_function elapse__router_local_hello;
elapse__router_local_function elapse__router_local_auth;
elapse__router_local_function elapse__router_local_select;
elapse__router_local_function elapse__router_local_client;
elapse__router_local_function elapse__router_local_whoami;
elapse__router_local_function elapse__router_local_config;
elapse__router_local_function elapse__router_local_info;
elapse__router_local_function elapse__router_local_history;
elapse__router_local_function elapse__router_local_quit;
elapse__router_local_function elapse__router_local_reset;
elapse__router_local_function elapse__router_local_node;

/* ---- transaction.c ---- */

elapse__router_local_function elapse__router_local_multi;
elapse__router_local_function elapse__router_local_discard;
elapse__router_local_function elapse__router_local_watch;

/* Ends the transaction of a client, if there is one, without doing any of its commands. */
void elapse__router_transaction_end(struct elapse__router_client *client);

/* Notes that a command of the transaction was refused, so that EXEC will do nothing. Does nothing
 * without a transaction. */
void elapse__router_transaction_spoil(struct elapse__router_client *client);

/* Notes that bytes have come from the client, so that its transaction is not discarded as silent.
 */
void elapse__router_transaction_heard(struct elapse__router_client *client);

/* Keeps a command for EXEC. It counts as `parts` parts. Returns NULL, or why the command is not
 * kept. Then the transaction is spoiled: EXEC will do nothing. */
const char *elapse__router_transaction_keep(struct elapse__router_client *client,
                                            const struct elapse__router_route *route,
                                            const struct elapse__wire_resp_argument *arguments,
                                            uint32_t count, uint32_t parts);

/* Notes that a command of the transaction belongs to a partition. `is_likely` says that the command
 * may also go to another partition. */
void elapse__router_transaction_place(struct elapse__router_client *client, uint32_t partition,
                                      bool is_likely);

/* Moves the commands of a client's transaction into `command`, which is EXEC, and into the fragment
 * `exec`. The fragment gets MULTI and the commands for the partition in front of it. */
void elapse__router_transaction_move(struct elapse__router_command *command,
                                     struct elapse__router_fragment *exec,
                                     struct elapse__router_fragment *multi);

/* Replies to EXEC with the answer of the partition. The answer is NULL if the transaction has only
 * commands that the router runs itself. */
void elapse__router_transaction_answer(struct elapse__router_command *command,
                                       const unsigned char *value, size_t size);

/* ---- merge.c ---- */

/* Replies with a page of one partition. Makes the partition's cursor into a cursor of the
 * router. */
void elapse__router_merge_page(struct elapse__router_command *command, const unsigned char *value,
                               size_t size);

/* Takes the answer of one partition to a command for all partitions. The last answer completes the
 * reply. */
void elapse__router_merge_answer(struct elapse__router_command *command, const unsigned char *value,
                                 size_t size);

/* Asks the next partition for a KICK, or completes the reply. */
void elapse__router_kick_step(struct elapse__router_command *command);

/* ---- reserve.c ---- */

/* Begins a RESERVE. Returns false if the RESERVE is not well formed. Any partition refuses it
 * then. */
bool elapse__router_reserve_take(struct elapse__router_client *client,
                                 const struct elapse__wire_resp_argument *arguments,
                                 uint32_t count);

/* Called when a question of a RESERVE to a partition has ended. Replies, asks the next partition,
 * or waits. */
void elapse__router_reserve_answer(struct elapse__router_command *command, uint32_t partition,
                                   enum elapse__router_fragment_end end, const unsigned char *value,
                                   size_t size);

/* Called when the client of a RESERVE has closed. Ends the waiting. */
void elapse__router_reserve_abandon(struct elapse__router_command *command);

/* Begins a pass: asks a partition for jobs for each waiting RESERVE, from the first one on. */
void elapse__router_chain_begin(struct elapse__router *router, uint32_t partition);

/* Asks partitions that were not asked for poll_ms for the RESERVEs that wait. */
void elapse__router_reserve_look(struct elapse__router *router);

/* ---- pipe.c ---- */

/* Chooses the protocol of a client by its first byte. */
void elapse__router_pipe_choose(struct elapse__router_client *client);

/* Moves bytes between a client and its pipe. */
void elapse__router_pipe_pump(struct elapse__router_client *client);

/* Ends pipes that did not open in time. */
void elapse__router_pipe_look(struct elapse__router *router);

/* Called when the partition has another owner. Ends the pipes to the previous owner. */
void elapse__router_pipe_moved(struct elapse__router *router);

#endif
