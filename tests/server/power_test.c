/*
 * Tests the promises to clients of both protocols on a disk that loses its power. The bytes of the
 * clients go through the core of the server, the queue and the journal. At random moments the
 * process ends by a crash, a loss of power or a failed sync. Then it starts again with what the
 * disk has. No such end may undo what a reply has said. power_clients.h says what the clients note.
 *
 *      server-power [--runs N] [--seed SEED]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session.h"
#include "power_clients.h"
#include "shell.h"
#include "sim_disk.h"

enum {
    CLIENTS = 5,
    SEGMENT_BITS = 14,
    STEPS_MAX = 4000,
    SENT_MAX = 1 << 16,
    REST_MAX = 100000,
    LATEST_MS = 3600 * 1000
};

static const int64_t wall_ms = 1700000000000;

/* A client and its connection. `sent` has the bytes that the server has not received yet. */
struct link {
    struct power_client client;
    struct elapse__connection *connection; /* NULL: there is none */
    char sent[SENT_MAX];
    size_t sent_size;
};

static struct {
    struct elapse__engine engine;
    struct shell shell; /* its server is NULL: the process has ended */
    uint64_t booted_ms;
    uint64_t crashes, power_cuts;
    struct link links[CLIENTS];
    struct elapse__operation operations[ELAPSE__JOURNAL_LANES];
    int steps[ELAPSE__JOURNAL_LANES]; /* 0: none; 1: asked for; 2: performed */
    uint64_t capacity;
} s;

static struct random_source source;

static struct elapse__queue_now present(void)
{
    return (struct elapse__queue_now){.boot_ms = power_now_ms - s.booted_ms + 1,
                                      .wall_ms = wall_ms + (int64_t)power_now_ms};
}

static void require(bool holds, const char *what)
{
    if (!holds && power_violation[0] == '\0')
        (void)snprintf(power_violation, sizeof power_violation, "it does not hold: %s", what);
}

/* ---- the process ---- */

static bool find_no_zone(void *context, const char *name, const struct elapse_time_zone **zone)
{
    (void)context, (void)name, (void)zone;
    return false;
}

static void set_faults(bool crashes)
{
    sim_disk_set_faults(&(struct sim_disk_faults){
        .capacity = s.capacity,
        .short_write_in = 9,
        .failed_sync_in = crashes && random_one_in(&source, 3) ? 60 : 0,
        .crash_after_calls = crashes && random_one_in(&source, 2) ? 1 + sim_disk_random() % 400 : 0,
    });
}

static void open_process(void)
{
    const struct elapse__queue_options jobs = {
        .secret = {1, 2}, .seed = source.state, .body_bytes_max = 2000, .find_zone = find_no_zone};
    const struct elapse__journal_options journal = {
        .files = &sim_disk_files, .path = "data", .segment_bits = SEGMENT_BITS};
    struct elapse__journal_refusal refusal = {.fault = ELAPSE__FAULT_NONE};

    set_faults(false);
    if (!elapse__engine_make_jobs(&s.engine, present, &jobs))
        abort();
    if (!elapse__engine_open_journal(&s.engine, &journal, &refusal) ||
        elapse__engine_begin_life(&s.engine) != ELAPSE_OK) {
        require(false, "the journal opens after a crash");
        elapse__engine_free(&s.engine);
        return;
    }
    s.shell.server = elapse__server_new(
        &(struct elapse__server_options){
            .engine = &s.engine,
            .beanstalkd = &elapse__beanstalkd,
            .resp = &elapse__resp,
            .body_bytes_max = 2000,
            .input_bytes_max = 3000,
            .output_bytes_max = 6000,
        },
        present());
    if (s.shell.server == NULL)
        abort();
    set_faults(true);
}

/* Ends the process. Operations that are under way fail. */
static void kill_process(void)
{
    shell_give_up_readings(&s.shell, present());
    elapse__server_free(s.shell.server);
    s.shell.server = NULL;
    for (int lane = 0; lane < ELAPSE__JOURNAL_LANES; lane++) {
        struct elapse__operation *operation = &s.operations[lane];
        if (s.steps[lane] == 2 && operation->error == 0 &&
            operation->kind == ELAPSE__OPERATION_CREATE)
            sim_disk_files.close(operation->file);
        operation->error = EIO;
        if (s.steps[lane] != 0)
            elapse__journal_completed(s.engine.journal, (enum elapse__journal_lane)lane, operation);
        s.steps[lane] = 0;
    }
    elapse__engine_free(&s.engine);
}

