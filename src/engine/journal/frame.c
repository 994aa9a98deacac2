#include "frame.h"

#include <string.h>
#include <xxhash.h>

#include "../../base/assert.h"
#include "../../base/little_endian.h"

enum {
    BODY_CHECKSUM_AT = 8,
    BODY_SIZE_AT = ELAPSE__RECORD_SIZES_AT,
    FIELDS_SIZE_AT = 20,
    TYPE_AT = 22,
    FLAGS_AT = 23,

    VERSION_AT = 8,
    BITS_AT = 12,
    IDENTITY_AT = ELAPSE__SEGMENT_IDENTITY_AT,
    NUMBER_AT = 32,
    TAIL_AT = 40,
    NEXT_ID_AT = 48,
    WALL_AT = 56,
    HEADER_CHECKSUM_AT = 64,

    /* the flags of a LOG_PLACE */
    PLACE_IS_CONFIRMED = 1,
    PLACE_FORGETS = 2,
};

static const uint8_t magic[8] = {'e', 'l', 'a', 'p', 's', 'e', 'J', 0};

uint64_t elapse__identity_seed(const struct elapse__journal_identity *identity)
{
    return XXH3_64bits(identity->bytes, sizeof identity->bytes);
}

/* The seed of a body's checksum is that of its header plus 1. Positions are multiples of 8, so no
 * two checksums of a journal have the same seed. */
static uint64_t header_checksum(const uint8_t *bytes, uint16_t fields_size, uint64_t position,
                                uint64_t seed)
{
    ELAPSE__ASSERT_THAT(position % ELAPSE__JOURNAL_ALIGNMENT, ==, 0);
    return XXH3_64bits_withSeed(
        bytes + BODY_CHECKSUM_AT,
        (size_t)ELAPSE__RECORD_HEADER_BYTES - BODY_CHECKSUM_AT + fields_size, seed + position);
}

static uint64_t body_checksum(const void *body, uint32_t body_size, uint64_t position,
                              uint64_t seed)
{
    return body_size == 0 ? 0 : XXH3_64bits_withSeed(body, body_size, seed + position + 1);
}

void elapse__frame_encode(const struct elapse__record *record, uint64_t position, uint64_t seed,
                          uint8_t *bytes)
{
    ELAPSE__ASSERT(record->type >= ELAPSE__RECORD_PUT && record->type <= ELAPSE__RECORD_LAST);
    ELAPSE__ASSERT(record->body_size == 0 || record->body != NULL);
    uint8_t *fields = bytes + ELAPSE__RECORD_HEADER_BYTES;
    uint8_t *body = fields + record->fields_size;
    size_t padding =
        (size_t)(elapse__frame_bytes(record->fields_size, record->body_size) -
                 ELAPSE__RECORD_HEADER_BYTES - record->fields_size - record->body_size);
    /* The padding has at most seven bytes. So the last eight bytes of the record become zeros with
     * one store, and all that is before the padding is written over them. */
    ELAPSE__ASSERT_THAT(padding, <, (size_t)ELAPSE__JOURNAL_ALIGNMENT);
    elapse__little_endian_store(body + record->body_size + padding - ELAPSE__JOURNAL_ALIGNMENT, 0,
                                ELAPSE__JOURNAL_ALIGNMENT);
    elapse__little_endian_store(bytes + BODY_CHECKSUM_AT,
                                body_checksum(record->body, record->body_size, position, seed), 8);
    elapse__little_endian_store(bytes + BODY_SIZE_AT, record->body_size, 4);
    elapse__little_endian_store(bytes + FIELDS_SIZE_AT, record->fields_size, 2);
    bytes[TYPE_AT] = (uint8_t)record->type;
    bytes[FLAGS_AT] = record->flags;
    if (record->fields_size > 0)
        memcpy(fields, record->fields, record->fields_size);
    if (record->body_size > 0)
        memcpy(body, record->body, record->body_size);
    elapse__little_endian_store(bytes, header_checksum(bytes, record->fields_size, position, seed),
                                8);
}

