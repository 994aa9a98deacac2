/*
 * The keys of a shard: which task is pending and which is running with each key.
 *
 * This is a hash table that grows by one bucket at a time, so that no call has to rehash a million
 * keys while it holds the lock:
 *
 *      buckets   0 . . . . split . . . . level | new . . . .
 *                |--------|                    |-----------|
 *                these are split in two: the bit of value `level` of the hash says which half
 *
 * Each insertion that finds as many keys as buckets splits the next bucket. When all buckets are
 * split, `level` doubles. The buckets lie in segments, which never move; each is as large as all
 * segments before it together.
 *
 * Source: W. Litwin, "Linear hashing: a new tool for file and table addressing",
 * VLDB 1980.
 *
 * The lock of the shard guards the index. Functions on the index do not allocate: keys and segments
 * are made and released without the lock.
 */
#ifndef ELAPSE__KEY_INDEX_H
#define ELAPSE__KEY_INDEX_H

#include "../base/allocator.h"
#include "task.h"

struct elapse__key {
    struct elapse__key *next; /* in the bucket */
    uint64_t hash;
    struct elapse__task *pending; /* PENDING, WAITING, QUEUED, or RUNNING and `runs_again` */
    struct elapse__task *running; /* RUNNING or FINISHING */
    unsigned destroying; /* how many contexts of ended tasks of this key are being destroyed */
    size_t bytes;
    unsigned char data[];
};

/* Returns whether no task with this key may begin, because another task with the key runs, or the
 * context of one is being destroyed. */
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

/* Returns how many buckets the segment must have that the next insertion needs to grow the index;
 * 0: it needs no segment. Without the segment the insertion works too, but buckets get longer. */
size_t elapse__key_index_segment_needed(const struct elapse__key_index *index);

/* Makes a segment of empty buckets. Returns NULL if there is no memory. */
struct elapse__key_bucket *elapse__key_segment_make(size_t buckets,
                                                    const struct elapse_allocator *memory);

/* Gives the index a segment of `buckets` buckets. Returns false if the index has that segment
 * already: then the caller must release `segment` with elapse__release. */
bool elapse__key_index_grow(struct elapse__key_index *index, struct elapse__key_bucket *segment,
                            size_t buckets);

/*
 * If you are about to find many keys, prefetch the buckets of all of them, and then the first key
 * in each bucket: so the cache misses of a batch overlap.
 */
void elapse__key_index_prefetch_bucket(const struct elapse__key_index *index, uint64_t hash);
void elapse__key_index_prefetch_key(const struct elapse__key_index *index, uint64_t hash);

/* Returns the key of these bytes, or NULL if it is not in the index. */
struct elapse__key *elapse__key_index_find(const struct elapse__key_index *index, const void *data,
                                           size_t bytes, uint64_t hash);

/* Joins up to `most` buckets with the buckets that they were split from, while there are more
 * buckets than keys. Returns true when there is nothing more to join. */
bool elapse__key_index_join(struct elapse__key_index *index, unsigned most);

/* Takes out a segment without buckets in use, and stores in `*buckets` how many it has. The caller
 * releases it. Returns NULL if there is none. */
struct elapse__key_bucket *elapse__key_index_take_segment(struct elapse__key_index *index,
                                                          size_t *buckets);

/* Inserts a key. Requires that it is not in the index. */
void elapse__key_index_insert(struct elapse__key_index *index, struct elapse__key *key);

/* Takes a key out, without releasing it. Requires that it is in the index. */
void elapse__key_index_remove(struct elapse__key_index *index, struct elapse__key *key);

/* For a check of all keys: returns the bucket of a hash, and the first key in a bucket; NULL if it
 * is empty. There are level + split buckets. */
size_t elapse__key_index_bucket(const struct elapse__key_index *index, uint64_t hash);
const struct elapse__key *elapse__key_index_first(const struct elapse__key_index *index,
                                                  size_t bucket);

#endif
