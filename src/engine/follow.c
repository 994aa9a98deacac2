/*
 * Takes records that come from other journals. There are two kinds: the groups of a replicated log,
 * and records that a program loads.
 */
#include <errno.h>

#include "../base/assert.h"
#include "jobs.h"
#include "journal/log.h"

static bool is_record(const struct elapse__engine *engine, const struct elapse__record *record)
{
    if (record->type == ELAPSE__RECORD_EPOCH)
        return record->fields_size == ELAPSE__ENGINE_EPOCH_BYTES;
    return elapse__queue_is_own_record(engine->jobs, record);
}

/* Replays a record, and appends it to the group that was begun. Replay comes first: a record that
 * replay refuses must not get into the journal, because each start would refuse it again. */
static int take_record(struct elapse__engine *engine, const struct elapse__record *record)
{
    uint64_t position = elapse__journal_next_position(engine->journal);
    int error = elapse__engine_replay(engine, position, record, engine->below);

    if (error != 0)
        return error;
    uint64_t appended = engine->sink.append(&engine->sink, record);
    ELAPSE__ASSERT_THAT(appended, ==, position);
    (void)appended;
    return 0;
}

/* Ends the group that was begun. After an error the group may have no records. */
static int end_taking(struct elapse__engine *engine, int error)
{
    struct elapse__record_sink *sink = error == 0 ? &engine->sink : engine->below;
    (void)sink->end(sink);
    return error;
}

int elapse__engine_load(struct elapse__engine *engine, const struct elapse__record *record)
{
    uint64_t bytes = elapse__record_bytes_max(record->fields_size, record->body_size);

    ELAPSE__ASSERT(engine->loading);
    ELAPSE__ASSERT(elapse__record_has_owner(record->type));
    if (!is_record(engine, record))
        return EBADMSG;
    int error = engine->sink.begin(&engine->sink, bytes, ELAPSE__RECORD_FOR_GROWTH);
    if (error != 0)
        return error;
    return end_taking(engine, take_record(engine, record));
}

/* ---- following a log ---- */

/* Returns whether the bytes are a group whose records all belong to this queue. */
static bool read_group(const struct elapse__engine *engine, struct elapse__portable *portable,
                       const struct elapse__engine_group *group)
{
    struct elapse__record record;
    bool is_whole = elapse__portable_open(portable, group->bytes, group->size);

    if (!is_whole)
        return false;
    for (struct elapse__portable walk = *portable;
         is_whole && elapse__portable_next(&walk, &record);)
        is_whole = is_record(engine, &record);
    return is_whole;
}

/* Takes the records of a group. Nothing can undo the replay of a record. */
static int take_records(struct elapse__engine *engine, struct elapse__portable *portable)
{
    ELAPSE__ASSERT_THAT(portable->records, >, 0);
    struct elapse__record record;
    int error = engine->sink.begin(&engine->sink, portable->frame_bytes, ELAPSE__RECORD_FOR_COPY);

    if (error != 0)
        return error;
    while (error == 0 && elapse__portable_next(portable, &record))
        error = take_record(engine, &record);
    error = end_taking(engine, error);
    if (error != 0)
        elapse__journal_give_up(engine->journal, error);
    return error == EAGAIN || error == ENOSPC || error == EBADMSG ? EIO : error;
}

/* Takes the facts that a group has beside its records. */
static void take_facts(struct elapse__engine *engine, const struct elapse__portable_facts *facts)
{
    uint64_t dead = elapse__journal_dead_below(engine->journal, facts->tail);

    if (facts->next_id > 0)
        elapse__queue_used_id(engine->jobs, facts->next_id - 1);
    if (facts->wall_ms > engine->log_wall_ms)
        engine->log_wall_ms = facts->wall_ms;
    if (dead > 0)
        elapse__queue_forget_below(engine->jobs, dead);
}

int elapse__engine_follow(struct elapse__engine *engine, const struct elapse__engine_group *group)
{
    struct elapse__portable portable;
    struct elapse__journal_place place = {
        .group = group->number, .hash = group->hash, .previous_hash = group->previous_hash};

    ELAPSE__ASSERT(elapse__journal_follows(engine->journal));
    if (!read_group(engine, &portable, group))
        return EBADMSG;
    struct elapse__portable_facts facts = portable.facts;
    place.tail = facts.tail;
    place.next_id = facts.next_id;
    place.wall_ms = facts.wall_ms;
    int error = portable.records > 0 ? take_records(engine, &portable) : 0;
    if (error == 0)
        error = elapse__journal_followed(engine->journal, &place);
    if (error == 0)
        take_facts(engine, &facts);
    return error;
}

int elapse__engine_rebuild(struct elapse__engine *engine)
{
    ELAPSE__ASSERT(elapse__journal_follows(engine->journal));
    int error = elapse__journal_forget(engine->journal);

    if (error != 0)
        return error;
    error = elapse__engine_forget(engine);
    if (error != 0)
        elapse__journal_give_up(engine->journal, error);
    return error;
}

int elapse__engine_own(struct elapse__engine *engine)
{
    ELAPSE__ASSERT(elapse__journal_follows(engine->journal));
    ELAPSE__ASSERT_THAT(engine->life, <, UINT32_MAX);
    engine->life++;
    int error = elapse__engine_write_epoch(engine, ELAPSE__RECORD_FOR_RELIEF);
    if (error != 0) {
        engine->life--;
        return error;
    }
    /* The queue has to be open before the journal works, because the journal may clean at once. */
    enum elapse__queue_result result =
        elapse__queue_replay_done(engine->jobs, engine->now(), engine->life);
    if (result != ELAPSE__QUEUE_OK) {
        elapse__journal_give_up(engine->journal, EBADMSG);
        return EBADMSG;
    }
    elapse__journal_own(engine->journal);
    return 0;
}
