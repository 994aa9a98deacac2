/*
 * After a database lost groups that were acknowledged: what an operator decides, for one partition.
 * R11 of src/cluster/partition.h says how it came to stand still.
 *
 *      elapse__repair_open(...)
 *      elapse__repair_look(...)        again and again: no node may live
 *      elapse__repair_begin(...)       a later epoch, without a mark; in a transaction
 *      elapse__repair_append(...)      the lost groups, one by one
 *      elapse__repair_commit(...)      all of it, or nothing
 *      elapse__repair_close(...)
 *
 * The epoch is a later one, so that a node that comes late, with a mark for the epochs that it
 * knows, stops only itself. Nobody owns it afterwards: the next node takes over at once.
 *
 * These functions wait for the database, 10 seconds at most to connect, and for each statement.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_REPAIR_H
#define ELAPSE__CLUSTER_POSTGRES_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../partition.h"
#include "schema.h"

/* A partition, as the database has it. */
struct elapse__repair_row {
    uint64_t epoch, beat, last_group, last_hash, tail;
    char owner[ELAPSE__NODE_NAME_BYTES];
    char stopped[ELAPSE__MARK_BYTES];
    char missed[ELAPSE__MARK_BYTES]; /* a node that came late misses groups; "": none does */
};

struct elapse__repair;

/* Connects to the server that takes writes, of those that `host` names, and finds the queue.
 * Returns NULL, with words, if that fails. */
struct elapse__repair *elapse__repair_open(const char *host, const char *queue,
                                           struct elapse__schema_why *why);
void elapse__repair_close(struct elapse__repair *repair);

const struct elapse__schema_queue *elapse__repair_queue(const struct elapse__repair *repair);

/* Reads the row of the partition, which has to exist. */
bool elapse__repair_look(struct elapse__repair *repair, uint32_t part,
                         struct elapse__repair_row *row, struct elapse__schema_why *why);

/* Stores the hash of a group that the log still has, or `is_there` false. */
bool elapse__repair_hash(struct elapse__repair *repair, uint32_t part,
                         const struct elapse__repair_row *row, uint64_t group, uint64_t *hash,
                         bool *is_there, struct elapse__schema_why *why);

/* Begins a transaction that takes `stopped` and `missed` away, and begins a later epoch, unless the
 * row is another one than when it was looked at. */
bool elapse__repair_begin(struct elapse__repair *repair, uint32_t part,
                          const struct elapse__repair_row *row, struct elapse__schema_why *why);

/* Begins a transaction that takes `missed` away. Nodes may live, and go on. */
bool elapse__repair_forget(struct elapse__repair *repair, uint32_t part,
                           struct elapse__schema_why *why);

/* Appends a group behind the last one, by the statement of an owner. */
bool elapse__repair_append(struct elapse__repair *repair, uint32_t part,
                           const struct elapse__repair_row *row,
                           const struct elapse__statement *group, struct elapse__schema_why *why);

/* Fails, with words, if no standby has confirmed it in 10 seconds; it may stay all the same. */
bool elapse__repair_commit(struct elapse__repair *repair, struct elapse__schema_why *why);

#endif
