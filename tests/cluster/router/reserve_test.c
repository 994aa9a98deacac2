/*
 * Tests RESERVE: which partitions are asked, how it waits, and which jobs are given back.
 */
#include "fixture.h"

#define JOB(id, lease)                                                       \
    "*8\r\n:" id "\r\n$3\r\n" lease "\r\n$1\r\nt\r\n_\r\n$2\r\nhi\r\n:1\r\n" \
    ":1\r\n:0\r\n"
#define JOB_2(id, lease)                                                       \
    "*8\r\n:" id "\r\n$3\r\n" lease "\r\n$1\r\nt\r\n$-1\r\n$2\r\nhi\r\n:1\r\n" \
    ":1\r\n:0\r\n"

CLIENT_TEST(this_node_is_asked_first)
{
    say(f, c, "RESERVE t u COUNT 3");
    expect_sent(f, f->links[1], "");
    expect_sent(f, f->links[0], "RESERVE t u COUNT 3\n");
    answer(f, f->links[0], "*0\r\n");
    expect_sent(f, f->links[1], "RESERVE t u COUNT 3\n");
    expect(f, c, "");
    answer(f, f->links[1], "*2\r\n" JOB("3", "1-1") JOB("5", "1-2"));
    expect(f, c, "*2\r\n" JOB_2("3", "1-1") JOB_2("5", "1-2"));
    say(f, c, "RESERVE t");
    expect_sent(f, f->links[0], "RESERVE t\n");
    answer(f, f->links[0], "*1\r\n" JOB("4", "1-1"));
    expect(f, c, "*1\r\n" JOB_2("4", "1-1"));
    expect_sent(f, f->links[1], "");
}

CLIENT_TEST(no_partition_is_left_out)
{
    unsigned asked[2] = {0, 0};

    /* There are always jobs everywhere. */
    for (int i = 0; i < 32; i++) {
        say(f, c, "RESERVE t");
        for (int k = 0; k < 2; k++) {
            if (sent(f, f->links[k])[0] == '\0')
                continue;
            asked[k]++;
            answer(f, f->links[k], k == 0 ? "*1\r\n" JOB("2", "1-1") : "*1\r\n" JOB("3", "1-1"));
        }
        assert_true(got(f, c)[0] != '\0');
    }
    assert_int_equal(asked[0] + asked[1], 32);
    assert_in_range(asked[1], 1, 8);
}

CLIENT_TEST(nothing_is_an_empty_array)
{
    say(f, c, "RESERVE t\nPING");
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "*0\r\n");
    (void)sent(f, f->links[1]);
    expect(f, c, "");
    answer(f, f->links[1], "*0\r\n");
    expect(f, c, "*0\r\n+PONG\r\n");
}

CLIENT_TEST(an_error_is_the_reply)
{
    say(f, c, "RESERVE t WAIT 5s");
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "-DAMAGED the disk could not be read\r\n");
    expect(f, c, "-DAMAGED the disk could not be read\r\n");
    expect_sent(f, f->links[1], "");
}

CLIENT_TEST(commands_that_are_not_well_formed_are_refused)
{
    /* None of these may make a partition wait: it refuses them. */
    say(f, c,
        "RESERVE\nRESERVE t COUNT 0\nRESERVE t COUNT 1001 WAIT 1s\nRESERVE t WAIT 5\nRESERVE t "
        "WAIT\n"
        "RESERVE t COUNT 1 COUNT 2\nRESERVE t WAIT 1s x\nRESERVE t wait 1s WAIT 1s");
    expect_sent(f, f->links[0],
                "RESERVE\nRESERVE t COUNT 0\nRESERVE t COUNT 1001 WAIT 1s\nRESERVE t WAIT 5\n"
                "RESERVE t WAIT\nRESERVE t COUNT 1 COUNT 2\nRESERVE t WAIT 1s x\n"
                "RESERVE t wait 1s WAIT 1s\n");
}

#define TRY_AGAIN "-TRYAGAIN not every partition could be asked, and the others have no job\r\n"

