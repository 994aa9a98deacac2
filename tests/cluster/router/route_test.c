/*
 * Tests to which partition a command goes, and what the router does with the answers.
 */
#include "fixture.h"

static uint32_t partition_of(uint32_t partitions, const char *tube, const char *key)
{
    return elapse__router_partition_of_key(partitions, tube, strlen(tube), key, strlen(key));
}

/* Data lie where the rule said: these never change. */
TEST(the_partition_of_a_key_never_changes)
{
    unsigned counts[7] = {0};
    char key[16];

    assert_int_equal(partition_of(1, "orders", "4711"), 0);
    assert_int_equal(partition_of(1024, "", ""), 659);
    assert_int_equal(partition_of(1024, "orders", "4711"), 552);
    assert_int_equal(partition_of(1024, "order", "s4711"), 166);
    assert_int_equal(partition_of(1000, "a", "b"), 783);
    for (int i = 0; i < 7000; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        counts[partition_of(7, "orders", key)]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 880, 1120);
}

CLIENT_TEST(commands_go_to_their_partitions)
{
    say(f, c,
        "LOOKUPID 4\nLOOKUPID 5\nEXTEND 7 1-1\nNACK 6 1-1 IN 5s\nkickid 3\nRESCHEDULEID 8 IN "
        "1s\nBURY 9 1-2");
    expect_sent(f, f->links[0], "LOOKUPID 4\nNACK 6 1-1 IN 5s\nRESCHEDULEID 8 IN 1s\n");
    expect_sent(f, f->links[1], "LOOKUPID 5\nEXTEND 7 1-1\nkickid 3\nBURY 9 1-2\n");
}

/* Appends to a text of `size` bytes. */
static void append(char *text, size_t size, const char *more)
{
    size_t end = strlen(text);

    assert_true(end + strlen(more) < size);
    (void)snprintf(text + end, size - end, "%s", more);
}

CLIENT_TEST(keys_and_tokens_choose_the_partition)
{
    char lines[200];
    char expected[2][800] = {"", ""};

    for (int i = 0; i < 8; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%d", i);
        (void)snprintf(lines, sizeof lines, "PUT t b TTR 5s KEY %s\n", key);
        say(f, c, lines);
        append(expected[partition_of(2, "t", key)], sizeof expected[0], lines);
        (void)snprintf(lines, sizeof lines, "PUT t b TOKEN %s\n", key);
        say(f, c, lines);
        append(expected[partition_of(2, "", key)], sizeof expected[0], lines);
        (void)snprintf(lines, sizeof lines, "LOOKUP t %s\n", key);
        say(f, c, lines);
        append(expected[partition_of(2, "t", key)], sizeof expected[0], lines);
    }
    assert_true(strlen(expected[0]) > 0 && strlen(expected[1]) > 0);
    expect_sent(f, f->links[0], expected[0]);
    expect_sent(f, f->links[1], expected[1]);
}

ROUTER_TEST(a_put_without_key_stays_at_home)
{
    for (int i = 0; i < 4; i++)
        say(f, client(f), "PUT t b IN 5s\nPUT t KEY KEY");
    /* "KEY" without a value is no option: any partition refuses it. */
    expect_sent(f, f->links[0],
                "PUT t b IN 5s\nPUT t KEY KEY\nPUT t b IN 5s\nPUT t KEY KEY\n"
                "PUT t b IN 5s\nPUT t KEY KEY\nPUT t b IN 5s\nPUT t KEY KEY\n");
    expect_sent(f, f->links[1], "");
}

ROUTER_TEST(a_put_without_key_goes_where_somebody_is)
{
    elapse__router_owner(f->router, f->now, 0, ELAPSE__ROUTER_NOWHERE, 2);
    for (int i = 0; i < 3; i++)
        say(f, client(f), "PUT t b");
    expect_sent(f, f->links[1], "PUT t b\nPUT t b\nPUT t b\n");
}

CLIENT_TEST(replies_are_in_the_order_of_the_commands)
{
    say(f, c, "KICKID 2\nKICKID 3\nPING\nKICKID 4");
    (void)sent(f, f->links[0]);
    (void)sent(f, f->links[1]);
    answer(f, f->links[0], "+ok\r\n-ERR four\r\n");
    expect(f, c, "+ok\r\n");
    answer(f, f->links[1], "+gone\r\n");
    expect(f, c, "+gone\r\n+PONG\r\n-ERR four\r\n");
}

