#include "tables.h"

enum {
    SIDES_CHUNK_BITS = 7,
    PROFILES_CHUNK_BITS = 6,
};

static struct elapse__queue_profile *profile_at(const struct elapse__queue *queue, uint32_t number)
{
    return elapse__queue_slab_at(&queue->profiles, number);
}

static uint32_t *profile_link(void *owner, uint32_t number)
{
    return &profile_at(owner, number)->link;
}

static uint64_t mix_profile(const struct elapse__queue_profile *profile)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t hash = profile->ttr_ms * odd;
    hash = (hash ^ hash >> 32 ^ profile->expire_ms) * odd;
    hash = (hash ^ hash >> 32 ^ profile->backoff_min_ms) * odd;
    hash = (hash ^ hash >> 32 ^ profile->backoff_max_ms) * odd;
    hash = (hash ^ hash >> 32 ^ profile->retry) * odd;
    return hash ^ hash >> 32;
}

static uint64_t profile_hash(void *owner, uint32_t number)
{
    return mix_profile(profile_at(owner, number));
}

static const struct elapse__queue_index_owner profile_calls = {profile_link, profile_hash};

void elapse__queue_sides_init(struct elapse__queue *queue)
{
    elapse__queue_slab_init(&queue->sides, SIDES_CHUNK_BITS, sizeof(struct elapse__queue_side),
                            ELAPSE__QUEUE_ITEMS_MAX);
    elapse__queue_slab_init(&queue->profiles, PROFILES_CHUNK_BITS,
                            sizeof(struct elapse__queue_profile), ELAPSE__QUEUE_ITEMS_MAX);
    elapse__queue_index_init(&queue->profile_index, &profile_calls, queue);
}

struct elapse__queue_side *elapse__queue_side_get(struct elapse__queue *queue,
                                                  struct elapse__queue_entry *entry)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (side != NULL)
        return side;
    uint32_t number = elapse__queue_slab_take(&queue->sides, &queue->memory);
    if (number == 0)
        return NULL;
    side = elapse__queue_slab_at(&queue->sides, number);
    ELAPSE__ASSERT_THAT(elapse__queue_number(entry), <=, ELAPSE__QUEUE_ITEMS_MAX);
    side->entry = elapse__queue_number(entry) & ELAPSE__QUEUE_ITEMS_MAX;
    side->key = elapse__queue_key_of(queue, entry) & ELAPSE__QUEUE_ITEMS_MAX;
    entry->extra = number;
    entry->tube_state = (entry->tube_state & ~ELAPSE__QUEUE_HAS_KEY) | ELAPSE__QUEUE_HAS_SIDE;
    return side;
}

static uint32_t profile_number(const struct elapse__queue *queue,
                               const struct elapse__queue_entry *entry)
{
    uint32_t number = (uint32_t)(entry->position_profile >> ELAPSE__QUEUE_POSITION_BITS);
    if (number != 0)
        return number;
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    return side != NULL ? side->profile : 0;
}

const struct elapse__queue_profile *
elapse__queue_profile_of(const struct elapse__queue *queue, const struct elapse__queue_entry *entry)
{
    return profile_at(queue, profile_number(queue, entry));
}

static bool has_values(const struct elapse__queue_profile *profile,
                       const struct elapse__queue_fields *fields)
{
    return profile->ttr_ms == fields->ttr_ms && profile->expire_ms == fields->expire_ms &&
           profile->retry == fields->retry && profile->backoff_min_ms == fields->backoff_min_ms &&
           profile->backoff_max_ms == fields->backoff_max_ms;
}

/* Finds the profile with these values. Makes the profile if there is none. Returns 0 if there is no
 * memory. */
static uint32_t find_profile(struct elapse__queue *queue, const struct elapse__queue_fields *fields)
{
    const struct elapse__queue_profile wanted = {
        .ttr_ms = fields->ttr_ms,
        .expire_ms = fields->expire_ms,
        .retry = fields->retry,
        .backoff_min_ms = fields->backoff_min_ms,
        .backoff_max_ms = fields->backoff_max_ms,
    };
    uint64_t hash = mix_profile(&wanted);
    uint32_t number = elapse__queue_index_first(&queue->profile_index, hash);
    for (; number != 0; number = elapse__queue_index_next(&queue->profile_index, number, hash))
        if (has_values(profile_at(queue, number), fields))
            return number;
    if (!elapse__queue_index_prepare(&queue->profile_index, &queue->memory))
        return 0;
    number = elapse__queue_slab_take(&queue->profiles, &queue->memory);
    if (number == 0)
        return 0;
    ELAPSE__ASSERT_THAT(wanted.backoff_min_ms, <=, wanted.backoff_max_ms);
    *profile_at(queue, number) = wanted;
    elapse__queue_index_insert(&queue->profile_index, number, &queue->memory);
    return number;
}

