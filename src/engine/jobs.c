/*
 * Makes the queue of an engine, and the sink that takes the queue's records. Writes the number of
 * the life. Replays records into the queue.
 */
#include "jobs.h"

#include <errno.h>

#include "../base/assert.h"
#include "../base/little_endian.h"

enum { EPOCH_BYTES = ELAPSE__ENGINE_EPOCH_BYTES };

static struct elapse__engine *engine_of(struct elapse__record_sink *sink)
{
    return (struct elapse__engine *)(void *)sink;
}

static int engine_begin(struct elapse__record_sink *sink, uint64_t bytes,
                        enum elapse__record_purpose purpose)
{
    struct elapse__engine *engine = engine_of(sink);
    engine->purpose = purpose;
    engine->begun_records = engine->records;
    engine->refused = engine->below->begin(engine->below, bytes, purpose);
    return engine->refused;
}

static uint64_t engine_append(struct elapse__record_sink *sink, const struct elapse__record *record)
{
    struct elapse__engine *engine = engine_of(sink);

    ELAPSE__ASSERT_THAT(engine->refused, ==, 0); /* the group was begun */
    engine->records++;
    if (engine->purpose == ELAPSE__RECORD_FOR_COPY)
        engine->copies++;
    return engine->below->append(engine->below, record);
}

static uint64_t engine_end(struct elapse__record_sink *sink)
{
    struct elapse__engine *engine = engine_of(sink);
    uint64_t position = engine->below->end(engine->below);

    /* A transaction may find nothing to change. Then its group has no records. Its end, perhaps in
     * a new segment, becomes durable only together with later records. So no reply may wait for
     * it. */
    if (engine->records == engine->begun_records)
        return engine->last_position;
    ELAPSE__ASSERT_THAT(engine->last_position, <, position);
    engine->previous_position = engine->last_position;
    engine->last_position = position;
    ELAPSE__ASSERT_THAT(engine->copies, <=, engine->records);
    engine->groups++;
    return position;
}

static void engine_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    struct elapse__engine *engine = engine_of(sink);
    engine->below->live(engine->below, position, change);
}

static uint32_t epoch_of(const struct elapse__record *record)
{
    ELAPSE__ASSERT_THAT(record->fields_size, ==, EPOCH_BYTES);
    return (uint32_t)elapse__little_endian_load(record->fields, EPOCH_BYTES);
}

/* Notes where the newest record with the number of a life lies. Only the newest such record is
 * live. */
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

    ELAPSE__ASSERT_THAT(engine->life, >, 0);
    elapse__little_endian_store(fields, engine->life, EPOCH_BYTES);
    int error = engine_begin(&engine->sink, elapse__record_bytes_max(EPOCH_BYTES, 0), purpose);
    if (error != 0)
        return error;
    move_epoch(engine, engine_append(&engine->sink, &record));
    (void)engine_end(&engine->sink);
    return 0;
}

int elapse__engine_errno(enum elapse__queue_result result)
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

int elapse__engine_replay(void *context, uint64_t position, const struct elapse__record *record,
                          struct elapse__record_sink *sink)
{
    struct elapse__engine *engine = context;

    engine->below = sink;
    if (record->type != ELAPSE__RECORD_EPOCH)
        return elapse__engine_errno(elapse__queue_replay(engine->jobs, position, record));
    if (record->fields_size != EPOCH_BYTES)
        return EBADMSG;
    engine->life = epoch_of(record);
    move_epoch(engine, position);
    return 0;
}

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
    inner.memory = NULL; /* the caller's struct may not live as long as the queue */
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

int elapse__engine_forget(void *context)
{
    struct elapse__engine *engine = context;
    uint64_t last_id = elapse__queue_last_id(engine->jobs);

    ELAPSE__ASSERT(engine->batch == NULL); /* no command is under way */
    elapse__queue_free(engine->jobs);
    engine->jobs = NULL;
    engine->life = 0;
    engine->epoch_position = 0;
    if (!elapse__engine_new_jobs(engine))
        return ENOMEM;
    elapse__queue_used_id(engine->jobs, last_id);
    return 0;
}
