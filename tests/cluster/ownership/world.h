/*
 * The world of the simulation. It has nodes, and each node has the state machine of one partition,
 * a clock and a disk of its own. It has the simulated database. It also keeps everything that
 * clients were ever answered.
 *
 * The checks
 *
 *   C1  At most one node answers at a time, and it knows everything that was ever answered.
 *   C2  Each answered group is in the log of the primary, and a standby has it.
 *   C3  The chain of hashes never forks, and no needed table is dropped (database.c).
 *   C4  No node stops, unless the wrong standby was promoted. Then each node that knows of a lost
 *       group or sees a mark stops, and says why.
 *   C5  When all faults are over, one node owns the partition and answers, and the others have the
 *       groups that it has. An owner that has died is replaced within L + 1 s (L is the lease). An
 *       owner that hands over is replaced within 100 ms. After a planned move the node that is to
 *       own next owns the partition, and the owner before follows.
 *   C6  The invariants of the state machine hold after each call.
 *   C7  If only the owner knows of lost groups, and it reaches the database within one and a half
 *       leases, then no other node ever answers, and no group is confirmed any more.
 *   C8  If such an owner comes later, when other nodes have gone on in a later epoch, then the
 *       others do not stop, and the row says that this node misses groups.
 *   C11 A node that has seen a group in the row, and knows it to be durable, but never read it,
 * says so in the row when the group is lost, also after it lost its directory. C9  The cluster's
 * time at an owner is the true time, as exactly as answers of the database can tell it, whatever
 * the wall clocks of nodes show. If somebody sets the database's clock, the cluster's time is wrong
 * by at most ELAPSE__CLOCK_APART_MS more. So a new owner is early by no more than that. C10 When
 * all faults are over, a node whose clock is wrong does not answer, if a node whose clock is right
 * is alive.
 */
#ifndef ELAPSE_TESTS_WORLD_H
#define ELAPSE_TESTS_WORLD_H

#include "database.h"

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): grouped by meaning */
struct sim_node {
    struct elapse__partition *partition; /* NULL: the process does not run */
    unsigned life;
    char me[ELAPSE__NODE_NAME_BYTES];
    uint64_t offset_ms;
    uint64_t rate_ppm;
    int64_t ahead_ms;     /* by how much its wall clock is ahead of the true time */
    int session;          /* -1: none, or lost */
    bool is_connecting;   /* CONNECT is under way */
    bool is_sent;         /* another statement is under way */
    bool is_cut[SERVERS]; /* the network to this server loses everything */
    uint64_t serial;
    unsigned host;
    bool is_paused;
    bool is_to_set_aside;
    bool has_group; /* a group was submitted, and is neither confirmed nor put aside */
    bool has_stopped;
    bool was_near; /* in this life the database's clock was one that it believed */
    bool must_stop;
    bool is_guest;  /* it began without a directory */
    bool must_tell; /* its witness is lost: the row has to say so */

    /* Its disk. */
    struct elapse__partition_memory memory;
    struct elapse__partition_witness witness;
    struct elapse__partition_log_place local, confirmed;
    uint64_t base; /* groups up to this one are not on the disk */
    uint64_t hashes[GROUPS_MAX];

    uint8_t bytes[GROUP_BYTES]; /* the group in flight */
};

struct world {
    uint64_t now_ms; /* true time */
    uint64_t genesis;
    uint64_t submitted;
    struct elapse__partition_log_place told; /* the last group that a client knows of */
    bool has_lost;                           /* the wrong standby was promoted */
    bool sets_database_clocks;
    char violation[240];
};

struct world_totals {
    uint64_t runs, groups, answers, take_overs, fail_overs, wrong, stops, losses, fenced, rebuilds,
        hand_overs, moves, crashes, marks, emptied, witnessed;
};

extern struct world world;
extern struct sim_node nodes[NODES];
extern struct world_totals *world_totals;
extern bool world_trace;

void world_violate(const char *what);
void world_begin(struct random_source *random);
void world_end(void);

/* Steps of one node. */
void node_act(int number);     /* time passes for it; it sends its next statement */
void node_receive(int number); /* a result that is there arrives */
void node_answer(int number);  /* it answers a client, if it may */
bool node_submit(int number);
void node_trim(int number, uint64_t keeps);
void node_persist(int number);
void node_set_aside(int number);
void node_lose_connection(int number);
void node_crash(int number);
void node_start(int number);
void node_empty(int number); /* the directory of a node that does not run is lost */
void node_hand_over(int number);
void node_move(int number);
void node_expect(int number, enum elapse__partition_next_owner next_owner);
bool node_has_wrong_clock(int number); /* by the clock of the true primary */

/* The wrong standby was promoted: notes which nodes know of something that is lost. */
void world_note_loss(void);

/* Repairs everything, and lets the world go on for a while without faults. */
void world_heal(void);
void world_finish(struct random_source *random);

#endif
