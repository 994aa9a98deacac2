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

int64_t wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void stop(const char *what)
{
    perror(what);
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

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

void print_percentiles(uint32_t *samples, size_t count, const char *unit)
{
    if (count == 0)
        return;
    qsort(samples, count, sizeof *samples, compare);
    printf(" p50 %u p99 %u p999 %u max %u %s", samples[count / 2], samples[count * 99 / 100],
           samples[count * 999 / 1000], samples[count - 1], unit);
}
