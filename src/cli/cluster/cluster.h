/*
 * What the files of elapse cluster share. "Pure" functions have no effect.
 *
 *      cluster_command.c    the options
 *      cluster_create.c     elapse cluster create and elapse cluster upgrade
 *      cluster_status.c     elapse cluster status: looks again and again, and returns the status
 *      cluster_repair.c     elapse cluster append-lost and accept-loss
 *      cluster_accept_database.c    elapse cluster accept-database
 *      cluster_nodes.c      elapse cluster move, drain, undrain, may-stop, remove, pause and resume
 *      watch.c              pure: which partitions have an owner that lives, from looks at them
 *      status_text.c        pure: writes the state, for people and as JSON
 */
#ifndef ELAPSE_CLI_CLUSTER_CLUSTER_H
#define ELAPSE_CLI_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/json_writer.h"
#include "../../cluster/postgres/status.h"
#include "../common/buffer.h"
#include "../common/message.h"

enum { CLUSTER_HOSTS_MAX = 16 };

/* The options. */
struct cluster_options {
    const char *hosts[CLUSTER_HOSTS_MAX]; /* connection strings of libpq */
    size_t host_count;
    const char *queue;
    uint64_t partitions;
    uint64_t lease_ns;
    bool with_tags, without_tags; /* --hash-tags, --no-hash-tags */
    bool json;
    const char *data; /* the directory of a node; NULL: not given */
    uint64_t partition;
    bool has_partition;
    bool yes;
    bool single_copy;
    bool begin_anew;
    char **words; /* what stands behind the verb */
    int word_count;
};

/* Prints why the database refused. Returns the exit status for it. */
enum exit_status cluster_refused(const struct elapse__schema_why *why);

/* Returns whether the directory is there, even if it cannot be opened. */
bool cluster_has_directory(const char *path);

enum exit_status cluster_create(const struct cluster_options *options);
enum exit_status cluster_upgrade(const struct cluster_options *options);
enum exit_status cluster_status(const struct cluster_options *options);
enum exit_status cluster_append_lost(const struct cluster_options *options);
enum exit_status cluster_accept_loss(const struct cluster_options *options);

enum exit_status cluster_accept_database(const struct cluster_options *options);
enum exit_status cluster_move(const struct cluster_options *options);
enum exit_status cluster_drain(const struct cluster_options *options);
enum exit_status cluster_undrain(const struct cluster_options *options);
enum exit_status cluster_may_stop(const struct cluster_options *options);
enum exit_status cluster_remove(const struct cluster_options *options);
enum exit_status cluster_pause(const struct cluster_options *options);
enum exit_status cluster_resume(const struct cluster_options *options);

/* ---- watch.c ---- */

/* What the looks at a partition have shown since the first one. An owner changes the partition's
 * row every quarter of the lease. So if the row stays the same for a lease, no owner is alive. */
struct cluster_watched {
    bool has_changed;
    uint64_t unchanged_ns; /* how long the row has not changed */
    uint64_t changed_ns;   /* when the row last changed, by the clock of this program */
    uint64_t epoch, beat, last_group;
};

/* Takes the first look at a partition. */
void cluster_watch_first(struct cluster_watched *watched,
                         const struct elapse__status_partition *partition, uint64_t now_ns);

/* Takes another look. */
void cluster_watch_next(struct cluster_watched *watched,
                        const struct elapse__status_partition *partition, uint64_t now_ns);

/* Returns whether the partition has an owner that is alive and was not stopped. */
bool cluster_watch_lives(const struct cluster_watched *watched,
                         const struct elapse__status_partition *partition);

/* ---- status_text.c ---- */

/* These functions add the state of a cluster. `watched` has an element for each partition. */
void cluster_add_text(struct elapse__buffer *text, const char *queue,
                      const struct elapse__status *status, const struct cluster_watched *watched);
void cluster_add_json(struct elapse__json *json, const char *queue,
                      const struct elapse__status *status, const struct cluster_watched *watched);

#endif
