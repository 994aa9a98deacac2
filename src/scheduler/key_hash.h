/*
 * Makes the hash of a key. Keys may come from strangers, so the hash depends on a secret
 * (../base/sip_hash.h).
 */
#ifndef ELAPSE__KEY_HASH_H
#define ELAPSE__KEY_HASH_H

#include "../base/sip_hash.h"

/* Returns a secret for hashes. Each process has another secret. */
struct elapse__hash_secret elapse__key_secret_make(void);

/* Returns the hash of a key. The hash of the same key differs from process to process. */
uint64_t elapse__key_hash(const struct elapse__hash_secret *secret, const void *key,
                          size_t key_bytes);

#endif
