/*
 * Tests transactions: the commands between MULTI and EXEC go to one partition, together.
 *
 * With two partitions the part `eu` belongs to partition 1, and `asia` to partition 0.
 */
#include <stdio.h>

#include "../../../src/protocol/resp_parse.h"
#include "fixture.h"

static int set_up_tags(void **state)
{
    int result = set_up(state);
    struct fixture *f = *state;

    f->options.hash_tags = true;
    begin(f);
    return result;
}

/* The first begins the definition of a test that gets the fixture, `f`, and a client, `c`. */
#define TRANSACTION_TEST(function)                                                 \
    static void function##_by(struct fixture *f, struct elapse__router_client *c); \
    TEST_GIVEN(function, struct fixture, f, set_up_tags, tear_down)                \
    {                                                                              \
        function##_by(f, client(f));                                               \
    }                                                                              \
    static void function##_by(struct fixture *f, struct elapse__router_client *c)

#define QUEUED "+QUEUED\r\n"
#define TWO    "MULTI\nPUT a{eu} 1\nPUT b{eu} 2\nEXEC\n"

static void expect_beginning(struct fixture *f, struct elapse__router_client *from,
                             const char *bytes)
{
    const char *all = got(f, from);

    if (strncmp(all, bytes, strlen(bytes)) != 0)
        fail_msg("'%s' does not begin with '%s'", all, bytes);
}

/* ---- where it goes ---- */

TRANSACTION_TEST(nothing_is_sent_before_exec)
{
    say(f, c, "MULTI\nLEASED 3 1-1\nACK 3 1-1\nPUT t b");
    expect(f, c, "+OK\r\n" QUEUED QUEUED QUEUED);
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
    say(f, c, "EXEC");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "MULTI\nLEASED 3 1-1\nACK 3 1-1\nPUT t b\nEXEC\n");
    answer(f, f->links[1], "+OK\r\n" QUEUED QUEUED QUEUED);
    expect(f, c, "");
    answer(f, f->links[1], "*3\r\n+ok\r\n+ok\r\n*2\r\n:9\r\n+scheduled\r\n");
    expect(f, c, "*3\r\n+ok\r\n+ok\r\n*2\r\n:9\r\n+scheduled\r\n");
}

TRANSACTION_TEST(one_part_in_braces_joins_tubes)
{
    say(f, c, "MULTI\nPUT a{eu} 1\nPUT b{eu} 2 KEY k\nCANCEL c{eu} k j\nPUT none 3\nEXEC");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1],
                "MULTI\nPUT a{eu} 1\nPUT b{eu} 2 KEY k\nCANCEL c{eu} k j\nPUT none 3\nEXEC\n");
}

TRANSACTION_TEST(several_partitions_are_refused)
{
    say(f, c, "MULTI\nPUT a{eu} 1\nPUT a{asia} 2\nEXEC\nPING");
    expect_beginning(f, c, "+OK\r\n" QUEUED QUEUED "-CROSSSLOT ");
    assert_non_null(strstr(f->text, "\r\n+PONG\r\n"));
    say(f, c, "MULTI\nCANCELID 2 3\nEXEC");
    expect_beginning(f, c, "+OK\r\n" QUEUED "-CROSSSLOT ");
    say(f, c, "MULTI\nLEASED 2 1-1\nACK 3 1-1\nPUT a{asia} 2\nEXEC");
    expect_beginning(f, c, "+OK\r\n" QUEUED QUEUED QUEUED "-CROSSSLOT ");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
}

/* A transaction that is said again goes to the same partition, which knows the token. */
TRANSACTION_TEST(a_token_chooses_if_nothing_else_does)
{
    char lines[100];

    for (int i = 0; i < 20; i++) {
        uint32_t partition;
        char token[20];
        int size = snprintf(token, sizeof token, "token%d", i);
        partition = elapse__router_partition_of_key(2, "", 0, token, (size_t)size);
        snprintf(lines, sizeof lines, "MULTI\nPUT t 0\nPUT t 1 TOKEN %s\nPUT t 2\nEXEC\n", token);
        say(f, c, lines);
        expect_sent(f, f->links[partition], lines);
        snprintf(lines, sizeof lines, "MULTI\nPUT t 1 TOKEN %s\nKICKID 2\nEXEC\n", token);
        say(f, c, lines);
        expect_sent(f, f->links[0], lines);
        expect_sent(f, f->links[1], "");
    }
}

