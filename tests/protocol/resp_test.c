/*
 * The parser of RESP: what it takes, each limit at its edge, and every command cut into pieces at
 * each byte. Bytes are given to it in memory of exactly their size, so that a sanitizer notices a
 * read beyond the end.
 */
#include "../support/test.h"
#include "resp_parse.h"

enum { ARGUMENT_BYTES = 1000, ROOM = ELAPSE__WIRE_RESP_ARGUMENTS_MAX };

static struct elapse__wire_resp_argument arguments[ROOM];

/* A client: its bytes that were not consumed, and its parser. */
struct client {
    struct elapse__wire_resp_parser parser;
    unsigned char *bytes;
    size_t size;
};

static struct client new_client(void)
{
    return (struct client){.parser = {.argument_bytes_max = ARGUMENT_BYTES}};
}

static void resize(struct client *client, size_t size)
{
    unsigned char *bytes = malloc(size > 0 ? size : 1);

    assert_non_null(bytes);
    if (client->size > 0 && size > 0)
        memcpy(bytes, client->bytes, client->size < size ? client->size : size);
    free(client->bytes);
    client->bytes = bytes;
}

static void send_bytes(struct client *client, const void *bytes, size_t size)
{
    resize(client, client->size + size);
    memcpy(client->bytes + client->size, bytes, size);
    client->size += size;
}

static void send_text(struct client *client, const char *text)
{
    send_bytes(client, text, strlen(text));
}

/* Removes bytes that are done with. */
static void consume(struct client *client, size_t consumed)
{
    assert_true(consumed <= client->size);
    memmove(client->bytes, client->bytes + consumed, client->size - consumed);
    client->size -= consumed;
}

static struct elapse__wire_resp_parsed parse(struct client *client)
{
    memset(arguments, 0, sizeof arguments);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the client keeps its bytes */
    return elapse__wire_resp_parse(&client->parser, client->bytes, client->size, arguments);
}

/* Parses, and consumes; for outcomes whose arguments are not looked at. */
static enum elapse__wire_resp_outcome outcome_of(struct client *client)
{
    struct elapse__wire_resp_parsed parsed = parse(client);
    consume(client, parsed.consumed);
    return parsed.outcome;
}

static void end(struct client *client)
{
    free(client->bytes);
    *client = new_client();
}

static void expect_argument(unsigned place, const char *text)
{
    assert_int_equal(arguments[place].size, strlen(text));
    assert_memory_equal(arguments[place].bytes, text, strlen(text));
}

TEST(takes_commands)
{
    struct client client = new_client();

    send_text(&client, "*3\r\n$6\r\nCANCEL\r\n$6\r\norders\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n");
    struct elapse__wire_resp_parsed parsed = parse(&client);
    assert_int_equal(parsed.outcome, ELAPSE__WIRE_RESP_COMMAND);
    assert_int_equal(parsed.count, 3);
    expect_argument(0, "CANCEL");
    expect_argument(1, "orders");
    expect_argument(2, "");
    consume(&client, parsed.consumed);
    parsed = parse(&client);
    assert_int_equal(parsed.outcome, ELAPSE__WIRE_RESP_COMMAND);
    assert_int_equal(parsed.count, 1);
    expect_argument(0, "PING");
    consume(&client, parsed.consumed);
    assert_int_equal(client.size, 0);
    assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_MORE);
    end(&client);
}

TEST(empty_lines_mean_nothing)
{
    struct client client = new_client();

    send_text(&client, "\r\n\r");
    assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_EMPTY);
    assert_int_equal(client.size, 1);
    assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_MORE);
    send_text(&client, "\n*1\r\n$4\r\nPING\r\n");
    assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_EMPTY);
    assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_COMMAND);
    assert_int_equal(client.size, 0);
    end(&client);
}

TEST(arguments_are_any_bytes)
{
    static const char command[] = "*2\r\n$3\r\nPUT\r\n$7\r\n\r\n\0*1\r\n\r\n";
    struct client client = new_client();

    send_bytes(&client, command, sizeof command - 1);
    assert_int_equal(parse(&client).outcome, ELAPSE__WIRE_RESP_COMMAND);
    assert_int_equal(arguments[1].size, 7);
    assert_memory_equal(arguments[1].bytes, "\r\n\0*1\r\n", 7);
    end(&client);
}

/* Gives the bytes in two pieces, cut at each place, and in single bytes. In between there is never
 * a command, and `wanted` is never more than what follows. */
