/*
 * Tests of every way in which a lease begins, changes and ends.
 */
#include "fixture.h"

static enum elapse__queue_result ack(struct fixture *f, const struct elapse__queue_handed *handed)
{
    enum elapse__queue_result result = elapse__queue_ack(f->queue, f->now, holder(handed)).result;
    ok(f);
    return result;
}

static enum elapse__queue_result nack(struct fixture *f, const struct elapse__queue_handed *handed)
{
    enum elapse__queue_result result = elapse__queue_nack(f->queue, f->now, holder(handed)).result;
    ok(f);
    return result;
}

QUEUE_TEST(ack_ends_the_job)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.id, id);
    assert_int_equal(handed.attempt, 1);
    assert_ok(ack(f, &handed));
    assert_false(exists(f, id));
    assert_int_equal(ack(f, &handed), ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(nack_without_back_off_is_ready_again)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed first = take(f);
    assert_ok(nack(f, &first));
    struct elapse__queue_handed second = take(f);
    assert_int_equal(second.id, first.id);
    assert_int_equal(second.attempt, 2);
    assert_true(second.lease.number > first.lease.number);
    assert_int_equal(ack(f, &first), ELAPSE__QUEUE_GONE);
    assert_ok(ack(f, &second));
}

/* The present may be rounded down by up to a millisecond. So a delay or a ttr counts from the next
 * millisecond on. */
static void round_down(struct fixture *f)
{
    elapse__queue_free(f->queue);
    f->options.present_is_rounded = true;
    f->queue = elapse__queue_new(&f->options);
    assert_non_null(f->queue);
    assert_ok(elapse__queue_replay_done(f->queue, f->now, f->life));
}

QUEUE_TEST(nothing_is_early_when_the_present_is_rounded_down)
{
    round_down(f);
    struct elapse__queue_put later = job("b");
    later.when = ELAPSE__QUEUE_IN;
    later.delay_ms = 3;
    uint64_t id = put(f, later, ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(look(f, id).left_ms, 3);
    pass(f, 3);
    nothing_ready(f);
    pass(f, 1);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack_in(f->queue, f->now, holder(&handed), 2).result);
    pass(f, 2);
    nothing_ready(f);
    pass(f, 1);
    handed = take(f);
    assert_ok(elapse__queue_lease_begin(f->queue, f->now, holder(&handed)));
    assert_int_equal(look(f, id).left_ms, later.ttr_ms);
    pass(f, later.ttr_ms);
    nothing_ready(f);
    pass(f, 1);
    /* A delay of 0 stays 0: the rounding adds nothing to it. */
    handed = take(f);
    assert_ok(elapse__queue_nack_in(f->queue, f->now, holder(&handed), 0).result);
    (void)take(f);
}

QUEUE_TEST(no_first_occurrence_longest_wait_or_expiry_is_early_when_the_present_is_rounded_down)
{
    round_down(f);
    struct elapse__queue_put some = job("every");
    some.when = ELAPSE__QUEUE_EVERY;
    some.period_ms = 3;
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    some = keyed("k", ELAPSE__QUEUE_DEBOUNCE);
    some.delay_ms = 3;
    some.debounce_max_ms = 3;
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 3);
    nothing_ready(f);
    pass(f, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct elapse__queue_handed handed = take(f);
        assert_ok(ack(f, &handed));
    }
    some = job("expires");
    some.expire_ms = 2;
    uint64_t id = put(f, some, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 2);
    assert_true(exists(f, id));
    pass(f, 1);
    assert_false(exists(f, id));
}

QUEUE_TEST(nack_with_a_delay_waits_for_it)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack_in(f->queue, f->now, holder(&handed), 2000).result);
    assert_int_equal(look(f, id).left_ms, 2000);
    pass(f, 1999);
    nothing_ready(f);
    pass(f, 1);
    assert_int_equal(take(f).attempt, 1);
}

/* A worker that gives a job back with a delay has not failed. RETRY counts only leases that end
 * unanswered, and nacks without a delay. */
