/*
 * Tokens: how long a put with the same one stores nothing.
 */
#include "fixture.h"

QUEUE_TEST(a_token_stands_for_its_job_for_ten_minutes)
{
    struct elapse__queue_put once = job("b");
    once.token = text("order 7");
    uint64_t id = put(f, once, ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(put(f, once, ELAPSE__QUEUE_KNOWN), id);
    struct elapse__queue_handed handed = take(f);
    (void)elapse__queue_ack(f->queue, f->now, holder(&handed));
    pass(f, 300000);
    restart(f, 299999);
    assert_int_equal(put(f, once, ELAPSE__QUEUE_KNOWN), id);
    pass(f, 2001); /* whole seconds, rounded up on both sides of the restart */
    assert_int_equal(elapse__queue_tokens(f->queue), 0);
    assert_true(put(f, once, ELAPSE__QUEUE_SCHEDULED) > id);
}

QUEUE_TEST(a_token_lives_as_long_as_its_put_says)
{
    struct elapse__queue_put brief = job("b");
    struct elapse__queue_put lasting = job("b");
    brief.token = text("brief");
    brief.token_life_ms = 5000;
    lasting.token = text("lasting");
    put(f, lasting, ELAPSE__QUEUE_SCHEDULED);
    put(f, brief, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 4999);
    put(f, brief, ELAPSE__QUEUE_KNOWN);
    /* Up to a second longer, as each end is a whole second; the other token holds nothing up. */
    pass(f, 1001);
    assert_int_equal(elapse__queue_tokens(f->queue), 1);
    put(f, brief, ELAPSE__QUEUE_SCHEDULED);
    put(f, lasting, ELAPSE__QUEUE_KNOWN);
    ok(f);
    brief.token_life_ms = 999;
    put(f, brief, ELAPSE__QUEUE_ARGUMENT);
    brief.token_life_ms = 600001;
    put(f, brief, ELAPSE__QUEUE_ARGUMENT);
}

QUEUE_TEST(a_brief_token_is_as_brief_after_a_restart)
{
    struct elapse__queue_put brief = job("b");
    brief.token = text("brief");
    brief.token_life_ms = 20000;
    put(f, brief, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 5000);
    restart(f, 0);
    put(f, brief, ELAPSE__QUEUE_KNOWN);
    pass(f, 16000);
    assert_int_equal(elapse__queue_tokens(f->queue), 0);
    put(f, brief, ELAPSE__QUEUE_SCHEDULED);
}

QUEUE_TEST(a_token_survives_cleaning)
{
    struct elapse__queue_put once = job("b");
    once.token = text("order 7");
    uint64_t id = put(f, once, ELAPSE__QUEUE_SCHEDULED);
    (void)elapse__queue_cancel_id(f->queue, f->now, id);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_TOKEN), 1);
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_PUT), 0);
    restart(f, 0);
    assert_int_equal(put(f, once, ELAPSE__QUEUE_KNOWN), id);
    pass(f, 601001);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count - f->log.tail));
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_TOKEN), 0);
}

QUEUE_TEST(a_put_with_a_token_is_refused_when_there_are_too_many)
{
    f->options.tokens_max = 2;
    restart(f, 0);
    struct elapse__queue_put once = job("b");
    once.token = text("1");
    put(f, once, ELAPSE__QUEUE_SCHEDULED);
    once.token = text("2");
    put(f, once, ELAPSE__QUEUE_SCHEDULED);
    once.token = text("3");
    put(f, once, ELAPSE__QUEUE_TOKENS_FULL);
    once.token = text("1");
    put(f, once, ELAPSE__QUEUE_KNOWN);
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    f->now.boot_ms += 601000;
    f->now.wall_ms += 601000;
    once.token = text("3");
    put(f, once, ELAPSE__QUEUE_SCHEDULED);
}

TEST_MAIN("token")
