#include "walk.h"

#include <string.h>

#include "../../base/assert.h"
#include "core.h"
#include "transfer.h"

enum {
    READ_AHEAD_BYTES = 1 << 22, /* how many bytes ahead of the walk the disk is asked to read */
    /* The piece behind a window begins so many bytes before the end of the window. So it has the
     * whole header and the fields of most records that lie across that end. A page, because pieces
     * then begin with a page as windows do. */
    OVERLAP_BYTES = ELAPSE__FILE_PAGE_MAX,
};

void elapse__walk_begin(struct elapse__walk *walk, const struct elapse__segment_view *view,
                        uint64_t offset)
{
    ELAPSE__ASSERT_THAT(offset % ELAPSE__JOURNAL_ALIGNMENT, ==, 0);
    walk->view = view;
    walk->offset = offset;
}

/* Reads a window that begins at this offset. */
static bool read_window(struct elapse__window *window, uint64_t offset, uint64_t size)
{
    size_t count = size - offset < ELAPSE__WINDOW_BYTES ? (size_t)(size - offset)
                                                        : (size_t)ELAPSE__WINDOW_BYTES;
    window->error = elapse__read_all(window->files, window->file, offset, window->bytes, count);
    window->from = offset;
    window->have = window->error == 0 ? count : 0;
    return window->error == 0;
}

/* Takes a window that was read ahead. Returns false if it does not have these bytes. */
static bool take_window(struct elapse__window *window, uint64_t offset, size_t least)
{
    struct elapse__ahead_piece piece = {
        .file = window->file, .offset = offset, .count = least, .bytes = window->bytes};
    if (window->ahead == NULL || !elapse__ahead_take(window->ahead, &piece))
        return false;
    window->bytes = piece.bytes;
    window->from = piece.offset;
    window->have = piece.count;
    return true;
}

/* Asks for the window behind this one. */
static void ask_for_next(const struct elapse__window *window, uint64_t size)
{
    uint64_t end = window->from + window->have;
    if (end >= size || window->have < ELAPSE__WINDOW_BYTES)
        return;
    uint64_t offset = end - OVERLAP_BYTES;
    size_t count = size - offset < ELAPSE__WINDOW_BYTES ? (size_t)(size - offset)
                                                        : (size_t)ELAPSE__WINDOW_BYTES;
    elapse__ahead_ask(window->ahead, window->file, offset, count);
}

bool elapse__window_move(struct elapse__window *window, uint64_t offset, size_t least,
                         uint64_t size)
{
    ELAPSE__ASSERT_THAT(least, <=, ELAPSE__WINDOW_BYTES);
    ELAPSE__ASSERT_THAT(least, <=, size - offset);
    /* Behind a long body there may be another one, which nobody needs to read. */
    bool is_next = offset <= window->from + window->have + OVERLAP_BYTES;
    window->files->read_ahead(window->file, offset + READ_AHEAD_BYTES, ELAPSE__WINDOW_BYTES);
    if (!take_window(window, offset, least) && !read_window(window, offset, size))
        return false;
    ELAPSE__ASSERT_THAT(offset, >=, window->from);
    ELAPSE__ASSERT_THAT(offset + least, <=, window->from + window->have);
    if (window->ahead != NULL && is_next)
        ask_for_next(window, size);
    return true;
}

/* Returns `count` bytes of the segment, or NULL if they cannot be read. */
static const uint8_t *reach(const struct elapse__segment_view *view, uint64_t offset, size_t count)
{
    struct elapse__window *window = view->window;
    ELAPSE__ASSERT_THAT(count, <=, view->size - offset);
    if (window == NULL)
        return view->bytes + offset;
    bool is_there = offset >= window->from && offset - window->from <= window->have &&
                    count <= window->have - (size_t)(offset - window->from);
    if (!is_there &&
        (window->error != 0 || !elapse__window_move(window, offset, count, view->size)))
        return NULL;
    return window->bytes + (offset - window->from);
}

/* Returns whether a record of the journal's own has the size that its decoding needs. */
static bool has_own_shape(const struct elapse__frame *frame)
{
    unsigned bytes = frame->type == ELAPSE__RECORD_SEAL        ? ELAPSE__SEAL_BYTES
                     : frame->type == ELAPSE__RECORD_COMMIT    ? ELAPSE__COMMIT_BYTES
                     : frame->type == ELAPSE__RECORD_LOG_PLACE ? ELAPSE__LOG_PLACE_BYTES
                                                               : 0;
    return bytes == 0 ||
           (frame->fields_size == bytes - ELAPSE__RECORD_HEADER_BYTES && frame->body_size == 0);
}

/* Returns header and fields at this offset, or NULL if they cannot be those of a record. */
static const uint8_t *frame_at(const struct elapse__segment_view *view, uint64_t offset,
                               struct elapse__frame *frame)
{
    uint64_t rest = view->size - offset;
    size_t count = ELAPSE__RECORD_HEADER_BYTES;
    for (const uint8_t *before = NULL;;) {
        const uint8_t *bytes = rest < count ? NULL : reach(view, offset, count);
        if (bytes == NULL || bytes == before)
            return bytes;
        /* A window that has moved has read the header again, and a disk may answer differently the
         * second time. */
        if (!elapse__frame_decode(bytes, frame) || frame->bytes > rest || !has_own_shape(frame))
            return NULL;
        count = (size_t)ELAPSE__RECORD_HEADER_BYTES + frame->fields_size;
        before = bytes;
    }
}

