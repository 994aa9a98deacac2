#include "floor_loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FILE_BYTES = 64 << 20,
    READ_BYTES = 1 << 18,
    CONNECTIONS_MAX = 4096,
    COMMAND_BYTES_MAX = 512,
    PORTION_BYTES = 16 << 10,
};

struct connection {
    struct output output; /* first */
    int socket;
    size_t kept; /* bytes of an unfinished command */
    char part[COMMAND_BYTES_MAX];
    size_t ready;     /* bytes of the output that may leave */
    size_t in_flight; /* bytes that may leave after the group in flight */
    uint32_t watched; /* what epoll waits for */
    bool is_blocked;  /* the socket takes no more */
    bool has_ended;   /* the other side has gone */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static char *groups[2];
static struct forming forming;
static unsigned forming_group;
static run_function *run;
static bool in_flight;
static int file, done, poller;
static struct connection *connections[CONNECTIONS_MAX];
static unsigned connection_count;

void stop(const char *what)
{
    perror(what);
    exit(1);
}

static void *commit(void *argument)
{
    uint64_t one = 1;
    off_t offset = 0;

    (void)argument;
    (void)pthread_mutex_lock(&lock);
    for (;;) {
        while (forming.size == 0 || in_flight)
            (void)pthread_cond_wait(&work, &lock);
        char *group = groups[forming_group];
        size_t bytes = (forming.size + 511) / 512 * 512;
        forming_group ^= 1U;
        forming = (struct forming){.bytes = groups[forming_group]};
        in_flight = true;
        for (unsigned i = 0; i < connection_count; i++)
            connections[i]->in_flight = connections[i]->output.size;
        (void)pthread_mutex_unlock(&lock);
        if (offset + (off_t)bytes > FILE_BYTES)
            offset = 0;
        if (pwrite(file, group, bytes, offset) != (ssize_t)bytes || fdatasync(file) != 0)
            stop("write");
        offset += (off_t)bytes;
        (void)pthread_mutex_lock(&lock);
        for (unsigned i = 0; i < connection_count; i++)
            connections[i]->ready = connections[i]->in_flight;
        in_flight = false;
        if (write(done, &one, sizeof one) < 0)
            stop("eventfd");
    }
    return NULL;
}

static void send_ready(struct connection *connection)
{
    (void)pthread_mutex_lock(&lock);
    size_t ready = connection->ready;
    (void)pthread_mutex_unlock(&lock);
    connection->is_blocked = false;
    if (ready == 0)
        return;
    ssize_t sent = send(connection->socket, connection->output.bytes, ready, MSG_NOSIGNAL);
    connection->is_blocked = sent < (ssize_t)ready;
    if (sent <= 0)
        return;
    (void)pthread_mutex_lock(&lock);
    memmove(connection->output.bytes, connection->output.bytes + sent,
            connection->output.size - (size_t)sent);
    connection->output.size -= (size_t)sent;
    connection->ready -= (size_t)sent;
    connection->in_flight -=
        connection->in_flight > (size_t)sent ? (size_t)sent : connection->in_flight;
    (void)pthread_mutex_unlock(&lock);
}

/* Runs all whole commands, in portions, so that the thread that commits need not wait for all of
 * it. Returns how many bytes they were. */
static size_t run_all(struct connection *connection, const char *bytes, size_t size)
{
    size_t used = 0, more;

    do {
        size_t left = size - used;
        (void)pthread_mutex_lock(&lock);
        more = run(&forming, &connection->output, bytes + used,
                   left < PORTION_BYTES ? left : PORTION_BYTES);
        (void)pthread_mutex_unlock(&lock);
        used += more;
    } while (more > 0 && used < size);
    (void)pthread_mutex_lock(&lock);
    if (forming.size > 0 && !in_flight)
        (void)pthread_cond_signal(&work);
    (void)pthread_mutex_unlock(&lock);
    return used;
}

/* Whether there is room for what one reading brings. */
static bool has_room(const struct connection *connection)
{
    (void)pthread_mutex_lock(&lock);
    bool has = forming.size + READ_BYTES * 2 <= GROUP_BYTES &&
               connection->output.size + READ_BYTES <= OUTPUT_BYTES;
    (void)pthread_mutex_unlock(&lock);
    return has;
}

/* Waits for what can be done: bytes are no news while there is no room for them. */
static void watch(struct connection *connection)
{
    uint32_t wanted = (has_room(connection) ? (uint32_t)EPOLLIN : 0) |
                      (connection->is_blocked ? (uint32_t)EPOLLOUT : 0);

    if (connection->has_ended || wanted == connection->watched)
        return;
    struct epoll_event event = {.events = wanted, .data.ptr = connection};
    if (epoll_ctl(poller, EPOLL_CTL_MOD, connection->socket, &event) != 0)
        stop("epoll_ctl");
    connection->watched = wanted;
}

static void serve(struct connection *connection)
{
    static char buffer[READ_BYTES + COMMAND_BYTES_MAX];

    if (!has_room(connection))
        return;
    memcpy(buffer, connection->part, connection->kept);
    ssize_t got = recv(connection->socket, buffer + connection->kept, READ_BYTES, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        (void)epoll_ctl(poller, EPOLL_CTL_DEL, connection->socket, NULL);
        connection->has_ended = true;
    }
    if (got <= 0)
        return;
    size_t size = connection->kept + (size_t)got;
    size_t used = run_all(connection, buffer, size);
    connection->kept = size - used;
    if (connection->kept > COMMAND_BYTES_MAX)
        stop("a command is too long");
    memcpy(connection->part, buffer + used, connection->kept);
}

static void welcome(int listener)
{
    int on = 1;
    int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    struct connection *connection = calloc(1, sizeof *connection);

    if (socket < 0 || connection == NULL || connection_count == CONNECTIONS_MAX)
        stop("accept");
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->socket = socket;
    connection->watched = EPOLLIN;
    connection->output.bytes = malloc(OUTPUT_BYTES);
    (void)pthread_mutex_lock(&lock);
    connections[connection_count++] = connection;
    (void)pthread_mutex_unlock(&lock);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    (void)epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event);
}

