/*
 * Tests what happens when links are lost, when owners change, and when time passes.
 */
#include "fixture.h"

#define UNKNOWN_1                                                                                  \
    "-UNKNOWN partition 1 was lost before it answered: the command may have been done, or may be " \
    "done yet\r\n"
#define TRY_1 "-TRYAGAIN partition 1 cannot be reached now; nothing has changed there\r\n"

/* The next link to a partition, after those that there were. */
static struct elapse__router_link *again(struct fixture *f)
{
    uint32_t before = f->link_count;

    for (int i = 0; i < 100 && f->link_count == before; i++)
        pass(f, 10);
    assert_int_equal(f->link_count, before + 1);
    return last(f);
}

CLIENT_TEST(what_was_wholly_sent_is_unknown)
{
    say(f, c, "KICKID 3\nKICKID 2");
    (void)sent(f, f->links[0]);
    expect_sent(f, f->links[1], "KICKID 3\n");
    answer(f, f->links[0], "+ok\r\n");
    cut(f, f->links[1]);
    expect(f, c, UNKNOWN_1 "+ok\r\n");
    greet(f, again(f));
    expect_sent(f, last(f), "");
}

CLIENT_TEST(what_was_partly_sent_is_sent_again)
{
    const uint8_t *bytes;

    say(f, c, "KICKID 3\nKICKID 5\nKICKID 7");
    size_t size = elapse__router_link_output(f->links[1], &bytes);
    /* All but the last byte of the second one. */
    elapse__router_link_sent(f->links[1], f->now, size / 3 * 2 - 1);
    cut(f, f->links[1]);
    expect(f, c, UNKNOWN_1);
    greet(f, again(f));
    expect_sent(f, last(f), "KICKID 5\nKICKID 7\n");
    answer(f, last(f), "+ok\r\n+gone\r\n");
    expect(f, c, "+ok\r\n+gone\r\n");
}

CLIENT_TEST(an_owner_that_leaves_answers_what_it_has_got)
{
    say(f, c, "KICKID 3");
    expect_sent(f, f->links[1], "KICKID 3\n");
    answer(f, f->links[1], ">1\r\n+leaving\r\n");
    say(f, c, "KICKID 5");
    expect_sent(f, f->links[1], "");
    assert_false(elapse__router_link_wants_end(f->links[1]));
    answer(f, f->links[1], "+ok\r\n");
    expect(f, c, "+ok\r\n");
    assert_true(elapse__router_link_wants_end(f->links[1]));
    elapse__router_link_closed(f->links[1], f->now);
    greet(f, again(f));
    expect_sent(f, last(f), "KICKID 5\n");
    answer(f, last(f), "+gone\r\n");
    expect(f, c, "+gone\r\n");
}

ROUTER_TEST(an_owner_that_leaves_idly_is_left_at_once)
{
    answer(f, f->links[1], ">1\r\n+leaving\r\n");
    assert_true(elapse__router_link_wants_end(f->links[1]));
}

CLIENT_TEST(looks_and_tokens_are_sent_again)
{
    say(f, c, "LOOKUPID 3\nPUT t b TOKEN k1\nKICKID 3\nPUT t b TOKEN k3 IN 1s");
    expect_sent(f, f->links[1], "LOOKUPID 3\nPUT t b TOKEN k1\nKICKID 3\nPUT t b TOKEN k3 IN 1s\n");
    cut(f, f->links[1]);
    expect(f, c, "");
    greet(f, again(f));
    expect_sent(f, last(f), "LOOKUPID 3\nPUT t b TOKEN k1\nPUT t b TOKEN k3 IN 1s\n");
    answer(f, last(f), "_\r\n*2\r\n:5\r\n+known\r\n*2\r\n:7\r\n+scheduled\r\n");
    expect(f, c, "$-1\r\n*2\r\n:5\r\n+known\r\n" UNKNOWN_1 "*2\r\n:7\r\n+scheduled\r\n");
}

/* Its token may have ended when it comes to a partition again. */
CLIENT_TEST(a_put_whose_token_is_brief_is_not_sent_again)
{
    say(f, c, "PUT t b TOKEN k1 FOR 59s\nPUT t b TOKEN k1 FOR 1m");
    expect_sent(f, f->links[1], "PUT t b TOKEN k1 FOR 59s\nPUT t b TOKEN k1 FOR 1m\n");
    cut(f, f->links[1]);
    expect(f, c, UNKNOWN_1);
    greet(f, again(f));
    expect_sent(f, last(f), "PUT t b TOKEN k1 FOR 1m\n");
}

