/*
 * Arrivals: a job that was put with AWAIT waits until so many have arrived, or until its due time.
 */
#include <stdio.h>

#include "fixture.h"
#include "forecast.h"

#include "transact.h"

static struct elapse__queue_put awaiting(const char *key, uint32_t count)
{
    struct elapse__queue_put put = keyed(key, ELAPSE__QUEUE_KEEP);
    put.await = count;
    put.when = ELAPSE__QUEUE_NO_TIME;
    return put;
}

static struct elapse__queue_put awaiting_for(const char *key, uint32_t count, uint64_t delay_ms)
{
    struct elapse__queue_put put = awaiting(key, count);
    put.when = ELAPSE__QUEUE_IN;
    put.delay_ms = delay_ms;
    return put;
}

static struct elapse__queue_arrival at(const char *key, uint32_t count, const char *token)
{
    return (struct elapse__queue_arrival){
        .tube = text("t"), .key = text(key), .count = count, .token = text(token)};
}

/* Expects that so many are missing after the arrival. */
static void arrive(struct fixture *f, struct elapse__queue_arrival arrival,
                   enum elapse__queue_result result, uint32_t left)
{
    struct elapse__queue_answer answer = elapse__queue_arrive(f->queue, f->now, &arrival);
    assert_int_equal(answer.result, result);
    assert_int_equal(answer.left, left);
    ok(f);
}

QUEUE_TEST(the_last_arrival_makes_the_job_ready)
{
    uint64_t id = put(f, awaiting("k", 3), ELAPSE__QUEUE_SCHEDULED);
    pass(f, 1000000000);
    nothing_ready(f);
    struct elapse__queue_view view = look(f, id);
    assert_int_equal(view.state, ELAPSE__QUEUE_DELAYED);
    assert_false(view.has_due);
    assert_int_equal(view.due_ms, 0);
    assert_int_equal(view.left_ms, 0);
    assert_int_equal(view.await, 3);
    assert_true(view.waits);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 2);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 1);
    nothing_ready(f);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 0);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_GONE, 0);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.id, id);
    assert_int_equal(handed.await, 0);
    assert_int_equal(handed.due_ms, f->now.wall_ms);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_GONE, 0);
}

QUEUE_TEST(more_than_is_missing_takes_what_is_missing)
{
    put(f, awaiting("k", UINT32_MAX), ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("k", UINT32_MAX - 1, ""), ELAPSE__QUEUE_OK, 1);
    arrive(f, at("k", UINT32_MAX, ""), ELAPSE__QUEUE_OK, 0);
    (void)take(f);
}

QUEUE_TEST(a_job_waits_for_its_arrivals_or_its_time)
{
    put(f, awaiting_for("early", 1, 5000), ELAPSE__QUEUE_SCHEDULED);
    put(f, awaiting_for("late", 4, 5000), ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("early", 1, ""), ELAPSE__QUEUE_OK, 0);
    arrive(f, at("late", 1, ""), ELAPSE__QUEUE_OK, 3);
    struct elapse__queue_handed early = take(f);
    assert_int_equal(early.await, 0);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&early)).result);
    nothing_ready(f);
    pass(f, 4999);
    nothing_ready(f);
    pass(f, 1);
    /* What is missing is shown to the worker, of each attempt. */
    arrive(f, at("late", 1, ""), ELAPSE__QUEUE_GONE, 0);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.await, 3);
    restart(f, 0);
    pass(f, 10000);
    assert_int_equal(take(f).await, 3);
}

QUEUE_TEST(a_time_out_by_the_wall_clock_follows_it)
{
    struct elapse__queue_put timed = awaiting("k", 2);
    timed.when = ELAPSE__QUEUE_AT;
    timed.at_ms = f->now.wall_ms + 60000;
    put(f, timed, ELAPSE__QUEUE_SCHEDULED);
    restart(f, 59999);
    nothing_ready(f);
    f->now.wall_ms += 1;
    pass(f, 0);
    assert_int_equal(take(f).await, 2);
}

