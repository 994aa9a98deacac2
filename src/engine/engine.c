#include "engine.h"

#include <errno.h>
#include <stdlib.h>

#include "../base/assert.h"
#include "../base/little_endian.h"
#include "journal/backup.h"
#include "journal/log.h"
#include "../queue/fields.h"
#include "../queue/inner.h"

enum { EPOCH_BYTES = ELAPSE__JOINT_EPOCH_BYTES };

static struct elapse__queue_now present(const struct elapse__joint *joint)
{
    return joint->batch != NULL ? *joint->batch : joint->now();
}

/* ---- the sink ---- */

static struct elapse__joint *joint_of(struct elapse__record_sink *sink)
{
    return (struct elapse__joint *)(void *)sink;
}

static int joint_begin(struct elapse__record_sink *sink, uint64_t bytes,
                       enum elapse__record_purpose purpose)
{
    struct elapse__joint *joint = joint_of(sink);
    joint->purpose = purpose;
    joint->refused = joint->below->begin(joint->below, bytes, purpose);
    return joint->refused;
}

static uint64_t joint_append(struct elapse__record_sink *sink, const struct elapse__record *record)
{
    struct elapse__joint *joint = joint_of(sink);

    joint->records++;
    if (joint->purpose == ELAPSE__RECORD_FOR_COPY)
        joint->copies++;
    return joint->below->append(joint->below, record);
}

static uint64_t joint_end(struct elapse__record_sink *sink)
{
    struct elapse__joint *joint = joint_of(sink);
    uint64_t position = joint->below->end(joint->below);

    ELAPSE__ASSERT_THAT(joint->last_position, <, position);
    joint->previous_position = joint->last_position;
    joint->last_position = position;
    joint->groups++;
    return position;
}

static void joint_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    struct elapse__joint *joint = joint_of(sink);
    joint->below->live(joint->below, position, change);
}

/* ---- the life's number ---- */

static uint32_t epoch_of(const struct elapse__record *record)
{
    return (uint32_t)elapse__little_endian_load(record->fields, EPOCH_BYTES);
}

/* The record at this position is the newest one: only that is live. */
static void move_epoch(struct elapse__joint *joint, uint64_t position)
{
    int64_t bytes = (int64_t)elapse__frame_bytes(EPOCH_BYTES, 0);

    ELAPSE__ASSERT_THAT(position, >, joint->epoch_position);
    if (joint->epoch_position != 0)
        joint_live(&joint->sink, joint->epoch_position, -bytes);
    joint->epoch_position = position;
    joint_live(&joint->sink, position, bytes);
}

int elapse__joint_write_epoch(struct elapse__joint *joint, enum elapse__record_purpose purpose)
{
    unsigned char fields[EPOCH_BYTES];
    struct elapse__record record = {
        .type = ELAPSE__RECORD_EPOCH, .fields_size = EPOCH_BYTES, .fields = fields};

    elapse__little_endian_store(fields, joint->life, EPOCH_BYTES);
    int error = joint_begin(&joint->sink, elapse__record_bytes_max(EPOCH_BYTES, 0), purpose);
    if (error != 0)
        return error;
    move_epoch(joint, joint_append(&joint->sink, &record));
    (void)joint_end(&joint->sink);
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
    struct elapse__joint *joint = context;

    joint->header_wall_ms = wall_ms;
    if (next_id > ELAPSE__QUEUE_ID_MAX)
        return EBADMSG;
    if (next_id > 0)
        elapse__queue_used_id(joint->jobs, next_id - 1);
    return 0;
}

static void owner_fetch(void *context, const struct elapse__record *record, bool is_near)
{
    const struct elapse__joint *joint = context;

    elapse__queue_replay_fetch(joint->jobs, record, is_near);
}

int elapse__joint_replay(void *context, uint64_t position, const struct elapse__record *record,
                         struct elapse__record_sink *sink)
{
    struct elapse__joint *joint = context;

    joint->below = sink;
    if (record->type != ELAPSE__RECORD_EPOCH)
        return errno_of(elapse__queue_replay(joint->jobs, position, record));
    if (record->fields_size != EPOCH_BYTES)
        return EBADMSG;
    joint->life = epoch_of(record);
    move_epoch(joint, position);
    return 0;
}

