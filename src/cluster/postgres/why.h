/*
 * Says why the database refused something.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_WHY_H
#define ELAPSE__CLUSTER_POSTGRES_WHY_H

#include <stdbool.h>

enum { ELAPSE__SCHEMA_WHY_BYTES = 256 };

/* The reason if another backend (process of the server) has answered than that of the
 * connection. */
#define ELAPSE__WHY_POOLER                                                                        \
    "a pooler, such as PgBouncer, is in between: it gives sessions, with what they have set, to " \
    "other clients, and hides a changed server; name the servers of PostgreSQL in --cluster"

/* One line that says why something failed. Comments of this room call that line "words". The struct
 * begins as zeros. */
struct elapse__schema_why {
    char text[ELAPSE__SCHEMA_WHY_BYTES];
    bool is_connected; /* the program reached the database, which takes writes if that was needed */
    bool has_none;     /* there is no such queue */
    bool lacks_right;  /* the role has no right to do it */
};

#endif
