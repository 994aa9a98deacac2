/*
 * Reads a file of the time zone database. A file has two blocks. The first block has times of 32
 * bits; this file passes over it:
 *
 *     | header | times of 32 bits | header | times of 64 bits | LF rule LF |
 *
 * A block has these parts: the moments of the changes; for each change, the number of a type; the
 * types, each with an offset, a flag for summer and the place of a name; the names; leap seconds;
 * two kinds of marks, one byte each. Numbers are big-endian. All numbers of a file are checked when
 * the file is read.
 */
#include "zone_file.h"

#include <string.h>

#include "../base/assert.h"

enum {
    HEADER_BYTES = 44,
    TYPE_BYTES = 6,
    OFFSET_S_MAX = 25 * 3600, /* more than the offset of any zone */
};

struct header {
    uint32_t marks; /* how many marks of both kinds */
    uint32_t leap_seconds;
    uint32_t changes;
    uint32_t types;
    uint32_t name_bytes;
};

static uint32_t number_of_4(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int64_t signed_of_4(const unsigned char *bytes)
{
    int64_t number = number_of_4(bytes);

    return number > INT32_MAX ? number - (INT64_C(1) << 32) : number;
}

static int64_t signed_of_8(const unsigned char *bytes)
{
    uint64_t number = (uint64_t)number_of_4(bytes) << 32 | number_of_4(bytes + 4);

    return number > INT64_MAX ? -(int64_t)~number - 1 : (int64_t)number;
}

static bool read_header(struct header *header, const unsigned char *bytes, size_t length)
{
    if (length < HEADER_BYTES || memcmp(bytes, "TZif", 4) != 0 || bytes[4] < '2')
        return false;
    *header = (struct header){
        .marks = number_of_4(bytes + 20) + number_of_4(bytes + 24),
        .leap_seconds = number_of_4(bytes + 28),
        .changes = number_of_4(bytes + 32),
        .types = number_of_4(bytes + 36),
        .name_bytes = number_of_4(bytes + 40),
    };
    return number_of_4(bytes + 20) <= header->types && number_of_4(bytes + 24) <= header->types;
}

/* Returns the length of a block. The sum fits into 64 bits: it has five products of 32 bits by less
 * than 16. */
static uint64_t block_bytes(const struct header *header, unsigned time_bytes)
{
    ELAPSE__ASSERT(time_bytes == 4 || time_bytes == 8);
    return (uint64_t)header->changes * (time_bytes + 1) + (uint64_t)header->types * TYPE_BYTES +
           header->name_bytes + (uint64_t)header->leap_seconds * (time_bytes + 4) + header->marks;
}

static bool is_sound(const struct elapse__zone_file *file)
{
    for (size_t i = 0; i < file->change_count; i++) {
        if (file->types[i] >= file->type_count)
            return false;
        if (i > 0 && signed_of_8(file->changes + 8 * i) <= signed_of_8(file->changes + 8 * (i - 1)))
            return false;
    }
    for (size_t i = 0; i < file->type_count; i++) {
        int64_t offset_s = signed_of_4(file->offsets + TYPE_BYTES * i);
        if (offset_s < -OFFSET_S_MAX || offset_s > OFFSET_S_MAX)
            return false;
    }
    return true;
}

/* Reads the rule between two ends of lines. There may be no rule. */
static bool read_rule(struct elapse__zone_file *file, const unsigned char *bytes, size_t length)
{
    if (length < 2 || bytes[0] != '\n')
        return false;
    const unsigned char *end = memchr(bytes + 1, '\n', length - 1);
    if (end == NULL)
        return false;
    size_t rule_bytes = (size_t)(end - bytes) - 1;
    file->has_rule = rule_bytes > 0;
    return rule_bytes == 0 ||
           elapse__zone_rule_parse(&file->rule, (const char *)bytes + 1, rule_bytes);
}

bool elapse__zone_file_parse(struct elapse__zone_file *file, const unsigned char *bytes,
                             size_t length)
{
    struct header header;

    *file = (struct elapse__zone_file){.changes = NULL};
    if (!read_header(&header, bytes, length))
        return false;
    uint64_t first_bytes = HEADER_BYTES + block_bytes(&header, 4);
    if (first_bytes > length)
        return false;
    bytes += first_bytes;
    length -= (size_t)first_bytes;
    if (!read_header(&header, bytes, length) || header.types == 0 || header.leap_seconds > 0)
        return false;
    uint64_t block = HEADER_BYTES + block_bytes(&header, 8);
    if (block > length)
        return false;
    file->change_count = header.changes;
    file->type_count = header.types;
    file->changes = bytes + HEADER_BYTES;
    file->types = file->changes + 8 * file->change_count;
    file->offsets = file->types + file->change_count;
    ELAPSE__ASSERT(file->offsets + TYPE_BYTES * file->type_count <= bytes + length);
    return is_sound(file) && read_rule(file, bytes + block, length - (size_t)block);
}

int64_t elapse__zone_file_offset_s(const struct elapse__zone_file *file, int64_t moment_s)
{
    size_t low = 0; /* the changes before this one have come by the moment */
    size_t high = file->change_count;

    ELAPSE__ASSERT(file->type_count > 0);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (signed_of_8(file->changes + 8 * middle) <= moment_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == file->change_count && file->has_rule)
        return elapse__zone_rule_offset_s(&file->rule, moment_s);
    /* Before the first change, the first type holds. */
    size_t type = low > 0 ? file->types[low - 1] : 0;
    ELAPSE__ASSERT(type < file->type_count);
    return signed_of_4(file->offsets + TYPE_BYTES * type);
}
