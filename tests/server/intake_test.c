/*
 * Tests the bytes that come over a connection of HTTP: which heads of requests are refused, and
 * what happens at the limits of a request.
 */
#include "../../src/server/http/intake.h"
#include "../support/test.h"

enum { BODY_MAX = 1000 };

static struct elapse__http_intake intake;

static int begin(void **state)
{
    (void)state;
    intake = (struct elapse__http_intake){.body_bytes_max = BODY_MAX};
    return 0;
}

static int end(void **state)
{
    (void)state;
    elapse__http_intake_free(&intake);
    return 0;
}

#define INTAKE_TEST(function) TEST_WITH(function, begin, end)

static enum elapse__http_intake_fault come(const char *bytes)
{
    return elapse__http_intake_bytes(&intake, (const uint8_t *)bytes, strlen(bytes));
}

/* Sends a request with these headers and a Host, once in one piece and once byte by byte. Expects
 * this fault. */
static void expect_of(const char *request, const char *headers,
                      enum elapse__http_intake_fault fault)
{
    char text[512];
    size_t size =
        (size_t)snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: a\r\n%s\r\n", request, headers);
    enum elapse__http_intake_fault found = ELAPSE__HTTP_WELL;

    assert_in_range(size, 1, sizeof text - 1);
    assert_int_equal(come(text), fault);
    elapse__http_intake_next(&intake);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(found, ELAPSE__HTTP_WELL);
        found = elapse__http_intake_bytes(&intake, (const uint8_t *)text + i, 1);
    }
    assert_int_equal(found, fault);
    elapse__http_intake_next(&intake);
}

INTAKE_TEST(heads_that_servers_read_in_one_way_are_taken)
{
    expect_of("GET", "", ELAPSE__HTTP_WELL);
    expect_of("GET", "Content-Length: 0\r\n", ELAPSE__HTTP_WELL);
    expect_of("POST", "content-length:\t 1000 \r\n", ELAPSE__HTTP_WELL);
    expect_of("POST", "TRANSFER-ENCODING: Chunked\r\n", ELAPSE__HTTP_WELL);
    expect_of("GET", "X-Host: b\r\nHosts: c\nX:\r\n", ELAPSE__HTTP_WELL);
}

INTAKE_TEST(heads_that_others_read_differently_are_refused)
{
    static const char *const headers[] = {
        "Content-Length: 1\r\nContent-Length: 2\r\n",
        "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: 1, 1\r\n",
        "Content-Length: +1\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Content-Length:\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\t: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "HOST: b\r\n",
        "X: a\r\n b\r\n",
        ": a\r\n",
        "no colon\r\n",
    };

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        expect_of("POST", headers[i], ELAPSE__HTTP_MALFORMED);
    expect_of("GET", "Content-Length: 1\r\n", ELAPSE__HTTP_MALFORMED);
    expect_of("DELETE", "Transfer-Encoding: chunked\r\n", ELAPSE__HTTP_MALFORMED);
}

INTAKE_TEST(a_nul_in_a_head_is_refused)
{
    static const char head[] = "GET / HTTP/1.1\r\nHost: localhost\0.evil\r\n\r\n";

    assert_int_equal(elapse__http_intake_bytes(&intake, (const uint8_t *)head, sizeof head - 1),
                     ELAPSE__HTTP_MALFORMED);
}

INTAKE_TEST(a_body_that_is_announced_as_too_long_is_refused_before_it_comes)
{
    expect_of("POST", "Content-Length: 1001\r\n", ELAPSE__HTTP_TOO_LONG);
    expect_of("POST", "Content-Length: 18446744073709551615\r\n", ELAPSE__HTTP_TOO_LONG);
}

INTAKE_TEST(a_body_in_chunks_is_refused_when_it_is_too_long)
{
    enum { PART = 500 };
    uint8_t part[PART] = {0};

    assert_int_equal(come("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"),
                     ELAPSE__HTTP_WELL);
    assert_int_equal(elapse__http_intake_bytes(&intake, part, PART), ELAPSE__HTTP_WELL);
    assert_int_equal(elapse__http_intake_bytes(&intake, part, PART), ELAPSE__HTTP_WELL);
    assert_int_equal(elapse__http_intake_bytes(&intake, part, 1), ELAPSE__HTTP_TOO_LONG);
}

INTAKE_TEST(a_head_has_a_longest_length)
{
    enum { PART = 1024 };
    uint8_t part[PART];
    size_t sum = 0;

    memset(part, 'x', PART);
    while (elapse__http_intake_bytes(&intake, part, PART) == ELAPSE__HTTP_WELL)
        sum += PART;
    assert_int_equal(sum, ELAPSE__HTTP_HEAD_BYTES);
}

TEST_MAIN("intake")
