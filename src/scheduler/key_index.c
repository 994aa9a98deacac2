#include "key_index.h"

#include <string.h>

#include "../base/assert.h"

/* How many splits before its use a key is prefetched. */
enum { SPLITS_AHEAD = 16 };

void elapse__key_index_init(struct elapse__key_index *index)
{
    memset(index, 0, sizeof *index);
    index->level = ELAPSE__FIRST_BUCKETS;
    index->segments[0] = index->first;
}

/* Returns how many buckets a segment has: as many as all segments before it together. */
static size_t segment_buckets(unsigned segment)
{
    ELAPSE__ASSERT_THAT(segment, <, ELAPSE__KEY_SEGMENTS);
    size_t through_it = (size_t)ELAPSE__FIRST_BUCKETS << segment;
    return segment == 0 ? through_it : through_it / 2;
}

void elapse__key_index_free(struct elapse__key_index *index, const struct elapse_allocator *memory)
{
    for (unsigned segment = 1; segment < ELAPSE__KEY_SEGMENTS; segment++)
        elapse__release(memory, index->segments[segment],
                        segment_buckets(segment) * sizeof *index->segments[segment]);
}

/* ---- functions that do not need the lock ---- */

struct elapse__key *elapse__key_make(const void *data, size_t bytes, uint64_t hash,
                                     const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(bytes, <=, ELAPSE_KEY_BYTES_MAX);
    struct elapse__key *key =
        elapse__allocate(memory, _Alignof(struct elapse__key), sizeof *key + bytes);
    if (key == NULL)
        return NULL;
    *key = (struct elapse__key){.hash = hash, .bytes = bytes};
    memcpy(key->data, data, bytes);
    return key;
}

void elapse__key_release(struct elapse__key *key, const struct elapse_allocator *memory)
{
    if (key != NULL)
        elapse__release(memory, key, sizeof *key + key->bytes);
}

struct elapse__key_bucket *elapse__key_segment_make(size_t buckets,
                                                    const struct elapse_allocator *memory)
{
    struct elapse__key_bucket *segment =
        elapse__allocate(memory, _Alignof(struct elapse__key_bucket), buckets * sizeof *segment);
    if (segment != NULL)
        memset(segment, 0, buckets * sizeof *segment);
    return segment;
}

/* ---- buckets ---- */

/* Returns the segment of a bucket: 0 for the first 64 buckets, 1 for the next 64, 2 for the next
 * 128 and so on. */
static unsigned segment_of(size_t bucket)
{
    size_t number = bucket / ELAPSE__FIRST_BUCKETS;
    return number == 0 ? 0 : 64 - (unsigned)__builtin_clzll(number);
}

static struct elapse__key_bucket *bucket_at(const struct elapse__key_index *index, size_t bucket)
{
    unsigned segment = segment_of(bucket);
    size_t first = segment == 0 ? 0 : segment_buckets(segment);
    ELAPSE__ASSERT(index->segments[segment] != NULL);
    ELAPSE__ASSERT_THAT(bucket - first, <, segment_buckets(segment));
    return &index->segments[segment][bucket - first];
}

size_t elapse__key_index_bucket(const struct elapse__key_index *index, uint64_t hash)
{
    size_t bucket = (size_t)hash & (index->level - 1);
    if (bucket < index->split)
        bucket = (size_t)hash & (2 * index->level - 1);
    ELAPSE__ASSERT_THAT(bucket, <, index->level + index->split);
    return bucket;
}

static struct elapse__key_bucket *bucket_for(const struct elapse__key_index *index, uint64_t hash)
{
    return bucket_at(index, elapse__key_index_bucket(index, hash));
}

const struct elapse__key *elapse__key_index_first(const struct elapse__key_index *index,
                                                  size_t bucket)
{
    return bucket_at(index, bucket)->first;
}

size_t elapse__key_index_segment_needed(const struct elapse__key_index *index)
{
    if (index->count < index->level + index->split)
        return 0;
    unsigned segment = segment_of(index->level + index->split);
    return segment < ELAPSE__KEY_SEGMENTS && index->segments[segment] == NULL
               ? segment_buckets(segment)
               : 0;
}

bool elapse__key_index_grow(struct elapse__key_index *index, struct elapse__key_bucket *segment,
                            size_t buckets)
{
    unsigned number = segment_of(buckets);
    ELAPSE__ASSERT_THAT(number, >, 0);
    ELAPSE__ASSERT_THAT(segment_buckets(number), ==, buckets);
    if (index->segments[number] != NULL)
        return false;
    index->segments[number] = segment;
    return true;
}