TRANSACTION_TEST(commands_keep_their_order_around_it)
{
    say(f, c, "KICKID 3\n" TWO "KICKID 5\nKICKID 2");
    expect_sent(f, f->links[1], "KICKID 3\n" TWO "KICKID 5\n");
    expect_sent(f, f->links[0], "KICKID 2\n");
    answer(f, f->links[0], "+two\r\n");
    answer(f, f->links[1], "+three\r\n+OK\r\n" QUEUED QUEUED);
    expect(f, c, "+three\r\n+OK\r\n" QUEUED QUEUED);
    answer(f, f->links[1], "*2\r\n+a\r\n+b\r\n+five\r\n");
    expect(f, c, "*2\r\n+a\r\n+b\r\n+five\r\n+two\r\n");
}

/* ---- replies ---- */

TRANSACTION_TEST(an_ended_lease_is_nothing)
{
    say(f, c, "MULTI\nLEASED 3 1-1\nEXEC");
    answer(f, f->links[1], "x\r\n"); /* an answer to what was not sent */
    assert_true(elapse__router_link_wants_end(f->links[1]));
    cut(f, f->links[1]);
    pass(f, 100);
    greet(f, last(f));
    expect_sent(f, last(f), "MULTI\nLEASED 3 1-1\nEXEC\n");
    answer(f, last(f), "+OK\r\n" QUEUED "_\r\n");
    expect(f, c, "+OK\r\n" QUEUED "*-1\r\n");
    say(f, c, "HELLO 3");
    (void)got(f, c);
    say(f, c, "MULTI\nLEASED 3 1-1\nEXEC");
    (void)sent(f, last(f));
    answer(f, last(f), "+OK\r\n" QUEUED "_\r\n");
    expect(f, c, "+OK\r\n" QUEUED "_\r\n");
}

TRANSACTION_TEST(the_router_runs_its_own_commands_in_their_places)
{
    say(f, c,
        "MULTI\nPING\nKICKID 2\nECHO a\nCLIENT SETNAME me\nKICKID 4\nSELECT 0\nSELECT 1\nEXEC\n"
        "CLIENT GETNAME");
    expect(f, c, "+OK\r\n" QUEUED QUEUED QUEUED QUEUED QUEUED QUEUED QUEUED);
    expect_sent(f, f->links[0], "MULTI\nKICKID 2\nKICKID 4\nEXEC\n");
    answer(f, f->links[0], "+OK\r\n" QUEUED QUEUED "*2\r\n+two\r\n%1\r\n+a\r\n_\r\n");
    expect(f, c,
           "*7\r\n+PONG\r\n+two\r\n$1\r\na\r\n+OK\r\n*2\r\n+a\r\n$-1\r\n+OK\r\n"
           "-ERR DB index is out of range\r\n$2\r\nme\r\n");
}

TRANSACTION_TEST(what_was_not_done_has_named_nobody)
{
    say(f, c, "MULTI\nLEASED 2 1-1\nCLIENT SETNAME me\nEXEC\nCLIENT GETNAME");
    (void)got(f, c);
    (void)sent(f, f->links[0]);
    answer(f, f->links[0], "+OK\r\n" QUEUED "_\r\n");
    expect(f, c, "*-1\r\n$-1\r\n");
}

TRANSACTION_TEST(without_a_partition_the_router_replies)
{
    say(f, c, "MULTI\nEXEC\nMULTI\nPING\nECHO a\nEXEC\nPING");
    expect(f, c, "+OK\r\n*0\r\n+OK\r\n" QUEUED QUEUED "*2\r\n+PONG\r\n$1\r\na\r\n+PONG\r\n");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
}

