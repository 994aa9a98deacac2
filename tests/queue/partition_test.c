/*
 * A queue that is one of many partitions: its ids, and the records that it takes.
 */
#include "fixture.h"

static void ids_of_a_partition_go_on_after_a_restart(void **state)
{
    struct fixture *f = *state;
    f->options.partitions = 8;
    f->options.partition = 3;
    restart(f, 0);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), 11);
    restart(f, 0);
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(id, 19);
    elapse__queue_cancel_id(f->queue, f->now, 19);
    restart(f, 0);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), 27);
    /* An id that is none of its own: the next one is above it all the same. */
    elapse__queue_used_id(f->queue, 36);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), 43);
    elapse__queue_used_id(f->queue, 50);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), 59);
}

static void another_partition_refuses_the_records(void **state)
{
    static const uint32_t wrong[][2] = {{8, 4}, {8, 2}, {4, 2}, {3, 0}, {16, 3}};
    static const uint32_t right[][2] = {{8, 3}, {4, 3}, {1, 0}};
    struct fixture *f = *state;
    f->options.partitions = 8;
    f->options.partition = 3;
    restart(f, 0);
    (void)put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong + sizeof right / sizeof *right; i++) {
        struct elapse__queue_options options = f->options;
        bool is_right = i >= sizeof wrong / sizeof *wrong;
        const uint32_t *pair = is_right ? right[i - sizeof wrong / sizeof *wrong] : wrong[i];
        options.partitions = pair[0];
        options.partition = pair[1];
        struct elapse__queue *other = elapse__queue_new(&options);
        assert_non_null(other);
        for (size_t record = 0; record < f->log.count; record++)
            f->log.records[record].live = 0;
        assert_int_equal(log_replay(&f->log, other),
                         is_right ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_ARGUMENT);
        elapse__queue_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ids_of_a_partition_go_on_after_a_restart),
        TEST(another_partition_refuses_the_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
