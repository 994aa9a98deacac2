/*
 * The hash of a key. Keys may come from strangers, who must not be able to make them
 * collide: so it is one with a secret, SipHash-1-3.
 *
 * Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF",
 * INDOCRYPT 2012; one round a word and three at the end, as language runtimes use
 * it for their hash tables.
 */
#ifndef ELAPSE__KEY_HASH_H
#define ELAPSE__KEY_HASH_H

#include <stddef.h>
#include <stdint.h>

struct elapse__hash_secret {
    uint64_t low;
    uint64_t high;
};

/* A secret that differs from process to process. */
struct elapse__hash_secret elapse__hash_secret_make(void);

uint64_t elapse__key_hash(const struct elapse__hash_secret *secret, const void *key,
                          size_t key_bytes);

#endif
