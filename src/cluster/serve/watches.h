/*
 * Watches the rows of all partitions (src/cluster/ownership/watch.h). Only the thread of
 * nodes_errand.c calls these functions.
 */
#ifndef ELAPSE__CLUSTER_SERVE_WATCHES_H
#define ELAPSE__CLUSTER_SERVE_WATCHES_H

#include "base.h"

struct elapse__watches;
struct elapse__nodes_session;

/* Returns NULL if there is no memory. */
struct elapse__watches *elapse__watches_new(struct elapse__cluster *cluster);
void elapse__watches_free(struct elapse__watches *watches);

/* Notes of which partitions this node has copies. Takes no lock. */
void elapse__watches_note_copies(struct elapse__watches *watches, const bool *has_copy);

/* Called when a new session begins. */
void elapse__watches_connect(struct elapse__watches *watches);

/* Takes the rows of a view. Where a row leaves open whether the witness of a partition without a
 * copy is in the log, asks the log. Returns false, with words, if that fails. */
bool elapse__watches_take(struct elapse__watches *watches, const struct elapse__balance_view *view,
                          struct elapse__nodes_session *session, uint64_t now_ms,
                          struct elapse__schema_why *why);

/* Returns whether the last rows were of another system than the one that this node has watched.
 * Such rows were ignored. */
bool elapse__watches_is_other_system(const struct elapse__watches *watches);

/* Stores in cluster->nodes what the loop has to know of a partition. Returns whether that has
 * changed. The caller holds the lock of cluster->nodes. */
bool elapse__watches_publish(struct elapse__watches *watches,
                             const struct elapse__balance_view *view, uint32_t partition, int me,
                             uint64_t now_ms);

#endif
