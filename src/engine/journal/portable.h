/*
 * The form of a group of records in a replicated log. It has nothing that belongs to a single
 * journal: no positions, no checksums that depend on positions, and no identity. All numbers are
 * little-endian.
 *
 *      header    0  4   version of this format
 *                4  4   how many records follow
 *                8  8   tail: no group with a lower number is needed once this one is in the log
 *               16  8   the owner's facts: the next job id,
 *               24  8   and the wall-clock time in milliseconds
 *      record    0  4   body_size
 *                4  2   fields_size
 *                6  1   type
 *                7  1   flags
 *                8      fields, then the body; the next record follows at once
 *
 * A group needs no checksum of its own, because the chain of hashes goes over all of its bytes.
 */
#ifndef ELAPSE__JOURNAL_PORTABLE_H
#define ELAPSE__JOURNAL_PORTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum {
    ELAPSE__PORTABLE_FORMAT = 1,
    ELAPSE__PORTABLE_HEADER_BYTES = 32,
    ELAPSE__PORTABLE_RECORD_BYTES = 8,
};

struct elapse__portable_facts {
    uint64_t tail;
    uint64_t next_id;
    int64_t wall_ms;
};

/* Writes the group of these frames. They must be whole records of an owner in the form of a
 * journal. Returns how many bytes it wrote. Requires room for ELAPSE__PORTABLE_HEADER_BYTES +
 * size. */
size_t elapse__portable_encode(const struct elapse__portable_facts *facts, const uint8_t *frames,
                               size_t size, uint8_t *bytes);

/* These functions write a group piece by piece: each record after the one before it, and finally
 * the header in front of all records. put_record returns how many bytes the record takes:
 * ELAPSE__PORTABLE_RECORD_BYTES, its fields and its body. */
size_t elapse__portable_put_record(const struct elapse__record *record, uint8_t *bytes);
void elapse__portable_put_header(const struct elapse__portable_facts *facts, uint32_t records,
                                 uint8_t *bytes);

/* A group while it is read. */
struct elapse__portable {
    struct elapse__portable_facts facts;
    uint64_t frame_bytes; /* how many bytes its records take in a journal, at most */
    uint32_t records;
    const uint8_t *rest; /* the next record */
    size_t rest_bytes;
};

/* Reads the header. Returns whether the bytes have as many records of an owner as the header says,
 * and nothing else. The bytes are not copied. */
bool elapse__portable_open(struct elapse__portable *portable, const void *bytes, size_t size);

/* Stores the next record, which points into the bytes. Returns false at the end. */
bool elapse__portable_next(struct elapse__portable *portable, struct elapse__record *record);

#endif
