/*
 * The buckets of lateness: they cover 64 bits without gap or overlap, in order, and each is no
 * wider than an eighth of what is in it.
 */
#include "part.h"

#include "lateness.h"

TEST(each_bucket_ends_where_the_next_begins)
{
    uint64_t least_ns = 0;

    for (unsigned bucket = 0; bucket < ELAPSE_LATENESS_BUCKETS; bucket++) {
        uint64_t greatest_ns = elapse__lateness_greatest_ns(bucket);

        assert_true(greatest_ns >= least_ns);
        assert_int_equal(elapse__lateness_bucket(least_ns), bucket);
        assert_int_equal(elapse__lateness_bucket(greatest_ns), bucket);
        assert_int_equal(elapse__lateness_bucket(least_ns + (greatest_ns - least_ns) / 2), bucket);
        /* Small ones are exact; of the others an eighth at most. */
        assert_true(greatest_ns - least_ns <= least_ns / 8);
        least_ns = greatest_ns + 1;
    }
    assert_int_equal(least_ns, 0); /* the last bucket ends with the last number */
}

TEST(any_lateness_is_within_an_eighth_of_its_buckets_greatest)
{
    struct random_source random = {.state = 3};

    for (unsigned round = 0; round < 1000000; round++) {
        uint64_t lateness_ns = random_of_bits(&random, 64);
        unsigned bucket = elapse__lateness_bucket(lateness_ns);
        uint64_t greatest_ns = elapse__lateness_greatest_ns(bucket);

        assert_in_range(bucket, 0, ELAPSE_LATENESS_BUCKETS - 1);
        assert_true(greatest_ns >= lateness_ns);
        assert_true(greatest_ns - lateness_ns <= lateness_ns / 8);
    }
}

TEST(later_is_never_in_an_earlier_bucket)
{
    struct random_source random = {.state = 4};

    for (unsigned round = 0; round < 1000000; round++) {
        uint64_t one_ns = random_of_bits(&random, 64);
        uint64_t other_ns = random_of_bits(&random, 64);
        unsigned one = elapse__lateness_bucket(one_ns);
        unsigned other = elapse__lateness_bucket(other_ns);

        assert_true(one_ns <= other_ns ? one <= other : one >= other);
    }
}

TEST(both_edges)
{
    for (unsigned lateness_ns = 0; lateness_ns <= 15; lateness_ns++)
        assert_int_equal(elapse__lateness_bucket(lateness_ns), lateness_ns);
    assert_int_equal(elapse__lateness_bucket(16), 16);
    assert_int_equal(elapse__lateness_bucket(17), 16);
    assert_int_equal(elapse__lateness_bucket(18), 17);
    assert_int_equal(elapse__lateness_bucket(UINT64_MAX), ELAPSE_LATENESS_BUCKETS - 1);
    assert_int_equal(elapse__lateness_greatest_ns(ELAPSE_LATENESS_BUCKETS - 1), UINT64_MAX);
}

TEST_MAIN("lateness")
