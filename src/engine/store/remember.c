#include "remember.h"

#include <errno.h>
#include <stdio.h>
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

/* The checksum is made of numbers, which elapse__identity_seed makes of 16 bytes each. */
uint64_t elapse__store_checksum(const uint8_t *bytes, size_t size)
{
    struct elapse__journal_identity piece;
    uint64_t sum = 0;
    ELAPSE__ASSERT_THAT(size % sizeof piece, ==, 0);
    for (size_t at = 0; at < size; at += sizeof piece) {
        memcpy(&piece, bytes + at, sizeof piece);
        sum = sum * 3 + elapse__identity_seed(&piece);
    }
    return sum;
}

static int write_new(const struct elapse__files *files, int directory, const char *name,
                     const uint8_t *bytes, size_t size)
{
    int file;
    int error = files->unlink(directory, name); /* a longer one of another queue */
    if (error == 0 || error == ENOENT)
        error = files->open(directory, name, ELAPSE__FILE_ENSURE, &file);
    if (error != 0)
        return error;
    error = elapse__write_all(files, file, 0, bytes, size);
    if (error == 0)
        error = files->sync(file);
    files->close(file);
    return error;
}

int elapse__store_replace_file(const struct elapse__files *files, const char *directory,
                               const char *name, const uint8_t *bytes, size_t size)
{
    char new_name[32];
    int outer;

    ELAPSE__ASSERT_THAT(strlen(name) + sizeof "-new", <=, sizeof new_name);
    (void)snprintf(new_name, sizeof new_name, "%s-new", name);
    int error = files->make_directory(directory);
    if (error == 0)
        error = files->open_directory(directory, &outer);
    if (error != 0)
        return error;
    error = write_new(files, outer, new_name, bytes, size);
    if (error == 0)
        error = files->rename(outer, new_name, name);
    if (error == 0)
        error = files->sync_directory(outer);
    files->close(outer);
    return error;
}

int elapse__store_read_file(const struct elapse__files *files, const char *directory,
                            const char *name, uint8_t *bytes, size_t room, size_t *size)
{
    int outer, file;

    *size = 0;
    int error = files->open_directory(directory, &outer);
    if (error != 0)
        return error;
    error = files->open(outer, name, ELAPSE__FILE_READ, &file);
    files->close(outer);
    if (error != 0)
        return error;
    error = elapse__read_some(files, file, 0, bytes, room, size);
    files->close(file);
    return error;
}

int elapse__store_recall(const struct elapse__files *files, const char *directory,
                         struct elapse__store_memory *memory)
{
    uint8_t bytes[MEMORY_FILE_BYTES + 1];
    size_t size = 0;

    *memory = (struct elapse__store_memory){.epoch = 0};
    int error = elapse__store_read_file(files, directory, "cluster", bytes, sizeof bytes, &size);
    if (error != 0)
        return error == ENOENT ? 0 : error;
    if (size != MEMORY_FILE_BYTES || memcmp(bytes, magic, sizeof magic) != 0 ||
        elapse__little_endian_load(bytes + MEMORY_VERSION_AT, 4) != MEMORY_VERSION ||
        elapse__little_endian_load(bytes + MEMORY_CHECKSUM_AT, 8) !=
            elapse__store_checksum(bytes, MEMORY_CHECKSUM_AT))
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

int elapse__store_remember(const struct elapse__files *files, const char *directory,
                           const struct elapse__store_memory *memory)
{
    uint8_t bytes[MEMORY_FILE_BYTES] = {0};

    memcpy(bytes, magic, sizeof magic);
    elapse__little_endian_store(bytes + MEMORY_VERSION_AT, MEMORY_VERSION, 4);
    elapse__little_endian_store(bytes + MEMORY_TIMELINE_AT, memory->timeline, 4);
    elapse__little_endian_store(bytes + MEMORY_SYSTEM_AT, memory->system_identifier, 8);
    elapse__little_endian_store(bytes + MEMORY_EPOCH_AT, memory->epoch, 8);
    elapse__little_endian_store(bytes + MEMORY_SEEN_EPOCH_AT, memory->seen_epoch, 8);
    elapse__little_endian_store(bytes + MEMORY_GENESIS_AT, memory->genesis, 8);
    elapse__little_endian_store(bytes + MEMORY_CHECKSUM_AT,
                                elapse__store_checksum(bytes, MEMORY_CHECKSUM_AT), 8);
    return elapse__store_replace_file(files, directory, "cluster", bytes, sizeof bytes);
}
