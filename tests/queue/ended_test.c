/*
 * Tests of what a queue tells of jobs that end.
 */
#include "ended.h"
#include "fixture.h"
#include "names.h"

static struct elapse__queue_ended last;
static unsigned told;

static void note(void *context, const struct elapse__queue_ended *ended)
{
    assert_ptr_equal(context, &told);
    assert_int_equal(ended->tube.size, 1);
    last = *ended;
    told++;
}

/* Expects that exactly one job was told since the last call. */
static void expect(uint64_t id, enum elapse__queue_outcome outcome, uint32_t attempts)
{
    assert_int_equal(told, 1);
    assert_int_equal(last.id, id);
    assert_int_equal(last.outcome, outcome);
    assert_int_equal(last.attempts, attempts);
    told = 0;
}

static void listen(struct fixture *f)
{
    told = 0;
    elapse__queue_on_end(f->queue, note, &told);
}

QUEUE_TEST(each_way_to_end_is_told_once)
{
    listen(f);
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_lease_begin(f->queue, f->now, holder(&handed)));
    pass(f, 5);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    expect(id, ELAPSE__OUTCOME_DONE, 1);
    assert_true(last.was_begun);
    assert_int_equal(last.ended_ms - last.begun_ms, 5);
    assert_int_equal(last.due_ms, last.begun_ms);

    id = put(f, keyed("k", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_SCHEDULED);
    uint64_t next = put(f, keyed("k", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_REPLACED);
    expect(id, ELAPSE__OUTCOME_REPLACED, 0);
    assert_false(last.was_begun);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, next).result, ELAPSE__QUEUE_REMOVED);
    expect(next, ELAPSE__OUTCOME_CANCELLED, 0);

    struct elapse__queue_put brief = job("b");
    brief.expire_ms = 10;
    id = put(f, brief, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 20);
    expect(id, ELAPSE__OUTCOME_EXPIRED, 0);
}

/* A worker still has it, and ends nothing by saying so. */
QUEUE_TEST(a_job_that_is_cancelled_in_hand_is_told_at_once)
{
    listen(f);
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_RUNNING);
    expect(id, ELAPSE__OUTCOME_CANCELLED, 1);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_RUNNING);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(told, 0);
}

QUEUE_TEST(what_does_not_end_is_not_told)
{
    listen(f);
    struct elapse__queue_put once = job("b");
    once.retry = 1;
    put(f, once, ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(state_of(f, handed.id), ELAPSE__QUEUE_BURIED);
    struct elapse__queue_put event = keyed("k", ELAPSE__QUEUE_DEBOUNCE);
    event.delay_ms = event.debounce_max_ms = 1000;
    put(f, event, ELAPSE__QUEUE_SCHEDULED);
    put(f, event, ELAPSE__QUEUE_REPLACED);
    assert_int_equal(told, 0);
    elapse__queue_on_end(f->queue, NULL, NULL);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, handed.id).result,
                     ELAPSE__QUEUE_REMOVED);
    assert_int_equal(told, 0);
}

QUEUE_TEST(occurrences_are_told_one_by_one)
{
    listen(f);
    struct elapse__queue_put every = job("b");
    every.when = ELAPSE__QUEUE_EVERY;
    every.period_ms = 100;
    every.retry = 2;
    uint64_t id = put(f, every, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 100);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_nack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(told, 0);
    handed = take(f);
    assert_ok(elapse__queue_nack(f->queue, f->now, holder(&handed)).result);
    expect(id, ELAPSE__OUTCOME_FAILED, 2);
    assert_true(last.recurring);
    pass(f, 100);
    handed = take(f);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    expect(id, ELAPSE__OUTCOME_DONE, 1);
    assert_true(exists(f, id));
}

/* Names of holders are kept while somebody uses them. */
QUEUE_TEST(leases_share_the_name_of_their_holder)
{
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_handed handed[2];
    uint32_t count;

    put(f, job("a"), ELAPSE__QUEUE_SCHEDULED);
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    uint32_t name = elapse__queue_name_get(f->queue, text("mailer"));
    assert_true(name != 0);
    assert_int_equal(elapse__queue_name_get(f->queue, text("mailer")), name);
    assert_int_equal(elapse__queue_name_get(f->queue, text("")), 0);
    const struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 2, .begin = true, .name = name};
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, handed, &count).result);
    elapse__queue_name_drop(f->queue, name);
    elapse__queue_name_drop(f->queue, name);
    assert_int_equal(elapse__queue_check(f->queue), 0);
    for (int i = 0; i < 2; i++) {
        struct elapse__queue_view view = look(f, handed[i].id);
        assert_int_equal(view.holder.size, 6);
        assert_memory_equal(view.holder.bytes, "mailer", 6);
        assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed[i])).result);
        assert_int_equal(elapse__queue_name_of(f->queue, handed[i].id, handed[i].lease).size, 0);
    }
    ok(f);
    /* The number is free again: another name gets it. */
    assert_int_equal(elapse__queue_name_get(f->queue, text("other")), name);
    ok(f);
}

TEST_MAIN("ended")
