/*
 * The state of the journal's core, for the files of this room. journal.h has the definitions. A
 * file calls and includes only files that are below it in this list:
 *
 *      life.c        open and free; what callers ask and say
 *      recover.h     open: recover.c, walk.c, directory.c, repair.c, replay.c
 *      lanes.h       commit.c: the commit lane: a group is written and synced
 *                    rotate.c: the commit lane: the next segment begins
 *                    replica.c: the commit lane: a group goes to the replicated log (log.h)
 *                    background.c: the other lane: which of its works comes next
 *                    retire.c: files below the tail
 *                    clean.c: the tail is read, and its live records are appended again
 *                    perform.c: operations, through the table of files
 *      group.h       group.c: the group that forms: begin, append, end
 *                    place.c: the end of a group: its place in the log, its COMMIT
 *                    spare.c: making and taking spares
 *      space.h       segments.c: the table of segments, names of files
 *                    room.c: who may take which space
 *      core.h        types
 *
 * read.c reads one record with its body, and includes only space.h. transfer.h and frame.h know
 * nothing of the journal.
 */
#ifndef ELAPSE__JOURNAL_CORE_H
#define ELAPSE__JOURNAL_CORE_H

#include "../../base/assert.h"
#include "journal.h"
#include "log.h"

struct elapse__segment {
    int file;
    unsigned readers;
    uint64_t live_bytes;
    uint64_t first_group; /* the group of the log that its first LOG_PLACE names; 0: it has none */
};

/* A group that is on its way to the disk. */
struct elapse__group {
    struct elapse__group *next;
    uint64_t position; /* the position of its first record */
    uint64_t tail;     /* the tail that its COMMIT says; fixed when the group closes */
    uint8_t *bytes;    /* has room for the COMMIT, and for zeros up to the end of a page */
    size_t size;       /* bytes of the records; later with the COMMIT */
    size_t padding;    /* bytes of zeros after that, which are written too */
    size_t capacity;
    /* What an earlier padding has left: the bytes from `zeros_begin` to before `zeros_end` are
     * zero, except those that the records of this group have overwritten since. */
    size_t zeros_begin;
    size_t zeros_end;
    bool has_place; /* the group was read from the log or submitted; its place is `log_place` */
    struct elapse__journal_place log_place;
};

enum elapse__commit_state {
    ELAPSE__COMMIT_IDLE,
    ELAPSE__COMMIT_WRITING,
    ELAPSE__COMMIT_SYNCING,
    ELAPSE__ROTATE_STATUS,
    ELAPSE__ROTATE_DISCARD,
    ELAPSE__ROTATE_HEADER,
    ELAPSE__ROTATE_HEADER_SYNC,
    ELAPSE__ROTATE_NAME,
    ELAPSE__ROTATE_NAME_SYNC,
    ELAPSE__ROTATE_SEAL,
    ELAPSE__ROTATE_SEAL_SYNC,
    ELAPSE__COMMIT_FAILED,
    ELAPSE__LOG_SUBMITTING,
    ELAPSE__LOG_SUBMITTED,
    ELAPSE__LOG_FENCED,
};

enum elapse__background_state {
    ELAPSE__BACKGROUND_RESTING,
    ELAPSE__SPARE_CREATING,
    ELAPSE__SPARE_FILLING,
    ELAPSE__SPARE_FILL_SYNC,
    ELAPSE__SPARE_NAMING,
    ELAPSE__SPARE_REMOVING,
    ELAPSE__RETIRE_STATUS,
    ELAPSE__RETIRE_RENAME,
    ELAPSE__RETIRE_UNLINK,
    ELAPSE__CLEAN_READING,
};

struct elapse__spare {
    uint64_t number; /* the number in the spare's name */
    int file;
};

/* A place that the disk could not read (unread.c). */
struct elapse__unread_place {
    uint64_t page;
    uint64_t again_ms; /* nobody reads the place before this time */
    uint64_t delay_ms; /* how long nobody reads the place; 0: the place is new */
    uint64_t works;    /* `works` of struct elapse__unread when the place was last tried */
};

