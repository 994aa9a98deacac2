/*
 * The loads that are streams of commands: the same ones for each way of speaking, by commands.c.
 *
 *     elapse-bench-server-load PORT VERB [--speech resp|beanstalkd|redis|redis-lease] [--OPTION
 * ...]
 *
 * put, put-key, put-now, put-at: jobs due in half an hour, with keys, ready, and due within
 *     --spread-ms from --at-ms on; for --seconds, or --count of them
 * delete, cancel, reschedule: the --count jobs from --first on, deleted in the order of their
 *     putting, or cancelled and moved by key in random order
 * story: --count jobs with keys are put, then --share of a hundred are cancelled in random order
 * heartbeat: --count jobs with keys are put; then random ones are moved to 60 s from then
 * churn: --live jobs with keys are put; then --rate times a second a random one is cancelled, and
 *     another one put
 *
 * beanstalkd has no keys: its client remembers the number of each job, which counts from 1 in a new
 * server with this one client. Where others move a job, it deletes it and puts another.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "commands.h"
#include "phase.h"
#include "redis_scripts.h"

static struct arguments arguments;
static bool has_keys;
static uint64_t *order;   /* of the jobs of a phase */
static uint64_t *job_ids; /* by place, where there are no keys */
static uint64_t last_id;

/* ---- which job a command is about ---- */

static uint64_t in_order(uint64_t step, unsigned command)
{
    (void)command;
    return arguments.first + step;
}

static uint64_t at_random(uint64_t step, unsigned command)
{
    (void)command;
    return order[step];
}

static uint64_t random_place(uint64_t step, uint64_t places)
{
    return mix(arguments.seed * UINT64_C(1000003) + step) % places;
}

/* A random one of `live`, deleted and then put anew; with no keys, the new one has the next id. */
static uint64_t renewed(uint64_t step, unsigned command)
{
    uint64_t place = random_place(step, arguments.live);

    if (has_keys)
        return arguments.first + place;
    uint64_t id = job_ids[place];
    if (command == 1)
        job_ids[place] = ++last_id;
    return id;
}

/* ---- phases ---- */

static const struct kind *find(const char *verb)
{
    const struct kind *kind = kind_find(arguments.speech, verb);
    if (kind == NULL)
        fail(arguments.speech, verb);
    return kind;
}

static void run(struct phase phase, struct phase_result *result)
{
    phase.seconds = phase.seconds > 0 ? phase.seconds : arguments.seconds;
    phase_run(&phase, result);
}

static double rate_of(const struct phase_result *result)
{
    return (double)result->steps / result->seconds;
}

static void print(const struct phase_result *result)
{
    figures_begin();
    figures_number("rate", rate_of(result));
    figures_number("count", (double)result->steps);
    figures_times(&result->times);
    figures_end();
}

/* Puts what other commands are then about. */
static void put_before(uint64_t count, struct phase_result *result)
{
    enum { WINDOW = 1000, PATIENCE_S = 1800 };

    run((struct phase){.kinds = {find(has_keys ? "put-key" : "put")},
                       .number = in_order,
                       .steps = count,
                       .seconds = PATIENCE_S,
                       .window = arguments.window > WINDOW ? arguments.window : WINDOW},
        result);
    job_ids = malloc(count * sizeof *job_ids);
    if (job_ids == NULL)
        stop("malloc");
    for (uint64_t i = 0; i < count; i++)
        job_ids[i] = i + 1;
    last_id = count;
}

static void run_simple(void)
{
    struct phase_result result;
    bool is_random =
        strcmp(arguments.verb, "cancel") == 0 || strcmp(arguments.verb, "reschedule") == 0;
    const char *verb = arguments.verb;

    if (!has_keys && strcmp(verb, "put-key") == 0)
        verb = "put";
    if (!has_keys && strcmp(verb, "cancel") == 0)
        verb = "delete";
    if (is_random)
        order = shuffled(arguments.first, arguments.count, arguments.seed);
    run((struct phase){.kinds = {find(verb)},
                       .number = is_random ? at_random : in_order,
                       .steps = arguments.count,
                       .rate = arguments.rate,
                       .window = arguments.window},
        &result);
    print(&result);
}

static void run_story(void)
{
    struct phase_result puts, cancels;

    run((struct phase){.kinds = {find(has_keys ? "put-key" : "put")},
                       .number = in_order,
                       .steps = arguments.count,
                       .window = arguments.window},
        &puts);
    order = shuffled(arguments.first, arguments.count, arguments.seed);
    run((struct phase){.kinds = {find(has_keys ? "cancel" : "delete")},
                       .number = at_random,
                       .steps = arguments.count * arguments.share / 100,
                       .window = arguments.window},
        &cancels);
    figures_begin();
    figures_number("rate", (double)(puts.steps + cancels.steps) / (puts.seconds + cancels.seconds));
    figures_number("count", (double)(puts.steps + cancels.steps));
    figures_number("put_rate", rate_of(&puts));
    figures_number("cancel_rate", rate_of(&cancels));
    figures_end();
}

static uint64_t beating(uint64_t step, unsigned command)
{
    (void)command;
    return arguments.first + random_place(step, arguments.live);
}

static void run_heartbeat(void)
{
    struct phase_result result;

    arguments.live = arguments.count > 0 ? arguments.count : arguments.live;
    put_before(arguments.live, &result);
    run((struct phase){.kinds = {find(has_keys ? "heartbeat" : "delete"),
                                 has_keys ? NULL : find("put-soon")},
                       .number = has_keys ? beating : renewed,
                       .window = arguments.window},
        &result);
    print(&result);
}

static void run_churn(void)
{
    struct phase_result result;

    put_before(arguments.live, &result);
    run((struct phase){.kinds = {find(has_keys ? "cancel" : "delete"),
                                 find(has_keys ? "put-key" : "put")},
                       .number = renewed,
                       .rate = arguments.rate,
                       .window = arguments.window},
        &result);
    print(&result);
}

int main(int argc, char **argv)
{
    arguments = arguments_read(argc, argv);
    has_keys = strcmp(arguments.speech, "beanstalkd") != 0;
    uint16_t port = arguments_port(&arguments);
    bool counts = strcmp(arguments.verb, "delete") == 0 || strcmp(arguments.verb, "story") == 0 ||
                  strcmp(arguments.verb, "cancel") == 0 ||
                  strcmp(arguments.verb, "reschedule") == 0;
    bool renews = strcmp(arguments.verb, "churn") == 0 || strcmp(arguments.verb, "heartbeat") == 0;

    if (counts && arguments.count == 0)
        fail(arguments.verb, "needs --count");
    if (renews && arguments.connections > 1)
        fail(arguments.verb, "takes one connection, on which commands keep their order");
    if (strncmp(arguments.speech, "redis", 5) == 0)
        redis_scripts_load(port);
    commands_spread(arguments.at_ms, arguments.spread_ms);
    phases_connect(port, arguments.connections);
    if (strcmp(arguments.verb, "story") == 0)
        run_story();
    else if (strcmp(arguments.verb, "heartbeat") == 0)
        run_heartbeat();
    else if (strcmp(arguments.verb, "churn") == 0)
        run_churn();
    else
        run_simple();
    return 0;
}