ROUTER_TEST(what_waits_too_long_was_not_done)
{
    f->options.retry_ms = 500;
    begin(f);
    struct elapse__router_client *c = client(f);
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_NOWHERE, 2);
    say(f, c, "KICKID 3");
    assert_int_equal(elapse__router_next_ms(f->router), f->now + 500);
    pass(f, 499);
    expect(f, c, "");
    pass(f, 1);
    expect(f, c, TRY_1);
}

ROUTER_TEST(a_put_with_a_token_that_was_sent_ends_unknown)
{
    f->options.retry_ms = 500;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "PUT t b TOKEN k1\nLOOKUPID 3\nPUT t b TOKEN k3");
    const char *lines = sent(f, f->links[1]);
    assert_non_null(strstr(lines, "TOKEN k1"));
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_NOWHERE, 2);
    cut(f, f->links[1]);
    pass(f, 500);
    expect(f, c, UNKNOWN_1 TRY_1 UNKNOWN_1);
}

ROUTER_TEST(a_silent_link_is_lost)
{
    f->options.answer_ms = 700;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "KICKID 3");
    (void)sent(f, f->links[1]);
    pass(f, 699);
    assert_false(elapse__router_link_wants_end(f->links[1]));
    pass(f, 1);
    assert_true(elapse__router_link_wants_end(f->links[1]));
    expect(f, c, UNKNOWN_1);
    /* An answer that comes after all is nobody's. */
    elapse__router_link_received(f->links[1], f->now, "+ok\r\n", 5);
    expect(f, c, "");
    elapse__router_link_closed(f->links[1], f->now);
    greet(f, again(f));
}

ROUTER_TEST(sweeps_may_take_longer)
{
    f->options.answer_ms = 700;
    f->options.sweep_ms = 5000;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "KICK t 1");
    greet(f, last(f));
    (void)sent(f, last(f));
    pass(f, 4999);
    assert_false(elapse__router_link_wants_end(last(f)));
    pass(f, 1);
    assert_true(elapse__router_link_wants_end(last(f)));
    assert_int_equal(strncmp(got(f, c), "-UNKNOWN partition 0 ", 21), 0);
}

CLIENT_TEST(an_old_owner_may_still_answer)
{
    say(f, c, "KICKID 3");
    (void)sent(f, f->links[1]);
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_THERE, 2);
    say(f, c, "KICKID 5");
    assert_int_equal(f->link_count, 2);
    expect_sent(f, f->links[1], "");
    answer(f, f->links[1], "+ok\r\n");
    assert_true(elapse__router_link_wants_end(f->links[1]));
    /* Without a pause, because it was not the link's fault. */
    assert_int_equal(f->link_count, 3);
    greet(f, last(f));
    expect_sent(f, last(f), "KICKID 5\n");
    answer(f, last(f), "+gone\r\n");
    expect(f, c, "+ok\r\n+gone\r\n");
}

CLIENT_TEST(an_old_owner_is_not_waited_for)
{
    say(f, c, "KICKID 3");
    (void)sent(f, f->links[1]);
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_THERE, 2);
    pass(f, 999);
    assert_int_equal(f->link_count, 2);
    pass(f, 1);
    assert_int_equal(f->link_count, 3);
    expect(f, c, UNKNOWN_1);
}

CLIENT_TEST(what_an_owner_refuses_goes_to_the_next)
{
    say(f, c, "KICKID 3\nKICKID 5\nKICKID 7");
    (void)sent(f, f->links[1]);
    answer(f, f->links[1], "+ok\r\n-NOTOWNER other\r\n");
    say(f, c, "KICKID 9");
    expect_sent(f, f->links[1], "");
    answer(f, f->links[1], "-NOTOWNER other\r\n");
    assert_true(elapse__router_link_wants_end(f->links[1]));
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_HERE, 2);
    turn(f);
    greet(f, last(f));
    expect_sent(f, last(f), "KICKID 5\nKICKID 7\nKICKID 9\n");
    answer(f, last(f), "+ok\r\n+ok\r\n+gone\r\n");
    expect(f, c, "+ok\r\n+ok\r\n+ok\r\n+gone\r\n");
}

