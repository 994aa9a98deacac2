/*
 * How records and headers of segments lie on disk. All numbers are little-endian.
 *
 *      record    0  8 bytes  checksum of bytes 8 .. 24 + fields_size
 *                8  8        checksum of the body; 0 if there is none
 *               16  4        body_size
 *               20  2        fields_size
 *               22  1        type
 *               23  1        flags
 *               24           fields, then the body, then zeros up to a multiple of 8
 *
 *      header    0  8        "elapseJ", 0
 *                8  4        version of the format: 3, or 4 if its groups have LOG_PLACEs
 *               12  4        log2 of the size of a segment
 *               16  16       identity of the queue
 *               32  8        number of the segment
 *               40  8        number of the tail segment when this header was written
 *               48  8        the owner's facts: the next job id,
 *               56  8        and the wall-clock time in milliseconds
 *               64  8        checksum of bytes 0 .. 64
 *
 * Both checksums of a record are XXH3-64 with a seed made of its position and the identity, so the
 * checksum does not fit a record that lies where it was not written, or in another queue's journal.
 *
 * Versions. Elapse 0.2 wrote 1 and 2, and reads no other. Their layout is that of 3 and 4, but
 * their PUTs have no headers, their CHANGEs have no errors, and they have no TUBEs. So a segment of
 * version 1 or 2 is read, and is never given what a program of 0.2 does not know: growth and
 * settings go to the next segment (group.c). When the disk is full, one bit may get there all the
 * same: that the lease of a job ended by itself. A program of 0.2 refuses it, and cuts nothing. A
 * whole record of a type that this program does not know is damage: a later program wrote it. If
 * the record counted as a torn end, open would cut it.
 */
#ifndef ELAPSE__JOURNAL_FRAME_H
#define ELAPSE__JOURNAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record.h"

enum {
    ELAPSE__JOURNAL_FORMAT_OLD = 1,
    ELAPSE__JOURNAL_FORMAT_OLD_PLACED = 2,
    ELAPSE__JOURNAL_FORMAT = 3,
    ELAPSE__JOURNAL_FORMAT_PLACED = 4, /* each group ends with a LOG_PLACE and a COMMIT */
    ELAPSE__JOURNAL_IDENTITY_BYTES = 16,

    ELAPSE__RECORD_SIZES_AT = 16, /* body_size, fields_size, type and flags */
    ELAPSE__SEAL_BYTES = ELAPSE__RECORD_HEADER_BYTES + 8,
    ELAPSE__COMMIT_BYTES = ELAPSE__RECORD_HEADER_BYTES + 16,
    ELAPSE__LOG_PLACE_BYTES = ELAPSE__RECORD_HEADER_BYTES + 48,

    /* Records begin in a sector of their own: writing them again cannot harm the header. */
    ELAPSE__SEGMENT_HEADER_BYTES = 512,

    ELAPSE__SEGMENT_IDENTITY_AT = 16,

    ELAPSE__SEGMENT_BITS_MIN = 14, /* 16 KiB */
    ELAPSE__SEGMENT_BITS_MAX = 26, /* 64 MiB */
};

/* Names the queue that a journal belongs to. */
struct elapse__journal_identity {
    uint8_t bytes[ELAPSE__JOURNAL_IDENTITY_BYTES];
};

/* Returns the number of an identity. The seeds of checksums are made of it and a position. */
uint64_t elapse__identity_seed(const struct elapse__journal_identity *identity);

/* What the header of a record says. */
struct elapse__frame {
    enum elapse__record_type type;
    uint8_t flags;
    uint16_t fields_size;
    uint32_t body_size;
    uint64_t bytes; /* of the whole record, with its padding */
    uint64_t body_checksum;
};

/* Writes the record as it lies at this position. Requires elapse__frame_bytes of room. */
void elapse__frame_encode(const struct elapse__record *record, uint64_t position, uint64_t seed,
                          uint8_t *bytes);

/* Reads what may be the header of a record, ELAPSE__RECORD_HEADER_BYTES. Returns false if the type
 * is unknown: the bytes are no record, or a record of a later version. */
bool elapse__frame_decode(const uint8_t *bytes, struct elapse__frame *frame);

/* Returns whether header and fields are those that were written at this position. `bytes` holds
 * both. */
bool elapse__frame_header_is_whole(const uint8_t *bytes, const struct elapse__frame *frame,
                                   uint64_t position, uint64_t seed);

/* Returns whether this is the body that was written at this position. */
bool elapse__frame_body_is_whole(const void *body, const struct elapse__frame *frame,
                                 uint64_t position, uint64_t seed);

/* What a COMMIT says. */
struct elapse__commit {
    uint64_t durable; /* everything below this position was durable before this group */
    uint64_t tail;    /* the tail segment as soon as this group is durable */
};

void elapse__commit_encode(const struct elapse__commit *commit, uint64_t position, uint64_t seed,
                           uint8_t *bytes);
void elapse__seal_encode(uint64_t next_segment, uint64_t position, uint64_t seed, uint8_t *bytes);

/* The place of a group in a replicated log; if the group does not lie in the log, the place of the
 * last group before it that does. `tail`, `next_id` and `wall_ms` are what the group says beside
 * its records (portable.h): with them and the records, the bytes of the group can be made again as
 * they lie in the log. */
struct elapse__journal_place {
    uint64_t group;         /* its number in the log; 0: there is none yet */
    uint64_t hash;          /* the chain's hash at this group */
    uint64_t previous_hash; /* the chain's hash at the group before it */
    uint64_t tail;
    uint64_t next_id;
    int64_t wall_ms;
    bool is_confirmed; /* this node has submitted it, and it was confirmed */
    bool forgets;      /* no record before this one counts any more */
};

void elapse__journal_log_place_encode(const struct elapse__journal_place *place, uint64_t position,
                                      uint64_t seed, uint8_t *bytes);

/* Read a record. Require that it is whole, and of this type. */
struct elapse__commit elapse__commit_decode(const uint8_t *bytes);
uint64_t elapse__seal_decode(const uint8_t *bytes);
struct elapse__journal_place elapse__journal_log_place_decode(const uint8_t *bytes);

/* Returns whether these bytes may be the header of a COMMIT: a quick check for searches, which look
 * at each place of a segment. */
static inline bool elapse__frame_may_be_commit(const uint8_t *bytes)
{
    static const uint8_t commit[8] = {
        0, 0, 0, 0, ELAPSE__COMMIT_BYTES - ELAPSE__RECORD_HEADER_BYTES, 0, ELAPSE__RECORD_COMMIT,
        0};
    return memcmp(bytes + ELAPSE__RECORD_SIZES_AT, commit, sizeof commit) == 0;
}

struct elapse__segment_header {
    bool is_old;    /* of version 1 or 2 */
    bool is_placed; /* its groups have LOG_PLACEs */
    struct elapse__journal_identity identity;
    unsigned segment_bits;
    uint64_t number;
    uint64_t tail;
    uint64_t next_id;
    int64_t wall_ms;
};

enum elapse__header_verdict {
    ELAPSE__HEADER_WHOLE,
    ELAPSE__HEADER_DAMAGED,
    ELAPSE__HEADER_UNKNOWN_VERSION,
};

/* Writes ELAPSE__SEGMENT_HEADER_BYTES. */
void elapse__segment_header_encode(const struct elapse__segment_header *header, uint8_t *bytes);

/* Reads a header. `*version` is the version that it claims to have. */
enum elapse__header_verdict elapse__segment_header_decode(const uint8_t *bytes,
                                                          struct elapse__segment_header *header,
                                                          uint32_t *version);

#endif
