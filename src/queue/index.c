#include "index.h"

enum {
    HEADS_BITS = 10, /* a chunk has 2^10 heads, which take 4 KiB */
    FIRST_LEVEL = 64,
    ITEM_BITS = 28,
};

#define ITEM_MASK ((UINT32_C(1) << ITEM_BITS) - 1)

void elapse__queue_index_init(struct elapse__queue_index *index,
                              const struct elapse__queue_index_owner *calls, void *owner)
{
    *index = (struct elapse__queue_index){.calls = calls, .owner = owner};
    elapse__queue_chunks_init(&index->heads, HEADS_BITS, sizeof(uint32_t));
}

void elapse__queue_index_free(struct elapse__queue_index *index,
                              const struct elapse_allocator *memory)
{
    elapse__queue_chunks_free(&index->heads, memory);
    index->level = 0;
    index->count = 0;
}

static uint32_t *head_at(const struct elapse__queue_index *index, uint32_t bucket)
{
    return elapse__queue_chunks_at_shape(&index->heads, bucket, HEADS_BITS, sizeof(uint32_t));
}

static uint32_t bucket_of(const struct elapse__queue_index *index, uint64_t hash)
{
    uint32_t bucket = (uint32_t)hash & (index->level - 1);
    if (bucket < index->split)
        bucket = (uint32_t)hash & (2 * index->level - 1);
    ELAPSE__ASSERT_THAT(bucket, <, index->level + index->split);
    return bucket;
}

/* Returns the link to an item. The upper bits of the link are bits of the hash that the number of a
 * bucket does not use. */
static uint32_t link_to(uint32_t item, uint64_t hash)
{
    ELAPSE__ASSERT_THAT(item, >, 0);
    ELAPSE__ASSERT_THAT(item, <=, ITEM_MASK);
    return item | (uint32_t)(hash >> 60) << ITEM_BITS;
}

bool elapse__queue_index_prepare(struct elapse__queue_index *index,
                                 const struct elapse_allocator *memory)
{
    if (index->level > 0)
        return true;
    if (!elapse__queue_chunks_grow(&index->heads, memory))
        return false;
    for (uint32_t bucket = 0; bucket < FIRST_LEVEL; bucket++)
        *head_at(index, bucket) = 0;
    index->level = FIRST_LEVEL;
    index->split = 0;
    return true;
}

static uint32_t *link_of(const struct elapse__queue_index *index, uint32_t item)
{
    return index->calls->link(index->owner, item);
}

/* Splits the bucket `split` into two buckets. The order of the items within each bucket stays. */
static void split_bucket(struct elapse__queue_index *index, const struct elapse_allocator *memory)
{
    uint32_t made = index->level + index->split;
    ELAPSE__ASSERT_THAT(index->split, <, index->level);
    if (!elapse__queue_chunks_reserve(&index->heads, (uint64_t)made + 1, memory))
        return;
    uint32_t *low = head_at(index, index->split);
    uint32_t *high = head_at(index, made);
    uint32_t link = *low;
    *high = 0;
    while (link != 0) {
        uint32_t item = link & ITEM_MASK;
        uint32_t *own = link_of(index, item);
        uint32_t next = *own;
        if ((index->calls->hash(index->owner, item) & index->level) != 0) {
            *high = link;
            high = own;
        } else {
            *low = link;
            low = own;
        }
        link = next;
        index->moved++;
    }
    *low = 0;
    *high = 0;
    if (++index->split == index->level) {
        index->level *= 2;
        index->split = 0;
    }
}

