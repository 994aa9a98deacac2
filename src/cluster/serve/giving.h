/*
 * Decides for the thread of nodes_errand.c which files this node gives up
 * (src/cluster/ownership/give_up.h). Only that thread calls these functions.
 */
#ifndef ELAPSE__CLUSTER_SERVE_GIVING_H
#define ELAPSE__CLUSTER_SERVE_GIVING_H

#include "base.h"

struct elapse__giving;
struct elapse__nodes_session;

/* Returns NULL if there is no memory. */
struct elapse__giving *elapse__giving_new(struct elapse__cluster *cluster);
void elapse__giving_free(struct elapse__giving *giving);

/* Notes which files there are: two elements for each partition. The caller holds the lock of
 * cluster->nodes. */
void elapse__giving_note_files(struct elapse__giving *giving);

/* Called when a new session begins. */
void elapse__giving_connect(struct elapse__giving *giving);

/* Takes the rows of a view, and compares files with the log where a row leaves open whether the log
 * has their end. Returns false, with words, if that fails. */
bool elapse__giving_take(struct elapse__giving *giving, const struct elapse__balance_view *view,
                         struct elapse__nodes_session *session, uint64_t now_ms,
                         struct elapse__schema_why *why);

/* Decides by the view which files are given up. If there are such files, confirms the view with a
 * write. `told` says for which partitions the session has written that this node is ready, before
 * the view was read; NULL: it has written nothing yet. Returns false, with words, if the session
 * fails. */
bool elapse__giving_decide(struct elapse__giving *giving, const struct elapse__balance_view *view,
                           const char *name, const bool *told, bool is_calm,
                           struct elapse__nodes_session *session, uint64_t now_ms,
                           struct elapse__schema_why *why);

/* Stores in cluster->nodes what the loop has to know. Returns whether there are files to give up.
 * The caller holds the lock of cluster->nodes. */
bool elapse__giving_publish(struct elapse__giving *giving);

/* The same when the view is lost: nothing is given up. */
void elapse__giving_publish_nothing(struct elapse__giving *giving);

#endif
