#include "witness.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/little_endian.h"
#include "remember.h"

enum {
    WITNESS_FILE_VERSION_AT = 8,
    WITNESS_FILE_COUNT_AT = 12,
    WITNESS_FILE_QUEUE_AT = 16,
    WITNESS_FILE_FIRST_AT = 32,
    WITNESS_BYTES = 48,
    WITNESS_FILE_CHECKSUM_BYTES = 8,
    WITNESS_FILE_VERSION = 1,
};

static const char witness_magic[8] = "elapseW";

static size_t witness_checksum_at(uint32_t count)
{
    return WITNESS_FILE_FIRST_AT + (size_t)count * WITNESS_BYTES;
}

static void write_witness_head(uint8_t *bytes, uint64_t queue, uint32_t count)
{
    memset(bytes, 0, WITNESS_FILE_FIRST_AT);
    memcpy(bytes, witness_magic, sizeof witness_magic);
    elapse__little_endian_store(bytes + WITNESS_FILE_VERSION_AT, WITNESS_FILE_VERSION, 4);
    elapse__little_endian_store(bytes + WITNESS_FILE_COUNT_AT, count, 4);
    elapse__little_endian_store(bytes + WITNESS_FILE_QUEUE_AT, queue, 8);
}

static bool are_whole(const uint8_t *bytes, size_t size, uint64_t queue, uint32_t count)
{
    uint8_t head[WITNESS_FILE_FIRST_AT];

    write_witness_head(head, queue, count);
    return size == witness_checksum_at(count) + WITNESS_FILE_CHECKSUM_BYTES &&
           memcmp(bytes, head, sizeof head) == 0 &&
           elapse__little_endian_load(bytes + witness_checksum_at(count), 8) ==
               elapse__store_checksum(bytes, witness_checksum_at(count));
}

static struct elapse__store_witness load_witness(const uint8_t *bytes)
{
    return (struct elapse__store_witness){
        .group = elapse__little_endian_load(bytes, 8),
        .hash = elapse__little_endian_load(bytes + 8, 8),
        .epoch = elapse__little_endian_load(bytes + 16, 8),
        .system_identifier = elapse__little_endian_load(bytes + 24, 8),
        .timeline = elapse__little_endian_load(bytes + 32, 8),
    };
}

static void store_witness(uint8_t *bytes, const struct elapse__store_witness *witness)
{
    elapse__little_endian_store(bytes, witness->group, 8);
    elapse__little_endian_store(bytes + 8, witness->hash, 8);
    elapse__little_endian_store(bytes + 16, witness->epoch, 8);
    elapse__little_endian_store(bytes + 24, witness->system_identifier, 8);
    elapse__little_endian_store(bytes + 32, witness->timeline, 8);
    elapse__little_endian_store(bytes + 40, 0, 8);
}

int elapse__store_recall_witnesses(const struct elapse__files *files, const char *directory,
                                   uint64_t queue, struct elapse__store_witness *witnesses,
                                   uint32_t count)
{
    const size_t room = witness_checksum_at(count) + WITNESS_FILE_CHECKSUM_BYTES + 1;
    uint8_t *bytes = malloc(room);
    size_t size;

    memset(witnesses, 0, count * sizeof *witnesses);
    if (bytes == NULL)
        return ENOMEM;
    int error = elapse__store_read_file(files, directory, "witness", bytes, room, &size);
    if (error == 0 && !are_whole(bytes, size, queue, count))
        error = EBADMSG;
    for (uint32_t i = 0; i < count && error == 0; i++)
        witnesses[i] = load_witness(bytes + WITNESS_FILE_FIRST_AT + (size_t)i * WITNESS_BYTES);
    free(bytes);
    return error == ENOENT ? 0 : error;
}

int elapse__store_remember_witnesses(const struct elapse__files *files, const char *directory,
                                     uint64_t queue, const struct elapse__store_witness *witnesses,
                                     uint32_t count)
{
    uint8_t *bytes = malloc(witness_checksum_at(count) + WITNESS_FILE_CHECKSUM_BYTES);

    ELAPSE__ASSERT_THAT(count, >, 0);
    if (bytes == NULL)
        return ENOMEM;
    write_witness_head(bytes, queue, count);
    for (uint32_t i = 0; i < count; i++)
        store_witness(bytes + WITNESS_FILE_FIRST_AT + (size_t)i * WITNESS_BYTES, &witnesses[i]);
    elapse__little_endian_store(bytes + witness_checksum_at(count),
                                elapse__store_checksum(bytes, witness_checksum_at(count)), 8);
    int error =
        elapse__store_replace_file(files, directory, "witness", bytes,
                                   witness_checksum_at(count) + WITNESS_FILE_CHECKSUM_BYTES);
    free(bytes);
    return error;
}
