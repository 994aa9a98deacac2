/*
 * The journal is an endless log of records. The log consists of segments, which are files of the
 * same size.
 *
 * Definitions
 *
 *   position   segment number << segment_bits | offset in the segment. Positions grow in the course
 *              of the log.
 *   group      records that become durable together. A group ends with a COMMIT, and lies in one
 *              segment.
 *   head       the newest segment in use. The SEAL at the end of a segment leads to the next one.
 *   tail       the oldest segment in use. Everything live lies in tail .. head.
 *   durable    the position up to which everything is certainly on the disk.
 *   spare      a file of a segment's size that becomes a segment when one is needed.
 *   owner      the caller that gives the records, and knows which records are live, which means
 *              needed. A record is whole if its checksums are right.
 *
 * Invariants of the files, at every moment, also in the middle of a crash
 *
 *   F1  `n.log` has a whole, durable header, and a durable name, before a SEAL for n is written.
 *       Segment n exists if and only if n-1 holds a whole SEAL for it, or n is the tail.
 *   F2  The first group of n is written when the SEAL for n is durable. Every byte of n-1 up to its
 *       SEAL is durable by then.
 *   F3  A COMMIT says two positions: a `durable` that was true before its group was written, and
 *       the tail from the moment when its group is durable. Neither goes back in the course of the
 *       log.
 *   F4  A file below the tail is unlinked or used again only when a COMMIT with that tail is
 *       durable. All copies of the file's live records lie before that COMMIT.
 *   F5  A file that has another name (a backup) is never changed.
 *   F6  After the last whole group of the head nothing counts as a record of this segment. Recovery
 *       writes zeros there, whatever it finds, and syncs before anything is appended. If the new
 *       life begins in the next segment, the zeros go as far as a SEAL's group. If not, they go to
 *       the end of the segment.
 *   F7  Everything that recovery believes is on the disk before the journal takes records. Recovery
 *       writes all bytes from the last COMMIT's `durable` on again in place, and syncs.
 *
 * States of a commit lane, and what makes each arrow (commit.c, rotate.c)
 *
 *      IDLE --start_group--> WRITING --written--> SYNCING --synced--> IDLE
 *       |                                                             ^
 *       +--start_rotation--> STATUS -> HEADER -> HEADER_SYNC -> NAME -> NAME_SYNC -> SEAL ->
 *                            SEAL_SYNC -----rotated--------------------+
 *      any --an error--> FAILED                      (nothing is acknowledged any more)
 *
 *   IDLE, WRITING, SYNCING   the segment before the head has a SEAL for the head. All bytes up to
 *                            `durable` can be trusted. The group in flight may be whole, torn or
 *                            absent.
 *   STATUS .. NAME_SYNC      a file may have the name of `head + 1`, but it does not count.
 *   SEAL, SEAL_SYNC          `head + 1` is durable, and exists if the SEAL turns out whole.
 *   FAILED                   the disk may lack everything from `durable` on, whatever a read
 *                            returns.
 *
 * A journal whose groups lie in a replicated log as well has three more states: log.h.
 *
 * States of the other lane (background.c). The lane rests in RESTING. It makes a spare in CREATING
 * -> FILLING -> FILL_SYNC -> NAMING. It goes to REMOVING instead if the disk is full or the journal
 * stops. A file that fell below the tail is retired in RETIRING_STATUS -> RETIRING. Cleaning reads
 * the tail in READING. A crash in any of these states leaves a file `new-*`, a spare, or a file
 * below the tail. Recovery removes or uses these files.
 *
 * Faults, and why recovery is possible
 *
 *   crash, power cut   May come anywhere. Unsynced sectors and names are kept, lost or half
 *                      written. The chain of SEALs is whole (F1, F2). A hole in the head is torn,
 *                      which is no damage, if no COMMIT after it says that the place was durable
 *                      (F3).
 *   failed sync        The lane is FAILED, and the process ends. At the next start, either the
 *                      bytes that only the page cache has get to the disk, or recovery refuses
 *                      (F7).
 *   no space           Only the making of a spare needs space. Some spares are held, so that
 *                      deletes and copies still work.
 *   damage             A record of another place has a wrong checksum. Open refuses it, and names
 *                      file and offset. In the last group a wrong checksum means torn, not damaged.
 *   failed read        Nobody knows whether the record is whole. It is read again later (unread.c).
 *
 * The core of the journal has no threads, clock or files. It says which operation comes next
 * (next_operation), and takes the result (completed). There are two lanes, commit and background.
 * Each has at most one operation at a time. The caller holds one lock, and releases it during
 * elapse__operation_perform:
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
    ELAPSE__SPARES_GROWTH = 20, /* at most so many more, for copies that are longer */
    ELAPSE__SPARES_MAX = ELAPSE__SPARES_HELD + ELAPSE__SPARES_GROWTH + 2,
    ELAPSE__FILE_NAME_BYTES = 40,
};

