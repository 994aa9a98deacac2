#include "beanstalkd.h"

#include <string.h>

#include "../base/assert.h"
#include "../base/decimal.h"

struct elapse__wire_beanstalkd_text
elapse__wire_beanstalkd_reply(enum elapse__wire_beanstalkd_reply reply)
{
#define REPLY(text)                         \
    {                                       \
        text "\r\n", sizeof text "\r\n" - 1 \
    }
    static const struct elapse__wire_beanstalkd_text replies[ELAPSE__WIRE_BEANSTALKD_REPLIES] = {
        [ELAPSE__WIRE_BEANSTALKD_SAYS_BAD_FORMAT] = REPLY("BAD_FORMAT"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_UNKNOWN_COMMAND] = REPLY("UNKNOWN_COMMAND"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_EXPECTED_CRLF] = REPLY("EXPECTED_CRLF"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_JOB_TOO_BIG] = REPLY("JOB_TOO_BIG"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_DRAINING] = REPLY("DRAINING"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY] = REPLY("OUT_OF_MEMORY"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_INTERNAL_ERROR] = REPLY("INTERNAL_ERROR"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_FOUND] = REPLY("NOT_FOUND"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_IGNORED] = REPLY("NOT_IGNORED"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_DEADLINE_SOON] = REPLY("DEADLINE_SOON"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_TIMED_OUT] = REPLY("TIMED_OUT"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_DELETED] = REPLY("DELETED"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_RELEASED] = REPLY("RELEASED"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_BURIED] = REPLY("BURIED"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_TOUCHED] = REPLY("TOUCHED"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_KICKED] = REPLY("KICKED"),
        [ELAPSE__WIRE_BEANSTALKD_SAYS_PAUSED] = REPLY("PAUSED"),
    };
#undef REPLY
    ELAPSE__ASSERT_THAT(reply, <, ELAPSE__WIRE_BEANSTALKD_REPLIES);
    return replies[reply];
}

/* ---- parts: each function writes at `at`, and returns the place after what it wrote ---- */

static char *put_bytes(char *at, const char *bytes, size_t size)
{
    if (size > 0)
        memcpy(at, bytes, size);
    return at + size;
}

static char *put_text(char *at, const char *text)
{
    return put_bytes(at, text, strlen(text));
}

static char *put_number(char *at, uint64_t number)
{
    return at + elapse__decimal_write(at, number);
}

/* Writes "WORD number\r\n", or "WORD number number\r\n" if `second` is not NULL. */
static size_t number_line(char *text, const char *word, uint64_t first, const uint64_t *second)
{
    char *at = put_number(put_text(text, word), first);
    if (second != NULL)
        at = put_number(put_text(at, " "), *second);
    at = put_text(at, "\r\n");
    ELAPSE__ASSERT_THAT(at - text, <=, ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX);
    return (size_t)(at - text);
}

/* ---- replies ---- */

size_t elapse__wire_beanstalkd_inserted(char *text, uint64_t id)
{
    return number_line(text, "INSERTED ", id, NULL);
}

size_t elapse__wire_beanstalkd_using(char *text, const char *tube, size_t tube_size)
{
    ELAPSE__ASSERT_THAT(tube_size, <=, ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX);
    char *at = put_bytes(put_text(text, "USING "), tube, tube_size);
    return (size_t)(put_text(at, "\r\n") - text);
}

size_t elapse__wire_beanstalkd_watching(char *text, uint64_t count)
{
    return number_line(text, "WATCHING ", count, NULL);
}

size_t elapse__wire_beanstalkd_kicked(char *text, uint64_t count)
{
    return number_line(text, "KICKED ", count, NULL);
}

size_t elapse__wire_beanstalkd_reserved(char *text, uint64_t id, uint64_t body_size)
{
    return number_line(text, "RESERVED ", id, &body_size);
}

size_t elapse__wire_beanstalkd_found(char *text, uint64_t id, uint64_t body_size)
{
    return number_line(text, "FOUND ", id, &body_size);
}

size_t elapse__wire_beanstalkd_ok(char *text, uint64_t body_size)
{
    return number_line(text, "OK ", body_size, NULL);
}

/* ---- YAML ---- */

size_t elapse__wire_beanstalkd_list_begin(char *text)
{
    return (size_t)(put_text(text, "---\n") - text);
}

size_t elapse__wire_beanstalkd_list_item(char *text, const char *tube, size_t tube_size)
{
    ELAPSE__ASSERT_THAT(tube_size, <=, ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX);
    char *at = put_bytes(put_text(text, "- "), tube, tube_size);
    at = put_text(at, "\n");
    ELAPSE__ASSERT(at == text + elapse__wire_beanstalkd_item_size(tube_size));
    return (size_t)(at - text);
}

