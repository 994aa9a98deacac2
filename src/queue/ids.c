#include "ids.h"

#include <string.h>

#include "../base/bits.h"

enum {
    LARGEST = ELAPSE__QUEUE_SPAN_SIZES - 1,
    SIZE_SHIFT = 26,
};

#define SPAN_MASK ((UINT32_C(1) << SIZE_SHIFT) - 1)

/* Returns how many bits are set in the word. */
static unsigned count_bits(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word);
}

/* The sizes of spans. A span that has shrunk has room for some more ids before it grows again. */
static const struct {
    uint32_t room;      /* how many entries a span of this size has room for */
    uint32_t shrinks;   /* the span shrinks when only this many ids are left */
    uint32_t slab_bits; /* a chunk has some 3 KiB; a chunk of the largest size has 35 KiB */
} sizes[ELAPSE__QUEUE_SPAN_SIZES] = {
    {1, 0, 7},
    {5, 1, 6},
    {17, 3, 5},
    {ELAPSE__QUEUE_SPAN_IDS, 12, 7},
};

static uint32_t size_of_span(uint32_t item)
{
    return item >> SIZE_SHIFT;
}

static struct elapse__queue_span *span_at(const struct elapse__queue_ids *ids, uint32_t item)
{
    ELAPSE__ASSERT_THAT(item & SPAN_MASK, >, 0);
    return elapse__queue_slab_at(&ids->spans[size_of_span(item)], item & SPAN_MASK);
}

/* Returns the hash of the number of a span. This is the finalizer of MurmurHash3, by Austin
 * Appleby. Each bit of `number` changes half of the bits of the hash. */
static uint64_t mix_span(uint64_t number, uint64_t secret)
{
    uint64_t mixed = number ^ secret;
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xff51afd7ed558ccd);
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return mixed ^ mixed >> 33;
}

static uint32_t *span_link(void *owner, uint32_t item)
{
    return &span_at(owner, item)->link;
}

static uint64_t span_hash(void *owner, uint32_t item)
{
    const struct elapse__queue_ids *ids = owner;
    return mix_span(span_at(ids, item)->number, ids->secret);
}

static const struct elapse__queue_index_owner span_calls = {span_link, span_hash};

void elapse__queue_ids_init(struct elapse__queue_ids *ids, uint64_t secret, uint32_t step)
{
    ELAPSE__ASSERT_THAT(step, >, 0);
    *ids = (struct elapse__queue_ids){.secret = secret, .step = step};
    elapse__queue_index_init(&ids->index, &span_calls, ids);
    for (uint32_t size = 0; size < ELAPSE__QUEUE_SPAN_SIZES; size++) {
        size_t bytes = offsetof(struct elapse__queue_span, entries) + 4 * sizes[size].room;
        elapse__queue_slab_init(
            &ids->spans[size], sizes[size].slab_bits,
            (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t), SPAN_MASK);
    }
}

void elapse__queue_ids_free(struct elapse__queue_ids *ids, const struct elapse_allocator *memory)
{
    elapse__queue_index_free(&ids->index, memory);
    for (uint32_t size = 0; size < ELAPSE__QUEUE_SPAN_SIZES; size++)
        elapse__queue_slab_free(&ids->spans[size], memory);
}

/* Returns the number of an id among the ids of its partition. Most queues are not a partition, and
 * need no division, which takes long. */
static uint64_t ordinal(const struct elapse__queue_ids *ids, uint64_t id)
{
    return ids->step == 1 ? id : id / ids->step;
}

static uint32_t look_up_span(const struct elapse__queue_ids *ids, uint64_t number)
{
    uint64_t hash = mix_span(number, ids->secret);
    uint32_t item = elapse__queue_index_first(&ids->index, hash);
    while (item != 0 && span_at(ids, item)->number != number)
        item = elapse__queue_index_next(&ids->index, item, hash);
    return item;
}

/* Finds the span with this number. Most ids are put one after another, into the same span, and most
 * jobs end nearly in the order of their ids. So the span of the last put and that of the last end
 * are looked at first, which saves 136 instructions for each search in the index. */