/* Returns header and fields of the record at this offset, or NULL if no record is there. */
static const uint8_t *record_at(const struct elapse__segment_view *view, uint64_t offset,
                                struct elapse__frame *frame)
{
    const uint8_t *bytes = frame_at(view, offset, frame);
    if (bytes == NULL)
        return NULL;
    bool is_whole =
        offset + frame->bytes <= view->checked ||
        elapse__frame_header_is_whole(bytes, frame, view->first_position + offset, view->seed);
    return is_whole ? bytes : NULL;
}

bool elapse__walk_next(struct elapse__walk *walk)
{
    ELAPSE__ASSERT_THAT(walk->offset, <=, walk->view->size);
    walk->bytes = record_at(walk->view, walk->offset, &walk->frame);
    if (walk->bytes == NULL)
        return false;
    walk->position = walk->view->first_position + walk->offset;
    walk->offset += walk->frame.bytes;
    return true;
}

/* Returns how many bytes of the segment are in memory from this offset on. */
static uint64_t bytes_in_memory(const struct elapse__segment_view *view, uint64_t offset)
{
    const struct elapse__window *window = view->window;
    if (window == NULL)
        return offset < view->size ? view->size - offset : 0;
    bool is_there = offset >= window->from && offset - window->from < window->have;
    return is_there ? window->have - (offset - window->from) : 0;
}

const uint8_t *elapse__walk_peek(const struct elapse__segment_view *view, uint64_t offset,
                                 struct elapse__frame *frame)
{
    uint64_t have = bytes_in_memory(view, offset);
    if (have < ELAPSE__RECORD_HEADER_BYTES)
        return NULL;
    const uint8_t *bytes = view->window == NULL
                               ? view->bytes + offset
                               : view->window->bytes + (offset - view->window->from);
    bool is_there = elapse__frame_decode(bytes, frame) &&
                    have - ELAPSE__RECORD_HEADER_BYTES >= frame->fields_size;
    return is_there ? bytes : NULL;
}

void elapse__walk_fetch(const struct elapse__segment_view *view, uint64_t offset, uint64_t count)
{
    uint64_t have = bytes_in_memory(view, offset);
    count = count < have ? count : have;
    if (count == 0)
        return;
    const uint8_t *bytes = view->window == NULL
                               ? view->bytes + offset
                               : view->window->bytes + (offset - view->window->from);
    for (uint64_t at = 0; at < count; at += ELAPSE__LINE_BYTES)
        __builtin_prefetch(bytes + at);
}

/* Returns whether a whole record of an unknown type lies at this offset. */
static bool is_unknown_record(const struct elapse__segment_view *view, uint64_t offset)
{
    struct elapse__frame frame;
    uint64_t rest = view->size - offset;
    const uint8_t *bytes = rest < ELAPSE__RECORD_HEADER_BYTES
                               ? NULL
                               : reach(view, offset, ELAPSE__RECORD_HEADER_BYTES);
    if (bytes == NULL || elapse__frame_decode(bytes, &frame) || frame.bytes > rest)
        return false;
    bytes = reach(view, offset, (size_t)ELAPSE__RECORD_HEADER_BYTES + frame.fields_size);
    return bytes != NULL &&
           elapse__frame_header_is_whole(bytes, &frame, view->first_position + offset, view->seed);
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
            has_records |= walk.frame.type != ELAPSE__RECORD_LOG_PLACE;
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
    survey->is_unknown = walk.offset < end && is_unknown_record(view, walk.offset);
    ELAPSE__ASSERT_THAT(survey->group_start, <=, survey->end);
    ELAPSE__ASSERT_THAT(survey->end, <=, survey->bad_offset);
}

enum { ZEROS_AT_ONCE = 256 };

/* Returns whether these ZEROS_AT_ONCE bytes are zeros. Most bytes of a head are zeros. */
static bool are_zeros(const uint8_t *bytes)
{
    uint64_t words[ZEROS_AT_ONCE / sizeof(uint64_t)], all = 0;
    memcpy(words, bytes, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        all |= words[i];
    return all == 0;
}

void elapse__remnants_find(const struct elapse__segment_view *view, uint64_t offset,
                           struct elapse__remnants *remnants)
{
    *remnants = (struct elapse__remnants){.durable = 0};
    for (; offset + ELAPSE__RECORD_HEADER_BYTES <= view->size;
         offset += ELAPSE__JOURNAL_ALIGNMENT) {
        struct elapse__frame frame;
        /* Skips places where no COMMIT can begin. Its sizes and its type are not zeros, and lie
         * ELAPSE__RECORD_SIZES_AT bytes after its beginning. At each skipped place they would lie
         * among the zeros. */
        while (offset + ZEROS_AT_ONCE <= view->size && are_zeros(view->bytes + offset))
            offset += ZEROS_AT_ONCE - ELAPSE__RECORD_SIZES_AT;
        if (offset + ELAPSE__RECORD_HEADER_BYTES > view->size ||
            !elapse__frame_may_be_commit(view->bytes + offset) ||
            record_at(view, offset, &frame) == NULL)
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
    struct elapse__segment_view all = *view;
    struct elapse__walk walk;
    uint64_t group_start = offset;
    all.checked = 0; /* this walk has to find out whether a record begins at `offset` */
    elapse__walk_begin(&walk, &all, offset);
    while (walk.offset < end && elapse__walk_next(&walk)) {
        const uint8_t *body = walk.bytes + ELAPSE__RECORD_HEADER_BYTES + walk.frame.fields_size;
        ELAPSE__ASSERT(view->window == NULL);
        if (!elapse__frame_body_is_whole(body, &walk.frame, walk.position, view->seed))
            return group_start;
        if (walk.frame.type == ELAPSE__RECORD_COMMIT)
            group_start = walk.offset;
    }
    return end;
}
