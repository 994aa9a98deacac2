#include "portable.h"

#include <string.h>

#include "../../base/assert.h"
#include "../../base/little_endian.h"
#include "frame.h"

enum {
    PORTABLE_VERSION_AT = 0,
    PORTABLE_RECORDS_AT = 4,
    PORTABLE_TAIL_AT = 8,
    PORTABLE_NEXT_ID_AT = 16,
    PORTABLE_WALL_AT = 24,

    PORTABLE_BODY_SIZE_AT = 0,
    PORTABLE_FIELDS_SIZE_AT = 4,
    PORTABLE_TYPE_AT = 6,
    PORTABLE_FLAGS_AT = 7,
};

size_t elapse__portable_put_record(const struct elapse__record *record, uint8_t *bytes)
{
    uint8_t *content = bytes + ELAPSE__PORTABLE_RECORD_BYTES;
    elapse__little_endian_store(bytes + PORTABLE_BODY_SIZE_AT, record->body_size, 4);
    elapse__little_endian_store(bytes + PORTABLE_FIELDS_SIZE_AT, record->fields_size, 2);
    bytes[PORTABLE_TYPE_AT] = (uint8_t)record->type;
    bytes[PORTABLE_FLAGS_AT] = record->flags;
    if (record->fields_size > 0)
        memcpy(content, record->fields, record->fields_size);
    if (record->body_size > 0)
        memcpy(content + record->fields_size, record->body, record->body_size);
    return (size_t)ELAPSE__PORTABLE_RECORD_BYTES + record->fields_size + record->body_size;
}

void elapse__portable_put_header(const struct elapse__portable_facts *facts, uint32_t records,
                                 uint8_t *bytes)
{
    elapse__little_endian_store(bytes + PORTABLE_VERSION_AT, ELAPSE__PORTABLE_FORMAT, 4);
    elapse__little_endian_store(bytes + PORTABLE_RECORDS_AT, records, 4);
    elapse__little_endian_store(bytes + PORTABLE_TAIL_AT, facts->tail, 8);
    elapse__little_endian_store(bytes + PORTABLE_NEXT_ID_AT, facts->next_id, 8);
    elapse__little_endian_store(bytes + PORTABLE_WALL_AT, (uint64_t)facts->wall_ms, 8);
}

static size_t encode_record(const struct elapse__frame *frame, const uint8_t *content,
                            uint8_t *bytes)
{
    const struct elapse__record record = {
        .type = frame->type,
        .flags = frame->flags,
        .fields_size = frame->fields_size,
        .body_size = frame->body_size,
        .fields = content,
        .body = content + frame->fields_size,
    };
    return elapse__portable_put_record(&record, bytes);
}

size_t elapse__portable_encode(const struct elapse__portable_facts *facts, const uint8_t *frames,
                               size_t size, uint8_t *bytes)
{
    uint32_t records = 0;
    size_t end = ELAPSE__PORTABLE_HEADER_BYTES;
    for (size_t at = 0; at < size; records++) {
        struct elapse__frame frame;
        bool is_record = elapse__frame_decode(frames + at, &frame);
        ELAPSE__ASSERT(is_record && elapse__record_has_owner(frame.type));
        ELAPSE__ASSERT_THAT(frame.bytes, <=, size - at);
        (void)is_record;
        end += encode_record(&frame, frames + at + ELAPSE__RECORD_HEADER_BYTES, bytes + end);
        at += (size_t)frame.bytes;
    }
    elapse__portable_put_header(facts, records, bytes);
    ELAPSE__ASSERT_THAT(end, <=, ELAPSE__PORTABLE_HEADER_BYTES + size);
    return end;
}

/* Reads the record at the beginning of these bytes. Returns its size, or 0 if there is no
 * record. */
static size_t decode_record(const uint8_t *bytes, size_t size, struct elapse__record *record)
{
    if (size < ELAPSE__PORTABLE_RECORD_BYTES)
        return 0;
    uint64_t body_size = elapse__little_endian_load(bytes + PORTABLE_BODY_SIZE_AT, 4);
    uint64_t fields_size = elapse__little_endian_load(bytes + PORTABLE_FIELDS_SIZE_AT, 2);
    uint8_t type = bytes[PORTABLE_TYPE_AT];
    uint64_t whole = ELAPSE__PORTABLE_RECORD_BYTES + fields_size + body_size;
    if (type < ELAPSE__RECORD_PUT || type > ELAPSE__RECORD_LAST ||
        !elapse__record_has_owner((enum elapse__record_type)type) || whole > size)
        return 0;
    *record = (struct elapse__record){
        .type = (enum elapse__record_type)type,
        .flags = bytes[PORTABLE_FLAGS_AT],
        .fields_size = (uint16_t)fields_size,
        .body_size = (uint32_t)body_size,
        .fields = bytes + ELAPSE__PORTABLE_RECORD_BYTES,
        .body = body_size == 0 ? NULL : bytes + ELAPSE__PORTABLE_RECORD_BYTES + fields_size,
    };
    return (size_t)whole;
}

bool elapse__portable_open(struct elapse__portable *portable, const void *bytes, size_t size)
{
    const uint8_t *header = bytes;
    struct elapse__record record;
    if (size < ELAPSE__PORTABLE_HEADER_BYTES ||
        elapse__little_endian_load(header + PORTABLE_VERSION_AT, 4) != ELAPSE__PORTABLE_FORMAT)
        return false;
    *portable = (struct elapse__portable){
        .facts = {.tail = elapse__little_endian_load(header + PORTABLE_TAIL_AT, 8),
                  .next_id = elapse__little_endian_load(header + PORTABLE_NEXT_ID_AT, 8),
                  .wall_ms = (int64_t)elapse__little_endian_load(header + PORTABLE_WALL_AT, 8)},
        .rest = header + ELAPSE__PORTABLE_HEADER_BYTES,
        .rest_bytes = size - ELAPSE__PORTABLE_HEADER_BYTES,
    };
    uint64_t records = elapse__little_endian_load(header + PORTABLE_RECORDS_AT, 4);
    for (struct elapse__portable walk = *portable; walk.rest_bytes > 0; portable->records++) {
        size_t whole = decode_record(walk.rest, walk.rest_bytes, &record);
        if (whole == 0)
            return false;
        walk.rest += whole;
        walk.rest_bytes -= whole;
        portable->frame_bytes += elapse__record_bytes_max(record.fields_size, record.body_size);
    }
    return portable->records == records;
}

bool elapse__portable_next(struct elapse__portable *portable, struct elapse__record *record)
{
    if (portable->rest_bytes == 0)
        return false;
    size_t whole = decode_record(portable->rest, portable->rest_bytes, record);
    ELAPSE__ASSERT_THAT(whole, >, 0); /* elapse__portable_open has checked all records */
    portable->rest += whole;
    portable->rest_bytes -= whole;
    return true;
}