static int listen_at(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, SOMAXCONN) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        stop("listen");
    printf("%u\n", ntohs(address.sin_port));
    (void)fflush(stdout);
    return listener;
}

static void open_file(const char *name)
{
    file = open(name, O_RDWR | O_CREAT, 0600);
    groups[0] = calloc(1, GROUP_BYTES);
    groups[1] = calloc(1, GROUP_BYTES);
    forming.bytes = groups[0];
    if (file < 0 || groups[0] == NULL || groups[1] == NULL)
        stop(name);
    for (off_t offset = 0; offset < FILE_BYTES; offset += GROUP_BYTES)
        if (pwrite(file, groups[0], GROUP_BYTES, offset) != GROUP_BYTES)
            stop(name);
    if (fsync(file) != 0)
        stop(name);
}

static void look_at(struct connection *connection, uint32_t events)
{
    if ((events & EPOLLOUT) != 0)
        send_ready(connection);
    if ((events & ~(uint32_t)EPOLLOUT) != 0)
        serve(connection);
    watch(connection);
}

/* A group is durable: the next one may begin, and replies may leave. */
static void end_group(void)
{
    uint64_t count;

    if (read(done, &count, sizeof count) < 0)
        return;
    (void)pthread_mutex_lock(&lock);
    if (forming.size > 0)
        (void)pthread_cond_signal(&work);
    (void)pthread_mutex_unlock(&lock);
    for (unsigned j = 0; j < connection_count; j++) {
        send_ready(connections[j]);
        watch(connections[j]);
    }
}

void serve_puts(const char *name, run_function *run_commands)
{
    pthread_t thread;
    struct epoll_event events[256];
    poller = epoll_create1(0);
    run = run_commands;
    open_file(name);
    done = eventfd(0, EFD_NONBLOCK);
    int listener = listen_at();
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener};
    (void)epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    event.data.ptr = &done;
    (void)epoll_ctl(poller, EPOLL_CTL_ADD, done, &event);
    (void)pthread_create(&thread, NULL, commit, NULL);
    for (;;) {
        int ready = epoll_wait(poller, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == &listener)
                welcome(listener);
            else if (events[i].data.ptr == &done)
                end_group();
            else
                look_at(events[i].data.ptr, events[i].events);
        }
    }
}