/* A put that is sent again must not begin the count anew. */
QUEUE_TEST(the_job_that_has_the_key_keeps_its_count)
{
    uint64_t id = put(f, awaiting("k", 3), ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 2);
    assert_int_equal(put(f, awaiting("k", 3), ELAPSE__QUEUE_KEPT), id);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 1);
    struct elapse__queue_put anew = awaiting("k", 2);
    anew.if_key = ELAPSE__QUEUE_REPLACE;
    assert_true(put(f, anew, ELAPSE__QUEUE_REPLACED) > id);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 1);
    put(f, keyed("k", ELAPSE__QUEUE_DEBOUNCE), ELAPSE__QUEUE_REPLACED);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_GONE, 0);
    assert_int_equal(take(f).await, 0);
}

QUEUE_TEST(a_repeated_token_takes_nothing_off)
{
    put(f, awaiting("k", 3), ELAPSE__QUEUE_SCHEDULED);
    put(f, awaiting("other", 3), ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("k", 1, "one"), ELAPSE__QUEUE_OK, 2);
    arrive(f, at("k", 1, "one"), ELAPSE__QUEUE_KNOWN, 2);
    /* The token of a put, or of an arrival elsewhere, is another one. */
    struct elapse__queue_put once = job("b");
    once.token = text("two");
    put(f, once, ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("k", 1, "two"), ELAPSE__QUEUE_OK, 1);
    put(f, once, ELAPSE__QUEUE_KNOWN);
    arrive(f, at("other", 1, "one"), ELAPSE__QUEUE_OK, 2);
    restart(f, 1000);
    arrive(f, at("k", 1, "one"), ELAPSE__QUEUE_KNOWN, 1);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    restart(f, 1000);
    arrive(f, at("k", 1, "one"), ELAPSE__QUEUE_KNOWN, 1);
    arrive(f, at("k", 1, "three"), ELAPSE__QUEUE_OK, 0);
    /* The sender of the last one may not have got the answer. */
    arrive(f, at("k", 1, "three"), ELAPSE__QUEUE_KNOWN, 0);
    arrive(f, at("k", 1, "four"), ELAPSE__QUEUE_GONE, 0);
    assert_int_equal(elapse__queue_tokens(f->queue), 5);
    pass(f, 602000);
    assert_int_equal(elapse__queue_tokens(f->queue), 0);
}

QUEUE_TEST(a_failed_job_that_waits_for_its_retry_is_not_counted)
{
    struct elapse__queue_put timed = awaiting_for("k", 2, 1000);
    timed.retry = 5;
    timed.backoff_min_ms = timed.backoff_max_ms = 60000;
    uint64_t id = put(f, timed, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 1000);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_DELAYED);
    assert_false(look(f, id).waits);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_GONE, 0);
    restart(f, 0);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_GONE, 0);
    assert_int_equal(look(f, id).await, 2);
}

QUEUE_TEST(a_reschedule_sets_the_time_and_keeps_the_count)
{
    uint64_t id = put(f, awaiting("k", 2), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_time soon = {.when = ELAPSE__QUEUE_IN, .delay_ms = 2000};
    assert_int_equal(elapse__queue_reschedule_id(f->queue, f->now, id, soon).result,
                     ELAPSE__QUEUE_RESCHEDULED);
    ok(f);
    assert_true(look(f, id).has_due);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 1);
    restart(f, 0);
    arrive(f, at("k", 1, "t"), ELAPSE__QUEUE_OK, 0);
    assert_int_equal(take(f).id, id);

    id = put(f, awaiting("l", 2), ELAPSE__QUEUE_SCHEDULED);
    soon.delay_ms = 0;
    (void)elapse__queue_reschedule_key(f->queue, f->now, text("t"), text("l"), soon);
    assert_true(look(f, id).has_due);
    arrive(f, at("l", 1, ""), ELAPSE__QUEUE_GONE, 0);
    assert_int_equal(take(f).await, 2);
}