enum { ELAPSE__UNREAD_PLACES = 256 };

struct elapse__unread {
    unsigned count;
    unsigned in_a_row;       /* how many places failed since the last reading that worked */
    bool last_failed;        /* the last reading failed */
    uint64_t works;          /* how many readings of the disk worked */
    uint64_t rests_until_ms; /* no job is taken for a hand-out before this time */
    struct elapse__unread_place places[ELAPSE__UNREAD_PLACES];
};

struct elapse__journal {
    struct elapse__record_sink sink; /* must be first, because a sink is a journal */
    const struct elapse__files *files;
    struct elapse_allocator memory;
    struct elapse__journal_owner owner;
    struct elapse__journal_identity identity;
    uint64_t seed;
    unsigned segment_bits;
    uint32_t interval_ms;
    int directory;
    int lock;
    int error;
    uint64_t now_ms;

    /* The segments with the numbers first .. first + count - 1. Segments below the tail wait to be
     * retired. */
    struct elapse__segment *segments;
    uint64_t first;
    size_t segment_count, segment_capacity;
    uint64_t live_bytes; /* the sum over all segments */
    uint64_t head;
    uint64_t old_head; /* the last segment, if it has an older version of the format; else 0 */

    uint64_t tail;           /* the tail that the next COMMIT says */
    uint64_t committed_tail; /* the tail that the last COMMIT in flight or on the disk says */
    uint64_t durable_tail;

    /* Groups: `forming` takes records, groups in `closed` wait, and the commit lane has
     * `in_flight`. */
    struct elapse__group *forming, *closed, *in_flight;
    struct elapse__group
        *unused; /* their memory serves the next groups until the journal is quiet */
    unsigned unused_count;
    uint64_t place;          /* the position of the next record */
    bool begun;              /* a group was begun, and has not ended */
    bool copies;             /* the group that was begun is for copies */
    bool crosses_first;      /* the first group of this life goes to the next segment */
    bool idle_commit_wanted; /* the last group on the disk needs a COMMIT after it */
    bool stopping;
    bool ends_spares;     /* the journal stops and is quiet, and makes no more spares */
    uint64_t activity_ms; /* when the last group became durable */
    uint64_t groups;

    enum elapse__commit_state commit_state;
    bool commit_under_way;
    uint64_t progress;          /* how many bytes of the write are done */
    uint64_t written;           /* the end of the last group that was written */
    uint64_t durable;           /* everything up to here is synced */
    uint64_t sync_due_ms;       /* with an interval: when the written groups have to be synced */
    uint8_t *block;             /* for a header or a SEAL, with zeros up to the end of a page */
    size_t block_bytes;         /* how many bytes of `block` to write */
    struct elapse__spare taken; /* the spare that becomes the next segment */

    enum elapse__background_state background_state;
    bool background_under_way;
    bool disk_is_full;
    struct elapse__spare spares[ELAPSE__SPARES_MAX];
    unsigned spare_count;
    unsigned spares_asked; /* how many were held for a record that was refused; 0: for none */
    bool clean_pinned;     /* the tail cannot be cleaned in this life, or until clean_again_ms */
    bool clean_refused;    /* the owner could not take the last record that cleaning examined */
    uint64_t spare_number; /* the last number used in the name of a spare */
    struct elapse__spare making;
    uint64_t filled;
    uint64_t full_until_ms;

    /* Cleaning examines the tail from `clean_at` on. `clean_bytes` has the bytes that were read. */
    uint64_t clean_at;
    uint8_t *clean_bytes;
    uint64_t clean_from;
    size_t clean_size, clean_capacity, clean_wanted;
    uint64_t clean_limit; /* the number of the segment that the owner's own records have reached */
    uint64_t
        clean_debt; /* bytes to examine: two for each byte appended, one for each byte copied */
    uint64_t clean_pause_ms; /* the pause before a tail that cannot be read is read again */
    uint64_t clean_again_ms; /* when the tail is read again; 0: the last reading worked */
    uint64_t cleaned_bytes;