QUEUE_TEST(nack_with_a_delay_takes_no_retry)
{
    struct elapse__queue_put put_twice = job("b");
    put_twice.retry = 2;
    uint64_t id = put(f, put_twice, ELAPSE__QUEUE_SCHEDULED);
    for (int i = 0; i < 5; i++) {
        struct elapse__queue_handed handed = take(f);
        assert_int_equal(handed.attempt, 1);
        assert_ok(elapse__queue_nack_in(f->queue, f->now, holder(&handed), 1).result);
        pass(f, 1);
        ok(f);
    }
    struct elapse__queue_handed first = take(f);
    assert_ok(nack(f, &first));
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
    struct elapse__queue_handed second = take(f);
    assert_int_equal(second.attempt, 2);
    assert_ok(nack(f, &second));
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_BURIED);
}

QUEUE_TEST(a_lease_ends_exactly_with_its_ttr)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    pass(f, 9999);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_RESERVED);
    pass(f, 1);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
    assert_int_equal(look(f, id).timeouts, 1);
    assert_int_equal(ack(f, &handed), ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(an_ack_after_ttr_and_before_the_turn_is_gone)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    f->now.boot_ms += 10000;
    f->now.wall_ms += 10000;
    assert_int_equal(elapse__queue_ack(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_GONE);
    assert_int_equal(elapse__queue_extend(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_GONE);
    pass(f, 0);
    assert_int_equal(take(f).attempt, 2);
}

QUEUE_TEST(extend_counts_ttr_anew)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    pass(f, 6000);
    assert_ok(elapse__queue_extend(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(look(f, id).left_ms, 10000);
    restart(f, 9999);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_RESERVED);
    pass(f, 1);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
}

QUEUE_TEST(bury_waits_for_a_kick)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    uint32_t priority = 3;
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), &priority).result);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_BURIED);
    assert_int_equal(look(f, id).priority, 3);
    assert_string_equal(look(f, id).reason, "a worker buried it");
    restart(f, 100000);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_BURIED);
    assert_ok(elapse__queue_kick_id(f->queue, f->now, id).result);
    assert_int_equal(take(f).id, id);
}

QUEUE_TEST(cancel_of_a_job_that_waits_removes_it)
{
    static const enum elapse__queue_state states[] = {ELAPSE__QUEUE_DELAYED, ELAPSE__QUEUE_READY,
                                                      ELAPSE__QUEUE_BURIED};
    for (size_t i = 0; i < 3; i++) {
        uint64_t id = job_in(f, states[i], NULL);
        struct elapse__queue_answer answer =
            elapse__queue_cancel_key(f->queue, f->now, text("t"), text("k"));
        assert_int_equal(answer.result, ELAPSE__QUEUE_REMOVED);
        assert_int_equal(answer.id, id);
        assert_false(exists(f, id));
        assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_GONE);
        restart(f, 0);
        assert_false(exists(f, id));
    }
}

/* Takes a job and cancels it, which makes it a shadow: a job that only waits for its lease to end.
 */
static struct elapse__queue_handed shadow(struct fixture *f)
{
    struct elapse__queue_handed handed;
    job_in(f, ELAPSE__QUEUE_RESERVED, &handed);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, handed.id).result,
                     ELAPSE__QUEUE_RUNNING);
    assert_int_equal(state_of(f, handed.id), ELAPSE__QUEUE_SHADOW);
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
    ok(f);
    return handed;
}

