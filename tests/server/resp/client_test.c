/*
 * Tests the commands that clients send when they connect, the table of commands, passwords, and
 * bytes that are no RESP.
 */
#include "core/guesses.h"
#include "talk.h"

#include <elapse/version.h>

#include "resp/commands.h"

static const struct elapse__queue_text passwords[] = {{"secret", 6}, {"other", 5}};

/* Makes the server again, with passwords, and connects. */
static void with_passwords(void)
{
    options.keys.passwords = passwords;
    options.keys.password_count = 2;
    hang_up(&c);
    serve();
    connect(&c);
}

RESP_TEST(small_ones)
{
    says("PING", "+PONG|");
    says("ping 'a b'", "$3|a b|");
    begins(&c, "PING a b", "-ERR wrong number of arguments for 'ping' command");
    says("ECHO ''", "$0||");
    says("SELECT 0", "+OK|");
    says("SELECT 1", "-ERR DB index is out of range|");
    says("SELECT x", "-ERR not a number, or out of range: 'x'|");
    says("CONFIG GET save", "*0|");
    says("config get a b", "*0|");
    begins(&c, "CONFIG SET a b", "-ERR the server is configured when it starts");
    begins(&c, "CONFIG", "-ERR wrong number");
    says("GET x", "-ERR unknown command 'GET'|");
    says("'' x", "-ERR unknown command ''|");
    says("AVERYLONGCOMMANDNAME", "-ERR unknown command 'AVERYLONGCOMMANDNAME'|");
    begins(&c, "INFO", "$");
    ask(&c, "INFO server");
    commit();
    const char *reply = hear_some(&c, 5000);
    assert_non_null(strstr(reply, "redis_version:7.0.0\r\n"));
    assert_non_null(strstr(reply, "\r\nloading:0\r\n"));
}

RESP_TEST(client)
{
    says("CLIENT GETNAME", "$-1|");
    says("CLIENT SETNAME worker-1", "+OK|");
    says("client getname", "$8|worker-1|");
    says("CLIENT SETINFO LIB-NAME redis-py", "+OK|");
    says("CLIENT NO-EVICT on", "+OK|");
    says("CLIENT ID", ":1|");
    says("CLIENT INFO", "$31|id=1 name=worker-1 db=0 resp=2||");
    begins(&c, "CLIENT SETNAME 'a b'", "-ERR the name of a client");
    begins(&c, "CLIENT REPLY OFF", "-ERR unknown subcommand");
    begins(&c, "CLIENT SETNAME", "-ERR unknown subcommand");
    says("CLIENT SETNAME ''", "+OK|");
    says("CLIENT GETNAME", "$-1|");
    says("CLIENT SETNAME 0123456789012345678901234567890123456789012345678901234567890123", "+OK|");
    begins(&c, "CLIENT SETNAME 01234567890123456789012345678901234567890123456789012345678901234",
           "-ERR the name of a client");
}

RESP_TEST(hello)
{
    says("HELLO", "*14|$6|server|$6|elapse|$7|version|$5|" ELAPSE_VERSION_TEXT
                  "|$5|proto|:2|$2|id|:1|$4|mode|"
                  "$10|standalone|$4|role|$6|master|$7|modules|*0|");
    says("HELLO 3 SETNAME me", "%7|$6|server|$6|elapse|$7|version|$5|" ELAPSE_VERSION_TEXT
                               "|$5|proto|:3|$2|id|:1|$4|mode|"
                               "$10|standalone|$4|role|$6|master|$7|modules|*0|");
    says("CLIENT GETNAME", "$2|me|");
    begins(&c, "HELLO", "%7|");
    says("CONFIG GET x", "%0|");
    says("HELLO 4", "-NOPROTO unsupported protocol version|");
    says("HELLO 1", "-NOPROTO unsupported protocol version|");
    says("HELLO x", "-NOPROTO unsupported protocol version|");
    says("HELLO 2 SETNAME", "-ERR syntax error: a value is missing behind 'SETNAME'|");
    begins(&c, "HELLO", "%7|");
    begins(&c, "HELLO 2", "*14|");
    says("CLIENT SETNAME me", "+OK|");
    begins(&c, "HELLO 3", "%7|");
    says("RESET", "+RESET|");
    says("CLIENT GETNAME", "$-1|");
}

RESP_TEST(no_password_needed)
{
    begins(&c, "AUTH secret", "-ERR AUTH called without any password configured");
    begins(&c, "HELLO 3 AUTH default anything", "%7|");
    begins(&c, "AUTH a b c", "-ERR syntax error");
}

/* Sends a command with a wrong password, whose answer waits. */
static void guess(struct client *client, const char *words, uint64_t wait_ms)
{
    ask(client, words);
    hear(client, "");
    pass(wait_ms - 1);
    hear(client, "");
    pass(1);
    hear(client, "-WRONGPASS invalid username-password pair or user is disabled.|");
}

