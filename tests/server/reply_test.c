/*
 * Tests replies: which replies wait for the disk (gates), which replies come in slices, what stops
 * a client that does not read, and how connections end.
 */
#include "fixture.h"

SERVER_TEST(no_byte_leaves_before_it_is_durable)
{
    struct client a;
    connect(&a);
    say(&a, "p t one\nz\np t two\n");
    rest();
    expect(&a, "");
    commit();
    expect(&a, "+1\n-error\n+2\n");
}

SERVER_TEST(an_error_waits_for_what_came_before_it)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    say(&a, "p t one\n");
    say(&b, "x 99\n");
    rest();
    expect(&b, "");
    commit();
    expect(&b, "-gone\n");
    say(&b, "x 99\n");
    expect(&b, "-gone\n");
}

SERVER_TEST(a_later_reply_waits_for_its_own_gate)
{
    struct client a;
    struct elapse__operation operation;
    connect(&a);
    say(&a, "p t one\n");
    assert_true(elapse__journal_next_operation(f.engine.journal, ELAPSE__LANE_COMMIT, &operation));
    say(&a, "p t two\n");
    while (elapse__journal_durable(f.engine.journal) < f.engine.previous_position) {
        elapse__operation_perform(f.engine.journal, &operation);
        elapse__journal_completed(f.engine.journal, ELAPSE__LANE_COMMIT, &operation);
        if (elapse__journal_durable(f.engine.journal) < f.engine.previous_position)
            assert_true(
                elapse__journal_next_operation(f.engine.journal, ELAPSE__LANE_COMMIT, &operation));
    }
    rest();
    expect(&a, "+1\n");
    commit();
    expect(&a, "+2\n");
}

/* The first client sends a put whenever the journal has made its last one durable, so it always has
 * a reply that waits. */
SERVER_TEST(a_client_that_goes_on_putting_keeps_no_reply_of_others_back)
{
    struct client putter, other, worker;
    connect(&putter);
    connect(&other);
    connect(&worker);
    say(&putter, "p t one\n");
    say(&other, "p u two\n");
    say(&worker, "r 0 1 u\n");
    while (elapse__journal_work(f.engine.journal))
        ;
    say(&putter, "p t three\n");
    expect(&putter, "+1\n");
    rest();
    expect(&putter, "");
    expect(&other, "+2\n");
    expect(&worker, "=2 two\n");
    commit();
    expect(&putter, "+3\n");
}

SERVER_TEST(bytes_may_come_one_by_one)
{
    struct client a;
    const char *text = "p t one\nz\nn 3\nabcz\n";

    connect(&a);
    for (const char *at = text; *at != '\0'; at++) {
        say_bytes(&a, at, 1);
        rest();
    }
    commit();
    expect(&a, "+1\n-error\n+needed\n-error\n");
}

SERVER_TEST(a_pipeline_runs_in_slices)
{
    struct client a, b;
    enum { LINES = 5000 };
    char *text = malloc(LINES * 2 + 1);
    for (int i = 0; i < LINES; i++)
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no string */
        memcpy(text + i * 2, "z\n", 2);
    connect(&a);
    connect(&b);
    lines_run = 0;
    say_bytes(&a, text, LINES * 2);
    assert_in_range(lines_run, 1, 1000);
    say(&b, "z\n");
    expect(&b, "-error\n");
    turn();
    assert_true(f.more);
    assert_in_range(lines_run, 2, 2001);
    rest();
    assert_int_equal(lines_run, LINES + 1);
    assert_int_equal(strlen(hear_some(&a, 1 << 20)), LINES * strlen("-error\n"));
    free(text);
}

SERVER_TEST(a_long_command_goes_on_in_turns)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    say(&a, "z\ns 50\nz\n");
    expect(&a, "-error\n");
    say(&b, "z\n");
    expect(&b, "-error\n");
    turn();
    expect(&a, "");
    rest();
    expect(&a, "+slices\n-error\n");
}

SERVER_TEST(a_full_journal_takes_no_command)
{
    enum { BODY = 1000, PUTS = 1500 };
    struct client a, b;
    char line[BODY + 16];
    unsigned ran = 0;
    connect(&a);
    connect(&b);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no string */
    memcpy(line, "p t ", 4);
    memset(line + 4, 'x', BODY);
    memcpy(line + 4 + BODY, "\n", 2);
    lines_run = 0;
    for (unsigned i = 0; i < PUTS && elapse__connection_room(a.connection) > sizeof line; i++) {
        say(&a, line);
        ran++;
    }
    assert_true(lines_run < ran);
    /* The core can do nothing before the journal has worked, so the shell may sleep. */
    say(&b, "z\n");
    rest();
    assert_false(f.more);
    expect(&b, "");
    assert_int_equal(elapse__connection_room(a.connection) > sizeof line, ran == PUTS);
    commit();
    expect(&b, "-error\n");
    for (unsigned i = 0; i < PUTS; i += 500)
        commit();
    (void)hear_some(&a, 1 << 20);
    assert_true(lines_run >= ran + 1);
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), ran);
    assert_true(elapse__connection_room(a.connection) > sizeof line);
}