static char *put_field(char *at, const char *name, uint64_t number)
{
    at = put_text(put_text(at, name), ": ");
    return put_text(put_number(at, number), "\n");
}

/* Adds a text that describes the server. Cuts the text at ELAPSE__WIRE_BEANSTALKD_FACT_BYTES_MAX.
 */
static char *put_fact(char *at, const char *name, const char *fact, const char *quote)
{
    size_t size = strlen(fact);
    if (size > ELAPSE__WIRE_BEANSTALKD_FACT_BYTES_MAX)
        size = ELAPSE__WIRE_BEANSTALKD_FACT_BYTES_MAX;
    at = put_text(put_text(put_text(at, name), ": "), quote);
    at = put_bytes(at, fact, size);
    return put_text(put_text(at, quote), "\n");
}

static char *put_tube(char *at, const char *name, const char *tube, size_t tube_size)
{
    ELAPSE__ASSERT_THAT(tube_size, <=, ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX);
    at = put_text(put_text(at, name), ": ");
    return put_text(put_bytes(at, tube, tube_size), "\n");
}

/* Adds a time in seconds, with six digits after the decimal point. */
static char *put_seconds(char *at, const char *name, uint64_t us)
{
    char digits[6];
    uint64_t fraction = us % 1000000;
    for (size_t i = sizeof digits; i > 0; i--) {
        digits[i - 1] = (char)('0' + fraction % 10);
        fraction /= 10;
    }
    at = put_text(put_text(at, name), ": ");
    at = put_text(put_number(at, us / 1000000), ".");
    return put_text(put_bytes(at, digits, sizeof digits), "\n");
}

static size_t end_yaml(const char *text, const char *at)
{
    ELAPSE__ASSERT_THAT(at - text, <=, ELAPSE__WIRE_BEANSTALKD_YAML_BYTES_MAX);
    return (size_t)(at - text);
}

size_t
elapse__wire_beanstalkd_job_yaml(char *text,
                                 const struct elapse__wire_beanstalkd_job_statistics *statistics)
{
    char *at = put_text(text, "---\n");
    at = put_field(at, "id", statistics->id);
    at = put_tube(at, "tube", statistics->tube, statistics->tube_size);
    at = put_fact(at, "state", statistics->state, "");
    at = put_field(at, "pri", statistics->priority);
    at = put_field(at, "age", statistics->age_s);
    at = put_field(at, "delay", statistics->delay_s);
    at = put_field(at, "ttr", statistics->ttr_s);
    at = put_field(at, "time-left", statistics->time_left_s);
    at = put_field(at, "file", statistics->file);
    at = put_field(at, "reserves", statistics->reserves);
    at = put_field(at, "timeouts", statistics->timeouts);
    at = put_field(at, "releases", statistics->releases);
    at = put_field(at, "buries", statistics->buries);
    at = put_field(at, "kicks", statistics->kicks);
    return end_yaml(text, at);
}

size_t
elapse__wire_beanstalkd_tube_yaml(char *text,
                                  const struct elapse__wire_beanstalkd_tube_statistics *statistics)
{
    char *at = put_text(text, "---\n");
    at = put_tube(at, "name", statistics->name, statistics->name_size);
    at = put_field(at, "current-jobs-urgent", statistics->urgent);
    at = put_field(at, "current-jobs-ready", statistics->ready);
    at = put_field(at, "current-jobs-reserved", statistics->reserved);
    at = put_field(at, "current-jobs-delayed", statistics->delayed);
    at = put_field(at, "current-jobs-buried", statistics->buried);
    at = put_field(at, "total-jobs", statistics->total_jobs);
    at = put_field(at, "current-using", statistics->using_count);
    at = put_field(at, "current-watching", statistics->watching);
    at = put_field(at, "current-waiting", statistics->waiting);
    at = put_field(at, "cmd-delete", statistics->deletes);
    at = put_field(at, "cmd-pause-tube", statistics->pauses);
    at = put_field(at, "pause", statistics->pause_s);
    at = put_field(at, "pause-time-left", statistics->pause_left_s);
    return end_yaml(text, at);
}

