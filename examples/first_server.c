/*
 * A first server: it sends back what it receives, and closes connections that are silent for a
 * while. One thread, epoll and a wheel. docs/guide/first_server.md explains it step by step.
 *
 *     first_server PORT IDLE_SECONDS
 */
#include <elapse/wheel.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct connection {
    struct elapse_timer idle; /* first: a cast finds the connection */
    int socket;
};

static struct elapse_wheel wheel; /* a tick is a millisecond */
static uint64_t idle_ms;

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Starts the time-out, or postpones it. now_ms rounds down: without the 1 it could be early. */
static void postpone(struct connection *connection)
{
    elapse_wheel_start(&wheel, &connection->idle, now_ms() + idle_ms + 1);
}

static void finish(struct connection *connection)
{
    elapse_wheel_stop(&wheel, &connection->idle); /* before its memory is freed */
    close(connection->socket);
    free(connection);
}

static void open_connection(int epoll, int listener)
{
    struct connection *connection = calloc(1, sizeof *connection); /* zero: an idle timer */
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    int socket = accept(listener, NULL, NULL);

    if (socket < 0 || connection == NULL || epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
        close(socket);
        free(connection);
        return;
    }
    connection->socket = socket;
    postpone(connection);
}

static void handle_input(struct connection *connection)
{
    char bytes[4096];
    ssize_t length = recv(connection->socket, bytes, sizeof bytes, MSG_DONTWAIT);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length > 0 &&
        send(connection->socket, bytes, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) == length)
        postpone(connection);
    else
        finish(connection);
}

static int sleep_ms(void)
{
    uint64_t next = elapse_wheel_next(&wheel), now = now_ms();

    if (next == ELAPSE_NEVER)
        return -1; /* there is no connection: sleep until one comes */
    if (next <= now)
        return 0;
    return next - now < INT_MAX ? (int)(next - now) : INT_MAX;
}

int main(int count, char **arguments)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event listens = {.events = EPOLLIN}, events[64];
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0),
        on = 1;
    int port = count == 3 ? atoi(arguments[1]) : -1, idle_s = count == 3 ? atoi(arguments[2]) : 0;

    if (port < 0 || port > UINT16_MAX || idle_s <= 0) {
        fputs("usage: first_server PORT IDLE_SECONDS\n", stderr);
        return 2;
    }
    address.sin_port = htons((uint16_t)port);
    idle_ms = (uint64_t)idle_s * 1000;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, bytes) != 0 ||
        listen(listener, SOMAXCONN) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &bytes) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &listens) != 0 ||
        elapse_wheel_init(&wheel, now_ms()) != ELAPSE_OK) {
        perror("first_server");
        return 1;
    }
    printf("listening on 127.0.0.1 port %u\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int ready = epoll_wait(epoll, events, 64, sleep_ms());
        uint64_t now = now_ms(); /* what comes from here on is for the next turn */

        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == NULL)
                open_connection(epoll, listener);
            else
                handle_input(events[i].data.ptr);
        }
        elapse_wheel_advance(&wheel, now);
        for (struct elapse_timer *timer; (timer = elapse_wheel_pop(&wheel)) != NULL;)
            finish((struct connection *)timer);
    }
}
