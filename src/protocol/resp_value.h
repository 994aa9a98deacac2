/*
 * Reads replies in RESP2 and RESP3, the protocol of Redis: finds where a reply ends, returns what
 * is in it, and writes it for a client of the other version. Of RESP3 it knows what Elapse writes:
 * no big numbers, doubles, sets and attributes.
 *
 *      bytes come --scan--> one value is whole --next, next, ...--> its items, the outer first
 *                                              --convert--> RESP2 or RESP3
 *
 * Scan and next copy and allocate nothing. A value that is nested deeper than
 * ELAPSE__WIRE_RESP_DEPTH_MAX, or has an array with more elements than
 * ELAPSE__WIRE_RESP_ELEMENTS_MAX, is broken: the bytes after it cannot be understood.
 */
#ifndef ELAPSE__WIRE_RESP_VALUE_H
#define ELAPSE__WIRE_RESP_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp_write.h"

enum {
    ELAPSE__WIRE_RESP_DEPTH_MAX = 8,         /* arrays within arrays */
    ELAPSE__WIRE_RESP_ELEMENTS_MAX = 1 << 20 /* of one array; a map has two for each pair */
};

enum elapse__wire_resp_kind {
    ELAPSE__WIRE_RESP_WORD,
    ELAPSE__WIRE_RESP_ERROR,
    ELAPSE__WIRE_RESP_INTEGER,
    ELAPSE__WIRE_RESP_BYTES,
    ELAPSE__WIRE_RESP_NULL,
    ELAPSE__WIRE_RESP_FALSE,
    ELAPSE__WIRE_RESP_TRUE,
    ELAPSE__WIRE_RESP_ARRAY,
    ELAPSE__WIRE_RESP_MAP,
    ELAPSE__WIRE_RESP_PUSH,
};

/* One item of a value: a value without parts, or the head of an array, a map or a push. */
struct elapse__wire_resp_item {
    enum elapse__wire_resp_kind kind;
    int64_t integer;            /* INTEGER: the number; ARRAY, PUSH: elements; MAP: pairs */
    const unsigned char *bytes; /* of WORD, ERROR and BYTES; they lie in the caller's bytes */
    size_t size;
};

enum elapse__wire_resp_scanned {
    ELAPSE__WIRE_RESP_SCAN_MORE,
    ELAPSE__WIRE_RESP_SCAN_WHOLE,
    ELAPSE__WIRE_RESP_SCAN_BROKEN,
};

/* The fields are private. A new scanner is all zeros. */
struct elapse__wire_resp_scanner {
    size_t at; /* items up to here are whole */
    uint32_t depth;
    uint32_t left[ELAPSE__WIRE_RESP_DEPTH_MAX];
};

/* Reads on. `bytes` begin where the value begins. They may lie elsewhere than at the last call. If
 * it returns WHOLE, `*end` is the size of the value, and the scanner is as new. */
enum elapse__wire_resp_scanned elapse__wire_resp_scan(struct elapse__wire_resp_scanner *scanner,
                                                      const unsigned char *bytes, size_t size,
                                                      size_t *end);

/* Returns the item at `*at`, and moves `*at` to the next item. Requires that scan has found the
 * value whole. */
struct elapse__wire_resp_item elapse__wire_resp_next(const unsigned char *bytes, size_t size,
                                                     size_t *at);

/* Steps over a whole value. */
void elapse__wire_resp_skip(const unsigned char *bytes, size_t size, size_t *at);

/* Writes a whole value in the version of the writer. It takes at most
 * elapse__wire_resp_converted_max bytes. */
void elapse__wire_resp_convert(struct elapse__wire_resp_writer *writer, const unsigned char *bytes,
                               size_t size);
size_t elapse__wire_resp_converted_max(size_t size);

#endif