static void cut(const char *command, size_t size, enum elapse__wire_resp_outcome expected,
                unsigned count)
{
    for (size_t place = 0; place <= size; place++) {
        struct client client = new_client();

        send_bytes(&client, command, place);
        struct elapse__wire_resp_parsed parsed = parse(&client);
        if (place < size) {
            assert_int_equal(parsed.outcome, ELAPSE__WIRE_RESP_MORE);
            assert_true(parsed.wanted > place - parsed.consumed);
            assert_true(parsed.wanted <= size - parsed.consumed);
            consume(&client, parsed.consumed);
            send_bytes(&client, command + place, size - place);
            parsed = parse(&client);
        }
        assert_int_equal(parsed.outcome, expected);
        assert_int_equal(parsed.count, count);
        assert_int_equal(parsed.consumed, client.size);
        if (expected == ELAPSE__WIRE_RESP_COMMAND) {
            expect_argument(0, "PUT");
            for (unsigned i = 1; i < count; i++)
                assert_true(arguments[i].bytes > arguments[i - 1].bytes);
        }
        end(&client);
    }

    struct client client = new_client();
    size_t wanted = 0;
    for (size_t place = 0; place < size; place++) {
        send_bytes(&client, command + place, 1);
        /* A caller may wait for the bytes that are wanted: nothing is missed meanwhile. */
        if (client.size < wanted)
            continue;
        struct elapse__wire_resp_parsed parsed = parse(&client);
        assert_int_equal(parsed.outcome, place + 1 < size ? ELAPSE__WIRE_RESP_MORE : expected);
        wanted = parsed.wanted;
        consume(&client, parsed.consumed);
    }
    assert_int_equal(client.size, 0);
    end(&client);
}

TEST(commands_come_in_pieces)
{
    static const char put[] =
        "*4\r\n$3\r\nPUT\r\n$6\r\norders\r\n$0\r\n\r\n$12\r\nabc\r\n\r\n123\r\n"
        "\r\n";

    cut(put, sizeof put - 1, ELAPSE__WIRE_RESP_COMMAND, 4);
}

TEST(refused_commands_come_in_pieces)
{
    char command[2 * ARGUMENT_BYTES];
    int head = snprintf(command, sizeof command, "*3\r\n$3\r\nPUT\r\n$%d\r\n", ARGUMENT_BYTES + 1);
    size_t size = (size_t)head;

    memset(command + size, 'x', ARGUMENT_BYTES + 1);
    size += ARGUMENT_BYTES + 1;
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no string */
    memcpy(command + size, "\r\n$1\r\ny\r\n", 9);
    size += 9;
    cut(command, size, ELAPSE__WIRE_RESP_TOO_LONG, 3);
}

/* Nothing of a refused command has to be kept, and the next command is understood. */
TEST(refused_commands_are_not_kept)
{
    struct client client = new_client();
    static const char piece[997] = "";
    size_t left = ELAPSE__WIRE_RESP_REFUSED_BYTES_MAX;

    send_text(&client, "*2\r\n$3\r\nPUT\r\n$536870912\r\n");
    assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_MORE);
    assert_int_equal(client.size, 0);
    /* The greater part is not sent: that takes a second. */
    client.parser.bulk = 100000;
    left = 100000;
    while (left > 0) {
        size_t some = left < sizeof piece ? left : sizeof piece;
        send_bytes(&client, piece, some);
        assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_MORE);
        assert_int_equal(client.size, 0);
        left -= some;
    }
    send_text(&client, "\r\n*1\r\n$4\r\nPING\r\n");
    assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_TOO_LONG);
    assert_int_equal(outcome_of(&client), ELAPSE__WIRE_RESP_COMMAND);
    assert_int_equal(client.size, 0);
    end(&client);
}

static void send_argument(struct client *client, size_t size)
{
    char head[32];
    static const char zeros[ARGUMENT_BYTES + 1] = "";

    assert_true(size <= sizeof zeros);
    snprintf(head, sizeof head, "$%zu\r\n", size);
    send_text(client, head);
    send_bytes(client, zeros, size);
    send_text(client, "\r\n");
}

static void send_count(struct client *client, unsigned count)
{
    char head[32];

    snprintf(head, sizeof head, "*%u\r\n", count);
    send_text(client, head);
}

TEST(longest_argument)
{
    struct client client = new_client();

    for (unsigned more = 0; more <= 1; more++) {
        send_count(&client, 1);
        send_argument(&client, ARGUMENT_BYTES + more);
        assert_int_equal(outcome_of(&client),
                         more == 0 ? ELAPSE__WIRE_RESP_COMMAND : ELAPSE__WIRE_RESP_TOO_LONG);
        assert_int_equal(client.size, 0);
    }
    end(&client);
}

TEST(most_arguments)
{
    struct client client = new_client();

    for (unsigned more = 0; more <= 1; more++) {
        send_count(&client, ROOM + more);
        for (unsigned i = 0; i < ROOM + more; i++)
            send_argument(&client, 1);
        struct elapse__wire_resp_parsed parsed = parse(&client);
        assert_int_equal(parsed.outcome,
                         more == 0 ? ELAPSE__WIRE_RESP_COMMAND : ELAPSE__WIRE_RESP_TOO_MANY);
        assert_int_equal(parsed.count, ROOM + more);
        consume(&client, parsed.consumed);
        assert_int_equal(client.size, 0);
    }
    end(&client);
}

