#include "session.h"

static void reply_yaml(struct elapse__connection *connection, const char *yaml, size_t size)
{
    char line[ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX];

    elapse__reply_bytes(connection, line, elapse__wire_beanstalkd_ok(line, size));
    elapse__reply_bytes(connection, yaml, size);
    elapse__reply_text(connection, "\r\n");
}

/* ---- a job ---- */

/* Reads the record of the job, because only the record has the time of the put. */
enum elapse__session_step
elapse__beanstalkd_stats_job(struct elapse__connection *connection,
                             const struct elapse__wire_beanstalkd_command *command)
{
    struct elapse__queue_view view;

    if (elapse__queue_look_up_id(elapse__session_queue(connection), elapse__session_now(connection),
                                 command->id, &view) != ELAPSE__QUEUE_OK)
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_FOUND);
    if (!elapse__session_look(connection, &view, BEANSTALKD_STATS_JOB))
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
    return ELAPSE__STEP_RAN;
}

static const char *name_of_state(enum elapse__queue_state state)
{
    switch (state) {
    case ELAPSE__QUEUE_DELAYED:
        return "delayed";
    case ELAPSE__QUEUE_READY:
        return "ready";
    case ELAPSE__QUEUE_BURIED:
        return "buried";
    default:
        return "reserved";
    }
}

/* Returns the whole seconds from one time to another, or 0 if the difference is negative. */
static uint64_t seconds_between(int64_t from_ms, int64_t to_ms)
{
    return to_ms > from_ms ? (uint64_t)(to_ms - from_ms) / 1000 : 0;
}

/* Returns the whole seconds that are left. beanstalkd counts in nanoseconds and cuts the rest off.
 * So right after a reserve with a ttr of 10 seconds, 9 are left. */
static uint64_t seconds_left(uint64_t left_ms)
{
    return left_ms > 0 ? (left_ms - 1) / 1000 : 0;
}

/* Returns the delay of the last release of a job. If the job was never released, returns the delay
 * of its put. The record has the beginning and the end of the delay of the put, until cleaning
 * writes the record again. */
static uint64_t delay_seconds(const struct elapse__queue_view *view,
                              const struct elapse__engine_job *texts)
{
    if (view->releases > 0)
        return view->release_ms / 1000;
    return seconds_between(texts->put_ms, texts->due_ms);
}

void elapse__beanstalkd_looked_at_job(struct elapse__connection *connection,
                                      const struct elapse__queue_view *view,
                                      const struct elapse__engine_job *texts)
{
    char yaml[ELAPSE__WIRE_BEANSTALKD_YAML_BYTES_MAX];
    const struct elapse__wire_beanstalkd_job_statistics statistics = {
        .id = view->id,
        .tube = texts->tube.bytes,
        .tube_size = texts->tube.size,
        .state = name_of_state(view->state),
        .priority = view->priority,
        .age_s = seconds_between(texts->put_ms, elapse__session_now(connection).wall_ms),
        .delay_s = delay_seconds(view, texts),
        .ttr_s = view->ttr_ms / 1000,
        .time_left_s = seconds_left(view->left_ms),
        .file =
            elapse__engine_segment_of(elapse__session_options(connection)->engine, view->position),
        .reserves = view->reserves,
        .timeouts = view->timeouts,
        .releases = view->releases,
        .buries = view->buries,
        .kicks = view->kicks,
    };
    reply_yaml(connection, yaml, elapse__wire_beanstalkd_job_yaml(yaml, &statistics));
}

/* ---- a tube ---- */

enum elapse__session_step
elapse__beanstalkd_stats_tube(struct elapse__connection *connection,
                              const struct elapse__wire_beanstalkd_command *command)
{
    char yaml[ELAPSE__WIRE_BEANSTALKD_YAML_BYTES_MAX];
    const struct elapse__queue_text name = {command->tube, command->tube_size};
    struct elapse__queue_statistics jobs;

    if (elapse__queue_tube_statistics(elapse__session_queue(connection),
                                      elapse__session_now(connection), name,
                                      &jobs) != ELAPSE__QUEUE_OK)
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_FOUND);
    const struct elapse__server_tube_figures figures =
        elapse__server_tube_figures(elapse__session_server(connection), name);
    const struct elapse__wire_beanstalkd_tube_statistics statistics = {
        .name = name.bytes,
        .name_size = name.size,
        .urgent = jobs.urgent,
        .ready = jobs.ready,
        .reserved = jobs.reserved,
        .delayed = jobs.delayed,
        .buried = jobs.buried,
        .total_jobs = jobs.total_jobs,
        .using_count = figures.using,
        .watching = figures.watching,
        .waiting = figures.waiting,
        .deletes = jobs.deletes,
        .pauses = jobs.pauses,
        .pause_s = jobs.pause_ms / 1000,
        .pause_left_s = seconds_left(jobs.pause_left_ms),
    };
    reply_yaml(connection, yaml, elapse__wire_beanstalkd_tube_yaml(yaml, &statistics));
    return ELAPSE__STEP_RAN;
}

/* ---- the server ---- */

