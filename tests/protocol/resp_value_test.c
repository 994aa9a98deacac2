/*
 * The reader of replies: where they end, however they come in pieces; what is in them; both
 * versions; and limits.
 */
#include "../support/test.h"
#include "resp_value.h"

/* Scans a text. A value that is broken is found so again by the same scanner. */
static enum elapse__wire_resp_scanned scan(const char *text, size_t *end)
{
    struct elapse__wire_resp_scanner scanner = {.at = 0};
    const unsigned char *bytes = (const unsigned char *)text;
    enum elapse__wire_resp_scanned scanned =
        elapse__wire_resp_scan(&scanner, bytes, strlen(text), end);

    if (scanned == ELAPSE__WIRE_RESP_SCAN_BROKEN)
        assert_int_equal(elapse__wire_resp_scan(&scanner, bytes, strlen(text), end),
                         ELAPSE__WIRE_RESP_SCAN_BROKEN);
    return scanned;
}

static const char mixed[] = "%2\r\n$3\r\ndue\r\n_\r\n$4\r\njobs\r\n*3\r\n+ok\r\n#t\r\n"
                            "*2\r\n$-1\r\n:-12\r\n";
static const char mixed_2[] = "*4\r\n$3\r\ndue\r\n$-1\r\n$4\r\njobs\r\n*3\r\n+ok\r\n:1\r\n"
                              "*2\r\n$-1\r\n:-12\r\n";
static const char mixed_3[] = "%2\r\n$3\r\ndue\r\n_\r\n$4\r\njobs\r\n*3\r\n+ok\r\n#t\r\n"
                              "*2\r\n_\r\n:-12\r\n";

TEST(a_value_ends_where_it_ends)
{
    static const char *const whole[] = {
        "+ok\r\n",      "-ERR no\r\n", ":0\r\n", ":-7\r\n", "$0\r\n\r\n",   "$4\r\n\r\n\r\n\r\n",
        "*0\r\n",       "%0\r\n",      "_\r\n",  "#f\r\n",  ">1\r\n:1\r\n", "*-1\r\n",
        "*1\r\n*0\r\n", mixed};
    char text[200];

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        size_t size = strlen(whole[i]);
        size_t end = 0;
        (void)snprintf(text, sizeof text, "%s+behind\r\n", whole[i]);
        assert_int_equal(scan(text, &end), ELAPSE__WIRE_RESP_SCAN_WHOLE);
        assert_int_equal(end, size);
        /* In pieces, at each place, and one byte after the other. */
        for (size_t cut = 0; cut < size; cut++) {
            struct elapse__wire_resp_scanner scanner = {.at = 0};
            const unsigned char *bytes = (const unsigned char *)whole[i];
            assert_int_equal(elapse__wire_resp_scan(&scanner, bytes, cut, &end),
                             ELAPSE__WIRE_RESP_SCAN_MORE);
            assert_int_equal(elapse__wire_resp_scan(&scanner, bytes, size, &end),
                             ELAPSE__WIRE_RESP_SCAN_WHOLE);
            assert_int_equal(end, size);
            for (size_t there = 0; there < size; there++)
                assert_int_equal(elapse__wire_resp_scan(&scanner, bytes, there, &end),
                                 ELAPSE__WIRE_RESP_SCAN_MORE);
            assert_int_equal(elapse__wire_resp_scan(&scanner, bytes, size, &end),
                             ELAPSE__WIRE_RESP_SCAN_WHOLE);
        }
    }
}

TEST(bytes_that_are_no_value_are_broken)
{
    static const char *const broken[] = {
        "\r\n",
        "?\r\n",
        "+ok\rx",
        ":\r\n",
        ":1x\r\n",
        ":-\r\n",
        "$-2\r\n",
        "$3\r\nabcd\r\n",
        "$1\r\na\rb",
        "*-2\r\n",
        "%-1\r\n",
        ">-1\r\n",
        "_x\r\n",
        "#x\r\n",
        "#\r\n",
        "*1\r\n,1.5\r\n",
        "(1\r\n",
        "~1\r\n:1\r\n",
        ":1234567890123456789\r\n",
        "$536870913\r\n",
        "*1048577\r\n",
        "%524289\r\n",
    };
    size_t end = 0;

    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        if (scan(broken[i], &end) != ELAPSE__WIRE_RESP_SCAN_BROKEN)
            fail_msg("not broken: %s", broken[i]);
    }
    assert_int_equal(scan("$536870912\r\n", &end), ELAPSE__WIRE_RESP_SCAN_MORE);
    assert_int_equal(scan("*1048576\r\n", &end), ELAPSE__WIRE_RESP_SCAN_MORE);
    assert_int_equal(scan("%524288\r\n", &end), ELAPSE__WIRE_RESP_SCAN_MORE);
}

