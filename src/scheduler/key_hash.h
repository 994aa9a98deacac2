/*
 * The hash of a key. Keys may come from strangers, who must not be able to choose keys that
 * collide. So the hash depends on a secret: it is SipHash-1-3.
 *
 * Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF",
 * INDOCRYPT 2012. Like many language runtimes, this one does one round a word and three at the
 * end.
 */
#ifndef ELAPSE__KEY_HASH_H
#define ELAPSE__KEY_HASH_H

#include <stddef.h>
#include <stdint.h>

struct elapse__hash_secret {
    uint64_t low;
    uint64_t high;
};

/* Returns a secret that differs from process to process. */
struct elapse__hash_secret elapse__hash_secret_make(void);

/* Returns the hash of a key, which means something in this process only. */
uint64_t elapse__key_hash(const struct elapse__hash_secret *secret, const void *key,
                          size_t key_bytes);

#endif
