/*
 * Reads replies in RESP2 and RESP3, the protocol of Redis. The functions find where a reply ends,
 * return what is in it, and write it for a client of the other version. They know only the part of
 * RESP3 that Elapse writes: no big numbers, doubles, sets and attributes.
 *
 *      bytes come --scan--> one value is whole --next, next, ...--> its items, the outer first
 *                                              --convert--> RESP2 or RESP3
 *
 * Scan and next copy nothing and allocate nothing. A value is broken if it is nested deeper than
 * ELAPSE__WIRE_RESP_DEPTH_MAX, or if it has an array with more elements than
 * ELAPSE__WIRE_RESP_ELEMENTS_MAX. The bytes after a broken value cannot be understood.
 */
#ifndef ELAPSE__WIRE_RESP_VALUE_H
#define ELAPSE__WIRE_RESP_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp_write.h"

enum {
    ELAPSE__WIRE_RESP_DEPTH_MAX = 8, /* how deep arrays may lie within arrays */
    ELAPSE__WIRE_RESP_ELEMENTS_MAX =
        1 << 20 /* the most elements of one array; a map has two elements for each pair */
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
    int64_t integer; /* INTEGER: the number; ARRAY, PUSH: elements; MAP: pairs */
    const unsigned char
        *bytes; /* WORD, ERROR, BYTES: the bytes, which lie in those of the caller */
    size_t size;
};

enum elapse__wire_resp_scanned {
    ELAPSE__WIRE_RESP_SCAN_MORE,
    ELAPSE__WIRE_RESP_SCAN_WHOLE,
    ELAPSE__WIRE_RESP_SCAN_BROKEN,
};

/* The fields are private. A new scanner is all zeros. */
struct elapse__wire_resp_scanner {
    size_t at; /* the items up to this place are whole */
    uint32_t depth;
    uint32_t left[ELAPSE__WIRE_RESP_DEPTH_MAX];
};

/* Goes on reading a value. `bytes` must begin where the value begins. The address of the bytes may
 * differ from that of the last call. If the function returns WHOLE, `*end` is the size of the
 * value, and the scanner is as a new one. */
enum elapse__wire_resp_scanned elapse__wire_resp_scan(struct elapse__wire_resp_scanner *scanner,
                                                      const unsigned char *bytes, size_t size,
                                                      size_t *end);

/* Returns the item at `*at`, and moves `*at` to the next item. Requires that scan has found the
 * value whole. */
struct elapse__wire_resp_item elapse__wire_resp_next(const unsigned char *bytes, size_t size,
                                                     size_t *at);

/* Steps over a whole value. */
void elapse__wire_resp_skip(const unsigned char *bytes, size_t size, size_t *at);

/* Writes a whole value in the version of the writer. The written value has at most
 * elapse__wire_resp_converted_max bytes. */
void elapse__wire_resp_convert(struct elapse__wire_resp_writer *writer, const unsigned char *bytes,
                               size_t size);
size_t elapse__wire_resp_converted_max(size_t size);

#endif
