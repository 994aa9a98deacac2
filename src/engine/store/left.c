#include "left.h"

#include <errno.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/little_endian.h"

enum {
    LEFT_VERSION_AT = 8,
    LEFT_TIMELINE_AT = 12,
    LEFT_SYSTEM_AT = 16,
    LEFT_EPOCH_AT = 24,
    LEFT_GENESIS_AT = 32,
    LEFT_SEEN_EPOCH_AT = 40,
    LEFT_KNOWN_AT = 48,
    LEFT_END_AT = 88,
    LEFT_CHECKSUM_AT = 112,
    LEFT_FILE_BYTES = 120,
    LEFT_VERSION = 1,
};

static const char left_name[] = "left";
static const char left_magic[8] = "elapseL";

static uint64_t load(const uint8_t *bytes)
{
    return elapse__little_endian_load(bytes, 8);
}

static bool is_whole(const uint8_t *bytes, size_t size)
{
    return size == LEFT_FILE_BYTES && memcmp(bytes, left_magic, sizeof left_magic) == 0 &&
           elapse__little_endian_load(bytes + LEFT_VERSION_AT, 4) == LEFT_VERSION &&
           load(bytes + LEFT_CHECKSUM_AT) == elapse__store_checksum(bytes, LEFT_CHECKSUM_AT);
}

static void take(const uint8_t *bytes, struct elapse__store_left *left)
{
    const uint8_t *known = bytes + LEFT_KNOWN_AT;

    *left = (struct elapse__store_left){
        .memory =
            {
                .system_identifier = load(bytes + LEFT_SYSTEM_AT),
                .timeline = (uint32_t)elapse__little_endian_load(bytes + LEFT_TIMELINE_AT, 4),
                .epoch = load(bytes + LEFT_EPOCH_AT),
                .seen_epoch = load(bytes + LEFT_SEEN_EPOCH_AT),
                .genesis = load(bytes + LEFT_GENESIS_AT),
            },
        .known = {load(known), load(known + 8), load(known + 16), load(known + 24),
                  load(known + 32)},
        .end_group = load(bytes + LEFT_END_AT),
        .end_hash = load(bytes + LEFT_END_AT + 8),
    };
}

static bool are_same(const struct elapse__store_memory *a, const struct elapse__store_memory *b)
{
    return a->system_identifier == b->system_identifier && a->timeline == b->timeline &&
           a->epoch == b->epoch && a->seen_epoch == b->seen_epoch && a->genesis == b->genesis;
}

int elapse__store_recall_left(const struct elapse__files *files, const char *directory,
                              struct elapse__store_left *left, bool *is_left)
{
    uint8_t bytes[LEFT_FILE_BYTES + 1];
    struct elapse__store_memory memory;
    size_t size = 0;

    *is_left = false;
    *left = (struct elapse__store_left){.end_group = 0};
    int error = elapse__store_read_file(files, directory, left_name, bytes, sizeof bytes, &size);
    if (error != 0)
        return error == ENOENT ? 0 : error;
    if (!is_whole(bytes, size))
        return 0;
    error = elapse__store_recall(files, directory, &memory);
    if (error != 0)
        return error;
    take(bytes, left);
    *is_left = memory.genesis != 0 && are_same(&left->memory, &memory);
    return 0;
}

static void store(uint8_t *bytes, uint64_t number)
{
    elapse__little_endian_store(bytes, number, 8);
}

int elapse__store_remember_left(const struct elapse__files *files, const char *directory,
                                const struct elapse__store_left *left)
{
    uint8_t bytes[LEFT_FILE_BYTES] = {0};
    uint8_t *known = bytes + LEFT_KNOWN_AT;
    struct elapse__store_memory memory;
    int error = elapse__store_recall(files, directory, &memory);

    if (error != 0)
        return error;
    memcpy(bytes, left_magic, sizeof left_magic);
    elapse__little_endian_store(bytes + LEFT_VERSION_AT, LEFT_VERSION, 4);
    elapse__little_endian_store(bytes + LEFT_TIMELINE_AT, memory.timeline, 4);
    store(bytes + LEFT_SYSTEM_AT, memory.system_identifier);
    store(bytes + LEFT_EPOCH_AT, memory.epoch);
    store(bytes + LEFT_GENESIS_AT, memory.genesis);
    store(bytes + LEFT_SEEN_EPOCH_AT, memory.seen_epoch);
    store(known, left->known.group);
    store(known + 8, left->known.hash);
    store(known + 16, left->known.epoch);
    store(known + 24, left->known.system_identifier);
    store(known + 32, left->known.timeline);
    store(bytes + LEFT_END_AT, left->end_group);
    store(bytes + LEFT_END_AT + 8, left->end_hash);
    store(bytes + LEFT_CHECKSUM_AT, elapse__store_checksum(bytes, LEFT_CHECKSUM_AT));
    return elapse__store_replace_file(files, directory, left_name, bytes, sizeof bytes);
}

int elapse__store_forget_left(const struct elapse__files *files, const char *directory)
{
    int outer;
    int error = files->open_directory(directory, &outer);

    if (error != 0)
        return error == ENOENT ? 0 : error;
    error = files->unlink(outer, left_name);
    if (error == 0 || error == ENOENT) /* an earlier call may have failed to sync */
        error = files->sync_directory(outer);
    files->close(outer);
    return error;
}
