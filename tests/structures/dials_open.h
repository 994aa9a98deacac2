/*
 * Dials of any shape, opened for a test in storage of just the right size.
 */
#ifndef ELAPSE_TESTS_DIALS_OPEN_H
#define ELAPSE_TESTS_DIALS_OPEN_H

#include <elapse/dials.h>

#include "growth.h"
#include "subject.h"

struct opened {
    struct elapse_dials dials;
    void *storage;
    size_t bytes;
};

static inline void open_shape(struct opened *opened, const struct elapse_shape *shape, uint64_t now)
{
    opened->bytes = elapse_dials_storage_bytes(shape);
    assert_true(opened->bytes != SIZE_MAX);
    opened->storage = malloc(opened->bytes);
    assert_non_null(opened->storage);
    assert_int_equal(elapse_dials_init(&opened->dials, shape, opened->storage, opened->bytes, now),
                     ELAPSE_OK);
}

static inline void close_dials(struct opened *opened)
{
    assert_int_equal(elapse_dials_check(&opened->dials), 0);
    elapse_dials_finish(&opened->dials);
    assert_int_equal(growth_outstanding(), 0);
    free(opened->storage);
}

/* Opens dials whose levels have the listed numbers of slots. */
#define OPEN(opened, allocator, now, ...)                                                       \
    open_shape((opened),                                                                        \
               &(const struct elapse_shape){.slots = (const uint32_t[]){__VA_ARGS__},           \
                                            .levels = sizeof((const uint32_t[]){__VA_ARGS__}) / \
                                                      sizeof(uint32_t),                         \
                                            .growth = (allocator)},                             \
               (now))

/* Begins the definition of a test that gets such dials, `opened`. Requires that its timers are
 * static, or that none is pending at its end. */
#define DIALS_TEST(function, allocator, now, ...)     \
    static void function##_of(struct opened *opened); \
    TEST(function)                                    \
    {                                                 \
        struct opened opened;                         \
                                                      \
        OPEN(&opened, allocator, now, __VA_ARGS__);   \
        function##_of(&opened);                       \
        close_dials(&opened);                         \
    }                                                 \
    static void function##_of(struct opened *opened)

static inline void start_at(struct opened *opened, struct elapse_timer *timer, uint64_t deadline)
{
    assert_int_equal(elapse_dials_start(&opened->dials, timer, deadline), ELAPSE_OK);
    assert_int_equal(elapse_dials_check(&opened->dials), 0);
}

static inline void expect_popped(struct opened *opened, const struct elapse_timer *timer)
{
    assert_ptr_equal(elapse_dials_pop(&opened->dials), timer);
    assert_int_equal(elapse_dials_check(&opened->dials), 0);
}

/* Advances to `now`. Fails the test if a timer is popped. */
static inline void pass(struct opened *opened, uint64_t now)
{
    elapse_dials_advance(&opened->dials, now);
    expect_popped(opened, NULL);
}

#endif
