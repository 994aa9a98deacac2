/*
 * Connections to PostgreSQL that have several units of work under way, by the pipeline mode of its
 * client library, and arrays as parameters. A unit is one transaction. A failure ends the process.
 */
#ifndef ELAPSE_BENCH_SERVER_POSTGRES_LINK_H
#define ELAPSE_BENCH_SERVER_POSTGRES_LINK_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PARAMETERS_MAX = 3 };

/* ---- arrays, in the binary format of the protocol ---- */

enum array_type { ARRAY_TEXT, ARRAY_BYTES, ARRAY_INT8, ARRAY_INT4, ARRAY_TIME };

struct array {
    char *at;
    size_t size, room;
    uint32_t length;
};

void array_begin(struct array *array, enum array_type type);
void array_add(struct array *array, const char *value, size_t bytes);
void array_add_int8(struct array *array, int64_t value);
void array_add_int4(struct array *array, int32_t value);

/* Milliseconds of the wall clock, as a time of PostgreSQL. */
void array_add_time(struct array *array, int64_t wall_ms);

/* ---- links ---- */

/* One transaction that is under way. */
struct unit {
    uint64_t sent_ns;
    uint32_t jobs; /* that it changes, or asks for */
    uint32_t rows; /* that its changes must affect */
    uint32_t affected;
    bool is_hand_out; /* its rows are jobs */
};

struct link {
    PGconn *connection;
    struct unit *units;
    size_t room, first, under_way;
    uint64_t jobs;    /* of all units under way */
    bool wants_write; /* there is more to send than the socket took */
    bool is_ready;    /* links_wait found it so */
};

/* What a caller does with what comes: the rows of a hand-out, and the end of each unit. */
struct receiver {
    void (*take_rows)(void *context, const PGresult *rows);
    void (*end_unit)(void *context, const struct unit *unit);
    void *context;
};

/* Connects to the server with its socket in this directory, and prepares the statements. */
void link_open(struct link *link, const char *directory, uint64_t units_max, uint64_t batch);
void link_close(struct link *link);

/* Appends one statement to the unit that is being written. */
void link_send(struct link *link, const char *statement, unsigned count,
               const struct array *const *parameters);

/* Ends the unit: what was sent since the last one is one transaction. */
void link_end_unit(struct link *link, struct unit unit);

/* Sends what the socket takes, and takes all results that have come. */
void link_receive(struct link *link, const struct receiver *receiver);

/* Waits until a socket of some links is ready, or so long. */
void links_wait(struct link *const *links, size_t count, int wait_ms);

#endif