CLIENT_TEST(what_was_refused_goes_before_what_was_lost)
{
    say(f, c, "KICKID 3\nKICKID 5\nLOOKUPID 7");
    (void)sent(f, f->links[1]);
    answer(f, f->links[1], "-NOTOWNER other\r\n");
    cut(f, f->links[1]);
    greet(f, again(f));
    expect_sent(f, last(f), "KICKID 3\nLOOKUPID 7\n");
    answer(f, last(f), "+ok\r\n_\r\n");
    expect(f, c, "+ok\r\n" UNKNOWN_1 "$-1\r\n");
}

ROUTER_TEST(a_link_that_does_not_open_is_tried_later_and_later)
{
    uint64_t waits[7];

    cut(f, f->links[1]);
    for (int i = 0; i < 7; i++) {
        uint64_t begun = f->now;
        uint32_t before = f->link_count;
        while (f->link_count == before)
            pass(f, 1);
        waits[i] = f->now - begun;
        /* The greeting is refused. */
        (void)sent(f, last(f));
        answer(f, last(f), "%0\r\n-NOTOWNER\r\n");
        assert_true(elapse__router_link_wants_end(last(f)));
        elapse__router_link_closed(last(f), f->now);
    }
    static const uint64_t expected[] = {50, 100, 200, 400, 800, 1000, 1000};
    for (int i = 0; i < 7; i++)
        assert_int_equal(waits[i], expected[i]);
}

ROUTER_TEST(bytes_that_are_no_answer_end_the_link)
{
    static const char *const wrong[] = {"+ok\r\n+ok\r\n", "hello\r\n",
                                        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin(f);
        struct elapse__router_client *c = client(f);
        say(f, c, "KICKID 3");
        (void)sent(f, f->links[1]);
        answer(f, f->links[1], wrong[i]);
        assert_true(elapse__router_link_wants_end(f->links[1]));
        expect(f, c, i == 0 ? "+ok\r\n" : UNKNOWN_1);
    }
}

CLIENT_TEST(an_answer_before_the_command_ends_the_link)
{
    say(f, c, "KICKID 3");
    answer(f, f->links[1], "+ok\r\n");
    assert_true(elapse__router_link_wants_end(f->links[1]));
    greet(f, again(f));
    expect_sent(f, last(f), "KICKID 3\n");
}

ROUTER_TEST(a_reply_has_a_limit)
{
    char bytes[1001];

    f->options.reply_bytes_max = 1000;
    begin(f);
    struct elapse__router_client *c = client(f);
    memset(bytes, 'x', sizeof bytes);
    say(f, c, "LOOKUPID 3");
    (void)sent(f, f->links[1]);
    answer(f, f->links[1], "$5000\r\n");
    elapse__router_link_received(f->links[1], f->now, bytes, 1000 - 7 - 1);
    assert_false(elapse__router_link_wants_end(f->links[1]));
    elapse__router_link_received(f->links[1], f->now, bytes, 1);
    assert_true(elapse__router_link_wants_end(f->links[1]));
}

ROUTER_TEST(a_reply_may_fill_the_output)
{
    f->options.output_bytes_max = 20 << 20;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "LOOKUPID 3");
    (void)sent(f, f->links[1]);
    answer(f, f->links[1], "$31457280\r\n");
    static char bytes[64 << 10];
    for (unsigned i = 0; i < 20 << 4; i++)
        elapse__router_link_received(f->links[1], f->now, bytes, sizeof bytes);
    assert_false(elapse__router_link_wants_end(f->links[1]));
}

ROUTER_TEST(it_is_idle_when_all_is_answered)
{
    begin(f);
    struct elapse__router_client *c = client(f);
    assert_true(elapse__router_is_idle(f->router));
    say(f, c, "KICKID 3");
    assert_false(elapse__router_is_idle(f->router));
    (void)sent(f, f->links[1]);
    assert_false(elapse__router_is_idle(f->router));
    answer(f, f->links[1], "+ok\r\n");
    assert_false(elapse__router_is_idle(f->router));
    expect(f, c, "+ok\r\n");
    assert_true(elapse__router_is_idle(f->router));
    /* What waits for an owner, or for a job, is not under way. */
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_NOWHERE, 2);
    turn(f);
    say(f, c, "KICKID 3");
    assert_true(elapse__router_is_idle(f->router));
}

TEST_MAIN("loss")