/* A command is refused when all its bytes together are too many: at the edge, to the byte. */
TEST(longest_command)
{
    struct client client = new_client();
    enum { PIECE = 7 + ARGUMENT_BYTES + 2, HEAD = 6 }; /* "$1000\r\n", and "*300\r\n" */
    size_t most = elapse__wire_resp_bytes_max(&client.parser);
    unsigned whole = (unsigned)((most - HEAD) / PIECE);

    assert_int_equal(most, ARGUMENT_BYTES + ELAPSE__WIRE_RESP_OTHER_BYTES_MAX);
    for (unsigned more = 0; more <= 1; more++) {
        size_t left = most + more - HEAD - (size_t)(whole - 1) * PIECE;
        unsigned last = left > PIECE ? 2 : 1;

        assert_true(whole - 1 + last >= 100 && whole - 1 + last <= 999);
        send_count(&client, whole - 1 + last);
        for (unsigned i = 0; i + 1 < whole; i++)
            send_argument(&client, ARGUMENT_BYTES);
        if (last == 2) {
            /* "$990\r\n" and its end are 8. */
            send_argument(&client, 990);
            left -= 998;
        }
        size_t frame = left >= 1000 + 9 ? 9 : left >= 108 ? 8 : left >= 17 ? 7 : 6;
        send_argument(&client, left - frame);
        assert_int_equal(client.size, most + more);
        assert_int_equal(outcome_of(&client),
                         more == 0 ? ELAPSE__WIRE_RESP_COMMAND : ELAPSE__WIRE_RESP_TOO_LONG);
        assert_int_equal(client.size, 0);
    }
    end(&client);
}

TEST(broken_bytes)
{
    static const struct {
        const char *bytes;
        const char *error;
    } cases[] = {
        {"PING\r\n", "expected '*'"},
        {"\rP", "expected '*'"},
        {"\n", "expected '*'"},
        {"$4\r\nPING\r\n", "expected '*'"},
        {"*0\r\n", "invalid multibulk length"},
        {"*-1\r\n", "invalid multibulk length"},
        {"*\r\n", "invalid multibulk length"},
        {"*+1\r\n", "invalid multibulk length"},
        {"* 1\r\n", "invalid multibulk length"},
        {"*01\r\n", "invalid multibulk length"},
        {"*1 ", "invalid multibulk length"},
        {"*1\n", "invalid multibulk length"},
        {"*1\rx", "invalid multibulk length"},
        {"*1048577\r\n", "invalid multibulk length"},
        {"*1000000000", "invalid multibulk length"},
        {"*99999999999999999999", "invalid multibulk length"},
        {"*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$'"},
        {"*1\r\n:4\r\n", "expected '$'"},
        {"*1\r\n+PING\r\n", "expected '$'"},
        {"*1\r\n$-1\r\n", "invalid bulk length"},
        {"*1\r\n$\r\n", "invalid bulk length"},
        {"*1\r\n$04\r\n", "invalid bulk length"},
        {"*1\r\n$536870913\r\n", "invalid bulk length"},
        {"*1\r\n$1073741824", "invalid bulk length"},
        {"*1\r\n$18446744073709551620", "invalid bulk length"},
        {"*1\r\n$4\r\nPINGx", NULL},
        {"*1\r\n$4\r\nPING\r\r", "an argument does not end where its length says"},
        {"*1\r\n$3\r\nPING\r\n", "an argument does not end where its length says"},
        {"*2\r\n$4\r\nPING\r\nx", "expected '$'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct client client = new_client();
        size_t size = strlen(cases[i].bytes);

        /* Byte by byte: it is noticed at the last one of these, and not before. */
        for (size_t place = 0; place < size; place++) {
            send_bytes(&client, cases[i].bytes + place, 1);
            struct elapse__wire_resp_parsed parsed = parse(&client);
            if (parsed.outcome == ELAPSE__WIRE_RESP_MORE) {
                consume(&client, parsed.consumed);
                continue;
            }
            assert_int_equal(parsed.outcome, ELAPSE__WIRE_RESP_BROKEN);
            assert_non_null(cases[i].error);
            assert_string_equal(parsed.error, cases[i].error);
            size = 0;
        }
        assert_true(size == 0 || cases[i].error == NULL);
        end(&client);
    }
}

/* A header says how many bytes are wanted, and they are never more than the limit. */
TEST(wanted_is_within_the_limit)
{
    struct client client = new_client();

    send_text(&client, "*1\r\n$1000\r\n");
    struct elapse__wire_resp_parsed parsed = parse(&client);
    assert_int_equal(parsed.outcome, ELAPSE__WIRE_RESP_MORE);
    assert_int_equal(parsed.wanted, 4 + 7 + 1000 + 2);
    assert_int_equal(parsed.consumed, 0);
    end(&client);
    send_text(&client, "*1\r\n$1001\r\n");
    parsed = parse(&client);
    assert_int_equal(parsed.outcome, ELAPSE__WIRE_RESP_MORE);
    assert_int_equal(parsed.consumed, 4 + 7);
    assert_true(parsed.wanted <= elapse__wire_resp_bytes_max(&client.parser));
    end(&client);
}

TEST_MAIN("resp")
