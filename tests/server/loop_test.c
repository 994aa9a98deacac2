/*
 * Tests the loop when many peers (connections) are ready: which peers get a turn, and how much each
 * may do in it. The peers are pairs of sockets, and the queue has no directory. The tests count
 * bytes, and measure no time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "../../src/os/memory_files.h"
#include "../support/test.h"
#include "core/session.h"
#include "loop/ended_log.h"
#include "loop/loop.h"

enum { BODY = 60000, PEERS_MAX = 32, SOCKET_BYTES = 1 << 20 };

static const struct elapse__loop_options loop_options;
static struct elapse__loop loop;

struct client {
    int socket;
    size_t heard;
};

static struct client clients[PEERS_MAX];

static struct elapse__os counting;
static atomic_uint
    readings_of_the_clock; /* of the boot-time clock, which each talk with the core reads */

static atomic_uint_least64_t clock_ahead_ns;

static uint64_t count_readings(enum elapse__os_clock clock)
{
    readings_of_the_clock += clock == ELAPSE__OS_BOOTTIME;
    return elapse__os_linux.clock_ns(clock) +
           (clock == ELAPSE__OS_BOOTTIME ? atomic_load(&clock_ahead_ns) : 0);
}

/* `argument` is the time after which idle connections end, in milliseconds; NULL: they do not. */
static void make_server(struct elapse__loop *of, void *argument)
{
    const uint32_t *idle_ms = argument;
    const struct elapse__server_options options = {.engine = &of->store->engine,
                                                   .resp = &elapse__resp,
                                                   .idle_ms = idle_ms == NULL ? 0 : *idle_ms};

    of->server = elapse__server_new(&options, elapse__store_now());
}

static void free_server(struct elapse__loop *of, void *argument)
{
    (void)argument;
    elapse__server_free(of->server);
}

static int set_up(void **state)
{
    const struct elapse__store_wishes wishes = {.turns_itself = true};
    struct elapse_queue_options queue;

    (void)state;
    counting = elapse__os_linux;
    counting.clock_ns = count_readings;
    elapse__os = &counting;
    elapse_queue_options_init(&queue);
    queue.durability = ELAPSE_DURABILITY_MEMORY;
    queue.segment_bytes = 1 << 20;
    memset(&loop, 0, sizeof loop);
    loop.options = &loop_options;
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        elapse__ring_init(&loop.peers.rings[i]);
    loop.peers.base = event_base_new();
    assert_int_equal(elapse__store_open(NULL, &queue, &wishes, &loop.store, NULL), ELAPSE_OK);
    elapse__loop_with_core(&loop, make_server, NULL);
    loop.body_thread = elapse__body_thread_start();
    assert_non_null(loop.body_thread);
    loop.reader = elapse__body_reader_open(loop.body_thread, loop.store->engine.journal);
    assert_int_equal(elapse__os->alarm_open(&loop.alarm, ELAPSE__OS_BOOTTIME), 0);
    assert_true(loop.reader != NULL && elapse__loop_open(&loop));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    elapse__body_reader_close(loop.reader);
    elapse__body_thread_stop(loop.body_thread);
    elapse__loop_close(&loop);
    elapse__loop_with_core(&loop, free_server, NULL);
    elapse__os->alarm_close(&loop.alarm);
    assert_int_equal(elapse_queue_close(loop.store), ELAPSE_OK);
    elapse__os = &elapse__os_linux;
    event_base_free(loop.peers.base);
    for (int i = 0; i < PEERS_MAX; i++)
        if (clients[i].socket > 0)
            (void)close(clients[i].socket);
    memset(clients, 0, sizeof clients);
    return 0;
}

#define LOOP_TEST(function) TEST_WITH(function, set_up, tear_down)

static void connect_all(int count)
{
    for (int i = 0; i < count; i++) {
        const int bytes = SOCKET_BYTES;
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
        struct elapse__peer *peer = elapse__peer_new(&loop.peers, pair[0], true, NULL);
        assert_non_null(peer);
        elapse__loop_welcome(&loop, peer);
        clients[i].socket = pair[1];
    }
}

static void say(struct client *client, const char *bytes, size_t size)
{
    assert_int_equal(send(client->socket, bytes, size, 0), size);
}

static void say_often(struct client *client, const char *command, size_t times)
{
    size_t size = strlen(command);
    char *bytes = malloc(size * times);

    assert_non_null(bytes);
    for (size_t i = 0; i < times; i++)
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no string */
        memcpy(bytes + i * size, command, size);
    say(client, bytes, size * times);
    free(bytes);
}

