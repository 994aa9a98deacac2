#include "engine.h"

#include <errno.h>
#include <stdlib.h>

#include "../base/assert.h"
#include "../base/little_endian.h"
#include "../queue/fields.h"
#include "journal/backup.h"
#include "journal/log.h"

enum { EPOCH_BYTES = ELAPSE__ENGINE_EPOCH_BYTES };

static struct elapse__queue_now present(const struct elapse__engine *engine)
{
    return engine->batch != NULL ? *engine->batch : engine->now();
}

/* ---- the sink ---- */

static struct elapse__engine *engine_of(struct elapse__record_sink *sink)
{
    return (struct elapse__engine *)(void *)sink;
}

static int engine_begin(struct elapse__record_sink *sink, uint64_t bytes,
                        enum elapse__record_purpose purpose)
{
    struct elapse__engine *engine = engine_of(sink);
    engine->purpose = purpose;
    engine->refused = engine->below->begin(engine->below, bytes, purpose);
    return engine->refused;
}

static uint64_t engine_append(struct elapse__record_sink *sink, const struct elapse__record *record)
{
    struct elapse__engine *engine = engine_of(sink);

    engine->records++;
    if (engine->purpose == ELAPSE__RECORD_FOR_COPY)
        engine->copies++;
    return engine->below->append(engine->below, record);
}

static uint64_t engine_end(struct elapse__record_sink *sink)
{
    struct elapse__engine *engine = engine_of(sink);
    uint64_t position = engine->below->end(engine->below);

    ELAPSE__ASSERT_THAT(engine->last_position, <, position);
    engine->previous_position = engine->last_position;
    engine->last_position = position;
    engine->groups++;
    return position;
}

static void engine_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    struct elapse__engine *engine = engine_of(sink);
    engine->below->live(engine->below, position, change);
}

/* ---- the life's number ---- */

static uint32_t epoch_of(const struct elapse__record *record)
{
    return (uint32_t)elapse__little_endian_load(record->fields, EPOCH_BYTES);
}

/* The record at this position is the newest one: only that is live. */
static void move_epoch(struct elapse__engine *engine, uint64_t position)
{
    int64_t bytes = (int64_t)elapse__frame_bytes(EPOCH_BYTES, 0);

    ELAPSE__ASSERT_THAT(position, >, engine->epoch_position);
    if (engine->epoch_position != 0)
        engine_live(&engine->sink, engine->epoch_position, -bytes);
    engine->epoch_position = position;
    engine_live(&engine->sink, position, bytes);
}

int elapse__engine_write_epoch(struct elapse__engine *engine, enum elapse__record_purpose purpose)
{
    unsigned char fields[EPOCH_BYTES];
    struct elapse__record record = {
        .type = ELAPSE__RECORD_EPOCH, .fields_size = EPOCH_BYTES, .fields = fields};

    elapse__little_endian_store(fields, engine->life, EPOCH_BYTES);
    int error = engine_begin(&engine->sink, elapse__record_bytes_max(EPOCH_BYTES, 0), purpose);
    if (error != 0)
        return error;
    move_epoch(engine, engine_append(&engine->sink, &record));
    (void)engine_end(&engine->sink);
    return 0;
}

/* ---- what the journal asks ---- */

static int errno_of(enum elapse__queue_result result)
{
    switch (result) {
    case ELAPSE__QUEUE_OK:
        return 0;
    case ELAPSE__QUEUE_NO_MEMORY:
        return ENOMEM;
    default:
        return EBADMSG;
    }
}

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

int elapse__engine_replay(void *context, uint64_t position, const struct elapse__record *record,
                          struct elapse__record_sink *sink)
{
    struct elapse__engine *engine = context;

    engine->below = sink;
    if (record->type != ELAPSE__RECORD_EPOCH)
        return errno_of(elapse__queue_replay(engine->jobs, position, record));
    if (record->fields_size != EPOCH_BYTES)
        return EBADMSG;
    engine->life = epoch_of(record);
    move_epoch(engine, position);
    return 0;
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
    /* All others only say how a job went on: nothing is copied, so the clocks need not be read. */
    if (record->type != ELAPSE__RECORD_PUT && record->type != ELAPSE__RECORD_TOKEN)
        return 0;
    enum elapse__queue_result result =
        elapse__queue_clean(engine->jobs, present(engine), position, record);
    if (result == ELAPSE__QUEUE_REFUSED)
        return engine->refused;
    return errno_of(result);
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

static void owner_facts(void *context, uint64_t *next_id, int64_t *wall_ms)
{
    struct elapse__engine *engine = context;

    *next_id = elapse__queue_last_id(engine->jobs) + 1;
    *wall_ms = present(engine).wall_ms;
}

/* ---- life ---- */

bool elapse__engine_make_jobs(struct elapse__engine *engine, elapse__engine_now_function *now,
                              const struct elapse__queue_options *options)
{
    struct elapse__queue_options inner = *options;

    *engine = (struct elapse__engine){
        .sink = {.begin = engine_begin,
                 .append = engine_append,
                 .end = engine_end,
                 .live = engine_live},
        .now = now,
    };
    inner.sink = &engine->sink;
    inner.memory = NULL; /* the caller's own may be gone later */
    engine->options = inner;
    engine->has_memory = options->memory != NULL;
    if (engine->has_memory)
        engine->memory = *options->memory;
    return elapse__engine_new_jobs(engine);
}

bool elapse__engine_new_jobs(struct elapse__engine *engine)
{
    struct elapse__queue_options options = engine->options;

    ELAPSE__ASSERT(engine->jobs == NULL);
    if (engine->has_memory)
        options.memory = &engine->memory;
    engine->jobs = elapse__queue_new(&options);
    return engine->jobs != NULL;
}

bool elapse__engine_open_journal(struct elapse__engine *engine,
                                 const struct elapse__journal_options *options,
                                 struct elapse__journal_refusal *refusal)
{
    struct elapse__journal_options inner = *options;