TRANSACTION_TEST(discard_and_reset_forget_it)
{
    say(f, c, "MULTI\nKICKID 2\nDISCARD\nEXEC\nMULTI\nKICKID 2\nRESET\nEXEC\nDISCARD");
    expect(f, c,
           "+OK\r\n" QUEUED "+OK\r\n-ERR EXEC without MULTI\r\n+OK\r\n" QUEUED
           "+RESET\r\n-ERR EXEC without MULTI\r\n-ERR DISCARD without MULTI\r\n");
    expect_sent(f, f->links[0], "");
}

/* The owner may find what the router has not: the reply says what. */
TRANSACTION_TEST(the_reply_says_what_the_partition_has_refused)
{
    static const char *const says[][2] = {
        {"+OK\r\n-ERR syntax error near 'X'\r\n+QUEUED\r\n-EXECABORT Transaction discarded\r\n",
         "-EXECABORT Transaction discarded: syntax error near 'X'\r\n"},
        {"+OK\r\n+QUEUED\r\n-OOM too many\r\n-EXECABORT Transaction discarded\r\n",
         "-OOM too many\r\n"},
        {"+OK\r\n+QUEUED\r\n+QUEUED\r\n-LIMIT the tube\r\n", "-LIMIT the tube\r\n"},
        {"+OK\r\n+QUEUED\r\n+QUEUED\r\n-EXECABORT nothing came\r\n", "-EXECABORT nothing came\r\n"},
    };

    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        say(f, c, TWO);
        expect(f, c, "+OK\r\n" QUEUED QUEUED);
        (void)sent(f, f->links[1]);
        answer(f, f->links[1], says[i][0]);
        expect(f, c, says[i][1]);
    }
}

/* ---- what is refused at once ---- */

static void expect_abort(struct fixture *f, struct elapse__router_client *c, const char *line,
                         const char *error)
{
    char expected[300];

    say(f, c, "MULTI\nKICKID 2");
    say(f, c, line);
    say(f, c, "KICKID 4\nEXEC\nPING");
    snprintf(expected, sizeof expected,
             "+OK\r\n" QUEUED "-%s\r\n" QUEUED
             "-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n",
             error);
    expect(f, c, expected);
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
}

TRANSACTION_TEST(a_wrong_command_spoils_it)
{
#define OUTSIDE(name)                                                                     \
    "ERR send it outside of the transaction (in redis-py: pipeline(transaction=False)), " \
    "not between MULTI and EXEC: '" name "'"
    expect_abort(f, c, "NONSENSE", "ERR unknown command 'NONSENSE'");
    expect_abort(f, c, "RESERVE t", OUTSIDE("RESERVE"));
    expect_abort(f, c, "LOOKUPID 2", OUTSIDE("LOOKUPID"));
    expect_abort(f, c, "CANCELALL t", OUTSIDE("CANCELALL"));
    expect_abort(f, c, "HELLO 3", OUTSIDE("HELLO"));
    expect_abort(f, c, "PUT t", "ERR wrong number of arguments for 'PUT'");
    expect_abort(f, c, "ECHO", "ERR wrong number of arguments for 'ECHO'");
    expect_abort(f, c, "MULTI", "ERR MULTI calls can not be nested");
    expect_abort(f, c, "WATCH k",
                 "ERR there is nothing to WATCH: guard a transaction with LEASED id lease, behind "
                 "MULTI");
}

TRANSACTION_TEST(leased_alone_is_for_a_partition_to_refuse)
{
    say(f, c, "LEASED 2 1-1 3 1-1");
    expect_sent(f, f->links[0], "LEASED 2 1-1 3 1-1\n");
    expect_sent(f, f->links[1], "");
}

/* ---- limits ---- */