CLIENT_TEST(answers_come_in_pieces)
{
    const char *reply = "%1\r\n$4\r\nbody\r\n$4\r\n\r\n+x\r\n";

    say(f, c, "LOOKUPID 2\nLOOKUPID 4");
    (void)sent(f, f->links[0]);
    for (const char *at = reply; *at != '\0'; at++) {
        expect(f, c, "");
        answer(f, f->links[0], (char[]){*at, '\0'});
    }
    expect(f, c, "*2\r\n$4\r\nbody\r\n$4\r\n\r\n+x\r\n");
}

CLIENT_TEST(replies_have_the_version_of_their_command)
{
    say(f, c, "LOOKUPID 2\nHELLO 3\nLOOKUPID 2");
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "%1\r\n$3\r\nkey\r\n_\r\n%1\r\n$3\r\nkey\r\n_\r\n");
    const char *all = got(f, c);
    assert_int_equal(strncmp(all, "*2\r\n$3\r\nkey\r\n$-1\r\n%7\r\n", 22), 0);
    assert_non_null(strstr(all, "*0\r\n%1\r\n$3\r\nkey\r\n_\r\n"));
}

CLIENT_TEST(items_are_split_and_joined)
{
    say(f, c, "CANCELID 2 3 4 5 5\nACK 8 1-1 10 1-2\nACK 9 1-1 10 1-2");
    expect_sent(f, f->links[0], "CANCELID 2 4\nACK 8 1-1 10 1-2\nACK 10 1-2\n");
    expect_sent(f, f->links[1], "CANCELID 3 5 5\nACK 9 1-1\n");
    answer(f, f->links[1], "*3\r\n+removed\r\n+running\r\n+gone\r\n*1\r\n+ok\r\n");
    expect(f, c, "");
    answer(f, f->links[0], "*2\r\n+gone\r\n-DISKFULL no\r\n");
    expect(f, c, "*5\r\n+gone\r\n+removed\r\n-DISKFULL no\r\n+running\r\n+gone\r\n");
    answer(f, f->links[0], "*2\r\n+ok\r\n+gone\r\n-OOM none\r\n");
    expect(f, c, "*2\r\n+ok\r\n+gone\r\n*2\r\n+ok\r\n-OOM none\r\n");
}

/* The options stand behind the part of each partition, and a partition with one pair answers a
 * word. */
CLIENT_TEST(leases_with_options_are_split_and_joined)
{
    say(f, c,
        "NACK 8 1-1 9 1-2 10 1-3 AFTER 5s ERROR x\nEXTEND 8 1-1 9 1-2\n"
        "BURY 7 1-1 9 1-2 ERROR y");
    expect_sent(f, f->links[0], "NACK 8 1-1 10 1-3 AFTER 5s ERROR x\nEXTEND 8 1-1\n");
    expect_sent(f, f->links[1],
                "NACK 9 1-2 AFTER 5s ERROR x\nEXTEND 9 1-2\nBURY 7 1-1 9 1-2 ERROR y\n");
    answer(f, f->links[0], "*2\r\n+ok\r\n+gone\r\n+ok\r\n");
    answer(f, f->links[1], "+cancelled\r\n-OOM none\r\n*2\r\n+ok\r\n+ok\r\n");
    expect(f, c,
           "*3\r\n+ok\r\n+cancelled\r\n+gone\r\n*2\r\n+ok\r\n-OOM none\r\n"
           "*2\r\n+ok\r\n+ok\r\n");
}

CLIENT_TEST(leases_with_wrong_options_go_nowhere_else)
{
    say(f, c,
        "NACK 3 1-1 2 1-1 IN 5\nNACK 3 1-1 2 1-1 IN\nNACK 3 1-1 2 1-1 x 5s\n"
        "EXTEND 3 1-1 2 1-1 IN 5s\nBURY 3 1-1 2\nBURY 3 1-1 2 x\nNACK 3 1-1 2 1-1 IN 1s AFTER 1s");
    expect_sent(f, f->links[0],
                "NACK 3 1-1 2 1-1 IN 5\nNACK 3 1-1 2 1-1 IN\nNACK 3 1-1 2 1-1 x 5s\n"
                "EXTEND 3 1-1 2 1-1 IN 5s\nBURY 3 1-1 2\nBURY 3 1-1 2 x\n"
                "NACK 3 1-1 2 1-1 IN 1s AFTER 1s\n");
    expect_sent(f, f->links[1], "");
}

