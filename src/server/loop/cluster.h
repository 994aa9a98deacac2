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
    bool is_stopped;       /* the node goes on without the partition; `complaint` says why */
    uint64_t epoch;
    char owner[ELAPSE__LOOP_OWNER_BYTES]; /* the name of the life that owns the partition; "": no
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
