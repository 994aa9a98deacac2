/*
 * Tests rounds: how much the core does before the shell looks at other events, and how much of that
 * each client gets. The bounds are those of src/server/core/inner.h.
 */
#include "fixture.h"

enum { ROUND = 1000, BEFORE_THE_TURN = 500 };

/* Sends the same line `times` times, without a turn in between. */
static void say_often(struct client *client, const char *line, unsigned times)
{
    size_t size = strlen(line);
    char *text = malloc(size * times + 1);

    assert_non_null(text);
    for (unsigned i = 0; i < times; i++)
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no string */
        memcpy(text + i * size, line, size);
    say_bytes(client, text, size * times);
    free(text);
}

static void hang_up_all(struct client *clients, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        hang_up(&clients[i]);
    rest();
}

SERVER_TEST(all_connections_share_one_round)
{
    enum { CLIENTS = 20, LINES = 900 };
    struct client clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        connect(&clients[i]);
    turn();
    lines_run = 0;
    for (int i = 0; i < CLIENTS; i++)
        say_often(&clients[i], "z\n", LINES);
    assert_in_range(lines_run, 1, BEFORE_THE_TURN);
    turn();
    assert_true(f.more);
    assert_in_range(lines_run, BEFORE_THE_TURN, ROUND);
    turn();
    assert_in_range(lines_run, ROUND, 2 * ROUND);
    rest();
    assert_int_equal(lines_run, CLIENTS * LINES);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(strlen(hear_some(&clients[i], 1 << 20)), LINES * strlen("-error\n"));
    hang_up_all(clients, CLIENTS);
}

/* Six other clients came before the last one, and have far more to do. */
SERVER_TEST(a_client_with_one_command_waits_for_a_quantum_of_each_other_one)
{
    enum { CLIENTS = 6, LINES = 5000 };
    struct client clients[CLIENTS], last;
    int turns = 0;
    for (int i = 0; i < CLIENTS; i++) {
        connect(&clients[i]);
        say_often(&clients[i], "z\n", LINES);
    }
    connect(&last);
    say(&last, "z\n");
    while (!last.attended) {
        turn();
        turns++;
    }
    expect(&last, "-error\n");
    assert_in_range(turns, 1, 3);
    rest();
    hang_up_all(clients, CLIENTS);
}

/* A client that reads its replies gets no turn ahead of other clients. */
SERVER_TEST(a_reader_gets_no_more_turns_than_its_own)
{
    enum { LINES = 5000 };
    struct client a, b;
    connect(&a);
    connect(&b);
    turn();
    say_often(&a, "z\n", LINES);
    lines_run = 0;
    for (int i = 0; i < 5; i++)
        (void)hear_some(&a, 100);
    assert_int_equal(lines_run, 0);
    say(&b, "z\n");
    expect(&b, "-error\n");
}

SERVER_TEST(the_bytes_of_a_command_count)
{
    enum { LINES = 40, BODY = 4000, UNITS = 1 + BODY / 1024 };
    struct client clients[5];
    char line[BODY + 16];
    for (int i = 0; i < 5; i++)
        connect(&clients[i]);
    turn();
    memset(line, 'x', sizeof line);
    line[BODY] = '\n';
    line[BODY + 1] = '\0';
    lines_run = 0;
    for (int i = 0; i < 5; i++)
        say_often(&clients[i], line, LINES);
    /* A command may begin as long as one unit of work is left. */
    assert_in_range(lines_run, 1, BEFORE_THE_TURN / UNITS + 2);
    rest();
    assert_int_equal(lines_run, 5 * LINES);
    hang_up_all(clients, 5);
}