    ELAPSE__ASSERT(engine->jobs != NULL && engine->journal == NULL);
    /* The number of the life must be synced, or a power cut would let it repeat. */
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
        .forget = elapse__engine_forget,
    };
    engine->journal = elapse__journal_open(&inner, refusal);
    if (engine->journal == NULL)
        return false;
    engine->below = elapse__journal_sink(engine->journal);
    return true;
}

/* Writes the life's number, and waits until it is durable. The journal may have to make room for it
 * first: after a crash the head may be full, and no spare left. */
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
    elapse__journal_set_interval(engine->journal, engine->interval_ms);
    return ELAPSE_OK;
}

enum elapse_error elapse__engine_error(enum elapse__queue_result result)
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

/* The original of a backup may go on: both must not give a lease the same name. So the next number
 * is drawn at random, and from a part of those left, so that they last for many backups. */
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
        return ELAPSE_ERROR_FORMAT; /* what it would write would not be in the log */
    engine->life = next_life(engine, is_backup);
    enum elapse_error error = elapse__engine_error(
        elapse__queue_replay_done(engine->jobs, present(engine), engine->life));
    if (error != ELAPSE_OK)
        return error;
    /* The journal may clean as soon as it works, so the queue is open by now. */
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

/* ---- commands ---- */

uint64_t elapse__engine_segment_of(const struct elapse__engine *engine, uint64_t position)
{
    return elapse__journal_segment_of(engine->journal, position);
}

bool elapse__engine_may_reply(const struct elapse__engine *engine, uint64_t gate)
{
    return elapse__journal_durable(engine->journal) >= gate;
}

bool elapse__engine_run(struct elapse__engine *engine, elapse__engine_command *command,
                        const void *arguments, struct elapse__queue_answer *answer)
{
    if (elapse__journal_is_full(engine->journal))
        return false;
    engine->refused = 0;
    *answer = command(engine->jobs, present(engine), arguments);
    if (answer->result == ELAPSE__QUEUE_REFUSED && engine->refused == EAGAIN)
        return false;
    ELAPSE__ASSERT_THAT(answer->position, <=, engine->last_position);
    answer->position = engine->last_position;
    return true;
}

/* ---- hand-outs ---- */

bool elapse__engine_lacks_room(const struct elapse__engine *engine)
{
    return engine->refused == EAGAIN;
}

bool elapse__engine_take_many(struct elapse__engine *engine,
                              const struct elapse__queue_reserve *reserve,
                              struct elapse__queue_handed *handed, uint32_t *count,
                              enum elapse__queue_result *result, uint64_t *gate)
{
    if (engine->batch == NULL)
        (void)elapse__queue_turn(engine->jobs, present(engine));
    uint64_t before = engine->last_position;
    uint64_t groups_before = engine->groups;
    engine->refused = 0;
    struct elapse__queue_answer answer =
        elapse__queue_reserve(engine->jobs, present(engine), reserve, handed, count);
    *result = answer.result;
    if (answer.result == ELAPSE__QUEUE_REFUSED && engine->refused == EAGAIN)
        *result = ELAPSE__QUEUE_OK;
    ELAPSE__ASSERT_THAT(*count, <=, reserve->count);
    /* Each lease has a group of its own. Groups beyond that are of jobs that expired: the reply
     * waits for those, too, and they may lie between the leases. */
    if (*count == 1)
        *gate = engine->previous_position;
    else
        *gate = engine->groups - groups_before == *count ? before : engine->last_position;
    return *count > 0;
}

bool elapse__engine_take(struct elapse__engine *engine, const struct elapse__queue_reserve *reserve,
                         struct elapse__queue_handed *handed, enum elapse__queue_result *result,
                         uint64_t *gate)
{
    uint32_t count = 0;

    ELAPSE__ASSERT_THAT(reserve->count, ==, 1);
    return elapse__engine_take_many(engine, reserve, handed, &count, result, gate);
}