static uint64_t count_try_again(const struct fixture *f)
{
    struct elapse__router_figures figures;

    elapse__router_figures(f->router, &figures);
    return figures.try_again;
}

CLIENT_TEST(without_partitions_it_says_so)
{
    cut(f, f->links[0]);
    cut(f, f->links[1]);
    say(f, c, "RESERVE t");
    expect(f, c, TRY_AGAIN);
    assert_int_equal(count_try_again(f), 1);
    say(f, c, "RESERVE t WAIT 20ms");
    pass(f, 19);
    expect(f, c, "");
    pass(f, 1);
    expect(f, c, "*0\r\n");
    assert_int_equal(count_try_again(f), 1);
}

CLIENT_TEST(a_partition_that_cannot_be_asked_may_have_jobs)
{
    cut(f, f->links[1]);
    for (int i = 0; i < 2; i++) {
        say(f, c, "RESERVE t");
        expect_sent(f, f->links[0], "RESERVE t\n");
        answer(f, f->links[0], i == 0 ? "*0\r\n" : "*1\r\n" JOB("2", "1-1"));
        expect(f, c, i == 0 ? TRY_AGAIN : "*1\r\n" JOB_2("2", "1-1"));
    }
    assert_int_equal(count_try_again(f), 1);
}

CLIENT_TEST(a_partition_that_is_lost_before_it_answers_may_have_jobs)
{
    say(f, c, "RESERVE t");
    (void)sent(f, f->links[0]);
    cut(f, f->links[0]);
    expect_sent(f, f->links[1], "RESERVE t\n");
    answer(f, f->links[1], "*0\r\n");
    expect(f, c, TRY_AGAIN);
}

CLIENT_TEST(owners_that_change_change_the_order)
{
    say(f, c, "RESERVE t");
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "*1\r\n" JOB("2", "1-1"));
    (void)got(f, c);
    say(f, c, "RESERVE t");
    expect_sent(f, f->links[0], "RESERVE t\n");
    /* With these owners it begins with partition 1, and partition 0 is the second one. */
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_HERE, 2);
    turn(f);
    greet(f, last(f));
    answer(f, f->links[0], "*0\r\n");
    expect_sent(f, f->links[0], "RESERVE t\n");
    answer(f, f->links[0], "*0\r\n");
    expect_sent(f, last(f), "");
    expect(f, c, TRY_AGAIN);
}

CLIENT_TEST(a_partition_is_here_when_it_can_be_asked)
{
    say(f, c, "INFO");
    assert_non_null(strstr(got(f, c), "partitions_here:1\r\n"));
    cut(f, f->links[0]);
    say(f, c, "INFO");
    assert_non_null(strstr(got(f, c), "partitions_here:0\r\npartitions_without_owner:0\r\n"));
    pass(f, 50);
    greet(f, last(f));
    say(f, c, "INFO");
    assert_non_null(strstr(got(f, c), "partitions_here:1\r\n"));
}

/* ---- waiting ---- */

/* All partitions answer that they have nothing. Returns how many were asked. */
static unsigned deny(struct fixture *f)
{
    unsigned asked = 0;

    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < 2; i++) {
            const char *lines = sent(f, f->links[i]);
            unsigned count = 0;
            for (; *lines != '\0'; lines++)
                count += *lines == '\n';
            for (; count > 0; count--, asked++, more = true)
                answer(f, f->links[i], "*0\r\n");
        }
    }
    return asked;
}

ROUTER_TEST(a_wait_ends_in_time)
{
    f->options.poll_ms = 10000;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "RESERVE t WAIT 300ms\nPING");
    assert_int_equal(deny(f), 2);
    pass(f, 299);
    expect(f, c, "");
    assert_int_equal(elapse__router_next_ms(f->router), f->now + 1);
    pass(f, 1);
    expect(f, c, "*0\r\n+PONG\r\n");
}