static void lose(struct link *link)
{
    link->connection = NULL;
    link->sent_size = 0;
    power_connect(&link->client, random_one_in(&source, 2));
}

static void crash(void)
{
    bool loses_power = sim_disk_is_dead() || random_below(&source, 3) > 0;

    kill_process();
    for (unsigned i = 0; i < CLIENTS; i++)
        lose(&s.links[i]);
    s.crashes++;
    power_now_ms += random_below(&source, random_one_in(&source, 4) ? 20000 : 300);
    if (loses_power) {
        s.power_cuts++;
        sim_disk_lose_power();
        s.booted_ms = power_now_ms;
    } else {
        sim_disk_end_process();
    }
    if (random_one_in(&source, 3))
        sim_disk_evict();
    open_process();
}

/* Returns whether the process must end: its disk is dead, or its journal has failed. */
static bool has_ended(void)
{
    return sim_disk_is_dead() || elapse__journal_error(s.engine.journal) != 0;
}

/* ---- what the shell does ---- */

static void shut(struct elapse__connection *connection)
{
    struct link *link = elapse__connection_shell(connection);

    elapse__connection_closed(connection, present());
    lose(link);
}

static bool work(enum elapse__journal_lane lane)
{
    struct elapse__operation *operation = &s.operations[lane];

    switch (s.steps[lane]) {
    case 0:
        if (!elapse__journal_next_operation(s.engine.journal, lane, operation))
            return false;
        s.steps[lane] = 1;
        return true;
    case 1:
        elapse__operation_perform(s.engine.journal, operation);
        s.steps[lane] = 2;
        return true;
    default:
        s.steps[lane] = 0;
        elapse__journal_completed(s.engine.journal, lane, operation);
        return true;
    }
}

/* ---- what the clients do ---- */

static void connect(struct link *link)
{
    if (link->connection != NULL)
        return;
    link->connection = elapse__connection_new(
        s.shell.server, present(),
        &(struct elapse__connection_facts){.may_use_beanstalkd = true, .shell = link});
    require(link->connection != NULL, "a client may connect");
}

/* Hands bytes that a client sent to the server, as far as there is room. Returns whether there were
 * any. */
static bool deliver(struct link *link, size_t most)
{
    if (link->connection == NULL)
        return false;
    size_t room = elapse__connection_room(link->connection);
    size_t size = link->sent_size < most ? link->sent_size : most;

    size = size < room ? size : room;
    if (size == 0)
        return false;
    elapse__connection_received(link->connection, present(), link->sent, size);
    link->sent_size -= size;
    memmove(link->sent, link->sent + size, link->sent_size);
    return true;
}

/* Lets the client read. Returns whether there was something to read. */
static bool hear(struct link *link, size_t most)
{
    const uint8_t *bytes;

    if (link->connection == NULL)
        return false;
    size_t size = elapse__connection_output(link->connection, &bytes);
    size = size < most ? size : most;
    if (size == 0)
        return false;
    power_hear(&link->client, bytes, size);
    elapse__connection_sent(link->connection, present(), size);
    return true;
}

static void say(struct link *link)
{
    if (link->sent_size + POWER_COMMAND_BYTES > SENT_MAX)
        return;
    connect(link);
    link->sent_size += power_say(&link->client, &source, link->sent + link->sent_size);
}

static void pass(uint64_t ms)
{
    power_now_ms += ms;
    elapse__journal_tick(s.engine.journal, present().boot_ms);
}

static void rare_step(struct link *link)
{
    switch (random_below(&source, 6)) {
    case 0:
        if (link->connection != NULL && random_one_in(&source, 3))
            elapse__connection_received_all(link->connection, present());
        else if (link->connection != NULL)
            shut(link->connection);
        break;
    case 1:
        set_faults(true);
        break;
    case 2:
        sim_disk_evict();
        break;
    default:
        pass(random_below(&source, random_one_in(&source, 5) ? 9000 : 1500));
    }
}

