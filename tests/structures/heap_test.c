/*
 * Tests what the heap does differently: its storage may be full, and its order and its `next` are
 * always exact. Also tests that its check finds damage, and returns the number of the broken
 * invariant. The head of heap.c numbers the invariants.
 */
#include "subject.h"

#include <elapse/heap.h>

enum { TIMERS = 40 };

struct roomy_heap {
    struct elapse_heap heap;
    struct elapse_timer timers[TIMERS];
    void *storage;
};

static void open_heap(struct roomy_heap *roomy, size_t capacity)
{
    size_t bytes = elapse_heap_storage_bytes(capacity);

    memset(roomy, 0, sizeof *roomy);
    roomy->storage = malloc(bytes);
    assert_non_null(roomy->storage);
    assert_int_equal(elapse_heap_init(&roomy->heap, roomy->storage, bytes, 0), ELAPSE_OK);
    assert_int_equal(elapse_heap_capacity(&roomy->heap), capacity);
}

TEST(init_with_sizes_that_differ_is_an_abi_error)
{
    struct elapse_heap heap;
    uint64_t storage[64];

    memset(&heap, 0x5A, sizeof heap);
    struct elapse_heap before = heap;
    assert_int_equal(elapse_heap_init_sized(&heap, sizeof heap - 8, storage, sizeof storage, 0),
                     ELAPSE_ERROR_ABI);
    assert_int_equal(elapse_heap_init_sized(&heap, sizeof heap + 8, storage, sizeof storage, 0),
                     ELAPSE_ERROR_ABI);
    assert_int_equal(elapse_heap_init_sized(&heap, 0, storage, sizeof storage, 0),
                     ELAPSE_ERROR_ABI);
    assert_memory_equal(&heap, &before, sizeof heap);
}

TEST(init_refuses_storage_that_is_not_right)
{
    struct elapse_heap heap;
    size_t bytes = elapse_heap_storage_bytes(4);
    size_t half_aligned = _Alignof(struct elapse__heap_entry) / 2;
    char *storage = malloc(bytes + 16);

    assert_non_null(storage);
    assert_int_equal(elapse_heap_init(&heap, NULL, bytes, 0), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_heap_init(&heap, storage, 0, 0), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_heap_init(&heap, storage, elapse_heap_storage_bytes(1) - 1, 0),
                     ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_heap_init(&heap, storage + 1, bytes, 0), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_heap_init(&heap, storage + half_aligned, bytes, 0),
                     ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_heap_init(&heap, storage, bytes, 0), ELAPSE_OK);
    free(storage);
}

TEST(storage_bytes_and_capacity_fit_each_other)
{
    char *storage = malloc(elapse_heap_storage_bytes(101));

    assert_non_null(storage);
    for (size_t capacity = 1; capacity <= 100; capacity++) {
        size_t bytes = elapse_heap_storage_bytes(capacity);
        struct elapse_heap heap;

        assert_true(bytes < elapse_heap_storage_bytes(capacity + 1));
        assert_int_equal(elapse_heap_init(&heap, storage, bytes, 0), ELAPSE_OK);
        assert_int_equal(elapse_heap_capacity(&heap), capacity);
        assert_int_equal(elapse_heap_init(&heap, storage, bytes + 1, 0), ELAPSE_OK);
        assert_int_equal(elapse_heap_capacity(&heap), capacity);
        if (capacity == 1)
            continue;
        assert_int_equal(elapse_heap_init(&heap, storage, bytes - 1, 0), ELAPSE_OK);
        assert_int_equal(elapse_heap_capacity(&heap), capacity - 1);
    }
    free(storage);
}

TEST(storage_bytes_beyond_memory_is_size_max)
{
    assert_true(elapse_heap_storage_bytes(SIZE_MAX) == SIZE_MAX);
    assert_true(elapse_heap_storage_bytes(SIZE_MAX / 2) == SIZE_MAX);
    assert_true(elapse_heap_storage_bytes(SIZE_MAX / sizeof(struct elapse__heap_entry) + 1) ==
                SIZE_MAX);
    assert_true(elapse_heap_storage_bytes(SIZE_MAX / 32) < SIZE_MAX);
    assert_true(elapse_heap_storage_bytes(1000) <= 16 * 1000 + 64);
}

