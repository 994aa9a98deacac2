/*
 * Simulates nodes of a cluster, which share one simulated disk and a log in memory. One seed
 * decides everything. There is no thread, clock or database.
 *
 *      clients --> the owner's engine --submit--> log (a list of groups) --follow--> other engines
 *
 * The log may confirm a group, keep it without an answer, or lose it. Followers may see the last
 * group, and the log may still lose it later. Nodes are killed at any step, all lose their power
 * together, and are fenced, which means shut out from the log. For each job the world knows what
 * its client knows: the job was put, it has ended, or a command has no answer, so that the client
 * does not know.
 */
#ifndef ELAPSE_TESTS_REPLICA_WORLD_H
#define ELAPSE_TESTS_REPLICA_WORLD_H

#include "../../../../src/engine/store/log.h"
#include "sim_disk.h"

enum {
    NODES = 3,
    GROUPS_MAX = 1 << 14,
    JOBS_MAX = 1 << 14,
    PENDING_MAX = 256,
    SEGMENT_BITS = 14,
    BODY_MAX = 3000,
};

struct log_group {
    uint8_t *bytes;
    size_t size;
    uint64_t hash, previous_hash;
};

enum certainty {
    NO_JOB,
    PERHAPS, /* its put was not answered, or the command that ends it was not */
    ALIVE,
    ENDED,
};

struct known_job {
    enum certainty certainty;
    uint32_t serial; /* the number from which its body follows */
    uint64_t id;
    uint32_t replaced; /* number of the job that this one replaces, in the same group; 0: none */
    bool was_alive;    /* its put was answered, or it was seen */
    bool ends;         /* PERHAPS: the command that ends it is not answered; false: the put */
};

/* A reply that waits until its records are in the log. */
struct pending {
    uint64_t gate;
    uint32_t put, end; /* numbers of jobs; 0: none */
    bool hands_out;
    struct elapse__queue_handed handed;
};

struct node {
    struct elapse__engine engine;
    bool is_open;
    bool owns;
    struct elapse__operation operations[ELAPSE__JOURNAL_LANES];
    int steps[ELAPSE__JOURNAL_LANES];
    char path[8];
};

struct world {
    struct node nodes[NODES];
    int owner; /* -1: nobody */

    struct log_group groups[GROUPS_MAX];
    uint64_t end;    /* the last group that is in the log for good */
    uint64_t tail;   /* of the log */
    bool in_flight;  /* groups[end + 1] was submitted, and has no answer */
    bool is_visible; /* this group is in the log, though nobody knows for sure */
    bool takes_none; /* the next submission is refused */

    uint64_t confirmed_records; /* records of the owner that were confirmed since it owns */
    uint64_t records_before;    /* records that its engine had appended when it began to own */

    struct known_job jobs[JOBS_MAX]; /* from 1 on */
    uint32_t job_count;
    struct pending pending[PENDING_MAX];
    unsigned pending_count;
    uint32_t greatest_life; /* the greatest number of a life that a hand-out had */

    int64_t wall_ms;
    uint64_t capacity;
    char violation[200];
    bool is_calm;
    bool syncs_fail; /* syncs fail now and then */
    uint64_t totals[16];
};

enum total {
    COMMANDS,
    SUBMITTED,
    TAKE_OVERS,
    CRASHES,
    REBUILDS,
    WENT_BACK,
    ASIDE,
    OPENS,
    TRIMS,
    SEGMENTS
};

extern struct world world;

void world_begin(uint64_t seed);
void world_end(void);
uint64_t below(uint64_t limit);
bool violate(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* nodes.c: a process begins, does a step of a lane, ends. */
bool node_open(struct node *node);
bool node_step(struct node *node, enum elapse__journal_lane lane);
void node_kill(struct node *node);
void node_tick(struct node *node);
bool node_rebuild(struct node *node); /* an operator may ask a follower for it at any time */
bool node_follow(struct node *node);  /* one group; false: nothing to follow, or no room */
void node_go_on(struct node *node);   /* steps until nothing is left to do */
struct elapse__queue_now world_now(void);

/* take_over.c: the owner is fenced, another node owns. */
void owner_lost(bool alive);
bool take_over(struct node *node);
void log_answer(void);

/* clients.c */
void client_command(struct elapse__engine *engine);
void client_replies(struct elapse__engine *engine);
void client_forget_replies(void);
size_t body_of(uint32_t serial, unsigned char *bytes);
void check_owner(struct node *node);
void check_tail(uint64_t tail);

#endif
