#include "tables.h"

#include <string.h>

#include "../base/braces.h"

enum { TUBES_CHUNK_BITS = 8 };

static uint64_t tube_name_hash(const struct elapse__queue *queue, struct elapse__queue_text name)
{
    return elapse__sip_hash_64(&queue->secret, name.bytes, name.size);
}

struct elapse__queue_tube *elapse__queue_tube_at(const struct elapse__queue *queue, uint32_t number)
{
    const struct elapse__queue_place *place = elapse__queue_place_at(queue, number);
    ELAPSE__ASSERT_THAT(place->kind, !=, ELAPSE__QUEUE_PLACE_FREE);
    return place->kind == ELAPSE__QUEUE_PLACE_TUBE
               ? place->at.tube
               : elapse__queue_tube_of_group(queue, place->at.group);
}

static uint32_t *tube_link(void *owner, uint32_t number)
{
    return &elapse__queue_tube_at(owner, number)->link;
}

static uint64_t tube_hash(void *owner, uint32_t number)
{
    return elapse__queue_tube_at(owner, number)->hash;
}

static const struct elapse__queue_index_owner tube_calls = {tube_link, tube_hash};

void elapse__queue_tubes_init(struct elapse__queue *queue)
{
    elapse__queue_slab_init(&queue->tubes, TUBES_CHUNK_BITS, sizeof(struct elapse__queue_place),
                            ELAPSE__QUEUE_TUBES_MAX);
    elapse__queue_index_init(&queue->tube_index, &tube_calls, queue);
}

/* The name begins in the last bytes of the struct. */
static size_t tube_bytes(size_t name_size)
{
    size_t bytes = offsetof(struct elapse__queue_tube, name) + name_size;
    return bytes < sizeof(struct elapse__queue_tube) ? sizeof(struct elapse__queue_tube) : bytes;
}

static bool has_name(const struct elapse__queue_tube *tube, struct elapse__queue_text name)
{
    return tube->name_size == name.size && memcmp(tube->name, name.bytes, name.size) == 0;
}

struct elapse__queue_tube *elapse__queue_tube_find(const struct elapse__queue *queue,
                                                   struct elapse__queue_text name)
{
    uint64_t hash = tube_name_hash(queue, name);
    uint32_t number = elapse__queue_index_first(&queue->tube_index, hash);
    for (; number != 0; number = elapse__queue_index_next(&queue->tube_index, number, hash)) {
        struct elapse__queue_tube *tube = elapse__queue_tube_at(queue, number);
        if (has_name(tube, name))
            return tube;
    }
    return NULL;
}

/* Returns whether there are as many tubes as there may be. A replay may have more tubes than there
 * ever were at a time: a tube whose pause has ended by itself stays until the replay is done. */
static bool is_full(const struct elapse__queue *queue)
{
    return queue->open && queue->tube_index.count >= queue->options.tubes_max;
}

static enum elapse__queue_result make_tube(struct elapse__queue *queue,
                                           struct elapse__queue_text name,
                                           struct elapse__queue_tube **made)
{
    if (!elapse__queue_index_prepare(&queue->tube_index, &queue->memory))
        return ELAPSE__QUEUE_NO_MEMORY;
    size_t bytes = tube_bytes(name.size);
    struct elapse__queue_tube *tube =
        elapse__allocate_locked(&queue->memory, _Alignof(struct elapse__queue_tube), bytes);
    if (tube == NULL)
        return ELAPSE__QUEUE_NO_MEMORY;
    uint32_t number = elapse__queue_slab_take(&queue->tubes, &queue->memory);
    if (number == 0) {
        elapse__release_locked(&queue->memory, tube, bytes);
        return ELAPSE__QUEUE_NO_MEMORY;
    }
    memset(tube, 0, sizeof *tube);
    tube->number = number;
    tube->hash = tube_name_hash(queue, name);
    ELAPSE__ASSERT_THAT(number, <=, ELAPSE__QUEUE_TUBE_MASK);
    ELAPSE__ASSERT(elapse__queue_tube_find(queue, name) == NULL);
    tube->name_size = (uint8_t)name.size;
    memcpy(tube->name, name.bytes, name.size);
    elapse__queue_heap_init(&tube->ready);
    elapse__queue_waits_init(&tube->waits[0]);
    elapse__queue_waits_init(&tube->waits[1]);
    elapse__ring_init(&tube->buried);
    *elapse__queue_place_at(queue, number) =
        (struct elapse__queue_place){.kind = ELAPSE__QUEUE_PLACE_TUBE, .at.tube = tube};
    elapse__queue_index_insert(&queue->tube_index, number, &queue->memory);
    *made = tube;
    return ELAPSE__QUEUE_OK;
}

