/*
 * Putting jobs: limits, clocks, EXPIRE, recurrence, kicks, lists, tubes, restarts.
 */
#include "fixture.h"

#include <errno.h>

#include "fields.h"

/* ---- limits ---- */

QUEUE_TEST(each_argument_is_refused_beyond_its_limit)
{
    static char many[2000];
    memset(many, 'x', sizeof many);
    const struct {
        size_t offset;
        size_t most;
    } texts[] = {
        {offsetof(struct elapse__queue_put, tube), ELAPSE__QUEUE_TUBE_BYTES_MAX},
        {offsetof(struct elapse__queue_put, key), ELAPSE__QUEUE_KEY_BYTES_MAX},
        {offsetof(struct elapse__queue_put, tag), ELAPSE__QUEUE_KEY_BYTES_MAX},
        {offsetof(struct elapse__queue_put, token), ELAPSE__QUEUE_KEY_BYTES_MAX},
    };
    for (size_t i = 0; i < 4; i++) {
        struct elapse__queue_put edge = job("b");
        struct elapse__queue_text *field = (void *)((char *)&edge + texts[i].offset);
        *field = (struct elapse__queue_text){many, texts[i].most + 1};
        put(f, edge, ELAPSE__QUEUE_ARGUMENT);
        field->size--;
        put(f, edge, ELAPSE__QUEUE_SCHEDULED);
    }
    const uint64_t most = (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX;
    const struct {
        size_t offset;
        enum elapse__queue_when when;
        uint64_t least;
    } durations[] = {
        {offsetof(struct elapse__queue_put, delay_ms), ELAPSE__QUEUE_IN, 0},
        {offsetof(struct elapse__queue_put, period_ms), ELAPSE__QUEUE_EVERY, 1},
        {offsetof(struct elapse__queue_put, ttr_ms), ELAPSE__QUEUE_IN, 1},
        {offsetof(struct elapse__queue_put, expire_ms), ELAPSE__QUEUE_IN, 0},
        {offsetof(struct elapse__queue_put, backoff_max_ms), ELAPSE__QUEUE_IN, 0},
    };
    for (size_t i = 0; i < 5; i++) {
        struct elapse__queue_put edge = job("b");
        uint64_t *field = (void *)((char *)&edge + durations[i].offset);
        edge.when = durations[i].when;
        *field = most + 1;
        put(f, edge, ELAPSE__QUEUE_ARGUMENT);
        *field = most;
        put(f, edge, ELAPSE__QUEUE_SCHEDULED);
        if (durations[i].least == 1) {
            *field = 0;
            put(f, edge, ELAPSE__QUEUE_ARGUMENT);
            *field = 1;
            put(f, edge, ELAPSE__QUEUE_SCHEDULED);
        }
    }
    struct elapse__queue_put edge = job("b");
    edge.when = ELAPSE__QUEUE_AT;
    edge.at_ms = ELAPSE__QUEUE_WALL_MS_MAX + 1;
    put(f, edge, ELAPSE__QUEUE_ARGUMENT);
    edge.at_ms--;
    put(f, edge, ELAPSE__QUEUE_SCHEDULED);
    edge.at_ms = -ELAPSE__QUEUE_WALL_MS_MAX - 1;
    put(f, edge, ELAPSE__QUEUE_ARGUMENT);
    edge.at_ms++;
    put(f, edge, ELAPSE__QUEUE_SCHEDULED);
    edge = job("b");
    edge.backoff_min_ms = 2;
    edge.backoff_max_ms = 1;
    put(f, edge, ELAPSE__QUEUE_ARGUMENT);
    edge = job("b");
    edge.tube = text("");
    put(f, edge, ELAPSE__QUEUE_ARGUMENT);
}

QUEUE_TEST(the_longest_of_everything_fits_into_one_record)
{
    static char many[1024];
    memset(many, 'x', sizeof many);
    struct elapse__queue_put longest = job("body");
    char cron[ELAPSE__QUEUE_CRON_BYTES_MAX + 1];
    memset(cron, ' ', sizeof cron);
    for (size_t i = 0; i < 9; i += 2)
        cron[i] = '*';
    longest.tube = (struct elapse__queue_text){many, ELAPSE__QUEUE_TUBE_BYTES_MAX};
    longest.key = longest.tag = longest.token =
        (struct elapse__queue_text){many, ELAPSE__QUEUE_KEY_BYTES_MAX};
    longest.when = ELAPSE__QUEUE_CRON;
    longest.cron = (struct elapse__queue_text){cron, ELAPSE__QUEUE_CRON_BYTES_MAX};
    longest.expire_ms = longest.backoff_min_ms = longest.backoff_max_ms = 5;
    longest.retry = 3;
    uint64_t id = put(f, longest, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed;
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, id, NULL, true, &handed).result);
    assert_true(log_clean(&f->log, f->queue, f->now, 1));
    ok(f);
    assert_in_range(f->log.records[f->log.count - 1].record.fields_size, 1850, 2016);
}

