/*
 * Hands out and acknowledges a backlog, and prints how many jobs a second were acknowledged.
 *
 *     elapse-bench-server-drain PORT drain --count N [--speech S] [--window W] [--batch B]
 *
 * The speech resp reserves a batch, and sends its ACK together with the next RESERVE; WINDOW /
 * BATCH such pairs are under way. beanstalkd's client asks for the next job with each delete, and
 * has WINDOW under way. redis takes a batch by a script that deletes what it gives, before the work
 * is done; redis-lease moves it to another set, and acknowledges it by a second script.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "client.h"
#include "commands.h"
#include "redis_scripts.h"
#include "stream.h"

enum { BATCH_MAX = 1000, NAME_BYTES = 24, LEASE_BYTES = 48 };

static struct arguments arguments;
static uint64_t wanted, asked, handed, acknowledged, until_ns;

/* Where a server answers that there is nothing, a job that is missing would be asked for for ever.
 */
static void look_at_clock(void)
{
    if (now_ns() > until_ns)
        fail("drain", "jobs are missing");
}

/* ---- beanstalkd ---- */

static void drain_lines(void)
{
    while (asked < arguments.window && asked < wanted) {
        APPEND("reserve\r\n");
        asked++;
    }
    while (acknowledged < wanted) {
        const char *line = take_line();
        if (strncmp(line, "DELETED", 7) == 0) {
            acknowledged++;
            continue;
        }
        if (strncmp(line, "RESERVED ", 9) != 0)
            fail("reserve", line);
        char *next;
        uint64_t id = strtoull(line + 9, &next, 10);
        (void)take_bytes(strtoull(next, NULL, 10) + 2);
        char number[24];
        size_t digits = write_number(number, id);
        APPEND("delete ");
        append(number, digits);
        APPEND("\r\n");
        handed++;
        if (asked < wanted) {
            APPEND("reserve\r\n");
            asked++;
        }
    }
}

/* ---- RESP ---- */

static void append_number(uint64_t number)
{
    char text[24];
    append_string(text, write_number(text, number));
}

static void ask_batch(void)
{
    if (handed + asked >= wanted)
        return;
    look_at_clock();
    APPEND("*4\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n$5\r\nCOUNT\r\n");
    append_number(arguments.batch);
    asked += arguments.batch;
}

/* Takes the jobs of one RESERVE, and sends their ACK. */
static void take_jobs(uint64_t jobs)
{
    static char ids[BATCH_MAX][NAME_BYTES], leases[BATCH_MAX][LEASE_BYTES];

    if (jobs > arguments.batch)
        fail("RESERVE", "more jobs than asked for");
    for (uint64_t i = 0; i < jobs; i++) {
        if (take_number('*') != 8)
            fail("RESERVE", "a job of another shape");
        ids[i][write_number(ids[i], take_number(':'))] = '\0';
        (void)take_string(leases[i], sizeof leases[i]);
        (void)take_string(NULL, 0); /* tube, key, body */
        (void)take_string(NULL, 0);
        (void)take_string(NULL, 0);
        (void)take_number(':'); /* due, attempt, missed */
        (void)take_number(':');
        (void)take_number(':');
    }
    append_head(1 + 2 * jobs);
    APPEND("$3\r\nACK\r\n");
    for (uint64_t i = 0; i < jobs; i++) {
        append_string(ids[i], strlen(ids[i]));
        append_string(leases[i], strlen(leases[i]));
    }
    handed += jobs;
}

static void take_acknowledgements(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const char *line = take_line();
        if (line[0] != '+' || line[1] != 'o')
            fail("ACK", line);
    }
    acknowledged += count;
}

static void drain_batches(void)
{
    for (uint64_t i = 0; i == 0 || i < arguments.window / arguments.batch; i++)
        ask_batch();
    while (acknowledged < wanted) {
        uint64_t count = take_number('*');
        if (count > 0 && peek() == '+') {
            take_acknowledgements(count);
            continue;
        }
        /* There may be fewer jobs than were asked for, and none. */
        asked -= arguments.batch;
        if (count > 0)
            take_jobs(count);
        ask_batch();
    }
}

/* ---- Redis ---- */

static bool with_leases;

static void append_call(enum redis_script script, size_t count)
{
    char call[REDIS_CALL_BYTES_MAX];
    append(call, redis_script_write(call, script, count));
}

static void ask_script(void)
{
    if (handed + asked >= wanted)
        return;
    look_at_clock();
    append_call(with_leases ? REDIS_LEASE : REDIS_TAKE, with_leases ? 3 : 2);
    append_number((uint64_t)wall_ms());
    append_number(arguments.batch);
    if (with_leases)
        append_number((uint64_t)wall_ms() + 60000);
    asked += arguments.batch;
}

/* Two arrays: names and bodies. */
static void take_leased(void)
{
    char name[NAME_BYTES];
    uint64_t jobs = take_number('*');

    append_call(REDIS_ACK, jobs);
    for (uint64_t i = 0; i < jobs; i++)
        append_string(name, take_string(name, sizeof name));
    if (take_number('*') != jobs)
        fail("the script", "names and bodies differ in number");
    for (uint64_t i = 0; i < jobs; i++)
        if (take_string(NULL, 0) != BODY_BYTES)
            fail("the script", "another body");
    handed += jobs;
}

static void take_deleted(uint64_t jobs)
{
    for (uint64_t i = 0; i < jobs; i++)
        if (take_string(NULL, 0) != BODY_BYTES)
            fail("the script", "another body");
    handed += jobs;
    acknowledged += jobs;
}

static void drain_scripts(void)
{
    with_leases = strcmp(arguments.speech, "redis-lease") == 0;
    redis_scripts_load(arguments_port(&arguments));
    for (uint64_t i = 0; i == 0 || i < arguments.window / arguments.batch; i++)
        ask_script();
    while (acknowledged < wanted) {
        if (peek() == ':') {
            acknowledged += take_number(':');
            continue;
        }
        uint64_t count = take_number('*');
        asked -= arguments.batch;
        if (with_leases && count > 0)
            take_leased();
        else
            take_deleted(count);
        ask_script();
    }
}

int main(int argc, char **argv)
{
    arguments = arguments_read(argc, argv);
    wanted = arguments.count;
    if (strcmp(arguments.verb, "drain") != 0 || wanted == 0)
        fail(arguments.verb, "only drain, with --count");
    if (arguments.batch > BATCH_MAX)
        fail("--batch", "1000 at most");
    stream_open(arguments_port(&arguments));
    uint64_t began_ns = now_ns();
    until_ns = began_ns + (uint64_t)(arguments.seconds * 1e9);
    if (strcmp(arguments.speech, "beanstalkd") == 0)
        drain_lines();
    else if (strcmp(arguments.speech, "resp") == 0)
        drain_batches();
    else
        drain_scripts();
    double seconds = (double)(now_ns() - began_ns) / 1e9;
    figures_begin();
    figures_number("rate", (double)acknowledged / seconds);
    figures_number("count", (double)acknowledged);
    figures_number("missing", (double)wanted - (double)acknowledged);
    figures_end();
    return acknowledged == wanted ? 0 : 1;
}