QUEUE_TEST(cancel_of_a_reserved_job_says_running_twice)
{
    struct elapse__queue_handed handed = shadow(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, handed.id).result,
                     ELAPSE__QUEUE_RUNNING);
    assert_int_equal(elapse__queue_cancel_key(f->queue, f->now, text("t"), text("k")).result,
                     ELAPSE__QUEUE_RUNNING);
    put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_SCHEDULED);
    restart(f, 0);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, handed.id).result,
                     ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(ack_of_a_shadow_is_ok)
{
    struct elapse__queue_handed handed = shadow(f);
    assert_ok(ack(f, &handed));
    assert_false(exists(f, handed.id));
    assert_int_equal(ack(f, &handed), ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(nack_of_a_shadow_ends_it)
{
    struct elapse__queue_handed handed = shadow(f);
    assert_int_equal(nack(f, &handed), ELAPSE__QUEUE_CANCELLED);
    assert_false(exists(f, handed.id));
}

QUEUE_TEST(bury_of_a_shadow_ends_it)
{
    struct elapse__queue_handed handed = shadow(f);
    assert_int_equal(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result,
                     ELAPSE__QUEUE_CANCELLED);
    assert_false(exists(f, handed.id));
}

QUEUE_TEST(extend_of_a_shadow_says_cancelled_and_changes_nothing)
{
    struct elapse__queue_handed handed = shadow(f);
    pass(f, 9999);
    assert_int_equal(elapse__queue_extend(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_CANCELLED);
    assert_int_equal(state_of(f, handed.id), ELAPSE__QUEUE_SHADOW);
    pass(f, 1);
    assert_false(exists(f, handed.id));
}

QUEUE_TEST(a_shadow_is_never_handed_out_again)
{
    shadow(f);
    pass(f, 100000);
    nothing_ready(f);
    restart(f, 0);
    nothing_ready(f);
}

QUEUE_TEST(a_lease_survives_a_restart_and_its_name_counts)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    restart(f, 4000);
    nothing_ready(f);
    assert_int_equal(look(f, handed.id).left_ms, 6000);
    assert_ok(ack(f, &handed));
    assert_false(exists(f, handed.id));
}

QUEUE_TEST(the_name_of_a_lease_never_repeats)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed old = take(f);
    restart(f, 20000);
    struct elapse__queue_handed next = take(f);
    assert_int_equal(next.id, old.id);
    assert_int_equal(next.lease.number, old.lease.number); /* only the life differs */
    assert_true(next.lease.life > old.lease.life);
    assert_int_equal(ack(f, &old), ELAPSE__QUEUE_GONE);
    assert_ok(ack(f, &next));
}

QUEUE_TEST(a_life_that_has_been_is_refused)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    take(f);
    struct elapse__queue *next = elapse__queue_new(&f->options);
    struct log copy = f->log;
    int64_t live = f->log.records[0].live;
    assert_ok(log_replay(&copy, next));
    assert_int_equal(elapse__queue_replay_done(next, f->now, f->life), ELAPSE__QUEUE_ARGUMENT);
    assert_ok(elapse__queue_replay_done(next, f->now, f->life + 1));
    f->log.records[0].live = live;
    elapse__queue_free(next);
}

QUEUE_TEST(a_lease_of_an_earlier_life_counts_no_attempt_unless_its_worker_speaks)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    restart(f, 10000);
    handed = take(f);
    assert_int_equal(handed.attempt, 1);
    restart(f, 0);
    assert_ok(nack(f, &handed));
    assert_int_equal(take(f).attempt, 2);
}

static struct elapse__queue_handed take_for(struct fixture *f, bool begin)
{
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 1, .begin = begin, .connection = &f->connection};
    struct elapse__queue_handed handed = {0};
    uint32_t count = 0;
    (void)elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &count);
    assert_int_equal(count, 1);
    ok(f);
    return handed;
}

QUEUE_TEST(ttr_runs_from_the_reply)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take_for(f, false);
    pass(f, 50000);
    assert_int_equal(state_of(f, handed.id), ELAPSE__QUEUE_RESERVED);
    assert_ok(elapse__queue_lease_begin(f->queue, f->now, holder(&handed)));
    pass(f, 9999);
    assert_int_equal(state_of(f, handed.id), ELAPSE__QUEUE_RESERVED);
    assert_ok(elapse__queue_lease_begin(f->queue, f->now, holder(&handed)));
    pass(f, 1);
    assert_int_equal(state_of(f, handed.id), ELAPSE__QUEUE_READY);
}

