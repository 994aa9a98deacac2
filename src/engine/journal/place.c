/*
 * Writes the end of a group: its place in the replicated log, and its COMMIT. log.h explains
 * places.
 */
#include <string.h>

#include "../../base/assert.h"
#include "group.h"

void elapse__log_forget(struct elapse__journal *journal)
{
    for (size_t i = 0; i < journal->segment_count; i++) {
        journal->segments[i].live_bytes = 0;
        journal->segments[i].first_group = 0;
    }
    journal->live_bytes = 0;
}

void elapse__log_note_group(struct elapse__journal *journal, uint64_t position, uint64_t group)
{
    struct elapse__segment *segment =
        elapse__segments_find(journal, elapse__segment_of(journal, position));
    ELAPSE__ASSERT(segment != NULL);
    if (segment->first_group == 0)
        segment->first_group = group;
}

int elapse__journal_log_replay_place(struct elapse__journal *journal, uint64_t position,
                                     const struct elapse__journal_place *place)
{
    int error = 0;
    if (place->forgets) {
        if (journal->owner.forget != NULL) /* an owner that only reads may have no such function */
            error = journal->owner.forget(journal->owner.context);
        elapse__log_forget(journal);
    }
    elapse__log_note_group(journal, position, place->group);
    journal->log_end = journal->log_written = *place;
    journal->log_end.forgets = journal->log_written.forgets = false;
    return error;
}

/* Appends the LOG_PLACE to the group in flight. */
static void place_group(struct elapse__journal *journal, struct elapse__group *group)
{
    uint64_t position = group->position + group->size;
    bool is_read = group->has_place && !group->log_place.is_confirmed;
    struct elapse__journal_place place = group->has_place ? group->log_place : journal->log_written;
    ELAPSE__ASSERT_THAT(group->size + ELAPSE__LOG_PLACE_BYTES + ELAPSE__COMMIT_BYTES, <=,
                        group->capacity);
    elapse__journal_log_place_encode(&place, position, journal->seed, group->bytes + group->size);
    /* L2: places follow each other in the order of the log's groups. */
    ELAPSE__ASSERT(place.forgets || place.group >= journal->log_written.group);
    group->size += ELAPSE__LOG_PLACE_BYTES;
    journal->log_written = place;
    journal->log_written.forgets = false; /* a repeated place forgets nothing */
    if (place.forgets) {
        ELAPSE__ASSERT_THAT(journal->log_forgets, >, 0U);
        journal->log_forgets--;
    }
    /* A group that was read from the log was noted when it was read. While a LOG_PLACE that forgets
     * waits to be written, a repeated place names a group that will be forgotten. So it is not
     * noted. */
    if (!is_read && journal->log_forgets == 0)
        elapse__log_note_group(journal, position, place.group);
}

/* Returns whether the padding is all zeros. */
static bool is_padded(const struct elapse__group *group)
{
    const uint8_t *first = group->bytes + group->size;
    return group->padding == 0 ||
           (first[0] == 0 && memcmp(first, first + 1, group->padding - 1) == 0);
}

/* Writes the zeros up to the end of the page. Leaves out those that an earlier padding has left in
 * the buffer: one put at a time would write nearly 4 KiB of them for each, 1,600 instructions. */
static void pad(struct elapse__group *group)
{
    size_t begin = group->size;
    size_t end = begin + group->padding;
    size_t kept = group->zeros_begin > begin ? group->zeros_begin : begin;
    size_t kept_end = group->zeros_end < end ? group->zeros_end : end;

    ELAPSE__ASSERT_THAT(end, <=, group->capacity);
    if (kept >= kept_end) {
        kept = kept_end = end;
        group->zeros_end = end;
    }
    memset(group->bytes + begin, 0, kept - begin);
    memset(group->bytes + kept_end, 0, end - kept_end);
    group->zeros_begin = begin;
    group->zeros_end = group->zeros_end > end ? group->zeros_end : end;
    ELAPSE__ASSERT(is_padded(group));
    (void)is_padded; /* only assertions use it */
}

void elapse__commit_write(struct elapse__journal *journal)
{
    struct elapse__group *group = journal->in_flight;
    ELAPSE__ASSERT_THAT(elapse__segment_of(journal, group->position), ==, journal->head); /* F2 */
    ELAPSE__ASSERT(journal->log == NULL || group->size == 0 || group->has_place);         /* L1 */
    ELAPSE__ASSERT_THAT(journal->commit_state, !=, ELAPSE__LOG_FENCED);                   /* L6 */
    struct elapse__commit commit = {.durable = journal->durable, .tail = group->tail};
    journal->idle_commit_wanted = group->size > 0;
    if (journal->is_placed)
        place_group(journal, group);
    ELAPSE__ASSERT_THAT(group->position, >=, journal->written);
    ELAPSE__ASSERT_THAT(group->tail, >=, journal->committed_tail);
    ELAPSE__ASSERT_THAT(group->size + ELAPSE__COMMIT_BYTES, <=, group->capacity);
    elapse__commit_encode(&commit, group->position + group->size, journal->seed,
                          group->bytes + group->size);
    group->size += ELAPSE__COMMIT_BYTES;
    group->padding = elapse__rest_of_page(journal, group->position + group->size);
    pad(group);
    journal->committed_tail = group->tail;
    journal->progress = 0;
    journal->commit_state = ELAPSE__COMMIT_WRITING;
}
