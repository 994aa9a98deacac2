/*
 * Tests that memory is limited, how clients end, and pipes.
 */
#include "fixture.h"

/* ---- memory ---- */

ROUTER_TEST(a_client_that_does_not_read_is_not_read)
{
    unsigned taken = 0;

    f->options.output_bytes_max = 4000;
    f->options.input_bytes_max = 2000;
    begin(f);
    struct elapse__router_client *c = client(f);
    struct elapse__router_client *other = client(f);
    while (elapse__router_client_room(c) >= 50 && taken < 10000) {
        say(f, c, "ECHO 0123456789012345678901234567");
        taken++;
    }
    const uint8_t *bytes;
    assert_in_range(elapse__router_client_output(c, &bytes), 3500, 4500);
    assert_in_range(taken, 130, 180);
    say(f, other, "PING");
    expect(f, other, "+PONG\r\n");
    /* It reads: everything comes. */
    size_t size = strlen(got(f, c));
    assert_int_equal(size, taken * strlen("$28\r\n0123456789012345678901234567\r\n"));
}

ROUTER_TEST(replies_that_are_expected_count)
{
    f->options.output_bytes_max = 300000;
    begin(f);
    struct elapse__router_client *c = client(f);
    /* A look may bring 64 KiB: five of them are as many as there may be. */
    for (int i = 0; i < 10; i++)
        say(f, c, "LOOKUPID 2");
    expect_sent(f, f->links[0], "LOOKUPID 2\nLOOKUPID 2\nLOOKUPID 2\nLOOKUPID 2\nLOOKUPID 2\n");
    answer(f, f->links[0], "_\r\n_\r\n");
    expect(f, c, "$-1\r\n$-1\r\n");
    expect_sent(f, f->links[0], "LOOKUPID 2\nLOOKUPID 2\n");
}

ROUTER_TEST(a_lane_that_is_full_holds_up_its_own_clients_only)
{
    struct elapse__router_figures figures;

    f->options.lane_bytes_max = 3000;
    begin(f);
    struct elapse__router_client *c = client(f);
    struct elapse__router_client *other = client(f);
    for (int i = 0; i < 100; i++)
        say(f, c, "KICKID 3");
    elapse__router_figures(f->router, &figures);
    assert_in_range(figures.fragments, 20, 40);
    say(f, other, "KICKID 2\nKICKID 5");
    expect_sent(f, f->links[0], "KICKID 2\n");
    answer(f, f->links[0], "+ok\r\n");
    expect(f, other, "+ok\r\n");
    /* The answers let the rest in. */
    for (int round = 0; round < 100; round++) {
        const char *lines = sent(f, f->links[1]);
        for (size_t i = 0; lines[i] != '\0'; i++) {
            if (lines[i] == '\n')
                elapse__router_link_received(f->links[1], f->now, "+ok\r\n", 5);
        }
        turn(f);
    }
    assert_int_equal(strlen(got(f, c)), 500);
    expect(f, other, "+ok\r\n");
}

CLIENT_TEST(a_link_takes_a_piece_at_a_time)
{
    const uint8_t *bytes;
    char line[2001] = "PUT t ";

    memset(line + 6, 'b', 1990);
    line[1996] = '\0';
    for (int i = 0; i < 100; i++)
        say(f, c, line);
    assert_in_range(elapse__router_link_output(f->links[0], &bytes), 64 << 10, 68 << 10);
    const char *all = sent(f, f->links[0]);
    unsigned count = 0;
    for (; *all != '\0'; all++)
        count += *all == '\n';
    assert_int_equal(count, 100);
}

ROUTER_TEST(the_input_has_a_limit)
{
    f->options.input_bytes_max = 100;
    f->options.argument_bytes_max = 8000;
    begin(f);
    struct elapse__router_client *c = client(f);
    assert_int_equal(elapse__router_client_room(c), 100);
    /* A longer argument gets the room that it takes, and no more. */
    say_bytes(f, c, "*2\r\n$4\r\nECHO\r\n$8000\r\n");
    assert_int_equal(elapse__router_client_room(c), 8002);
    c = client(f);
    say_bytes(f, c, "*2\r\n$4\r\nECHO\r\n$8001\r\n");
    assert_int_equal(elapse__router_client_room(c), 100);
}

ROUTER_TEST(clients_have_a_limit)
{
    struct elapse__router_figures figures;

    f->options.clients_max = 2;
    begin(f);
    struct elapse__router_client *c = client(f);
    (void)client(f);
    assert_null(elapse__router_client_new(f->router, f->now, false, NULL));
    elapse__router_client_closed(c, f->now);
    (void)client(f);
    elapse__router_figures(f->router, &figures);
    assert_int_equal(figures.clients, 2);
    assert_int_equal(figures.refused, 1);
}

/* ---- ends ---- */

CLIENT_TEST(a_half_closed_client_gets_its_replies)
{
    say(f, c, "KICKID 3\nKICKID 2");
    say_bytes(f, c, "*1\r\n");
    elapse__router_client_received_all(c, f->now);
    turn(f);
    assert_false(elapse__router_client_wants_end(c));
    (void)sent(f, f->links[0]);
    (void)sent(f, f->links[1]);
    answer(f, f->links[0], "+ok\r\n");
    answer(f, f->links[1], "+ok\r\n");
    assert_false(elapse__router_client_wants_end(c));
    expect(f, c, "+ok\r\n+ok\r\n");
    assert_true(elapse__router_client_wants_end(c));
}