CLIENT_TEST(one_wrong_item_goes_nowhere_else)
{
    /* Each is refused whole, so it must go to one partition, whole. */
    say(f, c,
        "CANCELID 3 x\nCANCELID 3 0\nCANCELID 9007199254740992 3\nACK 3 1-1 5\nACK 3 1-1 5 "
        "x\nKICKID 03x\nCANCELID");
    expect_sent(f, f->links[0],
                "CANCELID 3 x\nCANCELID 3 0\nCANCELID 9007199254740992 3\nACK 3 1-1 5\n"
                "ACK 3 1-1 5 x\nKICKID 03x\nCANCELID\n");
    expect_sent(f, f->links[1], "");
}

CLIENT_TEST(a_walk_over_pages_comes_to_all_partitions)
{
    say(f, c, "LIST t COUNT 5");
    expect_sent(f, f->links[0], "LIST t COUNT 5\n");
    answer(f, f->links[0], "*2\r\n:17\r\n*1\r\n:1\r\n");
    expect(f, c, "*2\r\n:34\r\n*1\r\n:1\r\n");
    say(f, c, "LIST t CURSOR 34 COUNT 5");
    expect_sent(f, f->links[0], "LIST t CURSOR 17 COUNT 5\n");
    answer(f, f->links[0], "*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:1\r\n*0\r\n");
    say(f, c, "LIST t CURSOR 1");
    expect_sent(f, f->links[1], "LIST t CURSOR 0\n");
    answer(f, f->links[1], "*2\r\n:17\r\n*0\r\n");
    expect(f, c, "*2\r\n:35\r\n*0\r\n");
    say(f, c, "TUBES CURSOR 35");
    expect_sent(f, f->links[1], "TUBES CURSOR 17\n");
    answer(f, f->links[1], "*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:0\r\n*0\r\n");
    say(f, c, "LIST t STATE delayed SOONEST BODY 9 KEYS COUNT 9 CURSOR 1 TAG x NEWEST");
    expect_sent(f, f->links[1],
                "LIST t STATE delayed SOONEST BODY 9 KEYS COUNT 9 CURSOR 0 TAG x NEWEST\n");
    answer(f, f->links[1], "*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:0\r\n*0\r\n");
    say(f, c, "FIND k CURSOR 3");
    expect_sent(f, f->links[1], "FIND k CURSOR 1\n");
    answer(f, f->links[1], "*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:0\r\n*0\r\n");
    say(f, c, "RECURRING KEYS BODY 9 COUNT 9 CURSOR 3");
    expect_sent(f, f->links[1], "RECURRING KEYS BODY 9 COUNT 9 CURSOR 1\n");
    answer(f, f->links[1], "*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:0\r\n*0\r\n");
    say(f, c, "LIST t STATE ready CURSOR 3 TAG x COUNT 9 BODY 9 KEYS SOONEST NEWEST RECURRING");
    expect_sent(f, f->links[1],
                "LIST t STATE ready CURSOR 1 TAG x COUNT 9 BODY 9 KEYS SOONEST NEWEST RECURRING\n");
    answer(f, f->links[1], "*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:0\r\n*0\r\n");
    say(f, c, "TUBES PREFIX a TROUBLE COUNTS CURSOR 1");
    expect_sent(f, f->links[1], "TUBES PREFIX a TROUBLE COUNTS CURSOR 0\n");
    answer(f, f->links[1], "*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:0\r\n*0\r\n");
    say(f, c, "LIST t CURSOR x");
    expect_sent(f, f->links[0], "LIST t CURSOR x\n");
    answer(f, f->links[0], "-ERR x\r\n");
    expect(f, c, "-ERR x\r\n");
}

static struct elapse__history history;

