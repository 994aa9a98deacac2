/*
 * Reads the log from the tail to the head, and gives each record to the owner of the journal.
 */
#include <errno.h>

#include "../../base/assert.h"
#include "recover.h"

/* Most records of a log are about jobs that lie anywhere in memory. The owner should fetch that
 * memory in time. So two scouts go ahead of the walk over the records: one is FAR records ahead,
 * and one is NEAR records ahead. They show a record to the owner by `fetch`, before the owner gets
 * it by `replay`. */
enum { FAR = 32, NEAR = 16 };

/* The scout that is FAR ahead would itself wait for the sizes in each record, which another thread
 * has read into memory. So it asks for the bytes that lie FETCH_AHEAD bytes before it. For each
 * record it asks for as many bytes as the record has, up to FETCH_MOST: of a longer record it needs
 * only the beginning. */
enum { FETCH_AHEAD = 2048, FETCH_MOST = 1024 };

struct scout {
    uint64_t offset; /* the offset of the record that it looks at next */
    unsigned ahead;  /* how many records it is ahead of the walk */
    unsigned most;   /* how many records it may be ahead: FAR or NEAR */
};

static void tell_owner(const struct elapse__journal_owner *owner, const uint8_t *bytes,
                       const struct elapse__frame *frame, bool is_near)
{
    struct elapse__record record = {
        .type = frame->type,
        .fields_size = frame->fields_size,
        .body_size = frame->body_size,
        .fields = bytes + ELAPSE__RECORD_HEADER_BYTES,
    };
    if (elapse__record_has_owner(frame->type))
        owner->fetch(owner->context, &record, is_near);
}

/* Called after each step of the walk. The scout makes up to two steps, until it is as far ahead as
 * it may be. It stops at the end of the bytes in memory, until the walk has loaded more. */
static void scout(struct elapse__recovery *recovery, const struct elapse__walk *walk,
                  struct scout *scout)
{
    const struct elapse__journal_owner *owner = &recovery->journal->owner;
    scout->ahead -= scout->ahead > 0;
    if (scout->ahead == 0)
        scout->offset = walk->offset;
    for (unsigned step = 0; step < 2 && scout->ahead < scout->most; step++) {
        struct elapse__frame frame;
        const uint8_t *bytes = elapse__walk_peek(walk->view, scout->offset, &frame);
        if (bytes == NULL)
            return;
        if (scout->most == FAR)
            elapse__walk_fetch(walk->view, scout->offset + FETCH_AHEAD,
                               frame.bytes < FETCH_MOST ? frame.bytes : FETCH_MOST);
        tell_owner(owner, bytes, &frame, scout->most == NEAR);
        scout->offset += frame.bytes;
        scout->ahead++;
    }
}

static bool give(struct elapse__recovery *recovery, const struct elapse__walk *walk)
{
    const struct elapse__journal_owner *owner = &recovery->journal->owner;
    struct elapse__record record = {
        .type = walk->frame.type,
        .flags = walk->frame.flags,
        .fields_size = walk->frame.fields_size,
        .body_size = walk->frame.body_size,
        .fields = walk->bytes + ELAPSE__RECORD_HEADER_BYTES,
    };
    int error = owner->replay(owner->context, walk->position, &record, &recovery->journal->sink);
    if (error == 0)
        return true;
    elapse__refuse(recovery, ELAPSE__FAULT_OWNER,
                   elapse__segment_of(recovery->journal, walk->position),
                   walk->position - recovery->view.first_position);
    recovery->refusal->error = error;
    return false;
}

static bool take_place(struct elapse__recovery *recovery, const struct elapse__walk *walk)
{
    struct elapse__journal_place place = elapse__journal_log_place_decode(walk->bytes);
    int error = elapse__journal_log_replay_place(recovery->journal, walk->position, &place);
    return error == 0 || elapse__refuse_call(recovery, error, "journal");
}

/* Gives the records of the segment in `view` to the owner. In the head the records end where the
 * survey has found the end. In any other segment they end with its SEAL. The owner gets the records
 * before the SEAL was seen, so that one pass is enough. If there is no SEAL, open refuses, and the
 * owner is freed. */
static bool replay_records(struct elapse__recovery *recovery, uint64_t number)
{
    bool is_head = number == recovery->head, is_sealed = false;
    uint64_t end = is_head ? recovery->top.end : recovery->view.size, next = 0;
    bool has_fetch = recovery->journal->owner.fetch != NULL;
    struct scout scouts[] = {{.most = FAR}, {.most = NEAR}};
    struct elapse__walk walk;
    elapse__walk_begin(&walk, &recovery->view, ELAPSE__SEGMENT_HEADER_BYTES);
    while (!is_sealed && walk.offset < end && elapse__walk_next(&walk)) {
        for (unsigned i = 0; i < 2 && has_fetch; i++)
            scout(recovery, &walk, &scouts[i]);
        if (walk.frame.type == ELAPSE__RECORD_SEAL)
            next = elapse__seal_decode(walk.bytes);
        else if (walk.frame.type == ELAPSE__RECORD_COMMIT)
            is_sealed = next != 0;
        else if (walk.frame.type == ELAPSE__RECORD_LOG_PLACE ? !take_place(recovery, &walk)
                                                             : !give(recovery, &walk))
            return false;
    }
    if (!elapse__segment_was_read(recovery, number))
        return false;
    bool leads_on = is_head ? walk.offset == end : is_sealed && next == number + 1;
    return leads_on || elapse__refuse(recovery, ELAPSE__FAULT_RECORD, number, walk.offset);
}

static bool replay_segment(struct elapse__recovery *recovery, uint64_t number)
{
    struct elapse__segment_header header;
    int file;
    if (!elapse__segment_header_check(recovery, number, &header))
        return false;
    if (!elapse__segments_reserve(recovery->journal))
        return elapse__refuse_call(recovery, ENOMEM, "journal");
    bool is_open = number == recovery->head ? elapse__segment_load(recovery, number, &file)
                                            : elapse__segment_stream(recovery, number, &file);
    if (!is_open)
        return false;
    elapse__segments_add(recovery->journal, file);
    return replay_records(recovery, number);
}

bool elapse__recovery_replay(struct elapse__recovery *recovery)
{
    struct elapse__journal *journal = recovery->journal;
    const struct elapse__segment_header *newest = &recovery->head_header;
    int error = journal->owner.header(journal->owner.context, newest->next_id, newest->wall_ms);
    if (error != 0) {
        elapse__refuse(recovery, ELAPSE__FAULT_OWNER, recovery->head, 0);
        recovery->refusal->error = error;
        return false;
    }
    journal->first = recovery->tail;
    for (uint64_t number = recovery->tail; number <= recovery->head; number++) {
        if (!replay_segment(recovery, number))
            return false;
    }
    return true;
}
