/*
 * Reads a segment record by record, and says what the segment has. Either the whole segment is in
 * memory, or a window moves over its file. With a window, bodies that are longer than the window
 * are never read.
 */
#ifndef ELAPSE__JOURNAL_WALK_H
#define ELAPSE__JOURNAL_WALK_H

#include "../../os/files.h"
#include "ahead.h"
#include "frame.h"

/* The size of a window. It is larger than the header and the fields of any record. */
enum { ELAPSE__WINDOW_BYTES = 1 << 18 };

struct elapse__window {
    const struct elapse__files *files;
    struct elapse__ahead
        *ahead; /* reads the bytes behind the window meanwhile; NULL: nobody does */
    int file;
    uint64_t from; /* the offset of `bytes` in the file */
    size_t have;
    uint8_t *bytes; /* ELAPSE__WINDOW_BYTES */
    int error;      /* the error of a failed reading, after which nothing is found */
};

/* A segment that is read. Either it lies in `bytes`, or a window moves over its file. */
struct elapse__segment_view {
    const uint8_t *bytes;          /* all bytes of the segment; or NULL */
    struct elapse__window *window; /* the window that reads the segment; or NULL */
    uint64_t size;
    uint64_t first_position; /* the position of byte 0 */
    uint64_t seed;
    uint64_t checked; /* all headers below this offset are known to be whole */
};

struct elapse__walk {
    const struct elapse__segment_view *view;
    uint64_t offset; /* the offset of the next record, or of the first bytes that are no record */
    struct elapse__frame frame;
    const uint8_t *bytes; /* header and fields of the record that was found; valid until the next */
    uint64_t position;    /* the position of the record that was found */
};

/* What a segment has from its beginning to the first place that is no record. */
struct elapse__survey {
    uint64_t bad_offset;
    bool is_unknown; /* a whole record of an unknown type lies there */
    uint64_t commits;
    uint64_t end;         /* after the last COMMIT, or where the first record would begin */
    uint64_t group_start; /* where the last whole group begins */
    bool last_has_records;
    struct elapse__commit last; /* the last COMMIT, if there is one */
    bool is_sealed;
    uint64_t sealed_next;
};

/* Moves the window so that it has `least` bytes from this offset on, and perhaps bytes before.
 * Requires that a file of `size` bytes has them, and that `least` is at most
 * ELAPSE__WINDOW_BYTES. Returns false if they cannot be read. */
bool elapse__window_move(struct elapse__window *window, uint64_t offset, size_t least,
                         uint64_t size);

void elapse__walk_begin(struct elapse__walk *walk, const struct elapse__segment_view *view,
                        uint64_t offset);

/* Finds the next record. Returns false if there is none. Does not check bodies. Requires that a
 * walk below `checked` begins at a record. */
bool elapse__walk_next(struct elapse__walk *walk);

/* Reads what may be the record at this offset, if its header and its fields are in memory. Checks
 * nothing, so the bytes may be no record at all. Returns its header, or NULL. */
const uint8_t *elapse__walk_peek(const struct elapse__segment_view *view, uint64_t offset,
                                 struct elapse__frame *frame);

/* Asks for these bytes, if they are in memory, so that a walk does not wait for them later. */
void elapse__walk_fetch(const struct elapse__segment_view *view, uint64_t offset, uint64_t count);

/* Walks up to `end`. Bytes after `end` do not count. */
void elapse__survey_segment(const struct elapse__segment_view *view, struct elapse__survey *survey,
                            uint64_t end);

/* What lies after a place that is no record. */
struct elapse__remnants {
    uint64_t durable; /* the greatest `durable` of any COMMIT there; or 0 */
    uint64_t commits;
};

void elapse__remnants_find(const struct elapse__segment_view *view, uint64_t offset,
                           struct elapse__remnants *remnants);

/* Returns where the first group with a damaged body begins, from `offset` on, or `end` if there is
 * none. */
uint64_t elapse__damaged_group_find(const struct elapse__segment_view *view, uint64_t offset,
                                    uint64_t end);

#endif
