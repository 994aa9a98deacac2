#include "redis_scripts.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "commands.h"

enum { DIGEST_BYTES = 40 };

#define TAKE_NAMES                                                                         \
    "local names = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, " \
    "ARGV[2]) "                                                                            \
    "if #names == 0 then return names end "                                                \
    "local bodies = redis.call('HMGET', KEYS[2], unpack(names)) "                          \
    "redis.call('ZREM', KEYS[1], unpack(names)) "

static const char *const texts[REDIS_SCRIPTS] = {
    [REDIS_PUT] = "redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) "
                  "redis.call('HSET', KEYS[2], ARGV[1], ARGV[3]) return 1",
    [REDIS_CANCEL] = "redis.call('HDEL', KEYS[2], ARGV[1]) "
                     "return redis.call('ZREM', KEYS[1], ARGV[1])",
    [REDIS_TAKE] = TAKE_NAMES "redis.call('HDEL', KEYS[2], unpack(names)) return bodies",
    [REDIS_LEASE] = TAKE_NAMES
    "local leased = {} "
    "for i, name in ipairs(names) do leased[2 * i - 1] = ARGV[3] leased[2 * i] = name end "
    "redis.call('ZADD', KEYS[3], unpack(leased)) return {names, bodies}",
    [REDIS_ACK] = "redis.call('HDEL', KEYS[2], unpack(ARGV)) "
                  "return redis.call('ZREM', KEYS[3], unpack(ARGV))",
};

/* A call without the number of its strings, which comes first. */
static char calls[REDIS_SCRIPTS][REDIS_CALL_BYTES_MAX];
static size_t call_bytes[REDIS_SCRIPTS];

static void load(int server, enum redis_script script)
{
    char bytes[1024];
    int size = snprintf(bytes, sizeof bytes, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                        strlen(texts[script]), texts[script]);
    size_t got = 0;

    if (size >= (int)sizeof bytes || send(server, bytes, (size_t)size, MSG_NOSIGNAL) != size)
        stop("send");
    /* "$40", a line's end, the digest, a line's end */
    while (got < 5 + DIGEST_BYTES + 2) {
        ssize_t more = recv(server, bytes + got, sizeof bytes - 1 - got, 0);
        if (more <= 0)
            stop("recv");
        got += (size_t)more;
        bytes[got] = '\0';
        if (bytes[0] != '$')
            fail("SCRIPT LOAD", bytes);
    }
    call_bytes[script] = (size_t)snprintf(calls[script], sizeof calls[script],
                                          "\r\n$7\r\nEVALSHA\r\n$40\r\n%.40s\r\n$1\r\n3\r\n"
                                          "$3\r\ndue\r\n$6\r\nbodies\r\n$6\r\nleased\r\n",
                                          bytes + 5);
}

void redis_scripts_load(uint16_t port)
{
    int server = connect_to(port);

    for (enum redis_script script = 0; script < REDIS_SCRIPTS; script++)
        load(server, script);
    (void)close(server);
}

size_t redis_script_write(char *to, enum redis_script script, size_t arguments)
{
    to[0] = '*';
    size_t at = 1 + write_number(to + 1, arguments + 6);
    memcpy(to + at, calls[script], call_bytes[script]);
    return at + call_bytes[script];
}
