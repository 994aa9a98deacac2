/*
 * A load for the server: commands over plain sockets, each connection with so many under way. It
 * prints how many were answered a second and, with one under way, how long one took.
 *
 *     elapse-bench-server-load PORT SERVER VERB CONNECTIONS WINDOW SECONDS [COUNT [FIRST]]
 *
 * SERVER is the manner of speaking: beanstalkd, resp or redis; VERB is one of commands.c. With
 * COUNT it ends after so many commands, the first of which has the number FIRST. It counts the ends
 * of lines in the replies, and stops at the first reply that is a refusal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "client.h"
#include "commands.h"

enum { READ_BYTES = 1 << 20, OUTPUT_BYTES = 1 << 18, SAMPLES_MAX = 1 << 22 };

struct connection {
    int socket;
    uint64_t may_send; /* commands of the window that are not under way */
    unsigned lines;    /* of the reply that is being read */
    bool is_inside;    /* a line whose beginning came before */
    size_t begin, end; /* of the output not sent yet */
    char *output;
    uint64_t sent_ns;
};

static const struct kind *kind;
static uint64_t next_number, last_number;
static char buffer[READ_BYTES];
static uint32_t *samples;
static size_t sample_count;

static void fill(struct connection *connection)
{
    connection->begin = connection->end = 0;
    while (connection->may_send > 0 && next_number <= last_number &&
           connection->end + COMMAND_BYTES_MAX <= OUTPUT_BYTES) {
        connection->end += kind->write(connection->output + connection->end, next_number++);
        connection->may_send--;
    }
}

static void send_more(struct connection *connection)
{
    connection->sent_ns = now_ns();
    for (;;) {
        if (connection->begin == connection->end)
            fill(connection);
        if (connection->begin == connection->end)
            return;
        ssize_t sent = send(connection->socket, connection->output + connection->begin,
                            connection->end - connection->begin, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            stop("send");
        if (sent < 0)
            return;
        connection->begin += (size_t)sent;
    }
}

/* Returns how many bytes came. */
static size_t receive(struct connection *connection, uint64_t *replies)
{
    ssize_t got = recv(connection->socket, buffer, sizeof buffer, 0);

    if (got == 0 || (got < 0 && errno != EAGAIN))
        stop("recv");
    if (got < 0)
        return 0;
    for (char *at = buffer, *end = buffer + got; at < end; at++) {
        if (connection->lines == 0 && !connection->is_inside &&
            strchr(kind->refusals, at[0]) != NULL) {
            fprintf(stderr, "refused: %.*s\n", (int)(end - at < 60 ? end - at : 60), at);
            exit(1);
        }
        at = memchr(at, '\n', (size_t)(end - at));
        connection->is_inside = at == NULL;
        if (at == NULL)
            break;
        if (++connection->lines == kind->lines) {
            connection->lines = 0;
            ++*replies;
        }
    }
    return (size_t)got;
}

static void serve(struct connection *connection, uint64_t *answered, bool timed)
{
    size_t got;

    /* Edge-triggered: until there is nothing more. */
    do {
        uint64_t replies = 0;
        got = receive(connection, &replies);
        if (timed && replies > 0 && sample_count < SAMPLES_MAX)
            samples[sample_count++] = (uint32_t)((now_ns() - connection->sent_ns) / 1000);
        connection->may_send += replies;
        *answered += replies;
    } while (got == sizeof buffer);
    send_more(connection);
}

int main(int argc, char **argv)
{
    if (argc < 7 || (kind = kind_find(argv[2], argv[3])) == NULL) {
        fprintf(stderr, "usage: PORT SERVER VERB CONNECTIONS WINDOW SECONDS [COUNT [FIRST]]\n");
        return 2;
    }
    unsigned count = (unsigned)strtoul(argv[4], NULL, 10);
    uint64_t window = strtoull(argv[5], NULL, 10);
    double seconds = strtod(argv[6], NULL);
    uint64_t commands = argc > 7 ? strtoull(argv[7], NULL, 10) : UINT64_MAX / 2;
    struct connection *connections = calloc(count, sizeof *connections);
    struct epoll_event events[256];
    int poll = epoll_create1(0);

    next_number = argc > 8 ? strtoull(argv[8], NULL, 10) : 1;
    last_number = next_number + commands - 1;
    samples = malloc(SAMPLES_MAX * sizeof *samples);
    for (unsigned i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                    .data.ptr = &connections[i]};
        connections[i] = (struct connection){
            .socket = connect_to((uint16_t)atoi(argv[1])),
            .may_send = window,
            .output = malloc(OUTPUT_BYTES),
        };
        if (connections[i].output == NULL || samples == NULL)
            stop("malloc");
        (void)fcntl(connections[i].socket, F_SETFL, O_NONBLOCK);
        (void)epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].socket, &event);
    }
    uint64_t began_ns = now_ns(), until_ns = began_ns + (uint64_t)(seconds * 1e9), answered = 0;
    while (answered < commands && now_ns() < until_ns) {
        int ready = epoll_wait(poll, events, 256, 1000);
        for (int i = 0; i < ready; i++)
            serve(events[i].data.ptr, &answered, window == 1);
    }
    double took = (double)(now_ns() - began_ns) / 1e9;
    printf("%.0f /s", (double)answered / took);
    print_percentiles(samples, sample_count, "us");
    printf("\n");
    if (commands < UINT64_MAX / 2 && answered < commands) {
        fprintf(stderr, "only %llu of %llu were answered in time\n", (unsigned long long)answered,
                (unsigned long long)commands);
        return 1;
    }
    return 0;
}