/* The functions of the owner. The journal calls them from within calls of its own functions. */
struct elapse__journal_owner {
    void *context;

    /* Called by open: takes what the newest header says. An error makes open refuse. */
    int (*header)(void *context, uint64_t next_id, int64_t wall_ms);

    /* Called by open for each record, in the order of the log. An error makes open refuse. Of the
     * sink, the owner may call only `live`. */
    int (*replay)(void *context, uint64_t position, const struct elapse__record *record,
                  struct elapse__record_sink *sink);

    /* NULL, or called by open before `replay` gets the record, which it probably will soon. Called
     * once more when the record is near. The owner may fetch the memory that `replay` will need.
     * Nothing of the record was checked, not even its sizes, and the bytes may be no record at
     * all. */
    void (*fetch)(void *context, const struct elapse__record *record, bool is_near);

    /* Cleaning is about to drop the record at this position. Appends the record again if it is
     * live. If `body` is NULL although there is a size, the body is damaged. Returns 0, or EAGAIN
     * or ENOSPC of begin if it cannot append now. Then it is called again. Returns EBADMSG if the
     * record must stay where it is. Then the tail cannot be cleaned until the next start. */
    int (*clean)(void *context, uint64_t position, const struct elapse__record *record);

    /* Stores the facts that go into the header of a new segment. */
    void (*facts)(void *context, uint64_t *next_id, int64_t *wall_ms);

    /* NULL, or returns by how many bytes the copies of all live records may be longer than the
     * records. Spares for so many bytes are held. The reason: on a full disk, cleaning may have to
     * copy all live records before it reaches a record that is not live. Called often. */
    uint64_t (*growth)(void *context);

    /* NULL, or returns how many of the bytes that the sink counts as live are perhaps not live. */
    uint64_t (*excess)(void *context);

    /* NULL, or called by open of a journal with LOG_PLACEs: forgets everything that was replayed
     * before. An error makes open refuse. */
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
    const struct elapse__journal_log *log;    /* NULL: there is no log */
    /* The memory of groups and of what open reads. NULL: the C library's memory. */
    const struct elapse_allocator *memory;
    /* Open reads ahead on a thread of its own, which has ended when open returns. */
    bool reads_ahead;
};

/* Why open refused. */
enum elapse__journal_fault {
    ELAPSE__FAULT_NONE,
    ELAPSE__FAULT_CALL,            /* a call failed with `error` */
    ELAPSE__FAULT_LOCKED,          /* another process has the directory */
    ELAPSE__FAULT_HEADER,          /* the header of `file` is damaged */
    ELAPSE__FAULT_VERSION,         /* `file` has a format that this version does not know */
    ELAPSE__FAULT_FOREIGN,         /* `file` belongs to another journal or to another place */
    ELAPSE__FAULT_RECORD,          /* a record of `file`, at `offset`, is damaged */
    ELAPSE__FAULT_MISSING_SEGMENT, /* `file` is missing */
    ELAPSE__FAULT_OWNER,           /* the owner refused the record at `offset` of `file` */
    ELAPSE__FAULT_NO_PLACE, /* the journal has records that lie in no log, but there is a log */
};

