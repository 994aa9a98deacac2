/*
 * One record of the journal in the form in which the owner gives it and gets it back.
 *
 *      owner (the queue)                  journal
 *      what changed  ---> struct elapse__record ---> frame: length, checksums, place in the log
 *      replay        <--- struct elapse__record <--- the same bytes, checked
 *
 * The journal and the owner do not know each other. Both know this header. Only the owner knows
 * what the fields and the flags of a record mean, and encodes them as little-endian bytes. SEAL,
 * COMMIT and LOG_PLACE are records of the journal's own. The owner never gives or gets them.
 */
#ifndef ELAPSE__JOURNAL_RECORD_H
#define ELAPSE__JOURNAL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

/* The disk has these numbers. Never change a number, and never use one again. */
enum elapse__record_type {
    ELAPSE__RECORD_PUT = 1, /* the whole job; cleaning appends it again */
    ELAPSE__RECORD_CHANGE,  /* state, due time, priority and counters of a job */
    ELAPSE__RECORD_DELETE,
    ELAPSE__RECORD_LEASE,
    ELAPSE__RECORD_TOKEN,
    ELAPSE__RECORD_EPOCH,
    ELAPSE__RECORD_SEAL,      /* the journal's own: the next segment exists */
    ELAPSE__RECORD_COMMIT,    /* the journal's own: a group ends here */
    ELAPSE__RECORD_LOG_PLACE, /* the journal's own: where the group lies in a replicated log */
    ELAPSE__RECORD_TUBE,      /* the settings of a tube; cleaning appends them again */
    ELAPSE__RECORD_LAST = ELAPSE__RECORD_TUBE,
};

/* Returns whether a record of this type comes from an owner, and not from the journal. */
static inline bool elapse__record_has_owner(enum elapse__record_type type)
{
    return type < ELAPSE__RECORD_SEAL || type > ELAPSE__RECORD_LOG_PLACE;
}

/* A flag of PUT: the record has no body, because the body was damaged when the job was copied. */
enum { ELAPSE__RECORD_BODY_LOST = 1 };

struct elapse__record {
    enum elapse__record_type type;
    uint8_t flags;
    uint16_t fields_size;
    uint32_t body_size;
    const void *fields;
    const void *body; /* NULL on replay, because bodies are read when they are used */
};

/* What a group is for. A full disk refuses growth first. Then it refuses leases, when the copies of
 * the jobs that were handed out would grow by more than there is room for. The last spare segment
 * is for copies. */
enum elapse__record_purpose {
    ELAPSE__RECORD_FOR_GROWTH,  /* new jobs */
    ELAPSE__RECORD_FOR_LEASE,   /* hand-outs, after which a job has more to remember */
    ELAPSE__RECORD_FOR_RELIEF,  /* what makes jobs continue or end: deletes, changes */
    ELAPSE__RECORD_FOR_SETTING, /* the same, but a program of 0.2 does not know the record */
    ELAPSE__RECORD_FOR_COPY,    /* what cleaning appends again */
};

/* Takes the records of an owner. The positions of records grow. No record has the position 0. */
struct elapse__record_sink {
    /* Begins a group of records that become durable together. `bytes` is the most that their frames
     * may take: the sum of elapse__record_bytes_max. Returns 0 or an error number of errno.h:
     *  - ENOSPC: the disk is full.
     *  - EAGAIN: the journal is not ready for more. Ask again later.
     *  - EMSGSIZE: no segment can hold so much.
     *  - Another error: it has ended the journal.
     * After an error nothing has begun, and the owner must change nothing. */
    int (*begin)(struct elapse__record_sink *sink, uint64_t bytes,
                 enum elapse__record_purpose purpose);

    /* Appends a record to the group that was begun. Returns its position. */
    uint64_t (*append)(struct elapse__record_sink *sink, const struct elapse__record *record);

    /* Ends the group. Returns a position. When the journal's durable position has reached it, what
     * was appended is durable. */
    uint64_t (*end)(struct elapse__record_sink *sink);

    /* Says that the record at `position` has become live (`change` > 0) or is live no more
     * (`change` < 0). The size of `change` must be the same both times. */
    void (*live)(struct elapse__record_sink *sink, uint64_t position, int64_t change);
};

enum {
    ELAPSE__RECORD_HEADER_BYTES = 24,
    ELAPSE__JOURNAL_ALIGNMENT = 8,
    /* What a record has beside its fields and its body: its header, and zeros up to the next
     * record. */
    ELAPSE__RECORD_FRAME_MAX = ELAPSE__RECORD_HEADER_BYTES + ELAPSE__JOURNAL_ALIGNMENT - 1,
};

/* Returns how many bytes a record takes on disk. */
static inline uint64_t elapse__frame_bytes(uint16_t fields_size, uint32_t body_size)
{
    uint64_t bytes = (uint64_t)ELAPSE__RECORD_FRAME_MAX + fields_size + body_size;
    return bytes - bytes % ELAPSE__JOURNAL_ALIGNMENT;
}

/* Returns how many bytes a record takes at most, if its sizes are at most these. */
static inline uint64_t elapse__record_bytes_max(uint16_t fields_size, uint32_t body_size)
{
    return (uint64_t)ELAPSE__RECORD_FRAME_MAX + fields_size + body_size;
}

#endif
