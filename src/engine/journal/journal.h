/*
 * The journal: an endless log of records in segments, each a file of one size.
 *
 * Definitions
 *
 *   position   segment number << segment_bits | offset in the segment. Positions only grow.
 *   group      records that become durable together; ends with a COMMIT; never spans segments.
 *   head       the segment that the SEALs lead to: the newest in use.
 *   tail       the oldest segment in use. Everything live lies in tail .. head.
 *   durable    the position up to which everything is on the disk, for sure.
 *   spare      a file of a segment's size that was written once, and has no number yet.
 *   owner      who gives the records, and knows which of them are live.
 *
 * Invariants of the files, at every moment, also in the middle of a crash
 *
 *   F1  `n.log` has a whole, durable header, and a durable name, before a SEAL for n is written.
 *       Segment n exists if and only if n-1 holds a whole SEAL for it, or n is the tail.
 *   F2  The first group of n is written when the SEAL for n is durable. Every byte of n-1 up to its
 *       SEAL is durable by then.
 *   F3  A COMMIT says a `durable` that was true before its group was written, and the tail as it is
 *       once its group is durable. Both never go back in the course of the log.
 *   F4  A file below the tail is unlinked or used again only when a COMMIT that says so is durable,
 *       with all copies of its live records before it.
 *   F5  A file that has another name (a backup) is never changed.
 *   F6  Behind the last whole group of the head nothing counts as a record of this segment.
 *       Recovery writes zeros there, whatever it finds, and syncs, before anything is appended: as
 *       far as a SEAL's group reaches if the new life begins in the next segment, otherwise up to
 *       the end of the segment.
 *   F7  All that recovery believes is on the disk before the journal serves: everything from the
 *       last COMMIT's `durable` on is written again in place, and synced.
 *
 * States of a commit lane, and what makes each arrow (commit.c, rotate.c)
 *
 *      IDLE --start_group--> WRITING --written--> SYNCING --synced--> IDLE
 *       |                                                             ^
 *       +--start_rotation--> STATUS -> HEADER -> HEADER_SYNC -> NAME -> NAME_SYNC -> SEAL ->
 *                            SEAL_SYNC -----rotated--------------------+
 *      any --an error--> FAILED                      (nothing is acknowledged any more)
 *
 *   IDLE, WRITING, SYNCING   the segment before the head has a SEAL for it; all up to `durable` may
 *                            be trusted; the group in flight may be whole, torn or absent.
 *   STATUS .. NAME_SYNC      a file may have the name of `head + 1`, and means nothing.
 *   SEAL, SEAL_SYNC          `head + 1` is durable, and exists if the SEAL turns out whole.
 *   FAILED                   the disk may lack everything from `durable` on, whatever it shows.
 *
 * A journal whose groups lie in a replicated log as well has three more states: log.h.
 *
 * States of the other lane (background.c): RESTING; making a spare: CREATING -> FILLING ->
 * FILL_SYNC -> NAMING, or REMOVING, because the disk is full or the journal stops; a file that fell
 * below the tail: RETIRING_STATUS -> RETIRING; cleaning: READING the tail. A crash in any of them
 * leaves a file `new-*`, a spare, or a leftover below the tail. Recovery removes or uses them.
 *
 * Faults, and why recovery is possible
 *
 *   crash, power cut   Anywhere. Unsynced sectors and names are kept, lost or half written. The
 *                      chain of SEALs is whole (F1, F2). A hole in the head is torn if no COMMIT
 *                      behind it says that it was durable (F3).
 *   failed sync        The lane is FAILED, and the process ends. Bytes that only the page cache has
 *                      come to the disk, or recovery refuses (F7).
 *   no space           Only making a spare needs space. Held spares let deletes and copies go on.
 *   damage             A record of another place or time fails its seeded checksum. Open refuses
 *                      it, naming file and offset, unless it is in the last group: that is torn.
 *   failed read        Nothing is known of the record. It is read again later: unread.c.
 *
 * The core has no threads, clock or files. It says which operation comes next (next_operation), and
 * takes its result (completed). Two lanes have one operation each at a time. The caller holds one
 * lock, and releases it while elapse__operation_perform works:
 *
 *      if (elapse__journal_next_operation(journal, lane, &operation)) {
 *          elapse__operation_perform(journal, &operation);       without the lock
 *          elapse__journal_completed(journal, lane, &operation);
 *      }
 */
