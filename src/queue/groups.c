/*
 * The groups of jobs. A group has a number in the table of tubes, so that an entry needs no memory
 * for it. The name of a group is in memory: a list of groups reads no disk.
 */
#include "tables.h"

#include <string.h>

#include "../base/little_endian.h"

static uint64_t group_name_hash(const struct elapse__queue *queue, uint32_t tube,
                                struct elapse__queue_text name)
{
    unsigned char bytes[sizeof tube + ELAPSE__QUEUE_KEY_BYTES_MAX];
    ELAPSE__ASSERT_THAT(name.size, <=, ELAPSE__QUEUE_KEY_BYTES_MAX);
    elapse__little_endian_store(bytes, tube, sizeof tube);
    memcpy(bytes + sizeof tube, name.bytes, name.size);
    return elapse__sip_hash_64(&queue->secret, bytes, sizeof tube + name.size);
}

static struct elapse__queue_text name_of(const struct elapse__queue_group *group)
{
    return (struct elapse__queue_text){group->name, group->name_size};
}

static uint32_t *group_link(void *owner, uint32_t number)
{
    return &elapse__queue_group_at(owner, number)->link;
}

static uint64_t group_hash(void *owner, uint32_t number)
{
    const struct elapse__queue_group *group = elapse__queue_group_at(owner, number);
    return group_name_hash(owner, group->tube, name_of(group));
}

static const struct elapse__queue_index_owner group_calls = {group_link, group_hash};

void elapse__queue_groups_init(struct elapse__queue *queue)
{
    elapse__queue_index_init(&queue->group_index, &group_calls, queue);
}

struct elapse__queue_group *elapse__queue_group_find(const struct elapse__queue *queue,
                                                     const struct elapse__queue_tube *tube,
                                                     struct elapse__queue_text name)
{
    uint64_t hash = group_name_hash(queue, tube->number, name);
    uint32_t number = elapse__queue_index_first(&queue->group_index, hash);
    for (; number != 0; number = elapse__queue_index_next(&queue->group_index, number, hash)) {
        struct elapse__queue_group *group = elapse__queue_group_at(queue, number);
        if (group->tube == tube->number && group->name_size == name.size &&
            memcmp(group->name, name.bytes, name.size) == 0)
            return group;
    }
    return NULL;
}

static size_t group_bytes(size_t name_size)
{
    size_t bytes = offsetof(struct elapse__queue_group, name) + name_size;
    return bytes < sizeof(struct elapse__queue_group) ? sizeof(struct elapse__queue_group) : bytes;
}

/* Makes a group without jobs in a tube that has room for its turn. Returns NULL if there is no
 * memory, or no number is left. */
static struct elapse__queue_group *make_group(struct elapse__queue *queue,
                                              struct elapse__queue_tube *tube,
                                              struct elapse__queue_text name)
{
    size_t bytes = group_bytes(name.size);
    struct elapse__queue_group *group =
        elapse__allocate_locked(&queue->memory, _Alignof(struct elapse__queue_group), bytes);
    if (group == NULL)
        return NULL;
    uint32_t number = elapse__queue_slab_take(&queue->tubes, &queue->memory);
    if (number == 0) {
        elapse__release_locked(&queue->memory, group, bytes);
        return NULL;
    }
    memset(group, 0, sizeof *group);
    group->tube = tube->number;
    group->number = number;
    group->place = ELAPSE__QUEUE_NO_PLACE;
    group->name_size = (uint8_t)name.size;
    memcpy(group->name, name.bytes, name.size);
    *elapse__queue_place_at(queue, number) =
        (struct elapse__queue_place){.kind = ELAPSE__QUEUE_PLACE_GROUP, .at.group = group};
    elapse__queue_index_insert(&queue->group_index, number, &queue->memory);
    tube->turns->groups++;
    return group;
}

enum elapse__queue_result elapse__queue_group_get(struct elapse__queue *queue,
                                                  struct elapse__queue_tube *tube,
                                                  struct elapse__queue_text name,
                                                  struct elapse__queue_group **group)
{
    *group = elapse__queue_group_find(queue, tube, name);
    if (*group != NULL)
        return ELAPSE__QUEUE_OK;
    /* A replay takes what was put when the limit was greater. */
    if (queue->open && queue->group_index.count >= queue->options.groups_max)
        return ELAPSE__QUEUE_GROUPS_FULL;
    if (!elapse__queue_index_prepare(&queue->group_index, &queue->memory) ||
        !elapse__queue_turns_reserve(queue, tube))
        return ELAPSE__QUEUE_NO_MEMORY;
    *group = make_group(queue, tube, name);
    if (*group == NULL)
        elapse__queue_turns_trim(queue, tube);
    return *group != NULL ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_NO_MEMORY;
}

enum elapse__queue_result elapse__queue_group_join(struct elapse__queue *queue,
                                                   struct elapse__queue_tube *tube,
                                                   struct elapse__queue_text name,
                                                   struct elapse__queue_entry *entry)
{
    struct elapse__queue_group *group = NULL;
    ELAPSE__ASSERT_THAT(entry->tube_state & ELAPSE__QUEUE_TUBE_MASK, ==, 0);
    enum elapse__queue_result result = elapse__queue_group_get(queue, tube, name, &group);
    if (result != ELAPSE__QUEUE_OK)
        return result;
    tube->turns->without_jobs -= group->references == 0 && group->bucket != 0;
    group->references++;
    entry->tube_state |= group->number;
    return ELAPSE__QUEUE_OK;
}

void elapse__queue_group_free(const struct elapse__queue *queue, struct elapse__queue_group *group)
{
    if (group->has_heap) {
        elapse__queue_heap_free(group->jobs.heap, &queue->memory);
        elapse__release_locked(&queue->memory, group->jobs.heap, sizeof *group->jobs.heap);
    }
    elapse__release_locked(&queue->memory, group, group_bytes(group->name_size));
}

void elapse__queue_group_leave(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
    ELAPSE__ASSERT_THAT(group->references, >, 0);
    if (--group->references > 0)
        return;
    if (group->bucket != 0) {
        tube->turns->without_jobs++;
        return;
    }
    elapse__queue_group_end(queue, group);
    elapse__queue_turns_trim(queue, tube);
}

void elapse__queue_group_end(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    ELAPSE__ASSERT_THAT(group->references + group->bucket, ==, 0);
    ELAPSE__ASSERT_THAT(group->ready + group->running + group->buried, ==, 0);
    ELAPSE__ASSERT_THAT(group->place, ==, ELAPSE__QUEUE_NO_PLACE);
    ELAPSE__ASSERT_THAT(group->may_run, ==, 0);
    elapse__queue_index_remove(&queue->group_index, group->number, &queue->memory);
    elapse__queue_slab_give(&queue->tubes, group->number);
    elapse__queue_tube_of_group(queue, group)->turns->groups--;
    elapse__queue_group_free(queue, group);
}
