#include "walk.h"

#include "../base/assert.h"

void elapse__walk_begin(struct elapse__walk *walk, const struct elapse__segment_view *view,
                        uint64_t offset)
{
    ELAPSE__ASSERT_THAT(offset % ELAPSE__JOURNAL_ALIGNMENT, ==, 0);
    walk->view = view;
    walk->offset = offset;
}

/* Reads the record at this offset, if one is there. */
static bool record_at(const struct elapse__segment_view *view, uint64_t offset,
                      struct elapse__frame *frame)
{
    const uint8_t *bytes = view->bytes + offset;
    if (view->size - offset < ELAPSE__RECORD_HEADER_BYTES || !elapse__frame_decode(bytes, frame) ||
        frame->bytes > view->size - offset)
        return false;
    uint64_t own = frame->type == ELAPSE__RECORD_SEAL     ? ELAPSE__SEAL_BYTES
                   : frame->type == ELAPSE__RECORD_COMMIT ? ELAPSE__COMMIT_BYTES
                                                          : frame->bytes;
    return frame->bytes == own &&
           elapse__frame_header_is_whole(bytes, frame, view->first_position + offset, view->seed);
}

bool elapse__walk_next(struct elapse__walk *walk)
{
    ELAPSE__ASSERT_THAT(walk->offset, <=, walk->view->size);
    if (!record_at(walk->view, walk->offset, &walk->frame))
        return false;
    walk->bytes = walk->view->bytes + walk->offset;
    walk->position = walk->view->first_position + walk->offset;
    walk->offset += walk->frame.bytes;
    return true;
}

void elapse__survey_segment(const struct elapse__segment_view *view, struct elapse__survey *survey,
                            uint64_t end)
{
    struct elapse__walk walk;
    bool seal_waits = false, has_records = false;
    uint64_t group_start = ELAPSE__SEGMENT_HEADER_BYTES;
    *survey = (struct elapse__survey){.end = ELAPSE__SEGMENT_HEADER_BYTES,
                                      .group_start = ELAPSE__SEGMENT_HEADER_BYTES};
    elapse__walk_begin(&walk, view, ELAPSE__SEGMENT_HEADER_BYTES);
    while (!survey->is_sealed && walk.offset < end && elapse__walk_next(&walk)) {
        if (walk.frame.type == ELAPSE__RECORD_SEAL) {
            seal_waits = true;
            survey->sealed_next = elapse__seal_decode(walk.bytes);
        }
        if (walk.frame.type != ELAPSE__RECORD_COMMIT) {
            has_records = true;
            continue;
        }
        survey->last = elapse__commit_decode(walk.bytes);
        survey->commits++;
        survey->end = walk.offset;
        survey->group_start = group_start;
        survey->last_has_records = has_records;
        survey->is_sealed = seal_waits;
        group_start = walk.offset;
        has_records = false;
    }
    survey->bad_offset = walk.offset;
}

void elapse__remnants_find(const struct elapse__segment_view *view, uint64_t offset,
                           struct elapse__remnants *remnants)
{
    *remnants = (struct elapse__remnants){.durable = 0};
    for (; offset + ELAPSE__RECORD_HEADER_BYTES <= view->size;
         offset += ELAPSE__JOURNAL_ALIGNMENT) {
        struct elapse__frame frame;
        if (!record_at(view, offset, &frame) || frame.type != ELAPSE__RECORD_COMMIT)
            continue;
        struct elapse__commit commit = elapse__commit_decode(view->bytes + offset);
        remnants->commits++;
        if (commit.durable > remnants->durable)
            remnants->durable = commit.durable;
    }
}

uint64_t elapse__damaged_group_find(const struct elapse__segment_view *view, uint64_t offset,
                                    uint64_t end)
{
    struct elapse__walk walk;
    uint64_t group_start = offset;
    elapse__walk_begin(&walk, view, offset);
    while (walk.offset < end && elapse__walk_next(&walk)) {
        const uint8_t *body = walk.bytes + ELAPSE__RECORD_HEADER_BYTES + walk.frame.fields_size;
        if (!elapse__frame_body_is_whole(body, &walk.frame, walk.position, view->seed))
            return group_start;
        if (walk.frame.type == ELAPSE__RECORD_COMMIT)
            group_start = walk.offset;
    }
    return end;
}