#ifndef ELAPSE__JOURNAL_H
#define ELAPSE__JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/allocator.h"
#include "../../os/files.h"
#include "frame.h"
#include "record.h"

enum {
    ELAPSE__JOURNAL_IDLE_MS = 100,
    ELAPSE__SPARES_HELD = 2,    /* one for deletes, one for copies */
    ELAPSE__SPARES_GROWTH = 20, /* at most this many more, for copies that are longer */
    ELAPSE__SPARES_MAX = ELAPSE__SPARES_HELD + ELAPSE__SPARES_GROWTH + 2,
    ELAPSE__FILE_NAME_BYTES = 40,
};

/* What belongs to the owner. Calls come from within the calls of the journal's functions. */
struct elapse__journal_owner {
    void *context;

    /* During open: what the newest header says. An error refuses to open. */
    int (*header)(void *context, uint64_t next_id, int64_t wall_ms);

    /* During open, in the order of the log. An error refuses to open. Of the sink only `live` may
     * be called. */
    int (*replay)(void *context, uint64_t position, const struct elapse__record *record,
                  struct elapse__record_sink *sink);

    /* NULL; or, during open: `replay` will probably have this record soon. Called once more when
     * the record is near. The owner may ask for the memory that `replay` will need. Nothing of the
     * record was checked, not even its sizes: the bytes may be no record at all. */
    void (*fetch)(void *context, const struct elapse__record *record, bool is_near);

    /* Cleaning is about to lose the record at this position: appends it again if it is live. If
     * `body` is NULL although there is a size, the body is damaged. Returns an error (EAGAIN,
     * ENOSPC of begin) if it cannot append now; then this function is called again. EBADMSG: the
     * record must stay as it is; the tail is pinned until the next start. */
    int (*clean)(void *context, uint64_t position, const struct elapse__record *record);

    /* Stores the facts for the header of a new segment. */
    void (*facts)(void *context, uint64_t *next_id, int64_t *wall_ms);

    /* NULL, or returns by how many bytes the copies of all live records may be longer than the
     * records. Spares for this many bytes are held: on a full disk, cleaning may have to copy all
     * live records before it comes to a record that has ended. Called often. */
    uint64_t (*growth)(void *context);

    /* NULL, or returns how many of the bytes that the sink counts as live may not be live. */
    uint64_t (*excess)(void *context);

    /* NULL; or, during open of a journal with LOG_PLACEs: forgets everything that was replayed
     * before. An error refuses to open. */
    int (*forget)(void *context);
};

struct elapse__journal_log; /* log.h */

struct elapse__journal_options {
    const struct elapse__files *files;
    const char *path;
    struct elapse__journal_owner owner;
    unsigned segment_bits;                    /* for a new journal; an old one keeps its own */
    uint32_t interval_ms;                     /* 0: a group is acknowledged when it is synced */
    struct elapse__journal_identity identity; /* for a new journal: random bytes */
    const struct elapse__journal_log *log;    /* NULL: none */
    /* The memory of groups, and of what open reads; NULL: the C library's. */
    const struct elapse_allocator *memory;
};

/* Why open refused. */
enum elapse__journal_fault {
    ELAPSE__FAULT_NONE,
    ELAPSE__FAULT_CALL,            /* a call failed: `error` */
    ELAPSE__FAULT_LOCKED,          /* another process has the directory */
    ELAPSE__FAULT_HEADER,          /* the header of `file` is damaged */
    ELAPSE__FAULT_VERSION,         /* `file` has a format that this version does not know */
    ELAPSE__FAULT_FOREIGN,         /* `file` belongs to another journal, or to another place */
    ELAPSE__FAULT_RECORD,          /* a record of `file`, at `offset`, is damaged */
    ELAPSE__FAULT_MISSING_SEGMENT, /* `file` is missing */
    ELAPSE__FAULT_OWNER,           /* the owner refused the record at `offset` of `file` */
    ELAPSE__FAULT_NO_PLACE, /* the journal has records that lie in no log, and was given a log */
};

struct elapse__journal_refusal {
    enum elapse__journal_fault fault;
    int error; /* of errno.h */
    uint64_t offset;
    uint64_t found; /* the version; LOCKED: the number of the process, 0 if nobody knows */
    char file[ELAPSE__FILE_NAME_BYTES];
};

