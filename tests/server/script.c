#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session.h"
#include "shell.h"
#include "sim_disk.h"

enum { TURNS_MAX = 100000, SEGMENT_BITS = 16 };

uint64_t script_commands;

static struct script {
    const uint8_t *next;
    size_t left;
    struct elapse__engine engine;
    struct shell shell;
    struct elapse__connection *clients[SCRIPT_CLIENTS];
    bool rests; /* the last turn left nothing to do, and no call came since */
} s;

static struct elapse__queue_now clock_now;

static struct elapse__queue_now present(void)
{
    return clock_now;
}

static void require(bool holds, const char *promise)
{
    if (holds)
        return;
    fprintf(stderr, "it does not hold: %s\n", promise);
    abort();
}

static void check(void)
{
    unsigned broken = elapse__server_check(s.shell.server);
    if (broken != 0)
        fprintf(stderr, "invariant %u of the core\n", broken);
    require(broken == 0, "the invariants of the core");
    elapse__journal_check(s.engine.journal);
}

static unsigned take_byte(void)
{
    if (s.left == 0)
        return 0;
    s.left--;
    return *s.next++;
}

static bool find_no_zone(void *context, const char *name, const struct elapse_time_zone **zone)
{
    (void)context, (void)name, (void)zone;
    return false;
}

static void begin(void)
{
    const struct elapse__queue_options jobs = {
        .secret = {1, 2}, .seed = 3, .body_bytes_max = 2000, .find_zone = find_no_zone};
    const struct elapse__journal_options journal = {
        .files = &sim_disk_files, .path = "data", .segment_bits = SEGMENT_BITS};
    struct elapse__journal_refusal refusal;

    clock_now = (struct elapse__queue_now){.boot_ms = 5000, .wall_ms = 1700000000000};
    sim_disk_begin(1);
    require(elapse__engine_make_jobs(&s.engine, present, &jobs), "memory");
    require(elapse__engine_open_journal(&s.engine, &journal, &refusal), "the journal opens");
    require(elapse__engine_begin_life(&s.engine) == ELAPSE_OK, "the life begins");
    s.shell.server = elapse__server_new(
        &(struct elapse__server_options){
            .engine = &s.engine,
            .beanstalkd = &elapse__beanstalkd,
            .resp = &elapse__resp,
            .body_bytes_max = 2000,
            .input_bytes_max = 600,
            .output_bytes_max = 2000,
            .idle_ms = 100000,
            .tube_jobs_max = 50,
            .connections_max = SCRIPT_CLIENTS,
        },
        present());
    require(s.shell.server != NULL, "memory");
}

/* ---- steps ---- */

static void shut(struct elapse__connection *connection)
{
    elapse__connection_closed(connection, present());
    for (unsigned i = 0; i < SCRIPT_CLIENTS; i++)
        if (s.clients[i] == connection)
            s.clients[i] = NULL;
}

/* Does what a shell does after each call of the core. Returns whether there is more to do. */
static bool turn(void)
{
    bool more = shell_turn(&s.shell, present());

    check();
    s.rests = !more;
    return more;
}

static uint64_t commands_run(void)
{
    struct elapse__server_statistics figures;
    uint64_t sum = 0;

    elapse__server_statistics(s.shell.server, present(), &figures);
    for (unsigned i = 0; i < ELAPSE__VERBS; i++)
        sum += figures.commands[i];
    return sum;
}

static struct elapse__connection **take_client(void)
{
    return &s.clients[take_byte() % SCRIPT_CLIENTS];
}

static void send_bytes(void)
{
    struct elapse__connection **client = take_client();
    size_t size = take_byte();

    size = size < s.left ? size : s.left;
    if (*client == NULL)
        *client =
            elapse__connection_new(s.shell.server, present(),
                                   &(struct elapse__connection_facts){.may_use_beanstalkd = true});
    if (*client != NULL) {
        size_t room = elapse__connection_room(*client);
        /* Bytes for which there is no room are dropped, as if the client had not sent them. */
        elapse__connection_received(*client, present(), s.next, size < room ? size : room);
    }
    s.next += size;
    s.left -= size;
}

