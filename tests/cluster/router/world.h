/*
 * Simulates a router between clients and partitions, in one process and without real time. One seed
 * decides everything.
 *
 *      clients (clients.c) --bytes--> router --bytes--> wires --bytes--> partitions (model.c)
 *
 * Each step of a run moves some bytes, lets time pass, or does harm. There are three kinds of harm:
 * a wire is cut, and the bytes on it are lost or come late; a partition gets another owner, or
 * none; a client goes away. Bytes on one wire stay in order, and the speed of a wire is random. The
 * ids, keys and bodies of a command have the number of the command. So each effect shows which
 * command it comes from. The checks:
 *
 *   - each client reads one reply for each of its commands, in their order, and it fits the command
 *     (N1 of src/cluster/router/router.h); at the end, when all harm is over, none is missing
 *   - a transaction is done whole, or not at all
 *   - no command is done twice; a command that was answered is done, unless the answer is -TRYAGAIN
 *     (N2, N3)
 *   - in each partition, a client's commands are done in their order, those answered -UNKNOWN left
 *     out (N4)
 *   - jobs that clients did not get are given back (N5), in runs without cuts and other owners
 *   - at the end no reserve waits for a job that is ready
 *   - the invariants of the router, after each step
 */
#ifndef ELAPSE_TESTS_ROUTER_WORLD_H
#define ELAPSE_TESTS_ROUTER_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../src/base/buffer.h"
#include "../../../src/cluster/router/router.h"
#include "../../../src/protocol/resp_parse.h"
#include "../../../src/protocol/resp_value.h"

enum {
    TUBES = 3, /* a, b and c{x}, which lies whole in one partition */
    PARTITIONS_MAX = 4,
    CLIENTS_MAX = 8,
    COMMANDS_MAX = 160, /* of one client */
    ITEMS_MAX = 6,
    WIRES_MAX = 64,
    JOBS_MAX = 2048,
};

/* Returns a number below `limit`. All chance of a run comes from here. */
extern uint64_t (*choose)(uint64_t limit);

/* Says what is wrong, and ends the run. */
_Noreturn void violated(const char *what, uint64_t one, uint64_t other);
extern bool world_trace;

/* ---- commands ---- */

enum verb {
    VERB_PUT,
    VERB_PUT_KEY,
    VERB_PUT_TOKEN,
    VERB_CANCELID,
    VERB_CANCEL,
    VERB_ACK,
    VERB_EXTEND,
    VERB_KICKID,
    VERB_RESCHEDULE,
    VERB_LOOKUPID,
    VERB_LOOKUP,
    VERB_LIST,
    VERB_STATS,
    VERB_PAUSE,
    VERB_CANCELALL,
    VERB_KICK,
    VERB_RESERVE,
    VERB_PING,
    VERB_HELLO,
    VERB_WRONG,
    VERB_TRANSACTION,
    VERBS,
};

enum outcome { OUTCOME_NONE, OUTCOME_DONE, OUTCOME_TRY_AGAIN, OUTCOME_UNKNOWN };

struct command {
    enum verb verb;
    uint32_t items;
    uint64_t argument; /* KICK, LIST, RESERVE: its number */
    uint32_t tube;     /* RESERVE */
    bool waits;        /* RESERVE */
    bool crosses;      /* TRANSACTION: its commands belong to several partitions */
    uint32_t replies;  /* TRANSACTION: how many have come, of MULTI, the commands, and EXEC */
    uint32_t pings;    /* TRANSACTION: bits, for each item one: PING stands before it */
    uint64_t begun;    /* RESERVE: how many questions partitions had got when it was made */
    bool resp3;
    bool answered;
    bool came_late; /* done after a later one of the same client */
    uint8_t done[ITEMS_MAX < PARTITIONS_MAX ? PARTITIONS_MAX : ITEMS_MAX]; /* times */
    enum outcome outcomes[ITEMS_MAX];
};

extern const char *const tube_names[TUBES];

/* Returns whether a partition may have jobs of a tube. */
bool may_have(uint32_t partition, uint32_t tube);

/* Each command has a number of its own. */
static inline uint64_t number_of(uint32_t client, uint32_t place)
{
    return (uint64_t)client * COMMANDS_MAX + place + 1;
}

struct client {
    struct elapse__router_client *router_side; /* NULL: gone */
    struct elapse__buffer to_send, read;
    struct elapse__wire_resp_scanner scanner;
    struct command commands[COMMANDS_MAX];
    uint32_t count, wanted; /* commands made, and to make */
    uint32_t answered;
    bool resp3;
    bool has_gone;
};

/* ---- partitions ---- */

enum job_state { JOB_READY, JOB_RESERVED, JOB_GONE };

struct job {
    uint64_t id, number, lease;
    enum job_state state;
    uint32_t tube;
    bool was_received; /* a client has read the hand-out */
};

struct partition {
    uint64_t epoch;
    uint64_t next_id, next_lease;
    struct job jobs[JOBS_MAX];
    uint32_t job_count;
    uint32_t last_done[CLIENTS_MAX]; /* place + 1 of the client's last command */
    uint64_t asked[TUBES];           /* the number of the last question for each tube */
};

/* The remote end of a link. */
struct wire {
    bool in_use;
    struct elapse__router_link
        *router_side; /* NULL: the router has given the wire up; bytes on it may arrive */
    uint32_t partition;
    uint64_t epoch; /* the owner at the other end */
    struct elapse__buffer to_partition, input, to_router;
    struct elapse__wire_resp_parser parser;
    bool is_open;
    bool is_here;   /* it carries commands, not bytes; `input` has the answer to one that began */
    bool has_begun; /* the first command has begun, and is not done yet */
    bool is_multi;  /* MULTI has come, and EXEC has not */
    uint64_t queued[ITEMS_MAX]; /* ids of a transaction */
    uint32_t queued_count;
};

struct world {
    struct elapse__router *router;
    uint32_t partitions, clients;
    uint64_t now;
    bool does_harm;
    uint32_t harm_in; /* one in so many steps may do harm */
    bool is_work;     /* the clients make many jobs and reserves */
    bool has_harmed;  /* a link was lost, or an owner changed */
    uint64_t asked;   /* questions for jobs that partitions have got */
    struct client client[CLIENTS_MAX];
    struct partition partition[PARTITIONS_MAX];
    struct wire wire[WIRES_MAX];
};
extern struct world world;

/* One run. */
void world_run(void);

/* The sums of the figures of all runs, which show what the runs tried. */
extern struct elapse__router_figures world_totals;

/* ---- model.c ---- */

/* Does the command that a wire has brought, and appends the answer. */
void model_do(struct wire *wire, const struct elapse__wire_resp_argument *arguments,
              uint32_t count);

/* ---- clients.c ---- */

/* Appends the client's next command to what it sends. */
void client_make(struct client *client);
/* Takes apart and checks the replies that the client has read. */
void client_take(struct client *client);
/* Checks all commands after the end of a run. */
void clients_check(void);

/* The arguments of commands. */
uint64_t id_of(uint64_t number, uint32_t item, uint32_t partition);
struct command *command_of(uint64_t number);

#endif