enum elapse__operation_kind {
    ELAPSE__OPERATION_WRITE,
    ELAPSE__OPERATION_FILL, /* writes zeros */
    ELAPSE__OPERATION_READ,
    ELAPSE__OPERATION_SYNC,
    ELAPSE__OPERATION_SYNC_DIRECTORY,
    ELAPSE__OPERATION_CREATE,
    ELAPSE__OPERATION_RENAME,
    ELAPSE__OPERATION_UNLINK,
    ELAPSE__OPERATION_STATUS,
    ELAPSE__OPERATION_SUBMIT, /* to the replicated log */
};

struct elapse__operation {
    enum elapse__operation_kind kind;
    int file; /* in; of CREATE: out */
    uint64_t offset;
    uint8_t *bytes;
    size_t count;
    char name[ELAPSE__FILE_NAME_BYTES];
    char to[ELAPSE__FILE_NAME_BYTES];

    /* How it ended. */
    int error;
    size_t done;
    struct elapse__file_status status;
};

enum elapse__journal_lane {
    ELAPSE__LANE_COMMIT,
    ELAPSE__LANE_BACKGROUND,
    ELAPSE__JOURNAL_LANES,
};

struct elapse__journal_figures {
    uint64_t head, tail;
    uint64_t log_bytes; /* of the segments in use */
    /* Live bytes as the owner counts them, perhaps some too many; at most log_bytes. */
    uint64_t live_bytes;
    uint64_t spares;
    uint64_t spare_bytes;
    uint64_t groups;
    uint64_t cleaned_bytes;  /* examined by cleaning */
    uint64_t damaged_bodies; /* with a wrong checksum: found by hand-outs and by cleaning */
    uint64_t failed_reads;   /* of bodies, and of the tail: the disk could not read */
    uint64_t unread_places;  /* places that could not be read when they were tried last */
    bool disk_is_full;
    bool is_pinned; /* the tail is damaged, or cannot be read now: it cannot be cleaned */
};

struct elapse__journal;

/* Opens the journal in a directory, and makes one if there is none. Everything is replayed, and all
 * that was replayed is durable, when it returns. On failure returns NULL and says why in
 * `*refusal`.
 */
struct elapse__journal *elapse__journal_open(const struct elapse__journal_options *options,
                                             struct elapse__journal_refusal *refusal);

/* Closes files and releases memory; writes nothing. Requires that no operation is under way. */
void elapse__journal_free(struct elapse__journal *journal);

/* Where the owner appends. */
struct elapse__record_sink *elapse__journal_sink(struct elapse__journal *journal);

/* Returns where the next record that is appended will lie. Requires that a group was begun. */
uint64_t elapse__journal_next_position(const struct elapse__journal *journal);

/* Stores the next operation of a lane. Returns false if there is none for now, or if one is under
 * way. */
bool elapse__journal_next_operation(struct elapse__journal *journal, enum elapse__journal_lane lane,
                                    struct elapse__operation *operation);

/* Performs an operation, through the table of files. */
void elapse__operation_perform(struct elapse__journal *journal,
                               struct elapse__operation *operation);

/* Takes the result of the operation of a lane. */
void elapse__journal_completed(struct elapse__journal *journal, enum elapse__journal_lane lane,
                               const struct elapse__operation *operation);

/* Performs the next operation of each lane on the calling thread, for owners without threads.
 * Returns false if there is none. */
bool elapse__journal_work(struct elapse__journal *journal);

/* Says what time it is, by a clock that does not go back, and lets cleaning go on. */
void elapse__journal_tick(struct elapse__journal *journal, uint64_t now_ms);

/* From now on a group is acknowledged when it is written, and synced this long after; 0: when it is
 * synced, as at the beginning of the life if the options say 0. */
void elapse__journal_set_interval(struct elapse__journal *journal, uint32_t interval_ms);

/* Asks for the empty COMMIT of a clean stop now instead of after 100 ms. */
void elapse__journal_stop(struct elapse__journal *journal);

/* Everything appended before this position may be acknowledged. */
uint64_t elapse__journal_durable(const struct elapse__journal *journal);

/* Returns whether the owner should take no further commands until operations have completed. */
bool elapse__journal_is_full(const struct elapse__journal *journal);

/* Returns whether nothing is left to do: all is durable, and a COMMIT behind says so. */
bool elapse__journal_is_quiet(const struct elapse__journal *journal);