/* Joins the last bucket with the bucket from which it was split. */
static void join_bucket(struct elapse__queue_index *index, const struct elapse_allocator *memory)
{
    if (index->split == 0) {
        if (index->level == FIRST_LEVEL)
            return;
        index->level /= 2;
        index->split = index->level;
    }
    ELAPSE__ASSERT_THAT(index->split, >, 0);
    index->split--;
    uint32_t last = index->level + index->split;
    uint32_t *end = head_at(index, index->split);
    while (*end != 0) {
        end = link_of(index, *end & ITEM_MASK);
        index->moved++;
    }
    *end = *head_at(index, last);
    /* One chunk stays in reserve, so a count that goes up and down does not allocate. */
    if (elapse__queue_chunks_items(&index->heads) >= (uint64_t)last + (2u << HEADS_BITS))
        elapse__queue_chunks_shrink(&index->heads, memory);
}

void elapse__queue_index_insert(struct elapse__queue_index *index, uint32_t item,
                                const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(index->level, >, 0);
    ELAPSE__ASSERT_THAT(index->count, <, ELAPSE__QUEUE_ITEMS_MAX);
    index->moved = 0;
    uint64_t hash = index->calls->hash(index->owner, item);
    uint32_t *head = head_at(index, bucket_of(index, hash));
    *link_of(index, item) = *head;
    *head = link_to(item, hash);
    index->count++;
    if (index->count / 2 > index->level + index->split)
        split_bucket(index, memory);
}

/* Returns the link that leads to an item. */
static uint32_t *link_that_leads_to(const struct elapse__queue_index *index, uint32_t item)
{
    uint64_t hash = index->calls->hash(index->owner, item);
    uint32_t *link = head_at(index, bucket_of(index, hash));
    while ((*link & ITEM_MASK) != item) {
        ELAPSE__ASSERT(*link != 0);
        link = link_of(index, *link & ITEM_MASK);
    }
    return link;
}

void elapse__queue_index_replace(struct elapse__queue_index *index, uint32_t old, uint32_t item)
{
    uint64_t hash = index->calls->hash(index->owner, item);
    uint32_t *link = link_that_leads_to(index, old);
    *link_of(index, item) = *link_of(index, old);
    *link = link_to(item, hash);
}

void elapse__queue_index_remove(struct elapse__queue_index *index, uint32_t item,
                                const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(index->count, >, 0);
    index->moved = 0;
    uint32_t *link = link_that_leads_to(index, item);
    *link = *link_of(index, item);
    index->count--;
    if (index->count < index->level + index->split)
        join_bucket(index, memory);
}

/* Follows the links from `link` on. Returns the first item whose link has the upper bits of `hash`.
 */
static uint32_t follow_links(const struct elapse__queue_index *index, uint32_t link, uint64_t hash)
{
    while (link != 0 && link >> ITEM_BITS != hash >> 60)
        link = *link_of(index, link & ITEM_MASK);
    return link & ITEM_MASK;
}

void elapse__queue_index_fetch(const struct elapse__queue_index *index, uint64_t hash)
{
    if (index->count > 0)
        __builtin_prefetch(head_at(index, bucket_of(index, hash)), 1);
}

uint32_t elapse__queue_index_first(const struct elapse__queue_index *index, uint64_t hash)
{
    if (index->count == 0)
        return 0;
    return follow_links(index, *head_at(index, bucket_of(index, hash)), hash);
}

uint32_t elapse__queue_index_next(const struct elapse__queue_index *index, uint32_t item,
                                  uint64_t hash)
{
    ELAPSE__ASSERT_THAT(item, >, 0);
    return follow_links(index, *link_of(index, item), hash);
}

bool elapse__queue_index_check(const struct elapse__queue_index *index)
{
    uint64_t found = 0;
    for (uint32_t bucket = 0; bucket < index->level + index->split; bucket++) {
        uint32_t link = *head_at(index, bucket);
        for (; link != 0; link = *link_of(index, link & ITEM_MASK)) {
            uint64_t hash = index->calls->hash(index->owner, link & ITEM_MASK);
            if (++found > index->count || bucket_of(index, hash) != bucket ||
                link != link_to(link & ITEM_MASK, hash))
                return false;
        }
    }
    return found == index->count;
}