const char *elapse__queue_split_fault(const struct elapse__queue *queue,
                                      struct elapse__queue_text name)
{
    const unsigned char *part = NULL;
    size_t part_size = 0;

    if (queue->options.partitions == 1)
        return NULL;
    if (!queue->options.hash_tags)
        return "groups and limits need a queue with one partition, or one made with --hash-tags";
    return elapse__braces_find(name.bytes, name.size, &part, &part_size)
               ? NULL
               : "with several partitions, groups and limits need a tube with braces in its name, "
                 "such as mails{eu}";
}

/* Finds or makes a tube; if `always`, also if there are as many tubes as there may be. */
static enum elapse__queue_result get_tube(struct elapse__queue *queue,
                                          struct elapse__queue_text name, bool always,
                                          struct elapse__queue_tube **tube)
{
    ELAPSE__ASSERT_THAT(name.size, >, 0);
    ELAPSE__ASSERT_THAT(name.size, <=, ELAPSE__QUEUE_TUBE_BYTES_MAX);
    *tube = queue->last_tube;
    if (*tube != NULL && has_name(*tube, name))
        return ELAPSE__QUEUE_OK;
    *tube = elapse__queue_tube_find(queue, name);
    enum elapse__queue_result result = ELAPSE__QUEUE_OK;
    if (*tube == NULL && !always && is_full(queue))
        result = ELAPSE__QUEUE_LIMIT;
    else if (*tube == NULL)
        result = make_tube(queue, name, tube);
    if (result == ELAPSE__QUEUE_OK)
        queue->last_tube = *tube;
    return result;
}

enum elapse__queue_result elapse__queue_tube_get(struct elapse__queue *queue,
                                                 struct elapse__queue_text name,
                                                 struct elapse__queue_tube **tube)
{
    return get_tube(queue, name, false, tube);
}

static bool has_jobs(const struct elapse__queue_tube *tube)
{
    for (int state = ELAPSE__QUEUE_DELAYED; state <= ELAPSE__QUEUE_SHADOW; state++)
        if (tube->counts[state] > 0)
            return true;
    return false;
}

static void free_tube(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    elapse__release_locked(&queue->memory, tube->record, sizeof *tube->record);
    elapse__queue_heap_free(&tube->ready, &queue->memory);
    elapse__queue_turns_free(queue, tube);
    elapse__release_locked(&queue->memory, tube, tube_bytes(tube->name_size));
}

void elapse__queue_tube_end_if_empty(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    if (tube->holds > 0 || tube->record != NULL || tube->turns != NULL || has_jobs(tube))
        return;
    ELAPSE__ASSERT(elapse__ring_empty(&tube->buried));
    ELAPSE__ASSERT_THAT(tube->ready.count, ==, 0);
    ELAPSE__ASSERT_THAT(tube->body_bytes, ==, 0); /* invariant 9 */
    ELAPSE__ASSERT(tube->watch == NULL);          /* a watch holds its tube */
    ELAPSE__ASSERT(!elapse__queue_paused(tube));
    if (queue->last_tube == tube)
        queue->last_tube = NULL;
    elapse__queue_index_remove(&queue->tube_index, tube->number, &queue->memory);
    elapse__queue_slab_give(&queue->tubes, tube->number);
    free_tube(queue, tube);
}

void elapse__queue_tube_release(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    ELAPSE__ASSERT_THAT(tube->holds, >, 0);
    tube->holds--;
    elapse__queue_tube_end_if_empty(queue, tube);
}

struct elapse__queue_tube *elapse__queue_next_tube(const struct elapse__queue *queue,
                                                   uint32_t *number)
{
    while (*number + 1 < queue->tubes.fresh) {
        const struct elapse__queue_place *place = elapse__queue_place_at(queue, ++*number);
        if (place->kind == ELAPSE__QUEUE_PLACE_TUBE)
            return place->at.tube;
    }
    return NULL;
}