QUEUE_TEST(a_kick_releases_the_job)
{
    uint64_t id = put(f, awaiting("k", 2), ELAPSE__QUEUE_SCHEDULED);
    assert_ok(elapse__queue_kick_id(f->queue, f->now, id).result);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_GONE, 0);
    restart(f, 0);
    assert_int_equal(take(f).await, 2);

    put(f, awaiting("l", 7), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_put later = job("later");
    later.delay_ms = 100000;
    put(f, later, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_kick kick = {.tube = text("t"), .wanted = 2};
    while (elapse__queue_kick(f->queue, f->now, &kick) == ELAPSE__QUEUE_KEPT)
        ;
    elapse__queue_kick_end(f->queue, &kick);
    assert_int_equal(kick.kicked, 2);
    assert_int_equal(take(f).await, 7);
}

QUEUE_TEST(a_hand_out_by_its_id_releases_the_job)
{
    struct elapse__queue_handed handed;
    uint64_t id = put(f, awaiting("k", 2), ELAPSE__QUEUE_SCHEDULED);
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, id, NULL, true, &handed).result);
    ok(f);
    assert_int_equal(handed.await, 2);
    assert_int_equal(handed.due_ms, f->now.wall_ms);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_GONE, 0);
    assert_ok(elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(take(f).id, id);

    id = put(f, awaiting("l", 2), ELAPSE__QUEUE_SCHEDULED);
    assert_ok(elapse__queue_bury_damaged(f->queue, f->now, id).result);
    arrive(f, at("l", 1, ""), ELAPSE__QUEUE_GONE, 0);
    assert_true(look(f, id).has_due);
}

QUEUE_TEST(a_cancelled_job_is_gone)
{
    put(f, awaiting("k", 2), ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(elapse__queue_cancel_key(f->queue, f->now, text("t"), text("k")).result,
                     ELAPSE__QUEUE_REMOVED);
    arrive(f, at("k", 1, "t"), ELAPSE__QUEUE_GONE, 0);
    assert_int_equal(elapse__queue_tokens(f->queue), 0);
    put(f, keyed("k", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_GONE, 0);
    arrive(f, at("none", 1, ""), ELAPSE__QUEUE_GONE, 0);
}

QUEUE_TEST(expire_counts_from_the_release)
{
    struct elapse__queue_put brief = awaiting("k", 1);
    brief.expire_ms = 1000;
    uint64_t id = put(f, brief, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 50000);
    restart(f, 50000);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 0);
    pass(f, 999);
    assert_true(exists(f, id));
    pass(f, 1);
    assert_false(exists(f, id));

    struct elapse__queue_put timed = awaiting_for("k", 1, 1000);
    timed.expire_ms = 1000;
    id = put(f, timed, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 1999);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
    pass(f, 1);
    assert_false(exists(f, id));
}

QUEUE_TEST(what_is_wrong_is_refused)
{
    struct elapse__queue_put wrong = awaiting("k", 1);
    wrong.key = text("");
    wrong.if_key = ELAPSE__QUEUE_REPLACE;
    put(f, wrong, ELAPSE__QUEUE_ARGUMENT);
    wrong = awaiting("k", 0);
    put(f, wrong, ELAPSE__QUEUE_ARGUMENT);
    wrong = awaiting("k", 1);
    wrong.when = ELAPSE__QUEUE_EVERY;
    wrong.period_ms = 1000;
    put(f, wrong, ELAPSE__QUEUE_ARGUMENT);
    wrong.when = ELAPSE__QUEUE_CRON;
    wrong.cron = text("* * * * *");
    put(f, wrong, ELAPSE__QUEUE_ARGUMENT);
    wrong = awaiting_for("k", 1, 10);
    wrong.if_key = ELAPSE__QUEUE_DEBOUNCE;
    wrong.debounce_max_ms = 100;
    put(f, wrong, ELAPSE__QUEUE_ARGUMENT);
    put(f, awaiting("k", 1), ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("k", 0, ""), ELAPSE__QUEUE_ARGUMENT, 0);
    struct elapse__queue_arrival arrival = at("k", 1, "token");
    arrival.token_life_ms = 999;
    arrive(f, arrival, ELAPSE__QUEUE_ARGUMENT, 0);
    /* As a put of such a job is. */
    static const char long_name[252];
    for (size_t i = 0; i < 4; i++) {
        arrival = at("k", 1, i % 2 == 0 ? "" : "token");
        struct elapse__queue_text *name = i < 2 ? &arrival.tube : &arrival.key;
        *name = (struct elapse__queue_text){long_name, 0};
        arrive(f, arrival, ELAPSE__QUEUE_ARGUMENT, 0);
        name->size = i < 2 ? ELAPSE__QUEUE_TUBE_BYTES_MAX + 1 : ELAPSE__QUEUE_KEY_BYTES_MAX + 1;
        arrive(f, arrival, ELAPSE__QUEUE_ARGUMENT, 0);
        name->size--;
        arrive(f, arrival, ELAPSE__QUEUE_GONE, 0);
    }
}

/* Programs of 0.2 refuse such records. */
QUEUE_TEST(nothing_waits_for_arrivals_where_old_programs_read)
{
    f->options.old_records = true;
    restart(f, 0);
    put(f, awaiting("k", 1), ELAPSE__QUEUE_ARGUMENT);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_ARGUMENT, 0);
}

