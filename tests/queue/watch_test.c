/*
 * Tests of watches (somebody waits for jobs of a tube), of leases that are withdrawn, of the moment
 * when the first lease of a connection ends, and of the bytes of a tube.
 */
#include "fixture.h"

static struct elapse__queue_watch *next(struct fixture *f)
{
    return elapse__queue_watch_next(f->queue);
}

QUEUE_TEST(a_watch_is_news_once_for_each_asking)
{
    struct elapse__queue_watch watch;
    assert_null(elapse__queue_watch_find(f->queue, text("t")));
    assert_ok(elapse__queue_watch_begin(f->queue, text("t"), &watch));
    assert_ptr_equal(elapse__queue_watch_find(f->queue, text("t")), &watch);
    assert_int_equal(elapse__queue_watch_name(&watch).size, 1);
    /* Nobody has asked, so the watch is not in the news. */
    put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    assert_null(next(f));
    /* A job is there already. */
    elapse__queue_watch_ask(f->queue, &watch);
    elapse__queue_watch_ask(f->queue, &watch);
    assert_true(elapse__queue_watch_has_news(f->queue));
    assert_ptr_equal(next(f), &watch);
    assert_null(next(f));
    assert_false(elapse__queue_watch_has_news(f->queue));
    put(f, job("two"), ELAPSE__QUEUE_SCHEDULED);
    assert_null(next(f));
    (void)take(f);
    (void)take(f);
    elapse__queue_watch_ask(f->queue, &watch);
    assert_null(next(f));
    put(f, job("three"), ELAPSE__QUEUE_SCHEDULED);
    assert_ptr_equal(next(f), &watch);
    elapse__queue_watch_end(f->queue, &watch);
    ok(f);
}

QUEUE_TEST(every_way_to_become_ready_is_news)
{
    struct elapse__queue_watch watch;
    struct elapse__queue_put later = job("later");
    assert_ok(elapse__queue_watch_begin(f->queue, text("t"), &watch));
    later.delay_ms = 50;
    uint64_t id = put(f, later, ELAPSE__QUEUE_SCHEDULED);
    elapse__queue_watch_ask(f->queue, &watch);
    pass(f, 49);
    assert_null(next(f));
    pass(f, 1);
    assert_ptr_equal(next(f), &watch);
    /* The lease ends. */
    (void)take(f);
    elapse__queue_watch_ask(f->queue, &watch);
    pass(f, 10000);
    assert_ptr_equal(next(f), &watch);
    /* The worker gives it back. */
    struct elapse__queue_handed handed = take(f);
    elapse__queue_watch_ask(f->queue, &watch);
    assert_null(next(f));
    assert_ok(elapse__queue_nack(f->queue, f->now, holder(&handed)).result);
    assert_ptr_equal(next(f), &watch);
    /* It is kicked. */
    handed = take(f);
    assert_ok(elapse__queue_bury(f->queue, f->now, holder(&handed), NULL).result);
    elapse__queue_watch_ask(f->queue, &watch);
    assert_null(next(f));
    assert_ok(elapse__queue_kick_id(f->queue, f->now, id).result);
    assert_ptr_equal(next(f), &watch);
    elapse__queue_watch_end(f->queue, &watch);
    ok(f);
}

QUEUE_TEST(a_pause_delays_the_news)
{
    struct elapse__queue_watch watch;
    assert_ok(elapse__queue_watch_begin(f->queue, text("t"), &watch));
    elapse__queue_watch_ask(f->queue, &watch);
    assert_ok(elapse__queue_pause(f->queue, f->now, text("t"), 100).result);
    put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    pass(f, 99);
    assert_null(next(f));
    pass(f, 1);
    assert_ptr_equal(next(f), &watch);
    /* A pause that is taken back makes news, too. */
    assert_ok(elapse__queue_pause(f->queue, f->now, text("t"), 100).result);
    elapse__queue_watch_ask(f->queue, &watch);
    assert_null(next(f));
    assert_ok(elapse__queue_pause(f->queue, f->now, text("t"), 0).result);
    assert_ptr_equal(next(f), &watch);
    elapse__queue_watch_end(f->queue, &watch);
    ok(f);
}

