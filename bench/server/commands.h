/*
 * The commands that the load sends, by number, in the words of each server.
 */
#ifndef ELAPSE_BENCH_SERVER_COMMANDS_H
#define ELAPSE_BENCH_SERVER_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

enum { BODY_BYTES = 100, COMMAND_BYTES_MAX = 512 };

/* One kind of command of one server. */
struct kind {
    const char *server, *verb;
    unsigned lines;       /* of a reply */
    const char *refusals; /* first bytes of replies that are refusals */
    /* Writes command `number`, which counts from 1. Returns its bytes. */
    size_t (*write)(char *to, uint64_t number);
};

/* Returns the kind, or NULL. */
const struct kind *kind_find(const char *server, const char *verb);

/* Writes a number in decimal. Returns its digits. */
size_t write_number(char *to, uint64_t number);

#endif
