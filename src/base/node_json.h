/*
 * Writes a node of a cluster as JSON. A server shows the nodes by it, and so does elapse cluster
 * status, so that a program reads both in the same way.
 */
#ifndef ELAPSE__BASE_NODE_JSON_H
#define ELAPSE__BASE_NODE_JSON_H

#include "json_writer.h"

/* What a node has told of itself. */
struct elapse__node_json {
    const char *name, *address, *version, *zone;
    bool lives;        /* it has told of itself within two leases */
    bool drains;       /* an operator wants it to own nothing */
    uint64_t age_ms;   /* how long ago it has told of itself */
    int64_t ahead_ms;  /* its wall clock minus the database's */
    uint32_t owns;     /* how many partitions it owns */
    const bool *ready; /* an element for each partition */
    uint32_t partitions;
};

/* Writes an object with the members name, address, version, zone, alive, draining, age_ms,
 * ahead_ms, owns, and ready: the numbers of partitions. */
void elapse__node_json_write(struct elapse__json *json, const struct elapse__node_json *node);

#endif
