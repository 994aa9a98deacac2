/*
 * Simulates a day of a server in some minutes. Clients of both protocols put, take, end, cancel and
 * move jobs. The commands go through the core of the server, the queue and the journal. The disk is
 * in memory, and the clock advances in steps of some milliseconds. During the day there are four
 * waves of load. Between the waves, when every command has its reply, the machine loses its power.
 *
 *      server-day [--minutes N] [--rate N] [--seed SEED]
 *
 * The test fails if
 *
 * - a promise of docs/promises.md to a client is broken: a job comes early or twice, is lost, or
 *   comes back after its end;
 * - a job that could be handed out is not handed out for two and a half minutes;
 * - the files are ever larger than twice the live bytes and five segments;
 * - the last quarter of the day takes more memory, without the disk, than the second one, by more
 *   than a twentieth and 64 KiB;
 * - jobs are left when all of them should have ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session.h"
#include "day_clients.h"
#include "shell.h"
#include "sim_disk.h"

enum {
    SEGMENT_BITS = 19,
    SEGMENT = 1 << SEGMENT_BITS,
    QUARTERS = 4,
    QUIET_MS = 100000, /* the quiet time before the power is lost */
    SILENT_MS = 40000, /* the part of it without puts */
    ROUNDS_MAX = 100000,
    SECOND_MS = 1000,
    MINUTE_MS = 60000,
    MINUTES_MIN = QUARTERS * 3,
};

static struct {
    struct elapse__engine engine;
    struct shell shell;
    uint64_t booted_ms;
    struct day_client clients[DAY_CLIENTS];
    struct elapse__connection *connections[DAY_CLIENTS];
    uint64_t commands;
    uint64_t memory_most[QUARTERS], jobs_most[QUARTERS];
    double space_most; /* the most bytes of the files, as a part of their bound */
} s;

/* ---- memory ---- */

void *__real_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t items, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static uint64_t allocated;

static void *count(void *memory)
{
    allocated += memory == NULL ? 0 : malloc_usable_size(memory);
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return count(__real_malloc(size));
}

/* Does not call the calloc of the C library: musl's calls malloc, which is this file's in a static
 * program, and so the memory would be counted twice. */
void *__wrap_calloc(size_t items, size_t size)
{
    if (size > 0 && items > SIZE_MAX / size)
        return NULL;
    void *memory = __wrap_malloc(items * size);
    if (memory != NULL)
        memset(memory, 0, items * size);
    return memory;
}

