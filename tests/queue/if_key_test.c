/*
 * Every cell of the table of IFKEY: what a put does to the job that has its key, by mode and by the
 * state of that job.
 */
#include "fixture.h"

static struct elapse__queue_view by_key(struct fixture *f)
{
    struct elapse__queue_view view = {0};
    (void)elapse__queue_look_up_key(f->queue, f->now, text("t"), text("k"), &view);
    return view;
}

static void replaces(struct fixture *f, enum elapse__queue_if_key mode,
                     enum elapse__queue_state was)
{
    struct elapse__queue_handed handed;
    uint64_t old = job_in(f, was, &handed);
    uint64_t id = put(f, keyed("k", mode), ELAPSE__QUEUE_REPLACED);

    assert_true(id > old);
    assert_int_equal(by_key(f).id, id);
    assert_int_equal(by_key(f).state, ELAPSE__QUEUE_READY);
    if (was != ELAPSE__QUEUE_RESERVED) {
        assert_false(exists(f, old));
        return;
    }
    assert_int_equal(state_of(f, old), ELAPSE__QUEUE_SHADOW);
    assert_int_equal(elapse__queue_extend(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_CANCELLED);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    assert_false(exists(f, old));
    assert_int_equal(by_key(f).id, id);
}

static void stores_nothing(struct fixture *f, enum elapse__queue_if_key mode,
                           enum elapse__queue_state was, enum elapse__queue_result answer)
{
    uint64_t old = job_in(f, was, NULL);
    size_t records = f->log.count;

