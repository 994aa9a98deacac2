/*
 * Splits a connection string of libpq that names several hosts into strings of one host each. A
 * link (link.h) needs strings of one host, because it has to know which server it speaks to.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_HOSTS_H
#define ELAPSE__CLUSTER_POSTGRES_HOSTS_H

#include <stddef.h>

enum { ELAPSE__HOSTS_MAX = 16 };

/* The hosts of the database. The struct begins as zeros. */
struct elapse__hosts {
    const char *texts[ELAPSE__HOSTS_MAX];
    unsigned count;
};

/* Returns NULL if the connection string can be used, or else a static text that says why it cannot.
 * The text has nothing of the string in it. If a string can be used, errors of libpq quote only its
 * hosts, ports and names. */
const char *elapse__hosts_refuse(const char *connection);

/* Adds the hosts of a connection string. Returns NULL, or a static text that says why the string
 * cannot be used. The text has nothing of the string in it. */
const char *elapse__hosts_add(struct elapse__hosts *hosts, const char *connection);

/* Writes the host and the port of a connection string of one host, for people. Writes nothing else
 * of the string. Cuts the text if there is no room. */
void elapse__hosts_place(const char *connection, char *text, size_t room);

/* Releases the texts. */
void elapse__hosts_free(struct elapse__hosts *hosts);

#endif
