/*
 * A hash table of items that lie elsewhere, in chains, by linear hashing: it grows and shrinks by
 * one bucket at a time.
 *
 *      buckets   0 . . . . split . . . . level | new . . . .
 *                |--------|                    |-----------|
 *                these are split in two: the bit of value `level` of the hash says which half
 *
 * An item is a number from 1 to 2^28 - 1. Each bucket is a link to the first item of its chain.
 * Each item has a link to the next item of the chain, which the index's owner keeps beside the
 * item. A link is an item's number and, in its upper four bits, four bits of the item's hash. So a
 * search reads only one in sixteen of the items that it does not look for.
 *
 * An insertion that finds more than two items a bucket splits one bucket. A removal that leaves
 * less than one item a bucket joins two buckets. So for each item the buckets take 2 to 4 bytes,
 * and its link takes 4 bytes.
 *
 * Source: W. Litwin, "Linear hashing: a new tool for file and table addressing", VLDB 1980.
 */
#ifndef ELAPSE__QUEUE_INDEX_H
#define ELAPSE__QUEUE_INDEX_H

#include "chunks.h"

#define ELAPSE__QUEUE_ITEMS_MAX ((UINT32_C(1) << 28) - 1)

/* How an index reaches the items of its owner. */
struct elapse__queue_index_owner {
    uint32_t *(*link)(void *owner, uint32_t item);
    uint64_t (*hash)(void *owner, uint32_t item);
};

struct elapse__queue_index {
    struct elapse__queue_chunks heads; /* uint32_t: the first link of each bucket */
    uint32_t level;                    /* a power of two; 0: there is no bucket yet */
    uint32_t split;                    /* below `level` */
    uint32_t count;                    /* items */
    uint32_t moved;                    /* links that the last insertion or removal wrote anew */
    const struct elapse__queue_index_owner *calls;
    void *owner;
};

void elapse__queue_index_init(struct elapse__queue_index *index,
                              const struct elapse__queue_index_owner *calls, void *owner);
void elapse__queue_index_free(struct elapse__queue_index *index,
                              const struct elapse_allocator *memory);

/* Makes sure that an insertion is possible. Returns false if there is no memory for the first
 * buckets. */
bool elapse__queue_index_prepare(struct elapse__queue_index *index,
                                 const struct elapse_allocator *memory);

/* Inserts an item, and splits a bucket if there is memory for it; without memory chains get longer.
 * Requires that the index was prepared and does not hold the item. */
void elapse__queue_index_insert(struct elapse__queue_index *index, uint32_t item,
                                const struct elapse_allocator *memory);

/* Takes an item out. Requires that the index holds it. */
void elapse__queue_index_remove(struct elapse__queue_index *index, uint32_t item,
                                const struct elapse_allocator *memory);

/* Puts another item in the place of one that the index holds. Requires that both have the same
 * hash. */
void elapse__queue_index_replace(struct elapse__queue_index *index, uint32_t old, uint32_t item);

/* Returns the first item that may have this hash, and the next one after `item`; 0: there is none.
 * The caller compares what it looks for. */
uint32_t elapse__queue_index_first(const struct elapse__queue_index *index, uint64_t hash);
uint32_t elapse__queue_index_next(const struct elapse__queue_index *index, uint32_t item,
                                  uint64_t hash);

/* Asks for the memory of the bucket that a search for this hash will read. */
void elapse__queue_index_fetch(const struct elapse__queue_index *index, uint64_t hash);

/* Examines the table: each item is in the bucket of its hash, and `count` items are in all
 * buckets. Returns true if all is well. */
bool elapse__queue_index_check(const struct elapse__queue_index *index);

#endif
