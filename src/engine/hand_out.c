/*
 * Runs commands of an engine, and hands out jobs.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/assert.h"
#include "../queue/fields.h"
#include "jobs.h"

/* ---- commands ---- */

uint64_t elapse__engine_segment_of(const struct elapse__engine *engine, uint64_t position)
{
    return elapse__journal_segment_of(engine->journal, position);
}

bool elapse__engine_may_reply(const struct elapse__engine *engine, uint64_t gate)
{
    return elapse__journal_durable(engine->journal) >= gate;
}

/* Returns the result as the caller sees it. The queue knows only that the journal took no record.
 * The journal refuses also if it has no memory for the record. */
static enum elapse__queue_result result_of(const struct elapse__engine *engine,
                                           const struct elapse__queue_answer *answer)
{
    bool lacks_memory = answer->result == ELAPSE__QUEUE_REFUSED && engine->refused == ENOMEM;

    return lacks_memory ? ELAPSE__QUEUE_NO_MEMORY : answer->result;
}

bool elapse__engine_run(struct elapse__engine *engine, elapse__engine_command *command,
                        const void *arguments, struct elapse__queue_answer *answer)
{
    if (elapse__journal_is_full(engine->journal))
        return false;
    engine->refused = 0;
    *answer = command(engine->jobs, elapse__engine_present(engine), arguments);
    if (answer->result == ELAPSE__QUEUE_REFUSED && engine->refused == EAGAIN)
        return false;
    answer->result = result_of(engine, answer);
    ELAPSE__ASSERT_THAT(answer->position, <=, engine->last_position);
    answer->position = engine->last_position;
    return true;
}

uint64_t elapse__engine_transaction_bytes_max(const struct elapse__engine *engine)
{
    /* PostgreSQL takes a group of the replicated log as one value of a statement, and limits its
     * size. */
    uint64_t most =
        elapse__journal_has_log(engine->journal) ? UINT64_C(3) << 20 : UINT64_C(4) << 20;
    uint64_t share = elapse__journal_segment_bytes(engine->journal) / 4;

    return share < most ? share : most;
}

/* ---- hand-outs ---- */

bool elapse__engine_lacks_room(const struct elapse__engine *engine)
{
    return engine->refused == EAGAIN;
}

bool elapse__engine_rests(const struct elapse__engine *engine)
{
    uint64_t until_ms = elapse__engine_rests_until_ms(engine);

    return until_ms > 0 && elapse__engine_present(engine).boot_ms < until_ms;
}

uint64_t elapse__engine_rests_until_ms(const struct elapse__engine *engine)
{
    return elapse__journal_rests_until_ms(engine->journal);
}

static uint64_t unread_ms(const void *context, struct elapse__queue_now now, uint64_t position)
{
    return elapse__journal_unread_ms(context, now.boot_ms, position);
}

/* Takes jobs that are known to be readable, or not known to be unreadable. While nobody knows
 * whether the disk can read, takes one job at a time, which is enough to find out. */
static struct elapse__queue_answer take_readable(struct elapse__engine *engine,
                                                 const struct elapse__queue_reserve *reserve,
                                                 struct elapse__queue_handed *handed,
                                                 uint32_t *count)
{
    struct elapse__queue_reserve readable = *reserve;

    *count = 0;
    if (elapse__engine_rests(engine))
        return (struct elapse__queue_answer){.result = ELAPSE__QUEUE_OK};
    readable.unread_ms = unread_ms;
    readable.context = engine->journal;
    if (elapse__journal_reads_in_doubt(engine->journal) && readable.count > 1)
        readable.count = 1;
    return elapse__queue_reserve(engine->jobs, elapse__engine_present(engine), &readable, handed,
                                 count);
}

bool elapse__engine_take_many(struct elapse__engine *engine,
                              const struct elapse__queue_reserve *reserve,
                              struct elapse__queue_handed *handed, uint32_t *count,
                              enum elapse__queue_result *result, uint64_t *gate)
{
    if (engine->batch == NULL)
        (void)elapse__queue_turn(engine->jobs, elapse__engine_present(engine));
    uint64_t before = engine->last_position;
    uint64_t groups_before = engine->groups;
    engine->refused = 0;
    struct elapse__queue_answer answer = take_readable(engine, reserve, handed, count);
    *result = result_of(engine, &answer);
    ELAPSE__ASSERT(answer.result == ELAPSE__QUEUE_OK || *count == 0);
    ELAPSE__ASSERT_THAT(engine->groups - groups_before, >=,
                        *count); /* each lease has its own group */
    if (answer.result == ELAPSE__QUEUE_REFUSED && engine->refused == EAGAIN)
        *result = ELAPSE__QUEUE_OK;
    ELAPSE__ASSERT_THAT(*count, <=, reserve->count);
    /* Each lease has a group of its own. All other groups are of jobs that expired. They may lie
     * between the leases, and the reply waits for them, too. */
    if (*count == 1)
        *gate = engine->previous_position;
    else
        *gate = engine->groups - groups_before == *count ? before : engine->last_position;
    /* After a crash the queue must still know that the job has a place in its tube's limit. */
    for (uint32_t i = 0; i < *count; i++)
        if (handed[i].is_limited)
            *gate = engine->last_position;
    ELAPSE__ASSERT_THAT(*gate, <=, engine->last_position);
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
    struct elapse__queue_answer answer = elapse__queue_reserve_id(
        engine->jobs, elapse__engine_present(engine), id, connection, false, handed);
    *result = result_of(engine, &answer);
    bool is_excepted = answer.result == ELAPSE__QUEUE_OK && !handed->is_limited;
    *gate = is_excepted ? before : engine->last_position;
    ELAPSE__ASSERT(answer.result != ELAPSE__QUEUE_OK || engine->last_position > before);
    return answer.result == ELAPSE__QUEUE_OK;
}

