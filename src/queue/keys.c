#include "tables.h"

#include <string.h>

enum { KEYS_CHUNK_BITS = 9 };

static uint32_t *key_link(void *owner, uint32_t number)
{
    return &elapse__queue_key_at(owner, number)->link;
}

static uint64_t key_bucket_hash(void *owner, uint32_t number)
{
    return elapse__queue_key_hash_of(elapse__queue_key_at(owner, number)).low;
}

static const struct elapse__queue_index_owner key_calls = {key_link, key_bucket_hash};

void elapse__queue_keys_init(struct elapse__queue *queue)
{
    elapse__queue_slab_init(&queue->keys, KEYS_CHUNK_BITS, sizeof(struct elapse__queue_key),
                            ELAPSE__QUEUE_ITEMS_MAX);
    elapse__queue_index_init(&queue->key_index, &key_calls, queue);
}

struct elapse__hash_128 elapse__queue_key_hash(const struct elapse__queue *queue,
                                               struct elapse__queue_text tube,
                                               struct elapse__queue_text key)
{
    /* The bytes begin with the size of the first part, so ("ab", "c") and ("a", "bc") have
     * different bytes. */
    unsigned char bytes[1 + ELAPSE__QUEUE_TUBE_BYTES_MAX + ELAPSE__QUEUE_KEY_BYTES_MAX];
    ELAPSE__ASSERT_THAT(tube.size, <=, ELAPSE__QUEUE_TUBE_BYTES_MAX);
    ELAPSE__ASSERT_THAT(key.size, <=, ELAPSE__QUEUE_KEY_BYTES_MAX);
    bytes[0] = (unsigned char)tube.size;
    memcpy(bytes + 1, tube.bytes, tube.size);
    memcpy(bytes + 1 + tube.size, key.bytes, key.size);
    struct elapse__hash_128 hash =
        elapse__sip_hash_128(&queue->secret, bytes, 1 + tube.size + key.size);
    /* A key record has room for 96 bits of the hash. */
    hash.high &= UINT32_MAX;
    return hash;
}

uint64_t elapse__queue_tag_hash(const struct elapse__queue *queue, struct elapse__queue_text tag)
{
    if (tag.size == 0)
        return 0;
    uint64_t hash = elapse__sip_hash_64(&queue->secret, tag.bytes, tag.size);
    return hash == 0 ? 1 : hash;
}

struct elapse__queue_entry *elapse__queue_key_find(const struct elapse__queue *queue,
                                                   struct elapse__hash_128 hash, bool shadow)
{
    struct elapse__queue_entry *found = NULL;
    uint32_t number = elapse__queue_index_first(&queue->key_index, hash.low);
    for (; number != 0; number = elapse__queue_index_next(&queue->key_index, number, hash.low)) {
        const struct elapse__queue_key *key = elapse__queue_key_at(queue, number);
        struct elapse__hash_128 other = elapse__queue_key_hash_of(key);
        if (other.low != hash.low || other.high != hash.high)
            continue;
        struct elapse__queue_entry *entry = elapse__queue_entry_at(&queue->jobs, key->entry);
        if (elapse__queue_state_of(entry) != ELAPSE__QUEUE_SHADOW)
            return entry;
        if (shadow)
            found = entry;
    }
    return found;
}

static bool key_is_hashed(const struct elapse__queue_key *key)
{
    return (key->hash[0] | key->hash[1] | key->hash[2]) != 0;
}

uint32_t elapse__queue_key_make(struct elapse__queue *queue, struct elapse__hash_128 hash,
                                uint64_t tag)
{
    if (!elapse__queue_index_prepare(&queue->key_index, &queue->memory))
        return 0;
    uint32_t number = elapse__queue_slab_take(&queue->keys, &queue->memory);
    if (number == 0)
        return 0;
    struct elapse__queue_key *key = elapse__queue_key_at(queue, number);
    ELAPSE__ASSERT_THAT(hash.high, <=, UINT32_MAX);
    key->hash[0] = (uint32_t)hash.low;
    key->hash[1] = (uint32_t)(hash.low >> 32);
    key->hash[2] = (uint32_t)hash.high;
    key->tag[0] = (uint32_t)tag;
    key->tag[1] = (uint32_t)(tag >> 32);
    return number;
}

void elapse__queue_key_link(struct elapse__queue *queue, uint32_t number,
                            struct elapse__queue_entry *entry)
{
    struct elapse__queue_key *key = elapse__queue_key_at(queue, number);
    ELAPSE__ASSERT_THAT(elapse__queue_key_of(queue, entry), ==, 0);
    ELAPSE__ASSERT_THAT(key->entry, ==, 0);
    key->entry = elapse__queue_number(entry);
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (side != NULL) {
        side->key = number & ELAPSE__QUEUE_ITEMS_MAX;
    } else {
        entry->extra = number;
        entry->tube_state |= ELAPSE__QUEUE_HAS_KEY;
    }
    /* invariant 8: no live job has the key yet */
    ELAPSE__ASSERT(!key_is_hashed(key) ||
                   elapse__queue_key_find(queue, elapse__queue_key_hash_of(key), false) == NULL);
    if (key_is_hashed(key))
        elapse__queue_index_insert(&queue->key_index, number, &queue->memory);
}

void elapse__queue_key_end(struct elapse__queue *queue, uint32_t number)
{
    const struct elapse__queue_key *key = elapse__queue_key_at(queue, number);
    if (key->entry != 0 && key_is_hashed(key))
        elapse__queue_index_remove(&queue->key_index, number, &queue->memory);
    elapse__queue_slab_give(&queue->keys, number);
}