/* Splits the next bucket: moves a part of its keys to a new bucket. Does nothing if the segment of
 * the new bucket is missing. */
static void split_next(struct elapse__key_index *index)
{
    size_t added = index->level + index->split;
    unsigned segment = segment_of(added);
    if (segment >= ELAPSE__KEY_SEGMENTS || index->segments[segment] == NULL)
        return;
    struct elapse__key **from = &bucket_at(index, index->split)->first;
    struct elapse__key **to = &bucket_at(index, added)->first;
    ELAPSE__ASSERT(*to == NULL);
    while (*from != NULL) {
        struct elapse__key *key = *from;
        if (((size_t)key->hash & index->level) == 0) {
            from = &key->next;
            continue;
        }
        *from = key->next;
        key->next = *to;
        *to = key;
    }
    if (++index->split == index->level) {
        index->level *= 2;
        index->split = 0;
    }
    /* Splits go through the buckets one after the other, and read each key. So the first key of a
     * bucket is prefetched some splits before. */
    if (index->split + SPLITS_AHEAD < index->level)
        __builtin_prefetch(bucket_at(index, index->split + SPLITS_AHEAD)->first);
}

/* Moves the keys of the last bucket back to the bucket that it was split from. Requires that there
 * are more buckets than at first. */
static void join_last(struct elapse__key_index *index)
{
    ELAPSE__ASSERT_THAT(index->level + index->split, >, ELAPSE__FIRST_BUCKETS);
    if (index->split == 0) {
        index->level /= 2;
        index->split = index->level;
    }
    index->split--;
    struct elapse__key_bucket *from = bucket_at(index, index->level + index->split);
    struct elapse__key **to = &bucket_at(index, index->split)->first;
    while (*to != NULL)
        to = &(*to)->next;
    *to = from->first;
    from->first = NULL;
}

bool elapse__key_index_join(struct elapse__key_index *index, unsigned most)
{
    for (; index->level + index->split > ELAPSE__FIRST_BUCKETS; most--) {
        if (index->count >= index->level + index->split)
            break;
        if (most == 0)
            return false;
        join_last(index);
    }
    return true;
}

struct elapse__key_bucket *elapse__key_index_take_segment(struct elapse__key_index *index,
                                                          size_t *buckets)
{
    for (unsigned number = ELAPSE__KEY_SEGMENTS - 1; number > 0; number--) {
        struct elapse__key_bucket *segment = index->segments[number];
        /* The number of the first bucket of a segment equals the number of buckets in the
         * segment. */
        if (segment == NULL || segment_buckets(number) < index->level + index->split)
            continue;
        index->segments[number] = NULL;
        *buckets = segment_buckets(number);
        return segment;
    }
    return NULL;
}

/* ---- keys ---- */

void elapse__key_index_prefetch_bucket(const struct elapse__key_index *index, uint64_t hash)
{
    __builtin_prefetch(bucket_for(index, hash), 1);
}

void elapse__key_index_prefetch_key(const struct elapse__key_index *index, uint64_t hash)
{
    __builtin_prefetch(bucket_for(index, hash)->first);
}

struct elapse__key *elapse__key_index_find(const struct elapse__key_index *index, const void *data,
                                           size_t bytes, uint64_t hash)
{
    struct elapse__key *key = bucket_for(index, hash)->first;
    while (key != NULL &&
           (key->hash != hash || key->bytes != bytes || memcmp(key->data, data, bytes) != 0))
        key = key->next;
    return key;
}

void elapse__key_index_insert(struct elapse__key_index *index, struct elapse__key *key)
{
    ELAPSE__ASSERT(elapse__key_index_find(index, key->data, key->bytes, key->hash) == NULL);
    if (index->count >= index->level + index->split)
        split_next(index);
    struct elapse__key_bucket *bucket = bucket_for(index, key->hash);
    key->next = bucket->first;
    bucket->first = key;
    index->count++;
}

void elapse__key_index_remove(struct elapse__key_index *index, struct elapse__key *key)
{
    struct elapse__key **ring_node = &bucket_for(index, key->hash)->first;
    ELAPSE__ASSERT_THAT(index->count, >, 0);
    for (; *ring_node != key; ring_node = &(*ring_node)->next)
        ELAPSE__ASSERT(*ring_node != NULL);
    *ring_node = key->next;
    index->count--;
}