QUEUE_TEST(ids_of_a_partition_end_below_two_to_the_fifty_third)
{
    elapse__queue_used_id(f->queue, ELAPSE__QUEUE_ID_MAX - 1);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), ELAPSE__QUEUE_ID_MAX);
    put(f, job("b"), ELAPSE__QUEUE_LIMIT);
    restart(f, 0);
    put(f, job("b"), ELAPSE__QUEUE_LIMIT);
}

QUEUE_TEST(ids_carry_the_partition)
{
    f->options.partitions = 8;
    f->options.partition = 3;
    restart(f, 0);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), 11);
    assert_int_equal(put(f, job("b"), ELAPSE__QUEUE_SCHEDULED), 19);
    f->options.partition = 8;
    assert_null(elapse__queue_new(&f->options));
    f->options.partition = 3;
}

QUEUE_TEST(jobs_tubes_and_bodies_have_limits)
{
    f->options.jobs_max = 2;
    f->options.tubes_max = 1;
    f->options.body_bytes_max = 3;
    restart(f, 0);
    put(f, job("1234"), ELAPSE__QUEUE_ARGUMENT);
    put(f, keyed("k", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_ARGUMENT);
    struct elapse__queue_put other = job("123");
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    other.tube = text("u");
    put(f, other, ELAPSE__QUEUE_LIMIT);
    other = keyed("k", ELAPSE__QUEUE_REPLACE);
    other.body = text("1");
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    put(f, other, ELAPSE__QUEUE_REPLACED); /* allowed: it adds no job */
    put(f, job("1"), ELAPSE__QUEUE_LIMIT);
}

QUEUE_TEST(a_sink_that_refuses_changes_nothing)
{
    struct elapse__queue_handed handed;
    uint64_t id = job_in(f, ELAPSE__QUEUE_RESERVED, &handed);
    struct elapse__queue_put with_all = keyed("k2", ELAPSE__QUEUE_REPLACE);
    with_all.token = text("token");
    with_all.expire_ms = 5;
    f->log.refusals = 6;
    put(f, with_all, ELAPSE__QUEUE_REFUSED);
    put(f, keyed("k", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_REFUSED);
    assert_int_equal(elapse__queue_ack(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_REFUSED);
    assert_int_equal(elapse__queue_nack(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_REFUSED);
    assert_int_equal(elapse__queue_extend(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_REFUSED);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_REFUSED);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_RESERVED);
    assert_int_equal(elapse__queue_tokens(f->queue), 0);
    put(f, with_all, ELAPSE__QUEUE_SCHEDULED);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
}

/* ---- clocks ---- */

QUEUE_TEST(a_delay_does_not_follow_the_wall_clock)
{
    struct elapse__queue_put later = job("b");
    later.delay_ms = 5000;
    put(f, later, ELAPSE__QUEUE_SCHEDULED);
    f->now.wall_ms += 1000000;
    while (elapse__queue_turn(f->queue, f->now).more)
        ;
    nothing_ready(f);
    f->now.wall_ms -= 5000000;
    f->now.boot_ms += 5000;
    assert_int_equal(elapse__queue_turn(f->queue, f->now).ready, 1);
    f->now.wall_ms += 4000000 + 5000; /* so that a replay comes to the same times */
}

QUEUE_TEST(a_time_follows_the_wall_clock_set_back_and_forward)
{
    struct elapse__queue_put at = job("b");
    at.when = ELAPSE__QUEUE_AT;
    at.at_ms = f->now.wall_ms + 5000;
    uint64_t id = put(f, at, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 3000);
    f->now.wall_ms -= 100000;
    /* The timer wheel has passed this moment, but the clock, which was set back, has not. */
    at.at_ms = f->now.wall_ms + 50;
    uint64_t soon = put(f, at, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 49);
    nothing_ready(f);
    pass(f, 1);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.id, soon);
    (void)elapse__queue_ack(f->queue, f->now, holder(&handed));
    pass(f, 101949);
    nothing_ready(f);
    f->now.wall_ms += 1;
    pass(f, 0);
    assert_int_equal(take(f).id, id);
}

QUEUE_TEST(a_wall_clock_set_back_moves_a_thousand_timers_a_turn)
{
    struct elapse__queue_put at = job("b");
    at.when = ELAPSE__QUEUE_AT;
    for (int i = 0; i < 2500; i++) {
        at.at_ms = f->now.wall_ms + 5000 + i;
        (void)elapse__queue_put(f->queue, f->now, &at);
    }
    pass(f, 4000);
    f->now.wall_ms -= 50000;
    unsigned turns = 1;
    for (; elapse__queue_turn(f->queue, f->now).more; turns++) {
        assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, f->now.boot_ms);
        if (turns == 2)
            (void)elapse__queue_cancel_id(f->queue, f->now, 1000);
    }
    assert_in_range(turns, 6, 8);
    assert_int_equal(elapse__queue_next_due(f->queue).wall_ms, f->now.wall_ms + 51000);
    assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, UINT64_MAX);
    pass(f, 51000);
    assert_int_equal(elapse__queue_statistics(f->queue).ready, 1);
}

