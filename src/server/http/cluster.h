/*
 * What a node of a cluster tells of it, as JSON for the page and as Prometheus reads it; and sums
 * over the partitions that it owns.
 */
#ifndef ELAPSE__HTTP_CLUSTER_H
#define ELAPSE__HTTP_CLUSTER_H

#include "../../base/json_writer.h"
#include "../core/core.h"

/* A partition, as this node sees it. Texts are valid while the struct is. */
struct elapse__http_partition {
    const char *role;      /* a word */
    const char *complaint; /* why the database does not do what it should; "": all is well */
    const char *owner;     /* "": nobody */
    const char *address;   /* of the owner */
    uint64_t epoch;
    uint64_t last_group; /* of the log */
    uint64_t lag;        /* groups of it that this node has not got */
    uint64_t tail;       /* the first group that is needed */
    uint32_t number;
    bool is_owned;   /* by this node */
    bool may_answer; /* its lease allows that now */
};

/* What the router of the node does. */
struct elapse__http_router {
    uint64_t clients, waiting; /* now */
    uint64_t total_clients, commands, sent, sent_again, unknown, try_again, links_lost;
};

struct elapse__http_cluster {
    const char *queue;
    const char *node;
    uint32_t partitions;
    struct elapse__http_router router;

    /* Stores a partition. */
    void (*partition)(void *context, uint32_t partition, struct elapse__http_partition *figures);
    void *context;
};

/* Appends an object. */
void elapse__http_write_cluster(struct elapse__json *json,
                                const struct elapse__http_cluster *cluster);

/* Appends metrics. */
void elapse__http_write_cluster_metrics(struct elapse__json *out,
                                        const struct elapse__http_cluster *cluster);

/* ---- sums ---- */

void elapse__http_add_counts(struct elapse__queue_statistics *sum,
                             const struct elapse__queue_statistics *more);
/* Of the process, what has no sum is that of the last one. */
void elapse__http_add_server(struct elapse__server_statistics *sum,
                             const struct elapse__server_statistics *more);
/* The clients of a node are those of its router. */
void elapse__http_use_router(struct elapse__server_statistics *sum,
                             const struct elapse__http_router *router);
void elapse__http_add_histogram(struct elapse__histogram *sum,
                                const struct elapse__histogram *more);
void elapse__http_add_forecast(struct elapse__queue_forecast *sum,
                               const struct elapse__queue_forecast *more);

#endif
