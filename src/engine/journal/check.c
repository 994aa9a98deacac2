/*
 * Tests the invariants of the core. They are numbered in journal.h and log.h.
 */
#include "../../base/assert.h"
#include "space.h"

#ifdef ELAPSE__ASSERTIONS

static void check_places(const struct elapse__journal *journal)
{
    ELAPSE__ASSERT_THAT(journal->durable, <=, journal->written);
    ELAPSE__ASSERT_THAT(journal->written, <=, journal->place);
    ELAPSE__ASSERT_THAT(elapse__segment_of(journal, journal->place), >=, journal->head);
    ELAPSE__ASSERT_THAT(elapse__offset_of(journal, journal->place), >=,
                        ELAPSE__SEGMENT_HEADER_BYTES);
    ELAPSE__ASSERT_THAT(journal->place % ELAPSE__JOURNAL_ALIGNMENT, ==, 0);
}

/* F3, F4: when a tail moves, these fields change in this order. */
static void check_tails(const struct elapse__journal *journal)
{
    ELAPSE__ASSERT_THAT(journal->first, <=, journal->durable_tail);
    ELAPSE__ASSERT_THAT(journal->durable_tail, <=, journal->committed_tail);
    ELAPSE__ASSERT_THAT(journal->committed_tail, <=, journal->tail);
    ELAPSE__ASSERT_THAT(journal->tail, <=, journal->head);
    uint64_t tail = journal->committed_tail;
    for (const struct elapse__group *group = journal->closed; group != NULL; group = group->next) {
        ELAPSE__ASSERT_THAT(tail, <=, group->tail);
        tail = group->tail;
    }
    ELAPSE__ASSERT_THAT(tail, <=, journal->tail);
}

/* F1, F2: an existing segment has a file, and groups go only to existing segments. */
static void check_segments(const struct elapse__journal *journal)
{
    uint64_t live = 0;
    for (size_t i = 0; i < journal->segment_count; i++) {
        live += journal->segments[i].live_bytes;
        bool exists = journal->first + i <= journal->head;
        ELAPSE__ASSERT(exists == (journal->segments[i].file != ELAPSE__NO_FILE));
    }
    ELAPSE__ASSERT_THAT(live, ==, journal->live_bytes);
    ELAPSE__ASSERT_THAT(journal->first + journal->segment_count - 1, ==,
                        elapse__segment_of(journal, journal->place));
    if (journal->in_flight != NULL) {
        ELAPSE__ASSERT_THAT(elapse__segment_of(journal, journal->in_flight->position), ==,
                            journal->head);
        ELAPSE__ASSERT_THAT(journal->in_flight->position, >=, journal->written);
        ELAPSE__ASSERT_THAT(journal->progress, <=,
                            journal->in_flight->size + journal->in_flight->padding);
    }
}

/* Tests L1 to L6 of log.h as far as the core shows them. */
static void check_log(const struct elapse__journal *journal)
{
    ELAPSE__ASSERT(journal->log == NULL || journal->is_placed);
    ELAPSE__ASSERT(journal->log != NULL || (!journal->follows && !journal->pushes));
    ELAPSE__ASSERT(!journal->follows || !journal->pushes);
    ELAPSE__ASSERT(!journal->unconfirmed || journal->commit_state == ELAPSE__LOG_FENCED ||
                   journal->error != 0);
    for (size_t i = 1; i < journal->segment_count; i++)
        ELAPSE__ASSERT(journal->segments[i].first_group == 0 ||
                       journal->segments[i].first_group >= journal->segments[i - 1].first_group);
}

static void check_states(const struct elapse__journal *journal)
{
    bool writes = journal->commit_state == ELAPSE__COMMIT_WRITING;
    bool rotates = journal->commit_state >= ELAPSE__ROTATE_STATUS &&
                   journal->commit_state <= ELAPSE__ROTATE_SEAL_SYNC;
    bool failed = journal->commit_state == ELAPSE__COMMIT_FAILED;
    ELAPSE__ASSERT(failed == (journal->error != 0));
    writes |= journal->commit_state == ELAPSE__LOG_SUBMITTING ||
              journal->commit_state == ELAPSE__LOG_SUBMITTED;
    failed |= journal->commit_state == ELAPSE__LOG_FENCED;
    ELAPSE__ASSERT(failed || writes == (journal->in_flight != NULL));
    ELAPSE__ASSERT(failed || rotates == (journal->taken.file != ELAPSE__NO_FILE));
    ELAPSE__ASSERT(!rotates || journal->written == journal->durable);
}

void elapse__journal_check(const struct elapse__journal *journal)
{
    check_places(journal);
    check_tails(journal);
    check_segments(journal);
    check_log(journal);
    check_states(journal);
}

#else

void elapse__journal_check(const struct elapse__journal *journal)
{
    (void)journal;
}

#endif