/* Gives the core a buffer with `lines` commands. Returns whether the core took its memory. */
static bool say_whole(struct client *client, unsigned lines)
{
    struct elapse__buffer bytes = {.bytes = NULL};
    for (unsigned i = 0; i < lines; i++)
        assert_true(elapse__buffer_append(&bytes, "z\n", 2));
    const uint8_t *memory = bytes.bytes;
    elapse__connection_received_whole(client->connection, present(), &bytes);
    assert_int_equal(elapse__buffer_size(&bytes), 0);
    bool has_taken = bytes.bytes != memory;
    elapse__buffer_free(&bytes);
    return has_taken;
}

SERVER_TEST(bytes_that_wait_take_their_memory_with_them)
{
    enum { LINES = 4000, SOME = 10 };
    struct client client;
    size_t room;
    connect(&client);
    turn();
    room = elapse__connection_room(client.connection);
    lines_run = 0;
    assert_false(say_whole(&client, SOME));
    assert_int_equal(lines_run, SOME);
    assert_true(say_whole(&client, LINES));
    assert_in_range(lines_run, SOME + 1, BEFORE_THE_TURN);
    size_t waits = 2 * (SOME + LINES - lines_run);
    assert_int_equal(elapse__connection_room(client.connection), room - waits);
    /* Bytes behind those that wait are copied. */
    assert_false(say_whole(&client, SOME));
    assert_int_equal(elapse__connection_room(client.connection), room - waits - 2 * SOME);
    rest();
    assert_int_equal(lines_run, LINES + 2 * SOME);
    assert_int_equal(strlen(hear_some(&client, 1 << 20)), (LINES + 2 * SOME) * strlen("-error\n"));
    hang_up(&client);
}

/* ---- clients that ask for large jobs, and do not read ---- */

enum { LARGE = 12000, SENT_AT_ONCE = 64 << 10, LOOKS = 40, UNIT_BYTES = 1024 };

/* Puts a large job, whose id is 1. */
static void put_large(struct client *client)
{
    char line[LARGE + 8];

    memset(line, 'x', sizeof line);
    line[1] = line[3] = ' ';
    line[0] = 'p';
    line[2] = 't';
    line[sizeof line - 2] = '\n';
    line[sizeof line - 1] = '\0';
    say(client, line);
    commit();
    expect(client, "+1\n");
}

static size_t unsent(const struct client *client)
{
    const uint8_t *bytes;

    return elapse__connection_output(client->connection, &bytes);
}

/* Runs a turn, and reads the bodies that it asks for. Returns whether there is more to do. */
static bool turn_and_read(void)
{
    struct elapse__server_reading *reading;
    bool more;

    turn();
    more = f.more;
    while ((reading = elapse__server_reading(f.server)) != NULL) {
        elapse__journal_read_perform(f.engine.journal, true, &reading->reading, 1);
        elapse__server_reading_done(f.server, present(), reading);
        more = true;
    }
    return more;
}

SERVER_TEST(the_bytes_of_a_reply_count)
{
    enum { CLIENTS = 200, MOST = ROUND * UNIT_BYTES + 4 * LARGE };
    static struct client clients[CLIENTS];
    size_t before = 0;
    bool more;
    for (int i = 0; i < CLIENTS; i++)
        connect(&clients[i]);
    put_large(&clients[0]);
    for (int i = 0; i < CLIENTS; i++)
        say(&clients[i], "l 1\nl 1\n");
    do {
        size_t now = 0;
        more = turn_and_read();
        for (int i = 0; i < CLIENTS; i++)
            now += unsent(&clients[i]);
        assert_true(now - before <= MOST);
        before = now;
    } while (more);
    assert_true(before > 2 * (size_t)MOST);
    hang_up_all(clients, CLIENTS);
}

SERVER_TEST(no_reply_gets_bytes_while_enough_bytes_wait_for_the_socket)
{
    struct client a;
    size_t heard = 0;
    connect(&a);
    put_large(&a);
    say_often(&a, "l 1\n", LOOKS);
    do {
        rest();
        assert_in_range(unsent(&a), 1, SENT_AT_ONCE + LARGE);
        heard += strlen(hear_some(&a, 1000));
    } while (heard < (size_t)(LOOKS - 1) * LARGE);
}

