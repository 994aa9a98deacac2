#include "fields.h"

#include <string.h>

#include "../base/assert.h"
#include "../base/little_endian.h"

/* The bits of `parts`. A bit must never be changed, because records on disk have it. */
enum {
    PART_BY_WALL = 1 << 0,
    PART_HANDED_OUT = 1 << 1,
    PART_COUNTERS = 1 << 2,
    PART_LEASE = 1 << 3,
    PART_RECURRENCE = 1 << 4,
    PART_KEY = 1 << 5,
    PART_TAG = 1 << 6,
    PART_EXPIRE = 1 << 7,
    PART_RETRY = 1 << 8,
    PART_FIRST = 1 << 9,
    PART_PUT_TIME = 1 << 10, /* if this is absent, the job was due at once */
    PART_SECOND_WORD = 1 << 15,
    PART_HEADERS = 1 << 16,       /* the first bit of the second word */
    PART_ERROR = 1 << 17,         /* the body of this CHANGE is the text of an error */
    PART_EARLIER_ERROR = 1 << 18, /* an earlier record has the text of the job's error */
    PART_GROUP = 1 << 19,
    PART_AWAIT = 1 << 20,   /* arrivals are missing */
    PART_WAITING = 1 << 21, /* the job waits for arrivals */
    PART_NO_DUE = 1 << 22,  /* the job has no due time, and neither has the record */
    PARTS_OF_AWAIT = PART_AWAIT | PART_WAITING | PART_NO_DUE,
    PART_BURIED = 1 << 23, /* the record says when the job was buried */
    PARTS_OF_STATE = ((1 << 5) - 1) | PART_EARLIER_ERROR | PARTS_OF_AWAIT | PART_BURIED,
    PARTS_ALL = ((1 << 11) - 1) | PART_HEADERS | PART_ERROR | PART_EARLIER_ERROR | PART_GROUP |
                PARTS_OF_AWAIT | PART_BURIED,
};

/* If this bit of the reason is set, the last failure is FAILURE_LEASE_ENDED. */
enum { REASON_LEASE_ENDED = 1 << 7, REASONS = 5 };

/* ---- bytes ---- */

struct field_writer {
    unsigned char *next;
};

/* Writes a number of some bytes. `next` is in a variable, so the compiler knows that no stored byte
 * changes it. */
static inline void write_number(struct field_writer *writer, uint64_t number, unsigned bytes)
{
    unsigned char *next = writer->next;
    elapse__little_endian_store(next, number, bytes);
    writer->next = next + bytes;
}

static void write_text(struct field_writer *writer, struct elapse__queue_text text,
                       unsigned size_bytes)
{
    write_number(writer, text.size, size_bytes);
    if (text.size > 0)
        memcpy(writer->next, text.bytes, text.size);
    writer->next += text.size;
}

struct field_reader {
    const unsigned char *next;
    size_t left;
    bool bad;
};

static inline uint64_t read_number(struct field_reader *reader, unsigned bytes)
{
    if (reader->left < bytes) {
        reader->bad = true;
        return 0;
    }
    uint64_t number = elapse__little_endian_load(reader->next, bytes);
    reader->next += bytes;
    reader->left -= bytes;
    return number;
}

static struct elapse__queue_text read_text(struct field_reader *reader, unsigned size_bytes,
                                           size_t least, size_t most)
{
    size_t size = (size_t)read_number(reader, size_bytes);
    if (reader->bad || size > reader->left || size < least || size > most) {
        reader->bad = true;
        return (struct elapse__queue_text){0};
    }
    struct elapse__queue_text text = {.bytes = reader->next, .size = size};
    reader->next += size;
    reader->left -= size;
    return text;
}

/* Reads a wall-clock time. A time that is far outside the range was not written by a queue, and is
 * a fault. */
static int64_t read_wall_ms(struct field_reader *reader)
{
    int64_t wall_ms = (int64_t)read_number(reader, 8);
    if (wall_ms > 2 * ELAPSE__QUEUE_WALL_MS_MAX || wall_ms < -2 * ELAPSE__QUEUE_WALL_MS_MAX)
        reader->bad = true;
    return reader->bad ? 0 : wall_ms;
}

