/*
 * Reading a segment that lies in memory, record by record, and what that tells about it.
 */
#ifndef ELAPSE__JOURNAL_WALK_H
#define ELAPSE__JOURNAL_WALK_H

#include "frame.h"

/* The bytes of a segment, all of them. */
struct elapse__segment_view {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t first_position; /* of byte 0 */
    uint64_t seed;
};

struct elapse__walk {
    const struct elapse__segment_view *view;
    uint64_t offset; /* of the next record; at the end: of the first that is none */
    struct elapse__frame frame;
    const uint8_t *bytes; /* of the record that was found */
    uint64_t position;    /* of that */
};

/* What a segment has from its beginning to the first place that is no record. */
struct elapse__survey {
    uint64_t bad_offset;
    uint64_t commits;
    uint64_t end;         /* behind the last COMMIT; or where the first record would begin */
    uint64_t group_start; /* of the last whole group */
    bool last_has_records;
    struct elapse__commit last; /* of the last COMMIT, if there is one */
    bool is_sealed;
    uint64_t sealed_next;
};

void elapse__walk_begin(struct elapse__walk *walk, const struct elapse__segment_view *view,
                        uint64_t offset);

/* Goes to the next record. Returns false if none is there. Bodies are not checked. */
bool elapse__walk_next(struct elapse__walk *walk);

/* Walks up to `end`: bytes behind it do not count. */
void elapse__survey_segment(const struct elapse__segment_view *view, struct elapse__survey *survey,
                            uint64_t end);

/* What lies behind a place that is no record. */
struct elapse__remnants {
    uint64_t durable; /* the greatest `durable` of any COMMIT there, or 0 */
    uint64_t commits;
};

void elapse__remnants_find(const struct elapse__segment_view *view, uint64_t offset,
                           struct elapse__remnants *remnants);

/* Returns where the first group from `offset` on begins that has a damaged body, or `end`. */
uint64_t elapse__damaged_group_find(const struct elapse__segment_view *view, uint64_t offset,
                                    uint64_t end);

#endif