/* The node answers itself: no partition is asked. */
CLIENT_TEST(history_is_that_of_the_node)
{
    const struct elapse__history_sample sample = {.ready = 7};

    say(f, c, "HISTORY COUNT 0");
    expect(f, c, "-ERR COUNT is 1 to 1440\r\n");
    say(f, c, "HISTORY CUONT 1");
    expect(f, c, "-ERR syntax error\r\n");
    say(f, c, "HISTORY COUNT 1");
    expect(f, c,
           "*28\r\n$2\r\nat\r\n*0\r\n$4\r\nspan\r\n*0\r\n$7\r\ndelayed\r\n*0\r\n"
           "$5\r\nready\r\n*0\r\n$8\r\nreserved\r\n*0\r\n$6\r\nburied\r\n*0\r\n"
           "$7\r\noverdue\r\n*0\r\n$3\r\nput\r\n*0\r\n$8\r\ncame_due\r\n*0\r\n"
           "$10\r\nhanded_out\r\n*0\r\n$4\r\ndone\r\n*0\r\n$9\r\ncancelled\r\n*0\r\n"
           "$8\r\nlate_p99\r\n*0\r\n$8\r\nlate_max\r\n*0\r\n");
    elapse__history_add(&history, &sample, 0, 0);
    elapse__history_add(&history, &sample, 5, 60000);
    f->options.history = &history;
    begin(f);
    c = client(f);
    say(f, c, "HISTORY");
    const char *reply = got(f, c);
    assert_non_null(strstr(reply, "$2\r\nat\r\n*1\r\n:5\r\n"));
    assert_non_null(strstr(reply, "$5\r\nready\r\n*1\r\n:7\r\n"));
    expect_sent(f, f->links[0], "");
}

/* A client with very many HISTORYs does not keep the others waiting. */
CLIENT_TEST(a_history_costs_its_share_of_a_turn)
{
    static const char history_and_ping[] = "*1\r\n$7\r\nHISTORY\r\n*1\r\n$4\r\nPING\r\n";

    elapse__router_client_received(c, f->now, history_and_ping, sizeof history_and_ping - 1);
    assert_true(elapse__router_turn(f->router, f->now)); /* PING comes in the next turn */
    const uint8_t *bytes;
    size_t size = elapse__router_client_output(c, &bytes);
    assert_true(size > 100);
    assert_memory_not_equal(bytes + size - 7, "+PONG\r\n", 7);
    assert_non_null(strstr(got(f, c), "+PONG\r\n"));
}

CLIENT_TEST(a_node_lists_its_own_connections)
{
    struct elapse__router_client *other = client(f);
    char lines[200];

    say(f, other, "CLIENT SETNAME a,b%");
    expect(f, other, "+OK\r\n");
    say(f, c, "CLIENT LIST");
    snprintf(lines, sizeof lines, "id=%d addr= name=\nid=%d addr= name=a%%2Cb%%25\n", 1, 2);
    assert_non_null(strstr(got(f, c), lines));
    expect_sent(f, f->links[0], "");
}

CLIENT_TEST(statistics_are_added_up)
{
    say(f, c, "STATS\nSTATS t\nSTATS t");
    (void)sent(f, f->links[0]);
    (void)sent(f, f->links[1]);
    answer(f, f->links[0],
           "%4\r\n$5\r\nready\r\n:2\r\n$6\r\nuptime\r\n:9\r\n$9\r\ndisk_full\r\n#f\r\n"
           "$5\r\nlater\r\n*1\r\n:1\r\n_\r\n_\r\n");
    answer(f, f->links[1],
           "%4\r\n$6\r\nuptime\r\n:7\r\n$5\r\nready\r\n:3\r\n$9\r\ndisk_full\r\n#t\r\n"
           "$3\r\nnew\r\n:1\r\n%1\r\n$5\r\npause\r\n:5\r\n_\r\n");
    expect(f, c,
           "*8\r\n$5\r\nready\r\n:5\r\n$6\r\nuptime\r\n:9\r\n$9\r\ndisk_full\r\n:1\r\n$"
           "3\r\nnew\r\n:1\r\n"
           "*2\r\n$5\r\npause\r\n:5\r\n$-1\r\n");
}

CLIENT_TEST(kick_asks_partitions_in_turn)
{
    say(f, c, "KICK t 5\nPING");
    /* It takes links of its own: others do not wait for it. */
    struct elapse__router_link *slow = last(f);
    assert_int_equal(f->link_count, 3);
    greet(f, slow);
    expect_sent(f, slow, "KICK t 5\n");
    answer(f, slow, ":3\r\n");
    expect(f, c, "");
    assert_int_equal(f->link_count, 4);
    greet(f, last(f));
    expect_sent(f, last(f), "KICK t 2\n");
    answer(f, last(f), ":1\r\n");
    expect(f, c, ":4\r\n+PONG\r\n");
    say(f, c, "KICK t 1");
    expect_sent(f, slow, "KICK t 1\n");
    answer(f, slow, ":1\r\n");
    expect(f, c, ":1\r\n");
}