/* Five clients have commands that waited until they read. When they read, another client still gets
 * its share. */
SERVER_TEST(readers_leave_a_share_to_those_who_speak)
{
    enum { CLIENTS = 5, COMMANDS = 400 };
    struct client clients[CLIENTS], other;
    for (int i = 0; i < CLIENTS; i++)
        connect(&clients[i]);
    connect(&other);
    for (int i = 0; i < CLIENTS; i++)
        say_often(&clients[i], "b 6000\n", COMMANDS);
    rest();
    lines_run = 0;
    for (int i = 0; i < CLIENTS; i++)
        (void)hear_some(&clients[i], 1 << 20);
    assert_in_range(lines_run, 1, BEFORE_THE_TURN / 2);
    say(&other, "z\n");
    expect(&other, "-error\n");
    hang_up_all(clients, CLIENTS);
}

/* One client puts jobs at full speed: it waits for the journal, and has more to send. */
SERVER_TEST(a_putter_leaves_a_share_to_waiting_reserves)
{
    enum { LINES = 3000 };
    struct client putter, worker, other;
    connect(&worker);
    say(&worker, "r 1000 1 w\n");
    connect(&other);
    connect(&putter);
    rest();
    say_often(&putter, "p t x\n", LINES);
    say(&other, "p w job\n");
    while (elapse__journal_work(f.engine.journal))
        ;
    assert_true(elapse__queue_jobs(f.engine.jobs) < ROUND);
    turn();
    assert_true(f.more);
    uint64_t jobs = elapse__queue_jobs(f.engine.jobs);
    assert_true(jobs < LINES);
    assert_int_equal(elapse__queue_statistics(f.engine.jobs).reserved, 1);
    while (elapse__journal_work(f.engine.journal))
        ;
    turn();
    assert_true(worker.attended);
    (void)hear_some(&worker, 100);
    commit();
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), LINES + 1);
}

/* Each job costs a look at each tube. So a reserve of many tubes hands out fewer jobs. */
SERVER_TEST(a_reserve_of_many_tubes_is_bounded)
{
    enum { TUBES = 1000, LEAST = 32, MOST = 200, MOST_WITH_ROOM = 500 };
    static char line[4000];
    struct client a;
    uint64_t left = TUBES;
    connect(&a);
    size_t size = (size_t)sprintf(line, "r 0 1000");
    for (int i = 0; i < TUBES; i++) {
        char put[32], name[3] = {(char)('a' + i % 26), (char)('a' + i / 26), '\0'};
        if (i / 26 >= 26)
            name[1] = (char)('A' + i / 26 - 26);
        sprintf(put, "p %s x\n", name);
        say(&a, put);
        if (i % 50 == 49)
            rest();
        size += (size_t)sprintf(line + size, " %s", name);
    }
    sprintf(line + size, "\n");
    commit();
    (void)hear_some(&a, 1 << 20);
    while (left > 0) {
        uint64_t jobs = left;
        say(&a, line);
        commit();
        (void)hear_some(&a, 1 << 20);
        left = elapse__queue_statistics(f.engine.jobs).ready;
        assert_in_range(jobs - left, jobs < LEAST ? jobs : LEAST, MOST);
    }
    assert_int_equal(elapse__queue_statistics(f.engine.jobs).reserved, TUBES);
    /* A reserve of one tube gets all jobs, also if the core must call the queue several times. */
    for (int i = 0; i < MOST_WITH_ROOM; i++) {
        say(&a, "p t y\n");
        if (i % 50 == 49)
            rest();
    }
    commit();
    say(&a, "r 0 1000 t\n");
    commit();
    assert_int_equal(elapse__queue_statistics(f.engine.jobs).reserved, TUBES + MOST_WITH_ROOM);
}

TEST_MAIN("round")
