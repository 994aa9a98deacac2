/*
 * Turns and limits of groups with as many jobs and groups as large tubes have.
 */
#include "fixture.h"

#include "tubes.h"

enum { BATCH = 1000 };

static void put_in(struct fixture *f, uint32_t group)
{
    struct elapse__queue_put some = job("b");
    some.group = (struct elapse__queue_text){&group, sizeof group};
    assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result, ELAPSE__QUEUE_SCHEDULED);
}

static uint32_t take_many(struct fixture *f, struct elapse__queue_handed *handed)
{
    struct elapse__queue_text name = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &name, .tube_count = 1, .count = BATCH, .begin = true};
    uint32_t taken = 0;
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, handed, &taken).result);
    return taken;
}

static void acknowledge(struct fixture *f, const struct elapse__queue_handed *handed)
{
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(handed)).result);
}

/* One customer has a million ready jobs, and 999 have ten each. The ten of each are done after ten
 * rounds, in which each of the thousand takes one turn. */
QUEUE_TEST(a_customer_with_a_million_jobs_starves_nobody)
{
    enum { JOBS = 1000000, OTHERS = 999, EACH = 10 };
    static struct elapse__queue_handed handed[BATCH];
    unsigned hand_outs = 0, done = 0;
    for (uint32_t i = 0; i < JOBS; i++)
        put_in(f, 0);
    for (uint32_t i = 0; i < OTHERS * EACH; i++)
        put_in(f, 1 + i / EACH);
    while (done < OTHERS * EACH && hand_outs < JOBS) {
        uint32_t taken = take_many(f, handed);
        for (uint32_t i = 0; i < taken && done < OTHERS * EACH; i++) {
            hand_outs++;
            done += handed[i].id > JOBS;
        }
        for (uint32_t i = 0; i < taken; i++)
            acknowledge(f, &handed[i]);
    }
    print_message("hand-outs until 999 customers with ten jobs each are done: %u\n", hand_outs);
    assert_in_range(hand_outs, OTHERS * EACH, 11000);
}

/* Of 100,000 groups with three jobs each no group ever has two at work, while up to 20,000 are. */
QUEUE_TEST(no_two_jobs_of_very_many_groups_run_at_once)
{
    enum { GROUPS = 100000, EACH = 3, RUNNING = 20000 };
    static struct elapse__queue_handed running[RUNNING];
    static unsigned char runs[GROUPS];
    struct elapse__queue_limits limits = {.group_concurrency = 1};
    unsigned count = 0, done = 0, random = 1;
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    for (uint32_t i = 0; i < GROUPS * EACH; i++)
        put_in(f, i / EACH); /* the id of its first job is 1 + 3 x group */
    while (done < GROUPS * EACH) {
        if (count + BATCH <= RUNNING) {
            uint32_t taken = take_many(f, running + count);
            for (uint32_t i = 0; i < taken; i++)
                assert_int_equal(runs[(running[count + i].id - 1) / EACH]++, 0);
            count += taken;
        }
        assert_in_range(count, 1, RUNNING); /* never idle */
        for (unsigned i = 0; i < BATCH && count > 0; i++) {
            random = random * 1664525 + 1013904223;
            unsigned place = (random >> 8) % count;
            runs[(running[place].id - 1) / EACH]--;
            acknowledge(f, &running[place]);
            running[place] = running[--count];
            done++;
        }
    }
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
}

TEST_MAIN("queue_fairness")