QUEUE_TEST(an_arrival_counts_on_a_full_disk_and_one_with_a_token_is_refused)
{
    put(f, awaiting("k", 3), ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 2);
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_RELIEF);
    f->log.refusals = 1;
    struct elapse__queue_arrival arrival = at("k", 1, "one");
    assert_int_equal(elapse__queue_arrive(f->queue, f->now, &arrival).result,
                     ELAPSE__QUEUE_REFUSED);
    ok(f);
    arrive(f, at("k", 1, "one"), ELAPSE__QUEUE_OK, 1);
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_GROWTH);
}

QUEUE_TEST(an_arrival_with_a_token_is_refused_when_there_are_too_many)
{
    f->options.tokens_max = 1;
    restart(f, 0);
    put(f, awaiting("k", 3), ELAPSE__QUEUE_SCHEDULED);
    arrive(f, at("k", 1, "one"), ELAPSE__QUEUE_OK, 2);
    arrive(f, at("k", 1, "one"), ELAPSE__QUEUE_KNOWN, 2);
    arrive(f, at("k", 1, "two"), ELAPSE__QUEUE_TOKENS_FULL, 0);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 1);
}

/* A job that waits for arrivals alone is in no wheel: a clock that is set does not touch it. */
QUEUE_TEST(clocks_that_are_set_do_not_release_the_job)
{
    uint64_t id = put(f, awaiting("k", 1), ELAPSE__QUEUE_SCHEDULED);
    f->now.wall_ms -= 1000000000;
    pass(f, 0);
    f->now.wall_ms += 100000000000;
    pass(f, 0);
    nothing_ready(f);
    assert_true(elapse__queue_next_due(f->queue).boot_ms == UINT64_MAX);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    restart(f, -5000);
    nothing_ready(f);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 0);
    assert_int_equal(take(f).id, id);
}

QUEUE_TEST(a_job_without_a_due_time_is_in_no_forecast)
{
    f->options.foresees = true;
    restart(f, 0);
    struct elapse__queue_forecast *forecast = calloc(1, sizeof *forecast);
    put(f, awaiting("k", 1), ELAPSE__QUEUE_SCHEDULED);
    put(f, awaiting_for("l", 1, 5000), ELAPSE__QUEUE_SCHEDULED);
    elapse__queue_foresee(f->queue, f->now, true, forecast);
    uint64_t sum = 0;
    for (unsigned i = 0; i < ELAPSE__QUEUE_FORECAST_DAYS; i++)
        sum += forecast->days[i];
    assert_int_equal(sum, 1);
    free(forecast);
    assert_int_equal(elapse__queue_statistics(f->queue).delayed, 2);
}

/* ---- many gatherings ---- */

enum { PIECES = 100 };

/* Returns how many pieces of a gathering are lost: of two in three none. */
static uint32_t lost_of(uint32_t gathering)
{
    return gathering % 3 == 0 ? 1 + gathering % 7 : 0;
}

/* Lets all pieces arrive that are not lost, each twice with the same token. */
static void gather(struct fixture *f, uint32_t gathering)
{
    char key[16], token[16];
    (void)snprintf(key, sizeof key, "g%u", (unsigned)gathering);
    for (uint32_t piece = lost_of(gathering); piece < PIECES; piece++) {
        (void)snprintf(token, sizeof token, "p%u", (unsigned)piece);
        struct elapse__queue_arrival arrival = at(key, 1, token);
        uint32_t left = PIECES - 1 - piece + lost_of(gathering);
        for (unsigned again = 0; again < 2; again++) {
            struct elapse__queue_answer answer = elapse__queue_arrive(f->queue, f->now, &arrival);
            assert_int_equal(answer.result, again ? ELAPSE__QUEUE_KNOWN : ELAPSE__QUEUE_OK);
            assert_int_equal(answer.left, left);
        }
    }
}