CLIENT_TEST(a_sweep_waits_for_the_commands_before_it)
{
    say(f, c, "KICKID 2\nCANCELALL t TAG g\nKICKID 4");
    expect_sent(f, f->links[0], "KICKID 2\n");
    assert_int_equal(f->link_count, 2);
    answer(f, f->links[0], "+ok\r\n");
    assert_int_equal(f->link_count, 4);
    for (int i = 2; i < 4; i++) {
        greet(f, f->links[i]);
        expect_sent(f, f->links[i], "CANCELALL t TAG g\n");
    }
    expect_sent(f, f->links[0], "");
    answer(f, f->links[2], "%2\r\n$7\r\nremoved\r\n:4\r\n$7\r\nrunning\r\n:1\r\n");
    answer(f, f->links[3], "%2\r\n$7\r\nremoved\r\n:5\r\n$7\r\nrunning\r\n:0\r\n");
    expect_sent(f, f->links[0], "KICKID 4\n");
    expect(f, c, "+ok\r\n*4\r\n$7\r\nremoved\r\n:9\r\n$7\r\nrunning\r\n:1\r\n");
}

CLIENT_TEST(a_pause_of_one_partition_is_enough)
{
    say(f, c, "PAUSE t 1s\nPAUSE t 1s\nPAUSE t 1s");
    (void)sent(f, f->links[0]);
    (void)sent(f, f->links[1]);
    answer(f, f->links[0], "+gone\r\n+gone\r\n+ok\r\n");
    answer(f, f->links[1], "+ok\r\n+gone\r\n-ERR no\r\n");
    expect(f, c, "+ok\r\n+gone\r\n-ERR no\r\n");
}

CLIENT_TEST(a_node_is_given_to_the_partition_that_it_asks_for)
{
    struct elapse__router_given given;

    say(f, c, "PING\nNODE HELLO 1 orders 0");
    assert_false(elapse__router_client_given(c, &given)); /* the answers have not been sent */
    expect(f, c, "+PONG\r\n+OK\r\n");
    assert_true(elapse__router_client_given(c, &given));
    assert_int_equal(given.partition, 0);
    assert_false(given.is_pipe);
    assert_int_equal(elapse__router_client_room(c), 0);
    expect_sent(f, f->links[0], "");
    elapse__router_client_closed(c, f->now);
}

CLIENT_TEST(a_node_that_does_not_wait_is_ended)
{
    struct elapse__router_given given;

    say(f, c, "NODE HELLO 1 orders 0\nPING");
    assert_true(elapse__router_client_wants_end(c));
    assert_false(elapse__router_client_given(c, &given));
}

CLIENT_TEST(a_node_that_gives_wrong_facts_stays_a_client)
{
    struct elapse__router_given given;

    say(f, c,
        "NODE HELLO 1 orders 1\nNODE HELLO 1 orders 2\nNODE HELLO 1 others 0\n"
        "NODE HELLO 3 orders 0\nNODE PIPE 1 orders 0\nNODE HELLO 1 orders\nNODE PING 1 orders "
        "0\nPING");
    expect(f, c,
           "-NOTOWNER this node does not own the partition\r\n"
           "-ERR this node has another queue, or other partitions\r\n"
           "-ERR this node has another queue, or other partitions\r\n"
           "-ERR NODE is what nodes of versions 1 and 2 say to each other\r\n"
           "-ERR this node has another queue, or other partitions\r\n"
           "-ERR NODE is what nodes of versions 1 and 2 say to each other\r\n"
           "-ERR NODE is what nodes of versions 1 and 2 say to each other\r\n+PONG\r\n");
    assert_false(elapse__router_client_given(c, &given));
    assert_true(elapse__router_client_room(c) > 0);
}

CLIENT_TEST(commands_that_do_not_exist_are_refused)
{
    say(f, c, "SET a b");
    expect(f, c, "-ERR unknown command 'SET'\r\n");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
}

/* The user default has the password "sesame". */
static bool is_sesame(void *context, struct elapse__wire_resp_argument name,
                      struct elapse__wire_resp_argument password, struct elapse__identity *identity)
{
    (void)context;
    *identity = (struct elapse__identity){.user = NULL};
    return name.size == 7 && memcmp(name.bytes, "default", 7) == 0 && password.size == 6 &&
           memcmp(password.bytes, "sesame", 6) == 0;
}

enum { GUESS_MS = 500 };

static uint64_t wrong_passwords;
static void *guesser; /* the shell of the client that has guessed last */

