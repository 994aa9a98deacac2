/*
 * Why the database refused something.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_WHY_H
#define ELAPSE__CLUSTER_POSTGRES_WHY_H

#include <stdbool.h>

enum { ELAPSE__SCHEMA_WHY_BYTES = 256 };

/* Another backend has answered than that of the connection. */
#define ELAPSE__WHY_POOLER                                                                        \
    "a pooler, such as PgBouncer, is in between: it gives sessions, with what they have set, to " \
    "other clients, and hides a changed server; name the servers of PostgreSQL in --cluster"

/* Says in one line why something failed. Comments call that line "words". The struct begins as
 * zeros. */
struct elapse__schema_why {
    char text[ELAPSE__SCHEMA_WHY_BYTES];
    bool is_connected; /* the database was reached, and takes writes if that was needed */
    bool has_none;     /* there is no such queue */
};

#endif