CLIENT_TEST(what_a_gone_client_said_is_done)
{
    say(f, c, "KICKID 3\nCANCELID 2 3\nSTATS");
    elapse__router_client_closed(c, f->now);
    expect_sent(f, f->links[1], "KICKID 3\nCANCELID 3\nSTATS\n");
    expect_sent(f, f->links[0], "CANCELID 2\nSTATS\n");
    answer(f, f->links[1], "+ok\r\n*1\r\n+gone\r\n%0\r\n");
    answer(f, f->links[0], "*1\r\n+gone\r\n%0\r\n");
}

/* ---- pipes ---- */

static void begin_with_one(struct fixture *f)
{
    f->options.partitions = 1;
    begin(f);
}

ROUTER_TEST(beanstalkd_passes_as_it_is)
{
    begin_with_one(f);
    elapse__router_owner(f->router, f->now, 0, ELAPSE__ROUTER_THERE, 2);
    turn(f);
    struct elapse__router_client *c = client(f);
    say_bytes(f, c, "put 1 0 60 5\r\nhello\r\n");
    assert_true(elapse__router_link_is_pipe(last(f)));
    expect_sent(f, last(f), "HELLO 3\nNODE PIPE 1 orders 0\n");
    say_bytes(f, c, "reserve\r\n");
    answer(f, last(f), "%0\r\n+OK\r\nINSERTED ");
    const uint8_t *bytes;
    size_t size = elapse__router_link_output(last(f), &bytes);
    assert_int_equal(size, 30);
    assert_memory_equal(bytes, "put 1 0 60 5\r\nhello\r\nreserve\r\n", 30);
    elapse__router_link_sent(last(f), f->now, size);
    answer(f, last(f), "1\r\n");
    expect(f, c, "INSERTED 1\r\n");
    cut(f, last(f));
    assert_true(elapse__router_client_wants_end(c));
}

ROUTER_TEST(a_pipe_to_this_node_has_no_greeting)
{
    begin_with_one(f);
    struct elapse__router_client *c = client(f);
    f->is_here = true;
    say_bytes(f, c, "stats\r\n");
    const uint8_t *bytes;
    assert_int_equal(elapse__router_link_output(last(f), &bytes), 7);
    elapse__router_client_closed(c, f->now);
    assert_true(elapse__router_link_wants_end(last(f)));
}

ROUTER_TEST(a_pipe_holds_its_bytes_back)
{
    char bytes[3001];

    f->options.output_bytes_max = 1000;
    f->options.input_bytes_max = 1000;
    begin_with_one(f);
    struct elapse__router_client *c = client(f);
    memset(bytes, 'x', sizeof bytes);
    f->is_here = true;
    say_bytes(f, c, "s");
    elapse__router_link_received(last(f), f->now, bytes, 1000);
    assert_int_equal(elapse__router_link_room(last(f)), 0);
    assert_int_equal(strlen(got(f, c)), 1000);
    assert_int_equal(elapse__router_link_room(last(f)), 1000);
    /* Nobody reads what the client sends. */
    size_t taken = 0;
    while (elapse__router_client_room(c) > 0) {
        size_t room = elapse__router_client_room(c);
        elapse__router_client_received(c, f->now, bytes, room < 500 ? room : 500);
        taken += room < 500 ? room : 500;
        turn(f);
        assert_true(taken < 100000);
    }
    assert_int_equal(taken, (64 << 10) - 1 + 1000);
}

ROUTER_TEST(a_pipe_waits_for_an_owner_so_long)
{
    f->options.answer_ms = 700;
    begin_with_one(f);
    elapse__router_owner(f->router, f->now, 0, ELAPSE__ROUTER_NOWHERE, 2);
    struct elapse__router_client *c = client(f);
    struct elapse__router_client *patient = client(f);
    say_bytes(f, c, "stats\r\n");
    pass(f, 300);
    say_bytes(f, patient, "stats\r\n");
    pass(f, 399);
    assert_false(elapse__router_client_wants_end(c));
    pass(f, 1);
    assert_true(elapse__router_client_wants_end(c));
    elapse__router_owner(f->router, f->now, 0, ELAPSE__ROUTER_HERE, 3);
    turn(f);
    assert_false(elapse__router_client_wants_end(patient));
}

CLIENT_TEST(beanstalkd_takes_one_partition)
{
    say_bytes(f, c, "stats\r\n");
    expect(f, c,
           "INTERNAL_ERROR: this queue has more than one partition, and beanstalkd's protocol "
           "takes one\r\n");
    assert_true(elapse__router_client_wants_end(c));
}

/* The owner of the partition may have other options than this node. */
ROUTER_TEST(a_node_that_does_not_speak_beanstalkd_passes_none_of_it_on)
{
    f->options.no_beanstalkd = true;
    begin_with_one(f);
    struct elapse__router_client *c = client(f);
    uint32_t links = f->link_count;
    say_bytes(f, c, "stats\r\n");
    turn(f);
    expect(f, c, "");
    assert_true(elapse__router_client_wants_end(c));
    assert_int_equal(f->link_count, links);
}

TEST_MAIN("limit")
