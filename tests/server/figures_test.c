/*
 * Tests histograms, and windows, which say what a histogram has counted in the last minute.
 */
#include "../../src/base/histogram.h"
#include "../../src/server/http/window.h"
#include "../support/test.h"

TEST(each_value_is_in_the_bucket_that_has_it)
{
    for (unsigned bucket = 0; bucket < ELAPSE__HISTOGRAM_BUCKETS; bucket++) {
        uint64_t least = elapse__histogram_least(bucket);
        uint64_t greatest = elapse__histogram_least(bucket + 1) - 1;
        assert_true(least <= greatest);
        assert_int_equal(elapse__histogram_bucket(least), bucket);
        assert_int_equal(elapse__histogram_bucket(greatest), bucket);
        assert_true((greatest - least) * 4 <= least);
    }
    assert_int_equal(elapse__histogram_bucket(UINT64_MAX), ELAPSE__HISTOGRAM_BUCKETS - 1);
}

TEST(powers_of_two_begin_a_bucket)
{
    for (unsigned power = 0; power < 41; power++)
        assert_int_equal(elapse__histogram_least(elapse__histogram_bucket(UINT64_C(1) << power)),
                         UINT64_C(1) << power);
}

TEST(a_histogram_counts_and_adds)
{
    struct elapse__histogram histogram = {.count = 0};

    for (uint64_t value = 0; value < 1000; value++)
        elapse__histogram_add(&histogram, value);
    assert_int_equal(histogram.count, 1000);
    assert_int_equal(histogram.sum, 999 * 500);
    assert_int_equal(histogram.counts[0], 1);
    assert_int_equal(histogram.counts[elapse__histogram_bucket(512)], 128);
}

TEST(quantiles_are_the_greatest_of_their_bucket)
{
    struct elapse__histogram histogram = {.count = 0};
    static struct elapse__http_window window;

    memset(&window, 0, sizeof window);
    for (unsigned i = 0; i < 99; i++)
        elapse__histogram_add(&histogram, 2);
    elapse__histogram_add(&histogram, 1000);
    elapse__http_window_add(&window, &histogram);
    assert_int_equal(window.count, 100);
    assert_int_equal(elapse__http_window_quantile(&window, 50), 2);
    assert_int_equal(elapse__http_window_quantile(&window, 99), 2);
    assert_int_equal(elapse__http_window_quantile(&window, 100), 1023);
}

TEST(a_value_older_than_a_minute_is_forgotten)
{
    struct elapse__histogram histogram = {.count = 0};
    static struct elapse__http_window window;

    memset(&window, 0, sizeof window);
    elapse__histogram_add(&histogram, 5);
    elapse__http_window_add(&window, &histogram);
    elapse__histogram_add(&histogram, 3);
    for (unsigned second = 1; second < ELAPSE__HTTP_WINDOW_SECONDS; second++) {
        elapse__http_window_add(&window, &histogram);
        assert_int_equal(window.count, 2);
        assert_int_equal(elapse__http_window_quantile(&window, 100), 5);
    }
    elapse__http_window_add(&window, &histogram);
    assert_int_equal(window.count, 1);
    assert_int_equal(elapse__http_window_quantile(&window, 100), 3);
    elapse__http_window_add(&window, &histogram);
    assert_int_equal(window.count, 0);
}

/* A histogram may be the sum over many partitions. When a partition goes away, the sum has less,
 * and the window counts from there. */
TEST(a_histogram_that_has_less_counts_from_there)
{
    static struct elapse__http_window window;
    struct elapse__histogram all = {.count = 0}, rest = {.count = 0};

    memset(&window, 0, sizeof window);
    for (unsigned i = 0; i < 10; i++)
        elapse__histogram_add(&all, 2);
    elapse__histogram_add(&rest, 2);
    elapse__http_window_add(&window, &all);
    elapse__http_window_add(&window, &rest);
    assert_int_equal(window.count, 10);
    elapse__histogram_add(&rest, 3);
    elapse__http_window_add(&window, &rest);
    assert_int_equal(window.count, 11);
    assert_int_equal(elapse__http_window_quantile(&window, 100), 3);
}

TEST_MAIN("figures")