/* If the core does not wait for the news, nothing may follow from them. */
static void hear(struct elapse__connection *connection, size_t most)
{
    const uint8_t *bytes;
    size_t there = elapse__connection_output(connection, &bytes);
    size_t size = there < most ? there : most;
    bool may_be_told_later = s.rests && !elapse__connection_awaits_sent(connection);
    uint64_t ran = commands_run();

    if (size == 0)
        return;
    elapse__connection_sent(connection, present(), size);
    if (!may_be_told_later)
        return;
    require(elapse__connection_output(connection, &bytes) == there - size,
            "nothing leaves because bytes were sent, unless the core waits to hear so");
    require(!elapse__connection_wants_end(connection),
            "no connection ends because bytes were sent, unless the core waits to hear so");
    require(commands_run() == ran,
            "no command runs because bytes were sent, unless the core waits to hear so");
}

static void pass(unsigned power)
{
    uint64_t ms = UINT64_C(1) << (power < 17 ? power : 17);
    clock_now.boot_ms += ms;
    clock_now.wall_ms += (int64_t)ms;
    elapse__journal_tick(s.engine.journal, clock_now.boot_ms);
}

static void step(void)
{
    unsigned first = take_byte();
    unsigned size = first >> 3;
    struct elapse__connection **client;

    switch (first % SCRIPT_STEPS) {
    case SCRIPT_WORK:
        for (unsigned i = 0; i <= size && elapse__journal_work(s.engine.journal); i++)
            s.rests = false;
        break;
    case SCRIPT_PASS:
        pass(size);
        break;
    case SCRIPT_HEAR:
        client = take_client();
        if (*client != NULL)
            hear(*client, size * 32 + 1);
        break;
    case SCRIPT_CLOSE:
        client = take_client();
        if (*client != NULL && size % 2 == 1)
            elapse__connection_received_all(*client, present());
        else if (*client != NULL)
            shut(*client);
        break;
    case SCRIPT_READ:
        while (shell_read_one(&s.shell, present()) && size % 2 == 1)
            ;
        break;
    case SCRIPT_TURN:
        for (unsigned i = 0; i < size; i++)
            (void)turn();
        break;
    default:
        send_bytes();
    }
    (void)turn();
}

/* Makes all records durable, reads all bodies and sends all replies, until nothing is left to do.
 */
static void finish(void)
{
    bool busy = true;

    for (unsigned turns = 0; busy; turns++) {
        require(turns < TURNS_MAX, "the server comes to rest");
        busy = elapse__journal_work(s.engine.journal);
        busy |= turn();
        while (shell_read_one(&s.shell, present()))
            busy = true;
        for (unsigned i = 0; i < SCRIPT_CLIENTS; i++) {
            const uint8_t *bytes;
            if (s.clients[i] == NULL || elapse__connection_output(s.clients[i], &bytes) == 0)
                continue;
            hear(s.clients[i], SIZE_MAX);
            s.rests = false;
            busy = true;
        }
    }
}

void script_run(const uint8_t *bytes, size_t size)
{
    struct elapse__server_statistics figures;

    memset(&s, 0, sizeof s);
    s.next = bytes;
    s.left = size;
    s.shell = (struct shell){.engine = &s.engine, .shut = shut};
    begin();
    while (s.left > 0)
        step();
    finish();
    /* From here on only time or a client can give the server something to do. */
    require(elapse__queue_check(s.engine.jobs) == 0, "the invariants of the queue");
    for (unsigned i = 0; i < SCRIPT_CLIENTS; i++)
        if (s.clients[i] != NULL)
            shut(s.clients[i]);
    finish();
    elapse__server_statistics(s.shell.server, present(), &figures);
    require(figures.connections == 0 && figures.producers == 0 && figures.workers == 0 &&
                figures.waiting == 0,
            "nobody is left");
    elapse__server_stop(s.shell.server);
    require(elapse__server_is_quiet(s.shell.server), "the server is quiet");
    require(elapse__queue_check(s.engine.jobs) == 0, "the invariants of the queue");
    script_commands = 0;
    for (unsigned i = 0; i < ELAPSE__VERBS; i++)
        script_commands += figures.commands[i];
    elapse__server_free(s.shell.server);
    elapse__engine_free(&s.engine);
    sim_disk_end();
}