QUEUE_TEST(a_hand_out_that_could_not_leave_is_undone)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take_for(f, false);
    assert_ok(elapse__queue_lease_undo(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(look(f, handed.id).reserves, 0);
    struct elapse__queue_handed next = take(f);
    assert_int_equal(next.attempt, 1);
    assert_int_equal(elapse__queue_lease_undo(f->queue, f->now, holder(&next)).result,
                     ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(a_lease_that_cannot_be_undone_ends_with_its_ttr)
{
    for (int damaged = 0; damaged < 2; damaged++) {
        put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
        struct elapse__queue_handed handed = take_for(f, false);
        f->log.refusals = 1;
        struct elapse__queue_answer answer =
            damaged ? elapse__queue_bury_damaged(f->queue, f->now, handed.id)
                    : elapse__queue_lease_undo(f->queue, f->now, holder(&handed));
        assert_int_equal(answer.result, ELAPSE__QUEUE_REFUSED);
        assert_int_equal(state_of(f, handed.id), ELAPSE__QUEUE_RESERVED);
        pass(f, 10000);
        assert_int_equal(state_of(f, handed.id), ELAPSE__QUEUE_READY);
        struct elapse__queue_handed again = take(f);
        assert_ok(ack(f, &again));
    }
}

static uint64_t below_limit(const void *limit, struct elapse__queue_now now, uint64_t position)
{
    (void)now;
    return position < *(const uint64_t *)limit ? 500 : 0;
}

/* The records of the first two jobs cannot be read. A reserve delays these jobs, without a record,
 * and hands out the third one. */
QUEUE_TEST(a_reserve_passes_over_records_that_are_not_to_be_read)
{
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_handed handed[4];
    uint32_t count = 0;
    put(f, job("bad"), ELAPSE__QUEUE_SCHEDULED);
    put(f, job("bad, too"), ELAPSE__QUEUE_SCHEDULED);
    uint64_t good = put(f, job("good"), ELAPSE__QUEUE_SCHEDULED);
    uint64_t limit = look(f, good).position;
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 4, .unread_ms = below_limit, .context = &limit};
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, handed, &count).result);
    assert_int_equal(count, 1);
    assert_int_equal(handed[0].id, good);
    assert_int_equal(elapse__queue_statistics(f->queue).delayed, 2);
    assert_int_equal(elapse__queue_check(f->queue), 0);
    f->now.boot_ms += 500;
    f->now.wall_ms += 500;
    limit = 0;
    assert_int_equal(elapse__queue_turn(f->queue, f->now).ready, 2);
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, handed, &count).result);
    assert_int_equal(count, 2);
}

QUEUE_TEST(a_damaged_body_is_lost_when_its_record_is_copied)
{
    for (int copies = 0; copies < 2; copies++) {
        if (copies == 0)
            put(f, job("body"), ELAPSE__QUEUE_SCHEDULED);
        struct log_record *record = &f->log.records[f->log.tail];
        free((void *)(uintptr_t)record->record.body);
        record->record.body = NULL;
        assert_true(log_clean(&f->log, f->queue, f->now, 1));
        record = &f->log.records[f->log.count - 1];
        assert_int_equal(record->record.type, ELAPSE__RECORD_PUT);
        assert_int_equal(record->record.body_size, 0);
        assert_int_equal(record->record.flags, ELAPSE__RECORD_BODY_LOST);
        ok(f);
    }
}

QUEUE_TEST(a_closed_connection_gives_its_jobs_back)
{
    for (int i = 0; i < 3; i++)
        put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed begun = take_for(f, true);
    struct elapse__queue_handed not_begun = take_for(f, false);
    struct elapse__queue_handed other = take(f);
    assert_false(elapse__queue_connection_close(f->queue, f->now, &f->connection, 1));
    assert_true(elapse__queue_connection_close(f->queue, f->now, &f->connection, 1));
    assert_int_equal(state_of(f, begun.id), ELAPSE__QUEUE_READY);
    assert_int_equal(look(f, begun.id).attempts, 1);
    assert_int_equal(state_of(f, not_begun.id), ELAPSE__QUEUE_READY);
    assert_int_equal(look(f, not_begun.id).attempts, 0);
    assert_int_equal(state_of(f, other.id), ELAPSE__QUEUE_RESERVED);
}

QUEUE_TEST(a_connection_holds_its_jobs_without_their_names)
{
    struct elapse__queue_connection stranger;
    elapse__queue_connection_init(&stranger);
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take_for(f, true);
    struct elapse__queue_holder mine = {.id = handed.id, .connection = &f->connection};
    struct elapse__queue_holder theirs = {.id = handed.id, .connection = &stranger};
    assert_int_equal(elapse__queue_extend(f->queue, f->now, theirs).result, ELAPSE__QUEUE_GONE);
    assert_ok(elapse__queue_extend(f->queue, f->now, mine).result);
    assert_int_equal(elapse__queue_delete(f->queue, f->now, handed.id, &stranger).result,
                     ELAPSE__QUEUE_GONE);
    assert_ok(elapse__queue_release(f->queue, f->now, mine, 7, 0).result);
    assert_int_equal(look(f, handed.id).priority, 7);
    assert_int_equal(look(f, handed.id).releases, 1);
    assert_ok(elapse__queue_delete(f->queue, f->now, handed.id, &stranger).result);
    assert_false(exists(f, handed.id));
}