static inline uint32_t find_span(const struct elapse__queue_ids *ids, uint64_t number)
{
    if (ids->recent != 0 && ids->recent_span->number == number)
        return ids->recent;
    if (ids->ended != 0 && ids->ended_span->number == number)
        return ids->ended;
    return look_up_span(ids, number);
}

/* Returns the slot of the entry of the id at this place of the span. If the id is not in use,
 * returns the slot of the next id that is in use. */
static uint32_t slot_of(const struct elapse__queue_span *span, uint32_t size, uint32_t place)
{
    return size == LARGEST ? place : count_bits(span->used & ((UINT64_C(1) << place) - 1));
}

uint32_t elapse__queue_ids_find(const struct elapse__queue_ids *ids, uint64_t id)
{
    uint64_t at = ordinal(ids, id);
    uint32_t place = at % ELAPSE__QUEUE_SPAN_IDS;
    uint32_t item = find_span(ids, at / ELAPSE__QUEUE_SPAN_IDS);
    if (item == 0)
        return 0;
    const struct elapse__queue_span *span = span_at(ids, item);
    if ((span->used >> place & 1) == 0)
        return 0;
    return span->entries[slot_of(span, size_of_span(item), place)];
}

void elapse__queue_ids_fetch(const struct elapse__queue_ids *ids, uint64_t id)
{
    uint64_t at = ordinal(ids, id);
    uint64_t hash = mix_span(at / ELAPSE__QUEUE_SPAN_IDS, ids->secret);
    uint32_t item = elapse__queue_index_first(&ids->index, hash);
    if (item == 0)
        return;
    const struct elapse__queue_span *span = span_at(ids, item);
    __builtin_prefetch(span, 1);
    if (size_of_span(item) == LARGEST)
        __builtin_prefetch(&span->entries[at % ELAPSE__QUEUE_SPAN_IDS], 1);
}

/* ---- sizes ---- */

/* Makes sure that one span of this size can be taken. If no more spans of this size are allowed,
 * makes sure that a larger span can be taken. */
static bool reserve_span(struct elapse__queue_ids *ids, uint32_t size,
                         const struct elapse_allocator *memory)
{
    while (size < LARGEST && ids->spans[size].count == ids->spans[size].most)
        size++;
    return elapse__queue_slab_reserve(&ids->spans[size], memory);
}

/* Takes a span of this size, or a larger span. Returns 0 if there is no memory. Does not return 0
 * if a span of this size was reserved. */
static uint32_t take_span(struct elapse__queue_ids *ids, uint32_t size,
                          const struct elapse_allocator *memory)
{
    for (; size < ELAPSE__QUEUE_SPAN_SIZES; size++) {
        uint32_t record = elapse__queue_slab_take(&ids->spans[size], memory);
        if (record != 0)
            return size << SIZE_SHIFT | record;
    }
    return 0;
}

static void set_recent(struct elapse__queue_ids *ids, uint32_t item)
{
    if (ids->recent == item)
        return;
    ids->recent = item;
    ids->recent_span = item == 0 ? NULL : span_at(ids, item);
}

/* Gives a span back. One chunk of each size stays, because an id that was reserved may need it, and
 * because a count that goes up and down must not allocate. */
static void give_span(struct elapse__queue_ids *ids, uint32_t item,
                      const struct elapse_allocator *memory)
{
    struct elapse__queue_slab *spans = &ids->spans[size_of_span(item)];
    elapse__queue_slab_give(spans, item & SPAN_MASK);
    if (spans->count == 0)
        elapse__queue_slab_trim(spans, memory);
    if (ids->recent == item)
        set_recent(ids, 0);
    if (ids->ended == item) {
        ids->ended = 0;
        ids->ended_span = NULL;
    }
}

/* Moves a span to another record. Requires that the record was taken for the span and has room for
 * it. */
