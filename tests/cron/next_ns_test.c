/*
 * The next moment in nanoseconds: how it is rounded, and where 64 bits end.
 */
#include "../support/test.h"
#include "next.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)

static struct elapse_cron parsed(const char *expression)
{
    struct elapse_cron cron;

    assert_int_equal(elapse_cron_parse(&cron, expression, NULL), ELAPSE_OK);
    return cron;
}

static void assert_next(const struct elapse_cron *cron, uint64_t after_ns, uint64_t wanted_ns)
{
    uint64_t next_ns;

    assert_true(elapse__cron_next_ns(cron, ELAPSE_ZONE_UTC, after_ns, &next_ns));
    assert_true(next_ns == wanted_ns);
}

TEST(the_next_moment_is_later_than_any_part_of_its_predecessor)
{
    struct elapse_cron each_minute = parsed("* * * * *");
    struct elapse_cron each_second = parsed("* * * * * *");

    assert_next(&each_minute, 0, MINUTE_NS);
    assert_next(&each_minute, MINUTE_NS - 1, MINUTE_NS);
    assert_next(&each_minute, MINUTE_NS, 2 * MINUTE_NS);
    assert_next(&each_minute, MINUTE_NS + 1, 2 * MINUTE_NS);
    assert_next(&each_second, 7 * SECOND_NS - 1, 7 * SECOND_NS);
    assert_next(&each_second, 7 * SECOND_NS, 8 * SECOND_NS);
    assert_next(&each_second, 8 * SECOND_NS - 1, 8 * SECOND_NS);
}

TEST(moments_end_with_64_bits)
{
    const uint64_t last_ns = UINT64_MAX / SECOND_NS * SECOND_NS;
    struct elapse_cron each_second = parsed("* * * * * *");
    struct elapse_cron yearly = parsed("@yearly");
    uint64_t next_ns;

    assert_next(&each_second, last_ns - 1, last_ns);
    assert_false(elapse__cron_next_ns(&each_second, ELAPSE_ZONE_UTC, last_ns, &next_ns));
    assert_false(elapse__cron_next_ns(&each_second, ELAPSE_ZONE_UTC, UINT64_MAX, &next_ns));
    assert_false(elapse__cron_next_ns(&yearly, ELAPSE_ZONE_UTC, last_ns, &next_ns));
}

TEST_MAIN("next_ns")
