/*
 * The group that forms. Its position is fixed when the group begins. It comes after everything that
 * was appended before, or at the beginning of the next segment if it may not fit into this one. If
 * the next segment does not exist yet, one spare is reserved for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "group.h"

enum {
    GROUP_SHARE_BITS = 4, /* a group closes when it has this share of a segment: 4 of 64 MiB */
    UNUSED_MAX = 2,       /* one group forms and one is in flight, so two are enough */
};

static struct elapse__journal *journal_of(struct elapse__record_sink *sink)
{
    return (struct elapse__journal *)(void *)sink;
}

static struct elapse__group *new_group(struct elapse__journal *journal)
{
    struct elapse__group *group = journal->unused;
    if (group == NULL) {
        group = calloc(1, sizeof *group);
    } else {
        journal->unused = group->next;
        journal->unused_count--;
    }
    if (group != NULL) {
        group->next = NULL;
        group->size = 0;
        group->has_place = false;
    }
    return group;
}

static bool make_room(const struct elapse__journal *journal, struct elapse__group *group,
                      uint64_t bytes)
{
    size_t needed = group->size + (size_t)bytes + ELAPSE__COMMIT_BYTES + ELAPSE__LOG_PLACE_BYTES +
                    ELAPSE__FILE_PAGE_MAX;
    if (needed <= group->capacity)
        return true;
    size_t capacity = needed > 2 * group->capacity ? needed : 2 * group->capacity;
    uint8_t *grown = elapse__allocate_locked(&journal->memory, ELAPSE__LINE_BYTES, capacity);
    if (grown == NULL)
        return false;
    if (group->size > 0)
        memcpy(grown, group->bytes, group->size);
    elapse__release_locked(&journal->memory, group->bytes, group->capacity);
    group->bytes = grown;
    group->capacity = capacity;
    group->zeros_begin = 0;
    group->zeros_end = 0;
    return true;
}

/* Closes the group that forms, if it has records. From then on the group may be written. Its COMMIT
 * says the present tail, because copies in later groups do not count yet. */
static void close_forming(struct elapse__journal *journal)
{
    struct elapse__group *group = journal->forming;
    if (group == NULL || group->size == 0)
        return;
    ELAPSE__ASSERT(!journal->begun);
    ELAPSE__ASSERT_THAT(group->position + group->size, ==, journal->place);
    group->tail = journal->tail;
    journal->place += elapse__group_end_bytes(journal);
    journal->forming = NULL;
    struct elapse__group **last = &journal->closed;
    while (*last != NULL)
        last = &(*last)->next;
    *last = group;
}

/* Makes the next record the first of the next segment, which has no file yet. */
static void cross(struct elapse__journal *journal)
{
    close_forming(journal);
    ELAPSE__ASSERT(journal->forming == NULL || journal->forming->size == 0);
    elapse__segments_add(journal, ELAPSE__NO_FILE);
    journal->place = elapse__position_at(journal, elapse__segment_of(journal, journal->place) + 1,
                                         ELAPSE__SEGMENT_HEADER_BYTES);
}

/* Returns whether the next record goes to the next segment. The first record of a life goes there
 * if recovery has overwritten the old head with zeros only for the length of a SEAL's group. Then
 * nothing but the SEAL may be appended there. */
static bool must_cross(const struct elapse__journal *journal, uint64_t bytes, uint64_t reserve)
{
    return journal->crosses_first || elapse__offset_of(journal, journal->place) + bytes +
                                             elapse__group_end_bytes(journal) + reserve >
                                         elapse__segment_bytes(journal);
}

/* Returns whether records of this purpose go to the next segment although they would fit into the
 * present one, because that one has an older version. As soon as a spare is free, all records do.
 * New jobs, settings and records from a log may have something that a program of that version does
 * not know. So they wait for a spare. */
static bool must_leave(const struct elapse__journal *journal, enum elapse__record_purpose purpose)
{
    return elapse__segment_of(journal, journal->place) == journal->old_head &&
           (purpose == ELAPSE__RECORD_FOR_GROWTH || purpose == ELAPSE__RECORD_FOR_SETTING ||
            journal->is_placed || elapse__journal_admits(journal, ELAPSE__RECORD_FOR_GROWTH, true));
}

