/*
 * A follower, which is a queue that replays the log of another one, forgets what lay below a
 * position of the log. The other queue has dropped that part without a record that says so.
 */
#include "fixture.h"

struct live_sink {
    struct elapse__record_sink sink; /* first */
    int64_t live;
};

static int refuse_begin(struct elapse__record_sink *sink, uint64_t bytes,
                        enum elapse__record_purpose purpose)
{
    (void)sink, (void)bytes, (void)purpose;
    return 28;
}

static void count_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    (void)position;
    ((struct live_sink *)(void *)sink)->live += change;
}

/* Makes a queue that replays the whole log. */
static struct elapse__queue *follower_of(struct fixture *f, struct live_sink *sink)
{
    *sink = (struct live_sink){.sink = {.begin = refuse_begin, .live = count_live}};
    struct elapse__queue_options options = f->options;
    options.sink = &sink->sink;
    struct elapse__queue *queue = elapse__queue_new(&options);
    assert_non_null(queue);
    assert_ok(log_replay(&f->log, queue));
    return queue;
}

static uint64_t put_with_token(struct fixture *f, const char *token)
{
    struct elapse__queue_put arguments = job("body");
    arguments.token = text(token);
    return put(f, arguments, ELAPSE__QUEUE_SCHEDULED);
}

/* For each place of the log: a queue that forgets all below it has the same jobs as a queue that
 * replayed only the rest. */
TEST_GIVEN(test_each_place, struct fixture, f, set_up, tear_down)
{
    struct live_sink sink, rest_sink;
    (void)put_with_token(f, "one");
    (void)put(f, keyed("key", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_SCHEDULED);
    (void)put_with_token(f, "two");
    (void)put(f, job("last"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    struct elapse__queue_holder held = holder(&handed);
    held.error = text("an error");
    assert_ok(elapse__queue_nack(f->queue, f->now, held).result);
    assert_true(log_clean(&f->log, f->queue, f->now, 1));
    f->log.tail = 0;
    (void)take(f);
    assert_ok(elapse__queue_pause(f->queue, f->now, text("t"), 60000).result);
    size_t count = f->log.count;
    for (size_t i = 0; i <= count; i++) {
        uint64_t below = i < count ? f->log.records[i].position : f->log.next_position;
        struct elapse__queue *queue = follower_of(f, &sink);
        elapse__queue_forget_below(queue, below);
        f->log.tail = i;
        struct elapse__queue *rest = follower_of(f, &rest_sink);
        f->log.tail = 0;
        assert_int_equal(elapse__queue_jobs(queue), elapse__queue_jobs(rest));
        assert_int_equal(elapse__queue_tokens(queue), elapse__queue_tokens(rest));
        assert_int_equal(elapse__queue_tube_count(queue), elapse__queue_tube_count(rest));
        assert_ok(elapse__queue_replay_done(queue, f->now, UINT32_MAX));
        assert_ok(elapse__queue_replay_done(rest, f->now, UINT32_MAX));
        assert_int_equal(sink.live, rest_sink.live);
        assert_int_equal(elapse__queue_check(queue), 0);
        elapse__queue_free(queue);
        elapse__queue_free(rest);
    }
}

/* Tokens are forgotten from the middle and from the end of their list, and new ones can follow. */
TEST_GIVEN(test_tokens_in_the_middle, struct fixture, f, set_up, tear_down)
{
    struct live_sink sink;
    (void)put_with_token(f, "one");
    (void)put_with_token(f, "two");
    uint64_t end = f->log.next_position;
    struct elapse__queue *queue = follower_of(f, &sink);
    /* The first token is copied, as cleaning does it. So its record lies behind the second one. */
    for (size_t i = 0; i < f->log.count; i++) {
        if (f->log.records[i].record.type != ELAPSE__RECORD_TOKEN)
            continue;
        assert_ok(elapse__queue_replay(queue, end += 8, &f->log.records[i].record));
        break;
    }
    elapse__queue_forget_below(queue, end);
    assert_int_equal(elapse__queue_tokens(queue), 1);
    assert_int_equal(elapse__queue_jobs(queue), 0);
    for (size_t i = 0; i < f->log.count; i++)
        assert_ok(elapse__queue_replay(queue, end += 8, &f->log.records[i].record));
    assert_int_equal(elapse__queue_tokens(queue), 2);
    assert_ok(elapse__queue_replay_done(queue, f->now, UINT32_MAX));
    assert_int_equal(elapse__queue_check(queue), 0);
    elapse__queue_free(queue);
}

TEST_MAIN("forget")
