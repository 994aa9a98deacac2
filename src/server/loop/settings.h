/*
 * Declares the options of `elapse serve`, and the functions that read and check them one by one.
 */
#ifndef ELAPSE__LOOP_SETTINGS_H
#define ELAPSE__LOOP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELAPSE__LOOP_LISTENS_MAX = 32,
    ELAPSE__LOOP_CLUSTER_MAX = 16,
    ELAPSE__LOOP_HOST_BYTES = 256,
};

/* An address to listen at. */
struct elapse__loop_listen {
    bool tls;
    bool is_path;
    char host[ELAPSE__LOOP_HOST_BYTES]; /* or the path */
    char port[8];
};

enum elapse__loop_durability {
    ELAPSE__LOOP_SYNC,
    ELAPSE__LOOP_INTERVAL,
    ELAPSE__LOOP_MEMORY,
};

struct elapse__loop_options {
    struct elapse__loop_listen listens[ELAPSE__LOOP_LISTENS_MAX];
    size_t listen_count; /* 0: the sockets that the service manager passes, or the default */
    struct elapse__loop_listen https[ELAPSE__LOOP_LISTENS_MAX]; /* where HTTP is spoken */
    size_t http_count;
    const char *http_hosts[ELAPSE__LOOP_LISTENS_MAX]; /* further names of this server */
    size_t http_host_count;
    const char *directory;
    enum elapse__loop_durability durability;
    uint64_t interval_ms;
    uint64_t segment_bits;
    const char *auth;          /* the file of passwords; NULL: none */
    const char *users;         /* the file of users; NULL: none */
    const char *node_password; /* the file of passwords of nodes; NULL: they use `auth` */
    const char
        *beanstalkd_user; /* whose rights beanstalkd's protocol has; NULL: with users, none */
    const char *tls_certificate; /* NULL: none */
    const char *tls_key;
    const char *ended;        /* the file of jobs that have ended; NULL: none */
    uint64_t ended_bytes_max; /* of that file; 0: 64 MiB */
    const char *user;         /* to become; NULL: the process stays as it is */
    const char *clusters[ELAPSE__LOOP_CLUSTER_MAX]; /* connection strings of the databases */
    size_t cluster_count;                           /* 0: one server alone */
    const char *queue;                              /* of the cluster; its name */
    const char *advertise; /* where other nodes reach this node; NULL: where this node listens */
    const char *node;      /* the name of this node; NULL: what is advertised */
    bool single_copy;      /* a database without standbys will do */
    bool insecure;         /* listen beyond this machine without passwords */
    bool no_beanstalkd;
    bool test_clock; /* clients may move the clock forward */
    bool log_json;
    bool verbose;
    bool hints;         /* say what to type next, on standard error */
    const char *client; /* how to call the client, for the hints; NULL: this program has none */

    /* Limits; 0: none. */
    uint64_t memory_bytes_max;
    uint64_t body_bytes_max;
    uint64_t connections_max;
    uint64_t jobs_max;
    uint64_t tubes_max;
    uint64_t groups_max;
    uint64_t tube_jobs_max;
    uint64_t tube_bytes_max;
    uint64_t output_bytes_max;
    uint64_t idle_ns;
};

/* Reads "host:port", "[v6]:port", "unix:PATH", or "tls:" and one of the first two. A text
 * without a port means `port`, unless that is NULL. Returns NULL, or a phrase that names the fault.
 */
const char *elapse__loop_parse_listen(const char *text, const char *port,
                                      struct elapse__loop_listen *listen);

#endif
