/*
 * Records that come from other journals.
 */
#include <errno.h>

#include "../base/assert.h"
#include "store/log.h"

static bool is_record(const struct elapse__joint *joint, const struct elapse__record *record)
{
    if (record->type == ELAPSE__RECORD_EPOCH)
        return record->fields_size == ELAPSE__JOINT_EPOCH_BYTES;
    return elapse__queue_is_own_record(joint->jobs, record);
}

/* Replays a record, and appends it to the group that was begun. What replay refuses must not lie in
 * the journal: it would refuse it again at each start. */
static int take_record(struct elapse__joint *joint, const struct elapse__record *record)
{
    uint64_t position = elapse__journal_next_position(joint->journal);
    int error = elapse__joint_replay(joint, position, record, joint->below);

    if (error != 0)
        return error;
    uint64_t appended = joint->sink.append(&joint->sink, record);
    ELAPSE__ASSERT_THAT(appended, ==, position);
    (void)appended;
    return 0;
}

/* Ends the group that was begun; after an error it may have no record. */
static int end_taking(struct elapse__joint *joint, int error)
{
    struct elapse__record_sink *sink = error == 0 ? &joint->sink : joint->below;
    (void)sink->end(sink);
    return error;
}

int elapse__joint_load(struct elapse__joint *joint, const struct elapse__record *record)
{
    uint64_t bytes = elapse__record_bytes_max(record->fields_size, record->body_size);

    ELAPSE__ASSERT(joint->loading);
    if (!is_record(joint, record))
        return EBADMSG;
    int error = joint->sink.begin(&joint->sink, bytes, ELAPSE__RECORD_FOR_GROWTH);
    if (error != 0)
        return error;
    return end_taking(joint, take_record(joint, record));
}

/* ---- following a log ---- */

/* Returns whether the bytes are a group, and all of its records are ones of this queue. */
static bool read_group(const struct elapse__joint *joint, struct elapse__portable *portable,
                       const struct elapse__store_group *group)
{
    struct elapse__record record;
    bool is_whole = elapse__portable_open(portable, group->bytes, group->size);

    if (!is_whole)
        return false;
    for (struct elapse__portable walk = *portable;
         is_whole && elapse__portable_next(&walk, &record);)
        is_whole = is_record(joint, &record);
    return is_whole;
}

/* Takes the records. Once one of them is replayed, there is no way back. */
static int take_records(struct elapse__joint *joint, struct elapse__portable *portable)
{
    struct elapse__record record;
    int error = joint->sink.begin(&joint->sink, portable->frame_bytes, ELAPSE__RECORD_FOR_COPY);

    if (error != 0)
        return error;
    while (error == 0 && elapse__portable_next(portable, &record))
        error = take_record(joint, &record);
    error = end_taking(joint, error);
    if (error != 0)
        elapse__journal_give_up(joint->journal, error);
    return error == EAGAIN || error == ENOSPC || error == EBADMSG ? EIO : error;
}

/* What the group says beside its records. */
static void take_facts(struct elapse__joint *joint, const struct elapse__portable_facts *facts)
{
    uint64_t dead = elapse__journal_dead_below(joint->journal, facts->tail);

    if (facts->next_id > 0)
        elapse__queue_used_id(joint->jobs, facts->next_id - 1);
    if (facts->wall_ms > joint->log_wall_ms)
        joint->log_wall_ms = facts->wall_ms;
    if (dead > 0)
        elapse__queue_forget_below(joint->jobs, dead);
}

int elapse__joint_follow(struct elapse__joint *joint, const struct elapse__store_group *group)
{
    struct elapse__portable portable;
    struct elapse__journal_place place = {
        .group = group->number, .hash = group->hash, .previous_hash = group->previous_hash};

    ELAPSE__ASSERT(elapse__journal_follows(joint->journal));
    if (!read_group(joint, &portable, group))
        return EBADMSG;
    struct elapse__portable_facts facts = portable.facts;
    place.tail = facts.tail;
    place.next_id = facts.next_id;
    place.wall_ms = facts.wall_ms;
    int error = portable.records > 0 ? take_records(joint, &portable) : 0;
    if (error == 0)
        error = elapse__journal_followed(joint->journal, &place);
    if (error == 0)
        take_facts(joint, &facts);
    return error;
}

int elapse__joint_forget(void *context)
{
    struct elapse__joint *joint = context;
    uint64_t last_id = elapse__queue_last_id(joint->jobs);

    elapse__queue_free(joint->jobs);
    joint->jobs = NULL;
    joint->life = 0;
    joint->epoch_position = 0;
    if (!elapse__joint_new_jobs(joint))
        return ENOMEM;
    elapse__queue_used_id(joint->jobs, last_id);
    return 0;
}

int elapse__joint_rebuild(struct elapse__joint *joint)
{
    int error = elapse__journal_forget(joint->journal);

    if (error != 0)
        return error;
    error = elapse__joint_forget(joint);
    if (error != 0)
        elapse__journal_give_up(joint->journal, error);
    return error;
}

int elapse__joint_own(struct elapse__joint *joint)
{
    ELAPSE__ASSERT(elapse__journal_follows(joint->journal));
    joint->life++;
    int error = elapse__joint_write_epoch(joint, ELAPSE__RECORD_FOR_RELIEF);
    if (error != 0) {
        joint->life--;
        return error;
    }
    /* The journal may clean as soon as it works, so the queue is open by then. */
    enum elapse__queue_result result =
        elapse__queue_replay_done(joint->jobs, joint->now(), joint->life);
    if (result != ELAPSE__QUEUE_OK) {
        elapse__journal_give_up(joint->journal, EBADMSG);
        return EBADMSG;
    }
    elapse__journal_own(joint->journal);
    return 0;
}
