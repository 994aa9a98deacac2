/*
 * A hashed wheel with its storage, for the tests of what only hashed wheels promise.
 */
#ifndef ELAPSE_TESTS_HASHED_WHEEL_H
#define ELAPSE_TESTS_HASHED_WHEEL_H

#include <stdlib.h>

#include <elapse/hashed.h>

#include "subject.h"

static inline void *open_hashed(struct elapse_hashed *hashed, size_t slots, uint64_t now)
{
    size_t bytes = elapse_hashed_storage_bytes(slots);
    void *storage = malloc(bytes);

    assert_non_null(storage);
    assert_int_equal(elapse_hashed_init(hashed, slots, storage, bytes, now), ELAPSE_OK);
    assert_int_equal(elapse_hashed_check(hashed), 0);
    return storage;
}

static inline void close_hashed(const struct elapse_hashed *hashed, void *storage)
{
    assert_int_equal(elapse_hashed_check(hashed), 0);
    free(storage);
}

/* What elapse_hashed_dump describes. */
enum { DESCRIPTIONS = 16 };

struct picture {
    size_t count;
    struct elapse_slot slots[DESCRIPTIONS];
};

static inline void draw(const struct elapse_slot *slot, void *context)
{
    struct picture *picture = context;

    assert_true(picture->count < DESCRIPTIONS);
    picture->slots[picture->count++] = *slot;
}

#endif
