/*
 * The chain of hashes through the log of a partition: the hash of a group is XXH3-64 of its bytes,
 * with the hash of the group before it as the seed.
 *
 * A hash has 64 bits, so that it fits into a bigint, which every client of PostgreSQL can compare.
 * The chain guards against databases that went back and against mix-ups, not against people. Two
 * logs are compared in one place, where they fork. There the chain errs once in 2^64 forks.
 */
#ifndef ELAPSE__OWNERSHIP_CHAIN_H
#define ELAPSE__OWNERSHIP_CHAIN_H

#include <stddef.h>
#include <stdint.h>

enum { ELAPSE__CHAIN_IDENTITY_BYTES = 16 };

/* Returns the hash that comes before group 1: of the queue's random identity, and the number of the
 * partition. Logs of two queues, or two partitions, do not fit together. */
uint64_t elapse__chain_genesis(const uint8_t *identity, uint32_t partition);

/* Returns the hash of the group with these bytes, behind the group with the hash `previous`. */
uint64_t elapse__chain_next(uint64_t previous, const void *bytes, size_t size);

#endif
