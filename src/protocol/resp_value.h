/*
 * Reads replies in RESP2 and RESP3, the protocol of Redis: where one ends, what is in it, and how
 * it is written for a client of the other version. Of RESP3 it knows what Elapse writes: no big
 * numbers, doubles, sets and attributes.
 *
 *      bytes come --scan--> one value is whole --next, next, ...--> its items, the outer first
 *                                              --convert--> RESP2 or RESP3
 *
 * Nothing is copied or allocated by scan and next. A value nested deeper, or with more elements,
 * than these limits is broken: nothing behind it can be understood.
 */
#ifndef ELAPSE__RESP_VALUE_H
#define ELAPSE__RESP_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp_write.h"

enum {
    ELAPSE__RESP_DEPTH_MAX = 8,         /* arrays within arrays */
    ELAPSE__RESP_ELEMENTS_MAX = 1 << 20 /* of one array; a map has two for each pair */
};

enum elapse__resp_kind {
    ELAPSE__RESP_WORD,
    ELAPSE__RESP_ERROR,
    ELAPSE__RESP_INTEGER,
    ELAPSE__RESP_BYTES,
    ELAPSE__RESP_NULL,
    ELAPSE__RESP_FALSE,
    ELAPSE__RESP_TRUE,
    ELAPSE__RESP_ARRAY,
    ELAPSE__RESP_MAP,
    ELAPSE__RESP_PUSH,
};

/* One item of a value: a value without parts, or the head of an array, a map or a push. */
struct elapse__resp_item {
    enum elapse__resp_kind kind;
    int64_t integer;            /* INTEGER; of ARRAY and PUSH the elements, of MAP the pairs */
    const unsigned char *bytes; /* WORD, ERROR and BYTES; in the caller's bytes */
    size_t size;
};

enum elapse__resp_scanned {
    ELAPSE__RESP_SCAN_MORE,
    ELAPSE__RESP_SCAN_WHOLE,
    ELAPSE__RESP_SCAN_BROKEN,
};

/* Private, except that a scanner of zeros is a new one. */
struct elapse__resp_scanner {
    size_t at; /* items up to here are whole */
    uint32_t depth;
    uint32_t left[ELAPSE__RESP_DEPTH_MAX];
};

/* Reads on. `bytes` begin where the value begins; they may have moved since the last call. WHOLE:
 * `*end` is the size of the value, and the scanner is a new one. */
enum elapse__resp_scanned elapse__resp_scan(struct elapse__resp_scanner *scanner,
                                            const unsigned char *bytes, size_t size, size_t *end);

/* Returns the item at `*at`, and steps behind it. Requires that scan has found the value whole. */
struct elapse__resp_item elapse__resp_next(const unsigned char *bytes, size_t size, size_t *at);

/* Steps over a whole value. */
void elapse__resp_skip(const unsigned char *bytes, size_t size, size_t *at);

/* Writes a whole value in the version of the writer. It takes at most elapse__resp_converted_max
 * bytes. */
void elapse__resp_convert(struct elapse__resp_writer *writer, const unsigned char *bytes,
                          size_t size);
size_t elapse__resp_converted_max(size_t size);

#endif
