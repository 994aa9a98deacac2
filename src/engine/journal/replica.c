/*
 * Submits groups to the replicated log, and takes its answers. log.h has the definitions.
 */
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/assert.h"
#include "../../base/little_endian.h"
#include "lanes.h"
#include "transfer.h"

bool elapse__journal_follows(const struct elapse__journal *journal)
{
    return journal->follows;
}

bool elapse__journal_is_placed(const struct elapse__journal *journal)
{
    return journal->is_placed;
}

struct elapse__journal_place elapse__journal_place(const struct elapse__journal *journal)
{
    struct elapse__journal_place place = journal->log_end;
    if (place.group == 0 && journal->log != NULL)
        place.hash = journal->log->genesis;
    return place;
}

bool elapse__journal_is_fenced(const struct elapse__journal *journal)
{
    return journal->commit_state == ELAPSE__LOG_FENCED;
}

/* ---- tails ---- */

/* Returns the first group of the log in this segment, or else in a later one. Returns `next` if
 * they have none. */
static uint64_t first_group_from(const struct elapse__journal *journal, uint64_t segment,
                                 uint64_t next)
{
    ELAPSE__ASSERT_THAT(segment, >=, journal->first);
    for (size_t i = (size_t)(segment - journal->first); i < journal->segment_count; i++)
        if (journal->segments[i].first_group != 0)
            return journal->segments[i].first_group;
    return next;
}

/* Tells the log its tail. Everything that was live below the tail of the last COMMIT has copies in
 * the log. So only groups from that tail on are needed. */
void elapse__journal_log_trim(struct elapse__journal *journal)
{
    uint64_t end = journal->log_end.group;
    uint64_t tail = first_group_from(journal, journal->committed_tail, end);
    if (journal->follows || tail <= journal->log_trimmed || tail > end)
        return;
    ELAPSE__ASSERT_THAT(tail, >,
                        journal->log_trimmed); /* L4: the tail of the log never goes back */
    journal->log_trimmed = tail;
    journal->log->trim(journal->log->context, tail);
}

uint64_t elapse__journal_dead_below(const struct elapse__journal *journal, uint64_t tail)
{
    uint64_t live = 0, dead = 0;
    size_t below = 0;
    for (size_t i = 0; i < journal->segment_count; i++) {
        uint64_t group = journal->segments[i].first_group;
        if (group != 0 && group < tail)
            below = i;
    }
    for (size_t i = 0; i < below; i++)
        live += journal->segments[i].live_bytes;
    if (live > 0)
        dead = elapse__position_at(journal, journal->first + below, 0);
    return dead;
}

/* ---- following ---- */

int elapse__journal_followed(struct elapse__journal *journal,
                             const struct elapse__journal_place *place)
{
    int error = 0;
    ELAPSE__ASSERT(journal->follows && !journal->begun);
    ELAPSE__ASSERT(journal->log_end.group == 0 || place->group == journal->log_end.group + 1);
    if (journal->forming != NULL && journal->forming->size > 0) {
        struct elapse__group *group = elapse__group_close(journal);
        group->has_place = true;
        group->log_place = *place;
        elapse__log_note_group(journal, group->position, place->group);
    } else {
        error = elapse__group_add_mark(journal, place);
    }
    if (error == 0)
        journal->log_end = *place;
    return error;
}

int elapse__journal_forget(struct elapse__journal *journal)
{
    struct elapse__journal_place nothing = {.forgets = true};
    ELAPSE__ASSERT(journal->follows);
    if (journal->error != 0)
        return journal->error;
    int error = elapse__group_add_mark(journal, &nothing);
    if (error != 0)
        return error;
    elapse__log_forget(journal);
    journal->log_forgets++;
    journal->clean_pinned = false;
    journal->clean_again_ms = 0;
    journal->log_end = (struct elapse__journal_place){.group = 0};
    journal->log_trimmed = 0;
    return 0;
}

void elapse__journal_own(struct elapse__journal *journal)
{
    ELAPSE__ASSERT(journal->log != NULL && journal->follows);
    ELAPSE__ASSERT(!journal->begun && !elapse__journal_is_fenced(journal));
    journal->follows = false;
}