static uint32_t move_span(struct elapse__queue_ids *ids, uint32_t from, uint32_t to,
                          const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(to, !=, 0);
    ELAPSE__ASSERT_THAT(count_bits(span_at(ids, from)->used), <=, sizes[size_of_span(to)].room);
    const struct elapse__queue_span *old = span_at(ids, from);
    struct elapse__queue_span *fresh = span_at(ids, to);
    fresh->number = old->number;
    fresh->used = old->used;
    for (uint64_t left = old->used; left != 0; left &= left - 1) {
        uint32_t place = elapse__lowest_bit(left);
        fresh->entries[slot_of(fresh, size_of_span(to), place)] =
            old->entries[slot_of(old, size_of_span(from), place)];
    }
    elapse__queue_index_replace(&ids->index, from, to);
    give_span(ids, from, memory);
    return to;
}

/* Returns whether a span has room for one more id. */
static bool span_has_room(const struct elapse__queue_span *span, uint32_t size)
{
    return size == LARGEST || count_bits(span->used) < sizes[size].room;
}

bool elapse__queue_ids_reserve(struct elapse__queue_ids *ids, uint64_t id,
                               const struct elapse_allocator *memory)
{
    uint32_t item = find_span(ids, ordinal(ids, id) / ELAPSE__QUEUE_SPAN_IDS);
    if (item == 0)
        return elapse__queue_index_prepare(&ids->index, memory) && reserve_span(ids, 0, memory);
    uint32_t size = size_of_span(item);
    set_recent(ids, item);
    return span_has_room(ids->recent_span, size) || reserve_span(ids, size + 1, memory);
}

/* Makes sure that `count` ids can be added. If there is no record of the size of a span, the span
 * takes a record of the largest size. So each span of the ids needs at most one record of the
 * largest size. */
bool elapse__queue_ids_reserve_many(struct elapse__queue_ids *ids, uint64_t id, uint32_t count,
                                    const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(count, >, 0);
    uint64_t first = ordinal(ids, id);
    uint64_t spans = (first + count) / ELAPSE__QUEUE_SPAN_IDS - first / ELAPSE__QUEUE_SPAN_IDS + 1;

    return elapse__queue_index_prepare(&ids->index, memory) &&
           elapse__queue_slab_reserve_many(&ids->spans[LARGEST], (uint32_t)spans, memory);
}

static uint32_t make_span(struct elapse__queue_ids *ids, uint64_t number,
                          const struct elapse_allocator *memory)
{
    uint32_t item = take_span(ids, 0, memory);
    ELAPSE__ASSERT(item != 0); /* the span was reserved */
    span_at(ids, item)->number = number;
    elapse__queue_index_insert(&ids->index, item, memory);
    return item;
}

/* Makes the span with this number the recent span, with room for one more id. */
static void prepare_span(struct elapse__queue_ids *ids, uint64_t number,
                         const struct elapse_allocator *memory)
{
    uint32_t item = find_span(ids, number);
    if (item == 0)
        item = make_span(ids, number, memory);
    set_recent(ids, item);
    uint32_t size = size_of_span(item);
    if (!span_has_room(ids->recent_span, size))
        set_recent(ids, move_span(ids, item, take_span(ids, size + 1, memory), memory));
}

/* Makes a gap for an entry at `slot` by moving the entries of the span. */
static void make_gap(struct elapse__queue_span *span, uint32_t slot)
{
    memmove(&span->entries[slot + 1], &span->entries[slot],
            (count_bits(span->used) - slot) * sizeof *span->entries);
}

void elapse__queue_ids_insert(struct elapse__queue_ids *ids, uint64_t id, uint32_t entry,
                              const struct elapse_allocator *memory)
{
    uint64_t at = ordinal(ids, id);
    uint32_t place = at % ELAPSE__QUEUE_SPAN_IDS;
    prepare_span(ids, at / ELAPSE__QUEUE_SPAN_IDS, memory);
    struct elapse__queue_span *span = ids->recent_span;
    ELAPSE__ASSERT(span != NULL);
    uint32_t size = size_of_span(ids->recent);
    uint32_t slot = slot_of(span, size, place);
    ELAPSE__ASSERT((span->used >> place & 1) == 0);
    ELAPSE__ASSERT_THAT(slot, <, sizes[size].room);
    ELAPSE__ASSERT_THAT(entry, !=, 0); /* stands for an id that is not in use */
    if (size != LARGEST)
        make_gap(span, slot);
    span->entries[slot] = entry;
    span->used |= UINT64_C(1) << place;
    ids->count++;
}