RESP_TEST(passwords_come_first)
{
    with_passwords();
    for (unsigned i = 0; elapse__resp_command_at(i) != NULL; i++) {
        const struct elapse__resp_command *command = elapse__resp_command_at(i);
        if ((command->flags & ELAPSE__RESP_NO_AUTH) == 0)
            says(command->name, "-NOAUTH Authentication required.|");
    }
    begins(&c, "HELLO 3", "-NOAUTH HELLO must be called");
    guess(&c, "AUTH wrong", ELAPSE__GUESS_MS);
    guess(&c, "AUTH secre", ELAPSE__GUESS_MS);
    guess(&c, "AUTH secrets", ELAPSE__GUESS_MS);
    guess(&c, "AUTH ''", ELAPSE__GUESS_MS);
    hang_up(&c);
    connect(&c);
    guess(&c, "AUTH root secret", ELAPSE__GUESS_MS);
    says("PING", "-NOAUTH Authentication required.|");
    says("AUTH secret", "+OK|");
    says("PING", "+PONG|");
    says("RESET", "+RESET|");
    says("PING", "-NOAUTH Authentication required.|");
    says("AUTH default other", "+OK|");
    says("PUT t b", "*2|:1|+scheduled|");
    says("RESET", "+RESET|");
    guess(&c, "HELLO 3 AUTH default wrong SETNAME x", ELAPSE__GUESS_MS);
    says("PING", "-NOAUTH Authentication required.|");
    begins(&c, "HELLO 3 AUTH default secret", "%7|");
    says("PING", "+PONG|");
    /* A wrong password does not take away what the right one gave. */
    guess(&c, "AUTH wrong", ELAPSE__GUESS_MS);
    says("PING", "+PONG|");
    says("QUIT", "+OK|");
}

static void connect_from(struct client *client, uint64_t place)
{
    const struct elapse__connection_facts facts = {.place = place, .shell = client};

    client->attended = false;
    client->connection = elapse__connection_new(f.server, present(), &facts);
    assert_non_null(client->connection);
}

RESP_TEST(what_is_behind_a_wrong_password_waits_with_its_answer)
{
    struct client other;

    with_passwords();
    ask(&c, "AUTH wrong");
    assert_int_equal(elapse__connection_room(c.connection), 0);
    hang_up(&c);
    connect(&c);
    say(&c, "*2\r\n$4\r\nAUTH\r\n$5\r\nwrong\r\n*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n"
            "*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$1\r\nb\r\n");
    hear(&c, "");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 0);
    /* Others are served meanwhile, at the same place too. */
    connect(&other);
    answers(&other, "AUTH secret", "+OK|");
    pass(ELAPSE__GUESS_MS);
    hear(&c,
         "-WRONGPASS invalid username-password pair or user is disabled.|+OK|*2|:1|+scheduled|");
    assert_true(elapse__connection_room(c.connection) > 0);
    hang_up(&other);
}

RESP_TEST(a_connection_ends_after_five_wrong_passwords)
{
    with_passwords();
    for (int i = 0; i < ELAPSE__WIRE_GUESSES_MAX - 1; i++)
        guess(&c, "AUTH wrong", ELAPSE__GUESS_MS);
    assert_false(elapse__connection_wants_end(c.connection));
    say(&c, "*2\r\n$4\r\nAUTH\r\n$5\r\nwrong\r\n*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n");
    assert_false(elapse__connection_wants_end(c.connection));
    pass(ELAPSE__GUESS_MS);
    hear(&c, "-WRONGPASS invalid username-password pair or user is disabled.|");
    assert_true(elapse__connection_wants_end(c.connection));
}

RESP_TEST(an_address_that_guesses_often_waits_longer_and_no_other_one)
{
    enum { GUESSERS = ELAPSE__GUESSES_A_SECOND + 1, HERE = 7, THERE = 8 };
    struct client guessers[GUESSERS], other, right;
    const uint8_t *bytes;
    uint64_t place;
    uint32_t count;

    with_passwords();
    for (int i = 0; i < GUESSERS; i++) {
        connect_from(&guessers[i], HERE);
        ask(&guessers[i], "AUTH wrong");
    }
    connect_from(&other, THERE);
    ask(&other, "AUTH wrong");
    connect_from(&right, HERE);
    answers(&right, "AUTH secret", "+OK|");
    pass(ELAPSE__GUESS_MS);
    hear(&other, "-WRONGPASS invalid username-password pair or user is disabled.|");
    for (int i = 0; i < GUESSERS; i++)
        assert_int_equal(elapse__connection_output(guessers[i].connection, &bytes) > 0,
                         i < ELAPSE__GUESSES_A_SECOND);
    pass(ELAPSE__GUESS_LONG_MS - ELAPSE__GUESS_MS);
    hear(&guessers[GUESSERS - 1],
         "-WRONGPASS invalid username-password pair or user is disabled.|");
    /* The log has a line for each of the two. */
    for (unsigned sum = 0; sum < GUESSERS + 1; sum += count) {
        assert_true(elapse__guesses_take(elapse__server_guesses(f.server), &place, &count));
        assert_int_equal(count, place == HERE ? GUESSERS : 1);
    }
    assert_false(elapse__guesses_take(elapse__server_guesses(f.server), &place, &count));
    for (int i = 0; i < GUESSERS; i++)
        hang_up(&guessers[i]);
    hang_up(&other);
    hang_up(&right);
}

