/*
 * The keys of a shard: which task is pending and which is running under each.
 *
 * A hash table that grows by a bucket at a time, so that no call has to rehash a
 * million keys under the lock:
 *
 *      buckets   0 . . . . split . . . . level | new . . . .
 *                |--------|                    |-----------|
 *                already split in two: bit `level` of the hash tells which
 *
 * Each insertion that finds more keys than buckets splits the next bucket. When
 * all are split, `level` doubles. The buckets lie in segments, each as large as all
 * before it, which never move.
 *
 * Source: W. Litwin, "Linear hashing: a new tool for file and table addressing",
 * VLDB 1980.
 *
 * Guarded by the shard's lock. Nothing here allocates: keys and segments are made
 * without the lock.
 */
#ifndef ELAPSE__KEY_INDEX_H
#define ELAPSE__KEY_INDEX_H

#include "../base/allocator.h"
#include "task.h"

struct elapse__key {
    struct elapse__key *next; /* in the bucket */
    uint64_t hash;
    struct elapse__task *pending; /* PENDING, WAITING, QUEUED, or RUNNING and `runs_again` */
    struct elapse__task *running; /* RUNNING */
    size_t bytes;
    unsigned char data[];
};

struct elapse__key_bucket {
    struct elapse__key *first;
};

enum {
    ELAPSE__FIRST_BUCKETS = 64,
    ELAPSE__KEY_SEGMENTS = 26, /* 2^31 buckets: more than there can be tasks */
};

struct elapse__key_index {
    struct elapse__key_bucket first[ELAPSE__FIRST_BUCKETS];    /* segment 0 */
    struct elapse__key_bucket *segments[ELAPSE__KEY_SEGMENTS]; /* [n]: 64 * 2^(n-1) buckets */
    size_t level;                                              /* a power of two */
    size_t split;                                              /* below `level` */
    size_t count;                                              /* keys */
};

void elapse__key_index_init(struct elapse__key_index *index);
void elapse__key_index_free(struct elapse__key_index *index, const struct elapse_allocator *memory);

/* NULL if there is no memory. */
struct elapse__key *elapse__key_make(const void *data, size_t bytes, uint64_t hash,
                                     const struct elapse_allocator *memory);
void elapse__key_release(struct elapse__key *key, const struct elapse_allocator *memory);

/* How many buckets the segment has that the next insertion will want; 0: it wants
 * none. It can do without, then the buckets get longer. */
size_t elapse__key_index_segment_needed(const struct elapse__key_index *index);

/* NULL if there is no memory. */
struct elapse__key_bucket *elapse__key_segment_make(size_t buckets,
                                                    const struct elapse_allocator *memory);

/* Takes the segment of so many buckets in. False if there is one already: it is the caller's
 * to release, with elapse__release. */
bool elapse__key_index_grow(struct elapse__key_index *index, struct elapse__key_bucket *segment,
                            size_t buckets);

/*
 * For those who are about to find many keys: asks for the bucket of this hash, and, when that
 * has come, for the first key in it. All buckets first and then all first keys: so the cache
 * misses of a batch overlap.
 */
void elapse__key_index_prefetch_bucket(const struct elapse__key_index *index, uint64_t hash);
void elapse__key_index_prefetch_key(const struct elapse__key_index *index, uint64_t hash);

struct elapse__key *elapse__key_index_find(const struct elapse__key_index *index, const void *data,
                                           size_t bytes, uint64_t hash);

/* Inserts a key that is not there. */
void elapse__key_index_insert(struct elapse__key_index *index, struct elapse__key *key);
void elapse__key_index_remove(struct elapse__key_index *index, struct elapse__key *key);

/* For a check of all keys: returns the bucket of a hash, and the first key in a bucket; NULL if it
 * is empty. There are level + split buckets. */
size_t elapse__key_index_bucket(const struct elapse__key_index *index, uint64_t hash);
const struct elapse__key *elapse__key_index_first(const struct elapse__key_index *index,
                                                  size_t bucket);

#endif
