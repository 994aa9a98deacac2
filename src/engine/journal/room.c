/*
 * Decides who may take which space, for the lanes and for the group that forms. Nothing here
 * changes the journal.
 */
#include "space.h"

#include "../../base/assert.h"

/* On a full disk, cleaning makes room for new jobs while more than one byte in so many is not live.
 * So each byte that is put costs at most three that are copied. */
enum { GROWTH_GAIN = 4 };

/* Returns by how many bytes the copies of all live records may be longer than the records. */
uint64_t elapse__growth_bytes(const struct elapse__journal *journal)
{
    const struct elapse__journal_owner *owner = &journal->owner;
    return owner->growth == NULL ? 0 : owner->growth(owner->context);
}

/* Returns how many spares are held for deletes and copies. */
unsigned elapse__spares_held(const struct elapse__journal *journal)
{
    uint64_t growth = elapse__growth_bytes(journal);
    uint64_t segment = elapse__segment_bytes(journal);
    uint64_t more = (growth + segment / 2) / segment; /* rounded: half a segment needs no spare */
    ELAPSE__ASSERT_THAT(journal->spare_count, <=, ELAPSE__SPARES_MAX);
    return ELAPSE__SPARES_HELD +
           (unsigned)(more < ELAPSE__SPARES_GROWTH ? more : ELAPSE__SPARES_GROWTH);
}

/* Returns how many spares there should be: those that are held, and one for the next segment. More
 * were held for a record that was refused, if the owner has taken back what it had prepared for the
 * record. Without those the record would be refused for ever. */
unsigned elapse__spares_wanted(const struct elapse__journal *journal)
{
    unsigned held = elapse__spares_held(journal);
    return (held > journal->spares_asked ? held : journal->spares_asked) + 1;
}

/* Returns how many spares are not reserved for a segment. The result is negative if too many are
 * reserved. */
static int64_t spares_free_to_use(const struct elapse__journal *journal)
{
    int64_t held = (int64_t)journal->spare_count + (journal->taken.file != ELAPSE__NO_FILE);
    return held - (int64_t)(elapse__segment_of(journal, journal->place) - journal->head);
}

/* Returns whether longer copies take at most half a segment of the held spares. Then cleaning can
 * still copy all live records. */
static bool growth_is_covered(const struct elapse__journal *journal, int64_t spares)
{
    uint64_t segment = elapse__segment_bytes(journal);
    uint64_t more = spares > ELAPSE__SPARES_HELD ? (uint64_t)(spares - ELAPSE__SPARES_HELD) : 0;
    return elapse__growth_bytes(journal) <= more * segment + segment / 2;
}

bool elapse__journal_admits(const struct elapse__journal *journal,
                            enum elapse__record_purpose purpose, bool crossing)
{
    if (!crossing && !journal->disk_is_full)
        return true; /* this is the usual case, and needs no spare */
    int64_t spares = spares_free_to_use(journal);
    if (journal->disk_is_full && purpose == ELAPSE__RECORD_FOR_LEASE &&
        !growth_is_covered(journal, spares))
        return false;
    if (!crossing && purpose != ELAPSE__RECORD_FOR_GROWTH)
        return true;
    const int64_t to_keep[] = {
        [ELAPSE__RECORD_FOR_GROWTH] = elapse__spares_held(journal),
        [ELAPSE__RECORD_FOR_LEASE] = 1,
        [ELAPSE__RECORD_FOR_RELIEF] = 1,
        [ELAPSE__RECORD_FOR_SETTING] = 1,
        [ELAPSE__RECORD_FOR_COPY] = 0,
    };
    return spares - crossing >= to_keep[purpose];
}

/* Returns how many bytes of the log are not live. The result may be too great. */
static uint64_t dead_at_most(const struct elapse__journal *journal)
{
    const struct elapse__journal_owner *owner = &journal->owner;
    uint64_t excess = owner->excess == NULL ? 0 : owner->excess(owner->context);
    uint64_t room_of_head =
        elapse__segment_bytes(journal) - elapse__offset_of(journal, journal->place);
    uint64_t total = elapse__segments_bytes(journal) - room_of_head + excess;
    ELAPSE__ASSERT_THAT(excess, <=, journal->live_bytes);
    return total < journal->live_bytes ? 0 : total - journal->live_bytes;
}

/* Returns whether the tail has to be cleaned now. A sealed tail without live bytes can go at once,
 * even if it cannot be read. If there are live bytes, cleaning is needed while the log is longer
 * than twice its live bytes and one segment. On a full disk cleaning is also needed while there are
 * too few spares and cleaning gains something. The held spares let deletes work, and one more lets
 * the log grow. On a full disk one pass is enough, because to copy copies again gains nothing until
 * the owner appends something.
 *
 * With one spare left, no delete may begin a segment any more. What the owner has appended since
 * there were two spares takes about one segment, and may have ended no job. So cleaning begins at
 * half a segment then. If it did not, deletes would be refused for ever. */
bool elapse__clean_is_needed(const struct elapse__journal *journal)
{
    if (journal->tail >= journal->head || journal->error != 0)
        return false;
    /* The lanes end when everything is durable. Copies that are appended after that would never
     * become durable. */
    if (journal->stopping)
        return false;
    uint64_t segment = elapse__segment_bytes(journal);
    uint64_t total = elapse__segments_bytes(journal);
    uint64_t live = journal->live_bytes;
    if (elapse__segments_find(journal, journal->tail)->live_bytes == 0)
        return true;
    if (journal->clean_pinned || journal->follows)
        return false;
    if (total > 2 * live + segment)
        return true;
    if (!journal->disk_is_full || journal->tail > journal->clean_limit)
        return false;
    int64_t spares = spares_free_to_use(journal);
    if (spares <= 1 && dead_at_most(journal) > segment / 2)
        return true;
    return (spares < elapse__spares_held(journal) && total > live + 2 * segment) ||
           (spares < elapse__spares_wanted(journal) &&
            total > live + total / GROWTH_GAIN + 2 * segment);
}

bool elapse__clean_frees_a_file(const struct elapse__journal *journal)
{
    /* Files are freed in their order, so a file that somebody reads keeps all later ones. */
    return !journal->clean_refused && journal->segments[0].readers == 0 &&
           (journal->first < journal->tail || elapse__clean_is_needed(journal));
}