/* Finds the position for `bytes` bytes of records, and memory for them. */
static int prepare(struct elapse__journal *journal, uint64_t bytes, bool crossing)
{
    if (crossing && !elapse__segments_reserve(journal))
        return ENOMEM;
    struct elapse__group *group = journal->forming;
    bool is_new = group == NULL || crossing ||
                  (group->size > 0 &&
                   group->size + bytes > elapse__segment_bytes(journal) >> GROUP_SHARE_BITS);
    if (is_new && (group == NULL || group->size > 0))
        group = new_group(journal);
    if (group == NULL)
        return ENOMEM;
    if (!make_room(journal, group, bytes)) {
        if (group != journal->forming)
            elapse__group_release(journal, group);
        return ENOMEM;
    }
    if (crossing) {
        cross(journal);
        journal->crosses_first = false;
    } else if (group != journal->forming)
        close_forming(journal);
    journal->forming = group;
    if (group->size == 0)
        group->position = journal->place;
    return 0;
}

static int begin_group(struct elapse__record_sink *sink, uint64_t bytes,
                       enum elapse__record_purpose purpose)
{
    struct elapse__journal *journal = journal_of(sink);
    ELAPSE__ASSERT(!journal->begun);
    if (journal->error != 0)
        return journal->error;
    if (journal->is_placed && !elapse__journal_log_takes_records(journal))
        return EROFS;
    uint64_t room = elapse__segment_bytes(journal) - ELAPSE__SEGMENT_HEADER_BYTES -
                    elapse__group_end_bytes(journal) - elapse__segment_reserve(journal);
    if (bytes > room)
        return EMSGSIZE;
    bool crossing = must_cross(journal, bytes, elapse__segment_reserve(journal)) ||
                    must_leave(journal, purpose);
    if (!elapse__journal_admits(journal, purpose, crossing)) {
        bool comes_back =
            crossing && purpose != ELAPSE__RECORD_FOR_GROWTH && elapse__clean_frees_a_file(journal);
        /* What the owner has prepared for the record counts as growth until it is refused. */
        if (!journal->disk_is_full && purpose == ELAPSE__RECORD_FOR_GROWTH)
            journal->spares_asked = elapse__spares_held(journal);
        return journal->disk_is_full && !comes_back ? ENOSPC : EAGAIN;
    }
    int error = prepare(journal, bytes, crossing);
    if (error != 0)
        return error;
    if (crossing)
        journal->spares_asked = 0;
    if (purpose != ELAPSE__RECORD_FOR_COPY)
        journal->clean_limit = elapse__segment_of(journal, journal->place);
    journal->begun = true;
    journal->copies = purpose == ELAPSE__RECORD_FOR_COPY;
    return 0;
}

static uint64_t append_record(struct elapse__record_sink *sink, const struct elapse__record *record)
{
    struct elapse__journal *journal = journal_of(sink);
    struct elapse__group *group = journal->forming;
    uint64_t bytes = elapse__frame_bytes(record->fields_size, record->body_size);
    uint64_t position = journal->place;
    ELAPSE__ASSERT(journal->begun);
    ELAPSE__ASSERT(elapse__record_has_owner(record->type));
    ELAPSE__ASSERT_THAT(group->size + bytes + ELAPSE__COMMIT_BYTES, <=, group->capacity);
    ELAPSE__ASSERT_THAT(group->position + group->size, ==, position);
    elapse__frame_encode(record, position, journal->seed, group->bytes + group->size);
    group->size += (size_t)bytes;
    journal->place += bytes;
    journal->clean_debt += journal->copies ? bytes : 2 * bytes;
    return position;
}

static uint64_t end_group(struct elapse__record_sink *sink)
{
    struct elapse__journal *journal = journal_of(sink);
    ELAPSE__ASSERT(journal->begun);
    journal->begun = false;
    return journal->place;
}

static void count_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    struct elapse__journal *journal = journal_of(sink);
    uint64_t number = elapse__segment_of(journal, position);
    struct elapse__segment *segment = elapse__segments_find(journal, number);
    ELAPSE__ASSERT(segment != NULL);
    ELAPSE__ASSERT(change >= 0 || segment->live_bytes >= (uint64_t)-change);
    if (segment == NULL)
        return;
    segment->live_bytes += (uint64_t)change;
    journal->live_bytes += (uint64_t)change;
}

