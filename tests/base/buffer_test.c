/*
 * The buffer: what is appended comes out in its order, however often the memory moves.
 */
#include "../support/test.h"
#include "buffer.h"

TEST(bytes_keep_their_order)
{
    struct elapse__buffer buffer = {.bytes = NULL};
    uint8_t written = 0;
    uint8_t taken = 0;

    for (size_t round = 1; round <= 3000; round++) {
        uint8_t bytes[16];
        size_t count = round * 7 % sizeof bytes;
        for (size_t i = 0; i < count; i++)
            bytes[i] = written++;
        assert_true(elapse__buffer_append(&buffer, bytes, count));
        size_t gone = elapse__buffer_size(&buffer) * (round % 5) / 4;
        gone = gone > elapse__buffer_size(&buffer) ? elapse__buffer_size(&buffer) : gone;
        for (size_t i = 0; i < gone; i++)
            assert_int_equal(elapse__buffer_first(&buffer)[i], taken++);
        elapse__buffer_take(&buffer, gone);
    }
    elapse__buffer_free(&buffer);
}

TEST(large_memory_is_given_back)
{
    static const uint8_t bytes[ELAPSE__BUFFER_KEPT + 1];
    struct elapse__buffer buffer = {.bytes = NULL};

    assert_true(elapse__buffer_append(&buffer, bytes, 10));
    elapse__buffer_take(&buffer, 10);
    assert_int_not_equal(buffer.capacity, 0);
    assert_true(elapse__buffer_append(&buffer, bytes, sizeof bytes));
    elapse__buffer_clear(&buffer);
    assert_in_range(buffer.capacity, sizeof bytes, SIZE_MAX);
    assert_true(elapse__buffer_append(&buffer, bytes, sizeof bytes));
    elapse__buffer_take(&buffer, sizeof bytes);
    assert_int_equal(buffer.capacity, 0);
    assert_null(buffer.bytes);
}

TEST(memory_that_was_given_back_serves_the_next_buffer)
{
    static const uint8_t bytes[8 * ELAPSE__BUFFER_KEPT];
    struct elapse__buffer buffer = {.bytes = NULL}, next = {.bytes = NULL};

    assert_true(elapse__buffer_append(&buffer, bytes, sizeof bytes));
    const uint8_t *given = buffer.bytes;
    elapse__buffer_take(&buffer, sizeof bytes);
    void *other = malloc(sizeof bytes); /* the C library would use it again, too */
    assert_true(elapse__buffer_append(&next, bytes, sizeof bytes));
    assert_ptr_equal(next.bytes, given);
    free(other);
    elapse__buffer_free(&next);
}

TEST(texts_of_every_length)
{
    for (int length = 0; length < 1200; length++) {
        struct elapse__buffer buffer = {.bytes = NULL};
        assert_true(elapse__buffer_format(&buffer, "%d:%*s", length, length, ""));
        char expected[1300];
        int size = snprintf(expected, sizeof expected, "%d:%*s", length, length, "");
        assert_int_equal(elapse__buffer_size(&buffer), size);
        assert_memory_equal(elapse__buffer_first(&buffer), expected, (size_t)size);
        elapse__buffer_free(&buffer);
    }
}

TEST(a_size_beyond_memory_is_refused)
{
    struct elapse__buffer buffer = {.bytes = NULL};

    assert_true(elapse__buffer_append(&buffer, "ab", 2));
    assert_false(elapse__buffer_reserve(&buffer, SIZE_MAX / 2));
    assert_int_equal(elapse__buffer_size(&buffer), 2);
    assert_memory_equal(elapse__buffer_first(&buffer), "ab", 2);
    elapse__buffer_free(&buffer);
}

TEST_MAIN("buffer")