/* ---- the parts ---- */

static bool has_lease(uint64_t state)
{
    return state == ELAPSE__QUEUE_RESERVED || state == ELAPSE__QUEUE_SHADOW;
}

static uint32_t parts_of_state(const struct elapse__queue_fields *fields)
{
    uint32_t parts = 0;
    if (fields->by_wall)
        parts |= PART_BY_WALL;
    if (fields->handed_out)
        parts |= PART_HANDED_OUT;
#define IS_COUNTED(field) fields->field != 0 ||
    if (ELAPSE__QUEUE_COUNTERS(IS_COUNTED) false)
        parts |= PART_COUNTERS;
#undef IS_COUNTED
    if (has_lease(fields->state))
        parts |= PART_LEASE;
    if (fields->recurring)
        parts |= PART_RECURRENCE;
    if (fields->has_error)
        parts |= PART_ERROR;
    else if (fields->failure == ELAPSE__QUEUE_FAILURE_TOLD)
        parts |= PART_EARLIER_ERROR;
    ELAPSE__ASSERT((fields->await != 0) == (fields->awaits != ELAPSE__QUEUE_AWAITS_NONE));
    if (fields->awaits != ELAPSE__QUEUE_AWAITS_NONE)
        parts |= PART_AWAIT;
    if (fields->awaits == ELAPSE__QUEUE_AWAITS_WAITING)
        parts |= PART_WAITING;
    if (fields->no_due)
        parts |= PART_NO_DUE;
    ELAPSE__ASSERT(!fields->has_buried || fields->state == ELAPSE__QUEUE_BURIED);
    if (fields->has_buried)
        parts |= PART_BURIED;
    return parts;
}

static uint32_t parts_of_put(const struct elapse__queue_fields *fields)
{
    uint32_t parts = parts_of_state(fields);
    if (fields->key.size > 0)
        parts |= PART_KEY;
    if (fields->tag.size > 0)
        parts |= PART_TAG;
    if (fields->expire_ms > 0)
        parts |= PART_EXPIRE;
    if (fields->retry > 0 || fields->backoff_max_ms > 0)
        parts |= PART_RETRY;
    if (fields->has_first)
        parts |= PART_FIRST;
    if (fields->put_ms != 0 && fields->put_ms != fields->due_ms)
        parts |= PART_PUT_TIME;
    if (fields->headers_size > 0)
        parts |= PART_HEADERS;
    if (fields->group.size > 0)
        parts |= PART_GROUP;
    return parts;
}

#define WRITE(field) write_number(writer, fields->field, 4);
#define READ(field)  fields->field = (uint32_t)read_number(reader, 4);

static void write_parts(struct field_writer *writer, uint32_t parts)
{
    bool has_second = parts >> 16 != 0;
    write_number(writer, (parts & 0xFFFF) | (has_second ? PART_SECOND_WORD : 0), 2);
    if (has_second)
        write_number(writer, parts >> 16, 2);
}

static uint32_t read_parts(struct field_reader *reader)
{
    uint32_t parts = (uint32_t)read_number(reader, 2);
    if ((parts & PART_SECOND_WORD) == 0)
        return parts;
    uint32_t second = (uint32_t)read_number(reader, 2);
    reader->bad |= second == 0;
    return (parts & ~(uint32_t)PART_SECOND_WORD) | second << 16;
}

static void write_state(struct field_writer *writer, const struct elapse__queue_fields *fields,
                        uint32_t parts)
{
    write_parts(writer, parts);
    write_number(writer, (uint64_t)fields->state, 1);
    write_number(
        writer,
        fields->reason |
            (fields->failure == ELAPSE__QUEUE_FAILURE_LEASE_ENDED ? REASON_LEASE_ENDED : 0),
        1);
    if ((parts & PART_NO_DUE) == 0)
        write_number(writer, (uint64_t)fields->due_ms, 8);
    write_number(writer, fields->priority, 4);
    if ((parts & PART_COUNTERS) != 0) {
        ELAPSE__QUEUE_COUNTERS(WRITE)
    }
    if ((parts & PART_LEASE) != 0) {
        write_number(writer, fields->lease.life, 4);
        write_number(writer, fields->lease.number, 8);
        write_number(writer, (uint64_t)fields->lease_end_ms, 8);
    }
    if ((parts & PART_RECURRENCE) != 0) {
        write_number(writer, (uint64_t)fields->occurrence_ms, 8);
        ELAPSE__QUEUE_OCCURRENCES(WRITE)
    }
    if ((parts & PART_ERROR) != 0)
        write_number(writer, (uint64_t)fields->error_ms, 8);
    if ((parts & PART_AWAIT) != 0)
        write_number(writer, fields->await, 4);
    if ((parts & PART_BURIED) != 0)
        write_number(writer, (uint64_t)fields->buried_ms, 8);
}