static int copy_record(struct elapse__joint *joint, uint64_t position,
                       const struct elapse__record *record)
{
    joint->refused = 0;
    if (joint->loading)
        return EAGAIN; /* the queue is not open */
    if (record->type == ELAPSE__RECORD_EPOCH)
        return position == joint->epoch_position
                   ? elapse__joint_write_epoch(joint, ELAPSE__RECORD_FOR_COPY)
                   : 0;
    /* All others only say how a job went on: nothing is copied, so the clocks need not be read. */
    if (record->type != ELAPSE__RECORD_PUT && record->type != ELAPSE__RECORD_TOKEN)
        return 0;
    enum elapse__queue_result result =
        elapse__queue_clean(joint->jobs, present(joint), position, record);
    if (result == ELAPSE__QUEUE_REFUSED)
        return joint->refused;
    return errno_of(result);
}

static int owner_clean(void *context, uint64_t position, const struct elapse__record *record)
{
    struct elapse__joint *joint = context;

    joint->clean_error = copy_record(joint, position, record);
    return joint->clean_error;
}

static uint64_t owner_growth(void *context)
{
    const struct elapse__joint *joint = context;

    return elapse__queue_growth_bytes(joint->jobs);
}

static void owner_facts(void *context, uint64_t *next_id, int64_t *wall_ms)
{
    struct elapse__joint *joint = context;

    *next_id = elapse__queue_last_id(joint->jobs) + 1;
    *wall_ms = present(joint).wall_ms;
}

/* ---- life ---- */

bool elapse__joint_make_jobs(struct elapse__joint *joint, elapse__joint_now_function *now,
                             const struct elapse__queue_options *options)
{
    struct elapse__queue_options inner = *options;

    *joint = (struct elapse__joint){
        .sink = {.begin = joint_begin,
                 .append = joint_append,
                 .end = joint_end,
                 .live = joint_live},
        .now = now,
    };
    inner.sink = &joint->sink;
    inner.memory = NULL; /* the caller's own may be gone later */
    joint->options = inner;
    joint->has_memory = options->memory != NULL;
    if (joint->has_memory)
        joint->memory = *options->memory;
    return elapse__joint_new_jobs(joint);
}

bool elapse__joint_new_jobs(struct elapse__joint *joint)
{
    struct elapse__queue_options options = joint->options;

    ELAPSE__ASSERT(joint->jobs == NULL);
    if (joint->has_memory)
        options.memory = &joint->memory;
    joint->jobs = elapse__queue_new(&options);
    return joint->jobs != NULL;
}

bool elapse__joint_open_journal(struct elapse__joint *joint,
                                const struct elapse__journal_options *options,
                                struct elapse__journal_refusal *refusal)
{
    struct elapse__journal_options inner = *options;

    ELAPSE__ASSERT(joint->jobs != NULL && joint->journal == NULL);
    /* The number of the life must be synced, or a power cut would let it repeat. */
    joint->interval_ms = options->interval_ms;
    if (options->log == NULL)
        inner.interval_ms = 0;
    inner.owner = (struct elapse__journal_owner){
        .context = joint,
        .header = owner_header,
        .replay = elapse__joint_replay,
        .fetch = owner_fetch,
        .clean = owner_clean,
        .facts = owner_facts,
        .growth = owner_growth,
        .forget = elapse__joint_forget,
    };
    joint->journal = elapse__journal_open(&inner, refusal);
    if (joint->journal == NULL)
        return false;
    joint->below = elapse__journal_sink(joint->journal);
    return true;
}

/* Writes the life's number, and waits until it is durable. The journal may have to make room for it
 * first: after a crash the head may be full, and no spare left. */
static enum elapse_error number_life(struct elapse__joint *joint)
{
    int refused = elapse__joint_write_epoch(joint, ELAPSE__RECORD_FOR_RELIEF);

    while (refused == EAGAIN && elapse__journal_work(joint->journal))
        refused = elapse__joint_write_epoch(joint, ELAPSE__RECORD_FOR_RELIEF);
    while (refused == 0 && elapse__journal_error(joint->journal) == 0 &&
           !elapse__joint_may_reply(joint, joint->last_position) &&
           elapse__journal_work(joint->journal)) {
    }
    if (elapse__journal_error(joint->journal) != 0)
        return ELAPSE_ERROR_BROKEN;
    if (refused != 0 && refused != EAGAIN && refused != ENOSPC)
        return ELAPSE_ERROR_SYSTEM;
    if (refused != 0 || !elapse__joint_may_reply(joint, joint->last_position))
        return ELAPSE_ERROR_DISK_FULL;
    elapse__journal_set_interval(joint->journal, joint->interval_ms);
    return ELAPSE_OK;
}

