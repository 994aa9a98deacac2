/*
 * The chain of hashes through the log of a partition. The hash of a group is XXH3-64 of the group's
 * bytes. The seed of that hash is the hash of the group before.
 *
 * A hash has 64 bits, so that it fits into a bigint, which every client of PostgreSQL can compare.
 * The chain finds databases that lost groups, and logs that were mixed up. It does not protect
 * against people who forge a log. Two logs are compared where they first differ. There the hashes
 * of two different logs are equal once in 2^64 comparisons.
 */
#ifndef ELAPSE__OWNERSHIP_CHAIN_H
#define ELAPSE__OWNERSHIP_CHAIN_H

#include <stddef.h>
#include <stdint.h>

enum { ELAPSE__CHAIN_IDENTITY_BYTES = 16 };

/* Returns the hash that comes before group 1. It is made of the queue's random identity and the
 * number of the partition, so that the logs of two queues or of two partitions do not fit
 * together. */
uint64_t elapse__chain_genesis(const uint8_t *identity, uint32_t partition);

/* Returns the hash of the group with these bytes. `previous` is the hash of the group before. */
uint64_t elapse__chain_next(uint64_t previous, const void *bytes, size_t size);

#endif