QUEUE_TEST(retries_back_off_and_end_among_the_buried)
{
    struct elapse__queue_put retried = job("b");
    retried.retry = 4;
    retried.backoff_min_ms = 1000;
    retried.backoff_max_ms = 5000;
    uint64_t id = put(f, retried, ELAPSE__QUEUE_SCHEDULED);
    static const uint64_t least[] = {1000, 2000, 2500};
    static const uint64_t most[] = {2000, 4000, 5000};
    for (size_t i = 0; i < 3; i++) {
        struct elapse__queue_handed handed = take(f);
        assert_ok(nack(f, &handed));
        uint64_t wait_ms = look(f, id).left_ms;
        assert_in_range(wait_ms, least[i], most[i]);
        pass(f, wait_ms);
    }
    take(f);
    pass(f, 10000); /* the end of the lease counts as a failed attempt, too */
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_BURIED);
    assert_string_equal(look(f, id).reason, "no retry was left");
    assert_ok(elapse__queue_kick_id(f->queue, f->now, id).result);
    assert_int_equal(take(f).attempt, 1);
}

QUEUE_TEST(the_jitter_of_retries_spreads_them)
{
    struct elapse__queue_put retried = job("b");
    retried.backoff_min_ms = 100000;
    retried.backoff_max_ms = 1000000;
    uint64_t sum = 0;
    for (int i = 0; i < 32; i++) {
        uint64_t id = put(f, retried, ELAPSE__QUEUE_SCHEDULED);
        struct elapse__queue_handed handed = take(f);
        (void)elapse__queue_nack(f->queue, f->now, holder(&handed));
        assert_in_range(look(f, id).left_ms, 100000, 200000);
        sum += look(f, id).left_ms - 100000;
    }
    assert_in_range(sum / 32, 25000, 75000);
}

QUEUE_TEST(reschedule_says_running_of_a_job_that_a_worker_has)
{
    struct elapse__queue_time later = {.when = ELAPSE__QUEUE_IN, .delay_ms = 9000};
    struct elapse__queue_handed handed;
    job_in(f, ELAPSE__QUEUE_RESERVED, &handed);
    assert_int_equal(
        elapse__queue_reschedule_key(f->queue, f->now, text("t"), text("k"), later).result,
        ELAPSE__QUEUE_RUNNING);
    (void)elapse__queue_bury(f->queue, f->now, holder(&handed), NULL);
    assert_int_equal(
        elapse__queue_reschedule_key(f->queue, f->now, text("t"), text("k"), later).result,
        ELAPSE__QUEUE_RESCHEDULED);
    assert_int_equal(look(f, handed.id).left_ms, 9000);
    later.when = ELAPSE__QUEUE_AT;
    later.at_ms = f->now.wall_ms + 50;
    assert_int_equal(elapse__queue_reschedule_id(f->queue, f->now, handed.id, later).result,
                     ELAPSE__QUEUE_RESCHEDULED);
    assert_int_equal(elapse__queue_reschedule_id(f->queue, f->now, 999, later).result,
                     ELAPSE__QUEUE_GONE);
    later.when = ELAPSE__QUEUE_CRON;
    assert_int_equal(elapse__queue_reschedule_id(f->queue, f->now, handed.id, later).result,
                     ELAPSE__QUEUE_ARGUMENT);
    pass(f, 50);
    assert_int_equal(take(f).id, handed.id);
}

QUEUE_TEST(reserve_by_id_takes_a_job_whatever_its_due_time)
{
    static const enum elapse__queue_state states[] = {ELAPSE__QUEUE_DELAYED, ELAPSE__QUEUE_READY,
                                                      ELAPSE__QUEUE_BURIED};
    for (size_t i = 0; i < 3; i++) {
        struct elapse__queue_handed handed;
        uint64_t id = job_in(f, states[i], NULL);
        assert_ok(elapse__queue_reserve_id(f->queue, f->now, id, NULL, true, &handed).result);
        assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, id, NULL, true, &handed).result,
                         ELAPSE__QUEUE_RUNNING);
        assert_ok(ack(f, &handed));
        assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, id, NULL, true, &handed).result,
                         ELAPSE__QUEUE_GONE);
    }
}