static void step(unsigned crash_in)
{
    struct link *link = &s.links[random_below(&source, CLIENTS)];
    uint64_t kind = random_below(&source, 100);

    if (has_ended() || random_one_in(&source, crash_in)) {
        crash();
        return;
    }
    if (kind < 20)
        say(link);
    else if (kind < 36)
        (void)deliver(link, random_one_in(&source, 3) ? 1 + random_index(&source, 40) : SENT_MAX);
    else if (kind < 66)
        (void)work(ELAPSE__LANE_COMMIT);
    else if (kind < 74)
        (void)work(ELAPSE__LANE_BACKGROUND);
    else if (kind < 80)
        (void)shell_read_one(&s.shell, present());
    else if (kind < 94)
        (void)hear(link, random_one_in(&source, 3) ? 1 + random_index(&source, 40) : SIZE_MAX);
    else if (kind < 97)
        pass(random_below(&source, 50));
    else
        rare_step(link);
    if (!random_one_in(&source, 4))
        (void)shell_turn(&s.shell, present());
    if (random_one_in(&source, 50))
        require(elapse__server_check(s.shell.server) == 0, "the invariants of the core");
}

/* ---- the end ---- */

/* Makes everything durable, and waits until every command is answered. */
static void rest(void)
{
    bool busy = true;

    for (unsigned i = 0; busy && power_violation[0] == '\0'; i++) {
        require(i < REST_MAX, "the server comes to rest");
        busy = work(ELAPSE__LANE_COMMIT);
        busy |= work(ELAPSE__LANE_BACKGROUND);
        busy |= shell_turn(&s.shell, present());
        busy |= shell_read_one(&s.shell, present());
        for (unsigned j = 0; j < CLIENTS; j++) {
            busy |= deliver(&s.links[j], SENT_MAX);
            busy |= hear(&s.links[j], SIZE_MAX);
        }
    }
}

/* Takes out all jobs. A job that is leased comes when its ttr has passed. */
static void take_all(void)
{
    struct link *link = &s.links[0];
    uint64_t before;

    /* All commands that were sent are answered first, so from here on nobody ends a job. */
    rest();
    for (unsigned i = 0; i < CLIENTS; i++)
        if (s.links[i].connection != NULL)
            shut(s.links[i].connection);
    rest();
    pass(LATEST_MS);
    power_connect(&link->client, true);
    connect(link);
    power_look_for_all();
    do {
        before = power_figures.handed_out;
        link->sent_size += power_say_reserve(&link->client, link->sent + link->sent_size);
        rest();
    } while (power_figures.handed_out > before && power_violation[0] == '\0');
    power_find_missing();
}

static void run(uint64_t seed)
{
    unsigned crash_in;

    source.state = seed;
    sim_disk_begin(random_next(&source));
    power_begin();
    s.booted_ms = 0;
    s.shell = (struct shell){.engine = &s.engine, .shut = shut};
    s.capacity = random_one_in(&source, 4) ? (8 + random_below(&source, 8)) << SEGMENT_BITS : 0;
    uint64_t steps = 200 + random_below(&source, STEPS_MAX);
    crash_in = 50 + (unsigned)random_below(&source, random_one_in(&source, 2) ? 300 : 3000);
    for (unsigned i = 0; i < CLIENTS; i++)
        lose(&s.links[i]);
    open_process();
    for (uint64_t i = 0; i < steps && s.shell.server != NULL && power_violation[0] == '\0'; i++)
        step(crash_in);
    if (s.shell.server != NULL && power_violation[0] == '\0') {
        /* This is the last crash; after it nothing fails. */
        crash();
        set_faults(false);
        if (s.shell.server != NULL)
            take_all();
    }
    if (s.shell.server != NULL)
        kill_process();
    sim_disk_end();
}

int main(int count, char **arguments)
{
    uint64_t seed = 1;
    uint64_t runs = 300;

    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--runs") == 0)
            runs = strtoull(arguments[i + 1], NULL, 10);
        else if (strcmp(arguments[i], "--seed") == 0)
            seed = strtoull(arguments[i + 1], NULL, 10);
    }
    for (uint64_t i = 0; i < runs; i++) {
        run(seed + i);
        if (power_violation[0] != '\0') {
            (void)printf("seed %" PRIu64 ": %s\n", seed + i, power_violation);
            return 1;
        }
    }
    (void)printf("%" PRIu64 " runs, %" PRIu64 " crashes, %" PRIu64 " of them power cuts; %" PRIu64
                 " commands, %" PRIu64 " replies, %" PRIu64 " puts acknowledged, %" PRIu64
                 " jobs handed out, %" PRIu64 " ended, %" PRIu64 " transactions and %" PRIu64
                 " refused: nothing was lost\n",
                 runs, s.crashes, s.power_cuts, power_figures.commands, power_figures.replies,
                 power_figures.acknowledged, power_figures.handed_out, power_figures.ended,
                 power_figures.chained, power_figures.stopped);
    return 0;
}