TEST(a_full_heap_refuses_a_new_timer_and_takes_others_again)
{
    struct roomy_heap roomy;
    struct elapse_heap *heap = &roomy.heap;

    open_heap(&roomy, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(elapse_heap_start(heap, &roomy.timers[i], 100 + i), ELAPSE_OK);
    assert_int_equal(elapse_heap_start(heap, &roomy.timers[3], 1), ELAPSE_ERROR_FULL);
    assert_int_equal(elapse_heap_start_window(heap, &roomy.timers[3], 1, 2), ELAPSE_ERROR_FULL);
    assert_false(elapse_timer_pending(&roomy.timers[3]));
    assert_int_equal(elapse_heap_count(heap), 3);
    assert_int_equal(elapse_heap_next(heap), 100);
    /* Re-arming needs no place. */
    assert_int_equal(elapse_heap_start(heap, &roomy.timers[0], 105), ELAPSE_OK);
    assert_int_equal(elapse_heap_start_window(heap, &roomy.timers[1], 50, 50), ELAPSE_OK);
    /* A stop makes room, and so does a pop. */
    assert_true(elapse_heap_stop(heap, &roomy.timers[2]));
    assert_int_equal(elapse_heap_start(heap, &roomy.timers[3], 70), ELAPSE_OK);
    elapse_heap_advance(heap, 50);
    assert_ptr_equal(elapse_heap_pop(heap), &roomy.timers[1]);
    assert_int_equal(elapse_heap_start(heap, &roomy.timers[4], 71), ELAPSE_OK);
    assert_int_equal(elapse_heap_start(heap, &roomy.timers[5], 71), ELAPSE_ERROR_FULL);
    assert_int_equal(elapse_heap_check(heap), 0);
    free(roomy.storage);
}

TEST(move_storage_keeps_every_timer)
{
    struct roomy_heap roomy;
    size_t capacity = 1;

    open_heap(&roomy, capacity);
    for (size_t i = 0; i < TIMERS; i++) {
        if (i == capacity) {
            size_t bytes = elapse_heap_storage_bytes(2 * capacity);
            void *storage = malloc(bytes);

            assert_int_equal(elapse_heap_move_storage(&roomy.heap, storage, bytes), ELAPSE_OK);
            memset(roomy.storage, 0xA5, elapse_heap_storage_bytes(capacity));
            free(roomy.storage);
            roomy.storage = storage;
            capacity *= 2;
            assert_int_equal(elapse_heap_capacity(&roomy.heap), capacity);
            assert_int_equal(elapse_heap_check(&roomy.heap), 0);
        }
        assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[i], 500 - i), ELAPSE_OK);
    }
    elapse_heap_advance(&roomy.heap, 500);
    for (size_t i = TIMERS; i-- > 0;)
        assert_ptr_equal(elapse_heap_pop(&roomy.heap), &roomy.timers[i]);
    free(roomy.storage);
}

TEST(move_storage_to_less_and_its_errors)
{
    struct roomy_heap roomy;
    size_t bytes = elapse_heap_storage_bytes(3);
    char *storage = malloc(bytes + 8);

    assert_non_null(storage);
    open_heap(&roomy, 10);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[i], 5 + i), ELAPSE_OK);
    assert_int_equal(elapse_heap_move_storage(&roomy.heap, NULL, bytes), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_heap_move_storage(&roomy.heap, storage + 1, bytes),
                     ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_heap_move_storage(&roomy.heap, storage, 1), ELAPSE_ERROR_STORAGE);
    assert_int_equal(elapse_heap_move_storage(&roomy.heap, storage, elapse_heap_storage_bytes(2)),
                     ELAPSE_ERROR_FULL);
    assert_int_equal(elapse_heap_capacity(&roomy.heap), 10);
    assert_int_equal(elapse_heap_check(&roomy.heap), 0);
    assert_int_equal(elapse_heap_move_storage(&roomy.heap, storage, bytes), ELAPSE_OK);
    free(roomy.storage);
    assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[3], 9), ELAPSE_ERROR_FULL);
    elapse_heap_advance(&roomy.heap, 7);
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(elapse_heap_pop(&roomy.heap), &roomy.timers[i]);
    free(storage);
}