enum elapse_error elapse__joint_error(enum elapse__queue_result result)
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
static uint32_t next_life(struct elapse__joint *joint, bool is_backup)
{
    const uint32_t share = 16;
    uint32_t left = UINT32_MAX - joint->life;

    if (!is_backup || left / share == 0)
        return joint->life + 1;
    return joint->life + 1 + (uint32_t)(elapse__queue_random(joint->jobs) % (left / share));
}

enum elapse_error elapse__joint_begin_life(struct elapse__joint *joint)
{
    bool is_backup = elapse__backup_is_marked(joint->journal);

    if (elapse__journal_is_placed(joint->journal))
        return ELAPSE_ERROR_FORMAT; /* what it would write would not be in the log */
    joint->life = next_life(joint, is_backup);
    enum elapse_error error =
        elapse__joint_error(elapse__queue_replay_done(joint->jobs, present(joint), joint->life));
    if (error != ELAPSE_OK)
        return error;
    /* The journal may clean as soon as it works, so the queue is open by now. */
    error = number_life(joint);
    if (error == ELAPSE_OK && is_backup && elapse__backup_unmark(joint->journal) != 0)
        return ELAPSE_ERROR_SYSTEM;
    return error;
}

void elapse__joint_free(struct elapse__joint *joint)
{
    elapse__journal_free(joint->journal);
    elapse__queue_free(joint->jobs);
    joint->journal = NULL;
    joint->jobs = NULL;
}

/* ---- commands ---- */

bool elapse__joint_may_reply(const struct elapse__joint *joint, uint64_t gate)
{
    return elapse__journal_durable(joint->journal) >= gate;
}

bool elapse__joint_run(struct elapse__joint *joint, elapse__joint_command *command,
                       const void *arguments, struct elapse__queue_answer *answer)
{
    if (elapse__journal_is_full(joint->journal))
        return false;
    joint->refused = 0;
    *answer = command(joint->jobs, present(joint), arguments);
    if (answer->result == ELAPSE__QUEUE_REFUSED && joint->refused == EAGAIN)
        return false;
    ELAPSE__ASSERT_THAT(answer->position, <=, joint->last_position);
    answer->position = joint->last_position;
    return true;
}

/* ---- hand-outs ---- */

bool elapse__joint_lacks_room(const struct elapse__joint *joint)
{
    return joint->refused == EAGAIN;
}

bool elapse__joint_take_many(struct elapse__joint *joint,
                             const struct elapse__queue_reserve *reserve,
                             struct elapse__queue_handed *handed, uint32_t *count,
                             enum elapse__queue_result *result, uint64_t *gate)
{
    if (joint->batch == NULL)
        (void)elapse__queue_turn(joint->jobs, present(joint));
    uint64_t before = joint->last_position;
    uint64_t groups_before = joint->groups;
    joint->refused = 0;
    struct elapse__queue_answer answer =
        elapse__queue_reserve(joint->jobs, present(joint), reserve, handed, count);
    *result = answer.result;
    if (answer.result == ELAPSE__QUEUE_REFUSED && joint->refused == EAGAIN)
        *result = ELAPSE__QUEUE_OK;
    ELAPSE__ASSERT_THAT(*count, <=, reserve->count);
    /* Each lease has a group of its own. Groups beyond that are of jobs that expired: the reply
     * waits for those, too, and they may lie between the leases. */
    if (*count == 1)
        *gate = joint->previous_position;
    else
        *gate = joint->groups - groups_before == *count ? before : joint->last_position;
    return *count > 0;
}

bool elapse__joint_take(struct elapse__joint *joint, const struct elapse__queue_reserve *reserve,
                        struct elapse__queue_handed *handed, enum elapse__queue_result *result,
                        uint64_t *gate)
{
    uint32_t count = 0;

    ELAPSE__ASSERT_THAT(reserve->count, ==, 1);
    return elapse__joint_take_many(joint, reserve, handed, &count, result, gate);
}

