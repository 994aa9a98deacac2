/*
 * A hashed wheel with its storage, for the tests of what only hashed wheels promise.
 */
#ifndef ELAPSE_TESTS_HASHED_WHEEL_H
#define ELAPSE_TESTS_HASHED_WHEEL_H

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

/* Begins the definition of a test that gets such a wheel, `hashed`. Requires that its timers are
 * static, or that none is pending at its end. */
#define HASHED_TEST(function, slots, now)                    \
    static void function##_of(struct elapse_hashed *hashed); \
    TEST(function)                                           \
    {                                                        \
        struct elapse_hashed hashed;                         \
        void *storage = open_hashed(&hashed, slots, now);    \
                                                             \
        function##_of(&hashed);                              \
        close_hashed(&hashed, storage);                      \
    }                                                        \
    static void function##_of(struct elapse_hashed *hashed)

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