void elapse__queue_tubes_free(struct elapse__queue *queue)
{
    for (uint32_t number = 1; number < queue->tubes.fresh; number++) {
        const struct elapse__queue_place *place = elapse__queue_place_at(queue, number);
        if (place->kind == ELAPSE__QUEUE_PLACE_GROUP)
            elapse__queue_group_free(queue, place->at.group);
        else if (place->kind == ELAPSE__QUEUE_PLACE_TUBE)
            free_tube(queue, place->at.tube);
    }
    elapse__queue_index_free(&queue->tube_index, &queue->memory);
    elapse__queue_index_free(&queue->group_index, &queue->memory);
    elapse__queue_slab_free(&queue->tubes, &queue->memory);
    elapse__queue_slab_free(&queue->buckets, &queue->memory);
}

/* ---- verbs ---- */

enum elapse__queue_result elapse__queue_hold_tube(struct elapse__queue *queue,
                                                  struct elapse__queue_text name, bool always)
{
    if (!elapse__queue_text_fits(name, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX))
        return ELAPSE__QUEUE_ARGUMENT;
    struct elapse__queue_tube *tube = NULL;
    enum elapse__queue_result result = get_tube(queue, name, always, &tube);
    if (result == ELAPSE__QUEUE_OK)
        tube->holds++;
    return result;
}

enum elapse__queue_result elapse__queue_tube_hold(struct elapse__queue *queue,
                                                  struct elapse__queue_text name)
{
    return elapse__queue_hold_tube(queue, name, false);
}

void elapse__queue_tube_drop(struct elapse__queue *queue, struct elapse__queue_text name)
{
    struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    if (tube != NULL && tube->holds > 0)
        elapse__queue_tube_release(queue, tube);
}

struct elapse__queue_text elapse__queue_tubes(const struct elapse__queue *queue, uint32_t *cursor,
                                              uint32_t *most)
{
    for (; *most > 0; --*most) {
        if (*cursor + 1 >= queue->tubes.fresh) {
            *cursor = 0;
            break;
        }
        const struct elapse__queue_place *place = elapse__queue_place_at(queue, ++*cursor);
        if (place->kind == ELAPSE__QUEUE_PLACE_TUBE) {
            --*most;
            return (struct elapse__queue_text){place->at.tube->name, place->at.tube->name_size};
        }
    }
    return (struct elapse__queue_text){0};
}

/* ---- statistics ---- */

static void count_states(struct elapse__queue_statistics *statistics,
                         const struct elapse__queue_tube *tube)
{
    statistics->delayed = tube->counts[ELAPSE__QUEUE_DELAYED];
    statistics->ready = tube->counts[ELAPSE__QUEUE_READY];
    statistics->reserved = tube->counts[ELAPSE__QUEUE_RESERVED];
    statistics->buried = tube->counts[ELAPSE__QUEUE_BURIED];
    statistics->shadows = tube->counts[ELAPSE__QUEUE_SHADOW];
    statistics->urgent = tube->urgent;
    statistics->body_bytes = tube->body_bytes;
    statistics->groups = tube->turns == NULL ? 0 : tube->turns->groups - tube->turns->without_jobs;
    statistics->running = elapse__queue_running(tube);
}

struct elapse__queue_statistics elapse__queue_statistics(const struct elapse__queue *queue)
{
    return queue->totals;
}

enum elapse__queue_result elapse__queue_tube_statistics(const struct elapse__queue *queue,
                                                        struct elapse__queue_now now,
                                                        struct elapse__queue_text name,
                                                        struct elapse__queue_statistics *statistics)
{
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    if (tube == NULL)
        return ELAPSE__QUEUE_GONE;
    *statistics = tube->totals;
    count_states(statistics, tube);
    if (tube->record != NULL) {
        uint64_t tick = elapse__queue_boot_tick(now.boot_ms);
        statistics->held = elapse__queue_held_at(tube, tick);
        statistics->held_by = elapse__queue_held_by(tube, tick);
    }
    statistics->overdue_ms = elapse__queue_longest_wait_ms(tube, now);
    if (elapse__queue_paused(tube)) {
        statistics->pause_ms = tube->record->settings.pause_ms;
        statistics->pause_left_ms =
            elapse__queue_left(queue, now, elapse_timer_deadline(&tube->record->pause.timer));
    }
    return ELAPSE__QUEUE_OK;
}