SERVER_TEST(a_client_that_does_not_read_is_not_served)
{
    struct client a, b;
    options.output_bytes_max = 10000;
    serve();
    connect(&a);
    connect(&b);
    lines_run = 0;
    say(&a, "b 6000\nb 6000\nb 6000\n");
    rest();
    assert_int_equal(lines_run, 2);
    assert_false(f.more);
    say(&b, "z\n");
    expect(&b, "-error\n");
    assert_int_equal(strlen(hear_some(&a, 3000)), 3000);
    assert_int_equal(lines_run, 4);
    rest();
    assert_int_equal(strlen(hear_some(&a, 1 << 20)), 18003 - 3000);
}

/* A reply that has no bytes yet takes memory, and this memory counts towards the limit. */
SERVER_TEST(replies_without_bytes_are_bounded)
{
    enum { LOOKS = 400 };
    struct client a, b;
    char looks[LOOKS * 4 + 1] = "";
    options.output_bytes_max = 10000;
    serve();
    connect(&a);
    connect(&b);
    say(&b, "p t body\n");
    for (unsigned i = 0; i < LOOKS; i++)
        memcpy(looks + (size_t)i * 4, "l 1\n", 5);
    lines_run = 0;
    say(&a, looks);
    rest();
    /* The put is not durable, so no reply to a look has its bytes yet. */
    expect(&a, "");
    assert_true(lines_run > 1);
    assert_true(lines_run < 10000 / 400);
    commit();
    expect(&b, "+1\n");
    for (unsigned heard = 0; heard < LOOKS * 8; rest()) {
        size_t size = strlen(hear_some(&a, 1 << 20));
        assert_true(size > 0);
        heard += (unsigned)size;
    }
    assert_int_equal(lines_run, LOOKS);
}

SERVER_TEST(the_input_is_bounded)
{
    struct client a;
    char bytes[300];
    options.input_bytes_max = 300;
    options.body_bytes_max = 1000;
    serve();
    connect(&a);
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(elapse__connection_room(a.connection), 300);
    say_bytes(&a, bytes, 299);
    assert_int_equal(elapse__connection_room(a.connection), 1);
    assert_false(elapse__connection_wants_end(a.connection));
    /* The input is full, and has no whole command. */
    say_bytes(&a, bytes, 1);
    assert_true(elapse__connection_wants_end(a.connection));
    assert_int_equal(elapse__connection_room(a.connection), 0);
    hang_up(&a);
    /* A protocol that says how much it needs gets room for it. */
    connect(&a);
    say(&a, "n 900\n");
    assert_int_equal(elapse__connection_room(a.connection), 900);
    for (int i = 0; i < 3; i++)
        say_bytes(&a, bytes, 300);
    expect(&a, "+needed\n");
    /* But there is no room for more bytes than a job may have. */
    say(&a, "n 2000000\n");
    assert_true(elapse__connection_wants_end(a.connection));
    hang_up(&a);
}

SERVER_TEST(a_quit_ends_when_all_was_sent)
{
    struct client a;
    connect(&a);
    say(&a, "p t one\nq\nz\n");
    assert_int_equal(elapse__connection_room(a.connection), 0);
    assert_false(elapse__connection_wants_end(a.connection));
    commit();
    assert_false(elapse__connection_wants_end(a.connection));
    assert_string_equal(hear_some(&a, 3), "+1\n");
    assert_false(elapse__connection_wants_end(a.connection));
    expect(&a, "+bye\n");
    assert_true(elapse__connection_wants_end(a.connection));
    hang_up(&a);
}

SERVER_TEST(a_half_closed_client_gets_its_replies)
{
    struct client a;
    connect(&a);
    say(&a, "p t one\nz\nunfinished");
    elapse__connection_received_all(a.connection, present());
    assert_false(elapse__connection_wants_end(a.connection));
    commit();
    expect(&a, "+1\n-error\n");
    assert_true(elapse__connection_wants_end(a.connection));
    hang_up(&a);
    connect(&a);
    say(&a, "r 1000 1 t2\n");
    elapse__connection_received_all(a.connection, present());
    assert_true(elapse__connection_wants_end(a.connection));
    hang_up(&a);
}

