/*
 * Which entry has which id. Ids are given one after another, so 64 of them share a record, a span:
 *
 *      ids 0 to 63      one span: a bit for each id that is in use, and the numbers of the entries
 *      ids 64 to 127    the next span
 *
 * Ids of a partition lie `step` apart. They are divided by `step` before they are put into spans.
 *
 * Spans have four sizes, with room for 1, 5, 17 and 64 entries. A span grows when an id comes that
 * it has no room for. It shrinks when most of its ids have gone, and it is released with its last
 * id. So an id takes 4.4 bytes while all of a span's ids are in use, and at most 24 whichever ids
 * are left. In the largest size the place of an id in its span is the place of its entry. In the
 * others the entries have the order of their ids, without gaps.
 *
 * The spans are found by a hash of their number (index.h). It is secret, so that a client that
 * chooses which of its jobs it leaves cannot make long chains.
 */
#ifndef ELAPSE__QUEUE_IDS_H
#define ELAPSE__QUEUE_IDS_H

#include "index.h"
#include "slab.h"

enum {
    ELAPSE__QUEUE_SPAN_BITS = 6,
    ELAPSE__QUEUE_SPAN_IDS = 1 << ELAPSE__QUEUE_SPAN_BITS,
    ELAPSE__QUEUE_SPAN_SIZES = 4,
};

struct elapse__queue_span {
    uint64_t number; /* the ids of the span, divided by `step`, divided by 64 */
    uint64_t used;   /* bit b: the id at place b has an entry */
    uint32_t link;   /* in the index of spans */
    uint32_t entries[];
};

struct elapse__queue_ids {
    struct elapse__queue_slab spans[ELAPSE__QUEUE_SPAN_SIZES];
    struct elapse__queue_index index; /* of spans: the size, 2 bits; the number in its slab, 26 */
    uint64_t secret;
    uint32_t step;
    uint32_t count;  /* ids */
    uint32_t recent; /* the span that an id was reserved in or inserted into last; 0: none */
    struct elapse__queue_span *recent_span; /* NULL: none */
    uint32_t ended;                         /* the span that an id was removed from last; 0: none */
    struct elapse__queue_span *ended_span;  /* NULL: none */
};

/* Makes an empty table at its place, from which it is not moved. */
void elapse__queue_ids_init(struct elapse__queue_ids *ids, uint64_t secret, uint32_t step);
void elapse__queue_ids_free(struct elapse__queue_ids *ids, const struct elapse_allocator *memory);

/* Makes sure that this id can be inserted, whichever ids are removed before. Returns false if there
 * is no memory. */
bool elapse__queue_ids_reserve(struct elapse__queue_ids *ids, uint64_t id,
                               const struct elapse_allocator *memory);

/* Makes sure that so many ids can be inserted from this one on, which the table does not hold,
 * whichever ids are removed before or between. They lie `step` apart. Returns false if there is no
 * memory. */
bool elapse__queue_ids_reserve_many(struct elapse__queue_ids *ids, uint64_t id, uint32_t count,
                                    const struct elapse_allocator *memory);

/* Inserts an id that has this entry. Requires that it was reserved last, alone or with others, and
 * that the table does not hold it. */
void elapse__queue_ids_insert(struct elapse__queue_ids *ids, uint64_t id, uint32_t entry,
                              const struct elapse_allocator *memory);

/* Takes an id out. Requires that the table holds it. */
void elapse__queue_ids_remove(struct elapse__queue_ids *ids, uint64_t id,
                              const struct elapse_allocator *memory);

/* Returns the entry of this id; 0: none. The entry may be that of another id if `id` is not one of
 * the partition. */
uint32_t elapse__queue_ids_find(const struct elapse__queue_ids *ids, uint64_t id);

/* Asks for the memory that a search for this id will read. */
void elapse__queue_ids_fetch(const struct elapse__queue_ids *ids, uint64_t id);

/* Returns how many bytes all spans in use take. */
uint64_t elapse__queue_ids_bytes(const struct elapse__queue_ids *ids);

/* Examines the table: the index is whole, and no span is empty. Returns true if all is well. */
bool elapse__queue_ids_check(const struct elapse__queue_ids *ids);

#endif
