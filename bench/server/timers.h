/*
 * What the load of timers needs of each way of speaking: how a worker asks for jobs, and what the
 * replies say.
 */
#ifndef ELAPSE_BENCH_SERVER_TIMERS_H
#define ELAPSE_BENCH_SERVER_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"

/* Bytes that grow at their end and are taken from their begin. */
struct bytes {
    char *at;
    size_t size, room;
};

/* Makes room behind the bytes, and returns it. */
char *bytes_reserve(struct bytes *bytes, size_t size);
void bytes_add(struct bytes *bytes, const char *text, size_t size);
void bytes_take(struct bytes *bytes, size_t size);

struct connection {
    int socket;
    bool is_putter;
    struct bytes in, out;
    uint64_t ask_ns; /* when a poller asks again; 0: it waits for a reply, or never polls */
};

struct reader {
    const char *at, *end;
};

/* What the replies said. */
struct counts {
    uint64_t put, put_answered, handed_out, acknowledged, early;
    struct histogram late;
};
extern struct counts counts;
extern struct arguments arguments;

/* Notes that the job with this body came, now. */
void note_job(const char *body, int64_t read_ns);

struct speech {
    const char *name;
    bool polls;
    void (*ask)(struct connection *worker);
    /* Read one whole reply, and return false, with nothing done, if it has not come. */
    bool (*read_put)(struct reader *reader);
    bool (*read_work)(struct connection *worker, struct reader *reader, int64_t read_ns);
};

/* Returns NULL if there is no such speech. */
const struct speech *speech_find(const char *name);

#endif
