/*
 * Declares the figures of a cluster, for the files of the server that show figures. In a server
 * that belongs to no cluster, `cluster` of struct elapse__loop is NULL. On a node of a cluster, the
 * loop whose `cluster` is not NULL is the front of the node. The front has neither a store nor a
 * core. Each partition that the node owns has a store and a core.
 *
 * Only the thread of the loop may call the functions. It must hold no lock.
 */
#ifndef ELAPSE__LOOP_CLUSTER_H
#define ELAPSE__LOOP_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elapse__loop;

enum {
    ELAPSE__LOOP_OWNER_BYTES = 64,
    ELAPSE__LOOP_ADDRESS_BYTES = 256,
    ELAPSE__LOOP_WORDS_BYTES = 256,
    ELAPSE__LOOP_NODE_BYTES = 64,
    ELAPSE__LOOP_VERSION_BYTES = 32,
    ELAPSE__LOOP_ZONE_BYTES = 32,
    ELAPSE__LOOP_PARTITIONS_MAX = 1024,
};

/* A node of the queue, as it has told of itself in the database. */
struct elapse__loop_node {
    char name[ELAPSE__LOOP_NODE_BYTES];
    char address[ELAPSE__LOOP_ADDRESS_BYTES];
    char version[ELAPSE__LOOP_VERSION_BYTES];
    char zone[ELAPSE__LOOP_ZONE_BYTES]; /* where it is, as its operator says; "": unknown */
    bool lives;                         /* it has told of itself within two leases */
    bool drains;                        /* an operator wants it to own nothing */
    uint64_t age_ms;                    /* how long ago it has told of itself */
    int64_t ahead_ms;                   /* its wall clock minus the database's */
    uint32_t owns;                      /* how many partitions it owns */
    /* For which partitions it owns or could take over at once: an element for each. */
    bool ready[ELAPSE__LOOP_PARTITIONS_MAX];
};

/* A partition, as this node sees it. */
struct elapse__loop_partition {
    uint32_t number;
    const char *role; /* one word, "following", "owning", "unknown" and so on; a static text */
    /* What is wrong with the database; a static text; "": nothing is wrong. */
    const char *complaint;
    const char *clock;     /* what is wrong with a clock; a static text; "": nothing is wrong */
    uint64_t clock_off_ms; /* by how much the wall clocks of this node and of the database differ */
    bool is_owned;         /* this node has the queue of the partition, and serves the queue */
    bool may_answer;       /* the lease allows answers now */
    bool follows;          /* this node reads the log of the partition, and could take over */
    /* How long ago the last write was sent that the database has confirmed; 0 if this node does not
     * serve the partition. */
    uint64_t unconfirmed_ms;
    uint64_t left_files; /* files of a copy that the node has left: 0: none; 1: they are as they
                            were; 2: they were set aside */
    bool is_stopped;     /* the node goes on without the partition; `complaint` says why */
    uint64_t epoch;
    char preferred[ELAPSE__LOOP_NODE_BYTES]; /* the node where an operator wants it; "": none */
    char target[ELAPSE__LOOP_NODE_BYTES];    /* the node that it moves to now; "": none */
    char owner[ELAPSE__LOOP_OWNER_BYTES];    /* the name of the life that owns the partition; "": no
                                                life owns it */
    char address[ELAPSE__LOOP_ADDRESS_BYTES]; /* the address of the owner */
    uint64_t last_group;                    /* the last group of the log that this node knows of */
    uint64_t local_group;                   /* the last group of the log that this node has */
    uint64_t tail;                          /* the first group of the log that is still needed */
    char message[ELAPSE__LOOP_WORDS_BYTES]; /* the last error or notice of the database; "": there
                                               was none */
};

/* Figures of the router of this node. A figure counts since the start, unless a comment says that
 * it is the present number. */
struct elapse__loop_router {
    uint64_t clients, waiting; /* the present numbers */
    uint64_t total_clients, commands, sent, sent_again, unknown, try_again, links_lost;
    uint64_t wrong_passwords; /* wrong passwords over HTTP count, too */
};

struct elapse__loop_cluster {
    void *context;
    const char *queue; /* the name of the queue */
    const char *node;  /* the name of this node */
    uint32_t partitions;

    void (*partition)(void *context, uint32_t partition, struct elapse__loop_partition *figures);
    void (*router)(void *context, struct elapse__loop_router *figures);

    /* Stores what is known of the nodes of the queue: how many there are, and whether an operator
     * has paused planned moves. Returns false if that is unknown: the database has not told it. */
    bool (*nodes)(void *context, uint32_t *count, bool *is_paused);
    /* Stores a node with a number below the count. Returns false if there is no such node. */
    bool (*node_at)(void *context, uint32_t number, struct elapse__loop_node *node);

    /* Calls `call` with the loop of a partition, which has a store and a core. The lock of that
     * store is held meanwhile. Returns false, and calls nothing, if this node does not own the
     * partition. */
    bool (*with_core)(void *context, uint32_t partition,
                      void (*call)(struct elapse__loop *loop, void *argument), void *argument);

    /* Notes a wrong password from a place, which is a number for the address of a client. Returns
     * how many milliseconds the answer waits. */
    uint64_t (*wrong_password)(void *context, uint64_t place);
};

#endif