static void say_keys(struct fixture *f, struct elapse__router_client *c, int count)
{
    char line[8000] = "CANCEL a{eu}";
    size_t at = strlen(line);

    for (int i = 0; i < count; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, " k%d", i);
    say(f, c, line);
}

TRANSACTION_TEST(a_thousand_parts_are_the_most)
{
    say(f, c, "MULTI");
    say_keys(f, c, 999);
    say(f, c, "PING\nEXEC");
    expect(f, c, "+OK\r\n" QUEUED QUEUED);
    assert_int_equal(strncmp(sent(f, f->links[1]), "MULTI\nCANCEL a{eu} k0 k1 ", 24), 0);
    say(f, c, "MULTI");
    say_keys(f, c, 1000);
    say(f, c, "PING\nEXEC");
    answer(f, f->links[1], "+OK\r\n" QUEUED "-OOM\r\n");
    expect(f, c,
           "-OOM\r\n+OK\r\n" QUEUED
           "-ERR a transaction has at most 1000 commands; each key, id or lease of a command "
           "counts as one\r\n-EXECABORT Transaction discarded because of previous errors.\r\n");
    expect_sent(f, f->links[1], "");
}

/* PUT, the tube and the body have 65536 bytes: 48 of them are the most. */
static void say_long(struct fixture *f, struct elapse__router_client *c, int count)
{
    static char line[65536 + 3];
    const char *head = "PUT a{eu} ";

    memset(line, 'b', sizeof line - 1);
    for (size_t i = 0; head[i] != '\0'; i++)
        line[i] = head[i];
    for (int i = 0; i < count; i++)
        say(f, c, line);
}

TRANSACTION_TEST(three_mebibytes_are_the_most)
{
    say(f, c, "MULTI");
    say_long(f, c, 48);
    got(f, c);
    say(f, c, "EXEC");
    c = client(f);
    say(f, c, "MULTI");
    say_long(f, c, 48);
    got(f, c);
    say(f, c, "PUT a{eu} b");
    expect(f, c, "-ERR the transaction is too long; docs/protocol.md has the limit\r\n");
}

TRANSACTION_TEST(all_transactions_have_a_limit_together)
{
    f->options.kept_bytes_max = 4000;
    begin(f);
    c = client(f);
    struct elapse__router_client *other = client(f);
    char line[3000] = "ECHO ";
    memset(line + 5, 'b', sizeof line - 6);
    say(f, c, "MULTI");
    say(f, c, line);
    expect(f, c, "+OK\r\n" QUEUED);
    say(f, other, "MULTI");
    say(f, other, line);
    say(f, other, "EXEC");
    expect(f, other,
           "+OK\r\n-OOM too many transactions are open; try again later\r\n"
           "-EXECABORT Transaction discarded because of previous errors.\r\n");
    elapse__router_client_closed(c, f->now);
    say(f, other, "MULTI");
    say(f, other, line);
    expect(f, other, "+OK\r\n" QUEUED);
    for (int i = 0; i < 20; i++)
        say(f, client(f), "MULTI");
    struct elapse__router_client *late = client(f);
    say(f, late, "MULTI\nKICKID 2\nEXEC\nPING");
    expect(f, late,
           "-OOM too many transactions are open; try again later\r\n" QUEUED
           "-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n");
    expect_sent(f, f->links[0], "");
}

TRANSACTION_TEST(a_minute_of_silence_discards_it)
{
    say(f, c, "MULTI\nKICKID 2");
    pass(f, 59999);
    say(f, c, "KICKID 4");
    pass(f, 59999);
    assert_true(elapse__router_next_ms(f->router) <= f->now + 1);
    say(f, c, "EXEC");
    expect_sent(f, f->links[0], "MULTI\nKICKID 2\nKICKID 4\nEXEC\n");
    answer(f, f->links[0], "+OK\r\n" QUEUED QUEUED "*2\r\n+a\r\n+b\r\n");
    (void)got(f, c);
    say(f, c, "MULTI\nKICKID 2");
    pass(f, 60000);
    say(f, c, "KICKID 4\nEXEC");
    expect(f, c,
           "+OK\r\n" QUEUED QUEUED "-EXECABORT Transaction discarded: nothing came for 60 s.\r\n");
    expect_sent(f, f->links[0], "");
}