static uint64_t note_guess(void *context, void *shell)
{
    (void)context;
    wrong_passwords++;
    guesser = shell;
    return GUESS_MS;
}

static const char *password_of_links = "sesame";

static const void *link_password(void *context, size_t *size)
{
    (void)context;
    *size = strlen(password_of_links);
    return password_of_links;
}

/* Begins anew, with a password. */
static void begin_with_password(struct fixture *f)
{
    f->options.admit = is_sesame;
    f->options.wrong_password = note_guess;
    f->options.link_password = link_password;
    wrong_passwords = 0;
    begin(f);
}

ROUTER_TEST(a_password_comes_first)
{
    begin_with_password(f);
    struct elapse__router_client *c = client(f);
    say(f, c,
        "KICKID 2\nPING\nNODE HELLO 1 orders 0\nAUTH wrong\nHELLO 3\nAUTH sesame\nPING\nRESET\n"
        "PING\nHELLO 2 AUTH default sesame\nPING");
    pass(f, GUESS_MS);
    const char *all = got(f, c);
    static const char *const in_order[] = {"-NOAUTH ",      "-NOAUTH ", "-NOAUTH ", "-WRONGPASS ",
                                           "-NOAUTH HELLO", "+OK",      "+PONG",    "+RESET",
                                           "-NOAUTH ",      "*14",      "+PONG"};
    for (size_t i = 0; i < sizeof in_order / sizeof *in_order; i++) {
        all = strstr(all, in_order[i]);
        assert_non_null(all);
        all++;
    }
    expect_sent(f, f->links[0], "");
}

static const char refusal[] = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

static void guess(struct fixture *f, struct elapse__router_client *from)
{
    say(f, from, "AUTH wrong");
    pass(f, GUESS_MS);
    expect(f, from, refusal);
}

ROUTER_TEST(a_client_ends_after_five_wrong_passwords)
{
    begin_with_password(f);
    struct elapse__router_client *c = client(f);
    for (int i = 0; i < 4; i++)
        guess(f, c);
    assert_false(elapse__router_client_wants_end(c));
    say(f, c, "AUTH e\nAUTH sesame");
    assert_false(elapse__router_client_wants_end(c));
    pass(f, GUESS_MS);
    expect(f, c, refusal);
    assert_true(elapse__router_client_wants_end(c));
    assert_int_equal(wrong_passwords, 5);
}

ROUTER_TEST(what_is_behind_a_wrong_password_waits_with_its_reply)
{
    begin_with_password(f);
    struct elapse__router_client *c = client(f), *other = client(f);
    say(f, c, "PING\nAUTH wrong\nAUTH sesame\nPING");
    expect(f, c, "-NOAUTH Authentication required.\r\n");
    assert_ptr_equal(guesser, elapse__router_client_shell(c));
    assert_int_equal(elapse__router_client_room(c), 0);
    assert_int_equal(elapse__router_next_ms(f->router), f->now + GUESS_MS);
    /* Other clients do not wait, and a right password is answered at once. */
    say(f, other, "AUTH sesame");
    expect(f, other, "+OK\r\n");
    pass(f, GUESS_MS - 1);
    expect(f, c, "");
    pass(f, 1);
    const char *all = got(f, c);
    assert_int_equal(strncmp(all, refusal, strlen(refusal)), 0);
    assert_string_equal(all + strlen(refusal), "+OK\r\n+PONG\r\n");
    assert_true(elapse__router_client_room(c) > 0);
    assert_int_equal(wrong_passwords, 1);
}

/* HELLO takes AUTH without passwords, too. There is one user. */
ROUTER_TEST(another_user_is_refused_without_passwords)
{
    struct elapse__router_client *c = client(f);
    say(f, c, "HELLO 2 AUTH somebody x\nPING\nHELLO 2 AUTH default x");
    pass(f, 0);
    const char *all = got(f, c);
    assert_int_equal(strncmp(all, refusal, strlen(refusal)), 0);
    assert_int_equal(strncmp(all + strlen(refusal), "+PONG\r\n*14\r\n", 12), 0);
}

static unsigned old_names;

static void note_old_name(void *context, void *shell)
{
    (void)context;
    old_names++;
    guesser = shell;
}

