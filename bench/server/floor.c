/*
 * The floor of the server: what any server of durable puts has to do, and nothing else. An epoll
 * loop, a thread that writes and syncs what came in groups, and replies that wait for it. It knows
 * one command, `put` of beanstalkd with bodies of one length, and keeps no job.
 *
 *     elapse-bench-server-floor FILE       prints its port, and serves until it is killed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    GROUP_BYTES = 4 << 20,
    FILE_BYTES = 64 << 20,
    READ_BYTES = 1 << 18,
    RECORD_BYTES = 168, /* what the server needs for the same job */
    CONNECTIONS_MAX = 4096,
    COMMAND_BYTES_MAX = 512,
    OUTPUT_BYTES = 4 << 20,
    PORTION_BYTES = 16 << 10,
};

struct connection {
    int socket;
    size_t kept; /* bytes of an unfinished command */
    char part[COMMAND_BYTES_MAX];
    char *output;
    size_t ready, size; /* bytes of the output that may leave, and all */
    size_t in_flight;   /* bytes that may leave after the group in flight */
    uint32_t watched;   /* what epoll waits for */
    bool is_blocked;    /* the socket takes no more */
    bool has_ended;     /* the other side has gone */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static char *groups[2];
static size_t forming_bytes;
static unsigned forming;
static bool in_flight;
static int file, done, poller;
static struct connection *connections[CONNECTIONS_MAX];
static unsigned connection_count;
static uint64_t last_id;

static void stop(const char *what)
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
        while (forming_bytes == 0 || in_flight)
            (void)pthread_cond_wait(&work, &lock);
        char *group = groups[forming];
        size_t bytes = (forming_bytes + 511) / 512 * 512;
        forming ^= 1U;
        forming_bytes = 0;
        in_flight = true;
        for (unsigned i = 0; i < connection_count; i++)
            connections[i]->in_flight = connections[i]->size;
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

/* Runs all whole commands; returns how many bytes they were. Requires the lock. */
static size_t run(struct connection *connection, const char *bytes, size_t size)
{
    size_t used = 0;

    while (used < size && forming_bytes + RECORD_BYTES <= GROUP_BYTES &&
           connection->size + 32 < OUTPUT_BYTES) {
        const char *end = memchr(bytes + used, '\n', size - used);
        if (end == NULL)
            break;
        size_t body = 0;
        for (const char *at = end - 2; *at >= '0' && *at <= '9'; at--)
            body = at[-1] == ' ' ? strtoul(at, NULL, 10) : body;
        size_t whole = (size_t)(end + 1 - (bytes + used)) + body + 2;
        if (used + whole > size)
            break;
        char *record = groups[forming] + forming_bytes;
        memset(record, 0, RECORD_BYTES);
        memcpy(record, &last_id, sizeof last_id);
        memcpy(record + 48, end + 1, body < RECORD_BYTES - 48 ? body : RECORD_BYTES - 48);
        forming_bytes += RECORD_BYTES;
        char text[24];
        unsigned digits = 0;
        for (uint64_t id = ++last_id; id > 0; id /= 10)
            text[digits++] = (char)('0' + id % 10);
        char *reply = connection->output + connection->size;
        memcpy(reply, "INSERTED ", 9);
        for (unsigned i = 0; i < digits; i++)
            reply[9 + i] = text[digits - 1 - i];
        memcpy(reply + 9 + digits, "\r\n", 2);
        connection->size += 11 + digits;
        used += whole;
    }
    return used;
}

static void send_ready(struct connection *connection)
{
    (void)pthread_mutex_lock(&lock);
    size_t ready = connection->ready;
    (void)pthread_mutex_unlock(&lock);
    connection->is_blocked = false;
    if (ready == 0)
        return;
    ssize_t sent = send(connection->socket, connection->output, ready, MSG_NOSIGNAL);
    connection->is_blocked = sent < (ssize_t)ready;
    if (sent <= 0)
        return;
    (void)pthread_mutex_lock(&lock);
    memmove(connection->output, connection->output + sent, connection->size - (size_t)sent);
    connection->size -= (size_t)sent;
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
        more = run(connection, bytes + used, left < PORTION_BYTES ? left : PORTION_BYTES);
        (void)pthread_mutex_unlock(&lock);
        used += more;
    } while (more > 0 && used < size);
    (void)pthread_mutex_lock(&lock);
    if (forming_bytes > 0 && !in_flight)
        (void)pthread_cond_signal(&work);
    (void)pthread_mutex_unlock(&lock);
    return used;
}

/* Whether there is room for what one reading brings. */
static bool has_room(const struct connection *connection)
{
    (void)pthread_mutex_lock(&lock);
    bool has = forming_bytes + READ_BYTES * 2 <= GROUP_BYTES &&
               connection->size + READ_BYTES <= OUTPUT_BYTES;
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
    connection->output = malloc(OUTPUT_BYTES);
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
    if (forming_bytes > 0)
        (void)pthread_cond_signal(&work);
    (void)pthread_mutex_unlock(&lock);
    for (unsigned j = 0; j < connection_count; j++) {
        send_ready(connections[j]);
        watch(connections[j]);
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct epoll_event events[256];
    poller = epoll_create1(0);
    open_file(argc > 1 ? argv[1] : "floor.tmp");
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