TEST(promise_4_always_in_the_order_of_arming)
{
    struct roomy_heap roomy;

    open_heap(&roomy, TIMERS);
    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[i], 9), ELAPSE_OK);
    /* A timer that is started again at the same deadline comes after all others. */
    for (size_t i = 0; i < TIMERS; i += 2)
        assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[i], 9), ELAPSE_OK);
    elapse_heap_advance(&roomy.heap, 9);
    for (size_t i = 1; i < TIMERS; i += 2)
        assert_ptr_equal(elapse_heap_pop(&roomy.heap), &roomy.timers[i]);
    for (size_t i = 0; i < TIMERS; i += 2)
        assert_ptr_equal(elapse_heap_pop(&roomy.heap), &roomy.timers[i]);
    free(roomy.storage);
}

TEST(promise_10_next_is_exact_after_stops_and_moves_too)
{
    struct roomy_heap roomy;

    open_heap(&roomy, TIMERS);
    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[i], 10 + i), ELAPSE_OK);
    for (size_t i = 0; i < TIMERS; i++) {
        assert_int_equal(elapse_heap_next(&roomy.heap), 10 + i);
        if (i % 2 == 0)
            assert_true(elapse_heap_stop(&roomy.heap, &roomy.timers[i]));
        else
            assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[i], 100 + i), ELAPSE_OK);
    }
    assert_int_equal(elapse_heap_next(&roomy.heap), 101);
    free(roomy.storage);
}

TEST(cascade_has_nothing_to_do)
{
    struct roomy_heap roomy;

    open_heap(&roomy, TIMERS);
    assert_true(elapse_heap_cascade(&roomy.heap, 0));
    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[i], 90 - i), ELAPSE_OK);
    elapse_heap_advance(&roomy.heap, 90);
    assert_true(elapse_heap_cascade(&roomy.heap, 0));
    assert_true(elapse_heap_moves(&roomy.heap) > 0);
    free(roomy.storage);
}

TEST(check_finds_each_field_that_is_damaged)
{
    struct roomy_heap roomy;
    struct elapse_heap *heap = &roomy.heap;
    struct elapse__heap_entry entry;
    struct elapse_timer timer;

    open_heap(&roomy, TIMERS);
    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(elapse_heap_start(heap, &roomy.timers[i], 90 - i), ELAPSE_OK);
    assert_int_equal(elapse_heap_check(heap), 0);
    struct elapse_heap sound = *heap;

    heap->capacity = TIMERS - 1;
    assert_int_equal(elapse_heap_check(heap), 2);
    *heap = sound;
    heap->clock = ELAPSE_NEVER;
    assert_int_equal(elapse_heap_check(heap), 1);
    *heap = sound;
    heap->sequence = 5;
    assert_int_equal(elapse_heap_check(heap), 5);
    *heap = sound;

    for (size_t i = 0; i < TIMERS; i++) {
        entry = heap->entries[i];
        timer = *entry.timer;
        heap->entries[i].deadline++;
        assert_int_equal(elapse_heap_check(heap), 3);
        heap->entries[i] = entry;
        heap->entries[i].timer = heap->entries[(i + 1) % TIMERS].timer;
        assert_int_equal(elapse_heap_check(heap), 3);
        heap->entries[i].timer = NULL;
        assert_int_equal(elapse_heap_check(heap), 3);
        heap->entries[i] = entry;
        entry.timer->deadline++;
        assert_int_equal(elapse_heap_check(heap), 3);
        *entry.timer = timer;
        entry.timer->place++;
        assert_int_equal(elapse_heap_check(heap), 3);
        *entry.timer = timer;
        entry.timer->place = 0;
        assert_int_equal(elapse_heap_check(heap), 3);
        *entry.timer = timer;
        entry.timer->keep.sequence = heap->sequence;
        assert_int_equal(elapse_heap_check(heap), 5);
        *entry.timer = timer;
    }
    /* An entry whose fields agree with each other, but which does not belong below its parent. */
    entry = heap->entries[TIMERS - 1];
    heap->entries[TIMERS - 1].deadline = entry.timer->deadline = 0;
    assert_int_equal(elapse_heap_check(heap), 4);
    free(roomy.storage);
}

TEST(check_finds_arming_order_broken_at_one_deadline)
{
    struct roomy_heap roomy;

    open_heap(&roomy, TIMERS);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(elapse_heap_start(&roomy.heap, &roomy.timers[i], 7), ELAPSE_OK);
    roomy.timers[0].keep.sequence = 3;
    assert_int_equal(elapse_heap_check(&roomy.heap), 4);
    free(roomy.storage);
}

TEST_MAIN("heap")
