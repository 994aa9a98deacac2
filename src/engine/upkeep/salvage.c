#include "salvage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/little_endian.h"

/* The fewest bytes of a record. Lost bytes had at most bytes / RECORD_BYTES_MIN records. */
enum { RECORD_BYTES_MIN = 24, LIFE_BYTES = 4 };

static void forget_lost(struct elapse__salvage *salvage, uint64_t id)
{
    for (size_t i = 0; i < salvage->lost_count; i++) {
        if (salvage->lost[i].id == id) {
            salvage->lost[i] = salvage->lost[--salvage->lost_count];
            return;
        }
    }
}

static void learn_life(struct elapse__salvage *salvage, uint32_t life)
{
    if (life > salvage->greatest_life)
        salvage->greatest_life = life;
}

static void learn(struct elapse__salvage *salvage, const struct elapse__record *record,
                  const struct elapse__queue_fields *fields)
{
    ELAPSE__ASSERT(fields->id > 0 && fields->id <= ELAPSE__QUEUE_ID_MAX); /* decode promises that */
    if (fields->id > salvage->greatest_id)
        salvage->greatest_id = fields->id;
    learn_life(salvage, fields->lease.life);
    if (record->type == ELAPSE__RECORD_PUT || record->type == ELAPSE__RECORD_DELETE)
        forget_lost(salvage, fields->id);
}

static int load(struct elapse__salvage *salvage, const struct elapse__record *record)
{
    int error = salvage->data == NULL ? 0 : elapse__data_load(salvage->data, record);
    return error == EBADMSG ? 0 : error;
}

int elapse__salvage_record(struct elapse__salvage *salvage, const struct elapse__record *record)
{
    struct elapse__queue_fields fields;
    if (record->type == ELAPSE__RECORD_EPOCH) {
        const unsigned char *bytes = record->fields;
        if (record->fields_size == LIFE_BYTES)
            learn_life(salvage, (uint32_t)elapse__little_endian_load(bytes, LIFE_BYTES));
        return load(salvage, record);
    }
    if (record->type == ELAPSE__RECORD_TUBE)
        return load(salvage, record);
    if (!elapse__queue_fields_decode(&fields, record))
        return 0;
    learn(salvage, record, &fields);
    return load(salvage, record);
}

static void copy_text(char *to, size_t room, struct elapse__queue_text text)
{
    ELAPSE__ASSERT_THAT(room, >, ELAPSE__QUEUE_TUBE_BYTES_MAX);
    size_t size = text.size < room ? text.size : room - 1;
    if (size > 0)
        memcpy(to, text.bytes, size);
    to[size] = '\0';
}

/* Deletes a job whose newest record is damaged. If it were not deleted, an older record of the job
 * would bring back a body that was replaced. */
static int load_delete(struct elapse__salvage *salvage, uint64_t id)
{
    unsigned char bytes[ELAPSE__QUEUE_FIELDS_MAX];
    struct elapse__queue_fields fields = {.id = id};
    ELAPSE__ASSERT_THAT(id, <=, salvage->greatest_id);
    struct elapse__record record = {
        .type = ELAPSE__RECORD_DELETE,
        .fields_size = elapse__queue_fields_encode(&fields, ELAPSE__RECORD_DELETE, bytes),
        .fields = bytes,
    };
    return load(salvage, &record);
}

/* Loads what a CHANGE says of its job, without the error, whose text is damaged. */
static int load_without_error(struct elapse__salvage *salvage, const struct elapse__record *record)
{
    unsigned char bytes[ELAPSE__QUEUE_FIELDS_MAX];
    struct elapse__queue_fields fields;
    if (!elapse__queue_fields_decode(&fields, record))
        return 0;
    learn(salvage, record, &fields);
    fields.has_error = false;
    fields.failure = ELAPSE__QUEUE_FAILURE_NONE;
    struct elapse__record change = {
        .type = ELAPSE__RECORD_CHANGE,
        .fields_size = elapse__queue_fields_encode(&fields, ELAPSE__RECORD_CHANGE, bytes),
        .fields = bytes,
    };
    return load(salvage, &change);
}

int elapse__salvage_damaged(struct elapse__salvage *salvage, const struct elapse__record *record)
{
    struct elapse__queue_fields fields;
    if (record->type == ELAPSE__RECORD_CHANGE)
        return load_without_error(salvage, record);
    if (record->type != ELAPSE__RECORD_PUT || !elapse__queue_fields_decode(&fields, record))
        return 0;
    learn(salvage, record, &fields);
    if (salvage->lost_count == salvage->lost_capacity) {
        size_t capacity = salvage->lost_capacity == 0 ? 16 : 2 * salvage->lost_capacity;
        struct elapse__lost_job *lost = realloc(salvage->lost, capacity * sizeof *lost);
        if (lost == NULL)
            return ENOMEM;
        salvage->lost = lost;
        salvage->lost_capacity = capacity;
    }
    ELAPSE__ASSERT_THAT(salvage->lost_count, <, salvage->lost_capacity);
    struct elapse__lost_job *job = &salvage->lost[salvage->lost_count++];
    job->id = fields.id;
    copy_text(job->tube, sizeof job->tube, fields.tube);
    copy_text(job->key, sizeof job->key, fields.key);
    return load_delete(salvage, fields.id);
}

int elapse__salvage_life(struct elapse__salvage *salvage, uint64_t lost_bytes)
{
    uint64_t life = salvage->greatest_life + lost_bytes / RECORD_BYTES_MIN;
    unsigned char bytes[LIFE_BYTES];
    struct elapse__record record = {
        .type = ELAPSE__RECORD_EPOCH, .fields_size = LIFE_BYTES, .fields = bytes};
    if (life >= UINT32_MAX)
        life = UINT32_MAX - 1;
    ELAPSE__ASSERT_THAT(life, <, UINT32_MAX); /* the next life needs a number, too */
    elapse__little_endian_store(bytes, life, LIFE_BYTES);
    return load(salvage, &record);
}