RESP_TEST(quit)
{
    say(&c, "*1\r\n$4\r\nQUIT\r\n*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$1\r\nb\r\n");
    hear(&c, "+OK|");
    assert_true(elapse__connection_wants_end(c.connection));
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 0);
}

/* What was understood before is done and answered. */
RESP_TEST(bytes_that_are_no_resp)
{
    static const struct {
        const char *bytes;
        const char *reply;
    } cases[] = {
        {"*1\r\n$4\r\nPING\r\nPING\r\n", "+PONG|-ERR Protocol error: expected '*'|"},
        {"*-1\r\n", "-ERR Protocol error: invalid multibulk length|"},
        {"*1\r\n$1073741824\r\n", "-ERR Protocol error: invalid bulk length|"},
        {"*1\r\n*1\r\n", "-ERR Protocol error: expected '$'|"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct client other;
        connect(&other);
        say(&other, cases[i].bytes);
        hear(&other, cases[i].reply);
        assert_true(elapse__connection_wants_end(other.connection));
        hang_up(&other);
    }
}

/* Each command is found, also in small letters and cut into single bytes, and no other name is. */
RESP_TEST(table)
{
    unsigned count = 0;

    for (; elapse__resp_command_at(count) != NULL; count++) {
        const struct elapse__resp_command *command = elapse__resp_command_at(count);
        unsigned char small[16] = "";
        uint32_t size = (uint32_t)strlen(command->name);
        struct elapse__wire_resp_argument name = {.bytes = (const unsigned char *)command->name,
                                                  .size = size};

        assert_ptr_equal(elapse__resp_find(name), command);
        for (uint32_t i = 0; i < size; i++)
            small[i] = (unsigned char)(command->name[i] | 0x20);
        name.bytes = small;
        assert_ptr_equal(elapse__resp_find(name), command);
        small[size - 1]++;
        assert_ptr_not_equal(elapse__resp_find(name), command);
        small[size - 1]--;
        name.size++;
        assert_ptr_not_equal(elapse__resp_find(name), command);
        assert_true(command->arity != 0);
        assert_true((command->flags & (ELAPSE__RESP_WRITES | ELAPSE__RESP_READS)) != 0);
        assert_true(strlen(command->summary) > 10);
    }
    assert_true(count >= 29);
}

RESP_TEST(command)
{
    unsigned count = 0;
    char text[32];

    while (elapse__resp_command_at(count) != NULL)
        count++;
    sprintf(text, ":%u|", count);
    says("COMMAND COUNT", text);
    sprintf(text, "*%u|*10|$3|put|:-3|*2|", count);
    begins(&c, "COMMAND", text);
    says("COMMAND INFO reserve nonsense",
         "*2|*10|$7|reserve|:-2|*2|+write|+blocking|:0|:0|:0|*0|*0|*0|*0|$-1|");
    begins(&c, "COMMAND INFO", text);
    sprintf(text, "*%u|$3|put|$3|ack|", count);
    begins(&c, "COMMAND LIST", text);
    says("COMMAND DOCS quit nonsense", "*2|$4|quit|*6|$7|summary|$19|Ends the connection|$5|since|"
                                       "$5|0.2.0|$5|group|$10|connection|");
    says("COMMAND DOCS discard",
         "*2|$7|discard|*6|$7|summary|$32|Forgets the commands since MULTI|$5|since|"
         "$5|0.3.0|$5|group|$12|transactions|");
    sprintf(text, "*%u|$3|put|*8|", 2 * count);
    begins(&c, "COMMAND DOCS", text);
    begins(&c, "HELLO 3", "%7|");
    says("COMMAND DOCS kickid",
         "%1|$6|kickid|%4|$7|summary|$35|Makes a buried or delayed job ready|$5|since|$5|0.2.0|"
         "$5|group|$4|jobs|$9|arguments|*1|%3|$4|name|$2|id|$4|type|$6|string|"
         "$12|display_text|$2|id|");
    begins(&c, "COMMAND GETKEYS put a b", "-ERR unknown subcommand");
}

/* Commands in many pieces, and many in one. */
RESP_TEST(pieces)
{
    static const char put[] = "*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$4\r\nb\r\nb\r\n";

    for (size_t i = 0; i < sizeof put - 1; i++)
        say_bytes(&c, put + i, 1);
    hear(&c, "*2|:1|+scheduled|");
    say(&c, "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$1\r");
    hear(&c, "+PONG|+PONG|");
    say(&c, "\nx\r\n\r\n*1\r\n$4\r\nPING\r\n\r");
    hear(&c, "$1|x|+PONG|");
    say(&c, "\n*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$1\r");
    hear(&c, "+PONG|");
    say(&c, "\nx\r\n");
    hear(&c, "$1|x|");
}

TEST_MAIN("client")