TEST(depth_has_a_limit)
{
    char text[200] = "";
    size_t end = 0;

    for (int depth = 1; depth <= ELAPSE__WIRE_RESP_DEPTH_MAX + 1; depth++) {
        char whole[sizeof text + 8];
        size_t begin = strlen(text);
        (void)snprintf(text + begin, sizeof text - begin, "*1\r\n");
        (void)snprintf(whole, sizeof whole, "%s:1\r\n", text);
        assert_int_equal(scan(whole, &end), depth <= ELAPSE__WIRE_RESP_DEPTH_MAX
                                                ? ELAPSE__WIRE_RESP_SCAN_WHOLE
                                                : ELAPSE__WIRE_RESP_SCAN_BROKEN);
    }
}

TEST(a_line_has_a_limit)
{
    static char text[17 << 10];
    size_t end = 0;

    memset(text, 'x', (16 << 10) - 1);
    text[0] = '+';
    assert_int_equal(scan(text, &end), ELAPSE__WIRE_RESP_SCAN_MORE);
    text[(16 << 10) - 1] = 'x';
    assert_int_equal(scan(text, &end), ELAPSE__WIRE_RESP_SCAN_BROKEN);
}

static void convert(const char *value, bool resp3, const char *expected)
{
    unsigned char memory[300];
    size_t size = strlen(value);
    struct elapse__wire_resp_writer writer = {
        .bytes = memory, .capacity = elapse__wire_resp_converted_max(size), .resp3 = resp3};

    assert_true(writer.capacity <= sizeof memory);
    elapse__wire_resp_convert(&writer, (const unsigned char *)value, size);
    assert_false(writer.too_small);
    assert_int_equal(writer.size, strlen(expected));
    assert_memory_equal(writer.bytes, expected, writer.size);
}

TEST(values_are_written_in_both_versions)
{
    convert(mixed, false, mixed_2);
    convert(mixed, true, mixed_3);
    convert("_\r\n", false, "$-1\r\n");
    convert("*3\r\n_\r\n_\r\n_\r\n", false, "*3\r\n$-1\r\n$-1\r\n$-1\r\n");
    convert("%5\r\n", false, "*10\r\n");
    convert("-ERR \xff '\x01'\r\n", false, "-ERR \xff '\x01'\r\n");
}

TEST(items_come_in_order)
{
    static const enum elapse__wire_resp_kind kinds[] = {
        ELAPSE__WIRE_RESP_MAP,    ELAPSE__WIRE_RESP_BYTES, ELAPSE__WIRE_RESP_NULL,
        ELAPSE__WIRE_RESP_BYTES,  ELAPSE__WIRE_RESP_ARRAY, ELAPSE__WIRE_RESP_WORD,
        ELAPSE__WIRE_RESP_TRUE,   ELAPSE__WIRE_RESP_ARRAY, ELAPSE__WIRE_RESP_NULL,
        ELAPSE__WIRE_RESP_INTEGER};
    const unsigned char *bytes = (const unsigned char *)mixed;
    size_t size = sizeof mixed - 1;
    size_t at = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct elapse__wire_resp_item item = elapse__wire_resp_next(bytes, size, &at);
        assert_int_equal(item.kind, kinds[i]);
        if (item.kind == ELAPSE__WIRE_RESP_INTEGER)
            assert_int_equal(item.integer, -12);
    }
    assert_int_equal(at, size);
    at = 0;
    elapse__wire_resp_skip(bytes, size, &at);
    assert_int_equal(at, size);
}

TEST_MAIN("resp_value")