QUEUE_TEST(a_delay_goes_by_the_wall_clock_across_a_restart)
{
    struct elapse__queue_put later = job("b");
    later.delay_ms = 5000;
    uint64_t id = put(f, later, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 1000);
    restart(f, 3000);
    assert_int_equal(look(f, id).left_ms, 1000);
    restart(f, 999);
    nothing_ready(f);
    restart(f, 1);
    assert_int_equal(take(f).id, id);
}

QUEUE_TEST(one_turn_makes_at_most_a_thousand_jobs_ready)
{
    struct elapse__queue_put later = job("b");
    later.delay_ms = 1;
    for (int i = 0; i < 2001; i++)
        (void)elapse__queue_put(f->queue, f->now, &later);
    f->now.boot_ms += 1;
    f->now.wall_ms += 1;
    static const uint32_t expected[] = {1000, 1000, 1};
    for (size_t i = 0; i < 3; i++) {
        struct elapse__queue_turned turned = elapse__queue_turn(f->queue, f->now);
        assert_int_equal(turned.ready, expected[i]);
        assert_int_equal(turned.more, i < 2);
    }
}

/* ---- expire ---- */

QUEUE_TEST(a_job_that_nobody_takes_in_time_is_dropped)
{
    struct elapse__queue_put expiring = job("b");
    expiring.delay_ms = 1000;
    expiring.expire_ms = 500;
    uint64_t id = put(f, expiring, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 1499);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
    pass(f, 1);
    assert_false(exists(f, id));
    assert_int_equal(elapse__queue_statistics(f->queue).expired, 1);
    restart(f, 0);
    assert_false(exists(f, id));
}

QUEUE_TEST(expire_ends_with_the_first_hand_out)
{
    struct elapse__queue_put expiring = job("b");
    expiring.expire_ms = 500;
    uint64_t id = put(f, expiring, ELAPSE__QUEUE_SCHEDULED);
    take(f);
    pass(f, 10000);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
    restart(f, 10000);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
}

QUEUE_TEST(a_job_that_expired_while_the_process_was_down_is_not_handed_out)
{
    struct elapse__queue_put expiring = job("b");
    expiring.delay_ms = 1000;
    expiring.expire_ms = 500;
    uint64_t id = put(f, expiring, ELAPSE__QUEUE_SCHEDULED);
    restart(f, 1500);
    assert_false(exists(f, id));
}

