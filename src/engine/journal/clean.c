/*
 * Cleaning begins at the tail, the oldest segment. It reads the tail, and hands its records to the
 * owner. The owner appends the live records again. Then the tail moves on. The COMMIT of the group
 * with the last copy, or a later COMMIT, says so. The file is retired only when that COMMIT is
 * durable (F4 of journal.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "lanes.h"

enum { CLEAN_CHUNK_BYTES = 1 << 16, PAUSE_MIN_MS = 1000, PAUSE_MAX_MS = 60000 };

static void move_tail(struct elapse__journal *journal)
{
    ELAPSE__ASSERT_THAT(journal->tail, <, journal->head);
    ELAPSE__ASSERT_THAT(elapse__segments_find(journal, journal->tail)->live_bytes, ==, 0); /* F4 */
    journal->tail++;
    journal->clean_pinned = false;
    journal->clean_again_ms = 0;
    journal->clean_size = 0;
    journal->clean_wanted = 0;
    journal->clean_at = elapse__position_at(journal, journal->tail, ELAPSE__SEGMENT_HEADER_BYTES);
}

/* Hands one record to the owner. Returns whether the owner took the record. */
static bool hand_over(struct elapse__journal *journal, const uint8_t *bytes,
                      const struct elapse__frame *frame)
{
    const uint8_t *body = bytes + ELAPSE__RECORD_HEADER_BYTES + frame->fields_size;
    ELAPSE__ASSERT(!journal->follows); /* L5 */
    struct elapse__record record = {
        .type = frame->type,
        .flags = frame->flags,
        .fields_size = frame->fields_size,
        .body_size = frame->body_size,
        .fields = bytes + ELAPSE__RECORD_HEADER_BYTES,
        .body = frame->body_size == 0 ? NULL : body,
    };
    bool is_whole = elapse__frame_body_is_whole(body, frame, journal->clean_at, journal->seed);
    if (!is_whole)
        record.body = NULL;
    int error = journal->owner.clean(journal->owner.context, journal->clean_at, &record);
    journal->clean_refused = error != 0;
    ELAPSE__ASSERT(!journal->begun);
    if (!is_whole && (error == 0 || error == EBADMSG))
        elapse__journal_body_damaged(journal, journal->clean_at);
    if (error == EBADMSG)
        journal->clean_pinned = true;
    return error == 0;
}

/* Asks for at least `bytes` bytes from `clean_at` on, or for as many as the segment has. */
static void want_bytes(struct elapse__journal *journal, uint64_t bytes)
{
    uint64_t rest = elapse__segment_bytes(journal) - elapse__offset_of(journal, journal->clean_at);
    uint64_t wanted = bytes < CLEAN_CHUNK_BYTES ? CLEAN_CHUNK_BYTES : bytes;
    journal->clean_wanted = (size_t)(wanted < rest ? wanted : rest);
}

static void pass_record(struct elapse__journal *journal, const struct elapse__frame *frame)
{
    ELAPSE__ASSERT_THAT(elapse__segment_of(journal, journal->clean_at), ==, journal->tail);
    journal->clean_at += frame->bytes;
    journal->cleaned_bytes += frame->bytes;
    journal->clean_debt -= journal->clean_debt < frame->bytes ? journal->clean_debt : frame->bytes;
}

/* Examines the record at `clean_at`. Returns whether cleaning can continue at once. */
static bool examine(struct elapse__journal *journal)
{
    uint64_t ahead = journal->clean_at - journal->clean_from;
    uint64_t have = ahead < journal->clean_size ? journal->clean_size - ahead : 0;
    uint64_t rest = elapse__segment_bytes(journal) - elapse__offset_of(journal, journal->clean_at);
    struct elapse__frame frame;
    if (have < ELAPSE__RECORD_HEADER_BYTES) {
        want_bytes(journal, ELAPSE__RECORD_HEADER_BYTES);
        journal->clean_pinned = rest < ELAPSE__RECORD_HEADER_BYTES;
        return false;
    }
    /* Only now is there a buffer, and `ahead` within it. */
    const uint8_t *bytes = journal->clean_bytes + ahead;
    if (!elapse__frame_decode(bytes, &frame) || frame.bytes > rest) {
        journal->clean_pinned = true;
        return false;
    }
    if (have < frame.bytes) {
        want_bytes(journal, frame.bytes);
        return false;
    }
    if (!elapse__frame_header_is_whole(bytes, &frame, journal->clean_at, journal->seed)) {
        journal->clean_pinned = true;
        return false;
    }
    if (frame.type == ELAPSE__RECORD_SEAL) {
        pass_record(journal, &frame);
        move_tail(journal);
        return true;
    }
    if (elapse__record_has_owner(frame.type) && !hand_over(journal, bytes, &frame))
        return false;
    pass_record(journal, &frame);
    return true;
}