static void drop_profile(struct elapse__queue *queue, uint32_t number)
{
    struct elapse__queue_profile *profile = profile_at(queue, number);
    ELAPSE__ASSERT_THAT(queue->profiles.count, >, 0);
    if (profile->references > 0)
        profile->references--;
    if (profile->references > 0)
        return;
    if (queue->last_profile == number)
        queue->last_profile = 0;
    elapse__queue_index_remove(&queue->profile_index, number, &queue->memory);
    elapse__queue_slab_give(&queue->profiles, number);
}

bool elapse__queue_profile_get(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               const struct elapse__queue_fields *fields)
{
    ELAPSE__ASSERT_THAT(profile_number(queue, entry), ==, 0);
    uint32_t number = queue->last_profile;
    struct elapse__queue_profile *profile = number != 0 ? profile_at(queue, number) : NULL;
    if (profile == NULL || !has_values(profile, fields)) {
        number = find_profile(queue, fields);
        if (number == 0)
            return false;
        queue->last_profile = number;
        profile = profile_at(queue, number);
    }
    if (number <= ELAPSE__QUEUE_INLINE_PROFILES) {
        entry->position_profile |= (uint64_t)number << ELAPSE__QUEUE_POSITION_BITS;
    } else {
        struct elapse__queue_side *side = elapse__queue_side_get(queue, entry);
        if (side == NULL) {
            if (profile->references == 0)
                drop_profile(queue, number);
            return false;
        }
        side->profile = number & ELAPSE__QUEUE_ITEMS_MAX;
    }
    profile->references++;
    return true;
}

void elapse__queue_recurrence_end(struct elapse__queue *queue,
                                  struct elapse__queue_recurrence *recurrence)
{
    elapse__release_locked(&queue->memory, recurrence, sizeof *recurrence);
}

void elapse__queue_extras_end(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    uint32_t key = elapse__queue_key_of(queue, entry);
    if (key != 0)
        elapse__queue_key_end(queue, key);
    uint32_t profile = profile_number(queue, entry);
    if (profile != 0)
        drop_profile(queue, profile);
    entry->position_profile &= (UINT64_C(1) << ELAPSE__QUEUE_POSITION_BITS) - 1;
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (side != NULL) {
        ELAPSE__ASSERT_THAT(side->lease, ==, 0); /* invariant 5 */
        ELAPSE__ASSERT(!elapse_timer_pending(&side->expiry));
        ELAPSE__ASSERT(side->connection == NULL);
        struct elapse__queue_block *block = elapse__queue_block_around(entry);
        ELAPSE__ASSERT(side->recurrence == NULL || block->recurring > 0);
        block->recurring -= side->recurrence != NULL;
        elapse__queue_recurrence_end(queue, side->recurrence);
        elapse__queue_slab_give(&queue->sides, entry->extra);
    }
    entry->extra = 0;
    entry->tube_state &= ~(ELAPSE__QUEUE_HAS_SIDE | ELAPSE__QUEUE_HAS_KEY);
}

uint64_t elapse__queue_excess_bytes(const struct elapse__queue *queue)
{
    return queue->live_excess;
}

/* Returns by how many bytes the records of all jobs may grow. The record of a job may grow by its
 * counters, by its lease, and by the word that says that there is an error. It may also grow by the
 * time of the put, which is left out while it equals the due time. The record of an error may grow
 * by the lease. All jobs that were handed out have a side record, so the side records are counted.
 * The result may be too large: a job may have a long record already, or a side record for another
 * reason. A job that waits for arrivals alone may get a due time, but its record always has the
 * time of the put. */
uint64_t elapse__queue_growth_bytes(const struct elapse__queue *queue)
{
    enum { COUNTERS = 6 * 4, LEASE = 4 + 8 + 8, PUT_TIME = 8, SECOND_PARTS = 2, ROUNDED_UP = 2 };
    return (uint64_t)queue->sides.count *
               (COUNTERS + LEASE + PUT_TIME + SECOND_PARTS + ROUNDED_UP) +
           (uint64_t)queue->errors.count * (LEASE + ROUNDED_UP + 2);
}
