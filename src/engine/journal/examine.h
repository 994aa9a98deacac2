/*
 * Examines a journal without changing it: finds all damage, and every whole record.
 *
 * First it does what open does, up to the point where open would write. If open accepts the
 * journal, damage can only lie in bodies, which open does not read. Otherwise the examination goes
 * on where open stops: behind bytes that are no record it looks for the next record. The seeded
 * checksum of a record proves that the record was written at this place, so no other bytes are
 * taken for one.
 */
#ifndef ELAPSE__JOURNAL_EXAMINE_H
#define ELAPSE__JOURNAL_EXAMINE_H

#include "frame.h"
#include "journal.h"

enum elapse__damage {
    ELAPSE__DAMAGE_HEADER,  /* of a file */
    ELAPSE__DAMAGE_FOREIGN, /* the file belongs to another queue, or to another place */
    ELAPSE__DAMAGE_MISSING, /* the file is missing */
    ELAPSE__DAMAGE_RECORDS, /* `bytes` at `offset` are no records */
    ELAPSE__DAMAGE_BODY,    /* of the record at `offset`, whose fields are whole */
    ELAPSE__DAMAGE_UNREAD,  /* the page at `offset` cannot be read, and nothing is known of it.
                               What its records lack is told as other damage. */
};

struct elapse__finding {
    enum elapse__damage damage;
    char file[ELAPSE__FILE_NAME_BYTES];
    uint64_t offset;
    uint64_t bytes;
    const struct elapse__record *record; /* BODY: its `body` is NULL; otherwise NULL */
    uint64_t position;                   /* BODY: the position of the record */
};

struct elapse__examination {
    const struct elapse__files *files;
    const char *path;
    void *context;

    /* Called for each damage. NULL: nothing is called. An error ends the examination. */
    int (*finding)(void *context, const struct elapse__finding *finding);

    /* Called for each whole record of the log, with its body, in their order. NULL: nothing is
     * called. An error ends the examination. */
    int (*record)(void *context, uint64_t position, const struct elapse__record *record);

    /* Called after the records of each group, if groups have a place in a replicated log (frame.h).
     * NULL: nothing is called. An error ends the examination. */
    int (*place)(void *context, const struct elapse__journal_place *place);

    /* Results. */
    uint64_t findings;
    uint64_t unread; /* findings that are UNREAD: a later examination may be able to read there */
    uint64_t head, tail;
    uint64_t records;    /* whole ones */
    uint64_t lost_bytes; /* the most bytes of records that may be lost */
    uint64_t next_id;    /* the greatest of the headers */
    unsigned segment_bits;
    bool is_placed; /* its groups lie in a replicated log (log.h) */
};

/*
 * Examines the journal. Requires that nobody writes it. Returns false, and says why in `*refusal`,
 * if it cannot be examined: a call failed, or the format is unknown. If open
 * would refuse the journal, sets the refusal, too, but returns true: the reason is a finding.
 */
bool elapse__journal_examine(struct elapse__examination *examination,
                             struct elapse__journal_refusal *refusal);

#endif
