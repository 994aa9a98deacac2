/*
 * What the loads of PostgreSQL and RabbitMQ share: keys, bodies, memory, the end after a failure.
 */
#ifndef ELAPSE_BENCH_SERVER_PEER_H
#define ELAPSE_BENCH_SERVER_PEER_H

#include <stddef.h>
#include <stdint.h>

enum { PEER_BODY_BYTES = 100, PEER_KEY_BYTES = 12, PEER_PUT_AHEAD_MS = 1800 * 1000 };

/* Says why, and ends the process with status 1. */
_Noreturn void peer_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns memory of zeros, or ends the process. */
void *peer_allocate(size_t count, size_t size);

/* Ends the process if so many were not reached. */
void peer_check_count(const char *what, uint64_t count, uint64_t wanted);

/* A key is a letter and eleven digits. */
void peer_write_key(char *to, uint64_t number);

/* The body begins with the due time in milliseconds of the wall clock, in thirteen digits. */
void peer_write_body(char *to, int64_t due_ms);
int64_t peer_due_ms(const char *body);

#endif