bool elapse__joint_take_id(struct elapse__joint *joint, uint64_t id,
                           struct elapse__queue_connection *connection,
                           struct elapse__queue_handed *handed, enum elapse__queue_result *result,
                           uint64_t *gate)
{
    uint64_t before = joint->last_position;

    joint->refused = 0;
    struct elapse__queue_answer answer =
        elapse__queue_reserve_id(joint->jobs, present(joint), id, connection, false, handed);
    *result = answer.result;
    *gate = answer.result == ELAPSE__QUEUE_OK ? before : joint->last_position;
    return answer.result == ELAPSE__QUEUE_OK;
}

static struct elapse__queue_holder holder_of(const struct elapse__queue_handed *handed)
{
    return (struct elapse__queue_holder){.id = handed->id, .lease = handed->lease};
}

void elapse__joint_take_back(struct elapse__joint *joint, const struct elapse__queue_handed *handed)
{
    (void)elapse__queue_lease_undo(joint->jobs, present(joint), holder_of(handed));
}

int elapse__joint_texts(struct elapse__joint *joint, struct elapse__journal_reading *reading,
                        struct elapse__joint_job *job)
{
    struct elapse__record record;
    struct elapse__queue_fields fields;
    int error = elapse__journal_read_end(joint->journal, reading, &record, &job->memory);

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

int elapse__joint_peek(struct elapse__joint *joint, uint64_t id, struct elapse__joint_job *job)
{
    struct elapse__queue_view view;
    struct elapse__journal_reading reading;

    *job = (struct elapse__joint_job){.memory = NULL};
    if (elapse__queue_look_up_id(joint->jobs, present(joint), id, &view) != ELAPSE__QUEUE_OK)
        return ENOENT;
    elapse__journal_read_begin(joint->journal, view.position, view.body_size, &reading);
    elapse__journal_read_perform(joint->journal, true, &reading, 1);
    int error = elapse__joint_texts(joint, &reading, job);
    return error == ENOENT ? EBADMSG : error; /* the job exists, and its record does not */
}

struct place {
    uint64_t position;
    uint32_t body_size;
};

/* Returns whether the job is still reserved, and where it lies; a cancelled one ends. */
static bool is_there(struct elapse__joint *joint, const struct elapse__queue_handed *handed,
                     struct place *place)
{
    if (elapse__queue_locate(joint->jobs, handed->id, &place->position, &place->body_size))
        return true;
    elapse__joint_take_back(joint, handed);
    return false;
}

int elapse__joint_hand_over_begin(struct elapse__joint *joint,
                                  const struct elapse__queue_handed *handed,
                                  struct elapse__journal_reading *reading)
{
    struct place place;

    /* Cleaning may have moved the record while the reply waited. */
    if (!is_there(joint, handed, &place))
        return ENOENT;
    elapse__journal_read_begin(joint->journal, place.position, place.body_size, reading);
    return 0;
}

int elapse__joint_hand_over_end(struct elapse__joint *joint,
                                const struct elapse__queue_handed *handed,
                                struct elapse__journal_reading *reading,
                                struct elapse__joint_job *job)
{
    struct place place;

    *job = (struct elapse__joint_job){.memory = NULL};
    int error = elapse__joint_texts(joint, reading, job);
    bool stays = is_there(joint, handed, &place);
    if (stays && (error == EBADMSG || error == ENOENT || error == EIO)) {
        /* A disk that cannot read a sector says EIO. The job must not stand before all others. */
        (void)elapse__queue_bury_damaged(joint->jobs, present(joint), handed->id);
        error = ENOENT;
    } else if (stays && error != 0) {
        elapse__joint_take_back(joint, handed);
    } else if (!stays || elapse__queue_lease_begin(joint->jobs, present(joint),
                                                   holder_of(handed)) != ELAPSE__QUEUE_OK) {
        error = ENOENT;
    }
    if (error != 0) {
        free(job->memory);
        job->memory = NULL;
    }
    return error;
}

int elapse__joint_hand_over(struct elapse__joint *joint, const struct elapse__queue_handed *handed,
                            struct elapse__joint_job *job)
{
    struct elapse__journal_reading reading;

    *job = (struct elapse__joint_job){.memory = NULL};
    int error = elapse__joint_hand_over_begin(joint, handed, &reading);
    if (error != 0)
        return error;
    elapse__journal_read_perform(joint->journal, true, &reading, 1);
    return elapse__joint_hand_over_end(joint, handed, &reading, job);
}