/* Reads the reason and the last failure from the record. */
static void read_failure(struct field_reader *reader, struct elapse__queue_fields *fields,
                         uint64_t reason, uint32_t parts)
{
    bool lease_ended = (reason & REASON_LEASE_ENDED) != 0;
    bool is_told = (parts & (PART_ERROR | PART_EARLIER_ERROR)) != 0;
    fields->reason = (uint8_t)(reason & ~(uint64_t)REASON_LEASE_ENDED);
    fields->has_error = (parts & PART_ERROR) != 0;
    fields->failure = lease_ended ? ELAPSE__QUEUE_FAILURE_LEASE_ENDED
                      : is_told   ? ELAPSE__QUEUE_FAILURE_TOLD
                                  : ELAPSE__QUEUE_FAILURE_NONE;
    reader->bad |= fields->reason >= REASONS || (lease_ended && is_told) ||
                   (parts & PART_ERROR && parts & PART_EARLIER_ERROR);
}

/* Reads from the record how many arrivals are missing. A job that waits for arrivals is DELAYED,
 * does not recur, and is not debounced. */
static void read_await(struct field_reader *reader, struct elapse__queue_fields *fields,
                       uint32_t parts)
{
    if ((parts & PARTS_OF_AWAIT) == 0)
        return;
    bool waits = (parts & PART_WAITING) != 0;
    fields->await = (uint32_t)read_number(reader, 4);
    fields->awaits = waits ? ELAPSE__QUEUE_AWAITS_WAITING : ELAPSE__QUEUE_AWAITS_MISSED;
    fields->no_due = (parts & PART_NO_DUE) != 0;
    reader->bad |= (parts & PART_AWAIT) == 0 || fields->await == 0 ||
                   (parts & (PART_RECURRENCE | PART_FIRST)) != 0 ||
                   (waits && fields->state != ELAPSE__QUEUE_DELAYED) ||
                   (fields->no_due && (!waits || fields->by_wall));
}

static uint32_t read_state(struct field_reader *reader, struct elapse__queue_fields *fields)
{
    uint32_t parts = read_parts(reader);
    uint64_t state = read_number(reader, 1);
    uint64_t reason = read_number(reader, 1);
    if ((parts & PART_NO_DUE) == 0)
        fields->due_ms = read_wall_ms(reader);
    fields->priority = (uint32_t)read_number(reader, 4);
    if (state != ELAPSE__QUEUE_DELAYED && !has_lease(state) && state != ELAPSE__QUEUE_BURIED)
        reader->bad = true;
    if ((parts & ~(uint32_t)PARTS_ALL) != 0 || ((parts & PART_LEASE) != 0) != has_lease(state))
        reader->bad = true;
    fields->state = (enum elapse__queue_state)state;
    read_failure(reader, fields, reason, parts);
    fields->by_wall = (parts & PART_BY_WALL) != 0;
    fields->handed_out = (parts & PART_HANDED_OUT) != 0;
    if ((parts & PART_COUNTERS) != 0) {
        ELAPSE__QUEUE_COUNTERS(READ)
    }
    if ((parts & PART_LEASE) != 0) {
        fields->lease.life = (uint32_t)read_number(reader, 4);
        fields->lease.number = read_number(reader, 8);
        fields->lease_end_ms = read_wall_ms(reader);
        reader->bad |= fields->lease.number == 0;
    }
    fields->recurring = (parts & PART_RECURRENCE) != 0;
    if (fields->recurring) {
        fields->occurrence_ms = read_wall_ms(reader);
        ELAPSE__QUEUE_OCCURRENCES(READ)
    }
    if (fields->has_error)
        fields->error_ms = read_wall_ms(reader);
    read_await(reader, fields, parts);
    fields->has_buried = (parts & PART_BURIED) != 0;
    if (fields->has_buried) {
        fields->buried_ms = read_wall_ms(reader);
        reader->bad |= state != ELAPSE__QUEUE_BURIED;
    }
    return parts;
}