void *__wrap_realloc(void *memory, size_t size)
{
    size_t before = memory == NULL ? 0 : malloc_usable_size(memory);
    void *moved = __real_realloc(memory, size);

    if (moved != NULL)
        allocated -= before;
    return count(moved);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return count(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    if (memory != NULL)
        allocated -= malloc_usable_size(memory);
    __real_free(memory);
}

static uint64_t memory_bytes(void)
{
    uint64_t disk = sim_disk_memory();

    return allocated > disk ? allocated - disk : 0;
}

/* ---- the process ---- */

static struct elapse__queue_now present(void)
{
    return (struct elapse__queue_now){
        .boot_ms = day_now_ms - s.booted_ms + 1,
        .wall_ms = INT64_C(1700000000000) + (int64_t)day_now_ms,
    };
}

static bool find_no_zone(void *context, const char *name, const struct elapse_time_zone **zone)
{
    (void)context, (void)name, (void)zone;
    return false;
}

static void open_process(void)
{
    const struct elapse__queue_options jobs = {.secret = {1, 2},
                                               .seed = day_random.state,
                                               .body_bytes_max = 2000,
                                               .find_zone = find_no_zone};
    const struct elapse__journal_options journal = {
        .files = &sim_disk_files, .path = "data", .segment_bits = SEGMENT_BITS};
    struct elapse__journal_refusal refusal;

    if (!elapse__engine_make_jobs(&s.engine, present, &jobs))
        abort();
    if (!elapse__engine_open_journal(&s.engine, &journal, &refusal) ||
        elapse__engine_begin_life(&s.engine) != ELAPSE_OK) {
        day_violate("the journal does not open");
        elapse__engine_free(&s.engine);
        return;
    }
    s.shell.server =
        elapse__server_new(&(struct elapse__server_options){.engine = &s.engine,
                                                            .beanstalkd = &elapse__beanstalkd,
                                                            .resp = &elapse__resp,
                                                            .body_bytes_max = 2000},
                           present());
    if (s.shell.server == NULL)
        abort();
}

static void shut(struct elapse__connection *connection)
{
    unsigned *number = elapse__connection_shell(connection);

    day_violate("the server ends the connection of client %u", *number);
    elapse__connection_closed(connection, present());
    s.connections[*number] = NULL;
}

static void connect(unsigned number)
{
    static unsigned numbers[DAY_CLIENTS];

    numbers[number] = number;
    s.connections[number] = elapse__connection_new(
        s.shell.server, present(), &(struct elapse__connection_facts){.shell = &numbers[number]});
    if (s.connections[number] == NULL)
        abort();
}

static void break_connection(unsigned number)
{
    elapse__connection_closed(s.connections[number], present());
    day_client_reconnect(&s.clients[number]);
    connect(number);
}

/* ---- steps ---- */

static bool say(unsigned number)
{
    char bytes[DAY_COMMAND_BYTES];
    size_t size = day_client_say(&s.clients[number], bytes);

    if (size == 0)
        return false;
    if (elapse__connection_room(s.connections[number]) < size)
        day_violate("client %u cannot say anything", number);
    else
        elapse__connection_received(s.connections[number], present(), bytes, size);
    s.commands++;
    return true;
}

static bool hear(unsigned number)
{
    const uint8_t *bytes;
    size_t size = elapse__connection_output(s.connections[number], &bytes);

    if (size == 0)
        return false;
    size = random_one_in(&day_random, 50) ? 1 + random_index(&day_random, size) : size;
    day_client_hear(&s.clients[number], bytes, size);
    elapse__connection_sent(s.connections[number], present(), size);
    return true;
}

/* Lets the server, the clients and the journal do all that they can do at this moment. */
static void do_all(void)
{
    bool busy = true;

    for (unsigned round = 0; busy && day_violation[0] == '\0'; round++) {
        if (round == ROUNDS_MAX)
            day_violate("the server does not come to rest");
        busy = shell_turn(&s.shell, present());
        for (unsigned i = 0; i < DAY_CLIENTS && day_violation[0] == '\0'; i++)
            busy |= say(i) || hear(i);
        busy |= elapse__journal_work(s.engine.journal);
        busy |= shell_read_one(&s.shell, present());
    }
}

static void check_space(void)
{
    struct elapse__journal_figures figures;

    elapse__journal_figures(s.engine.journal, &figures);
    uint64_t used = figures.log_bytes + figures.spare_bytes;
    uint64_t allowed = 2 * figures.live_bytes + UINT64_C(5) * SEGMENT;
    if (used > allowed)
        day_violate("the files have %" PRIu64 " bytes, %" PRIu64 " of them live", used,
                    figures.live_bytes);
    if ((double)used / (double)allowed > s.space_most)
        s.space_most = (double)used / (double)allowed;
}

static void each_minute(unsigned quarter)
{
    uint64_t memory = memory_bytes();

    day_book_check();
    if (memory > s.memory_most[quarter])
        s.memory_most[quarter] = memory;
    if (day_book_live() > s.jobs_most[quarter])
        s.jobs_most[quarter] = day_book_live();
    if (elapse__server_check(s.shell.server) != 0)
        day_violate("an invariant of the core is broken");
}

/* Sets the clock forward by one step, and does all that there is to do then. */
static void step(unsigned quarter)
{
    uint64_t before = day_now_ms;
    unsigned number = (unsigned)random_below(&day_random, 40000);

    day_now_ms += 1 + random_below(&day_random, DAY_STEP_MS_MAX);
    elapse__journal_tick(s.engine.journal, present().boot_ms);
    if (number < DAY_CLIENTS && s.clients[number].verb == DAY_NONE)
        break_connection(number);
    do_all();
    if (day_now_ms / SECOND_MS != before / SECOND_MS)
        check_space();
    if (day_now_ms / MINUTE_MS != before / MINUTE_MS)
        each_minute(quarter);
}

static void go_on_until(uint64_t end_ms, unsigned quarter)
{
    while (day_now_ms < end_ms && day_violation[0] == '\0')
        step(quarter);
}

/* ---- the day ---- */

/* The machine loses its power and starts again. Requires that every command was answered. */
static void lose_power(void)
{
    uint64_t jobs = elapse__queue_jobs(s.engine.jobs);

    for (unsigned i = 0; i < DAY_CLIENTS; i++) {
        if (s.clients[i].verb != DAY_NONE)
            day_violate("client %u has no reply", i);
        elapse__connection_closed(s.connections[i], present());
        day_client_reconnect(&s.clients[i]);
    }
    do {
    } while (shell_turn(&s.shell, present()) || elapse__journal_work(s.engine.journal));
    shell_give_up_readings(&s.shell, present());
    elapse__server_free(s.shell.server);
    elapse__engine_free(&s.engine);
    s.shell.server = NULL;
    sim_disk_lose_power();
    sim_disk_evict();
    s.booted_ms = day_now_ms;
    open_process();
    if (s.shell.server == NULL)
        return;
    if (elapse__queue_jobs(s.engine.jobs) != jobs)
        day_violate("Q2 of %" PRIu64 " jobs %" PRIu64 " are there after a restart", jobs,
                    elapse__queue_jobs(s.engine.jobs));
    if (elapse__queue_check(s.engine.jobs) != 0)
        day_violate("an invariant of the queue is broken");
    for (unsigned i = 0; i < DAY_CLIENTS; i++)
        connect(i);
}

static void print_quarter(unsigned quarter, uint64_t day_ms)
{
    (void)printf("%4" PRIu64 " min  %8" PRIu64 " put  %8" PRIu64 " handed out  %6" PRIu64
                 " jobs, at most %6" PRIu64 "  memory at most %7" PRIu64 " KiB\n",
                 day_ms * (quarter + 1) / QUARTERS / MINUTE_MS, day_figures.put,
                 day_figures.handed_out, day_book_live(), s.jobs_most[quarter],
                 s.memory_most[quarter] / 1024);
    (void)fflush(stdout);
}

/* Ends the puts, cancels recurring jobs, and goes on until all other jobs have come and ended. */
static void end_day(void)
{
    uint64_t end_ms = day_now_ms + 2 * day_plan.longest_ms + 20 * UINT64_C(60000);

    day_plan.puts = false;
    for (uint32_t i = 0; i < DAY_JOBS; i++) {
        struct day_job *job = day_book_at(i);
        bool is_there = job->state != DAY_FREE && job->state != DAY_ENDED;
        if (!is_there || job->period_ms == 0)
            continue;
        struct elapse__queue_answer answer =
            elapse__queue_cancel_id(s.engine.jobs, present(), job->id);
        if (answer.result == ELAPSE__QUEUE_REMOVED)
            day_ended(job);
        else
            job->is_shadow = true;
    }
    while (day_book_live() > 0 && day_now_ms < end_ms && day_violation[0] == '\0')
        go_on_until(day_now_ms + MINUTE_MS, QUARTERS - 1);
    go_on_until(day_now_ms + MINUTE_MS, QUARTERS - 1);
    if (day_book_live() > 0)
        day_violate("Q2 %" PRIu64 " jobs have not come", day_book_live());
    if (day_violation[0] == '\0' && elapse__queue_jobs(s.engine.jobs) > 0)
        day_violate("Q3 the server has %" PRIu64 " jobs that ended",
                    elapse__queue_jobs(s.engine.jobs));
}

static void live_through(uint64_t day_ms)
{
    for (unsigned quarter = 0; quarter < QUARTERS && day_violation[0] == '\0'; quarter++) {
        uint64_t end_ms = day_ms * (quarter + 1) / QUARTERS;
        day_plan.puts = day_plan.takes = true;
        go_on_until(end_ms - QUIET_MS, quarter);
        day_plan.takes = false;
        go_on_until(end_ms - SILENT_MS, quarter);
        day_plan.puts = false;
        go_on_until(end_ms, quarter);
        print_quarter(quarter, day_ms);
        if (day_violation[0] == '\0')
            lose_power();
    }
    day_plan.takes = true;
    if (day_violation[0] == '\0')
        end_day();
}

static void check_memory(void)
{
    uint64_t before = s.memory_most[1];
    uint64_t after = s.memory_most[QUARTERS - 1];

    if (after > before + before / 20 + 65536)
        day_violate("the memory grows: from %" PRIu64 " bytes to %" PRIu64, before, after);
}

static int say_usage(void)
{
    (void)fprintf(
        stderr,
        "usage: server-day [--minutes N] [--rate N] [--seed N]; a day has %d minutes or more\n",
        MINUTES_MIN);
    return 2;
}

int main(int argc, char **argv)
{
    uint64_t minutes = UINT64_C(24) * 60;
    uint64_t seed = 1;

    day_plan = (struct day_plan){.puts_a_second = 40, .recurring = 200};
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        uint64_t number = i + 1 < argc ? strtoull(argv[i + 1], &end, 10) : 0;
        if (end == NULL || *end != '\0' || number == 0)
            return say_usage();
        if (strcmp(argv[i], "--minutes") == 0)
            minutes = number;
        else if (strcmp(argv[i], "--rate") == 0)
            day_plan.puts_a_second = number;
        else if (strcmp(argv[i], "--seed") == 0)
            seed = number;
        else
            return say_usage();
    }
    /* With fewer minutes, a quarter would be shorter than the quiet time before its end. */
    if (minutes < MINUTES_MIN)
        return say_usage();
    /* With this, each quarter has a whole wave and is longer than any delay. */
    day_plan.longest_ms = minutes * MINUTE_MS / QUARTERS / 6;
    day_random.state = seed;
    sim_disk_begin(seed);
    day_book_begin();
    s.shell = (struct shell){.engine = &s.engine, .shut = shut};
    open_process();
    for (unsigned i = 0; i < DAY_CLIENTS; i++) {
        day_client_begin(&s.clients[i], i);
        connect(i);
    }
    live_through(minutes * MINUTE_MS);
    if (day_violation[0] == '\0')
        check_memory();
    if (s.shell.server != NULL) {
        elapse__server_free(s.shell.server);
        elapse__engine_free(&s.engine);
    }
    sim_disk_end();
    if (day_violation[0] != '\0') {
        (void)printf("--seed %" PRIu64 ", minute %" PRIu64 ": %s\n", seed, day_now_ms / MINUTE_MS,
                     day_violation);
        return 1;
    }
    (void)printf("%" PRIu64 " commands; %" PRIu64 " jobs put, %" PRIu64 " ended (%" PRIu64
                 " cancelled, %" PRIu64 " replaced, %" PRIu64 " expired), %" PRIu64
                 " times buried; the latest came %" PRIu64 " ms late; the files had up to %.0f %% "
                 "of their bound\n",
                 s.commands, day_figures.put, day_figures.ended, day_figures.cancelled,
                 day_figures.replaced, day_figures.expired, day_figures.buried,
                 day_figures.latest_ms, 100 * s.space_most);
    return 0;
}