void elapse__sink_init(struct elapse__record_sink *sink)
{
    *sink = (struct elapse__record_sink){
        .begin = begin_group, .append = append_record, .end = end_group, .live = count_live};
}

/* Adds a group that has only a COMMIT, unless another group forms. Returns whether there is such a
 * group. */
bool elapse__group_add_empty(struct elapse__journal *journal, enum elapse__record_purpose purpose)
{
    ELAPSE__ASSERT(journal->closed == NULL);
    if (journal->begun || (journal->forming != NULL && journal->forming->size > 0))
        return false;
    bool crossing = must_cross(journal, 0, ELAPSE__SEAL_GROUP_BYTES);
    if (!elapse__journal_admits(journal, purpose, crossing))
        return false;
    if (prepare(journal, 0, crossing) != 0)
        return false;
    struct elapse__group *group = journal->forming;
    journal->forming = NULL;
    group->tail = journal->tail;
    journal->place += elapse__group_end_bytes(journal);
    journal->closed = group;
    return true;
}

/* Closes the group that forms, and returns it. Requires that the group has records. */
struct elapse__group *elapse__group_close(struct elapse__journal *journal)
{
    struct elapse__group *group = journal->forming;
    ELAPSE__ASSERT(group != NULL && group->size > 0);
    close_forming(journal);
    return group;
}

/* Adds a group that has only this LOG_PLACE, after all others. Returns 0, or an error of begin. */
int elapse__group_add_mark(struct elapse__journal *journal,
                           const struct elapse__journal_place *place)
{
    ELAPSE__ASSERT(!journal->begun);
    bool crossing = must_cross(journal, 0, elapse__segment_reserve(journal));
    if (!elapse__journal_admits(journal, ELAPSE__RECORD_FOR_COPY, crossing))
        return journal->disk_is_full ? ENOSPC : EAGAIN;
    close_forming(journal);
    int error = prepare(journal, 0, crossing);
    if (error != 0)
        return error;
    struct elapse__group *group = journal->forming;
    struct elapse__group **last = &journal->closed;
    ELAPSE__ASSERT_THAT(group->size, ==, 0);
    journal->forming = NULL;
    group->tail = journal->tail;
    group->has_place = true;
    group->log_place = *place;
    journal->place += elapse__group_end_bytes(journal);
    while (*last != NULL)
        last = &(*last)->next;
    *last = group;
    return 0;
}

/* Returns the group that has to be written next, or NULL. */
struct elapse__group *elapse__group_waiting(const struct elapse__journal *journal)
{
    if (journal->closed != NULL)
        return journal->closed;
    bool forms = journal->forming != NULL && journal->forming->size > 0 && !journal->begun;
    return forms ? journal->forming : NULL;
}

/* Closes the group that has to be written next, and takes it. */
struct elapse__group *elapse__group_take(struct elapse__journal *journal)
{
    if (journal->closed == NULL)
        close_forming(journal);
    struct elapse__group *group = journal->closed;
    ELAPSE__ASSERT(group != NULL);
    journal->closed = group->next;
    group->next = NULL;
    return group;
}

static void free_group(const struct elapse__journal *journal, struct elapse__group *group)
{
    elapse__release_locked(&journal->memory, group->bytes, group->capacity);
    free(group);
}

void elapse__group_release(struct elapse__journal *journal, struct elapse__group *group)
{
    if (group == NULL)
        return;
    if (journal->unused_count == UNUSED_MAX) {
        free_group(journal, group);
        return;
    }
    group->next = journal->unused;
    journal->unused = group;
    journal->unused_count++;
}

static void free_groups(const struct elapse__journal *journal, struct elapse__group *group)
{
    while (group != NULL) {
        struct elapse__group *next = group->next;
        free_group(journal, group);
        group = next;
    }
}

void elapse__groups_rest(struct elapse__journal *journal)
{
    free_groups(journal, journal->unused);
    journal->unused = NULL;
    journal->unused_count = 0;
}

void elapse__groups_free(struct elapse__journal *journal)
{
    free_groups(journal, journal->forming);
    free_groups(journal, journal->closed);
    free_groups(journal, journal->in_flight);
    elapse__groups_rest(journal);
}