QUEUE_TEST(reserve_drops_what_has_expired_before_the_turn)
{
    struct elapse__queue_put expiring = job("b");
    expiring.expire_ms = 500;
    put(f, expiring, ELAPSE__QUEUE_SCHEDULED);
    f->now.boot_ms += 500;
    f->now.wall_ms += 500;
    nothing_ready(f);
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
    assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, UINT64_MAX);
}

QUEUE_TEST(an_undone_hand_out_does_not_end_expire)
{
    struct elapse__queue_put expiring = job("b");
    expiring.expire_ms = 500;
    uint64_t id = put(f, expiring, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed;
    (void)elapse__queue_reserve_id(f->queue, f->now, id, NULL, false, &handed);
    (void)elapse__queue_lease_undo(f->queue, f->now, holder(&handed));
    pass(f, 500);
    assert_false(exists(f, id));
}

/* ---- recurrence ---- */

QUEUE_TEST(an_acknowledged_occurrence_waits_for_the_next)
{
    struct elapse__queue_put every = job("b");
    every.when = ELAPSE__QUEUE_EVERY;
    every.period_ms = 5000;
    uint64_t id = put(f, every, ELAPSE__QUEUE_SCHEDULED);
    for (int i = 0; i < 3; i++) {
        pass(f, 5000);
        struct elapse__queue_handed handed = take(f);
        assert_int_equal(handed.id, id);
        assert_int_equal(handed.attempt, 1);
        assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
        assert_int_equal(look(f, id).left_ms, 5000);
        restart(f, 0);
    }
}

QUEUE_TEST(missed_occurrences_are_counted_and_reported)
{
    struct elapse__queue_put every = job("b");
    every.when = ELAPSE__QUEUE_EVERY;
    every.period_ms = 1000;
    uint64_t id = put(f, every, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 1000);
    struct elapse__queue_handed handed = take(f);
    pass(f, 3500);
    (void)elapse__queue_ack(f->queue, f->now, holder(&handed));
    assert_int_equal(look(f, id).left_ms, 500); /* the runs stay at full seconds from the put on */
    restart(f, 500);
    handed = take(f);
    assert_int_equal(handed.missed, 3);
    (void)elapse__queue_ack(f->queue, f->now, holder(&handed));
    pass(f, 1000);
    assert_int_equal(take(f).missed, 0);
}

QUEUE_TEST(a_recurring_job_without_retries_left_goes_on)
{
    struct elapse__queue_put every = job("b");
    every.when = ELAPSE__QUEUE_EVERY;
    every.period_ms = 60000;
    every.retry = 2;
    uint64_t id = put(f, every, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 60000);
    for (int i = 0; i < 2; i++) {
        struct elapse__queue_handed handed = take(f);
        assert_int_equal(handed.attempt, i + 1);
        (void)elapse__queue_nack(f->queue, f->now, holder(&handed));
    }
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_DELAYED);
    assert_int_equal(look(f, id).failures, 1);
    pass(f, 60000);
    assert_int_equal(take(f).attempt, 1);
}

QUEUE_TEST(a_recurring_job_that_expires_goes_on)
{
    struct elapse__queue_put every = job("b");
    every.when = ELAPSE__QUEUE_EVERY;
    every.period_ms = 1000;
    every.expire_ms = 100;
    uint64_t id = put(f, every, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 1100);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_DELAYED);
    pass(f, 900);
    assert_int_equal(take(f).missed, 1);
}

