/*
 * Keeps the names of the holders of leases. A holder is the client that has a lease. Many leases
 * share a name, so each name is kept once, with a count of the leases that use it. No record has
 * these names. So after a restart nobody knows who holds a lease.
 */
#include <string.h>

#include "tables.h"

enum { NAMES_CHUNK_BITS = 5 };

static struct elapse__queue_name *name_at(const struct elapse__queue *queue, uint32_t number)
{
    return elapse__queue_slab_at(&queue->names, number);
}

static uint32_t *name_link(void *owner, uint32_t number)
{
    return &name_at(owner, number)->link;
}

static struct elapse__queue_text text_of(const struct elapse__queue_name *name)
{
    return (struct elapse__queue_text){name->text, name->size};
}

static uint64_t name_hash(void *owner, uint32_t number)
{
    return elapse__queue_tag_hash(owner, text_of(name_at(owner, number)));
}

static const struct elapse__queue_index_owner name_calls = {name_link, name_hash};

void elapse__queue_names_init(struct elapse__queue *queue)
{
    elapse__queue_slab_init(&queue->names, NAMES_CHUNK_BITS, sizeof(struct elapse__queue_name),
                            ELAPSE__QUEUE_ITEMS_MAX);
    elapse__queue_index_init(&queue->name_index, &name_calls, queue);
}

static uint32_t find(const struct elapse__queue *queue, struct elapse__queue_text text,
                     uint64_t hash)
{
    uint32_t number = elapse__queue_index_first(&queue->name_index, hash);
    for (; number != 0; number = elapse__queue_index_next(&queue->name_index, number, hash)) {
        const struct elapse__queue_name *name = name_at(queue, number);
        if (name->size == text.size && memcmp(name->text, text.bytes, text.size) == 0)
            return number;
    }
    return 0;
}

uint32_t elapse__queue_name_get(struct elapse__queue *queue, struct elapse__queue_text text)
{
    if (text.size > ELAPSE__QUEUE_NAME_BYTES_MAX)
        text.size = ELAPSE__QUEUE_NAME_BYTES_MAX;
    if (text.size == 0)
        return 0;
    uint32_t number = find(queue, text, elapse__queue_tag_hash(queue, text));
    if (number == 0) {
        if (!elapse__queue_index_prepare(&queue->name_index, &queue->memory))
            return 0;
        number = elapse__queue_slab_take(&queue->names, &queue->memory);
        if (number == 0)
            return 0;
        struct elapse__queue_name *name = name_at(queue, number);
        name->size = (uint8_t)text.size;
        memcpy(name->text, text.bytes, text.size);
        elapse__queue_index_insert(&queue->name_index, number, &queue->memory);
    }
    elapse__queue_name_share(queue, number);
    return number;
}

void elapse__queue_name_share(struct elapse__queue *queue, uint32_t number)
{
    if (number != 0)
        name_at(queue, number)->references++;
}

void elapse__queue_name_drop(struct elapse__queue *queue, uint32_t number)
{
    if (number == 0)
        return;
    struct elapse__queue_name *name = name_at(queue, number);
    ELAPSE__ASSERT_THAT(name->references, >, 0);
    if (--name->references > 0)
        return;
    elapse__queue_index_remove(&queue->name_index, number, &queue->memory);
    elapse__queue_slab_give(&queue->names, number);
}

struct elapse__queue_text elapse__queue_name_of(const struct elapse__queue *queue, uint64_t id,
                                                struct elapse__queue_lease lease)
{
    const struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, id);
    const struct elapse__queue_side *side =
        entry == NULL ? NULL : elapse__queue_side_of(queue, entry);
    if (side == NULL || side->lease == 0 || side->lease != lease.number || side->life != lease.life)
        return (struct elapse__queue_text){NULL, 0};
    uint32_t number = side->connection == NULL ? side->holder : side->connection->name;
    return number == 0 ? (struct elapse__queue_text){NULL, 0} : text_of(name_at(queue, number));
}