/* Returns how long a lane of a journal that is not quiet may wait before it asks again. */
uint32_t elapse__journal_patience_ms(const struct elapse__journal *journal);

/* Returns the error that ended the journal, or 0. */
int elapse__journal_error(const struct elapse__journal *journal);

/* Returns the number of the segment in which this position lies. */
uint64_t elapse__journal_segment_of(const struct elapse__journal *journal, uint64_t position);

/* Returns the size of a segment, and whether the journal has a replicated log (log.h). */
uint64_t elapse__journal_segment_bytes(const struct elapse__journal *journal);
bool elapse__journal_has_log(const struct elapse__journal *journal);

void elapse__journal_figures(const struct elapse__journal *journal,
                             struct elapse__journal_figures *figures);

/* Reads the record at a position, with its body, into memory that the caller releases by free().
 * Returns 0, EAGAIN (it is not in the page cache, and `may_wait` is false), EBADMSG (damaged),
 * ENOENT (no such segment), ENOMEM, or EIO: the disk could not read, whatever the system said. */
int elapse__journal_read(struct elapse__journal *journal, uint64_t position, bool may_wait,
                         struct elapse__record *record, void **memory);

/* A reading in three steps, so that other threads go on while the disk is read. */
struct elapse__journal_reading {
    uint64_t position;
    uint32_t body_size; /* as the caller says */
    int file;           /* ELAPSE__NO_FILE: the record was in memory */
    uint8_t *bytes;
    size_t size; /* of `bytes` */
    int error;
    bool may_wait; /* as it was performed: otherwise the page cache had the record */
};

/* Finds the record, and keeps its segment as it is until the end of the reading. `body_size` saves
 * a call of the system if it is right. */
void elapse__journal_read_begin(struct elapse__journal *journal, uint64_t position,
                                uint32_t body_size, struct elapse__journal_reading *reading);

/* Reads what was not in memory. Records that lie close together, in the order of their positions,
 * take one call of the system for many. The caller need not hold the lock. After EAGAIN it may be
 * called again. */
void elapse__journal_read_perform(const struct elapse__journal *journal, bool may_wait,
                                  struct elapse__journal_reading *readings, size_t count);

/* Ends the reading. Returns what elapse__journal_read returns. */
int elapse__journal_read_end(struct elapse__journal *journal,
                             struct elapse__journal_reading *reading, struct elapse__record *record,
                             void **memory);

/* ---- places that the disk cannot read (unread.c) ---- */

enum {
    ELAPSE__UNREAD_MIN_MS = 1000,  /* how long a place is left alone at first */
    ELAPSE__UNREAD_MAX_MS = 60000, /* the most: the time doubles when other places can be read */
    ELAPSE__UNREAD_IN_A_ROW = 4,   /* after this many failed places in a row all hand-outs rest */
    ELAPSE__UNREAD_REST_MS = 1000,
};

/* Notes that the disk could not read the record of this reading. */
void elapse__journal_read_failed(struct elapse__journal *journal, uint64_t now_ms,
                                 const struct elapse__journal_reading *reading);

/* Notes that the record was read, which the memory and the page cache may have done, too. */
void elapse__journal_read_worked(struct elapse__journal *journal,
                                 const struct elapse__journal_reading *reading);

/* Notes that a body has a wrong checksum. */
void elapse__journal_body_damaged(struct elapse__journal *journal, uint64_t position);

/* Returns for how long the record at this position is not to be read; 0: it may be read now. */
uint64_t elapse__journal_unread_ms(const struct elapse__journal *journal, uint64_t now_ms,
                                   uint64_t position);

/* Returns until when no record is to be read for a hand-out; the past, or 0: there is no rest. */
uint64_t elapse__journal_rests_until_ms(const struct elapse__journal *journal);

/* Returns whether the last reading has failed: the next ones are to be few. */
bool elapse__journal_reads_in_doubt(const struct elapse__journal *journal);

/* What went wrong with reading, for the log of a server. */
struct elapse__journal_trouble {
    uint64_t count;
    uint64_t segment, offset; /* where the last one was */
};
struct elapse__journal_troubles {
    struct elapse__journal_trouble failed_reads, damaged_bodies;
    uint64_t unread_places; /* as in the figures */
};
void elapse__journal_troubles(const struct elapse__journal *journal,
                              struct elapse__journal_troubles *troubles);

/* Asserts the invariants of the core. */
void elapse__journal_check(const struct elapse__journal *journal);

#endif