QUEUE_TEST(cron_names_the_occurrences)
{
    struct elapse__queue_put cron = job("b");
    cron.when = ELAPSE__QUEUE_CRON;
    cron.cron = text("0 9 * * *");
    f->now.wall_ms = INT64_C(19675) * 86400000; /* a midnight */
    uint64_t id = put(f, cron, ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(look(f, id).left_ms, 9 * 3600000);
    pass(f, 9 * 3600000);
    struct elapse__queue_handed handed = take(f);
    (void)elapse__queue_ack(f->queue, f->now, holder(&handed));
    assert_int_equal(look(f, id).left_ms, 24 * 3600000);
    cron.cron = text("0 25 * * *");
    put(f, cron, ELAPSE__QUEUE_ARGUMENT);
    cron.cron = text("0 9 * * *");
    cron.zone = text("Nowhere/Nothing");
    put(f, cron, ELAPSE__QUEUE_ARGUMENT);
    cron.zone = text("utc");
    put(f, cron, ELAPSE__QUEUE_SCHEDULED);
}

static bool any_zone(void *context, const char *name, const struct elapse_time_zone **zone)
{
    (void)name;
    *zone = context;
    return elapse_time_zone_find("UTC", zone) == ELAPSE_OK;
}

QUEUE_TEST(a_job_whose_zone_is_lost_is_buried_with_the_reason)
{
    f->options.find_zone = any_zone;
    restart(f, 0);
    struct elapse__queue_put cron = job("b");
    cron.when = ELAPSE__QUEUE_CRON;
    cron.cron = text("* * * * *");
    cron.zone = text("Some/Where");
    uint64_t id = put(f, cron, ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_DELAYED);
    /* The next start does not find the time zone; the start after it does. */
    elapse__queue_free(f->queue);
    f->options.find_zone = NULL;
    f->log.records[0].live = 0;
    f->queue = elapse__queue_new(&f->options);
    assert_ok(log_replay(&f->log, f->queue));
    assert_ok(elapse__queue_replay_done(f->queue, f->now, ++f->life));
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_BURIED);
    assert_string_equal(look(f, id).reason, "its time zone or expression cannot be read");
    assert_true(log_clean(&f->log, f->queue, f->now, 1));
    ok(f);
    f->options.find_zone = any_zone;
    elapse__queue_free(f->queue);
    f->log.records[1].live = 0;
    f->queue = elapse__queue_new(&f->options);
    assert_ok(log_replay(&f->log, f->queue));
    assert_ok(elapse__queue_replay_done(f->queue, f->now, ++f->life));
    assert_ok(elapse__queue_kick_id(f->queue, f->now, id).result);
    struct elapse__queue_handed handed = take(f);
    (void)elapse__queue_ack(f->queue, f->now, holder(&handed));
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_DELAYED);
}

/* ---- order, kick, list, tubes ---- */

QUEUE_TEST(jobs_are_handed_out_by_priority_and_then_by_id)
{
    struct elapse__queue_put first = job("b");
    uint64_t ids[50];
    for (uint32_t i = 0; i < 50; i++) {
        first.priority = (i * 7) % 5;
        first.tube = i % 2 == 0 ? text("t") : text("u");
        ids[i] = elapse__queue_put(f->queue, f->now, &first).id;
    }
    struct elapse__queue_text tubes[] = {text("none"), text("u"), text("t")};
    struct elapse__queue_reserve reserve = {.tubes = tubes, .tube_count = 3, .count = 50};
    struct elapse__queue_handed handed[50];
    uint32_t count = 0;
    (void)elapse__queue_reserve(f->queue, f->now, &reserve, handed, &count);
    assert_int_equal(count, 50);
    for (uint32_t i = 1; i < 50; i++)
        assert_true(
            handed[i - 1].priority < handed[i].priority ||
            (handed[i - 1].priority == handed[i].priority && handed[i - 1].id < handed[i].id));
    (void)ids;
}