TRANSACTION_TEST(one_whose_next_command_comes_slowly_is_kept)
{
    say(f, c, "MULTI\nKICKID 2");
    pass(f, 59999);
    say_bytes(f, c, "*1\r\n$4\r\nEX");
    pass(f, 59999);
    say_bytes(f, c, "EC\r\n");
    expect_sent(f, f->links[0], "MULTI\nKICKID 2\nEXEC\n");
}

/* ---- lost links, and other owners ---- */

/* The partition discards what has come without EXEC. */
TRANSACTION_TEST(what_was_sent_in_part_is_sent_again_whole)
{
    const uint8_t *bytes;

    say(f, c, TWO);
    expect(f, c, "+OK\r\n" QUEUED QUEUED);
    size_t size = elapse__router_link_output(f->links[1], &bytes);
    elapse__router_link_sent(f->links[1], f->now, size - 1);
    answer(f, f->links[1], "+OK\r\n" QUEUED QUEUED);
    assert_false(elapse__router_link_wants_end(f->links[1]));
    cut(f, f->links[1]);
    pass(f, 100);
    greet(f, last(f));
    expect_sent(f, last(f), TWO);
    answer(f, last(f), "+OK\r\n" QUEUED QUEUED "*2\r\n+a\r\n+b\r\n");
    expect(f, c, "*2\r\n+a\r\n+b\r\n");
}

TRANSACTION_TEST(what_was_wholly_sent_is_unknown)
{
    say(f, c, TWO);
    expect(f, c, "+OK\r\n" QUEUED QUEUED);
    expect_sent(f, f->links[1], TWO);
    answer(f, f->links[1], "+OK\r\n" QUEUED QUEUED);
    cut(f, f->links[1]);
    expect_beginning(f, c, "-UNKNOWN partition 1 ");
    pass(f, 100);
    greet(f, last(f));
    expect_sent(f, last(f), "");
}

TRANSACTION_TEST(a_token_does_not_let_it_be_sent_again)
{
    say(f, c, "MULTI\nPUT a{eu} 1 TOKEN t\nEXEC");
    (void)got(f, c);
    (void)sent(f, f->links[1]);
    cut(f, f->links[1]);
    expect_beginning(f, c, "-UNKNOWN partition 1 ");
    pass(f, 100);
    greet(f, last(f));
    expect_sent(f, last(f), "");
}

TRANSACTION_TEST(an_answer_to_what_was_not_sent_ends_the_link)
{
    const uint8_t *bytes;

    say(f, c, TWO);
    assert_true(elapse__router_link_output(f->links[1], &bytes) > 50);
    elapse__router_link_sent(f->links[1], f->now, 16);
    answer(f, f->links[1], "+OK\r\n");
    assert_false(elapse__router_link_wants_end(f->links[1]));
    answer(f, f->links[1], QUEUED);
    assert_true(elapse__router_link_wants_end(f->links[1]));
}

TRANSACTION_TEST(the_next_owner_gets_it_whole)
{
    say(f, c, TWO);
    expect(f, c, "+OK\r\n" QUEUED QUEUED);
    (void)sent(f, f->links[1]);
    answer(f, f->links[1], "+OK\r\n" QUEUED "-NOTOWNER another node\r\n-NOTOWNER another node\r\n");
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_THERE, 2);
    pass(f, 2000);
    greet(f, last(f));
    expect_sent(f, last(f), TWO);
    answer(f, last(f), "+OK\r\n" QUEUED QUEUED "-EXECABORT nothing came\r\n");
    expect(f, c, "-EXECABORT nothing came\r\n");
}

