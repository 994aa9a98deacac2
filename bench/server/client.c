#include "client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int64_t wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t wall_ms(void)
{
    return wall_ns() / 1000000;
}

void stop(const char *what)
{
    perror(what);
    exit(1);
}

void fail(const char *what, const char *text)
{
    int length = 0;

    while (length < 80 && text[length] >= ' ')
        length++;
    fprintf(stderr, "%s: %.*s\n", what, length, text);
    exit(1);
}

int connect_to(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int on = 1;
    int connected = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connected < 0 || connect(connected, (struct sockaddr *)&address, sizeof address) != 0)
        stop("connect");
    (void)setsockopt(connected, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connected;
}

/* The mixing function of SplitMix64, which is in the public domain. */
uint64_t mix(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

uint64_t *shuffled(uint64_t first, uint64_t count, uint64_t seed)
{
    uint64_t *numbers = malloc((count > 0 ? count : 1) * sizeof *numbers);

    if (numbers == NULL)
        stop("malloc");
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = first + i;
    for (uint64_t i = count; i > 1; i--) {
        uint64_t other = mix(seed + i) % i, kept = numbers[other];
        numbers[other] = numbers[i - 1];
        numbers[i - 1] = kept;
    }
    return numbers;
}
