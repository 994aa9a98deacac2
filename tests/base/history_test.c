/*
 * Tests the history of a server: a point a minute, for a day.
 */
#include "../support/test.h"
#include "history.h"

static struct elapse__history history;
static struct elapse__history_sample sample;

static int begin(void **state)
{
    (void)state;
    memset(&history, 0, sizeof history);
    memset(&sample, 0, sizeof sample);
    return 0;
}

#define HISTORY_TEST(name) TEST_WITH(name, begin, NULL)

static const struct elapse__history_point *last(void)
{
    assert_int_equal(elapse__history_count(&history, 1), 1);
    return elapse__history_at(&history, 1, 0);
}

HISTORY_TEST(a_minute_ends_after_a_minute)
{
    assert_int_equal(elapse__history_count(NULL, 9), 0);
    assert_true(elapse__history_is_due(&history, 500));
    sample.put = 7;
    elapse__history_add(&history, &sample, 1000000, 500);
    assert_int_equal(elapse__history_count(&history, 9), 0);
    assert_false(elapse__history_is_due(&history, 60499));
    assert_true(elapse__history_is_due(&history, 60500));
    sample = (struct elapse__history_sample){.delayed = 1,
                                             .ready = 2,
                                             .reserved = 3,
                                             .buried = 4,
                                             .overdue_ms = 5,
                                             .put = 17,
                                             .came_due = 6,
                                             .handed_out = 8,
                                             .done = 9,
                                             .cancelled = 11};
    elapse__history_add(&history, &sample, 1060300, 60800);
    const struct elapse__history_point *point = last();
    assert_int_equal(point->at_ms, 1060300);
    assert_int_equal(point->span_ms, 60300);
    assert_int_equal(point->delayed, 1);
    assert_int_equal(point->ready, 2);
    assert_int_equal(point->reserved, 3);
    assert_int_equal(point->buried, 4);
    assert_int_equal(point->overdue_ms, 5);
    assert_int_equal(point->put, 10);
    assert_int_equal(point->came_due, 6);
    assert_int_equal(point->handed_out, 8);
    assert_int_equal(point->done, 9);
    assert_int_equal(point->cancelled, 11);
    assert_false(elapse__history_is_due(&history, 120799));
    /* A partition has gone, and with it what it had counted; and the clock says 1969. */
    sample.put = 3;
    elapse__history_add(&history, &sample, -5, 120800);
    assert_int_equal(last()->put, 0);
    assert_int_equal(last()->done, 0);
    assert_int_equal(last()->at_ms, 0);
}

HISTORY_TEST(lateness_is_that_of_the_minute)
{
    elapse__history_add(&history, &sample, 0, 0);
    elapse__history_add(&history, &sample, 0, 60000);
    assert_true(last()->late_p99_ms == ELAPSE__HISTORY_UNKNOWN);
    assert_true(last()->late_max_ms == ELAPSE__HISTORY_UNKNOWN);
    for (unsigned i = 0; i < 99; i++)
        elapse__histogram_add(&sample.lateness, 2);
    elapse__histogram_add(&sample.lateness, 1000);
    elapse__history_add(&history, &sample, 0, 120000);
    assert_int_equal(last()->late_p99_ms, 2);
    assert_int_equal(last()->late_max_ms, 1023);
    elapse__histogram_add(&sample.lateness, 3);
    elapse__history_add(&history, &sample, 0, 180000);
    assert_int_equal(last()->late_p99_ms, 3);
    assert_int_equal(last()->late_max_ms, 3);
    for (unsigned i = 0; i < 98; i++)
        elapse__histogram_add(&sample.lateness, 0);
    elapse__histogram_add(&sample.lateness, 100);
    elapse__history_add(&history, &sample, 0, 240000);
    assert_int_equal(last()->late_p99_ms, 111);
    assert_int_equal(last()->late_max_ms, 111);
}

HISTORY_TEST(a_day_is_kept)
{
    enum { DAY = ELAPSE__HISTORY_POINTS };
    for (unsigned minute = 0; minute <= DAY + 5; minute++) {
        sample.put += minute;
        elapse__history_add(&history, &sample, (int64_t)minute, minute * UINT64_C(60000));
        unsigned count = elapse__history_count(&history, DAY + 1);
        assert_int_equal(count, minute < DAY ? minute : DAY);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(elapse__history_at(&history, count, i)->put, minute - count + 1 + i);
    }
    assert_int_equal(elapse__history_count(&history, 3), 3);
    assert_int_equal(elapse__history_at(&history, 3, 0)->at_ms, DAY + 3);
    assert_int_equal(elapse__history_at(&history, 3, 2)->at_ms, DAY + 5);
}

TEST_MAIN("history")