/* Takes and ends all jobs that are ready. Returns how many. `whole`: of those none lacks a piece;
 * otherwise each lacks the pieces that were lost. */
static uint32_t end_ready(struct fixture *f, bool whole, unsigned char *ended)
{
    uint32_t count = 0;
    while (elapse__queue_statistics(f->queue).ready > 0) {
        struct elapse__queue_handed handed = take(f);
        uint32_t gathering = (uint32_t)(handed.id - 1);
        assert_int_equal(handed.await, whole ? 0 : lost_of(gathering));
        assert_int_equal(lost_of(gathering) == 0, whole);
        assert_int_equal(ended[gathering]++, 0);
        assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
        count++;
    }
    return count;
}

/* Each gathering is ready once: when its last piece has arrived, or at its time-out with the number
 * of pieces that are lost. A restart is in between. */
QUEUE_TEST(many_gatherings_are_ready_once_each)
{
    enum { GATHERINGS = 30 };
    unsigned char ended[GATHERINGS] = {0};
    char key[16];
    uint32_t incomplete = 0;
    for (uint32_t i = 0; i < GATHERINGS; i++) {
        (void)snprintf(key, sizeof key, "g%u", (unsigned)i);
        assert_int_equal(put(f, awaiting_for(key, PIECES, 60000), ELAPSE__QUEUE_SCHEDULED), i + 1);
        incomplete += lost_of(i) > 0;
    }
    for (uint32_t i = 0; i < GATHERINGS; i++) {
        gather(f, i);
        if (i == GATHERINGS / 2)
            restart(f, 1000);
    }
    pass(f, 0);
    assert_int_equal(end_ready(f, true, ended), GATHERINGS - incomplete);
    pass(f, 50000);
    nothing_ready(f);
    pass(f, 10000);
    assert_int_equal(end_ready(f, false, ended), incomplete);
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
}

/* ---- in transactions ---- */

static struct elapse__queue_change arrival_of(struct elapse__queue_arrival arrival)
{
    return (struct elapse__queue_change){.verb = ELAPSE__QUEUE_ARRIVE, .arrival = arrival};
}

QUEUE_TEST(a_transaction_puts_the_gatherer_and_its_first_pieces_arrive)
{
    struct elapse__queue_answer answers[5];
    const struct elapse__queue_change changes[] = {
        {.verb = ELAPSE__QUEUE_PUT, .put = awaiting("k", 3)},
        arrival_of(at("k", 1, "one")),
        arrival_of(at("k", 1, "one")),
        arrival_of(at("k", 2, "two")),
        arrival_of(at("k", 1, "three")),
    };
    assert_ok(elapse__queue_transact(f->queue, f->now, changes, 5, answers).result);
    ok(f);
    const enum elapse__queue_result results[] = {ELAPSE__QUEUE_SCHEDULED, ELAPSE__QUEUE_OK,
                                                 ELAPSE__QUEUE_KNOWN, ELAPSE__QUEUE_OK,
                                                 ELAPSE__QUEUE_GONE};
    const uint32_t left[] = {0, 2, 2, 0, 0};
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(answers[i].result, results[i]);
        assert_int_equal(answers[i].left, left[i]);
    }
    assert_int_equal(elapse__queue_tokens(f->queue), 2);
    restart(f, 0);
    (void)take(f);
}

