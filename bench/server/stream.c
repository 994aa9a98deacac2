#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "client.h"

enum { INPUT_BYTES = 16 << 20, OUTPUT_BYTES = 4 << 20 };

static int server;
static char input[INPUT_BYTES], output[OUTPUT_BYTES];
static size_t begin, end, output_bytes;

void stream_open(uint16_t port)
{
    server = connect_to(port);
}

void append(const char *text, size_t bytes)
{
    if (output_bytes + bytes > OUTPUT_BYTES)
        flush();
    memcpy(output + output_bytes, text, bytes);
    output_bytes += bytes;
}

void flush(void)
{
    for (size_t sent = 0; sent < output_bytes;) {
        ssize_t done = send(server, output + sent, output_bytes - sent, MSG_NOSIGNAL);
        if (done < 0)
            stop("send");
        sent += (size_t)done;
    }
    output_bytes = 0;
}

/* Sends what there is, and waits for more input. */
static void receive(void)
{
    flush();
    if (begin > 0) {
        memmove(input, input + begin, end - begin);
        end -= begin;
        begin = 0;
    }
    ssize_t got = recv(server, input + end, INPUT_BYTES - end, 0);
    if (got <= 0)
        stop("recv");
    end += (size_t)got;
}

const char *take_line(void)
{
    for (;;) {
        char *at = memchr(input + begin, '\n', end - begin);
        if (at != NULL) {
            const char *line = input + begin;
            begin = (size_t)(at + 1 - input);
            return line;
        }
        receive();
    }
}

const char *take_bytes(size_t bytes)
{
    while (end - begin < bytes)
        receive();
    begin += bytes;
    return input + begin - bytes;
}

char peek(void)
{
    while (end == begin)
        receive();
    return input[begin];
}

uint64_t take_number(char mark)
{
    const char *line = take_line();
    if (line[0] != mark)
        fail("another reply", line);
    return strtoull(line + 1, NULL, 10);
}

size_t take_string(char *to, size_t room)
{
    const char *line = take_line();
    if (line[0] != '$')
        fail("another reply", line);
    if (line[1] == '-')
        return 0;
    size_t bytes = strtoull(line + 1, NULL, 10);
    const char *text = take_bytes(bytes + 2);
    if (to != NULL && bytes < room) {
        memcpy(to, text, bytes);
        to[bytes] = '\0';
    }
    return bytes;
}

void append_string(const char *text, size_t bytes)
{
    char head[24];
    size_t digits = (size_t)snprintf(head, sizeof head, "$%zu\r\n", bytes);
    append(head, digits);
    append(text, bytes);
    APPEND("\r\n");
}

void append_head(uint64_t strings)
{
    char number[24];
    size_t digits =
        (size_t)snprintf(number, sizeof number, "*%llu\r\n", (unsigned long long)strings);
    append(number, digits);
}