/* Moves a span that has lost an id to a smaller record, if there is memory. The smaller record may
 * be the one that was reserved for an id. Then the id can take the larger record. */
static void shrink_span(struct elapse__queue_ids *ids, uint32_t item,
                        const struct elapse_allocator *memory)
{
    uint32_t size = size_of_span(item);
    ELAPSE__ASSERT_THAT(size, >, 0);
    if (count_bits(span_at(ids, item)->used) > sizes[size].shrinks)
        return;
    uint32_t record = elapse__queue_slab_take(&ids->spans[size - 1], memory);
    if (record != 0)
        (void)move_span(ids, item, (size - 1) << SIZE_SHIFT | record, memory);
}

void elapse__queue_ids_remove(struct elapse__queue_ids *ids, uint64_t id,
                              const struct elapse_allocator *memory)
{
    uint64_t at = ordinal(ids, id);
    uint32_t place = at % ELAPSE__QUEUE_SPAN_IDS;
    uint32_t item = find_span(ids, at / ELAPSE__QUEUE_SPAN_IDS);
    ELAPSE__ASSERT(item != 0);
    struct elapse__queue_span *span = span_at(ids, item);
    ELAPSE__ASSERT((span->used >> place & 1) != 0);
    ids->ended = item;
    ids->ended_span = span;
    span->used &= ~(UINT64_C(1) << place);
    ELAPSE__ASSERT_THAT(ids->count, >, 0);
    ids->count--;
    if (span->used == 0) {
        elapse__queue_index_remove(&ids->index, item, memory);
        give_span(ids, item, memory);
        return;
    }
    if (size_of_span(item) != LARGEST) {
        uint32_t slot = slot_of(span, size_of_span(item), place);
        memmove(&span->entries[slot], &span->entries[slot + 1],
                (count_bits(span->used) - slot) * sizeof *span->entries);
    }
    if (size_of_span(item) > 0)
        shrink_span(ids, item, memory);
}

uint64_t elapse__queue_ids_bytes(const struct elapse__queue_ids *ids)
{
    uint64_t bytes = 0;
    for (uint32_t size = 0; size < ELAPSE__QUEUE_SPAN_SIZES; size++)
        bytes += (uint64_t)ids->spans[size].count * ids->spans[size].chunks.item_bytes;
    return bytes;
}

/* Counts the ids of all spans of one size. A free record has no ids: all its bytes are zero, except
 * the first four, which `number` uses. */
static uint64_t count_ids(const struct elapse__queue_slab *spans, uint32_t *empty)
{
    uint64_t count = 0;
    for (uint32_t record = 1; record < spans->fresh; record++) {
        const struct elapse__queue_span *span = elapse__queue_slab_at(spans, record);
        count += count_bits(span->used);
        *empty += span->used == 0;
    }
    return count;
}

/* Returns whether a span that the table remembers is one that the index finds. */
static bool is_kept(const struct elapse__queue_ids *ids, uint32_t item,
                    const struct elapse__queue_span *span)
{
    return item == 0 ? span == NULL
                     : span == span_at(ids, item) && look_up_span(ids, span->number) == item;
}

bool elapse__queue_ids_check(const struct elapse__queue_ids *ids)
{
    uint64_t count = 0;
    uint32_t in_use = 0;
    for (uint32_t size = 0; size < ELAPSE__QUEUE_SPAN_SIZES; size++) {
        const struct elapse__queue_slab *spans = &ids->spans[size];
        uint32_t empty = 0;
        count += count_ids(spans, &empty);
        if (empty != spans->fresh - 1 - spans->count)
            return false;
        in_use += spans->count;
    }
    return count == ids->count && in_use == ids->index.count &&
           is_kept(ids, ids->recent, ids->recent_span) &&
           is_kept(ids, ids->ended, ids->ended_span) && elapse__queue_index_check(&ids->index);
}
