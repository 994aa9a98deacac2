/*
 * Performs for one partition what an operator decides after a database lost groups that were
 * acknowledged. R11 of src/cluster/ownership/partition.h says why the partition stands still then.
 *
 *      elapse__repair_open(...)
 *      elapse__repair_look(...)        again and again: no node may live
 *      elapse__repair_begin(...)       a later epoch, without a mark; in a transaction
 *      elapse__repair_begin_anew(...)  if the log goes on with a later group than the next
 *      elapse__repair_append(...)      the lost groups, one by one
 *      elapse__repair_commit(...)      all of it, or nothing
 *      elapse__repair_close(...)
 *
 * The new epoch is a much later one. So a node that comes late, with a mark for the epochs that it
 * knows, stops only itself, even if the database has lost many take-overs. Afterwards nobody owns
 * the partition: the next node takes over at once.
 *
 * These functions wait for the database, 10 seconds at most to connect, and 12 for each statement.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_REPAIR_H
#define ELAPSE__CLUSTER_POSTGRES_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ownership/partition.h"
#include "schema.h"

/* A partition, as the database has it. */
struct elapse__repair_row {
    uint64_t epoch, beat, last_group, last_hash, tail;
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

/* The server that the session is at. */
struct elapse__repair_server {
    char place[256]; /* host and port */
    uint64_t system_identifier;
    uint32_t timeline;
};

bool elapse__repair_server(struct elapse__repair *repair, struct elapse__repair_server *server,
                           struct elapse__schema_why *why);

/* Returns whether a node that has seen this database (0: none), and this timeline, would use the
 * server (R7). If not, `why` says why. */
bool elapse__repair_knows(const struct elapse__repair_server *server, uint64_t system_identifier,
                          uint32_t timeline, struct elapse__schema_why *why);

/* Returns whether a commit waits for a standby. With `single_copy` a commit need not wait. After
 * false, `why` says why. */
bool elapse__repair_trust(struct elapse__repair *repair, bool single_copy,
                          struct elapse__schema_why *why);

/* Reads the row of the partition, which has to exist. */
bool elapse__repair_look(struct elapse__repair *repair, uint32_t partition,
                         struct elapse__repair_row *row, struct elapse__schema_why *why);

/* Stores the hash of a group, and whether the log still has the group. */
bool elapse__repair_hash(struct elapse__repair *repair, uint32_t partition,
                         const struct elapse__repair_row *row, uint64_t group, uint64_t *hash,
                         bool *is_there, struct elapse__schema_why *why);

/* Returns the group that the words of a mark name: the last one that the node which wrote the mark
 * knew to be durable. 0: the words name no group. */
uint64_t elapse__repair_marked_group(const char *mark);

/* Begins a transaction that takes `stopped` and `missed` away, and begins a later epoch, unless the
 * row has changed since it was looked at. */
bool elapse__repair_begin(struct elapse__repair *repair, uint32_t partition,
                          const struct elapse__repair_row *row, struct elapse__schema_why *why);

/* Called in that transaction. Makes the log begin with group `first`, behind a group with the hash
 * `previous`. The log has no groups then: those that it had are needed no more. Changes `row`, too.
 * Requires that the log of the row ends before group `first` - 1. */
bool elapse__repair_begin_anew(struct elapse__repair *repair, uint32_t partition, uint64_t first,
                               uint64_t previous, struct elapse__repair_row *row,
                               struct elapse__schema_why *why);

/* Begins a transaction that takes `missed` away. Nodes may live, and go on. */
bool elapse__repair_forget(struct elapse__repair *repair, uint32_t partition,
                           struct elapse__schema_why *why);

/* Begins a transaction that writes the row as it is. When that is confirmed, everything that was
 * written before is confirmed, too. */
bool elapse__repair_write_again(struct elapse__repair *repair, uint32_t partition,
                                struct elapse__schema_why *why);

/* Called in the transaction, after the appends: writes marks again. Behind a mark an append does
 * nothing. */
bool elapse__repair_keep_marks(struct elapse__repair *repair, uint32_t partition,
                               const char *stopped, const char *missed,
                               struct elapse__schema_why *why);

/* Appends a group behind the last one, by the statement of an owner. */
bool elapse__repair_append(struct elapse__repair *repair, uint32_t partition,
                           const struct elapse__repair_row *row,
                           const struct elapse__statement *group, struct elapse__schema_why *why);

/* Commits. Fails, with words, if no standby has confirmed the commit in 10 seconds, if the
 * connection was lost, or if the settings before or after the commit are not those that
 * elapse__repair_trust wants. The change may stay all the same. */
bool elapse__repair_commit(struct elapse__repair *repair, bool single_copy,
                           struct elapse__schema_why *why);

#endif