CLIENT_TEST(an_answer_that_is_under_way_is_waited_for)
{
    say(f, c, "RESERVE t WAIT 300ms");
    assert_int_equal(deny(f), 2);
    elapse__router_ready(f->router, f->now, 1);
    (void)sent(f, f->links[1]);
    pass(f, 400);
    expect(f, c, "");
    answer(f, f->links[1], "*1\r\n" JOB("3", "1-1"));
    expect(f, c, "*1\r\n" JOB_2("3", "1-1"));
    say(f, c, "RESERVE t WAIT 300ms");
    (void)deny(f);
    elapse__router_ready(f->router, f->now, 1);
    (void)sent(f, f->links[1]);
    pass(f, 400);
    answer(f, f->links[1], "*0\r\n");
    expect(f, c, "*0\r\n");
}

ROUTER_TEST(news_are_asked_about_at_once)
{
    f->options.poll_ms = 10000;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "RESERVE t WAIT 5s");
    assert_int_equal(deny(f), 2);
    /* The owner says so. */
    answer(f, f->links[1], ">1\r\n+ready\r\n");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "RESERVE t\n");
    answer(f, f->links[1], "*1\r\n" JOB("3", "1-1"));
    expect(f, c, "*1\r\n" JOB_2("3", "1-1"));
    answer(f, f->links[1], ">1\r\n+other\r\n>0\r\n");
    expect_sent(f, f->links[1], "");
}

ROUTER_TEST(without_news_it_asks_again)
{
    f->options.poll_ms = 200;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "RESERVE t WAIT 5s");
    assert_int_equal(deny(f), 2);
    for (int i = 0; i < 5; i++) {
        pass(f, 199);
        assert_int_equal(deny(f), 0);
        assert_int_equal(elapse__router_next_ms(f->router), f->now + 1);
        pass(f, 1);
        assert_in_range(deny(f), 2, 3);
    }
}

ROUTER_TEST(jobs_that_came_during_the_first_round_are_seen)
{
    f->options.poll_ms = 10000;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "RESERVE t WAIT 5s");
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "*0\r\n");
    elapse__router_ready(f->router, f->now, 0);
    (void)sent(f, f->links[1]);
    answer(f, f->links[1], "*0\r\n");
    expect_sent(f, f->links[0], "RESERVE t\n");
}

ROUTER_TEST(waiters_are_asked_in_their_order)
{
    struct elapse__router_client *c[3];

    f->options.poll_ms = 10000;
    begin(f);
    for (int i = 0; i < 3; i++) {
        c[i] = client(f);
        say(f, c[i], i == 2 ? "RESERVE u WAIT 5s" : "RESERVE t WAIT 5s");
        (void)deny(f);
    }
    elapse__router_ready(f->router, f->now, 1);
    expect_sent(f, f->links[1], "RESERVE t\n");
    answer(f, f->links[1], "*1\r\n" JOB("3", "1-1"));
    expect(f, c[0], "*1\r\n" JOB_2("3", "1-1"));
    /* There may be more. */
    expect_sent(f, f->links[1], "RESERVE t\n");
    answer(f, f->links[1], "*0\r\n");
    expect(f, c[1], "");
    expect_sent(f, f->links[1], "RESERVE u\n");
    answer(f, f->links[1], "*0\r\n");
    expect_sent(f, f->links[1], "");
}

ROUTER_TEST(the_same_tubes_are_asked_for_once)
{
    f->options.poll_ms = 10000;
    begin(f);
    for (int i = 0; i < 50; i++) {
        say(f, client(f), "RESERVE t WAIT 5s");
        (void)deny(f);
    }
    elapse__router_ready(f->router, f->now, 1);
    expect_sent(f, f->links[1], "RESERVE t\n");
    answer(f, f->links[1], "*0\r\n");
    expect_sent(f, f->links[1], "");
}

ROUTER_TEST(nobody_is_asked_about_twice_at_a_time)
{
    f->options.poll_ms = 10000;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "RESERVE t WAIT 5s");
    (void)deny(f);
    elapse__router_ready(f->router, f->now, 0);
    elapse__router_ready(f->router, f->now, 1);
    expect_sent(f, f->links[0], "RESERVE t\n");
    expect_sent(f, f->links[1], "");
    answer(f, f->links[0], "*0\r\n");
    /* Now the other one. */
    expect_sent(f, f->links[1], "RESERVE t\n");
    answer(f, f->links[1], "*0\r\n");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
}