QUEUE_TEST(kick_takes_the_oldest_buried_jobs_and_then_the_soonest_delayed)
{
    uint64_t buried[3];
    for (int i = 0; i < 3; i++) {
        buried[i] = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
        struct elapse__queue_handed handed = take(f);
        (void)elapse__queue_bury(f->queue, f->now, holder(&handed), NULL);
    }
    struct elapse__queue_put later = job("b");
    for (int i = 0; i < 2500; i++) {
        later.delay_ms = 1000000 - (uint64_t)i * 100;
        (void)elapse__queue_put(f->queue, f->now, &later);
    }
    static struct elapse__queue_kick kick;
    kick = (struct elapse__queue_kick){.tube = text("t"), .wanted = 2};
    assert_ok(elapse__queue_kick(f->queue, f->now, &kick));
    elapse__queue_kick_end(f->queue, &kick);
    assert_int_equal(kick.kicked, 2);
    assert_int_equal(state_of(f, buried[0]), ELAPSE__QUEUE_READY);
    assert_int_equal(state_of(f, buried[1]), ELAPSE__QUEUE_READY);
    assert_int_equal(state_of(f, buried[2]), ELAPSE__QUEUE_BURIED);
    kick = (struct elapse__queue_kick){.tube = text("t"), .wanted = 10};
    while (elapse__queue_kick(f->queue, f->now, &kick) == ELAPSE__QUEUE_KEPT)
        ;
    elapse__queue_kick_end(f->queue, &kick);
    assert_int_equal(kick.kicked, 1); /* a kick takes only buried jobs while there are any */
    kick = (struct elapse__queue_kick){.tube = text("t"), .wanted = 1200};
    unsigned slices = 1;
    for (; elapse__queue_kick(f->queue, f->now, &kick) == ELAPSE__QUEUE_KEPT; slices++)
        ;
    elapse__queue_kick_end(f->queue, &kick);
    assert_int_equal(slices, 4); /* three slices look at 2,503 places; two kick 1,200 jobs */
    assert_int_equal(kick.kicked, 1200);
    struct elapse__queue_soonest soonest = {.tube = text("t")};
    while (!elapse__queue_peek_delayed(f->queue, f->now, &soonest, 100))
        ;
    assert_int_equal(look(f, soonest.id).left_ms, 1000000 - 1299 * 100);
}

/* Puts `jobs` jobs, in turns by the boot-time clock and by the wall clock. Job i is due in 1,000 +
 * i * 7919 % jobs milliseconds. */
static void put_mixed(struct fixture *f, uint32_t jobs)
{
    struct elapse__queue_put later = job("b");
    for (uint32_t i = 1; i <= jobs; i++) {
        later.delay_ms = 1000 + i * UINT64_C(7919) % jobs;
        later.at_ms = f->now.wall_ms + (int64_t)later.delay_ms;
        later.when = i % 2 == 0 ? ELAPSE__QUEUE_IN : ELAPSE__QUEUE_AT;
        assert_int_equal(elapse__queue_put(f->queue, f->now, &later).id, i);
    }
}

/* Kicks `wanted` jobs of the tube "t", and expects that these were the ones due soonest. Returns
 * how many slices the kick took. */
static unsigned kick_soonest(struct fixture *f, uint32_t jobs, uint64_t wanted, uint32_t pass_max)
{
    struct elapse__queue_kick kick = {.tube = text("t"), .wanted = wanted, .pass_max = pass_max};
    unsigned slices = 1;
    for (; elapse__queue_kick(f->queue, f->now, &kick) == ELAPSE__QUEUE_KEPT; slices++)
        ;
    elapse__queue_kick_end(f->queue, &kick);
    assert_int_equal(kick.kicked, wanted);
    for (uint32_t i = 1; i <= jobs; i++)
        assert_int_equal(state_of(f, i), i * UINT64_C(7919) % jobs < wanted
                                             ? ELAPSE__QUEUE_READY
                                             : ELAPSE__QUEUE_DELAYED);
    return slices;
}

QUEUE_TEST(kick_of_many_delayed_jobs_looks_at_each_job_once)
{
    enum { JOBS = 20000 };
    put_mixed(f, JOBS);
    /* A slice looks at 1,000 places; later a slice kicks 1,000 jobs. */
    assert_in_range(kick_soonest(f, JOBS, JOBS - 500, 0), 39, 41);
}

QUEUE_TEST(kick_of_more_jobs_than_a_pass_chooses_takes_more_passes)
{
    enum { JOBS = 5000 };
    put_mixed(f, JOBS);
    /* Three passes of five slices. Two of the passes need one more slice to kick what they chose.
     */
    assert_int_equal(kick_soonest(f, JOBS, 3800, 1500), 3 * 5 + 2);
}

QUEUE_TEST(kick_of_buried_jobs_alone_takes_no_delayed_job)
{
    struct elapse__queue_put later = job("b");
    later.delay_ms = 1000;
    uint64_t delayed = put(f, later, ELAPSE__QUEUE_SCHEDULED);
    uint64_t buried = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    for (unsigned round = 0; round < 2; round++) {
        struct elapse__queue_kick kick = {.tube = text("t"), .wanted = 9, .only_buried = true};
        assert_ok(elapse__queue_kick(f->queue, f->now, &kick));
        elapse__queue_kick_end(f->queue, &kick);
        assert_int_equal(kick.kicked, round == 0 ? 1 : 0);
        assert_int_equal(state_of(f, buried), ELAPSE__QUEUE_READY);
        assert_int_equal(state_of(f, delayed), ELAPSE__QUEUE_DELAYED);
    }
}

