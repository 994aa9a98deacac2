/*
 * The layer above lanes: what is particular to each kind of command, and to pipes.
 */
#ifndef ELAPSE__ROUTER_KINDS_H
#define ELAPSE__ROUTER_KINDS_H

#include "lane.h"

/* ---- route.c ---- */

enum elapse__router_route_kind {
    ELAPSE__ROUTER_ROUTE_LOCAL,
    ELAPSE__ROUTER_ROUTE_ANY,    /* any partition */
    ELAPSE__ROUTER_ROUTE_PUT,    /* by braces, its key, its token, or any */
    ELAPSE__ROUTER_ROUTE_KEY,    /* by tube and key */
    ELAPSE__ROUTER_ROUTE_TUBE,   /* LIMIT: a tube that lies whole in one partition; or any */
    ELAPSE__ROUTER_ROUTE_ID,     /* by an id */
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
    char name[16]; /* in capitals, and zeros */
    enum elapse__router_route_kind kind;
    uint32_t least;   /* arguments, with the name; any partition refuses fewer */
    bool looks;       /* the command changes nothing */
    bool before_auth; /* the command may be said before AUTH */
    bool slow;        /* the command may take long */
    bool queues;      /* between MULTI and EXEC the command waits for EXEC */
    bool controls;    /* between MULTI and EXEC the command runs at once */
    bool guards;      /* LEASED: elsewhere any partition refuses it */
    bool has_tube;    /* PAGE, ALL, KICK: the first argument, if there is one, is a tube */
    /* LEASES: how many options may stand behind the leases: 1, ERROR; or 3, IN and AFTER, too */
    uint32_t lease_options;
    enum elapse__router_command_kind command; /* ALL */
    elapse__router_local_function *local;
};

/* Returns the route of a command; NULL: there is no such command. */
const struct elapse__router_route *
elapse__router_route_find(struct elapse__wire_resp_argument name);

/* Returns route number `place`, from 0; NULL at the end. For tests. */
const struct elapse__router_route *elapse__router_route_at(unsigned place);

enum { ELAPSE__ROUTER_TUBE_MAX = 200 }; /* the longest name of a tube */

/* Returns whether a tube lies whole in one partition because of its braces, and stores it. */
bool elapse__router_find_whole(const struct elapse__router *router,
                               struct elapse__wire_resp_argument tube, uint32_t *partition);

/* Returns the partition of a key in a tube, which may have braces. */
uint32_t elapse__router_partition_in(const struct elapse__router *router,
                                     struct elapse__wire_resp_argument tube,
                                     struct elapse__wire_resp_argument key);

/* Returns the partition for those commands of a client that may go to any partition. */
uint32_t elapse__router_home(struct elapse__router_client *client);

/* Reads the id of a job. Returns false if the argument is no id. */
bool elapse__router_argument_id(struct elapse__wire_resp_argument argument, uint64_t *id);

/* Where a PUT goes. */
struct elapse__router_put {
    uint32_t partition;
    enum {
        ELAPSE__ROUTER_PUT_ANYWHERE,
        ELAPSE__ROUTER_PUT_BY_TOKEN,
        ELAPSE__ROUTER_PUT_BY_PLACE, /* its key, or the braces of its tube */
    } chosen;
    bool may_repeat; /* the put may be sent again: its token makes one job of both puts */
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
elapse__router_local_function elapse__router_local_config;
elapse__router_local_function elapse__router_local_info;
elapse__router_local_function elapse__router_local_quit;
elapse__router_local_function elapse__router_local_reset;
elapse__router_local_function elapse__router_local_node;

/* ---- transaction.c ---- */

elapse__router_local_function elapse__router_local_multi;
elapse__router_local_function elapse__router_local_discard;
elapse__router_local_function elapse__router_local_watch;

/* Ends the transaction of a client, if there is one. Nothing of it is done. */
void elapse__router_transaction_end(struct elapse__router_client *client);

/* Notes that a command of the transaction, if there is one, was refused: EXEC will do nothing. */
void elapse__router_transaction_spoil(struct elapse__router_client *client);

/* Keeps a command for EXEC that counts as so many parts. Returns NULL, or why not: the transaction
 * is spoiled. */
const char *elapse__router_transaction_keep(struct elapse__router_client *client,
                                            const struct elapse__router_route *route,
                                            const struct elapse__wire_resp_argument *arguments,
                                            uint32_t count, uint32_t parts);

/* Notes that a command of the transaction belongs to a partition. `is_likely`: it may go elsewhere,
 * too. */
void elapse__router_transaction_place(struct elapse__router_client *client, uint32_t partition,
                                      bool is_likely);

/* Moves the commands of a client's transaction into EXEC, its command, and into the fragment
 * `exec`, which gets `multi` and the commands for the partition in front of it. */
void elapse__router_transaction_move(struct elapse__router_command *command,
                                     struct elapse__router_fragment *exec,
                                     struct elapse__router_fragment *multi);

/* Replies to EXEC with the answer of the partition. Without an answer (NULL) there were only
 * commands that the router runs. */
void elapse__router_transaction_answer(struct elapse__router_command *command,
                                       const unsigned char *value, size_t size);

/* ---- merge.c ---- */

/* Replies with a page of one partition: the partition's cursor becomes a cursor of the router. */
void elapse__router_merge_page(struct elapse__router_command *command, const unsigned char *value,
                               size_t size);

/* Takes the answer of one partition into a command for all. The last answer completes the reply. */
void elapse__router_merge_answer(struct elapse__router_command *command, const unsigned char *value,
                                 size_t size);

/* Asks the next partition of a KICK, or completes the reply. */
void elapse__router_kick_step(struct elapse__router_command *command);

/* ---- reserve.c ---- */

/* Begins a RESERVE. Returns false if it is not well formed: any partition refuses it. */
bool elapse__router_reserve_take(struct elapse__router_client *client,
                                 const struct elapse__wire_resp_argument *arguments,
                                 uint32_t count);

/* Called when a question of a RESERVE has ended: replies, asks the next partition, or waits. */
void elapse__router_reserve_answer(struct elapse__router_command *command, uint32_t partition,
                                   enum elapse__router_fragment_end end, const unsigned char *value,
                                   size_t size);

/* Called when the client of a RESERVE has closed. Stops waiting. */
void elapse__router_reserve_abandon(struct elapse__router_command *command);

/* Begins a pass: asks a partition for each RESERVE that waits, from the first one on. */
void elapse__router_chain_begin(struct elapse__router *router, uint32_t partition);

/* Polls for the RESERVEs that wait. */
void elapse__router_reserve_look(struct elapse__router *router);

/* ---- pipe.c ---- */

/* Chooses what a client speaks by its first byte. */
void elapse__router_pipe_choose(struct elapse__router_client *client);

/* Moves bytes between a client and its pipe. */
void elapse__router_pipe_pump(struct elapse__router_client *client);

/* Ends pipes that could not be opened in time. */
void elapse__router_pipe_look(struct elapse__router *router);

/* Called when the partition has another owner. Ends the pipes to the owner before. */
void elapse__router_pipe_moved(struct elapse__router *router);

#endif