ROUTER_TEST(a_new_link_is_news)
{
    f->options.poll_ms = 10000;
    begin(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "RESERVE t WAIT 5s");
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "*0\r\n");
    (void)sent(f, f->links[1]);
    cut(f, f->links[1]);
    expect(f, c, "");
    pass(f, 50);
    greet(f, last(f));
    expect_sent(f, last(f), "RESERVE t\n");
    answer(f, last(f), "*1\r\n" JOB("3", "1-1"));
    expect(f, c, "*1\r\n" JOB_2("3", "1-1"));
}

/* ---- giving back ---- */

CLIENT_TEST(jobs_for_a_gone_client_are_given_back)
{
    say(f, c, "RESERVE t COUNT 2");
    (void)sent(f, f->links[0]);
    elapse__router_client_closed(c, f->now);
    answer(f, f->links[0], "*2\r\n" JOB("2", "1-7") JOB("4", "1-8"));
    expect_sent(f, f->links[0], "NACK 2 1-7 IN 0s\nNACK 4 1-8 IN 0s\n");
    answer(f, f->links[0], "+ok\r\n+gone\r\n");
    expect_sent(f, f->links[1], "");
}

CLIENT_TEST(replies_that_were_not_wholly_sent_are_given_back)
{
    const uint8_t *bytes;

    say(f, c, "RESERVE t\nRESERVE t\nRESERVE t");
    for (int i = 0; i < 2; i++) {
        (void)sent(f, f->links[0]);
        answer(f, f->links[0], i == 0 ? "*1\r\n" JOB("2", "1-7") : "*1\r\n" JOB("4", "1-8"));
    }
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "*0\r\n");
    size_t size = elapse__router_client_output(c, &bytes);
    /* The first one whole; of the second all but its last byte. */
    elapse__router_client_sent(c, f->now, size - 1);
    elapse__router_client_closed(c, f->now);
    expect_sent(f, f->links[0], "NACK 4 1-8 IN 0s\n");
}

CLIENT_TEST(replies_that_were_sent_stay)
{
    struct elapse__router_figures figures;

    say(f, c, "RESERVE t");
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "*1\r\n" JOB("2", "1-7"));
    (void)got(f, c);
    elapse__router_client_closed(c, f->now);
    expect_sent(f, f->links[0], "");
    elapse__router_figures(f->router, &figures);
    assert_int_equal(figures.given_back, 0);
}

ROUTER_TEST(a_gone_client_waits_no_more)
{
    struct elapse__router_figures figures;

    f->options.poll_ms = 10000;
    begin(f);
    struct elapse__router_client *c = client(f);
    struct elapse__router_client *half = client(f);
    say(f, c, "RESERVE t WAIT 5s");
    (void)deny(f);
    say(f, half, "RESERVE t WAIT 5s");
    (void)deny(f);
    elapse__router_client_closed(c, f->now);
    /* Who only listens has nobody to work. */
    elapse__router_client_received_all(half, f->now);
    turn(f);
    assert_true(elapse__router_client_wants_end(half));
    elapse__router_client_closed(half, f->now);
    elapse__router_figures(f->router, &figures);
    assert_int_equal(figures.waiting, 0);
    elapse__router_ready(f->router, f->now, 1);
    expect_sent(f, f->links[1], "");
}

CLIENT_TEST(commands_behind_it_wait)
{
    say(f, c, "KICKID 3\nRESERVE t\nKICKID 5\nKICKID 4");
    expect_sent(f, f->links[0], "RESERVE t\n");
    expect_sent(f, f->links[1], "KICKID 3\n");
    answer(f, f->links[0], "*1\r\n" JOB("2", "1-7"));
    expect_sent(f, f->links[0], "KICKID 4\n");
    expect_sent(f, f->links[1], "KICKID 5\n");
}

TEST_MAIN("reserve")