    uint64_t damaged_bodies,
        damaged_position; /* damaged bodies: how many, and where the last lies */
    uint64_t failed_reads, failed_position;
    struct elapse__unread unread;

    /* The replicated log. Without a log the rest of the fields are zeros. */
    const struct elapse__journal_log *log; /* NULL: there is no log */
    bool is_placed;                        /* each group ends with a LOG_PLACE */
    bool follows;
    bool pushes;      /* the journal submits the next group even if it has no records */
    bool unconfirmed; /* fenced while nobody knew whether the log has the group in flight */
    bool answered;    /* the group was confirmed while it was being submitted */
    struct elapse__journal_place log_end;     /* place of the last group applied or confirmed */
    struct elapse__journal_place log_written; /* the place in the last LOG_PLACE */
    struct elapse__portable_facts log_facts;  /* the facts of the group in flight */
    unsigned log_forgets; /* how many LOG_PLACEs that forget wait to be written */
    uint64_t log_trimmed; /* the tail that was last told to the log */
    uint8_t *portable;    /* the group in flight in the form of the log */
    size_t portable_size, portable_capacity;
};

static inline uint64_t elapse__segment_bytes(const struct elapse__journal *journal)
{
    return UINT64_C(1) << journal->segment_bits;
}

static inline uint64_t elapse__position_at(const struct elapse__journal *journal, uint64_t segment,
                                           uint64_t offset)
{
    return segment << journal->segment_bits | offset;
}

static inline uint64_t elapse__segment_of(const struct elapse__journal *journal, uint64_t position)
{
    return position >> journal->segment_bits;
}

static inline uint64_t elapse__offset_of(const struct elapse__journal *journal, uint64_t position)
{
    return position & (elapse__segment_bytes(journal) - 1);
}

enum { ELAPSE__SEAL_GROUP_BYTES = ELAPSE__SEAL_BYTES + ELAPSE__COMMIT_BYTES };

/* Returns the size of what ends each group: its COMMIT, and its LOG_PLACE if it needs one. */
static inline uint64_t elapse__group_end_bytes(const struct elapse__journal *journal)
{
    return ELAPSE__COMMIT_BYTES + (journal->is_placed ? (uint64_t)ELAPSE__LOG_PLACE_BYTES : 0);
}

/* Returns how many bytes at the end of a segment are kept free. They are for a group without
 * records, and for the group of the SEAL. */
static inline uint64_t elapse__segment_reserve(const struct elapse__journal *journal)
{
    return ELAPSE__SEAL_GROUP_BYTES + elapse__group_end_bytes(journal);
}

/* Returns how many bytes of the page are left after this offset. The result is less than
 * ELAPSE__FILE_PAGE_MAX. A write that goes to the end of the page saves the system from reading the
 * rest of the page first. Bytes after the end of the log are ignored, so they may be zeros. */
static inline size_t elapse__rest_of_page(const struct elapse__journal *journal, uint64_t offset)
{
    size_t page = journal->files->page_bytes;
    return page == 0 ? 0 : (size_t)(-offset & (page - 1));
}

/* Ends the journal, so that nothing more is acknowledged. Keeps the first error. */
static inline void elapse__journal_fail(struct elapse__journal *journal, int error)
{
    ELAPSE__ASSERT_THAT(error, !=, 0);
    if (journal->error == 0)
        journal->error = error;
    journal->commit_state = ELAPSE__COMMIT_FAILED;
}

/* Returns whether the journal has a replicated log and is not fenced. Then it may take the owner's
 * records for that log. */
static inline bool elapse__journal_log_takes_records(const struct elapse__journal *journal)
{
    return journal->log != NULL && journal->commit_state != ELAPSE__LOG_FENCED;
}

#endif