/* A journal that takes nothing now is asked again, about the same job. */
QUEUE_TEST(kick_passes_over_no_job_when_the_journal_is_busy)
{
    enum { JOBS = 10 };
    put_mixed(f, JOBS);
    struct elapse__queue_kick kick = {.tube = text("t"), .wanted = 1000};
    f->log.refusals = 2;
    f->log.refusal = EAGAIN;
    assert_int_equal(elapse__queue_kick(f->queue, f->now, &kick), ELAPSE__QUEUE_REFUSED);
    assert_int_equal(elapse__queue_kick(f->queue, f->now, &kick), ELAPSE__QUEUE_REFUSED);
    assert_ok(elapse__queue_kick(f->queue, f->now, &kick));
    elapse__queue_kick_end(f->queue, &kick);
    assert_int_equal(kick.kicked, JOBS);
    for (uint64_t id = 1; id <= JOBS; id++)
        assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
}

QUEUE_TEST(list_shows_each_job_exactly_once_and_cancel_all_goes_by_tag)
{
    struct elapse__queue_put tagged = job("b");
    for (int i = 0; i < 300; i++) {
        tagged.tag = i % 3 == 0 ? text("red") : text("blue");
        tagged.delay_ms = (uint64_t)i;
        (void)elapse__queue_put(f->queue, f->now, &tagged);
    }
    struct elapse__queue_filter red = {.tube = text("t"), .tag = text("red")};
    struct elapse__queue_view views[7];
    static bool shown[301];
    memset(shown, 0, sizeof shown);
    uint32_t cursor = 0;
    unsigned total = 0;
    do {
        uint32_t count = elapse__queue_list(f->queue, f->now, &red, &cursor, 20, views, 7);
        for (uint32_t i = 0; i < count; i++) {
            assert_false(shown[views[i].id]);
            shown[views[i].id] = true;
            total++;
        }
        (void)elapse__queue_put(f->queue, f->now, &tagged);
        (void)elapse__queue_cancel_id(f->queue, f->now, 2 + total);
    } while (cursor != 0);
    for (uint64_t id = 1; id <= 300; id += 3)
        assert_true(shown[id] || !exists(f, id));
    uint64_t removed = 0;
    uint64_t running = 0;
    uint64_t before = elapse__queue_jobs(f->queue);
    do
        (void)elapse__queue_cancel_all(f->queue, f->now, &red, &cursor, 20, &removed, &running);
    while (cursor != 0);
    assert_int_equal(elapse__queue_jobs(f->queue), before - removed);
    assert_int_equal(elapse__queue_list(f->queue, f->now, &red, &cursor, 10000, views, 7), 0);
    ok(f);
}

QUEUE_TEST(a_paused_tube_hands_nothing_out)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    assert_ok(elapse__queue_pause(f->queue, f->now, text("t"), 5000).result);
    assert_int_equal(elapse__queue_pause(f->queue, f->now, text("x"), 1).result,
                     ELAPSE__QUEUE_GONE);
    nothing_ready(f);
    assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, f->now.boot_ms + 5000);
    struct elapse__queue_statistics statistics;
    pass(f, 4999);
    (void)elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics);
    assert_int_equal(statistics.pause_ms, 5000);
    assert_int_equal(statistics.pause_left_ms, 1);
    nothing_ready(f);
    pass(f, 1);
    take(f);
}

