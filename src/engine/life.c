/*
 * Opens an engine, begins its life, and frees it. Has the functions that the journal calls.
 */
#include <errno.h>

#include "../base/assert.h"
#include "jobs.h"
#include "journal/backup.h"
#include "journal/log.h"

/* ---- functions that the journal calls ---- */

static int owner_header(void *context, uint64_t next_id, int64_t wall_ms)
{
    struct elapse__engine *engine = context;

    engine->header_wall_ms = wall_ms;
    if (next_id > ELAPSE__QUEUE_ID_MAX)
        return EBADMSG;
    if (next_id > 0)
        elapse__queue_used_id(engine->jobs, next_id - 1);
    return 0;
}

static void owner_fetch(void *context, const struct elapse__record *record, bool is_near)
{
    const struct elapse__engine *engine = context;

    elapse__queue_replay_fetch(engine->jobs, record, is_near);
}

static int copy_record(struct elapse__engine *engine, uint64_t position,
                       const struct elapse__record *record)
{
    engine->refused = 0;
    if (engine->loading)
        return EAGAIN; /* the queue is not open */
    if (record->type == ELAPSE__RECORD_EPOCH)
        return position == engine->epoch_position
                   ? elapse__engine_write_epoch(engine, ELAPSE__RECORD_FOR_COPY)
                   : 0;
    /* Every other record only says what happened to a job later. Such a record is never copied, so
     * the clocks need not be read. */
    bool is_error = record->type == ELAPSE__RECORD_CHANGE && record->body_size > 0;
    if (record->type != ELAPSE__RECORD_PUT && record->type != ELAPSE__RECORD_TOKEN &&
        record->type != ELAPSE__RECORD_TUBE && !is_error)
        return 0;
    enum elapse__queue_result result =
        elapse__queue_clean(engine->jobs, elapse__engine_present(engine), position, record);
    if (result == ELAPSE__QUEUE_REFUSED)
        return engine->refused;
    return elapse__engine_errno(result);
}

static int owner_clean(void *context, uint64_t position, const struct elapse__record *record)
{
    struct elapse__engine *engine = context;

    engine->clean_error = copy_record(engine, position, record);
    return engine->clean_error;
}

static uint64_t owner_growth(void *context)
{
    const struct elapse__engine *engine = context;

    return elapse__queue_growth_bytes(engine->jobs);
}

static uint64_t owner_excess(void *context)
{
    const struct elapse__engine *engine = context;

    return elapse__queue_excess_bytes(engine->jobs);
}

static void owner_facts(void *context, uint64_t *next_id, int64_t *wall_ms)
{
    struct elapse__engine *engine = context;

    *next_id = elapse__queue_last_id(engine->jobs) + 1;
    *wall_ms = elapse__engine_present(engine).wall_ms;
}

/* ---- life ---- */

bool elapse__engine_open_journal(struct elapse__engine *engine,
                                 const struct elapse__journal_options *options,
                                 struct elapse__journal_refusal *refusal)
{
    struct elapse__journal_options inner = *options;

    ELAPSE__ASSERT(engine->jobs != NULL && engine->journal == NULL);
    /* The number of the life must be synced at once. If not, a loss of power might let the number
     * repeat. */
    engine->interval_ms = options->interval_ms;
    if (options->log == NULL)
        inner.interval_ms = 0;
    inner.owner = (struct elapse__journal_owner){
        .context = engine,
        .header = owner_header,
        .replay = elapse__engine_replay,
        .fetch = owner_fetch,
        .clean = owner_clean,
        .facts = owner_facts,
        .growth = owner_growth,
        .excess = owner_excess,
        .forget = elapse__engine_forget,
    };
    engine->journal = elapse__journal_open(&inner, refusal);
    if (engine->journal == NULL)
        return false;
    engine->below = elapse__journal_sink(engine->journal);
    return true;
}

/* Writes the number of the life, and waits until it is durable. The journal may have to make room
 * for it first: after a crash the head may be full, and there may be no spare. */
static enum elapse_error number_life(struct elapse__engine *engine)
{
    int refused = elapse__engine_write_epoch(engine, ELAPSE__RECORD_FOR_RELIEF);

    while (refused == EAGAIN && elapse__journal_work(engine->journal))
        refused = elapse__engine_write_epoch(engine, ELAPSE__RECORD_FOR_RELIEF);
    while (refused == 0 && elapse__journal_error(engine->journal) == 0 &&
           !elapse__engine_may_reply(engine, engine->last_position) &&
           elapse__journal_work(engine->journal)) {
    }
    if (elapse__journal_error(engine->journal) != 0)
        return ELAPSE_ERROR_BROKEN;
    if (refused != 0 && refused != EAGAIN && refused != ENOSPC)
        return ELAPSE_ERROR_SYSTEM;
    if (refused != 0 || !elapse__engine_may_reply(engine, engine->last_position))
        return ELAPSE_ERROR_DISK_FULL;
    ELAPSE__ASSERT_THAT(engine->epoch_position, !=, 0);
    elapse__journal_set_interval(engine->journal, engine->interval_ms);
    return ELAPSE_OK;
}

static enum elapse_error error_of(enum elapse__queue_result result)
{
    switch (result) {
    case ELAPSE__QUEUE_OK:
        return ELAPSE_OK;
    case ELAPSE__QUEUE_NO_MEMORY:
        return ELAPSE_ERROR_MEMORY;
    default:
        return ELAPSE_ERROR_DAMAGED;
    }
}

/* Returns the number of the life that begins. A directory that is a backup gets a random number,
 * because the original may still be in use, and both must not give a lease the same name. The
 * number is drawn from a part of the numbers that are left, so that there are enough for many
 * backups. */
static uint32_t next_life(struct elapse__engine *engine, bool is_backup)
{
    const uint32_t share = 16;
    uint32_t left = UINT32_MAX - engine->life;

    if (!is_backup || left / share == 0)
        return engine->life + 1;
    return engine->life + 1 + (uint32_t)(elapse__queue_random(engine->jobs) % (left / share));
}

enum elapse_error elapse__engine_begin_life(struct elapse__engine *engine)
{
    bool is_backup = elapse__backup_is_marked(engine->journal);

    if (elapse__journal_is_placed(engine->journal))
        return ELAPSE_ERROR_FORMAT; /* the log would lack what this life writes */
    ELAPSE__ASSERT(!engine->loading);
    ELAPSE__ASSERT_THAT(engine->groups, ==,
                        0); /* nothing is written before the life has a number */
    engine->life = next_life(engine, is_backup);
    enum elapse_error error = error_of(
        elapse__queue_replay_done(engine->jobs, elapse__engine_present(engine), engine->life));
    if (error != ELAPSE_OK)
        return error;
    /* The queue is open here, because the journal may clean as soon as it works. */
    error = number_life(engine);
    if (error == ELAPSE_OK && is_backup && elapse__backup_unmark(engine->journal) != 0)
        return ELAPSE_ERROR_SYSTEM;
    return error;
}

void elapse__engine_free(struct elapse__engine *engine)
{
    elapse__journal_free(engine->journal);
    elapse__queue_free(engine->jobs);
    engine->journal = NULL;
    engine->jobs = NULL;
}
