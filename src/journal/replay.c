/*
 * The log is read from the tail to the head, and each record given to the owner.
 */
#include <errno.h>

#include "../base/assert.h"
#include "recover.h"

/* Gives the records of the segment that lies in memory, up to `end`. */
static bool replay_records(struct elapse__recovery *recovery, uint64_t number, uint64_t end)
{
    const struct elapse__journal_owner *owner = &recovery->journal->owner;
    struct elapse__walk walk;
    elapse__walk_begin(&walk, &recovery->view, ELAPSE__SEGMENT_HEADER_BYTES);
    while (walk.offset < end && elapse__walk_next(&walk)) {
        struct elapse__record record = {
            .type = walk.frame.type,
            .flags = walk.frame.flags,
            .fields_size = walk.frame.fields_size,
            .body_size = walk.frame.body_size,
            .fields = walk.bytes + ELAPSE__RECORD_HEADER_BYTES,
        };
        if (record.type == ELAPSE__RECORD_SEAL || record.type == ELAPSE__RECORD_COMMIT)
            continue;
        int error = owner->replay(owner->context, walk.position, &record, &recovery->journal->sink);
        if (error == 0)
            continue;
        elapse__refuse(recovery, ELAPSE__FAULT_OWNER, number,
                       walk.position - recovery->view.first_position);
        recovery->refusal->error = error;
        return false;
    }
    ELAPSE__ASSERT_THAT(walk.offset, ==, end);
    return true;
}

static bool replay_segment(struct elapse__recovery *recovery, uint64_t number)
{
    struct elapse__segment_header header;
    struct elapse__survey survey;
    int file;
    bool is_head = number == recovery->head;
    if (!elapse__segment_header_check(recovery, number, &header))
        return false;
    if (!elapse__segments_reserve(recovery->journal))
        return elapse__refuse_call(recovery, ENOMEM, "journal");
    if (!elapse__segment_load(recovery, number, &file))
        return false;
    elapse__segments_add(recovery->journal, file);
    elapse__survey_segment(&recovery->view, &survey,
                           is_head ? recovery->top.end : recovery->view.size);
    bool leads_on = is_head || (survey.is_sealed && survey.sealed_next == number + 1);
    if (!leads_on)
        return elapse__refuse(recovery, ELAPSE__FAULT_RECORD, number, survey.bad_offset);
    return replay_records(recovery, number, survey.end);
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
