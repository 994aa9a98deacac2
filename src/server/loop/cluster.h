/*
 * Declares the figures of a cluster, for the files of the server that show figures. `cluster` of
 * struct elapse__loop is NULL in a server alone. On a node of a cluster, the loop with `cluster` is
 * the front of the node. The front has neither a store nor a core. Each partition that the node
 * owns has both.
 *
 * Requires, for every function: the thread of the loop, without a lock.
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
};

/* A partition, as this node sees it. */
struct elapse__loop_partition {
    uint32_t number;
    const char *role; /* a word: "following", "owning", "unknown", ...; static */
    const char
        *complaint;    /* why the database does not do what it should; static; "": all is well */
    const char *clock; /* what is wrong with a clock; static; "": nothing */
    uint64_t clock_off_ms; /* by which this node's wall clock and the database's differ */
    bool is_owned;         /* this node has the queue of the partition, and serves the queue */
    bool may_answer;       /* the lease allows answers now */
    bool is_stopped;       /* the node goes on without the partition; `complaint` says why */
    uint64_t epoch;
    char owner[ELAPSE__LOOP_OWNER_BYTES];     /* the name of its life; "": nobody */
    char address[ELAPSE__LOOP_ADDRESS_BYTES]; /* of the owner */
    uint64_t last_group;                      /* of the log, as seen last */
    uint64_t local_group;                     /* the last group of the log that this node has */
    uint64_t tail;                            /* the first group that is needed */
    char message[ELAPSE__LOOP_WORDS_BYTES];   /* the last error or notice of the database; "" */
};

/* Figures of the router of this node. A count is of the time since the start, unless `now` stands
 * beside the count. */
struct elapse__loop_router {
    uint64_t clients, waiting; /* now */
    uint64_t total_clients, commands, sent, sent_again, unknown, try_again, links_lost;
    uint64_t wrong_passwords; /* those over HTTP included */
};

struct elapse__loop_cluster {
    void *context;
    const char *queue; /* the name of the queue */
    const char *node;  /* the name of this node */
    uint32_t partitions;

    void (*partition)(void *context, uint32_t partition, struct elapse__loop_partition *figures);
    void (*router)(void *context, struct elapse__loop_router *figures);

    /* Calls with the loop of a partition, which has a store and a core, and with the lock of that
     * store. Returns false, and does not call, if this node does not own the partition. */
    bool (*with_core)(void *context, uint32_t partition,
                      void (*call)(struct elapse__loop *loop, void *argument), void *argument);

    /* Notes a wrong password from a place. Returns how many milliseconds its answer waits. */
    uint64_t (*wrong_password)(void *context, uint64_t place);
};

#endif
