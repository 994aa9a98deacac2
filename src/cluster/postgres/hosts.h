/*
 * Splits connection strings of libpq, which may name several hosts, into strings of one host each,
 * because a link has to know which server it speaks to (link.h).
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_HOSTS_H
#define ELAPSE__CLUSTER_POSTGRES_HOSTS_H

#include <stddef.h>

enum { ELAPSE__HOSTS_MAX = 16 };

/* Hosts of the database. The struct begins as zeros. */
struct elapse__hosts {
    const char *texts[ELAPSE__HOSTS_MAX];
    unsigned count;
};

/* Returns NULL, or why a connection string cannot be used: static words, with nothing of the string
 * in them. Of a string that passes, errors of libpq quote only hosts, ports and
 * names. */
const char *elapse__hosts_refuse(const char *connection);

/* Adds the hosts of a connection string. Returns NULL; or why it cannot be used: static words, with
 * nothing of the string in them. */
const char *elapse__hosts_add(struct elapse__hosts *hosts, const char *connection);

/* Writes where a connection string of one host leads, for people: host and port, and nothing else
 * of the string. Cut if there is no room. */
void elapse__hosts_place(const char *connection, char *text, size_t room);

/* Releases the texts. */
void elapse__hosts_free(struct elapse__hosts *hosts);

#endif
