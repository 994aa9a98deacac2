/*
 * A link is a connection to the database. It performs the statements of one partition, one at a
 * time, and its functions never wait. The contract, rules W1 to W6, is in
 * src/cluster/ownership/statements.h.
 *
 *      elapse__database_link_begin(link, &statement)
 *      elapse__database_link_watch(link, &watch)                says what to wait for
 *      elapse__database_link_poll(link, is_ready, &result)      repeat until this returns true
 *
 * No statement is ever cancelled. CONNECT closes the socket if another statement is under way. The
 * database may still perform that statement, but its result is lost.
 *
 * A link connects directly to a server. A pooler may give the transactions of one session to
 * several servers, which would break W2 and W3. W6 finds out that there is a pooler. CONNECT does
 * wait for one thing: while libpq looks up the name of a host. It does not wait if the connection
 * string has a number as hostaddr.
 *
 * Threads: at most one thread at a time may use a link.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_LINK_H
#define ELAPSE__CLUSTER_POSTGRES_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ownership/statements.h"

struct elapse__os_watch;
struct elapse__inbox_poll;
struct elapse__inbox_row;

struct elapse__database_link_options {
    const char *const *hosts; /* connection strings of libpq, each of one host */
    unsigned host_count;
    const char *queue; /* a valid name (names.h) */
    uint32_t partition;
    const char *me;      /* `me` of struct elapse__partition_options */
    const char *address; /* where clients and other nodes reach this node */
    uint32_t lease_ms;
};

struct elapse__database_link;

/* Returns NULL if the connection string can be used, or else a static text that says why it cannot.
 * Either libpq cannot read the string, or the string names several hosts, so that nobody knows
 * which host has answered. The text has nothing of the string in it. */
const char *elapse__database_link_refuse_host(const char *host);

/* Returns a link without a connection, or NULL if there is no memory. Copies the options. */
struct elapse__database_link *
elapse__database_link_new(const struct elapse__database_link_options *options);

/* Closes the connection without cancelling anything, and frees the link. */
void elapse__database_link_free(struct elapse__database_link *link);

/* Begins a statement. Requires that no statement is under way, unless this one is CONNECT. Copies
 * the bytes of the statement. */
void elapse__database_link_begin(struct elapse__database_link *link,
                                 const struct elapse__statement *statement);

/* Stores what to wait for, and no file if nothing is under way. Ask again after each poll, because
 * libpq may use another file while it connects. */
void elapse__database_link_watch(const struct elapse__database_link *link,
                                 struct elapse__os_watch *watch);

/* Goes on with the statement under way. `is_ready` says whether the file of
 * elapse__database_link_watch was ready. Returns true once, when the statement's result has come.
 * The result is valid until the next statement begins. Call this function with false after each
 * begin, because a statement that fails at once never makes the file ready. */
bool elapse__database_link_poll(struct elapse__database_link *link, bool is_ready,
                                struct elapse__statement_result *result);

/* ---- the inbox ---- */

/* Begins a poll of the inbox. The poll runs in the session of the statements, so that its rows are
 * those of the server that gets the appends. Requires that no statement is under way.
 * elapse__database_link_poll gives the result of a poll, too. Only the outcome of that result is
 * valid. */
void elapse__database_link_begin_inbox(struct elapse__database_link *link,
                                       const struct elapse__inbox_poll *poll);

/* Returns whether the database has told this session, since the last call, that there are rows in
 * the inbox of the partition. A session is told only after its first poll, and only by a script of
 * the inbox that tells (elapse.inbox_tell of sql/inbox.sql). */
bool elapse__database_link_was_told(struct elapse__database_link *link);

/* Stores up to `capacity` rows of a poll whose outcome was ROWS, and how many rows there were.
 * Returns false if the result has rows of another shape. The rows are valid until the next
 * statement begins. */
bool elapse__database_link_take_inbox(const struct elapse__database_link *link,
                                      struct elapse__inbox_row *rows, size_t capacity,
                                      size_t *count);

/* Returns whether there is a session that is not known to be lost and has no statement under
 * way. */
bool elapse__database_link_is_free(const struct elapse__database_link *link);

/* Closes the connection without cancelling anything. A poll under way ends without a result. The
 * next statement is LOST. */
void elapse__database_link_close(struct elapse__database_link *link);

/* Returns the last error or notice of the present connection in one line, for people, or "" if
 * there was none. The text is valid until the next call. */
const char *elapse__database_link_message(const struct elapse__database_link *link);

#endif