bool elapse__engine_take_id(struct elapse__engine *engine, uint64_t id,
                            struct elapse__queue_connection *connection,
                            struct elapse__queue_handed *handed, enum elapse__queue_result *result,
                            uint64_t *gate)
{
    uint64_t before = engine->last_position;

    engine->refused = 0;
    struct elapse__queue_answer answer =
        elapse__queue_reserve_id(engine->jobs, present(engine), id, connection, false, handed);
    *result = answer.result;
    *gate = answer.result == ELAPSE__QUEUE_OK ? before : engine->last_position;
    return answer.result == ELAPSE__QUEUE_OK;
}

static struct elapse__queue_holder holder_of(const struct elapse__queue_handed *handed)
{
    return (struct elapse__queue_holder){.id = handed->id, .lease = handed->lease};
}

void elapse__engine_take_back(struct elapse__engine *engine,
                              const struct elapse__queue_handed *handed)
{
    (void)elapse__queue_lease_undo(engine->jobs, present(engine), holder_of(handed));
}

int elapse__engine_texts(struct elapse__engine *engine, struct elapse__journal_reading *reading,
                         struct elapse__engine_job *job)
{
    struct elapse__record record;
    struct elapse__queue_fields fields;
    int error = elapse__journal_read_end(engine->journal, reading, &record, &job->memory);

    if (error != 0)
        return error;
    if (record.type != ELAPSE__RECORD_PUT || (record.flags & ELAPSE__RECORD_BODY_LOST) != 0 ||
        !elapse__queue_fields_decode(&fields, &record)) {
        free(job->memory);
        job->memory = NULL;
        return EBADMSG;
    }
    job->tube = fields.tube;
    job->key = fields.key;
    job->tag = fields.tag;
    job->put_ms = fields.put_ms;
    job->due_ms = fields.due_ms;
    job->body = (struct elapse__queue_text){record.body, record.body_size};
    return 0;
}

int elapse__engine_peek(struct elapse__engine *engine, uint64_t id, struct elapse__engine_job *job)
{
    struct elapse__queue_view view;
    struct elapse__journal_reading reading;

    *job = (struct elapse__engine_job){.memory = NULL};
    if (elapse__queue_look_up_id(engine->jobs, present(engine), id, &view) != ELAPSE__QUEUE_OK)
        return ENOENT;
    elapse__journal_read_begin(engine->journal, view.position, view.body_size, &reading);
    elapse__journal_read_perform(engine->journal, true, &reading, 1);
    int error = elapse__engine_texts(engine, &reading, job);
    return error == ENOENT ? EBADMSG : error; /* the job exists, and its record does not */
}

struct place {
    uint64_t position;
    uint32_t body_size;
};

/* Returns whether the job is still reserved, and where it lies; a cancelled one ends. */
static bool is_there(struct elapse__engine *engine, const struct elapse__queue_handed *handed,
                     struct place *place)
{
    if (elapse__queue_locate(engine->jobs, handed->id, &place->position, &place->body_size))
        return true;
    elapse__engine_take_back(engine, handed);
    return false;
}

int elapse__engine_hand_over_begin(struct elapse__engine *engine,
                                   const struct elapse__queue_handed *handed,
                                   struct elapse__journal_reading *reading)
{
    struct place place;

    /* Cleaning may have moved the record while the reply waited. */
    if (!is_there(engine, handed, &place))
        return ENOENT;
    elapse__journal_read_begin(engine->journal, place.position, place.body_size, reading);
    return 0;
}

int elapse__engine_hand_over_end(struct elapse__engine *engine,
                                 const struct elapse__queue_handed *handed,
                                 struct elapse__journal_reading *reading,
                                 struct elapse__engine_job *job)
{
    struct place place;

    *job = (struct elapse__engine_job){.memory = NULL};
    int error = elapse__engine_texts(engine, reading, job);
    bool stays = is_there(engine, handed, &place);
    if (stays && (error == EBADMSG || error == ENOENT || error == EIO)) {
        /* A disk that cannot read a sector says EIO. The job must not stand before all others. */
        (void)elapse__queue_bury_damaged(engine->jobs, present(engine), handed->id);
        error = ENOENT;
    } else if (stays && error != 0) {
        elapse__engine_take_back(engine, handed);
    } else if (!stays || elapse__queue_lease_begin(engine->jobs, present(engine),
                                                   holder_of(handed)) != ELAPSE__QUEUE_OK) {
        error = ENOENT;
    }
    if (error != 0) {
        free(job->memory);
        job->memory = NULL;
    }
    return error;
}

int elapse__engine_hand_over(struct elapse__engine *engine,
                             const struct elapse__queue_handed *handed,
                             struct elapse__engine_job *job)
{
    struct elapse__journal_reading reading;

    *job = (struct elapse__engine_job){.memory = NULL};
    int error = elapse__engine_hand_over_begin(engine, handed, &reading);
    if (error != 0)
        return error;
    elapse__journal_read_perform(engine->journal, true, &reading, 1);
    return elapse__engine_hand_over_end(engine, handed, &reading, job);
}