/* A reserve that waits keeps nothing back that was answered before it. */
SERVER_TEST(a_half_closed_client_gets_the_replies_before_a_reserve_that_waits)
{
    struct client a;
    connect(&a);
    say(&a, "p t one\nr 1000 1 t2\nz\n");
    elapse__connection_received_all(a.connection, present());
    assert_false(elapse__connection_wants_end(a.connection));
    commit();
    expect(&a, "+1\n");
    assert_true(elapse__connection_wants_end(a.connection));
    hang_up(&a);
}

SERVER_TEST(a_browser_is_not_served)
{
    static const char *const requests[] = {
        "POST / HTTP/1.1\r\nz\nz\n",
        "GET /p HTTP/1.0\r\n",
        "DELETE /x HTTP/1.1\n",
        "OPTIONS * HTTP/1.1\n",
    };
    struct client a;
    lines_run = 0;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        connect(&a);
        say(&a, requests[i]);
        assert_true(elapse__connection_wants_end(a.connection));
        hang_up(&a);
        connect(&a);
        for (const char *at = requests[i]; *at != '\n'; at++)
            say_bytes(&a, at, 1);
        assert_int_equal(lines_run, 0);
        assert_false(elapse__connection_wants_end(a.connection));
        hang_up(&a);
    }
    connect(&a);
    say(&a, "GET it\n");
    expect(&a, "-error\n");
    hang_up(&a);
    connect(&a);
    for (int i = 0; i < 9000 && !elapse__connection_wants_end(a.connection); i++)
        say_bytes(&a, &"GET "[i < 4 ? i : 0], 1);
    assert_true(elapse__connection_wants_end(a.connection));
}

SERVER_TEST(the_first_byte_says_the_protocol)
{
    static const struct elapse__queue_text passwords[] = {{"first", 5}, {"second one", 10}};
    struct elapse__connection_facts facts = {.may_use_beanstalkd = false};
    struct client a;
    options.keys.passwords = passwords;
    options.keys.password_count = 2;
    serve();
    static const char *const given[] = {"second one", "second on", "", "firsT", "firstfirst"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct elapse__wire_resp_argument password = {(const unsigned char *)given[i],
                                                      (uint32_t)strlen(given[i])};
        assert_int_equal(elapse__password_is_among(passwords, 2, password), i == 0);
    }
    connect(&a);
    say(&a, "z\n");
    expect(&a, "-error\n");
    facts.shell = &a;
    a.connection = elapse__connection_new(f.server, present(), &facts);
    say(&a, "z\n");
    rest();
    assert_non_null(strstr(hear_some(&a, 1000), "UNAUTHORIZED"));
    assert_true(elapse__connection_wants_end(a.connection));
}

SERVER_TEST(idle_connections_end)
{
    struct client a, b, c, d;
    options.idle_ms = 1000;
    serve();
    connect(&a);
    connect(&b);
    connect(&c);
    connect(&d);
    say(&b, "p t one\nr 0 1 t\n");
    commit();
    expect(&b, "+1\n=1 one\n");
    say(&c, "r 100000 1 t2\n");
    pass(600);
    say(&d, "z\n");
    pass(399);
    assert_false(elapse__connection_wants_end(a.connection));
    pass(1);
    assert_true(elapse__connection_wants_end(a.connection));
    hang_up(&a);
    pass(500);
    assert_false(elapse__connection_wants_end(d.connection));
    pass(100);
    assert_true(elapse__connection_wants_end(d.connection));
    /* The client b has a lease; the client c waits. */
    assert_false(elapse__connection_wants_end(b.connection));
    assert_false(elapse__connection_wants_end(c.connection));
}

SERVER_TEST(a_client_whose_put_waits_for_the_disk_is_not_idle)
{
    struct client a, worker;
    options.idle_ms = 1000;
    serve();
    connect(&a);
    connect_free(&worker);
    say(&a, "p t one\n");
    say(&worker, "r 0 1 t\n");
    pass(1000);
    assert_false(elapse__connection_wants_end(a.connection));
    assert_false(elapse__connection_wants_end(worker.connection));
    /* The same turn finds the records on the disk, and that the time is over. */
    while (elapse__journal_work(f.engine.journal))
        ;
    pass(1000);
    assert_false(elapse__connection_wants_end(a.connection));
    assert_false(elapse__connection_wants_end(worker.connection));
    expect(&worker, "=1 one\n");
    /* The client a does not read its reply, and a reply that waits behind it helps nothing. */
    pass(999);
    assert_false(elapse__connection_wants_end(a.connection));
    say(&a, "p t two\n");
    pass(1000);
    assert_true(elapse__connection_wants_end(a.connection));
    /* The worker has a job, but RESP does not bind a lease to the connection. */
    assert_true(elapse__connection_wants_end(worker.connection));
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
}