/* Takes all bytes that have come for a client. Returns how many. */
static size_t hear(struct client *client)
{
    static char bytes[SOCKET_BYTES];
    size_t sum = 0;
    ssize_t got;

    while ((got = recv(client->socket, bytes, sizeof bytes, 0)) > 0)
        sum += (size_t)got;
    assert_int_equal(errno, EAGAIN);
    client->heard += sum;
    return sum;
}

/* Lets the loop see which sockets are ready. */
static void see(void)
{
    (void)event_base_loop(loop.peers.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static void put_large(struct client *client)
{
    static char body[BODY];

    memset(body, 'x', BODY);
    say_often(client, "*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$60000\r\n", 1);
    say(client, body, BODY);
    say_often(client, "\r\n", 1);
    while (hear(client) == 0) {
        see();
        (void)elapse__loop_turn(&loop);
    }
    client->heard = 0;
}

static const char ping[] = "*1\r\n$4\r\nPING\r\n";
static const char look[] = "*2\r\n$8\r\nLOOKUPID\r\n$1\r\n1\r\n";

LOOP_TEST(a_client_with_one_command_is_served_in_its_turn_while_others_send_thousands)
{
    enum { COMMANDS = 2000 };

    connect_all(PEERS_MAX);
    for (int i = 0; i < PEERS_MAX - 1; i++)
        say_often(&clients[i], ping, COMMANDS);
    say_often(&clients[PEERS_MAX - 1], ping, 1);
    see();
    assert_true(elapse__loop_turn(&loop));
    assert_int_equal(hear(&clients[PEERS_MAX - 1]), strlen("+PONG\r\n"));
    /* The loop has read all other peers, too, and they get their replies in the end. */
    while (elapse__loop_turn(&loop))
        see();
    for (int i = 0; i < PEERS_MAX - 1; i++)
        assert_int_equal(hear(&clients[i]), COMMANDS * strlen("+PONG\r\n"));
}

LOOP_TEST(a_turn_sends_so_many_bytes_and_all_peers_in_turn)
{
    enum { COUNT = 12, LOOKS = 40, MOST = ELAPSE__SEND_BYTES + ELAPSE__PEER_SEND_BYTES };
    bool more;

    connect_all(COUNT);
    put_large(&clients[0]);
    for (int i = 0; i < COUNT; i++)
        say_often(&clients[i], look, LOOKS);
    do {
        size_t sum = 0, least = SIZE_MAX, most = 0;
        see();
        more = elapse__loop_turn(&loop);
        for (int i = 0; i < COUNT; i++) {
            sum += hear(&clients[i]);
            least = clients[i].heard < least ? clients[i].heard : least;
            most = clients[i].heard > most ? clients[i].heard : most;
        }
        assert_true(sum <= MOST);
        assert_true(most - least <= 2 * (size_t)ELAPSE__PEER_SEND_BYTES);
    } while (more);
    for (int i = 0; i < COUNT; i++)
        assert_true(clients[i].heard > (size_t)LOOKS * BODY);
}

LOOP_TEST(a_turn_that_sends_a_reply_talks_to_the_core_once)
{
    connect_all(1);
    for (int i = 0; i < 3; i++) {
        say_often(&clients[0], ping, 1);
        see();
        readings_of_the_clock = 0;
        assert_false(elapse__loop_turn(&loop));
        assert_int_equal(readings_of_the_clock, 1);
        assert_int_equal(hear(&clients[0]), strlen("+PONG\r\n"));
    }
}

/* Puts a job that is due in a moment by the boot-time clock or the wall clock, for a client that
 * waits, and does turns until the client has the job. */
static void wait_for_a_due_job(bool by_wall)
{
    struct elapse__queue_now now = elapse__store_now();
    char put[100], moment[24];
    bool more = true;

    (void)snprintf(moment, sizeof moment, "%" PRId64, now.wall_ms + 20);
    (void)snprintf(put, sizeof put,
                   "*5\r\n$3\r\nPUT\r\n$1\r\nt\r\n$1\r\nb\r\n$2\r\n%s\r\n$%zu\r\n%s\r\n",
                   by_wall ? "AT" : "IN", by_wall ? strlen(moment) : 4, by_wall ? moment : "20ms");
    say_often(&clients[0], "*4\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n$4\r\nWAIT\r\n$2\r\n1h\r\n", 1);
    say_often(&clients[1], put, 1);
    while (hear(&clients[0]) == 0) {
        (void)event_base_loop(loop.peers.base, EVLOOP_ONCE | (more ? EVLOOP_NONBLOCK : 0));
        more = elapse__loop_turn(&loop);
    }
}

LOOP_TEST(the_loop_itself_waits_for_due_times)
{
    assert_false(loop.store->has_clock_thread);
    connect_all(2);
    for (int i = 0; i < 4; i++)
        wait_for_a_due_job(i % 2 == 1);
}

LOOP_TEST(a_client_that_quits_is_closed_behind_its_last_reply)
{
    char byte;

    connect_all(1);
    say_often(&clients[0], ping, 1);
    say_often(&clients[0], "*1\r\n$4\r\nQUIT\r\n", 1);
    do
        see();
    while (elapse__loop_turn(&loop));
    assert_int_equal(recv(clients[0].socket, &byte, 1, 0), 1);
    while (recv(clients[0].socket, &byte, 1, 0) > 0)
        ;
    assert_int_equal(recv(clients[0].socket, &byte, 1, 0), 0); /* the end, and not EAGAIN */
}

/* The socket of the client is full, and more bytes wait for it. */
LOOP_TEST(an_idle_client_that_does_not_read_is_closed)
{
    enum { LOOKS = 200 };
    uint32_t idle_ms = 3600000;
    char byte;

    elapse__loop_with_core(&loop, free_server, NULL);
    elapse__loop_with_core(&loop, make_server, &idle_ms);
    connect_all(2);
    put_large(&clients[0]);
    say_often(&clients[1], look, LOOKS);
    do
        see();
    while (elapse__loop_turn(&loop));
    for (int i = 0; i < 2; i++) {
        atomic_fetch_add(&clock_ahead_ns, idle_ms * UINT64_C(1000000));
        while (elapse__loop_turn(&loop))
            ;
    }
    assert_true(elapse__ring_empty(&loop.peers.rings[ELAPSE__PEER_ALL]));
    while (recv(clients[1].socket, &byte, 1, 0) > 0)
        clients[1].heard++;
    assert_int_equal(recv(clients[1].socket, &byte, 1, 0), 0); /* the end, and not EAGAIN */
    assert_in_range(clients[1].heard, BODY, (LOOKS - 1) * BODY);
}

/* Logs the event `count` times. Returns what the logger wrote to standard error, until the next
 * call.
 */
static const char *logged(struct elapse__logger *logger, enum elapse__logger_level level,
                          unsigned count)
{
    static char text[256 << 10];
    FILE *file = tmpfile();
    int errors = dup(STDERR_FILENO);

    assert_true(file != NULL && errors >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    for (unsigned i = 0; i < count; i++)
        elapse__logger(logger, level, ELAPSE__EVENT_CLUSTER, "marking");
    assert_true(dup2(errors, STDERR_FILENO) >= 0 && close(errors) == 0);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static unsigned count_lines(const char *text)
{
    unsigned lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

/* The line that says why a partition cannot go on comes after many warnings of the same kind. */
LOOP_TEST(warnings_use_up_no_line_of_an_error)
{
    struct elapse__logger logger = {.most = ELAPSE__LOGGER_NOTICE};

    (void)logged(&logger, ELAPSE__LOGGER_WARNING, 2 * ELAPSE__LOGGER_A_MINUTE);
    assert_non_null(strstr(logged(&logger, ELAPSE__LOGGER_ERROR, 1), "error cluster: marking"));
}

/* Each partition that a node takes over has some lines. */
LOOP_TEST(notices_of_a_cluster_have_more_lines_than_warnings)
{
    struct elapse__logger logger = {.most = ELAPSE__LOGGER_NOTICE};
    unsigned lines =
        count_lines(logged(&logger, ELAPSE__LOGGER_NOTICE, 3 * ELAPSE__LOGGER_CLUSTER_A_MINUTE));

    /* Another minute may begin meanwhile; then a line says how many events had none. */
    assert_in_range(lines, ELAPSE__LOGGER_CLUSTER_A_MINUTE,
                    2 * ELAPSE__LOGGER_CLUSTER_A_MINUTE + 1);
    lines = count_lines(logged(&logger, ELAPSE__LOGGER_WARNING, 3 * ELAPSE__LOGGER_A_MINUTE));
    assert_in_range(lines, ELAPSE__LOGGER_A_MINUTE, 2 * ELAPSE__LOGGER_A_MINUTE + 1);
}

/* ---- readers ---- */

enum { SLOW_FILE = 1 << 20 };

static struct elapse__files slow_files;
static int slow_pipe[2];

/* A disk that answers for one file when the test says so, with an error. */
static int read_slowly(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    char byte;

    if (file != SLOW_FILE)
        return elapse__files_in_memory.read_at(file, offset, bytes, count, done);
    while (read(slow_pipe[0], &byte, 1) != 1)
        ;
    return EIO;
}

/* One thread reads for all partitions of a node. */
LOOP_TEST(a_reader_that_closes_does_not_wait_for_readings_of_others)
{
    const struct elapse__store_wishes wishes = {.files = &slow_files, .turns_itself = true};
    struct elapse_queue_options queue;
    struct elapse_queue *slow;
    struct elapse__server_reading readings[2] = {{.reading.file = SLOW_FILE},
                                                 {.reading.file = SLOW_FILE}};
    struct elapse__body_reader *other;

    slow_files = elapse__files_in_memory;
    slow_files.read_at = read_slowly;
    assert_int_equal(pipe(slow_pipe), 0);
    elapse_queue_options_init(&queue);
    queue.durability = ELAPSE_DURABILITY_MEMORY;
    queue.segment_bytes = 1 << 20;
    assert_int_equal(elapse__store_open("slow", &queue, &wishes, &slow, NULL), ELAPSE_OK);
    other = elapse__body_reader_open(loop.body_thread, slow->engine.journal);
    assert_non_null(other);
    assert_true(elapse__body_reader_give(other, &readings[0]));
    assert_true(elapse__body_reader_give(loop.reader, &readings[1]));
    elapse__body_reader_withdraw(loop.reader);
    assert_ptr_equal(elapse__body_reader_take(loop.reader), &readings[1]);
    assert_int_equal(elapse__body_reader_count(loop.reader), 0);
    assert_true(elapse__body_reader_give(loop.reader, &readings[1]));
    elapse__body_reader_close(loop.reader); /* returns before the disk has answered */
    loop.reader = elapse__body_reader_open(loop.body_thread, loop.store->engine.journal);
    assert_int_equal(write(slow_pipe[1], "12", 2), 2);
    elapse__body_reader_close(other);
    assert_int_equal(elapse_queue_close(slow), ELAPSE_OK);
    assert_int_equal(close(slow_pipe[0]) + close(slow_pipe[1]), 0);
}

/* ---- jobs that have ended ---- */

static void open_source(struct elapse__loop *of, void *argument)
{
    of->ended = elapse__ended_source_open(argument, of->store);
}

static void collect_ended(struct elapse__loop *of, void *argument)
{
    (void)argument;
    elapse__ended_source_collect(of->ended);
}

/* The jobs that wait to be written keep segments of the journal. */
LOOP_TEST(a_file_that_takes_no_line_for_long_is_not_waited_for)
{
    enum { JOBS = 200 };
    char folder[] = "/tmp/loop-ended-XXXXXX", path[64];
    const struct elapse_put put = {.tube = "t", .delay_ms = 3600000};
    struct elapse__ended_figures figures = {.dropped = 0};
    struct elapse_answer answer;
    int error;

    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0 && fcntl(reader, F_SETPIPE_SZ, 4096) >= 0);
    struct elapse__ended_log *log = elapse__ended_log_open(path, 0, &error);
    assert_non_null(log);
    elapse__loop_with_core(&loop, open_source, log);
    assert_non_null(loop.ended);
    for (unsigned i = 0; i < JOBS; i++) {
        assert_int_equal(elapse_queue_put(loop.store, &put, &answer), ELAPSE_OK);
        assert_int_equal(elapse_queue_cancel_id(loop.store, answer.id, NULL), ELAPSE_OK);
    }
    elapse__loop_with_core(&loop, collect_ended, NULL);
    /* The thread takes some of them, which are more than the pipe does. */
    while (figures.dropped == 0) {
        elapse__ended_source_pass(loop.ended);
        elapse__ended_log_figures(log, &figures);
        atomic_fetch_add(&clock_ahead_ns, UINT64_C(11000000000));
        (void)sched_yield();
    }
    assert_true(figures.dropped < JOBS);
    assert_int_equal(close(reader), 0); /* the write fails */
    elapse__ended_source_close(loop.ended, true);
    loop.ended = NULL;
    elapse__ended_log_figures(log, &figures);
    assert_int_equal(figures.dropped, JOBS);
    elapse__ended_log_close(log);
    assert_int_equal(unlink(path) + rmdir(folder), 0);
}

TEST_MAIN("loop")
