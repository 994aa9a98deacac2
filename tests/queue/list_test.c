/*
 * Lists of few jobs among many: blocks of the table of jobs in which nothing fits are passed over.
 */
#include "fixture.h"

/* Returns how many calls of list find the one job with this id. */
static unsigned calls_to_find(struct fixture *f, const struct elapse__queue_filter *filter,
                              uint64_t id)
{
    struct elapse__queue_view views[7];
    uint32_t cursor = 0;
    unsigned calls = 0;
    unsigned found = 0;
    do {
        uint32_t count = elapse__queue_list(f->queue, f->now, filter, &cursor, 8, views, 7);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(views[i].id, id);
        found += count;
        calls++;
    } while (cursor != 0);
    assert_int_equal(found, 1);
    return calls;
}

/* 1,024 jobs that wait cost one place, as one that is buried among them costs a block of places. */
QUEUE_TEST(list_and_cancel_all_pass_over_what_cannot_match)
{
    enum { JOBS = 20000, BLOCKS = JOBS / 1024 + 1, MOST = 8, BURIED = 12345 };
    struct elapse__queue_put put = job("b");
    struct elapse__queue_filter filter = {.tube = text("t"), .state = ELAPSE__QUEUE_BURIED};
    uint64_t removed = 0;
    uint64_t running = 0;
    uint32_t cursor = 0;
    unsigned slices = 0;
    for (unsigned i = 1; i <= JOBS; i++) {
        put.delay_ms = i == BURIED ? 0 : 3600000;
        (void)elapse__queue_put(f->queue, f->now, &put);
    }
    filter.state = ELAPSE__QUEUE_READY;
    assert_in_range(calls_to_find(f, &filter, BURIED), 2, (BLOCKS + 1024) / MOST + 1);
    filter.state = ELAPSE__QUEUE_BURIED;
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    assert_in_range(calls_to_find(f, &filter, BURIED), 2, (BLOCKS + 1024) / MOST + 1);
    ok(f);
    do {
        slices++;
        (void)elapse__queue_cancel_all(f->queue, f->now, &filter, &cursor, MOST, &removed,
                                       &running);
    } while (cursor != 0);
    assert_int_equal(removed, 1);
    assert_in_range(slices, 2, (BLOCKS + 1024) / MOST + 1);
    /* No job of the tube is buried: nothing is looked at. */
    struct elapse__queue_view view;
    assert_int_equal(elapse__queue_list(f->queue, f->now, &filter, &cursor, 1, &view, 1), 0);
    assert_int_equal(cursor, 0);
    assert_int_equal(elapse__queue_jobs(f->queue), JOBS - 1);
    ok(f);
}

/* A block without a recurring job costs one place. A replaced job counts as often as it recurs. */
QUEUE_TEST(list_finds_the_recurring_job_among_many)
{
    enum { JOBS = 20000, BLOCKS = JOBS / 1024 + 1, MOST = 8, RECURRING = 12345 };
    struct elapse__queue_put many = job("b");
    struct elapse__queue_filter filter = {.recurring = true};
    struct elapse__queue_view views[7];
    uint32_t cursor = 0;
    for (unsigned i = 1; i <= JOBS; i++) {
        many.when = i == RECURRING ? ELAPSE__QUEUE_EVERY : ELAPSE__QUEUE_IN;
        many.delay_ms = i == RECURRING ? 0 : 3600000;
        many.period_ms = i == RECURRING ? 5000 : 0;
        many.key = i == RECURRING ? text("k") : text("");
        (void)elapse__queue_put(f->queue, f->now, &many);
    }
    ok(f);
    assert_in_range(calls_to_find(f, &filter, RECURRING), 2, (BLOCKS + 1024) / MOST + 1);
    filter.tube = text("t");
    assert_in_range(calls_to_find(f, &filter, RECURRING), 2, (BLOCKS + 1024) / MOST + 1);
    filter.state = ELAPSE__QUEUE_BURIED;
    assert_int_equal(elapse__queue_list(f->queue, f->now, &filter, &cursor, JOBS, views, 7), 0);
    filter.state = ELAPSE__QUEUE_FREE;
    filter.tube = text("u");
    assert_int_equal(elapse__queue_list(f->queue, f->now, &filter, &cursor, JOBS, views, 7), 0);
    filter.tube = text("t");
    /* A worker has the job when it is replaced: the shadow is not listed. */
    struct elapse__queue_put again = job("again");
    again.key = text("k");
    again.when = ELAPSE__QUEUE_EVERY;
    again.period_ms = 7000;
    pass(f, 5000);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.id, RECURRING);
    put(f, again, ELAPSE__QUEUE_REPLACED);
    ok(f);
    assert_int_equal(elapse__queue_list(f->queue, f->now, &filter, &cursor, JOBS * 2, views, 7), 1);
    assert_int_equal(views[0].id, JOBS + 1);
    assert_true(views[0].recurring);
    assert_int_equal(views[0].due_ms, f->now.wall_ms + 7000);
    /* Another put with the key that comes once: nothing recurs any more. */
    again.when = ELAPSE__QUEUE_IN;
    again.period_ms = 0;
    put(f, again, ELAPSE__QUEUE_REPLACED);
    assert_int_equal(elapse__queue_list(f->queue, f->now, &filter, &cursor, JOBS * 2, views, 7), 0);
    ok(f);
}

TEST_MAIN("list")
