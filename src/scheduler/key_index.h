/*
 * The keys of a shard. The index knows which task is pending, and which task is running, with each
 * key.
 *
 * The index is a hash table that grows by one bucket at a time. So no call has to rehash a million
 * keys while it holds the lock:
 *
 *      buckets   0 . . . . split . . . . level | new . . . .
 *                |--------|                    |-----------|
 *                these are split in two: the bit of value `level` of the hash says which half
 *
 * An insertion that finds as many keys as buckets splits the next bucket. When all buckets are
 * split, `level` doubles. The buckets lie in segments, which never move. Each segment is as large
 * as all segments before it together.
 *
 * Source: W. Litwin, "Linear hashing: a new tool for file and table addressing",
 * VLDB 1980.
 *
 * The lock of the shard guards the index. Functions on the index do not allocate: keys and segments
 * are made and released while the lock is not held.
 */
#ifndef ELAPSE__KEY_INDEX_H
#define ELAPSE__KEY_INDEX_H

#include "../base/allocator.h"
#include "task.h"

struct elapse__key {
    struct elapse__key *next; /* the next key in the bucket */
    uint64_t hash;
    struct elapse__task *pending; /* PENDING, WAITING, QUEUED, or RUNNING and `runs_again` */
    struct elapse__task *running; /* RUNNING or FINISHING */
    /* How many ended tasks with this key have a context that is being destroyed. */
    unsigned destroying;
    size_t bytes;
    unsigned char data[];
};

/* Returns whether a task with the key runs, or the context of such a task is being destroyed. Then
 * no other task with the key may begin. */
static inline bool elapse__key_is_in_use(const struct elapse__key *key)
{
    return key->running != NULL || key->destroying > 0;
}

struct elapse__key_bucket {
    struct elapse__key *first;
};

enum {
    ELAPSE__FIRST_BUCKETS = 64,
    ELAPSE__KEY_SEGMENTS = 26, /* together 2^31 buckets: more than there can be tasks */
};

struct elapse__key_index {
    struct elapse__key_bucket first[ELAPSE__FIRST_BUCKETS];    /* segment 0 */
    struct elapse__key_bucket *segments[ELAPSE__KEY_SEGMENTS]; /* [n]: 64 * 2^(n-1) buckets */
    size_t level;                                              /* a power of two */
    size_t split;                                              /* below `level` */
    size_t count;                                              /* keys */
};

void elapse__key_index_init(struct elapse__key_index *index);

/* Releases all segments. Requires no lock: no thread uses the index any more. */
void elapse__key_index_free(struct elapse__key_index *index, const struct elapse_allocator *memory);

/* Makes a key that is not in the index. Returns NULL if there is no memory. */
struct elapse__key *elapse__key_make(const void *data, size_t bytes, uint64_t hash,
                                     const struct elapse_allocator *memory);
void elapse__key_release(struct elapse__key *key, const struct elapse_allocator *memory);

/* Returns how many buckets the segment must have that the next insertion needs; 0 if it needs no
 * segment. Without the segment the insertion works, too, but the index does not grow, and its
 * buckets get longer. */
size_t elapse__key_index_segment_needed(const struct elapse__key_index *index);

/* Makes a segment of empty buckets. Returns NULL if there is no memory. */
struct elapse__key_bucket *elapse__key_segment_make(size_t buckets,
                                                    const struct elapse_allocator *memory);

/* Gives the index a segment of `buckets` buckets. Returns false if the index has that segment
 * already; then the caller must release `segment` with elapse__release. */
bool elapse__key_index_grow(struct elapse__key_index *index, struct elapse__key_bucket *segment,
                            size_t buckets);

/*
 * If you are about to find many keys, prefetch the buckets of all of them, and then the first key
 * in each bucket. Then the cache misses of the batch overlap.
 */
void elapse__key_index_prefetch_bucket(const struct elapse__key_index *index, uint64_t hash);
void elapse__key_index_prefetch_key(const struct elapse__key_index *index, uint64_t hash);

/* Returns the key that has these bytes; NULL if there is no such key in the index. */
struct elapse__key *elapse__key_index_find(const struct elapse__key_index *index, const void *data,
                                           size_t bytes, uint64_t hash);

/* Joins up to `most` buckets with the buckets that they were split from. Stops when there are no
 * more buckets than keys. Returns true when there is nothing more to join. */
bool elapse__key_index_join(struct elapse__key_index *index, unsigned most);

/* Takes a segment that has no bucket in use out of the index, and returns it. Stores in `*buckets`
 * how many buckets the segment has. The caller must release the segment. Returns NULL if there is
 * no such segment. */
struct elapse__key_bucket *elapse__key_index_take_segment(struct elapse__key_index *index,
                                                          size_t *buckets);

/* Inserts a key. Requires that the key is not in the index. */
void elapse__key_index_insert(struct elapse__key_index *index, struct elapse__key *key);

/* Takes a key out of the index, and does not release it. Requires that the key is in the index. */
void elapse__key_index_remove(struct elapse__key_index *index, struct elapse__key *key);

/* Two functions for a check of all keys. The first returns the number of the bucket of a hash. The
 * second returns the first key in a bucket; NULL if the bucket is empty. There are level + split
 * buckets. */
size_t elapse__key_index_bucket(const struct elapse__key_index *index, uint64_t hash);
const struct elapse__key *elapse__key_index_first(const struct elapse__key_index *index,
                                                  size_t bucket);

#endif
