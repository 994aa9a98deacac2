/*
 * The commands that the load sends, by number, in the words of each server.
 */
#ifndef ELAPSE_BENCH_SERVER_COMMANDS_H
#define ELAPSE_BENCH_SERVER_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

enum { BODY_BYTES = 100, COMMAND_BYTES_MAX = 512 };

/* One kind of command of one way of speaking. */
struct kind {
    const char *speech, *verb;
    unsigned lines;   /* of a reply */
    const char *last; /* how the last line of the reply begins, if all is well */
    /* Writes command `number`, which counts from 1. Returns its bytes. */
    size_t (*write)(char *to, uint64_t number);
};

/* Returns the kind, or NULL. */
const struct kind *kind_find(const char *speech, const char *verb);

/* When jobs come due that are put for a time of the wall clock: from at_ms on, spread evenly. */
void commands_spread(int64_t at_ms, int64_t spread_ms);

/* The wall clock, for the servers whose clients make times of delays. Call it now and then. */
void commands_look_at_clock(void);

/* The same job as `put` writes, but due at this time, which its body begins with. */
size_t write_put_due(char *to, const char *speech, uint64_t number, int64_t due_ms);

/* Writes a number in decimal. Returns its digits. */
size_t write_number(char *to, uint64_t number);

/* Writes a string of RESP. Returns its bytes. */
size_t write_string(char *to, const char *text, size_t bytes);

#endif