struct elapse__journal_refusal {
    enum elapse__journal_fault fault;
    int error; /* an error number of errno.h */
    uint64_t offset;
    uint64_t found; /* the version; for LOCKED: the number of the process, or 0 */
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
    int file; /* given for each kind but CREATE, which stores it */
    uint64_t offset;
    uint8_t *bytes;
    size_t count;
    char name[ELAPSE__FILE_NAME_BYTES];
    char to[ELAPSE__FILE_NAME_BYTES];

    /* The error with which the operation ended. */
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
    uint64_t log_bytes; /* bytes of the segments in use */
    /* Live bytes as the owner counts them, perhaps a few too many, but at most log_bytes. */
    uint64_t live_bytes;
    uint64_t spares;
    uint64_t spare_bytes;
    uint64_t groups;
    uint64_t cleaned_bytes;  /* bytes that cleaning has examined */
    uint64_t damaged_bodies; /* bodies with a wrong checksum, from hand-outs and cleaning */
    uint64_t failed_reads;   /* reads of bodies and of the tail that the disk has refused */
    uint64_t unread_places;  /* places that could not be read when they were last tried */
    bool disk_is_full;
    bool is_pinned; /* the tail cannot be cleaned, because it is damaged or cannot be read now */
};

struct elapse__journal;

/* Opens the journal in a directory, or makes one if there is none. When it returns, everything is
 * replayed, and everything that was replayed is durable. On failure returns NULL and says why in
 * `*refusal`. */
struct elapse__journal *elapse__journal_open(const struct elapse__journal_options *options,
                                             struct elapse__journal_refusal *refusal);

/* Closes files and frees memory. Writes nothing. Requires that no operation is under way. */
void elapse__journal_free(struct elapse__journal *journal);

/* Returns the sink to which the owner appends. */
struct elapse__record_sink *elapse__journal_sink(struct elapse__journal *journal);

/* Returns the position of the next record. Requires that a group was begun. */
uint64_t elapse__journal_next_position(const struct elapse__journal *journal);

/* Stores the next operation of a lane. Returns false if there is none now, or if one is under
 * way. */
bool elapse__journal_next_operation(struct elapse__journal *journal, enum elapse__journal_lane lane,
                                    struct elapse__operation *operation);

/* Performs an operation with the table of files. */
void elapse__operation_perform(struct elapse__journal *journal,
                               struct elapse__operation *operation);

/* Takes the result of the operation of a lane. */
void elapse__journal_completed(struct elapse__journal *journal, enum elapse__journal_lane lane,
                               const struct elapse__operation *operation);

/* Performs the next operation of each lane on the calling thread. For owners without threads.
 * Returns false if there is no operation. */
bool elapse__journal_work(struct elapse__journal *journal);

/* Says what time it is, by a clock that does not go back. Cleaning may continue then. */
void elapse__journal_tick(struct elapse__journal *journal, uint64_t now_ms);

/* Changes when a group is acknowledged. With interval_ms > 0 a group is acknowledged when it is
 * written, and synced so many milliseconds later. With 0 it is acknowledged when it is synced. At
 * the beginning of a life the options say which. */
void elapse__journal_set_interval(struct elapse__journal *journal, uint32_t interval_ms);

/* Asks for the empty COMMIT of a clean stop at once instead of after 100 ms. */
void elapse__journal_stop(struct elapse__journal *journal);

/* Returns the position before which everything may be acknowledged. */
uint64_t elapse__journal_durable(const struct elapse__journal *journal);

/* Returns where the group begins that takes records now; UINT64_MAX if there is none. Everything
 * that was appended behind this position becomes durable at once. */
uint64_t elapse__journal_forming(const struct elapse__journal *journal);

/* Returns whether the owner should run no more commands until operations have completed. */
bool elapse__journal_is_full(const struct elapse__journal *journal);