bool elapse__frame_decode(const uint8_t *bytes, struct elapse__frame *frame)
{
    uint8_t type = bytes[TYPE_AT];
    frame->type = (enum elapse__record_type)type;
    frame->flags = bytes[FLAGS_AT];
    frame->fields_size = (uint16_t)elapse__little_endian_load(bytes + FIELDS_SIZE_AT, 2);
    frame->body_size = (uint32_t)elapse__little_endian_load(bytes + BODY_SIZE_AT, 4);
    frame->body_checksum = elapse__little_endian_load(bytes + BODY_CHECKSUM_AT, 8);
    frame->bytes = elapse__frame_bytes(frame->fields_size, frame->body_size);
    return type >= ELAPSE__RECORD_PUT && type <= ELAPSE__RECORD_LAST;
}

bool elapse__frame_header_is_whole(const uint8_t *bytes, const struct elapse__frame *frame,
                                   uint64_t position, uint64_t seed)
{
    return elapse__little_endian_load(bytes, 8) ==
           header_checksum(bytes, frame->fields_size, position, seed);
}

bool elapse__frame_body_is_whole(const void *body, const struct elapse__frame *frame,
                                 uint64_t position, uint64_t seed)
{
    return frame->body_checksum == body_checksum(body, frame->body_size, position, seed);
}

void elapse__commit_encode(const struct elapse__commit *commit, uint64_t position, uint64_t seed,
                           uint8_t *bytes)
{
    uint8_t fields[ELAPSE__COMMIT_BYTES - ELAPSE__RECORD_HEADER_BYTES];
    ELAPSE__ASSERT_THAT(commit->durable, <=, position);
    elapse__little_endian_store(fields, commit->durable, 8);
    elapse__little_endian_store(fields + 8, commit->tail, 8);
    struct elapse__record record = {
        .type = ELAPSE__RECORD_COMMIT, .fields_size = sizeof fields, .fields = fields};
    elapse__frame_encode(&record, position, seed, bytes);
}

struct elapse__commit elapse__commit_decode(const uint8_t *bytes)
{
    return (struct elapse__commit){
        .durable = elapse__little_endian_load(bytes + ELAPSE__RECORD_HEADER_BYTES, 8),
        .tail = elapse__little_endian_load(bytes + ELAPSE__RECORD_HEADER_BYTES + 8, 8),
    };
}

void elapse__seal_encode(uint64_t next_segment, uint64_t position, uint64_t seed, uint8_t *bytes)
{
    uint8_t fields[ELAPSE__SEAL_BYTES - ELAPSE__RECORD_HEADER_BYTES];
    elapse__little_endian_store(fields, next_segment, 8);
    struct elapse__record record = {
        .type = ELAPSE__RECORD_SEAL, .fields_size = sizeof fields, .fields = fields};
    elapse__frame_encode(&record, position, seed, bytes);
}

uint64_t elapse__seal_decode(const uint8_t *bytes)
{
    return elapse__little_endian_load(bytes + ELAPSE__RECORD_HEADER_BYTES, 8);
}

void elapse__journal_log_place_encode(const struct elapse__journal_place *place, uint64_t position,
                                      uint64_t seed, uint8_t *bytes)
{
    uint8_t fields[ELAPSE__LOG_PLACE_BYTES - ELAPSE__RECORD_HEADER_BYTES];
    elapse__little_endian_store(fields, place->group, 8);
    elapse__little_endian_store(fields + 8, place->hash, 8);
    elapse__little_endian_store(fields + 16, place->previous_hash, 8);
    elapse__little_endian_store(fields + 24, place->tail, 8);
    elapse__little_endian_store(fields + 32, place->next_id, 8);
    elapse__little_endian_store(fields + 40, (uint64_t)place->wall_ms, 8);
    struct elapse__record record = {
        .type = ELAPSE__RECORD_LOG_PLACE,
        .flags = (uint8_t)((place->is_confirmed ? PLACE_IS_CONFIRMED : 0) |
                           (place->forgets ? PLACE_FORGETS : 0)),
        .fields_size = sizeof fields,
        .fields = fields,
    };
    elapse__frame_encode(&record, position, seed, bytes);
}

