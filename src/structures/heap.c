/*
 * The heap: a 4-ary heap of timers with stored indices.
 *
 *                          [0]
 *            .--------.-----+----.--------.
 *           [1]      [2]        [3]      [4]         generation 1
 *         .--+--.  .--+--.    .--+--.  .--+--.
 *         5 6 7 8  9 ... 12   13 ... 16  17 ... 20   generation 2
 *
 * The children of index i are 4i + 1 to 4i + 4, and its parent is (i - 1) / 4. With four children,
 * the tree is half as high as with two, and the four children lie side by side in one cache line.
 *
 * Every arming has a number, which is kept in the timer. The number is read only to decide between
 * timers with the same deadline, so that they are popped in the order of arming.
 *
 * Invariants, by the numbers that elapse_heap_check returns:
 *  1. clock <= ELAPSE_TIME_MAX.
 *  2. count <= capacity.
 *  3. The timer of entry i has the place i + 1, and the entry's deadline is the
 *     timer's.
 *  4. No entry comes before its parent: by deadline, then by arming number.
 *  5. Every arming number is less than `sequence`.
 *
 * The functions, and what each changes:
 *     sift_up, sift_down   move one entry to where 4 holds, and keep 3
 *     start                the last index -> its place; or one place -> another
 *     remove_at            fills the gap with the last entry (stop, pop)
 *     compact              closes the gaps that stops left during for_each
 *
 * Source: J. W. J. Williams, "Algorithm 232: Heapsort", CACM 1964; the d-ary form
 * is D. B. Johnson's, "Priority queues with update and finding minimum spanning
 * trees", IPL 1975.
 */
#include <elapse/heap.h>

#include "../base/assert.h"
#include "deadline.h"

enum { CHILDREN = 4 };

/* Returns whether `storage` is aligned and has room for one timer. */
static bool storage_fits(const void *storage, size_t storage_bytes)
{
    return storage != NULL && (uintptr_t)storage % _Alignof(struct elapse__heap_entry) == 0 &&
           storage_bytes >= sizeof(struct elapse__heap_entry);
}

size_t elapse_heap_storage_bytes(size_t capacity)
{
    if (capacity > SIZE_MAX / sizeof(struct elapse__heap_entry))
        return SIZE_MAX;
    return capacity * sizeof(struct elapse__heap_entry);
}

enum elapse_error elapse_heap_init_sized(struct elapse_heap *heap, size_t heap_bytes, void *storage,
                                         size_t storage_bytes, uint64_t now)
{
    if (heap_bytes != sizeof *heap)
        return ELAPSE_ERROR_ABI;
    if (!storage_fits(storage, storage_bytes))
        return ELAPSE_ERROR_STORAGE;
    ELAPSE__ASSERT((uintptr_t)heap % _Alignof(struct elapse_heap) == 0);
    *heap = (struct elapse_heap){
        .clock = elapse__clock_at(now),
        .entries = storage,
        .capacity = storage_bytes / sizeof(struct elapse__heap_entry),
    };
    return ELAPSE_OK;
}

enum elapse_error elapse_heap_move_storage(struct elapse_heap *heap, void *storage,
                                           size_t storage_bytes)
{
    if (!storage_fits(storage, storage_bytes))
        return ELAPSE_ERROR_STORAGE;
    size_t capacity = storage_bytes / sizeof(struct elapse__heap_entry);
    if (capacity < heap->count)
        return ELAPSE_ERROR_FULL;
    ELAPSE__ASSERT(!heap->walking);
    ELAPSE__ASSERT(heap->gaps == 0);
    struct elapse__heap_entry *entries = storage;
    for (size_t i = 0; i < heap->count; i++)
        entries[i] = heap->entries[i];
    heap->entries = entries;
    heap->capacity = capacity;
    return ELAPSE_OK;
}

/* ---- the tree ---- */

/* Returns whether `a` is popped before `b`. */
static bool comes_before(struct elapse__heap_entry a, struct elapse__heap_entry b)
{
    if (a.deadline != b.deadline)
        return a.deadline < b.deadline;
    return a.timer->keep.sequence < b.timer->keep.sequence;
}

/* Stores `entry` at `index`, and the index in its timer. */
static void put(struct elapse_heap *heap, size_t index, struct elapse__heap_entry entry)
{
    ELAPSE__ASSERT(index < heap->capacity);
    ELAPSE__ASSERT(entry.timer != NULL);
    ELAPSE__ASSERT(entry.timer->deadline == entry.deadline);
    heap->entries[index] = entry;
    entry.timer->place = (uint64_t)index + 1;
}