#undef WRITE
#undef READ

static void write_job(struct field_writer *writer, const struct elapse__queue_fields *fields,
                      uint32_t parts)
{
    write_text(writer, fields->tube, 1);
    write_number(writer, fields->ttr_ms, 8);
    if ((parts & PART_KEY) != 0)
        write_text(writer, fields->key, 1);
    if ((parts & PART_TAG) != 0)
        write_text(writer, fields->tag, 1);
    if ((parts & PART_EXPIRE) != 0)
        write_number(writer, fields->expire_ms, 8);
    if ((parts & PART_RETRY) != 0) {
        write_number(writer, fields->retry, 4);
        write_number(writer, fields->backoff_min_ms, 8);
        write_number(writer, fields->backoff_max_ms, 8);
    }
    if ((parts & PART_FIRST) != 0)
        write_number(writer, (uint64_t)fields->first_ms, 8);
    if ((parts & PART_PUT_TIME) != 0)
        write_number(writer, (uint64_t)fields->put_ms, 8);
    if ((parts & PART_HEADERS) != 0)
        write_number(writer, fields->headers_size, 2);
    if ((parts & PART_GROUP) != 0)
        write_text(writer, fields->group, 1);
    if ((parts & PART_RECURRENCE) != 0) {
        write_number(writer, (uint64_t)fields->kind, 1);
        write_number(writer, fields->period_ms, 8);
        write_text(writer, fields->cron, 2);
        write_text(writer, fields->zone, 1);
    }
}