QUEUE_TEST(a_tube_lasts_as_long_as_its_jobs_or_holds)
{
    uint32_t cursor = 0;
    uint32_t most = 9;
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(elapse__queue_tubes(f->queue, &cursor, &most).size, 1);
    assert_int_equal(elapse__queue_tubes(f->queue, &cursor, &most).size, 0);
    (void)elapse__queue_cancel_id(f->queue, f->now, id);
    assert_int_equal(elapse__queue_tubes(f->queue, &cursor, &most).size, 0);
    assert_ok(elapse__queue_tube_hold(f->queue, text("t")));
    id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    (void)elapse__queue_cancel_id(f->queue, f->now, id);
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    assert_int_equal(statistics.total_jobs, 1);
    assert_int_equal(statistics.cancelled, 1);
    elapse__queue_tube_drop(f->queue, text("t"));
    assert_int_equal(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics),
                     ELAPSE__QUEUE_GONE);
}

/* ---- cleaning ---- */

/* Returns the time of the put, as the record of the job has it. */
static int64_t put_time(struct fixture *f, uint64_t id)
{
    uint64_t position = look(f, id).position;
    for (size_t i = f->log.tail; i < f->log.count; i++) {
        struct elapse__queue_fields fields;
        if (f->log.records[i].position != position)
            continue;
        assert_true(elapse__queue_fields_decode(&fields, &f->log.records[i].record));
        return fields.put_ms;
    }
    fail();
    return 0;
}

QUEUE_TEST(a_job_keeps_the_time_of_its_put)
{
    struct elapse__queue_put late = job("late");
    int64_t begin_ms = f->now.wall_ms;
    late.delay_ms = 9000;
    uint64_t soon = put(f, job("soon"), ELAPSE__QUEUE_SCHEDULED);
    uint64_t first = put(f, late, ELAPSE__QUEUE_SCHEDULED);
    uint64_t moved = put(f, late, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 100);
    struct elapse__queue_time in = {.when = ELAPSE__QUEUE_IN, .delay_ms = 500};
    assert_int_equal(elapse__queue_reschedule_id(f->queue, f->now, moved, in).result,
                     ELAPSE__QUEUE_RESCHEDULED);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(put_time(f, soon), begin_ms);
        assert_int_equal(put_time(f, first), begin_ms);
        assert_int_equal(put_time(f, moved), begin_ms);
        pass(f, 1000);
        if (round == 1)
            restart(f, 5000);
        assert_true(log_clean(&f->log, f->queue, f->now, f->log.count - f->log.tail));
        ok(f);
    }
}

QUEUE_TEST(cleaning_keeps_jobs_as_they_are)
{
    struct elapse__queue_handed handed;
    uint64_t id = job_in(f, ELAPSE__QUEUE_RESERVED, &handed);
    pass(f, 4000);
    uint64_t dead = put(f, job("dead"), ELAPSE__QUEUE_SCHEDULED);
    (void)elapse__queue_cancel_id(f->queue, f->now, dead);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    ok(f);
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_PUT), 1);
    restart(f, 0);
    assert_int_equal(look(f, id).left_ms, 6000);
    put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_KEY_TAKEN);
    f->log.refusals = 1;
    assert_false(log_clean(&f->log, f->queue, f->now, 1));
    struct elapse__queue_text body = log_body(&f->log, look(f, id).position);
    assert_int_equal(body.size, 4);
    assert_memory_equal(body.bytes, "body", 4);
}

QUEUE_TEST(records_that_no_queue_writes_are_refused)
{
    put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue *other = elapse__queue_new(&f->options);
    struct elapse__record record = f->log.records[0].record;
    uint16_t size = record.fields_size;
    for (record.fields_size = 0; record.fields_size < size; record.fields_size++)
        assert_int_equal(elapse__queue_replay(other, 8, &record), ELAPSE__QUEUE_ARGUMENT);
    assert_int_equal(elapse__queue_replay(other, 9, &record), ELAPSE__QUEUE_ARGUMENT);
    assert_int_equal(elapse__queue_replay(other, 0, &record), ELAPSE__QUEUE_ARGUMENT);
    assert_int_equal(elapse__queue_replay(other, ELAPSE__QUEUE_POSITION_MAX + 8, &record),
                     ELAPSE__QUEUE_ARGUMENT);
    record.type = ELAPSE__RECORD_SEAL;
    assert_int_equal(elapse__queue_replay(other, 8, &record), ELAPSE__QUEUE_ARGUMENT);
    assert_int_equal(elapse__queue_jobs(other), 0);
    elapse__queue_free(other);
}

TEST_MAIN("job")