static struct elapse__queue_holder holder_of(const struct elapse__queue_handed *handed)
{
    ELAPSE__ASSERT(handed->id > 0 && handed->lease.number > 0);
    return (struct elapse__queue_holder){.id = handed->id, .lease = handed->lease};
}

void elapse__engine_take_back(struct elapse__engine *engine,
                              const struct elapse__queue_handed *handed)
{
    (void)elapse__queue_lease_undo(engine->jobs, elapse__engine_present(engine), holder_of(handed));
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
    job->group = fields.group;
    job->cron = fields.cron;
    job->zone = fields.zone;
    job->every_ms = fields.period_ms;
    job->put_ms = fields.put_ms;
    job->due_ms = fields.due_ms;
    job->body = elapse__queue_body_of(&record, &fields);
    job->headers = elapse__queue_headers_of(&record, &fields);
    return 0;
}

/* ---- errors ---- */

bool elapse__engine_error_begin(struct elapse__engine *engine,
                                const struct elapse__queue_told *told,
                                struct elapse__journal_reading *reading)
{
    if (told->position == 0)
        return false;
    elapse__journal_read_begin(engine->journal, told->position, ELAPSE__QUEUE_ERROR_BYTES_MAX,
                               reading);
    return true;
}

void elapse__engine_error_end(struct elapse__engine *engine, const struct elapse__queue_told *told,
                              struct elapse__journal_reading *reading,
                              struct elapse__engine_job *job)
{
    static const char lease_ended[] = "the lease has ended";
    struct elapse__record record;
    struct elapse__queue_fields fields;

    if (told->lease_ended)
        job->error = (struct elapse__queue_text){lease_ended, sizeof lease_ended - 1};
    if (reading == NULL ||
        elapse__journal_read_end(engine->journal, reading, &record, &job->error_memory) != 0)
        return;
    if (!elapse__queue_fields_decode(&fields, &record) || !fields.has_error) {
        free(job->error_memory);
        job->error_memory = NULL;
        return;
    }
    job->error = (struct elapse__queue_text){record.body, record.body_size};
    job->error_ms = fields.error_ms;
}

void elapse__engine_error(struct elapse__engine *engine, uint64_t id,
                          struct elapse__engine_job *job)
{
    struct elapse__queue_told told = elapse__queue_told(engine->jobs, id);
    struct elapse__journal_reading reading;
    bool has_begun = elapse__engine_error_begin(engine, &told, &reading);

    if (has_begun)
        elapse__journal_read_perform(engine->journal, true, &reading, 1);
    elapse__engine_error_end(engine, &told, has_begun ? &reading : NULL, job);
}

int elapse__engine_peek(struct elapse__engine *engine, uint64_t id, struct elapse__engine_job *job)
{
    struct elapse__queue_view view;
    struct elapse__journal_reading reading;

    *job = (struct elapse__engine_job){.memory = NULL};
    if (elapse__queue_look_up_id(engine->jobs, elapse__engine_present(engine), id, &view) !=
        ELAPSE__QUEUE_OK)
        return ENOENT;
    elapse__journal_read_begin(engine->journal, view.position, view.body_size, &reading);
    elapse__journal_read_perform(engine->journal, true, &reading, 1);
    int error = elapse__engine_texts(engine, &reading, job);
    return error == ENOENT ? EBADMSG : error; /* the job exists: a missing record is damage */
}

struct place {
    uint64_t position;
    uint32_t body_size;
};

/* Returns whether the job is still reserved, and stores where its record lies. If the job was
 * cancelled, ends it. */
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
    ELAPSE__ASSERT_THAT(place.position, <, engine->last_position);
    elapse__journal_read_begin(engine->journal, place.position, place.body_size, reading);
    return 0;
}

/* Buries a job whose body is damaged, or was lost by cleaning. Without that the job would stay the
 * first of its tube. */
static void bury(struct elapse__engine *engine, const struct elapse__queue_handed *handed,
                 uint64_t position)
{
    elapse__journal_body_damaged(engine->journal, position);
    (void)elapse__queue_bury_damaged(engine->jobs, elapse__engine_present(engine), handed->id);
}

int elapse__engine_hand_over_end(struct elapse__engine *engine,
                                 const struct elapse__queue_handed *handed,
                                 struct elapse__journal_reading *reading,
                                 struct elapse__engine_job *job)
{
    struct place place;

    ELAPSE__ASSERT_THAT(reading->position, <, engine->last_position);
    *job = (struct elapse__engine_job){.memory = NULL};
    int error = elapse__engine_texts(engine, reading, job);
    bool stays = is_there(engine, handed, &place);
    if (error == 0)
        elapse__journal_read_worked(engine->journal, reading);
    else if (error == EIO)
        elapse__journal_read_failed(engine->journal, elapse__engine_present(engine).boot_ms,
                                    reading);
    if (stays && (error == EBADMSG || error == ENOENT)) {
        bury(engine, handed, reading->position);
        error = ENOENT;
    } else if (stays && error != 0) {
        elapse__engine_take_back(engine, handed);
    } else if (!stays || elapse__queue_lease_begin(engine->jobs, elapse__engine_present(engine),
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