/* Cleans until something has to be read or written first. */
void elapse__clean_step(struct elapse__journal *journal)
{
    ELAPSE__ASSERT(!journal->begun);
    bool is_needed = elapse__clean_is_needed(journal);
    bool goes_on = is_needed && journal->background_state != ELAPSE__CLEAN_READING;
    while (goes_on && journal->closed == NULL) {
        if (elapse__segment_of(journal, journal->clean_at) != journal->tail) {
            journal->clean_at =
                elapse__position_at(journal, journal->tail, ELAPSE__SEGMENT_HEADER_BYTES);
            journal->clean_size = 0;
        }
        if (elapse__segments_find(journal, journal->tail)->live_bytes == 0)
            move_tail(journal);
        else
            goes_on = examine(journal);
        is_needed = elapse__clean_is_needed(journal);
        goes_on = goes_on && is_needed;
    }
    if (!is_needed)
        journal->clean_debt = 0;
}

bool elapse__clean_start(struct elapse__journal *journal)
{
    elapse__clean_step(journal);
    if (journal->clean_wanted == 0 || !elapse__clean_is_needed(journal))
        return false;
    if (journal->clean_capacity < journal->clean_wanted) {
        uint8_t *bytes = realloc(journal->clean_bytes, journal->clean_wanted);
        if (bytes == NULL)
            return false; /* a later tick tries again */
        journal->clean_bytes = bytes;
        journal->clean_capacity = journal->clean_wanted;
    }
    journal->clean_from = journal->clean_at;
    journal->clean_size = 0;
    journal->background_state = ELAPSE__CLEAN_READING;
    return true;
}

void elapse__clean_next(struct elapse__journal *journal, struct elapse__operation *operation)
{
    uint64_t number = elapse__segment_of(journal, journal->clean_from);
    operation->kind = ELAPSE__OPERATION_READ;
    operation->file = elapse__segments_find(journal, number)->file;
    operation->offset = elapse__offset_of(journal, journal->clean_from) + journal->clean_size;
    operation->bytes = journal->clean_bytes + journal->clean_size;
    operation->count = journal->clean_wanted - journal->clean_size;
}

/* Called when the disk cannot read the tail. The fault may be short, so the tail is read again
 * after a pause. Until then the journal works without cleaning, and the figures show it. */
static void pause_cleaning(struct elapse__journal *journal)
{
    uint64_t twice = 2 * journal->clean_pause_ms;

    journal->clean_pinned = true;
    journal->clean_size = 0;
    journal->clean_pause_ms = twice < PAUSE_MIN_MS   ? (uint64_t)PAUSE_MIN_MS
                              : twice < PAUSE_MAX_MS ? twice
                                                     : (uint64_t)PAUSE_MAX_MS;
    journal->clean_again_ms = journal->now_ms + journal->clean_pause_ms;
    elapse__journal_count_failed_read(journal, journal->clean_from);
}

void elapse__clean_retry(struct elapse__journal *journal)
{
    if (journal->clean_again_ms == 0 || journal->now_ms < journal->clean_again_ms)
        return;
    journal->clean_again_ms = 0;
    journal->clean_pinned = false;
}

void elapse__clean_completed(struct elapse__journal *journal,
                             const struct elapse__operation *operation)
{
    journal->clean_size += operation->done;
    ELAPSE__ASSERT_THAT(journal->clean_size, <=, journal->clean_wanted);
    if (operation->error != 0)
        pause_cleaning(journal);
    else if (operation->done == 0)
        journal->clean_pinned = true; /* the file is too short, which the figures show */
    else if (journal->clean_size < journal->clean_wanted)
        return;
    else
        journal->clean_pause_ms = 0;
    journal->clean_wanted = 0;
    journal->background_state = ELAPSE__BACKGROUND_RESTING;
}
