/*
 * Performs for one partition what an operator decides after a database lost groups that were
 * acknowledged. The nodes stop at such a partition, and mark it: R11 of
 * src/cluster/ownership/partition.h.
 *
 *      elapse__repair_open(...)
 *      elapse__repair_look(...)        repeat, to see that no node is alive
 *      elapse__repair_begin(...)       begins a transaction: a later epoch, no mark
 *      elapse__repair_begin_anew(...)  if the log goes on with a later group than the next
 *      elapse__repair_append(...)      the lost groups, one by one
 *      elapse__repair_commit(...)      all of it, or nothing
 *      elapse__repair_close(...)
 *
 * The new epoch is much higher. So a node that comes late, with a mark for the epochs that it
 * knows, stops only itself, even if the database has lost many take-overs. After a repair nobody
 * owns the partition, and the next node takes over at once.
 *
 * These functions wait for the database: at most 10 seconds to connect, and 12 for each statement.
 * "Words" are a line for people in struct elapse__schema_why (why.h).
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_REPAIR_H
#define ELAPSE__CLUSTER_POSTGRES_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ownership/partition.h"
#include "schema.h"

/* A partition as its row in the database shows it. */
struct elapse__repair_row {
    uint64_t epoch, beat, last_group, last_hash, tail;
    char stopped[ELAPSE__MARK_BYTES];
    char missed[ELAPSE__MARK_BYTES]; /* the groups that a late node misses, in words; "": none */
};

struct elapse__repair;

/* Connects to that server of `host` which takes writes, and finds the queue. Returns NULL, with
 * words, if that fails. */
struct elapse__repair *elapse__repair_open(const char *host, const char *queue,
                                           struct elapse__schema_why *why);
void elapse__repair_close(struct elapse__repair *repair);

const struct elapse__schema_queue *elapse__repair_queue(const struct elapse__repair *repair);

/* The server to which the session is connected. */
struct elapse__repair_server {
    char place[256]; /* host and port */
    uint64_t system_identifier;
    uint32_t timeline;
};

bool elapse__repair_server(struct elapse__repair *repair, struct elapse__repair_server *server,
                           struct elapse__schema_why *why);

/* Returns whether a node would use this server (R7) if it has seen the database `system_identifier`
 * (0: none) and this timeline. If not, `why` says why. */
bool elapse__repair_knows(const struct elapse__repair_server *server, uint64_t system_identifier,
                          uint32_t timeline, struct elapse__schema_why *why);

/* Returns whether a commit waits for a standby. With `single_copy` a commit need not wait. If this
 * function returns false, `why` says why. */
bool elapse__repair_trust(struct elapse__repair *repair, bool single_copy,
                          struct elapse__schema_why *why);

/* Reads the row of the partition. Requires that the row exists. */
bool elapse__repair_look(struct elapse__repair *repair, uint32_t partition,
                         struct elapse__repair_row *row, struct elapse__schema_why *why);

/* Stores the hash of a group, and whether the log still has that group. */
bool elapse__repair_hash(struct elapse__repair *repair, uint32_t partition,
                         const struct elapse__repair_row *row, uint64_t group, uint64_t *hash,
                         bool *is_there, struct elapse__schema_why *why);

/* Returns the group that the words of a mark name. It is the last group that the writer of the mark
 * knew to be durable. Returns 0 if the words name no group. */
uint64_t elapse__repair_marked_group(const char *mark);

/* Begins a transaction that clears `stopped` and `missed` and begins a later epoch. Fails if the
 * row has changed since elapse__repair_look read it. */
bool elapse__repair_begin(struct elapse__repair *repair, uint32_t partition,
                          const struct elapse__repair_row *row, struct elapse__schema_why *why);

/* Called in that transaction. Makes the log begin with group `first`. The hash of the group before
 * is `previous`. Removes all groups that the log had, because nobody needs them any more. Changes
 * `row`, too. Requires that the log of the row ends before group `first` - 1. */
bool elapse__repair_begin_anew(struct elapse__repair *repair, uint32_t partition, uint64_t first,
                               uint64_t previous, struct elapse__repair_row *row,
                               struct elapse__schema_why *why);

/* Begins a transaction that clears `missed`. Nodes may be alive, and go on. */
bool elapse__repair_forget(struct elapse__repair *repair, uint32_t partition,
                           struct elapse__schema_why *why);

/* Begins a transaction that writes the row as it is. When its commit is confirmed, everything that
 * was written before is confirmed, too. */
bool elapse__repair_write_again(struct elapse__repair *repair, uint32_t partition,
                                struct elapse__schema_why *why);

/* Called in the transaction after the appends: writes marks again. The marks come last, because an
 * append does nothing where there is a mark. */
bool elapse__repair_keep_marks(struct elapse__repair *repair, uint32_t partition,
                               const char *stopped, const char *missed,
                               struct elapse__schema_why *why);

/* Appends a group after the last one, with the statement that an owner uses. */
bool elapse__repair_append(struct elapse__repair *repair, uint32_t partition,
                           const struct elapse__repair_row *row,
                           const struct elapse__statement *group, struct elapse__schema_why *why);

/* Commits. Fails, with words, if no standby has confirmed the commit in 10 seconds, or if the
 * connection was lost. Fails also if the settings before or after the commit are not those that
 * elapse__repair_trust wants. The change may be in the database even if this function fails. */
bool elapse__repair_commit(struct elapse__repair *repair, bool single_copy,
                           struct elapse__schema_why *why);

#endif
