/*
 * Checks the bytes of a request of HTTP before libevent reads them. It checks two things: every
 * server would read the head in the same way, and the body is not too long. It also tells which
 * part of the request comes, so that each part can have a time limit. The functions are pure.
 *
 *      IDLE --the first byte--> HEAD --an empty line--> BODY --libevent has the request--> IDLE
 *                                |                        |
 *                                +-- a fault: the request is refused, and nothing is read any more
 *
 * Each time limit counts from the beginning of the head or of the body. A client that sends a byte
 * now and then gets no more time.
 */
#ifndef ELAPSE__HTTP_INTAKE_H
#define ELAPSE__HTTP_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/buffer.h"

enum {
    ELAPSE__HTTP_HEAD_MS = 10000, /* from the first byte of a request to the end of its head */
    ELAPSE__HTTP_BODY_MS = 30000, /* from there to the end of the body */
    ELAPSE__HTTP_HEAD_BYTES = 32 << 10,
};

enum elapse__http_intake_fault {
    ELAPSE__HTTP_WELL,
    ELAPSE__HTTP_MALFORMED, /* status 400: another server may read another request in it */
    ELAPSE__HTTP_TOO_LONG,  /* status 413 */
    ELAPSE__HTTP_NO_SPACE,  /* status 507 */
};

enum elapse__http_phase { ELAPSE__HTTP_IDLE, ELAPSE__HTTP_HEAD_COMES, ELAPSE__HTTP_BODY_COMES };

/* The struct begins as zeros with a body_bytes_max. */
struct elapse__http_intake {
    enum elapse__http_phase phase;
    uint64_t body_bytes_max;    /* the most bytes of a request's body */
    uint64_t body_bytes;        /* how many bytes of the body have come */
    bool is_chunked;            /* the body comes in chunks, each with its length */
    struct elapse__buffer head; /* what has come of the head */
    size_t line;                /* where the last line of `head` begins */
};

/* Notes bytes that came. Returns a fault of their request, if it has one. */
enum elapse__http_intake_fault elapse__http_intake_bytes(struct elapse__http_intake *intake,
                                                         const uint8_t *bytes, size_t size);

/* Notes that libevent has taken the whole request. Later bytes belong to the next request. */
void elapse__http_intake_next(struct elapse__http_intake *intake);

/* Frees the memory. */
void elapse__http_intake_free(struct elapse__http_intake *intake);

/* Returns the fault of a head, if it has one. Stores whether the body comes in chunks. Requires
 * that the head ends with its empty line. */
enum elapse__http_intake_fault elapse__http_head_fault(const uint8_t *head, size_t size,
                                                       uint64_t body_bytes_max, bool *is_chunked);

#endif