void elapse__journal_give_up(struct elapse__journal *journal, int error)
{
    elapse__journal_fail(journal, error);
}

/* ---- owning ---- */

void elapse__journal_push(struct elapse__journal *journal)
{
    ELAPSE__ASSERT(journal->log != NULL && !journal->follows);
    journal->pushes = true;
}

/* A group without records is submitted only if no group after it was read from the log (L2). */
bool elapse__journal_log_wants(const struct elapse__journal *journal,
                               const struct elapse__group *group)
{
    bool is_last = journal->log_written.group == journal->log_end.group;
    return journal->log != NULL && !journal->follows && !group->has_place &&
           (group->size > 0 || (journal->pushes && is_last));
}

void elapse__journal_log_start(struct elapse__journal *journal)
{
    const struct elapse__group *group = journal->in_flight;
    struct elapse__portable_facts *facts = &journal->log_facts;
    ELAPSE__ASSERT_THAT(journal->log_written.group, ==, journal->log_end.group); /* L2 */
    facts->tail = first_group_from(journal, group->tail, journal->log_end.group + 1);
    journal->owner.facts(journal->owner.context, &facts->next_id, &facts->wall_ms);
    journal->pushes = false;
    journal->answered = false;
    journal->commit_state = ELAPSE__LOG_SUBMITTING;
}

static bool reserve_portable(struct elapse__journal *journal, size_t size)
{
    if (size <= journal->portable_capacity)
        return true;
    uint8_t *bytes = realloc(journal->portable, size);
    if (bytes == NULL)
        return false;
    journal->portable = bytes;
    journal->portable_capacity = size;
    return true;
}

/* Called without the lock. It may write these fields, because they belong to the commit lane while
 * the operation is under way. */
void elapse__journal_log_perform(struct elapse__journal *journal,
                                 struct elapse__operation *operation)
{
    struct elapse__group *group = journal->in_flight;
    const struct elapse__journal_log *log = journal->log;
    struct elapse__journal_place before = elapse__journal_place(journal);
    if (!reserve_portable(journal, ELAPSE__PORTABLE_HEADER_BYTES + group->size)) {
        operation->error = ENOMEM;
        return;
    }
    journal->portable_size =
        elapse__portable_encode(&journal->log_facts, group->bytes, group->size, journal->portable);
    group->has_place = true;
    group->log_place = (struct elapse__journal_place){
        .group = before.group + 1,
        .hash = log->next_hash(before.hash, journal->portable, journal->portable_size),
        .previous_hash = before.hash,
        .tail = journal->log_facts.tail,
        .next_id = journal->log_facts.next_id,
        .wall_ms = journal->log_facts.wall_ms,
        .is_confirmed = true,
    };
    if (!log->submit(log->context, journal->portable, journal->portable_size,
                     group->position + group->size + elapse__group_end_bytes(journal)))
        operation->error = ECANCELED;
}

static void write_confirmed(struct elapse__journal *journal)
{
    ELAPSE__ASSERT(journal->in_flight->has_place); /* L1 */
    ELAPSE__ASSERT_THAT(journal->in_flight->log_place.group, ==, journal->log_end.group + 1);
    journal->log_end = journal->in_flight->log_place;
    elapse__commit_write(journal);
}

void elapse__journal_log_completed(struct elapse__journal *journal,
                                   const struct elapse__operation *operation)
{
    if (journal->commit_state != ELAPSE__LOG_SUBMITTING)
        return; /* the journal was fenced meanwhile, or the other lane failed */
    if (operation->error == ECANCELED)
        elapse__journal_fence(journal);
    else if (operation->error != 0)
        elapse__journal_fail(journal, operation->error);
    else if (journal->answered)
        write_confirmed(journal);
    else
        journal->commit_state = ELAPSE__LOG_SUBMITTED;
}

void elapse__journal_confirmed(struct elapse__journal *journal)
{
    if (journal->commit_state == ELAPSE__LOG_SUBMITTED)
        write_confirmed(journal);
    else if (journal->commit_state == ELAPSE__LOG_SUBMITTING)
        journal->answered = true;
    else
        ELAPSE__ASSERT(journal->error != 0 || elapse__journal_is_fenced(journal));
}

/* ---- the end of owning ---- */

