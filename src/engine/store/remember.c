#include "remember.h"

#include <errno.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/little_endian.h"
#include "../journal/frame.h"
#include "../journal/transfer.h"

enum {
    MEMORY_VERSION_AT = 8,
    MEMORY_TIMELINE_AT = 12,
    MEMORY_SYSTEM_AT = 16,
    MEMORY_EPOCH_AT = 24,
    MEMORY_GENESIS_AT = 32,
    MEMORY_SEEN_EPOCH_AT = 40,
    MEMORY_CHECKSUM_AT = 48,
    MEMORY_FILE_BYTES = 56,
    MEMORY_VERSION = 2,
};

static const char magic[8] = "elapseC";

/* Returns the checksum of 48 bytes. It is made of three numbers, which elapse__identity_seed makes
 * of 16 bytes each. */
static uint64_t checksum(const uint8_t *bytes)
{
    struct elapse__journal_identity thirds[3];
    uint64_t sum = 0;
    _Static_assert(sizeof thirds == MEMORY_CHECKSUM_AT, "all thirds are summed");
    memcpy(thirds, bytes, sizeof thirds);
    for (size_t i = 0; i < 3; i++)
        sum = sum * 3 + elapse__identity_seed(&thirds[i]);
    return sum;
}

int elapse__store_recall(const struct elapse__files *files, const char *directory,
                         struct elapse__store_memory *memory)
{
    uint8_t bytes[MEMORY_FILE_BYTES + 1];
    size_t size = 0;
    int outer, file;

    *memory = (struct elapse__store_memory){.epoch = 0};
    int error = files->open_directory(directory, &outer);
    if (error != 0)
        return error == ENOENT ? 0 : error;
    error = files->open(outer, "cluster", ELAPSE__FILE_READ, &file);
    files->close(outer);
    if (error != 0)
        return error == ENOENT ? 0 : error;
    error = elapse__read_some(files, file, 0, bytes, sizeof bytes, &size);
    files->close(file);
    if (error != 0)
        return error;
    if (size != MEMORY_FILE_BYTES || memcmp(bytes, magic, sizeof magic) != 0 ||
        elapse__little_endian_load(bytes + MEMORY_VERSION_AT, 4) != MEMORY_VERSION ||
        elapse__little_endian_load(bytes + MEMORY_CHECKSUM_AT, 8) != checksum(bytes))
        return EBADMSG;
    *memory = (struct elapse__store_memory){
        .system_identifier = elapse__little_endian_load(bytes + MEMORY_SYSTEM_AT, 8),
        .timeline = (uint32_t)elapse__little_endian_load(bytes + MEMORY_TIMELINE_AT, 4),
        .epoch = elapse__little_endian_load(bytes + MEMORY_EPOCH_AT, 8),
        .seen_epoch = elapse__little_endian_load(bytes + MEMORY_SEEN_EPOCH_AT, 8),
        .genesis = elapse__little_endian_load(bytes + MEMORY_GENESIS_AT, 8),
    };
    return 0;
}

static int write_new(const struct elapse__files *files, int directory, const uint8_t *bytes)
{
    int file;
    int error = files->open(directory, "cluster-new", ELAPSE__FILE_ENSURE, &file);
    if (error != 0)
        return error;
    error = elapse__write_all(files, file, 0, bytes, MEMORY_FILE_BYTES);
    if (error == 0)
        error = files->sync(file);
    files->close(file);
    return error;
}

int elapse__store_remember(const struct elapse__files *files, const char *directory,
                           const struct elapse__store_memory *memory)
{
    uint8_t bytes[MEMORY_FILE_BYTES] = {0};
    int outer;

    memcpy(bytes, magic, sizeof magic);
    elapse__little_endian_store(bytes + MEMORY_VERSION_AT, MEMORY_VERSION, 4);
    elapse__little_endian_store(bytes + MEMORY_TIMELINE_AT, memory->timeline, 4);
    elapse__little_endian_store(bytes + MEMORY_SYSTEM_AT, memory->system_identifier, 8);
    elapse__little_endian_store(bytes + MEMORY_EPOCH_AT, memory->epoch, 8);
    elapse__little_endian_store(bytes + MEMORY_SEEN_EPOCH_AT, memory->seen_epoch, 8);
    elapse__little_endian_store(bytes + MEMORY_GENESIS_AT, memory->genesis, 8);
    elapse__little_endian_store(bytes + MEMORY_CHECKSUM_AT, checksum(bytes), 8);
    int error = files->make_directory(directory);
    if (error == 0)
        error = files->open_directory(directory, &outer);
    if (error != 0)
        return error;
    error = write_new(files, outer, bytes);
    if (error == 0)
        error = files->rename(outer, "cluster-new", "cluster");
    if (error == 0)
        error = files->sync_directory(outer);
    files->close(outer);
    return error;
}