TRANSACTION_TEST(nobody_gets_it_in_time)
{
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_NOWHERE, 2);
    turn(f);
    say(f, c, TWO);
    pass(f, 10000);
    expect_beginning(f, c, "+OK\r\n" QUEUED QUEUED "-TRYAGAIN partition 1 ");
}

/* An old node has no transactions, and would run the commands one by one. */
TRANSACTION_TEST(an_old_node_gets_no_transaction)
{
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_THERE, 2);
    turn(f);
    say(f, c, "KICKID 3\n" TWO "KICKID 5");
    (void)sent(f, last(f));
    answer(f, last(f), "%0\r\n-ERR NODE is what nodes of version 1 say\r\n");
    cut(f, last(f));
    pass(f, 100);
    greet(f, last(f));
    expect_sent(f, last(f), "KICKID 3\nKICKID 5\n");
    answer(f, last(f), "+three\r\n+five\r\n");
    expect(f, c,
           "+three\r\n+OK\r\n" QUEUED QUEUED
           "-ERR the node that owns the partition has an earlier version, without transactions: "
           "upgrade it; nothing is done\r\n+five\r\n");
}

TRANSACTION_TEST(a_client_that_goes_has_said_exec)
{
    say(f, c, "MULTI\nPING\nPUT a{eu} 1\nEXEC");
    elapse__router_client_closed(c, f->now);
    struct elapse__router_client *other = client(f);
    say(f, other, "MULTI\nPUT a{eu} 2");
    elapse__router_client_closed(other, f->now);
    expect_sent(f, f->links[1], "MULTI\nPUT a{eu} 1\nEXEC\n");
    answer(f, f->links[1], "+OK\r\n" QUEUED "*1\r\n+a\r\n");
    assert_true(elapse__router_is_idle(f->router));
}

/* ---- a core of this process ---- */

static void run(struct fixture *f, const char *line, bool is_done)
{
    uint32_t count = 0;
    const struct elapse__wire_resp_argument *arguments =
        elapse__router_link_command(last(f), &count);
    char text[100] = "";

    for (uint32_t i = 0; arguments != NULL && i < count; i++)
        sprintf(text + strlen(text), "%s%.*s", i == 0 ? "" : " ", (int)arguments[i].size,
                (const char *)arguments[i].bytes);
    assert_string_equal(text, line);
    elapse__router_link_ran(last(f), is_done);
    turn(f);
}

TRANSACTION_TEST(a_core_gets_its_commands_one_by_one)
{
    f->is_here = true;
    begin(f);
    c = client(f);
    say(f, c, TWO "KICKID 3");
    run(f, "MULTI", true);
    answer(f, last(f), "+OK\r\n");
    run(f, "PUT a{eu} 1", false);
    run(f, "PUT a{eu} 1", true);
    run(f, "PUT b{eu} 2", true);
    answer(f, last(f), QUEUED QUEUED);
    run(f, "EXEC", true);
    run(f, "KICKID 3", true);
    answer(f, last(f), "*2\r\n+a\r\n+b\r\n+three\r\n");
    expect(f, c, "+OK\r\n" QUEUED QUEUED "*2\r\n+a\r\n+b\r\n+three\r\n");
}

/* A core discards what it has not begun to execute. */
TRANSACTION_TEST(a_lost_core_has_begun_with_exec_or_not)
{
    f->is_here = true;
    begin(f);
    c = client(f);
    say(f, c, TWO);
    run(f, "MULTI", true);
    run(f, "PUT a{eu} 1", true);
    run(f, "PUT b{eu} 2", true);
    cut(f, last(f));
    pass(f, 100);
    expect(f, c, "+OK\r\n" QUEUED QUEUED);
    run(f, "MULTI", true);
    run(f, "PUT a{eu} 1", true);
    run(f, "PUT b{eu} 2", true);
    run(f, "EXEC", false);
    cut(f, last(f));
    expect_beginning(f, c, "-UNKNOWN partition 1 ");
    pass(f, 100);
    uint32_t count;
    assert_null(elapse__router_link_command(last(f), &count));
}

TEST_MAIN("transaction")