/* Adds the counters of commands in the order of beanstalkd. */
static char *put_counters(char *at, const uint64_t *commands)
{
    static const struct {
        const char *name;
        enum elapse__wire_beanstalkd_verb verb;
    } counters[] = {
        {"cmd-put", ELAPSE__WIRE_BEANSTALKD_PUT},
        {"cmd-peek", ELAPSE__WIRE_BEANSTALKD_PEEK},
        {"cmd-peek-ready", ELAPSE__WIRE_BEANSTALKD_PEEK_READY},
        {"cmd-peek-delayed", ELAPSE__WIRE_BEANSTALKD_PEEK_DELAYED},
        {"cmd-peek-buried", ELAPSE__WIRE_BEANSTALKD_PEEK_BURIED},
        {"cmd-reserve", ELAPSE__WIRE_BEANSTALKD_RESERVE},
        {"cmd-reserve-with-timeout", ELAPSE__WIRE_BEANSTALKD_RESERVE_WITH_TIMEOUT},
        {"cmd-delete", ELAPSE__WIRE_BEANSTALKD_DELETE},
        {"cmd-release", ELAPSE__WIRE_BEANSTALKD_RELEASE},
        {"cmd-use", ELAPSE__WIRE_BEANSTALKD_USE},
        {"cmd-watch", ELAPSE__WIRE_BEANSTALKD_WATCH},
        {"cmd-ignore", ELAPSE__WIRE_BEANSTALKD_IGNORE},
        {"cmd-bury", ELAPSE__WIRE_BEANSTALKD_BURY},
        {"cmd-kick", ELAPSE__WIRE_BEANSTALKD_KICK},
        {"cmd-touch", ELAPSE__WIRE_BEANSTALKD_TOUCH},
        {"cmd-stats", ELAPSE__WIRE_BEANSTALKD_STATS},
        {"cmd-stats-job", ELAPSE__WIRE_BEANSTALKD_STATS_JOB},
        {"cmd-stats-tube", ELAPSE__WIRE_BEANSTALKD_STATS_TUBE},
        {"cmd-list-tubes", ELAPSE__WIRE_BEANSTALKD_LIST_TUBES},
        {"cmd-list-tube-used", ELAPSE__WIRE_BEANSTALKD_LIST_TUBE_USED},
        {"cmd-list-tubes-watched", ELAPSE__WIRE_BEANSTALKD_LIST_TUBES_WATCHED},
        {"cmd-pause-tube", ELAPSE__WIRE_BEANSTALKD_PAUSE_TUBE},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        at = put_field(at, counters[i].name, commands[counters[i].verb]);
    return at;
}

size_t elapse__wire_beanstalkd_server_yaml(
    char *text, const struct elapse__wire_beanstalkd_server_statistics *statistics)
{
    char *at = put_text(text, "---\n");
    at = put_field(at, "current-jobs-urgent", statistics->urgent);
    at = put_field(at, "current-jobs-ready", statistics->ready);
    at = put_field(at, "current-jobs-reserved", statistics->reserved);
    at = put_field(at, "current-jobs-delayed", statistics->delayed);
    at = put_field(at, "current-jobs-buried", statistics->buried);
    at = put_counters(at, statistics->commands);
    at = put_field(at, "job-timeouts", statistics->job_timeouts);
    at = put_field(at, "total-jobs", statistics->total_jobs);
    at = put_field(at, "max-job-size", statistics->max_job_size);
    at = put_field(at, "current-tubes", statistics->tubes);
    at = put_field(at, "current-connections", statistics->connections);
    at = put_field(at, "current-producers", statistics->producers);
    at = put_field(at, "current-workers", statistics->workers);
    at = put_field(at, "current-waiting", statistics->waiting);
    at = put_field(at, "total-connections", statistics->total_connections);
    at = put_field(at, "pid", statistics->pid);
    at = put_fact(at, "version", statistics->version, "\"");
    at = put_seconds(at, "rusage-utime", statistics->user_us);
    at = put_seconds(at, "rusage-stime", statistics->system_us);
    at = put_field(at, "uptime", statistics->uptime_s);
    at = put_field(at, "binlog-oldest-index", statistics->binlog_oldest);
    at = put_field(at, "binlog-current-index", statistics->binlog_current);
    at = put_field(at, "binlog-records-migrated", statistics->binlog_migrated);
    at = put_field(at, "binlog-records-written", statistics->binlog_written);
    at = put_field(at, "binlog-max-size", statistics->binlog_max_size);
    at = put_fact(at, "draining", statistics->draining ? "true" : "false", "");
    at = put_fact(at, "id", statistics->id, "");
    at = put_fact(at, "hostname", statistics->hostname, "\"");
    at = put_fact(at, "os", statistics->os, "\"");
    at = put_fact(at, "platform", statistics->platform, "\"");
    return end_yaml(text, at);
}