QUEUE_TEST(a_job_with_a_damaged_body_is_buried)
{
    uint64_t id = job_in(f, ELAPSE__QUEUE_RESERVED, NULL);
    assert_ok(elapse__queue_bury_damaged(f->queue, f->now, id).result);
    assert_string_equal(look(f, id).reason, "its body is damaged");
    restart(f, 0);
    assert_string_equal(look(f, id).reason, "its body is damaged");
    assert_int_equal(elapse__queue_bury_damaged(f->queue, f->now, 99).result, ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(peek_shows_the_next_ready_and_the_oldest_buried)
{
    struct elapse__queue_view view;
    struct elapse__queue_put later = job("b");
    later.delay_ms = 1000;
    put(f, later, ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(elapse__queue_peek_ready(f->queue, f->now, text("t"), &view),
                     ELAPSE__QUEUE_GONE);
    assert_int_equal(elapse__queue_peek_buried(f->queue, f->now, text("t"), &view),
                     ELAPSE__QUEUE_GONE);
    assert_int_equal(elapse__queue_peek_ready(f->queue, f->now, text("none"), &view),
                     ELAPSE__QUEUE_GONE);
    assert_int_equal(elapse__queue_peek_buried(f->queue, f->now, text("none"), &view),
                     ELAPSE__QUEUE_GONE);
    struct elapse__queue_put urgent = job("b");
    urgent.priority = 5;
    uint64_t first = put(f, urgent, ELAPSE__QUEUE_SCHEDULED);
    urgent.priority = 3;
    uint64_t second = put(f, urgent, ELAPSE__QUEUE_SCHEDULED);
    assert_ok(elapse__queue_peek_ready(f->queue, f->now, text("t"), &view));
    assert_int_equal(view.id, second);
    assert_int_equal(view.state, ELAPSE__QUEUE_READY);
    assert_int_equal(view.priority, 3);
    struct elapse__queue_handed taken[2];
    for (int i = 0; i < 2; i++) {
        taken[i] = take(f);
        assert_int_equal(taken[i].id, i == 0 ? second : first);
    }
    assert_int_equal(elapse__queue_peek_ready(f->queue, f->now, text("t"), &view),
                     ELAPSE__QUEUE_GONE);
    for (int i = 1; i >= 0; i--) /* the first job is buried first */
        assert_ok(elapse__queue_bury(f->queue, f->now, holder(&taken[i]), NULL).result);
    for (int i = 0; i < 2; i++) {
        assert_ok(elapse__queue_peek_buried(f->queue, f->now, text("t"), &view));
        assert_int_equal(view.id, i == 0 ? first : second);
        assert_int_equal(view.state, ELAPSE__QUEUE_BURIED);
        assert_non_null(view.reason);
        assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, view.id).result,
                         ELAPSE__QUEUE_REMOVED);
    }
    assert_int_equal(elapse__queue_peek_buried(f->queue, f->now, text("t"), &view),
                     ELAPSE__QUEUE_GONE);
    ok(f);
}

QUEUE_TEST(has_ready_says_what_reserve_would_find)
{
    struct elapse__queue_text tubes[] = {text("none"), text("t")};
    struct elapse__queue_reserve both = {.tubes = tubes, .tube_count = 2, .count = 1};
    struct elapse__queue_reserve none = {.tubes = tubes, .tube_count = 1, .count = 1};
    uint64_t readied = elapse__queue_readied(f->queue);
    struct elapse__queue_put later = job("b");
    later.delay_ms = 1000;
    put(f, later, ELAPSE__QUEUE_SCHEDULED);
    assert_false(elapse__queue_has_ready(f->queue, &both));
    assert_int_equal(elapse__queue_readied(f->queue), readied);
    pass(f, 1000);
    assert_true(elapse__queue_has_ready(f->queue, &both));
    assert_false(elapse__queue_has_ready(f->queue, &none));
    assert_int_equal(elapse__queue_ready(f->queue), 1);
    assert_true(elapse__queue_readied(f->queue) > readied);
    assert_ok(elapse__queue_pause(f->queue, f->now, text("t"), 5000).result);
    assert_false(elapse__queue_has_ready(f->queue, &both));
    readied = elapse__queue_readied(f->queue);
    pass(f, 5000);
    assert_true(elapse__queue_has_ready(f->queue, &both));
    assert_true(elapse__queue_readied(f->queue) > readied);
    take(f);
    assert_false(elapse__queue_has_ready(f->queue, &both));
}

TEST_MAIN("lease")