/* Reads a duration of at least `least` milliseconds. */
static uint64_t read_duration(struct field_reader *reader, uint64_t least)
{
    uint64_t duration_ms = read_number(reader, 8);
    if (duration_ms < least || duration_ms > (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX)
        reader->bad = true;
    return duration_ms;
}

static void read_recurrence(struct field_reader *reader, struct elapse__queue_fields *fields)
{
    uint64_t kind = read_number(reader, 1);
    fields->kind = (enum elapse__queue_when)kind;
    fields->period_ms = read_number(reader, 8);
    fields->cron = read_text(reader, 2, 0, ELAPSE__QUEUE_CRON_BYTES_MAX);
    fields->zone = read_text(reader, 1, 0, ELAPSE__QUEUE_ZONE_BYTES_MAX);
    if (kind == ELAPSE__QUEUE_EVERY)
        reader->bad |= fields->period_ms == 0 ||
                       fields->period_ms > (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX ||
                       fields->cron.size > 0;
    else
        reader->bad |= kind != ELAPSE__QUEUE_CRON || fields->cron.size == 0;
}

static void read_job(struct field_reader *reader, struct elapse__queue_fields *fields,
                     uint32_t parts)
{
    fields->tube = read_text(reader, 1, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX);
    fields->ttr_ms = read_duration(reader, 1);
    if ((parts & PART_KEY) != 0)
        fields->key = read_text(reader, 1, 1, ELAPSE__QUEUE_KEY_BYTES_MAX);
    if ((parts & PART_TAG) != 0)
        fields->tag = read_text(reader, 1, 1, ELAPSE__QUEUE_KEY_BYTES_MAX);
    if ((parts & PART_EXPIRE) != 0)
        fields->expire_ms = read_duration(reader, 1);
    if ((parts & PART_RETRY) != 0) {
        fields->retry = (uint32_t)read_number(reader, 4);
        fields->backoff_min_ms = read_duration(reader, 0);
        fields->backoff_max_ms = read_duration(reader, fields->backoff_min_ms);
        reader->bad |= fields->retry == 0 && fields->backoff_max_ms == 0;
    }
    fields->has_first = (parts & PART_FIRST) != 0;
    if (fields->has_first)
        fields->first_ms = read_wall_ms(reader);
    fields->put_ms = fields->due_ms;
    if ((parts & PART_PUT_TIME) != 0) {
        fields->put_ms = read_wall_ms(reader);
        reader->bad |= fields->put_ms == 0 || fields->put_ms == fields->due_ms;
    }
    if ((parts & PART_HEADERS) != 0) {
        fields->headers_size = (uint16_t)read_number(reader, 2);
        reader->bad |=
            fields->headers_size == 0 || fields->headers_size > ELAPSE__QUEUE_HEADERS_BYTES_MAX;
    }
    if ((parts & PART_GROUP) != 0)
        fields->group = read_text(reader, 1, 1, ELAPSE__QUEUE_KEY_BYTES_MAX);
    if ((parts & PART_RECURRENCE) != 0)
        read_recurrence(reader, fields);
}

uint16_t elapse__queue_fields_encode(const struct elapse__queue_fields *fields,
                                     enum elapse__record_type type, unsigned char *bytes)
{
    struct field_writer writer = {bytes};
    write_number(&writer, fields->id, 8);
    if (type == ELAPSE__RECORD_TOKEN) {
        write_number(&writer, (uint64_t)fields->token_ms, 8);
        write_text(&writer, fields->token, 1);
        if (fields->key.size > 0) {
            write_text(&writer, fields->tube, 1);
            write_text(&writer, fields->key, 1);
        }
    } else if (type == ELAPSE__RECORD_PUT) {
        uint32_t parts = parts_of_put(fields);
        write_state(&writer, fields, parts);
        write_job(&writer, fields, parts);
    } else if (type != ELAPSE__RECORD_DELETE) {
        write_state(&writer, fields, parts_of_state(fields));
    }
    size_t size = (size_t)(writer.next - bytes);
    ELAPSE__ASSERT_THAT(size, <=, ELAPSE__QUEUE_FIELDS_MAX);
    return (uint16_t)size;
}

bool elapse__queue_fields_decode(struct elapse__queue_fields *fields,
                                 const struct elapse__record *record)
{
    struct field_reader reader = {record->fields, record->fields_size, false};
    memset(fields, 0, sizeof *fields);
    /* An unknown flag changes what the record means. */
    if ((record->flags & ~(unsigned)ELAPSE__RECORD_BODY_LOST) != 0 ||
        (record->flags != 0 && record->type != ELAPSE__RECORD_PUT))
        return false;
    fields->id = read_number(&reader, 8);
    if (fields->id == 0 || fields->id > ELAPSE__QUEUE_ID_MAX)
        return false;
    uint32_t parts = 0;
    switch (record->type) {
    case ELAPSE__RECORD_PUT:
        parts = read_state(&reader, fields);
        read_job(&reader, fields, parts);
        reader.bad |= fields->headers_size > record->body_size || fields->has_error ||
                      (fields->awaits == ELAPSE__QUEUE_AWAITS_WAITING && fields->key.size == 0);
        break;
    case ELAPSE__RECORD_CHANGE:
        parts = read_state(&reader, fields);
        reader.bad |= (parts & ~(uint32_t)(PARTS_OF_STATE | PART_ERROR)) != 0 ||
                      (record->body_size > 0) != fields->has_error ||
                      record->body_size > ELAPSE__QUEUE_ERROR_BYTES_MAX;
        break;
    case ELAPSE__RECORD_LEASE:
        parts = read_state(&reader, fields);
        reader.bad |= (parts & ~(uint32_t)PARTS_OF_STATE) != 0;
        break;
    case ELAPSE__RECORD_TOKEN:
        fields->token_ms = read_wall_ms(&reader);
        fields->token = read_text(&reader, 1, 1, ELAPSE__QUEUE_KEY_BYTES_MAX);
        if (reader.left > 0) {
            fields->tube = read_text(&reader, 1, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX);
            fields->key = read_text(&reader, 1, 1, ELAPSE__QUEUE_KEY_BYTES_MAX);
        }
        break;
    case ELAPSE__RECORD_DELETE:
        break;
    default:
        return false;
    }
    return !reader.bad && reader.left == 0;
}
