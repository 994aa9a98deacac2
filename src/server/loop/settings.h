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
    char host[ELAPSE__LOOP_HOST_BYTES]; /* the host, or the path of a unix socket */
    char port[8];
};

enum elapse__loop_durability {
    ELAPSE__LOOP_SYNC,
    ELAPSE__LOOP_INTERVAL,
    ELAPSE__LOOP_MEMORY,
};

struct elapse__loop_options {
    struct elapse__loop_listen listens[ELAPSE__LOOP_LISTENS_MAX];
    size_t listen_count; /* 0: listen at the sockets that the service manager passes, or at the
                            default address */
    /* The addresses at which the server speaks HTTP. */
    struct elapse__loop_listen https[ELAPSE__LOOP_LISTENS_MAX];
    size_t http_count;
    const char *http_hosts[ELAPSE__LOOP_LISTENS_MAX]; /* further names of this server */
    size_t http_host_count;
    const char *directory;
    enum elapse__loop_durability durability;
    uint64_t interval_ms;
    uint64_t segment_bits;
    const char *auth;  /* the path of the file of passwords; NULL: none */
    const char *users; /* the path of the file of users; NULL: none */
    /* The path of the file of passwords of nodes; NULL: nodes use `auth`. */
    const char *node_password;
    const char *beanstalkd_user; /* the user whose rights connections of beanstalkd's protocol have;
                                    NULL: if there are users, they have no rights */
    const char *tls_certificate; /* NULL: none */
    const char *tls_key;
    const char *node_ca;      /* the path of the certificates that a node trusts when it connects to
                                 other nodes by TLS; NULL: none */
    const char *ended;        /* the path of the log of jobs that have ended; NULL: none */
    uint64_t ended_bytes_max; /* the greatest size of that file; 0: 64 MiB */
    const char *user; /* the user of the system that the process becomes; NULL: it keeps its user */
    /* The connection strings of the cluster's databases. */
    const char *clusters[ELAPSE__LOOP_CLUSTER_MAX];
    size_t cluster_count;  /* 0: the server belongs to no cluster */
    const char *queue;     /* the name of the cluster's queue */
    const char *advertise; /* where other nodes reach this node; NULL: where this node listens */
    const char *node;      /* the name of this node; NULL: the advertised address is the name */
    const char *zone;      /* where this node is, such as a data centre; NULL: nobody says it */
    bool single_copy;      /* the database may have no standbys */
    uint64_t balance_after_ns; /* for how long nodes own uneven numbers of partitions, before one
                                  of these moves */
    uint64_t followers; /* how many nodes follow a partition beside its owner, up to 6; 0: all */
    uint64_t replace_after_ns; /* when a node that tells nothing of itself loses its copies */
    uint64_t keep_left_ns;     /* how long files of copies that the node has left stay aside */
    bool insecure;             /* the server may listen beyond this machine without passwords */
    bool no_beanstalkd;
    bool test_clock; /* clients may move the clock forward */
    bool log_json;
    bool verbose;
    bool hints;         /* print on standard error what the user may type next */
    const char *client; /* how to call the client, for the hints; NULL: this program has none */

    /* Limits. 0 means that there is no limit. */
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

/* Returns whether clients may speak beanstalkd's protocol, which has no passwords. */
bool elapse__loop_speaks_beanstalkd(const struct elapse__loop_options *options);

/* Reads "host:port", "[v6]:port", "unix:PATH", or "tls:" with one of the first two behind it. If
 * the text has no port, the port is `port`, unless that is NULL. Returns NULL, or a phrase that
 * names the fault. */
const char *elapse__loop_parse_listen(const char *text, const char *port,
                                      struct elapse__loop_listen *listen);

#endif