/* Puts `entry` at `index`, or higher in the tree if it comes before its parents. Requires that
 * `index` is free. */
static void sift_up(struct elapse_heap *heap, size_t index, struct elapse__heap_entry entry)
{
    ELAPSE__ASSERT(index < heap->count);
    while (index > 0) {
        size_t parent = (index - 1) / CHILDREN;
        if (!comes_before(entry, heap->entries[parent]))
            break;
        put(heap, index, heap->entries[parent]);
        heap->moves++;
        index = parent;
    }
    put(heap, index, entry);
    ELAPSE__ASSERT(index == 0 || !comes_before(entry, heap->entries[(index - 1) / CHILDREN]));
}

/* Puts `entry` at `index`, or lower in the tree if children come before it. Requires that `index`
 * is free. */
static void sift_down(struct elapse_heap *heap, size_t index, struct elapse__heap_entry entry)
{
    size_t count = heap->count;
    ELAPSE__ASSERT(index < count);
    /* The condition is true while `index` has children, and cannot overflow. */
    while (count > 1 && index <= (count - 2) / CHILDREN) {
        size_t first = index * CHILDREN + 1;
        size_t end = count - first < CHILDREN ? count : first + CHILDREN;
        size_t least = first;
        ELAPSE__ASSERT(first < count);
        ELAPSE__ASSERT(end <= count);
        for (size_t child = first + 1; child < end; child++) {
            if (comes_before(heap->entries[child], heap->entries[least]))
                least = child;
        }
        if (!comes_before(heap->entries[least], entry))
            break;
        put(heap, index, heap->entries[least]);
        heap->moves++;
        index = least;
    }
    put(heap, index, entry);
}

/* Puts `entry` at `index`, or higher or lower in the tree where it belongs. Requires that `index`
 * is free. */
static void sift_at(struct elapse_heap *heap, size_t index, struct elapse__heap_entry entry)
{
    ELAPSE__ASSERT(index < heap->count);
    if (index > 0 && comes_before(entry, heap->entries[(index - 1) / CHILDREN]))
        sift_up(heap, index, entry);
    else
        sift_down(heap, index, entry);
}

/* Takes the timer at `index` out. The last entry fills the gap. */
static void remove_at(struct elapse_heap *heap, size_t index)
{
    ELAPSE__ASSERT(index < heap->count);
    ELAPSE__ASSERT(heap->entries[index].timer->place == (uint64_t)index + 1);
    heap->entries[index].timer->place = 0;
    heap->count--;
    if (index < heap->count)
        sift_at(heap, index, heap->entries[heap->count]);
}

/* ---- the verbs ---- */

enum elapse_error elapse_heap_start(struct elapse_heap *heap, struct elapse_timer *timer,
                                    uint64_t deadline)
{
    deadline = elapse__stored_deadline(heap->clock, deadline);
    if (timer->place == 0 && heap->count == heap->capacity)
        return ELAPSE_ERROR_FULL;

    ELAPSE__ASSERT(!heap->walking);
    ELAPSE__ASSERT(timer->place <= heap->count);
    timer->deadline = deadline;
    timer->keep.sequence = heap->sequence++;
    struct elapse__heap_entry entry = {.deadline = deadline, .timer = timer};
    if (timer->place == 0)
        sift_up(heap, heap->count++, entry);
    else
        sift_at(heap, (size_t)(timer->place - 1), entry);
    ELAPSE__ASSERT(heap->entries[timer->place - 1].timer == timer);
    return ELAPSE_OK;
}

enum elapse_error elapse_heap_start_window(struct elapse_heap *heap, struct elapse_timer *timer,
                                           uint64_t earliest, uint64_t latest)
{
    return elapse_heap_start(heap, timer, elapse_deadline_in_window(heap->clock, earliest, latest));
}

bool elapse_heap_stop(struct elapse_heap *heap, struct elapse_timer *timer)
{
    if (timer->place == 0)
        return false;
    size_t index = (size_t)(timer->place - 1);
    ELAPSE__ASSERT(index < heap->count);
    ELAPSE__ASSERT(heap->entries[index].timer == timer);
    if (heap->walking) {
        timer->place = 0;
        heap->entries[index].timer = NULL;
        heap->gaps++;
    } else {
        remove_at(heap, index);
    }
    return true;
}

void elapse_heap_advance(struct elapse_heap *heap, uint64_t now)
{
    if (now > heap->clock)
        heap->clock = elapse__clock_at(now);
    ELAPSE__ASSERT(heap->clock <= ELAPSE_TIME_MAX);
}

