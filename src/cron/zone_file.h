/*
 * Parses the bytes of a file of the time zone database: TZif, RFC 8536. Does not open the file.
 */
#ifndef ELAPSE__ZONE_FILE_H
#define ELAPSE__ZONE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zone_rule.h"

/* What a file says. The struct points into the bytes of the file, which must be kept. */
struct elapse__zone_file {
    const unsigned char *changes; /* `change_count` moments of 8 bytes, in ascending order */
    const unsigned char *types;   /* for each change, the number of its type */
    const unsigned char *offsets; /* `type_count` types of 6 bytes, which begin with the offset */
    size_t change_count;
    size_t type_count;
    bool has_rule; /* the file has a rule for the moments after the last change */
    struct elapse__zone_rule rule;
};

/* Reads a file. Returns false if the bytes are no such file, or count leap seconds, or lack the
 * block with times of 64 bits. */
bool elapse__zone_file_parse(struct elapse__zone_file *file, const unsigned char *bytes,
                             size_t length);

/* Returns the seconds by which local time is ahead of UTC at a moment. */
int64_t elapse__zone_file_offset_s(const struct elapse__zone_file *file, int64_t moment_s);

#endif