QUEUE_TEST(a_watch_holds_its_tube)
{
    struct elapse__queue_watch watch;
    struct elapse__queue_statistics statistics;
    assert_int_equal(elapse__queue_watch_begin(f->queue, text(""), &watch), ELAPSE__QUEUE_ARGUMENT);
    assert_ok(elapse__queue_watch_begin(f->queue, text("u"), &watch));
    ok(f);
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("u"), &statistics));
    /* A watch may end while it is in the news. */
    struct elapse__queue_put other = job("one");
    other.tube = text("u");
    uint64_t id = put(f, other, ELAPSE__QUEUE_SCHEDULED);
    elapse__queue_watch_ask(f->queue, &watch);
    elapse__queue_watch_end(f->queue, &watch);
    assert_null(next(f));
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_REMOVED);
    assert_int_equal(elapse__queue_tube_statistics(f->queue, f->now, text("u"), &statistics),
                     ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(a_lease_that_has_begun_is_withdrawn)
{
    uint64_t id = put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(elapse__queue_lease_undo(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_GONE);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_RESERVED);
    assert_ok(elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed)).result);
    ok(f);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
    assert_int_equal(look(f, id).reserves, 0);
    assert_int_equal(look(f, id).attempts, 0);
    /* The lease has ended for good, also after a restart. */
    assert_int_equal(elapse__queue_ack(f->queue, f->now, holder(&handed)).result,
                     ELAPSE__QUEUE_GONE);
    restart(f, 0);
    assert_int_equal(state_of(f, id), ELAPSE__QUEUE_READY);
}

QUEUE_TEST(a_cancelled_job_ends_when_its_lease_is_withdrawn)
{
    uint64_t id = put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_RUNNING);
    (void)elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed));
    assert_false(exists(f, id));
    ok(f);
}

static struct elapse__queue_handed take_for_connection(struct fixture *f, bool begin)
{
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 1, .begin = begin, .connection = &f->connection};
    struct elapse__queue_handed handed = {0};
    uint32_t count = 0;
    (void)elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &count);
    assert_int_equal(count, 1);
    return handed;
}

QUEUE_TEST(the_soonest_end_of_a_connection)
{
    struct elapse__queue_put brief = job("brief");
    brief.ttr_ms = 3000;
    put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    put(f, brief, ELAPSE__QUEUE_SCHEDULED);
    assert_true(elapse__queue_connection_soonest(f->queue, &f->connection, 10) == UINT64_MAX);
    struct elapse__queue_handed first = take_for_connection(f, false);
    assert_true(elapse__queue_connection_soonest(f->queue, &f->connection, 10) == UINT64_MAX);
    uint64_t begun_ms = f->now.boot_ms;
    assert_ok(elapse__queue_lease_begin(f->queue, f->now, holder(&first)));
    assert_int_equal(elapse__queue_connection_soonest(f->queue, &f->connection, 10),
                     begun_ms + 10000);
    (void)take_for_connection(f, true);
    assert_int_equal(elapse__queue_connection_soonest(f->queue, &f->connection, 10),
                     begun_ms + 3000);
    /* A look at only one lease does not see the second one, which ends sooner. */
    assert_int_equal(elapse__queue_connection_soonest(f->queue, &f->connection, 1),
                     begun_ms + 10000);
    assert_true(elapse__queue_connection_close(f->queue, f->now, &f->connection, 10));
}

static uint64_t bytes_of_tube(struct fixture *f)
{
    struct elapse__queue_statistics statistics = {0};
    (void)elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics);
    return statistics.body_bytes;
}

QUEUE_TEST(the_bytes_of_a_tube)
{
    put(f, job("12345"), ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(bytes_of_tube(f), 5);
    put(f, keyed("k", ELAPSE__QUEUE_DEBOUNCE), ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(bytes_of_tube(f), 5 + strlen("body"));
    struct elapse__queue_put longer = keyed("k", ELAPSE__QUEUE_DEBOUNCE);
    longer.body = text("longer body");
    put(f, longer, ELAPSE__QUEUE_REPLACED);
    assert_int_equal(bytes_of_tube(f), 5 + strlen("longer body"));
    restart(f, 0);
    assert_int_equal(bytes_of_tube(f), 5 + strlen("longer body"));
    /* A shadow, which is a cancelled job with a lease, has no bytes. */
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, handed.id).result,
                     ELAPSE__QUEUE_RUNNING);
    assert_int_equal(bytes_of_tube(f), strlen("longer body"));
    assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(bytes_of_tube(f), strlen("longer body"));
}

TEST_MAIN("watch")