struct elapse_timer *elapse_heap_pop(struct elapse_heap *heap)
{
    if (heap->count == 0 || heap->entries[0].deadline > heap->clock)
        return NULL;
    ELAPSE__ASSERT(!heap->walking);
    struct elapse_timer *due = heap->entries[0].timer;
    ELAPSE__ASSERT(due->deadline == heap->entries[0].deadline);
    ELAPSE__ASSERT(due->place == 1);
    remove_at(heap, 0);
    return due;
}

bool elapse_heap_cascade(struct elapse_heap *heap, size_t max_moves)
{
    (void)heap;
    (void)max_moves;
    return true;
}

uint64_t elapse_heap_next(const struct elapse_heap *heap)
{
    ELAPSE__ASSERT(heap->count <= heap->capacity);
    return heap->count == 0 ? ELAPSE_NEVER : heap->entries[0].deadline;
}

uint64_t elapse_heap_remaining(const struct elapse_heap *heap, const struct elapse_timer *timer)
{
    return elapse__remaining(heap->clock, timer);
}

uint64_t elapse_heap_now(const struct elapse_heap *heap)
{
    return heap->clock;
}

size_t elapse_heap_count(const struct elapse_heap *heap)
{
    return heap->count;
}

size_t elapse_heap_capacity(const struct elapse_heap *heap)
{
    return heap->capacity;
}

uint64_t elapse_heap_moves(const struct elapse_heap *heap)
{
    return heap->moves;
}

/* ---- functions that look at all timers ---- */

/* Closes the gaps among the first `count` entries. Makes a heap of the entries that are left, from
 * the last entry up to the root. */
static void compact(struct elapse_heap *heap)
{
    size_t kept = 0;
    ELAPSE__ASSERT(heap->gaps <= heap->count);
    for (size_t i = 0; i < heap->count; i++) {
        if (heap->entries[i].timer != NULL)
            put(heap, kept++, heap->entries[i]);
    }
    ELAPSE__ASSERT(kept + heap->gaps == heap->count);
    heap->count = kept;
    heap->gaps = 0;
    for (size_t i = kept; i-- > 0;)
        sift_down(heap, i, heap->entries[i]);
}

void elapse_heap_for_each(struct elapse_heap *heap, elapse_visit_function *visit, void *context)
{
    ELAPSE__ASSERT(!heap->walking);
    /* If a stop moved other entries, the walk would miss some timers and visit others
     * twice. So a stop during the walk leaves a gap. */
    heap->walking = true;
    for (size_t i = 0; i < heap->count; i++) {
        if (!visit(heap->entries[i].timer, context))
            break;
    }
    heap->walking = false;
    if (heap->gaps > 0)
        compact(heap);
}

void elapse_heap_clear(struct elapse_heap *heap)
{
    ELAPSE__ASSERT(heap->gaps == 0);
    for (size_t i = 0; i < heap->count; i++)
        heap->entries[i].timer->place = 0;
    heap->count = 0;
}

unsigned elapse_heap_check(const struct elapse_heap *heap)
{
    if (heap->clock > ELAPSE_TIME_MAX)
        return 1;
    if (heap->count > heap->capacity)
        return 2;
    for (size_t i = 0; i < heap->count; i++) {
        struct elapse__heap_entry entry = heap->entries[i];
        if (entry.timer == NULL || entry.timer->place != (uint64_t)i + 1 ||
            entry.timer->deadline != entry.deadline)
            return 3;
        if (i > 0 && comes_before(entry, heap->entries[(i - 1) / CHILDREN]))
            return 4;
        if (entry.timer->keep.sequence >= heap->sequence)
            return 5;
    }
    return 0;
}

void elapse_heap_dump(const struct elapse_heap *heap, elapse_dump_function *describe, void *context)
{
    size_t begin = 0;
    for (unsigned generation = 0; begin < heap->count; generation++) {
        /* The next generation begins at the first child of the first entry of this generation. */
        size_t end = begin * CHILDREN + 1;
        if (end > heap->count)
            end = heap->count;
        struct elapse_slot description = {
            .level = generation,
            .first_tick = heap->entries[begin].deadline,
            .last_tick = heap->entries[begin].deadline,
            .count = end - begin,
        };
        for (size_t i = begin; i < end; i++) {
            uint64_t deadline = heap->entries[i].deadline;
            if (deadline < description.first_tick)
                description.first_tick = deadline;
            if (deadline > description.last_tick)
                description.last_tick = deadline;
        }
        description.least = description.first_tick;
        ELAPSE__ASSERT(description.count > 0);
        ELAPSE__ASSERT(description.first_tick == heap->entries[0].deadline || generation > 0);
        describe(&description, context);
        begin = end;
    }
}