/* The partitions do not know who the client is. */
ROUTER_TEST(the_old_name_of_attempts_is_noted_once_a_client)
{
    f->options.old_name = note_old_name;
    begin(f);
    struct elapse__router_client *c = client(f), *other = client(f);
    old_names = 0;
    say(f, c, "PUT t b ATTEMPTS 1\nPUT t RETRY KEY 1");
    assert_int_equal(old_names, 0);
    say(f, other, "PUT t b RETRY 1\nPUT t b retry 1 KEY k");
    assert_int_equal(old_names, 1);
    assert_ptr_equal(guesser, elapse__router_client_shell(other));
    say(f, c, "PUT t b RETRY 1");
    assert_int_equal(old_names, 2);
    assert_ptr_equal(guesser, elapse__router_client_shell(c));
}

ROUTER_TEST(a_client_closes_while_its_wrong_password_waits)
{
    begin_with_password(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "HELLO 3 AUTH default wrong\nPING");
    uint64_t next_ms = elapse__router_next_ms(f->router);
    elapse__router_client_closed(c, f->now);
    assert_true(elapse__router_next_ms(f->router) > next_ms);
    pass(f, GUESS_MS);
    assert_true(elapse__router_is_idle(f->router));
}

ROUTER_TEST(links_greet)
{
    f->options.link_password = link_password;
    f->options.partitions = 12;
    elapse__router_free(f->router);
    f->link_count = 0;
    f->router = elapse__router_new(&f->options, f->now);
    elapse__router_owner(f->router, f->now, 11, ELAPSE__ROUTER_THERE, 7);
    turn(f);
    expect_sent(f, last(f), "HELLO 3 AUTH default sesame\nNODE HELLO 2 orders 11\n");
    struct elapse__router_client *c = client(f);
    say(f, c, "KICKID 11");
    /* Nothing is sent before it is known who is there. */
    answer(f, last(f), "%0\r\n");
    expect_sent(f, last(f), "");
    answer(f, last(f), "+OK\r\n");
    expect_sent(f, last(f), "KICKID 11\n");
}

/* A node of before refuses version 2. It gets version 1, and no words that it does not know. */
ROUTER_TEST(a_node_of_before_is_greeted_as_it_was)
{
    struct elapse__router_client *c = client(f);

    cut(f, f->links[1]);
    pass(f, 100);
    expect_sent(f, last(f), "HELLO 3\nNODE HELLO 2 orders 1\n");
    answer(f, last(f), "%0\r\n-ERR NODE is what nodes of version 1 say to each other\r\n");
    assert_true(elapse__router_link_wants_end(last(f)));
    assert_string_equal(elapse__router_trouble(f->router, 1), "");
    cut(f, last(f));
    pass(f, 100);
    expect_sent(f, last(f), "HELLO 3\nNODE HELLO 1 orders 1\n");
    answer(f, last(f), "%0\r\n+OK\r\n");
    elapse__router_owner(f->router, f->now, 0, ELAPSE__ROUTER_NOWHERE, 2);
    say(f, c, "CLIENT SETNAME mailer\nRESERVE t COUNT 2 WAIT 1s");
    expect_sent(f, last(f), "RESERVE t COUNT 2\n");
    answer(f, last(f), "*0\r\n");
    /* The next owner is asked anew what it understands. */
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_THERE, 9);
    pass(f, 0);
    cut(f, last(f));
    pass(f, 100);
    expect_sent(f, last(f), "HELLO 3\nNODE HELLO 2 orders 1\n");
    answer(f, last(f), "%0\r\n+OK\r\n");
    expect_sent(f, last(f), "RESERVE t COUNT 2 HOLDER mailer\n");
}

static unsigned addresses;

static void write_address(void *shell, char text[ELAPSE__ROUTER_ADDRESS_BYTES])
{
    (void)shell;
    addresses++;
    (void)snprintf(text, ELAPSE__ROUTER_ADDRESS_BYTES, "10.0.0.7:4711");
}

/* The partitions see links alone. */
ROUTER_TEST(a_partition_hears_who_reserves)
{
    f->options.address = write_address;
    f->options.partitions = 1;
    begin(f);
    struct elapse__router_client *c = client(f);
    for (int i = 0; i < 2; i++) {
        say(f, c, "RESERVE t WAIT 1ms DETAILS");
        expect_sent(f, f->links[0], "RESERVE t DETAILS HOLDER 10.0.0.7:4711\n");
        answer(f, f->links[0], "*0\r\n");
        pass(f, 1);
    }
    assert_int_equal(addresses, 1);
    say(f, c, "CLIENT SETNAME mailer\nRESERVE t");
    expect_sent(f, f->links[0], "RESERVE t HOLDER mailer\n");
    answer(f, f->links[0], "*0\r\n");
    say(f, c, "RESERVE t HOLDER me COUNT 3");
    expect_sent(f, f->links[0], "RESERVE t COUNT 3 HOLDER me\n");
}

