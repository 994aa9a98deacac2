/*
 * Writes what a node knows of its cluster, as JSON for the page and as metrics for Prometheus. Also
 * adds up figures over the partitions that the node owns.
 */
#ifndef ELAPSE__HTTP_CLUSTER_H
#define ELAPSE__HTTP_CLUSTER_H

#include "../../base/json_writer.h"
#include "../../queue/forecast.h"
#include "../core/core.h"
#include "../loop/cluster.h"

/* Appends the cluster as an object. */
void elapse__http_write_cluster(struct elapse__json *json,
                                const struct elapse__loop_cluster *cluster);

/* Appends the metrics of the cluster. */
void elapse__http_write_cluster_metrics(struct elapse__json *out,
                                        const struct elapse__loop_cluster *cluster);

/* ---- sums ---- */

void elapse__http_add_counts(struct elapse__queue_statistics *sum,
                             const struct elapse__queue_statistics *more);
/* Adds the statistics of a core. Figures of the whole process, such as how long it has run, are not
 * added up. For these the sum has the greatest value. */
void elapse__http_add_server(struct elapse__server_statistics *sum,
                             const struct elapse__server_statistics *more);
/* Replaces the clients of the cores with the clients of the router. */
void elapse__http_use_router(struct elapse__server_statistics *sum,
                             const struct elapse__loop_router *router);
void elapse__http_add_histogram(struct elapse__histogram *sum,
                                const struct elapse__histogram *more);
void elapse__http_add_forecast(struct elapse__queue_forecast *sum,
                               const struct elapse__queue_forecast *more);

#endif
