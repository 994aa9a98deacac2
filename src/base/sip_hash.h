/*
 * Hashes of bytes that strangers choose. A hash depends on a secret, so that strangers cannot
 * choose keys that have the same hash.
 *
 * Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF",
 * INDOCRYPT 2012; the hash of 128 bits is the variant of their reference implementation.
 */
#ifndef ELAPSE__SIP_HASH_H
#define ELAPSE__SIP_HASH_H

#include <stddef.h>
#include <stdint.h>

struct elapse__hash_secret {
    uint64_t low;
    uint64_t high;
};

struct elapse__hash_128 {
    uint64_t low;
    uint64_t high;
};

/* Returns the hash of 64 bits by SipHash-1-3. It does one round for each word and three rounds at
 * the end, as many language runtimes do. A hash means something only in this process. */
uint64_t elapse__sip_hash_64(const struct elapse__hash_secret *secret, const void *key,
                             size_t key_bytes);

/* Returns the hash of 128 bits by SipHash-2-4, for tables that keep the hash and not the key. Two
 * keys have the same hash with a probability of 2^-128. */
struct elapse__hash_128 elapse__sip_hash_128(const struct elapse__hash_secret *secret,
                                             const void *key, size_t key_bytes);

#endif
