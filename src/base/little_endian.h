/*
 * Reads and writes numbers as they lie on disk: the lowest byte comes first.
 */
#ifndef ELAPSE__LITTLE_ENDIAN_H
#define ELAPSE__LITTLE_ENDIAN_H

#include <stdint.h>

#include "assert.h"

/* Compilers make one load out of each of these expressions. They would not make one load out of a
 * loop. */
static inline uint64_t elapse__little_endian_load(const uint8_t *bytes, unsigned count)
{
    ELAPSE__ASSERT(count == 1 || count == 2 || count == 4 || count == 8);
    switch (count) {
    case 1:
        return bytes[0];
    case 2:
        return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8;
    case 4:
        return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
               (uint64_t)bytes[3] << 24;
    default:
        return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
               (uint64_t)bytes[3] << 24 | (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 |
               (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
    }
}

static inline void elapse__little_endian_store(uint8_t *bytes, uint64_t number, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
}

#endif
