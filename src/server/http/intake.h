/*
 * Checks the bytes of a request of HTTP before libevent reads them: whether every server would read
 * the head in the same way, whether the body is too long, and whether head and body come in time.
 * Pure: bytes and times come in.
 *
 *      IDLE --the first byte--> HEAD --an empty line--> BODY --libevent has the request--> IDLE
 *                                |                        |
 *                                +-- a fault: the request is refused, and nothing is read any more
 *
 * Each limit of time counts from the beginning of the head or of the body. A client that sends a
 * byte now and then gets no more time.
 */
#ifndef ELAPSE__HTTP_INTAKE_H
#define ELAPSE__HTTP_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/buffer.h"

enum {
    ELAPSE__HTTP_HEAD_MS = 10000, /* from the first byte of a request to the end of its headers */
    ELAPSE__HTTP_BODY_MS = 30000, /* from there to the end of its body */
    ELAPSE__HTTP_HEAD_BYTES = 32 << 10,
};

enum elapse__http_intake_fault {
    ELAPSE__HTTP_WELL,
    ELAPSE__HTTP_MALFORMED, /* 400: another server may read another request in it */
    ELAPSE__HTTP_TOO_LONG,  /* 413 */
    ELAPSE__HTTP_NO_SPACE,  /* 507 */
};

enum elapse__http_phase { ELAPSE__HTTP_IDLE, ELAPSE__HTTP_HEAD_COMES, ELAPSE__HTTP_BODY_COMES };

/* Begins as zeros and body_bytes_max. */
struct elapse__http_intake {
    enum elapse__http_phase phase;
    uint64_t until_ms;          /* when the phase has to be over; not for IDLE */
    uint64_t body_bytes_max;    /* of a request */
    uint64_t body_bytes;        /* that have come */
    bool is_chunked;            /* the body says its length only as it comes */
    struct elapse__buffer head; /* as far as it has come */
    size_t line;                /* where the last line of `head` begins */
};

/* Notes bytes that came at `now_ms`. Returns a fault of the request that they belong to. */
enum elapse__http_intake_fault elapse__http_intake_bytes(struct elapse__http_intake *intake,
                                                         uint64_t now_ms, const uint8_t *bytes,
                                                         size_t size);

/* Notes that libevent has taken the whole request. The bytes after it belong to the next one. */
void elapse__http_intake_next(struct elapse__http_intake *intake);

/* Returns whether the request has taken too long. */
bool elapse__http_intake_is_late(const struct elapse__http_intake *intake, uint64_t now_ms);

/* Releases the memory. */
void elapse__http_intake_free(struct elapse__http_intake *intake);

/* Returns the fault of a head, if it has one. Stores whether its body comes in chunks. Requires
 * that the head ends with its empty line. */
enum elapse__http_intake_fault elapse__http_head_fault(const uint8_t *head, size_t size,
                                                       uint64_t body_bytes_max, bool *is_chunked);

#endif