/* Copies the counters of the core to the verbs of this protocol. */
static void copy_counters(uint64_t *commands, const uint64_t *counted)
{
    static const enum elapse__server_verb verbs[ELAPSE__WIRE_BEANSTALKD_VERBS] = {
        [ELAPSE__WIRE_BEANSTALKD_PUT] = ELAPSE__VERB_PUT,
        [ELAPSE__WIRE_BEANSTALKD_PEEK] = ELAPSE__VERB_PEEK,
        [ELAPSE__WIRE_BEANSTALKD_PEEK_READY] = ELAPSE__VERB_PEEK_READY,
        [ELAPSE__WIRE_BEANSTALKD_PEEK_DELAYED] = ELAPSE__VERB_PEEK_DELAYED,
        [ELAPSE__WIRE_BEANSTALKD_PEEK_BURIED] = ELAPSE__VERB_PEEK_BURIED,
        [ELAPSE__WIRE_BEANSTALKD_RESERVE] = ELAPSE__VERB_RESERVE,
        [ELAPSE__WIRE_BEANSTALKD_RESERVE_WITH_TIMEOUT] = ELAPSE__VERB_RESERVE_WITH_TIMEOUT,
        [ELAPSE__WIRE_BEANSTALKD_DELETE] = ELAPSE__VERB_DELETE,
        [ELAPSE__WIRE_BEANSTALKD_RELEASE] = ELAPSE__VERB_RELEASE,
        [ELAPSE__WIRE_BEANSTALKD_USE] = ELAPSE__VERB_USE,
        [ELAPSE__WIRE_BEANSTALKD_WATCH] = ELAPSE__VERB_WATCH,
        [ELAPSE__WIRE_BEANSTALKD_IGNORE] = ELAPSE__VERB_IGNORE,
        [ELAPSE__WIRE_BEANSTALKD_BURY] = ELAPSE__VERB_BURY,
        [ELAPSE__WIRE_BEANSTALKD_KICK] = ELAPSE__VERB_KICK,
        [ELAPSE__WIRE_BEANSTALKD_TOUCH] = ELAPSE__VERB_TOUCH,
        [ELAPSE__WIRE_BEANSTALKD_STATS] = ELAPSE__VERB_STATS,
        [ELAPSE__WIRE_BEANSTALKD_STATS_JOB] = ELAPSE__VERB_STATS_JOB,
        [ELAPSE__WIRE_BEANSTALKD_STATS_TUBE] = ELAPSE__VERB_STATS_TUBE,
        [ELAPSE__WIRE_BEANSTALKD_LIST_TUBES] = ELAPSE__VERB_LIST_TUBES,
        [ELAPSE__WIRE_BEANSTALKD_LIST_TUBE_USED] = ELAPSE__VERB_LIST_TUBE_USED,
        [ELAPSE__WIRE_BEANSTALKD_LIST_TUBES_WATCHED] = ELAPSE__VERB_LIST_TUBES_WATCHED,
        [ELAPSE__WIRE_BEANSTALKD_PAUSE_TUBE] = ELAPSE__VERB_PAUSE_TUBE,
    };
    for (size_t i = 0; i < ELAPSE__WIRE_BEANSTALKD_VERBS; i++)
        commands[i] = counted[verbs[i]];
}

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

enum elapse__session_step
elapse__beanstalkd_stats(struct elapse__connection *connection,
                         const struct elapse__wire_beanstalkd_command *command)
{
    char yaml[ELAPSE__WIRE_BEANSTALKD_YAML_BYTES_MAX];
    uint64_t commands[ELAPSE__WIRE_BEANSTALKD_VERBS];
    struct elapse__server_statistics all;
    const struct elapse__server_options *options = elapse__session_options(connection);

    (void)command;
    elapse__server_statistics(elapse__session_server(connection), elapse__session_now(connection),
                              &all);
    copy_counters(commands, all.commands);
    const struct elapse__wire_beanstalkd_server_statistics statistics = {
        .urgent = all.jobs.urgent,
        .ready = all.jobs.ready,
        .reserved = all.jobs.reserved,
        .delayed = all.jobs.delayed,
        .buried = all.jobs.buried,
        .commands = commands,
        .job_timeouts = all.jobs.timeouts,
        .total_jobs = all.jobs.total_jobs,
        .max_job_size = options->body_bytes_max,
        .tubes = elapse__queue_tube_count(elapse__session_queue(connection)),
        .connections = all.connections,
        .producers = all.producers,
        .workers = all.workers,
        .waiting = all.waiting,
        .total_connections = all.total_connections,
        .pid = options->process_id,
        .version = text_of(options->version),
        .user_us = all.user_us,
        .system_us = all.system_us,
        .uptime_s = all.uptime_ms / 1000,
        .binlog_oldest = all.journal.tail,
        .binlog_current = all.journal.head,
        .binlog_migrated = options->engine->copies,
        .binlog_written = options->engine->records,
        .binlog_max_size = options->binlog_bytes_max,
        .draining = all.draining,
        .id = text_of(options->instance),
        .hostname = text_of(options->host),
        .os = text_of(options->os),
        .platform = text_of(options->platform),
    };
    reply_yaml(connection, yaml, elapse__wire_beanstalkd_server_yaml(yaml, &statistics));
    return ELAPSE__STEP_RAN;
}
