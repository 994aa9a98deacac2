/*
 * One connection of a client that sends much and reads replies in their order: beanstalkd's lines
 * and RESP. A failure ends the process.
 */
#ifndef ELAPSE_BENCH_SERVER_STREAM_H
#define ELAPSE_BENCH_SERVER_STREAM_H

#include <stddef.h>
#include <stdint.h>

void stream_open(uint16_t port);

/* Appends bytes, for the next flush, or before the next wait for input. */
void append(const char *text, size_t bytes);

#define APPEND(text) append(text, sizeof(text) - 1)

/* Appends bytes as a string of RESP. */
void append_string(const char *text, size_t bytes);

/* Appends the head of a command of RESP with so many strings. */
void append_head(uint64_t strings);

void flush(void);

/* Take what comes next, and wait for it. What they return is valid until the next call. */
const char *take_line(void);
const char *take_bytes(size_t bytes);

/* Returns the next byte, which stays. */
char peek(void);

/* Takes a line of RESP that begins with this mark. Returns its number. */
uint64_t take_number(char mark);

/* Takes a string of RESP, or none. Stores it if there is room. Returns its bytes. */
size_t take_string(char *to, size_t room);

#endif
