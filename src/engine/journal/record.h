/*
 * One record of the journal, as its owner gives it and gets it back.
 *
 *      owner (the queue)                  journal
 *      what changed  ---> struct elapse__record ---> frame: length, checksums, place in the log
 *      replay        <--- struct elapse__record <--- the same bytes, checked
 *
 * Neither knows the other; both know this header. What the fields and the flags of a record mean
 * belongs to its owner, who encodes them as little-endian bytes. SEAL, COMMIT and LOG_PLACE are the
 * journal's own: an owner never gives them, and never gets them.
 */
#ifndef ELAPSE__JOURNAL_RECORD_H
#define ELAPSE__JOURNAL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

/* These numbers lie on disk: never change one, never use one again. */
enum elapse__record_type {
    ELAPSE__RECORD_PUT = 1, /* the whole job; also written again by cleaning */
    ELAPSE__RECORD_CHANGE,  /* state, due time, priority, counters of a job */
    ELAPSE__RECORD_DELETE,
    ELAPSE__RECORD_LEASE,
    ELAPSE__RECORD_TOKEN,
    ELAPSE__RECORD_EPOCH,
    ELAPSE__RECORD_SEAL,      /* the journal's own: the next segment exists */
    ELAPSE__RECORD_COMMIT,    /* the journal's own: a group ends here */
    ELAPSE__RECORD_LOG_PLACE, /* the journal's own: where in a replicated log this group lies */
    ELAPSE__RECORD_TUBE,      /* the settings of a tube; also written again by cleaning */
    ELAPSE__RECORD_LAST = ELAPSE__RECORD_TUBE,
};

/* Returns whether a record of this type is one of an owner, and not one of the journal's own. */
static inline bool elapse__record_has_owner(enum elapse__record_type type)
{
    return type < ELAPSE__RECORD_SEAL || type > ELAPSE__RECORD_LOG_PLACE;
}

/* A flag of PUT: the body was damaged when the job was copied, and is lost. The record has none. */
enum { ELAPSE__RECORD_BODY_LOST = 1 };

struct elapse__record {
    enum elapse__record_type type;
    uint8_t flags;
    uint16_t fields_size;
    uint32_t body_size;
    const void *fields;
    const void *body; /* NULL on replay: bodies are read when they are used */
};

/* What a group is for. A full disk refuses growth first, and then leases, as soon as the copies of
 * the jobs that were handed out would grow more than there is room for; the last spare segment is
 * for copies. */
enum elapse__record_purpose {
    ELAPSE__RECORD_FOR_GROWTH,  /* new jobs */
    ELAPSE__RECORD_FOR_LEASE,   /* hand-outs: a job has more to remember afterwards */
    ELAPSE__RECORD_FOR_RELIEF,  /* all that lets jobs go on or end: deletes, changes */
    ELAPSE__RECORD_FOR_SETTING, /* as relief; but a program of 0.2 does not know the record */
    ELAPSE__RECORD_FOR_COPY,    /* what cleaning appends again */
};

/* Where the records of an owner go. The positions of records grow; 0 is no record's position. */
struct elapse__record_sink {
    /* Begins a group of records that become durable together, of at most `bytes` bytes of frames
     * (the sum of elapse__record_bytes_max). Returns 0, or an error number of errno.h; then
     * nothing has begun and the owner must change nothing: ENOSPC: the disk is full; EAGAIN: ask
     * again later, the journal is not ready for more; EMSGSIZE: no segment can hold so much; or the
     * error that has ended the journal. */
    int (*begin)(struct elapse__record_sink *sink, uint64_t bytes,
                 enum elapse__record_purpose purpose);

    /* Appends a record to the group that was begun. Returns its position. */
    uint64_t (*append)(struct elapse__record_sink *sink, const struct elapse__record *record);

    /* Ends the group. Returns a position: what was appended is durable as soon as the journal's
     * durable position has reached it. */
    uint64_t (*end)(struct elapse__record_sink *sink);

    /* The record at `position` became live (`change` > 0) or stopped to be (`change` < 0). A
     * record's size in this count must be the same both times. */
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

/* Returns how many bytes a record takes at most, for sizes that are not known yet. */
static inline uint64_t elapse__record_bytes_max(uint16_t fields_size, uint32_t body_size)
{
    return (uint64_t)ELAPSE__RECORD_FRAME_MAX + fields_size + body_size;
}

#endif
