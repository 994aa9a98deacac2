/*
 * Examines a journal without changing it. Finds all damage, and every whole record. A record is
 * whole if its checksums are right.
 *
 * First it does what open does, up to the point where open would write. If open accepts the
 * journal, only bodies can be damaged, because open does not read these. If not, the examination
 * continues where open stops: it looks for the next record after bytes that are no record. A
 * record's checksum depends on its place (frame.h), so no other bytes can look like a record.
 */
#ifndef ELAPSE__JOURNAL_EXAMINE_H
#define ELAPSE__JOURNAL_EXAMINE_H

#include "frame.h"
#include "journal.h"

enum elapse__damage {
    ELAPSE__DAMAGE_HEADER,  /* the header of a file */
    ELAPSE__DAMAGE_FOREIGN, /* the file belongs to another queue, or to another place */
    ELAPSE__DAMAGE_MISSING, /* the file is missing */
    ELAPSE__DAMAGE_RECORDS, /* `bytes` bytes at `offset` are no records */
    ELAPSE__DAMAGE_BODY,    /* the body of the record at `offset`, whose fields are whole */
    ELAPSE__DAMAGE_UNREAD,  /* the page at `offset` cannot be read; its records may be whole */
};

struct elapse__finding {
    enum elapse__damage damage;
    char file[ELAPSE__FILE_NAME_BYTES];
    uint64_t offset;
    uint64_t bytes;
    const struct elapse__record *record; /* for BODY, with a `body` of NULL; else NULL */
    uint64_t position;                   /* for BODY: the position of the record */
};

struct elapse__examination {
    const struct elapse__files *files;
    const char *path;
    void *context;

    /* Called for each damage. May be NULL. An error ends the examination. */
    int (*finding)(void *context, const struct elapse__finding *finding);

    /* Called for each whole record of the log with its body, in the order of the log. May be NULL.
     * An error ends the examination. */
    int (*record)(void *context, uint64_t position, const struct elapse__record *record);

    /* Called after the records of each group, if groups have a place in a replicated log (frame.h).
     * May be NULL. An error ends the examination. */
    int (*place)(void *context, const struct elapse__journal_place *place);

    /* Results. */
    uint64_t findings;
    uint64_t unread; /* of the kind UNREAD: a later examination may read these pages */
    uint64_t head, tail;
    uint64_t records;    /* whole records */
    uint64_t lost_bytes; /* the most bytes of records that may be lost */
    uint64_t next_id;    /* the greatest `next_id` of any header */
    unsigned segment_bits;
    bool is_placed; /* the groups lie in a replicated log (log.h) */
};

/*
 * Examines the journal. Requires that nobody writes the journal. Returns false, and says why in
 * `*refusal`, if a call failed or the format is unknown. If open would refuse the journal, sets the
 * refusal but returns true, because the reason is a finding.
 */
bool elapse__journal_examine(struct elapse__examination *examination,
                             struct elapse__journal_refusal *refusal);

#endif