void elapse__journal_fence(struct elapse__journal *journal)
{
    bool waits = journal->commit_state == ELAPSE__LOG_SUBMITTING ||
                 journal->commit_state == ELAPSE__LOG_SUBMITTED;
    if (journal->error != 0 || elapse__journal_is_fenced(journal))
        return;
    journal->unconfirmed = waits && !journal->answered && journal->in_flight->size > 0;
    journal->commit_state = ELAPSE__LOG_FENCED;
}

/* Writes one group in the form of the log. */
static int put_group_aside(struct elapse__journal *journal, const struct elapse__group *group,
                           int file, uint64_t *offset)
{
    uint8_t size[8];
    if (!reserve_portable(journal, ELAPSE__PORTABLE_HEADER_BYTES + group->size))
        return ENOMEM;
    journal->portable_size =
        elapse__portable_encode(&journal->log_facts, group->bytes, group->size, journal->portable);
    elapse__little_endian_store(size, journal->portable_size, 8);
    int error = elapse__write_all(journal->files, file, *offset, size, sizeof size);
    if (error == 0)
        error = elapse__write_all(journal->files, file, *offset + sizeof size, journal->portable,
                                  journal->portable_size);
    *offset += sizeof size + journal->portable_size;
    return error;
}

/* Returns the first group, from this one on, that the owner has made and the log does not have; or
 * NULL. A group that has a place was confirmed, or read from the log. */
static const struct elapse__group *first_own(const struct elapse__group *group)
{
    while (group != NULL && (group->size == 0 || group->has_place))
        group = group->next;
    return group;
}

bool elapse__journal_is_logged(const struct elapse__journal *journal)
{
    const struct elapse__group *group = journal->in_flight;
    bool waits = journal->commit_state == ELAPSE__LOG_SUBMITTING ||
                 journal->commit_state == ELAPSE__LOG_SUBMITTED;
    /* While a group is submitted, the commit lane writes its fields without the lock. */
    bool is_in_flight =
        waits ? !journal->answered : group != NULL && group->size > 0 && !group->has_place;

    return !is_in_flight && first_own(journal->closed) == NULL &&
           first_own(journal->forming) == NULL;
}

uint64_t elapse__journal_appended(const struct elapse__journal *journal)
{
    const struct elapse__group *group = journal->forming;

    ELAPSE__ASSERT(!journal->begun);
    if (group == NULL || group->size == 0)
        group = journal->closed;
    while (group != NULL && group->next != NULL)
        group = group->next;
    if (group == NULL)
        group = journal->in_flight;
    return group == NULL || group->position + group->size < journal->written
               ? journal->written
               : group->position + group->size;
}

bool elapse__journal_is_logged_before(const struct elapse__journal *journal, uint64_t position)
{
    return journal->written >= position;
}

static int write_aside(struct elapse__journal *journal, int file)
{
    uint64_t offset = 0;
    int error = 0;
    const struct elapse__group *group = first_own(journal->closed);
    if (journal->unconfirmed)
        error = put_group_aside(journal, journal->in_flight, file, &offset);
    for (; group != NULL && error == 0; group = first_own(group->next))
        error = put_group_aside(journal, group, file, &offset);
    group = first_own(journal->forming);
    if (group != NULL && error == 0)
        error = put_group_aside(journal, group, file, &offset);
    return error == 0 ? journal->files->sync(file) : error;
}

int elapse__journal_put_aside(struct elapse__journal *journal, uint64_t epoch)
{
    char name[2 * ELAPSE__FILE_NAME_BYTES];
    int file;
    ELAPSE__ASSERT(elapse__journal_is_fenced(journal) && !journal->commit_under_way);
    if (!journal->unconfirmed && first_own(journal->closed) == NULL &&
        first_own(journal->forming) == NULL)
        return 0;
    (void)snprintf(name, sizeof name, "aside-%" PRIu64 "-%" PRIu64, epoch,
                   journal->log_end.group + 1);
    int error = journal->files->open(journal->directory, name, ELAPSE__FILE_ENSURE, &file);
    if (error != 0)
        return error;
    error = write_aside(journal, file);
    journal->files->close(file);
    return error == 0 ? journal->files->sync_directory(journal->directory) : error;
}