ROUTER_TEST(each_greeting_has_the_password_of_its_time)
{
    f->options.link_password = link_password;
    begin(f);
    password_of_links = "barley";
    cut(f, f->links[1]);
    pass(f, 100);
    expect_sent(f, last(f), "HELLO 3 AUTH default barley\nNODE HELLO 2 orders 1\n");
    password_of_links = "sesame";
}

ROUTER_TEST(the_router_says_what_the_trouble_with_an_owner_is)
{
    begin(f);
    assert_string_equal(elapse__router_trouble(f->router, 1), "");
    cut(f, f->links[1]);
    pass(f, 100);
    (void)sent(f, last(f));
    answer(f, last(f), "-WRONGPASS no such password\r\n");
    assert_string_equal(elapse__router_trouble(f->router, 1), "WRONGPASS no such password");
    assert_string_equal(elapse__router_trouble(f->router, 0), "");
    assert_true(elapse__router_link_wants_end(last(f)));
    cut(f, last(f));
    pass(f, 2000);
    elapse__router_link_failed(last(f), f->now, "connection refused");
    assert_string_equal(elapse__router_trouble(f->router, 1), "connection refused");
    pass(f, 2000);
    greet(f, last(f));
    assert_string_equal(elapse__router_trouble(f->router, 1), "");
    /* That another node owns it by now is none. */
    cut(f, last(f));
    pass(f, 2000);
    (void)sent(f, last(f));
    answer(f, last(f), "%0\r\n-NOTOWNER x\r\n");
    assert_string_equal(elapse__router_trouble(f->router, 1), "");
}

CLIENT_TEST(what_clients_expect)
{
    say(f, c,
        "PING hello\nECHO x\nECHO\nSELECT 0\nSELECT 1\nSELECT x\nCLIENT GETNAME\nCLIENT SETNAME "
        "w1\nCLIENT GETNAME\n"
        "CLIENT SETINFO lib x\nCLIENT NO\nCONFIG GET save\nCONFIG SET a b\nAUTH x\nPING a b\nHELLO "
        "4\nHELLO 2 X");
    expect(f, c,
           "$5\r\nhello\r\n$1\r\nx\r\n-ERR wrong number of arguments\r\n+OK\r\n-ERR DB index is "
           "out of range\r\n"
           "-ERR not a number, or out of range\r\n$-1\r\n+OK\r\n$2\r\nw1\r\n+OK\r\n"
           "-ERR unknown subcommand or wrong number of arguments\r\n*0\r\n"
           "-ERR unknown subcommand or wrong number of arguments\r\n"
           "-ERR AUTH called without any password configured: the server needs none\r\n"
           "-ERR wrong number of arguments for 'ping' command\r\n-NOPROTO unsupported protocol "
           "version\r\n"
           "-ERR syntax error\r\n");
    say(f, c, "INFO\nQUIT\nPING");
    assert_non_null(strstr(got(f, c), "partitions:2\r\npartitions_here:1\r\n"));
    assert_true(elapse__router_client_wants_end(c));
}

CLIENT_TEST(a_broken_command_ends_the_client)
{
    say(f, c, "KICKID 2");
    say_bytes(f, c, "*1\r\nPING\r\n");
    (void)sent(f, f->links[0]);
    expect(f, c, "");
    assert_false(elapse__router_client_wants_end(c));
    answer(f, f->links[0], "+ok\r\n");
    expect(f, c, "+ok\r\n-ERR Protocol error: expected '$'\r\n");
    assert_true(elapse__router_client_wants_end(c));
    assert_int_equal(elapse__router_client_room(c), 0);
}

ROUTER_TEST(options_have_ranges)
{
    struct elapse__router_options options = f->options;
    options.partitions = 0;
    assert_null(elapse__router_new(&options, 0));
    options.partitions = ELAPSE__ROUTER_PARTITIONS_MAX + 1;
    assert_null(elapse__router_new(&options, 0));
    options.partitions = ELAPSE__ROUTER_PARTITIONS_MAX;
    struct elapse__router *router = elapse__router_new(&options, 0);
    assert_non_null(router);
    elapse__router_free(router);
    options.queue = NULL;
    assert_null(elapse__router_new(&options, 0));
}

TEST_MAIN("route")
