/*
 * A connection to the database that performs the statements of one partition, one at a time, and
 * never waits: statements.h has the contract, rules W1 to W6.
 *
 *      elapse__database_link_begin(link, &statement)
 *      elapse__database_link_watch(link, &watch)                what to wait for, until ...
 *      elapse__database_link_poll(link, is_ready, &result)      ... this returns true
 *
 * No statement is ever cancelled. Beginning CONNECT while another statement is under way closes the
 * socket; what was sent may still happen, and its result is lost.
 *
 * A link connects directly to a server. A pooler may give a session's transactions to several
 * servers, which would break W2 and W3; W6 finds it. Connecting waits while libpq looks up the name
 * of a host, unless the connection string has a number as hostaddr.
 *
 * Threads: one at a time for each link.
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
    const char *const *hosts; /* as libpq's connection strings, each of one host */
    unsigned host_count;
    const char *queue; /* a name that is valid */
    uint32_t partition;
    const char *me;      /* of struct elapse__partition_options */
    const char *address; /* where clients and other nodes reach this node */
    uint32_t lease_ms;
};

struct elapse__database_link;

/* Returns NULL, or why this connection string cannot be used, in words: libpq cannot read
 * the string, or the string names several hosts, so that it is not known which one has answered.
 * The words are static: nothing of the string is in them. */
const char *elapse__database_link_refuse_host(const char *host);

/* Returns a link without a connection; NULL if there is no memory. Copies the options. */
struct elapse__database_link *
elapse__database_link_new(const struct elapse__database_link_options *options);

/* Closes the connection, without cancelling anything. */
void elapse__database_link_free(struct elapse__database_link *link);

/* Begins a statement. Requires that none is under way, unless this one is CONNECT. The bytes of
 * the statement are copied. */
void elapse__database_link_begin(struct elapse__database_link *link,
                                 const struct elapse__statement *statement);

/* Stores what to wait for; no file if nothing is under way. Ask again after each poll: libpq may
 * use another file while it connects. */
void elapse__database_link_watch(const struct elapse__database_link *link,
                                 struct elapse__os_watch *watch);

/* Goes on with what is under way. `is_ready`: the file of elapse__database_link_watch was ready.
 * Returns true, once, when the statement's result is there. The result is valid until the next
 * statement begins. Call it with false after each begin: a statement that fails at once never makes
 * the file ready. */
bool elapse__database_link_poll(struct elapse__database_link *link, bool is_ready,
                                struct elapse__statement_result *result);

/* ---- the inbox ---- */

/* Begins a poll of the inbox, in the session of the statements, so that its rows are those of the
 * server that the appends go to. Requires that no statement is under way.
 * elapse__database_link_poll gives its result too, of which only the outcome counts. */
void elapse__database_link_begin_inbox(struct elapse__database_link *link,
                                       const struct elapse__inbox_poll *poll);

/* Stores the rows of a poll whose outcome was ROWS, up to `capacity`, and how many there were.
 * Returns false if the result has no such rows. The rows are valid until the next statement
 * begins. */
bool elapse__database_link_take_inbox(const struct elapse__database_link *link,
                                      struct elapse__inbox_row *rows, size_t capacity,
                                      size_t *count);

/* Returns whether there is a session, not known to be lost, and nothing is under way in it. */
bool elapse__database_link_is_free(const struct elapse__database_link *link);

/* Closes the connection, without cancelling anything; a poll under way ends without a result. The
 * next statement is lost. */
void elapse__database_link_close(struct elapse__database_link *link);

/* Returns the last error or notice of the present connection in one line, for people; "" if there
 * was none. Valid until the next call. */
const char *elapse__database_link_message(const struct elapse__database_link *link);

#endif