    assert_int_equal(put(f, keyed("k", mode), answer), old);
    assert_int_equal(state_of(f, old), was);
    assert_int_equal(f->log.count, records);
    assert_int_equal(elapse__queue_jobs(f->queue), 1);
}

static void debounces(struct fixture *f, enum elapse__queue_state was)
{
    uint64_t old = job_in(f, was, NULL);
    struct elapse__queue_put again = keyed("k", ELAPSE__QUEUE_DEBOUNCE);

    again.body = text("another body");
    again.delay_ms = 3000;
    again.priority = 5;
    assert_int_equal(put(f, again, ELAPSE__QUEUE_REPLACED), old);
    assert_int_equal(by_key(f).id, old);
    assert_int_equal(by_key(f).state, ELAPSE__QUEUE_DELAYED);
    assert_int_equal(by_key(f).left_ms, 3000);
    assert_int_equal(by_key(f).priority, 5);
    assert_int_equal(by_key(f).body_size, 12);
    assert_int_equal(elapse__queue_jobs(f->queue), 1);
    pass(f, 2999);
    nothing_ready(f);
    pass(f, 1);
    struct elapse__queue_handed handed = take(f);
    struct elapse__queue_text body = log_body(&f->log, handed.position);
    assert_int_equal(body.size, 12);
    assert_memory_equal(body.bytes, "another body", 12);
}

#define CELL(name, call) \
    QUEUE_TEST(name)     \
    {                    \
        call;            \
    }

CELL(replace_of_a_delayed_job, replaces(f, ELAPSE__QUEUE_REPLACE, ELAPSE__QUEUE_DELAYED))
CELL(replace_of_a_ready_job, replaces(f, ELAPSE__QUEUE_REPLACE, ELAPSE__QUEUE_READY))
CELL(replace_of_a_reserved_job, replaces(f, ELAPSE__QUEUE_REPLACE, ELAPSE__QUEUE_RESERVED))
CELL(replace_of_a_buried_job, replaces(f, ELAPSE__QUEUE_REPLACE, ELAPSE__QUEUE_BURIED))
CELL(keep_of_a_delayed_job,
     stores_nothing(f, ELAPSE__QUEUE_KEEP, ELAPSE__QUEUE_DELAYED, ELAPSE__QUEUE_KEPT))
CELL(keep_of_a_ready_job,
     stores_nothing(f, ELAPSE__QUEUE_KEEP, ELAPSE__QUEUE_READY, ELAPSE__QUEUE_KEPT))
CELL(keep_of_a_reserved_job,
     stores_nothing(f, ELAPSE__QUEUE_KEEP, ELAPSE__QUEUE_RESERVED, ELAPSE__QUEUE_RUNNING))
CELL(keep_of_a_buried_job,
     stores_nothing(f, ELAPSE__QUEUE_KEEP, ELAPSE__QUEUE_BURIED, ELAPSE__QUEUE_WAS_BURIED))
CELL(fail_at_a_delayed_job,
     stores_nothing(f, ELAPSE__QUEUE_FAIL, ELAPSE__QUEUE_DELAYED, ELAPSE__QUEUE_KEY_TAKEN))
CELL(fail_at_a_ready_job,
     stores_nothing(f, ELAPSE__QUEUE_FAIL, ELAPSE__QUEUE_READY, ELAPSE__QUEUE_KEY_TAKEN))
CELL(fail_at_a_reserved_job,
     stores_nothing(f, ELAPSE__QUEUE_FAIL, ELAPSE__QUEUE_RESERVED, ELAPSE__QUEUE_KEY_TAKEN))
CELL(fail_at_a_buried_job,
     stores_nothing(f, ELAPSE__QUEUE_FAIL, ELAPSE__QUEUE_BURIED, ELAPSE__QUEUE_KEY_TAKEN))
CELL(debounce_of_a_delayed_job, debounces(f, ELAPSE__QUEUE_DELAYED))
CELL(debounce_of_a_ready_job, debounces(f, ELAPSE__QUEUE_READY))
CELL(debounce_of_a_reserved_job, replaces(f, ELAPSE__QUEUE_DEBOUNCE, ELAPSE__QUEUE_RESERVED))
CELL(debounce_of_a_buried_job, replaces(f, ELAPSE__QUEUE_DEBOUNCE, ELAPSE__QUEUE_BURIED))

QUEUE_TEST(debounce_waits_no_longer_than_its_max)
{
    struct elapse__queue_put event = keyed("k", ELAPSE__QUEUE_DEBOUNCE);
    event.delay_ms = 3000;
    event.debounce_max_ms = 7000;
    uint64_t id = put(f, event, ELAPSE__QUEUE_SCHEDULED);

    for (int i = 0; i < 3; i++) {
        pass(f, 2000);
        assert_int_equal(put(f, event, ELAPSE__QUEUE_REPLACED), id);
    }
    /* The clock is at 6,000: the next run is due at 7,000, not at 9,000. */
    assert_int_equal(look(f, id).left_ms, 1000);
    restart(f, 500);
    assert_int_equal(put(f, event, ELAPSE__QUEUE_REPLACED), id);
    assert_int_equal(look(f, id).left_ms, 500);
    pass(f, 500);
    assert_int_equal(take(f).id, id);
}

QUEUE_TEST(debounce_asks_for_a_delay_a_key_and_a_max_that_is_no_less)
{
    struct elapse__queue_put event = keyed("k", ELAPSE__QUEUE_DEBOUNCE);
    event.delay_ms = 3000;
    event.debounce_max_ms = 2999;
    put(f, event, ELAPSE__QUEUE_ARGUMENT);
    event.debounce_max_ms = 3000;
    event.when = ELAPSE__QUEUE_AT;
    put(f, event, ELAPSE__QUEUE_ARGUMENT);
    event.when = ELAPSE__QUEUE_EVERY;
    event.period_ms = 1000;
    put(f, event, ELAPSE__QUEUE_ARGUMENT);
    event.when = ELAPSE__QUEUE_CRON;
    event.cron = text("* * * * *");
    put(f, event, ELAPSE__QUEUE_ARGUMENT);
    event.when = ELAPSE__QUEUE_IN;
    event.key = text("");
    put(f, event, ELAPSE__QUEUE_ARGUMENT);
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
    event.key = text("k");
    put(f, event, ELAPSE__QUEUE_SCHEDULED);
}

QUEUE_TEST(the_same_key_in_another_tube_is_another_key)
{
    struct elapse__queue_put other = keyed("k", ELAPSE__QUEUE_FAIL);
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    other.tube = text("tk");
    other.key = text("");
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    other.tube = text("u");
    other.key = text("k");
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    other.tube = text("tk");
    other.key = text("ey");
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
    other.tube = text("t");
    other.key = text("key");
    put(f, other, ELAPSE__QUEUE_SCHEDULED);
}

QUEUE_TEST(a_key_is_free_when_its_job_has_ended)
{
    put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_KEY_TAKEN);
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_SCHEDULED);
    restart(f, 0);
    put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_KEY_TAKEN);
}

QUEUE_TEST(a_replaced_key_is_one_group)
{
    job_in(f, ELAPSE__QUEUE_DELAYED, NULL);
    put(f, keyed("k", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_REPLACED);
    assert_int_equal(f->log.count, 3);
    assert_int_equal(f->log.records[1].record.type, ELAPSE__RECORD_DELETE);
    assert_int_equal(f->log.records[2].record.type, ELAPSE__RECORD_PUT);
    assert_int_equal(f->log.records[1].group, f->log.records[2].group);
    assert_int_not_equal(f->log.records[0].group, f->log.records[1].group);
}

TEST_MAIN("if_key")