/* Returns whether the journal has nothing to do: everything is durable, and a COMMIT after it says
 * so. */
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

/* Reads the record at a position with its body. The caller frees the memory by free(). Returns 0 or
 * an error number:
 *  - EAGAIN: it is not in the page cache, and `may_wait` is false.
 *  - EBADMSG: the record is damaged.
 *  - ENOENT: there is no such segment.
 *  - ENOMEM: there is no memory.
 *  - EIO: the disk could not read, whatever the system's error was. */
int elapse__journal_read(struct elapse__journal *journal, uint64_t position, bool may_wait,
                         struct elapse__record *record, void **memory);

/* A reading in three steps, so that other threads can work while the disk is read. */
struct elapse__journal_reading {
    uint64_t position;
    uint32_t body_size; /* the size that the caller expects */
    int file;           /* ELAPSE__NO_FILE: the record was in memory */
    uint8_t *bytes;
    size_t size; /* the size of `bytes` */
    int error;
    bool may_wait; /* the `may_wait` with which it was performed; false: the page cache had it */
};

/* Finds the record, and keeps its segment unchanged until the end of the reading. A right
 * `body_size` saves a call of the system. */
void elapse__journal_read_begin(struct elapse__journal *journal, uint64_t position,
                                uint32_t body_size, struct elapse__journal_reading *reading);

/* Reads what was not in memory. Records that lie close together take one call of the system for
 * many, if they are in the order of their positions. The caller need not hold the lock. After
 * EAGAIN this may be called again. */
void elapse__journal_read_perform(const struct elapse__journal *journal, bool may_wait,
                                  struct elapse__journal_reading *readings, size_t count);

/* Ends the reading. Returns what elapse__journal_read returns. */
int elapse__journal_read_end(struct elapse__journal *journal,
                             struct elapse__journal_reading *reading, struct elapse__record *record,
                             void **memory);

/* ---- places that the disk cannot read (unread.c) ---- */

enum {
    ELAPSE__UNREAD_MIN_MS = 1000,  /* how long nobody reads a place at first */
    ELAPSE__UNREAD_MAX_MS = 60000, /* the longest time; it doubles while other places can be read */
    ELAPSE__UNREAD_IN_A_ROW = 4,   /* after so many failed places in a row hand-outs take no job */
    ELAPSE__UNREAD_REST_MS = 1000,
};

/* Notes that the disk could not read the record of this reading. */
void elapse__journal_read_failed(struct elapse__journal *journal, uint64_t now_ms,
                                 const struct elapse__journal_reading *reading);

/* Notes that the record was read. It may have come from memory or from the page cache. */
void elapse__journal_read_worked(struct elapse__journal *journal,
                                 const struct elapse__journal_reading *reading);

/* Notes that a body has a wrong checksum. */
void elapse__journal_body_damaged(struct elapse__journal *journal, uint64_t position);

/* Returns for how long nobody should read the record at this position. 0: it may be read now. */
uint64_t elapse__journal_unread_ms(const struct elapse__journal *journal, uint64_t now_ms,
                                   uint64_t position);

/* Returns the time before which no record should be read for a hand-out. If it is in the past,
 * records may be read. */
uint64_t elapse__journal_rests_until_ms(const struct elapse__journal *journal);

/* Returns whether the last reading has failed. Then only a few records should be read next. */
bool elapse__journal_reads_in_doubt(const struct elapse__journal *journal);

/* What went wrong with reading, for the messages of a server. */
struct elapse__journal_trouble {
    uint64_t count;
    uint64_t segment, offset; /* where the last failed reading was */
};
struct elapse__journal_troubles {
    struct elapse__journal_trouble failed_reads, damaged_bodies;
    uint64_t unread_places; /* the same as in the figures */
};
void elapse__journal_troubles(const struct elapse__journal *journal,
                              struct elapse__journal_troubles *troubles);

/* Asserts the invariants of the core. */
void elapse__journal_check(const struct elapse__journal *journal);

#endif
