/*
 * The layout of records and of headers of segments on the disk. All numbers are little-endian.
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
 * Both checksums of a record are XXH3-64. The seed is made of the record's position and the
 * identity of the queue. So the checksum is wrong for a record at another place than the one where
 * it was written, or in the journal of another queue.
 *
 * Versions. Elapse 0.2 wrote the versions 1 and 2, and reads no others. Their layout is that of 3
 * and 4. But their PUTs have no headers, their CHANGEs have no errors, and they have no TUBEs. This
 * program reads segments of version 1 and 2. It writes nothing into them that a program of 0.2 does
 * not know: new jobs and settings go to the next segment (group.c). There is one exception. When
 * the disk is full, a record in such a segment may have the bit which says that the lease of a job
 * ended by itself. A program of 0.2 refuses that record, and cuts nothing. A whole record of an
 * unknown type counts as damage, because a later program wrote it. If it counted as a torn end,
 * open would cut it.
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

    ELAPSE__RECORD_SIZES_AT = 16, /* where body_size, fields_size, type and flags begin */
    ELAPSE__SEAL_BYTES = ELAPSE__RECORD_HEADER_BYTES + 8,
    ELAPSE__COMMIT_BYTES = ELAPSE__RECORD_HEADER_BYTES + 16,
    ELAPSE__LOG_PLACE_BYTES = ELAPSE__RECORD_HEADER_BYTES + 48,

    /* Records begin in another sector than the header, so that a repeated write of a record cannot
     * harm the header. */
    ELAPSE__SEGMENT_HEADER_BYTES = 512,

    ELAPSE__SEGMENT_IDENTITY_AT = 16,

    ELAPSE__SEGMENT_BITS_MIN = 14, /* 16 KiB */
    ELAPSE__SEGMENT_BITS_MAX = 26, /* 64 MiB */
};

/* The random number that names the queue of a journal. */
struct elapse__journal_identity {
    uint8_t bytes[ELAPSE__JOURNAL_IDENTITY_BYTES];
};

/* Returns a number for an identity. The seeds of checksums are made of this number and a
 * position. */
uint64_t elapse__identity_seed(const struct elapse__journal_identity *identity);

/* What the header of a record says. */
struct elapse__frame {
    enum elapse__record_type type;
    uint8_t flags;
    uint16_t fields_size;
    uint32_t body_size;
    uint64_t bytes; /* size of the whole record, with the zeros at its end */
    uint64_t body_checksum;
};

/* Writes the record in the form that it has at this position. Requires elapse__frame_bytes of
 * room. */
void elapse__frame_encode(const struct elapse__record *record, uint64_t position, uint64_t seed,
                          uint8_t *bytes);

/* Reads ELAPSE__RECORD_HEADER_BYTES that may be the header of a record. Returns false if the type
 * is unknown. Then the bytes are no record, or a record of a later version. */
bool elapse__frame_decode(const uint8_t *bytes, struct elapse__frame *frame);

/* Returns whether header and fields are whole: they were written at this position. `bytes` has
 * both. */
bool elapse__frame_header_is_whole(const uint8_t *bytes, const struct elapse__frame *frame,
                                   uint64_t position, uint64_t seed);

/* Returns whether the body is whole: it was written at this position. */
bool elapse__frame_body_is_whole(const void *body, const struct elapse__frame *frame,
                                 uint64_t position, uint64_t seed);

/* What a COMMIT says. */
struct elapse__commit {
    uint64_t durable; /* everything below this position was durable before this group */
    uint64_t tail;    /* the tail segment from the moment when this group is durable */
};

void elapse__commit_encode(const struct elapse__commit *commit, uint64_t position, uint64_t seed,
                           uint8_t *bytes);
void elapse__seal_encode(uint64_t next_segment, uint64_t position, uint64_t seed, uint8_t *bytes);

/* The place of a group in a replicated log. If the group does not lie in the log, this is the place
 * of the last group before it that does. `tail`, `next_id` and `wall_ms` are what the group has in
 * the log beside its records (portable.h). The bytes of the group in the log can be made again from
 * these and the records. */
struct elapse__journal_place {
    uint64_t group;         /* the number in the log; 0: there is none yet */
    uint64_t hash;          /* the chain's hash at this group */
    uint64_t previous_hash; /* the chain's hash at the group before it */
    uint64_t tail;
    uint64_t next_id;
    int64_t wall_ms;
    bool is_confirmed; /* this node has submitted the group, and it was confirmed */
    bool forgets;      /* records before this one do not count any more */
};

void elapse__journal_log_place_encode(const struct elapse__journal_place *place, uint64_t position,
                                      uint64_t seed, uint8_t *bytes);

/* These functions read a record. They require that the record is whole and of the type in their
 * name. */
struct elapse__commit elapse__commit_decode(const uint8_t *bytes);
uint64_t elapse__seal_decode(const uint8_t *bytes);
struct elapse__journal_place elapse__journal_log_place_decode(const uint8_t *bytes);

/* Returns whether these bytes may be the header of a COMMIT. This is a quick check for a search at
 * every place of a segment. */
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

/* Writes a header of ELAPSE__SEGMENT_HEADER_BYTES. */
void elapse__segment_header_encode(const struct elapse__segment_header *header, uint8_t *bytes);

/* Reads a header. Stores in `*version` the version that the header names. */
enum elapse__header_verdict elapse__segment_header_decode(const uint8_t *bytes,
                                                          struct elapse__segment_header *header,
                                                          uint32_t *version);

#endif
