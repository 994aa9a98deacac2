/*
 * Reads and writes the tables elapse.node and elapse.place of a queue: which nodes there are, and
 * where its partitions should be. src/cluster/ownership/balance.h has the words.
 *
 *      elapse__nodes_open(...)
 *      elapse__nodes_look(...)     repeat
 *      elapse__nodes_beat(...)     only a node
 *      elapse__nodes_close(...)
 *
 * A database that was made by an older program lacks these tables, until `elapse cluster upgrade`
 * or `elapse cluster create` makes them. Then elapse__nodes_look says so, and nothing is balanced.
 * A queue below ELAPSE__SCHEMA_LEVEL_LISTS has no lists of replicas, whatever the table says.
 *
 * These functions wait for the database: at most 10 seconds to connect, and 12 for each statement,
 * or the limit that elapse__nodes_open was given, if it is shorter. So only commands, and a thread
 * that nobody waits for, may call them. "Words" are a line for people in struct elapse__schema_why
 * (why.h).
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_NODES_H
#define ELAPSE__CLUSTER_POSTGRES_NODES_H

#include "../ownership/balance.h"
#include "schema.h"

struct elapse__nodes_session;

/* Connects to that server of `host` which takes writes, and finds the queue. The session waits for
 * each statement for `limit_ms` at most, or as long as commands do, if that is 0. To connect it
 * waits for so many whole seconds, 2 at least. Returns NULL, with words, if that fails. */
struct elapse__nodes_session *elapse__nodes_open(const char *host, const char *queue,
                                                 uint32_t limit_ms, struct elapse__schema_why *why);
void elapse__nodes_close(struct elapse__nodes_session *session);

/* Looks at the tables in a session of libpq, and stores what they say in `view`, which begins as
 * zeros. `*has_tables` says whether the database has the tables; without them the view has no
 * nodes. Returns false, with words, if that fails. Then the view has what it had, or nothing. */
bool elapse__nodes_look_in(struct pg_conn *connection, const char *name,
                           const struct elapse__schema_queue *queue,
                           struct elapse__balance_view *view, bool *has_tables,
                           struct elapse__schema_why *why);
bool elapse__nodes_look(struct elapse__nodes_session *session, struct elapse__balance_view *view,
                        bool *has_tables, struct elapse__schema_why *why);

/* Frees what a look has stored. */
void elapse__nodes_free(struct elapse__balance_view *view);

/* Writes what this node says of itself: `name`, `address`, `version`, `zone`, `ahead_ms` and
 * `ready` of `node`. A database that the last look has found without zones does not get the zone.
 * Waits for no disk. */
bool elapse__nodes_beat(struct elapse__nodes_session *session,
                        const struct elapse__balance_node *node, struct elapse__schema_why *why);

/* Sets the target of a partition, or takes it away with "". Waits for no disk. */
bool elapse__nodes_set_target(struct elapse__nodes_session *session, uint32_t partition,
                              const char *name, struct elapse__schema_why *why);

/* Sets the list of replicas of a partition: the names of `count` nodes. Without nodes all follow.
 * Requires that the view has lists. Waits for no disk. */
bool elapse__nodes_set_replicas(struct elapse__nodes_session *session, uint32_t partition,
                                const char *const *names, uint32_t count,
                                struct elapse__schema_why *why);

/* Writes the row of the node `name` again, as it is, with a commit that waits for a standby. If
 * `*is_confirmed`, a standby has all that the session has read before (partition.h). Returns false,
 * with words, if that fails, or if no standby has confirmed it in time; then the session is of no
 * use any more. */
bool elapse__nodes_confirm(struct elapse__nodes_session *session, const char *name,
                           bool single_copy, bool *is_confirmed, struct elapse__schema_why *why);

/* Reads the hash that comes before a group of a partition's log. `*has_group` is false if the log
 * does not have the group. */
bool elapse__nodes_read_hash(struct elapse__nodes_session *session, uint32_t partition,
                             uint64_t group, bool *has_group, uint64_t *hash,
                             struct elapse__schema_why *why);

/* What an operator says. Each function commits, and fails, with words, if no standby has confirmed
 * that in 10 seconds. With "" elapse__nodes_prefer takes the preference away. The caller has found
 * the node in a view. */
bool elapse__nodes_prefer(struct elapse__nodes_session *session, uint32_t partition,
                          const char *name, struct elapse__schema_why *why);
bool elapse__nodes_drain(struct elapse__nodes_session *session, const char *name, bool drains,
                         struct elapse__schema_why *why);
bool elapse__nodes_pause(struct elapse__nodes_session *session, bool is_paused,
                         struct elapse__schema_why *why);

/* Forgets a node, and what was preferred to it. */
bool elapse__nodes_remove(struct elapse__nodes_session *session, const char *name,
                          struct elapse__schema_why *why);

#endif
