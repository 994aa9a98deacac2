/*
 * Tests the small headers: timer, structure, error, version.
 */
#include "subject.h"

#include <elapse/heap.h>
#include <elapse/version.h>
#include <elapse/wheel.h>

TEST(sizes_stay_within_their_limits)
{
    assert_true(sizeof(struct elapse_timer) <= 40);
    if (sizeof(void *) == 8)
        assert_int_equal(sizeof(struct elapse_timer), 32);
    assert_true(sizeof(struct elapse_wheel) <= 128 * 1024);
}

TEST(timer_init_makes_an_idle_timer)
{
    struct elapse_timer timer;

    memset(&timer, 0xA5, sizeof timer);
    elapse_timer_init(&timer);
    assert_false(elapse_timer_pending(&timer));
}

TEST(deadline_after_saturates_and_never_wraps)
{
    assert_int_equal(elapse_deadline_after(0, 0), 0);
    assert_int_equal(elapse_deadline_after(5, 0), 5);
    assert_int_equal(elapse_deadline_after(5, 7), 12);
    assert_true(elapse_deadline_after(0, ELAPSE_TIME_MAX) == ELAPSE_TIME_MAX);
    assert_true(elapse_deadline_after(1, ELAPSE_TIME_MAX) == ELAPSE_NEVER);
    assert_true(elapse_deadline_after(ELAPSE_TIME_MAX, 0) == ELAPSE_TIME_MAX);
    assert_true(elapse_deadline_after(ELAPSE_TIME_MAX, 1) == ELAPSE_NEVER);
    assert_true(elapse_deadline_after(ELAPSE_TIME_MAX - 1, 1) == ELAPSE_TIME_MAX);
    assert_true(elapse_deadline_after(ELAPSE_TIME_MAX, 2) == ELAPSE_NEVER);
    assert_true(elapse_deadline_after(ELAPSE_TIME_MAX, UINT64_MAX) == ELAPSE_NEVER);
    assert_true(elapse_deadline_after(ELAPSE_NEVER, 0) == ELAPSE_NEVER);
    assert_true(elapse_deadline_after(0, ELAPSE_NEVER) == ELAPSE_NEVER);
    assert_true(elapse_deadline_after(UINT64_C(1) << 63, UINT64_C(1) << 63) == ELAPSE_NEVER);
    assert_true(elapse_deadline_after(UINT64_C(1) << 63, (UINT64_C(1) << 63) - 2) ==
                ELAPSE_TIME_MAX);
}

TEST(the_end_of_time_is_where_it_should_be)
{
    assert_true(ELAPSE_NEVER == UINT64_MAX);
    assert_true(ELAPSE_TIME_MAX == UINT64_MAX - 1);
}

TEST(structures_are_found_by_name_and_number)
{
    size_t number = 0;

    assert_string_equal(elapse_structure_at(0)->name, "wheel");
    assert_non_null(elapse_structure_find("wheel"));
    assert_non_null(elapse_structure_find("heap"));
    for (; elapse_structure_at(number) != NULL; number++) {
        const struct elapse_structure *structure = elapse_structure_at(number);

        assert_ptr_equal(elapse_structure_find(structure->name), structure);
        assert_true(structure->instance_bytes > 0);
    }
    assert_true(number >= 2);
    assert_null(elapse_structure_at(number + 1));
    assert_null(elapse_structure_at(SIZE_MAX));
    assert_null(elapse_structure_find(""));
    assert_null(elapse_structure_find("whee"));
    assert_null(elapse_structure_find("wheels"));
    assert_null(elapse_structure_find("Heap"));
}

TEST(the_wheel_needs_no_storage_and_the_heap_does)
{
    const struct elapse_structure *wheel = elapse_structure_find("wheel");
    const struct elapse_structure *heap = elapse_structure_find("heap");
    struct elapse_wheel wheel_instance;
    struct elapse_heap heap_instance;

    assert_int_equal(wheel->storage_bytes(NULL, 0), 0);
    assert_int_equal(wheel->storage_bytes(NULL, 1000000), 0);
    assert_int_equal(wheel->instance_bytes, sizeof(struct elapse_wheel));
    assert_int_equal(wheel->init(&wheel_instance, NULL, NULL, 0, 7), ELAPSE_OK);
    assert_int_equal(wheel->move_storage(&wheel_instance, NULL, 0), ELAPSE_OK);
    assert_int_equal(wheel->now(&wheel_instance), 7);
    assert_int_equal(heap->storage_bytes(NULL, 100), elapse_heap_storage_bytes(100));
    assert_true(heap->storage_bytes(NULL, SIZE_MAX) == SIZE_MAX);
    assert_int_equal(heap->instance_bytes, sizeof(struct elapse_heap));
    assert_int_equal(heap->init(&heap_instance, NULL, NULL, 0, 7), ELAPSE_ERROR_STORAGE);
}

TEST(error_texts_are_sentences_and_differ)
{
    static const enum elapse_error errors[] = {ELAPSE_OK,
                                               ELAPSE_ERROR_ABI,
                                               ELAPSE_ERROR_STORAGE,
                                               ELAPSE_ERROR_FULL,
                                               ELAPSE_ERROR_ARGUMENT,
                                               ELAPSE_ERROR_MEMORY,
                                               ELAPSE_ERROR_SYSTEM,
                                               ELAPSE_ERROR_LIMIT,
                                               ELAPSE_ERROR_KEY_PENDING,
                                               ELAPSE_ERROR_GONE,
                                               ELAPSE_ERROR_CLOSED,
                                               ELAPSE_ERROR_IN_ACTION,
                                               ELAPSE_ERROR_BUSY,
                                               ELAPSE_ERROR_NOTHING_DUE,
                                               ELAPSE_ERROR_TIMEOUT,
                                               ELAPSE_ERROR_CANCELLED,
                                               ELAPSE_ERROR_DISK_FULL,
                                               ELAPSE_ERROR_IN_USE,
                                               ELAPSE_ERROR_DAMAGED,
                                               ELAPSE_ERROR_FORMAT,
                                               ELAPSE_ERROR_BROKEN,
                                               ELAPSE_ERROR_WALL_CLOCK};
    enum { ERRORS = sizeof errors / sizeof *errors };

    for (size_t i = 0; i < ERRORS; i++) {
        const char *text = elapse_error_text(errors[i]);

        assert_non_null(text);
        assert_true(strlen(text) > 0);
        assert_int_not_equal(text[strlen(text) - 1], '.');
        assert_string_not_equal(text, "unknown error");
        for (size_t n = 0; n < i; n++)
            assert_string_not_equal(text, elapse_error_text(errors[n]));
    }
}

TEST(error_text_of_an_unknown_number)
{
    assert_string_equal(elapse_error_text((enum elapse_error)(ELAPSE_ERROR_WALL_CLOCK + 1)),
                        "unknown error");
    assert_string_equal(elapse_error_text((enum elapse_error)1000), "unknown error");
}

TEST(version_of_header_and_library_agree)
{
    char text[40];

    assert_string_equal(elapse_version(), ELAPSE_VERSION_TEXT);
    snprintf(text, sizeof text, "%d.%d.%d", ELAPSE_VERSION_MAJOR, ELAPSE_VERSION_MINOR,
             ELAPSE_VERSION_PATCH);
    assert_string_equal(text, ELAPSE_VERSION_TEXT);
}

TEST_MAIN("interface")