/* The room that a transaction asks for has to be enough for the longest texts. */
QUEUE_TEST(a_transaction_has_room_for_the_longest_token)
{
    static const char longest[ELAPSE__QUEUE_KEY_BYTES_MAX] = "k";
    struct elapse__queue_answer answers[2];
    struct elapse__queue_put gatherer = awaiting("k", 3);
    gatherer.tube = (struct elapse__queue_text){longest, ELAPSE__QUEUE_TUBE_BYTES_MAX};
    gatherer.key = (struct elapse__queue_text){longest, sizeof longest};
    put(f, gatherer, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_change changes[] = {arrival_of(at("", 1, "")), arrival_of(at("", 1, ""))};
    for (unsigned i = 0; i < 2; i++) {
        changes[i].arrival.tube = gatherer.tube;
        changes[i].arrival.key = gatherer.key;
        changes[i].arrival.token = (struct elapse__queue_text){longest, sizeof longest - i};
    }
    assert_ok(elapse__queue_transact(f->queue, f->now, changes, 2, answers).result);
    ok(f);
    assert_int_equal(answers[0].left, 2);
    assert_int_equal(answers[1].left, 1);
    restart(f, 0);
    changes[0].arrival.count = 2;
    assert_int_equal(elapse__queue_arrive(f->queue, f->now, &changes[0].arrival).result,
                     ELAPSE__QUEUE_KNOWN);
}

/* ACK and ARRIVE in one transaction, which is sent again: the piece counts once. */
QUEUE_TEST(an_arrival_beside_its_lease_counts_once)
{
    put(f, awaiting("k", 2), ELAPSE__QUEUE_SCHEDULED);
    put(f, job("piece"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_answer answers[3];
    struct elapse__queue_handed piece = take(f);
    const struct elapse__queue_change changes[] = {
        {.verb = ELAPSE__QUEUE_LEASED, .held = {.holder = holder(&piece)}},
        {.verb = ELAPSE__QUEUE_ACK, .held = {.holder = holder(&piece)}},
        arrival_of(at("k", 1, "")),
    };
    assert_ok(elapse__queue_transact(f->queue, f->now, changes, 3, answers).result);
    assert_int_equal(answers[2].left, 1);
    assert_int_equal(elapse__queue_transact(f->queue, f->now, changes, 3, answers).result,
                     ELAPSE__QUEUE_GONE);
    arrive(f, at("k", 1, ""), ELAPSE__QUEUE_OK, 0);
}

QUEUE_TEST(an_arrival_that_is_sent_again_in_a_transaction_needs_no_room)
{
    struct elapse__queue_answer answers[2];
    put(f, awaiting("k", 3), ELAPSE__QUEUE_SCHEDULED);
    f->options.tokens_max = 1;
    restart(f, 0);
    const struct elapse__queue_change changes[] = {arrival_of(at("k", 1, "one")),
                                                   arrival_of(at("k", 1, ""))};
    for (unsigned round = 0; round < 2; round++) {
        assert_ok(elapse__queue_transact(f->queue, f->now, changes, 2, answers).result);
        ok(f);
        assert_int_equal(answers[0].result, round == 0 ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_KNOWN);
        assert_int_equal(f->log.purpose,
                         round == 0 ? ELAPSE__RECORD_FOR_GROWTH : ELAPSE__RECORD_FOR_RELIEF);
    }
    assert_int_equal(answers[1].left, 0);
    assert_int_equal(elapse__queue_tokens(f->queue), 1);
}

QUEUE_TEST(a_refused_transaction_takes_nothing_off)
{
    struct elapse__queue_answer answers[2];
    put(f, awaiting("k", 2), ELAPSE__QUEUE_SCHEDULED);
    f->options.tokens_max = 1;
    restart(f, 0);
    const struct elapse__queue_change changes[] = {arrival_of(at("k", 1, "one")),
                                                   arrival_of(at("k", 1, "two"))};
    assert_int_equal(elapse__queue_transact(f->queue, f->now, changes, 2, answers).result,
                     ELAPSE__QUEUE_TOKENS_FULL);
    f->log.refusals = 2;
    assert_int_equal(elapse__queue_transact(f->queue, f->now, changes, 1, answers).result,
                     ELAPSE__QUEUE_REFUSED);
    const struct elapse__queue_change wrong[] = {changes[0], arrival_of(at("k", 0, ""))};
    f->log.refusals = 0;
    assert_int_equal(elapse__queue_transact(f->queue, f->now, wrong, 2, answers).result,
                     ELAPSE__QUEUE_ARGUMENT);
    assert_int_equal(elapse__queue_tokens(f->queue), 0);
    arrive(f, at("k", 1, "one"), ELAPSE__QUEUE_OK, 1);
}

TEST_MAIN("arrive")