/* The first reply of a request of HTTP stays where it is until the last one can be read. */
SERVER_TEST(a_request_of_http_is_never_idle)
{
    struct elapse__connection_facts facts = {.is_request = true};
    struct client a = {.attended = false};
    options.idle_ms = 1000;
    serve();
    facts.shell = &a;
    a.connection = elapse__connection_new(f.server, present(), &facts);
    assert_non_null(a.connection);
    say(&a, "z\np t one\n");
    pass(1000);
    pass(1000);
    assert_false(elapse__connection_wants_end(a.connection));
    commit();
    expect(&a, "-error\n+1\n");
}

SERVER_TEST(a_client_that_is_told_late_to_have_been_sent_bytes_was_idle_meanwhile)
{
    struct client a;
    const uint8_t *bytes;

    options.idle_ms = 1000;
    serve();
    connect(&a);
    say(&a, "z\n");
    commit();
    size_t size = elapse__connection_output(a.connection, &bytes);
    assert_true(size > 0);
    assert_false(elapse__connection_awaits_sent(a.connection));
    struct elapse__queue_now later = present();
    later.boot_ms += 1000;
    later.wall_ms += 1000;
    elapse__connection_sent(a.connection, later, size);
    pass(1000);
    assert_true(elapse__connection_wants_end(a.connection));
}

SERVER_TEST(limits_of_puts_hold_at_their_edges)
{
    struct client a;
    options.body_bytes_max = 10;
    options.tube_jobs_max = 2;
    options.tube_bytes_max = 15;
    options.memory_bytes_max = 1000;
    serve();
    connect(&a);
    say(&a, "p t 0123456789\np t 0123456789a\np t 012345\np t 01234\np t 0\np u 0\nx 1\np t 0\n");
    commit();
    expect(&a, "+1\n-big\n-full\n+2\n-full\n+3\n+deleted\n+4\n");
    elapse__server_set_memory(f.server, 999);
    say(&a, "p v 1\n");
    elapse__server_set_memory(f.server, 1000);
    say(&a, "p v 1\n");
    elapse__server_set_memory(f.server, 0);
    elapse__server_drain(f.server);
    say(&a, "p v 1\nz\n");
    commit();
    expect(&a, "+5\n-memory\n-draining\n-error\n");
}

SERVER_TEST(connections_are_counted_and_limited)
{
    struct elapse__connection_facts facts = {0};
    struct elapse__server_statistics statistics;
    struct client a, b;
    options.connections_max = 2;
    serve();
    connect(&a);
    connect(&b);
    assert_null(elapse__connection_new(f.server, present(), &facts));
    say(&a, "p t one\n");
    say(&b, "r 1000 1 u\n");
    pass(30);
    elapse__server_statistics(f.server, present(), &statistics);
    assert_int_equal(statistics.connections, 2);
    assert_int_equal(statistics.total_connections, 2);
    assert_int_equal(statistics.refused, 1);
    assert_int_equal(statistics.producers, 1);
    assert_int_equal(statistics.workers, 1);
    assert_int_equal(statistics.waiting, 1);
    assert_int_equal(statistics.uptime_ms, 30);
    assert_int_equal(statistics.commands[ELAPSE__VERB_OTHER], 2);
    assert_int_equal(statistics.jobs.ready, 1);
    hang_up(&a);
    hang_up(&b);
    elapse__server_statistics(f.server, present(), &statistics);
    assert_int_equal(
        statistics.connections + statistics.producers + statistics.workers + statistics.waiting, 0);
    connect(&a);
}

SERVER_TEST(a_stop_lets_replies_leave)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    say(&a, "p t one\n");
    say(&b, "r 1000 1 u\n");
    elapse__server_stop(f.server);
    assert_int_equal(elapse__connection_room(a.connection), 0);
    assert_false(elapse__server_is_quiet(f.server));
    commit();
    assert_false(elapse__server_is_quiet(f.server));
    expect(&a, "+1\n");
    assert_true(elapse__server_is_quiet(f.server));
    assert_null(elapse__connection_new(f.server, present(), &(struct elapse__connection_facts){0}));
}

TEST_MAIN("reply")