struct elapse__journal_place elapse__journal_log_place_decode(const uint8_t *bytes)
{
    const uint8_t *fields = bytes + ELAPSE__RECORD_HEADER_BYTES;
    return (struct elapse__journal_place){
        .group = elapse__little_endian_load(fields, 8),
        .hash = elapse__little_endian_load(fields + 8, 8),
        .previous_hash = elapse__little_endian_load(fields + 16, 8),
        .tail = elapse__little_endian_load(fields + 24, 8),
        .next_id = elapse__little_endian_load(fields + 32, 8),
        .wall_ms = (int64_t)elapse__little_endian_load(fields + 40, 8),
        .is_confirmed = (bytes[FLAGS_AT] & PLACE_IS_CONFIRMED) != 0,
        .forgets = (bytes[FLAGS_AT] & PLACE_FORGETS) != 0,
    };
}

static uint32_t version_of(const struct elapse__segment_header *header)
{
    if (header->is_old)
        return header->is_placed ? ELAPSE__JOURNAL_FORMAT_OLD_PLACED : ELAPSE__JOURNAL_FORMAT_OLD;
    return header->is_placed ? ELAPSE__JOURNAL_FORMAT_PLACED : ELAPSE__JOURNAL_FORMAT;
}

void elapse__segment_header_encode(const struct elapse__segment_header *header, uint8_t *bytes)
{
    memset(bytes, 0, ELAPSE__SEGMENT_HEADER_BYTES);
    memcpy(bytes, magic, sizeof magic);
    elapse__little_endian_store(bytes + VERSION_AT, version_of(header), 4);
    elapse__little_endian_store(bytes + BITS_AT, header->segment_bits, 4);
    memcpy(bytes + IDENTITY_AT, header->identity.bytes, sizeof header->identity.bytes);
    elapse__little_endian_store(bytes + NUMBER_AT, header->number, 8);
    elapse__little_endian_store(bytes + TAIL_AT, header->tail, 8);
    elapse__little_endian_store(bytes + NEXT_ID_AT, header->next_id, 8);
    elapse__little_endian_store(bytes + WALL_AT, (uint64_t)header->wall_ms, 8);
    elapse__little_endian_store(bytes + HEADER_CHECKSUM_AT, XXH3_64bits(bytes, HEADER_CHECKSUM_AT),
                                8);
}

enum elapse__header_verdict elapse__segment_header_decode(const uint8_t *bytes,
                                                          struct elapse__segment_header *header,
                                                          uint32_t *version)
{
    *version = (uint32_t)elapse__little_endian_load(bytes + VERSION_AT, 4);
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return ELAPSE__HEADER_DAMAGED;
    if (*version < ELAPSE__JOURNAL_FORMAT_OLD || *version > ELAPSE__JOURNAL_FORMAT_PLACED)
        return ELAPSE__HEADER_UNKNOWN_VERSION;
    if (elapse__little_endian_load(bytes + HEADER_CHECKSUM_AT, 8) !=
        XXH3_64bits(bytes, HEADER_CHECKSUM_AT))
        return ELAPSE__HEADER_DAMAGED;
    header->is_old = *version < ELAPSE__JOURNAL_FORMAT;
    header->is_placed =
        *version == ELAPSE__JOURNAL_FORMAT_OLD_PLACED || *version == ELAPSE__JOURNAL_FORMAT_PLACED;
    header->segment_bits = (unsigned)elapse__little_endian_load(bytes + BITS_AT, 4);
    memcpy(header->identity.bytes, bytes + IDENTITY_AT, sizeof header->identity.bytes);
    header->number = elapse__little_endian_load(bytes + NUMBER_AT, 8);
    header->tail = elapse__little_endian_load(bytes + TAIL_AT, 8);
    header->next_id = elapse__little_endian_load(bytes + NEXT_ID_AT, 8);
    header->wall_ms = (int64_t)elapse__little_endian_load(bytes + WALL_AT, 8);
    return header->segment_bits >= ELAPSE__SEGMENT_BITS_MIN &&
                   header->segment_bits <= ELAPSE__SEGMENT_BITS_MAX
               ? ELAPSE__HEADER_WHOLE
               : ELAPSE__HEADER_DAMAGED;
}
