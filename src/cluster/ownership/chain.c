/*
 * Computes the chain of hashes through a log.
 */
#include "chain.h"

#include <string.h>
#include <xxhash.h>

#include "../../base/assert.h"
#include "../../base/little_endian.h"

uint64_t elapse__chain_genesis(const uint8_t *identity, uint32_t partition)
{
    uint8_t bytes[ELAPSE__CHAIN_IDENTITY_BYTES + sizeof partition];
    memcpy(bytes, identity, ELAPSE__CHAIN_IDENTITY_BYTES);
    elapse__little_endian_store(bytes + ELAPSE__CHAIN_IDENTITY_BYTES, partition, sizeof partition);
    return XXH3_64bits(bytes, sizeof bytes);
}

uint64_t elapse__chain_next(uint64_t previous, const void *bytes, size_t size)
{
    ELAPSE__ASSERT(bytes != NULL);
    ELAPSE__ASSERT_THAT(size, >, 0);
    return XXH3_64bits_withSeed(bytes, size, previous);
}
