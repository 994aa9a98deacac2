/*
 * A queue that is one of many partitions: its ids, and the records that it takes.
 */
#include "fixture.h"

#include "fields.h"

QUEUE_TEST(ids_of_a_partition_go_on_after_a_restart)
{
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
    /* The id belongs to another partition; the next id is above it all the same. */
    elapse__queue_used_id(f->queue, 36);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), 43);
    elapse__queue_used_id(f->queue, 50);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), 59);
}

QUEUE_TEST(another_partition_refuses_the_records)
{
    static const uint32_t wrong[][2] = {{8, 4}, {8, 2}, {4, 2}, {3, 0}, {16, 3}};
    static const uint32_t right[][2] = {{8, 3}, {4, 3}, {1, 0}};
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

/* The queue refuses every kind of record whose id another partition gives, also a record that would
 * not find a job here. */
QUEUE_TEST(no_kind_of_record_is_taken_from_another_partition)
{
    static const enum elapse__record_type types[] = {
        ELAPSE__RECORD_PUT,   ELAPSE__RECORD_CHANGE, ELAPSE__RECORD_DELETE,
        ELAPSE__RECORD_LEASE, ELAPSE__RECORD_TOKEN,
    };
    unsigned char bytes[ELAPSE__QUEUE_FIELDS_MAX];
    f->options.partitions = 8;
    f->options.partition = 3;
    struct elapse__queue *queue = elapse__queue_new(&f->options);
    assert_non_null(queue);
    for (size_t i = 0; i < 2 * sizeof types / sizeof *types; i++) {
        bool is_own = i % 2 == 1;
        enum elapse__record_type type = types[i / 2];
        const struct elapse__queue_fields fields = {
            .id = is_own ? 11 : 12,
            .state = ELAPSE__QUEUE_DELAYED,
            .tube = {.bytes = "tube", .size = 4},
            .token = {.bytes = "token", .size = 5},
            .ttr_ms = 1000,
        };
        const struct elapse__record record = {
            .type = type,
            .fields_size = elapse__queue_fields_encode(&fields, type, bytes),
            .fields = bytes,
        };
        assert_int_equal(elapse__queue_is_own_record(queue, &record), is_own);
        if (!is_own)
            assert_int_equal(elapse__queue_replay(queue, 8, &record), ELAPSE__QUEUE_ARGUMENT);
    }
    assert_int_equal(elapse__queue_last_id(queue), 0);
    elapse__queue_free(queue);
}

/* A job takes the place of its id alone: not that of ids that another partition gives. */
QUEUE_TEST(an_id_of_another_partition_leads_to_no_job)
{
    struct elapse__queue_view view;
    f->options.partitions = 8;
    f->options.partition = 3;
    restart(f, 0);
    for (uint64_t id = 11; id < 11 + 8 * 70; id += 8)
        assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), id);
    for (uint64_t id = 0; id < 11 + 8 * 72; id++) {
        bool lives = id % 8 == 3 && id >= 11 && id < 11 + 8 * 70;
        assert_int_equal(elapse__queue_look_up_id(f->queue, f->now, id, &view),
                         lives ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_GONE);
    }
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, 12).result, ELAPSE__QUEUE_GONE);
}

TEST_MAIN("partition")
