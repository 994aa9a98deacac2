#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/utf8.h"
#include "metric_text.h"

static void gauge(struct elapse__json *text, const char *name, uint64_t value, const char *help)
{
    elapse__metric_begin(text, name, "gauge", help);
    elapse__metric_add(text, "elapse_%s %" PRIu64 "\n", name, value);
}

static void counter(struct elapse__json *text, const char *name, uint64_t value, const char *help)
{
    elapse__metric_begin(text, name, "counter", help);
    elapse__metric_add(text, "elapse_%s %" PRIu64 "\n", name, value);
}

/* ---- histograms ---- */

/* Writes a histogram of whole numbers with the unit 1/scale. Its buckets end below the powers of
 * two from 2^least to 2^most. With a scale above 1, values are times that were rounded down, so the
 * limit of a bucket is the power itself. With a scale of 1, values are exact, and the limit is the
 * power less one. */
static void histogram(struct elapse__json *text, const char *name,
                      const struct elapse__histogram *values, unsigned least, unsigned most,
                      double scale, const char *help)
{
    uint64_t below = 0;
    unsigned bucket = 0;

    ELAPSE__ASSERT(least <= most && most < 64);
    elapse__metric_begin(text, name, "histogram", help);
    for (unsigned power = least; power <= most; power++) {
        unsigned end = elapse__histogram_bucket(UINT64_C(1) << power);
        for (; bucket < end; bucket++)
            below += values->counts[bucket];
        elapse__metric_add(text, "elapse_%s_bucket{le=\"%.10g\"} %" PRIu64 "\n", name,
                           ((double)(UINT64_C(1) << power) - (scale > 1 ? 0 : 1)) / scale, below);
    }
    ELAPSE__ASSERT_THAT(below, <=, values->count);
    elapse__metric_add(text, "elapse_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, values->count);
    elapse__metric_add(text, "elapse_%s_sum %.6f\n", name, (double)values->sum / scale);
    elapse__metric_add(text, "elapse_%s_count %" PRIu64 "\n", name, values->count);
}

/* ---- groups of metrics ---- */

static const char *const commands[ELAPSE__VERBS] = {
    [ELAPSE__VERB_PUT] = "put",
    [ELAPSE__VERB_PEEK] = "peek",
    [ELAPSE__VERB_PEEK_READY] = "peek-ready",
    [ELAPSE__VERB_PEEK_DELAYED] = "peek-delayed",
    [ELAPSE__VERB_PEEK_BURIED] = "peek-buried",
    [ELAPSE__VERB_RESERVE] = "reserve",
    [ELAPSE__VERB_RESERVE_WITH_TIMEOUT] = "reserve-with-timeout",
    [ELAPSE__VERB_RESERVE_JOB] = "reserve-job",
    [ELAPSE__VERB_DELETE] = "delete",
    [ELAPSE__VERB_RELEASE] = "release",
    [ELAPSE__VERB_USE] = "use",
    [ELAPSE__VERB_WATCH] = "watch",
    [ELAPSE__VERB_IGNORE] = "ignore",
    [ELAPSE__VERB_BURY] = "bury",
    [ELAPSE__VERB_KICK] = "kick",
    [ELAPSE__VERB_KICK_JOB] = "kick-job",
    [ELAPSE__VERB_TOUCH] = "touch",
    [ELAPSE__VERB_STATS] = "stats",
    [ELAPSE__VERB_STATS_JOB] = "stats-job",
    [ELAPSE__VERB_STATS_TUBE] = "stats-tube",
    [ELAPSE__VERB_LIST_TUBES] = "list-tubes",
    [ELAPSE__VERB_LIST_TUBE_USED] = "list-tube-used",
    [ELAPSE__VERB_LIST_TUBES_WATCHED] = "list-tubes-watched",
    [ELAPSE__VERB_PAUSE_TUBE] = "pause-tube",
    [ELAPSE__VERB_QUIT] = "quit",
    [ELAPSE__VERB_CANCEL] = "cancel",
    [ELAPSE__VERB_CANCEL_ID] = "cancel-id",
    [ELAPSE__VERB_RESCHEDULE] = "reschedule",
    [ELAPSE__VERB_RESCHEDULE_ID] = "reschedule-id",
    [ELAPSE__VERB_ARRIVE] = "arrive",
    [ELAPSE__VERB_ACK] = "ack",
    [ELAPSE__VERB_NACK] = "nack",
    [ELAPSE__VERB_EXTEND] = "extend",
    [ELAPSE__VERB_KICK_ID] = "kick-id",
    [ELAPSE__VERB_LOOK_UP] = "look-up",
    [ELAPSE__VERB_LOOK_UP_ID] = "look-up-id",
    [ELAPSE__VERB_LIST] = "list",
    [ELAPSE__VERB_CANCEL_ALL] = "cancel-all",
    [ELAPSE__VERB_OTHER] = "other",
};

static void write_commands(struct elapse__json *text,
                           const struct elapse__server_statistics *server)
{
    elapse__metric_begin(text, "commands_total", "counter",
                         "Commands that were run, of all protocols.");
    for (unsigned i = 0; i < ELAPSE__VERBS; i++)
        if (commands[i] != NULL)
            elapse__metric_add(text, "elapse_commands_total{command=\"%s\"} %" PRIu64 "\n",
                               commands[i], server->commands[i]);
}

static void write_state(struct elapse__json *text, const char *labels, const char *state,
                        const char *name, uint64_t value)
{
    elapse__metric_add(text, "elapse_%s{", name);
    elapse__json_raw(text, labels);
    elapse__metric_add(text, "%sstate=\"%s\"} %" PRIu64 "\n", *labels == '\0' ? "" : ",", state,
                       value);
}

static void write_states(struct elapse__json *text, const char *name, const char *labels,
                         const struct elapse__queue_statistics *jobs)
{
    write_state(text, labels, "delayed", name, jobs->delayed);
    write_state(text, labels, "ready", name, jobs->ready);
    write_state(text, labels, "reserved", name, jobs->reserved);
    write_state(text, labels, "buried", name, jobs->buried);
}

static void write_totals(struct elapse__json *text, const struct elapse__queue_statistics *jobs)
{
    elapse__metric_begin(text, "queue_jobs", "gauge", "Jobs of all tubes together.");
    write_states(text, "queue_jobs", "", jobs);
    counter(text, "jobs_put_total", jobs->total_jobs, "Jobs that were put.");
    counter(text, "jobs_done_total", jobs->deletes, "Jobs that were acknowledged or deleted.");
    counter(text, "jobs_cancelled_total", jobs->cancelled, "Jobs that were cancelled.");
    counter(text, "jobs_replaced_total", jobs->replaced, "Jobs that another one replaced.");
    counter(text, "jobs_expired_total", jobs->expired, "Jobs that nobody took in time.");
    counter(text, "jobs_dead_total", jobs->dead, "Jobs that were buried with no retry left.");
    counter(text, "jobs_buried_dropped_total", jobs->buried_dropped,
            "Buried jobs that the limits of their tubes have dropped.");
    counter(text, "lease_timeouts_total", jobs->timeouts, "Leases that ended by themselves.");
    counter(text, "occurrences_missed_total", jobs->missed,
            "Occurrences of recurring jobs that passed without a hand-out.");
}

static void write_storage(struct elapse__json *text, const struct elapse__http_metrics *metrics)
{
    const struct elapse__journal_figures *journal = &metrics->server->journal;

    ELAPSE__ASSERT_THAT(journal->tail, <=, journal->head + 1);
    gauge(text, "segments", journal->head - journal->tail + 1, "Files of the log in use.");
    gauge(text, "log_bytes", journal->log_bytes, "Bytes of the log's files in use.");
    gauge(text, "live_bytes", journal->live_bytes, "Bytes of them that jobs need.");
    gauge(text, "spare_bytes", journal->spare_bytes, "Bytes of files that are kept for reuse.");
    if (metrics->has_disk)
        gauge(text, "disk_free_bytes", metrics->disk_free_bytes,
              "Bytes that are free where the log is.");
    gauge(text, "disk_full", journal->disk_is_full, "1 while puts are refused for a full disk.");
    gauge(text, "log_pinned", journal->is_pinned,
          "1 if damage, or a place that cannot be read, keeps the log from being cleaned.");
    counter(text, "damaged_bodies_total", journal->damaged_bodies,
            "Bodies that were found damaged.");
    counter(text, "failed_reads_total", journal->failed_reads, "Reads that the disk failed.");
    gauge(text, "unread_places", journal->unread_places,
          "Places of the log that could not be read when they were tried last.");
    counter(text, "groups_total", journal->groups, "Groups of records that were written.");
    histogram(text, "group_bytes", metrics->writes, 6, 24, 1, "Bytes of each write of the log.");
    histogram(text, "fsync_seconds", metrics->syncs, 4, 24, 1e6,
              "Time that the disk took for each sync of the log.");
}

static void write_clients(struct elapse__json *text, const struct elapse__server_statistics *server)
{
    gauge(text, "connections", server->connections, "Connections, with requests under way.");
    gauge(text, "workers", server->workers, "Connections that have asked for a job.");
    gauge(text, "workers_waiting", server->waiting, "Connections that wait for a job.");
    counter(text, "connections_total", server->total_connections, "Connections since the start.");
    counter(text, "connections_refused_total", server->refused,
            "Connections that were refused because there were too many.");
    counter(text, "wrong_passwords_total", server->wrong_passwords, "Passwords that were wrong.");
    counter(text, "hand_outs_undone_total", server->undone,
            "Hand-outs whose reply could not be sent.");
}

static void write_process(struct elapse__json *text, const struct elapse__http_metrics *metrics)
{
    const struct elapse__server_statistics *server = metrics->server;

    elapse__metric_begin(text, "build_info", "gauge", "The version of the server.");
    elapse__metric_add(text, "elapse_build_info{version=\"%s\"} 1\n", metrics->version);
    elapse__metric_begin(text, "uptime_seconds", "gauge", "Time since the start.");
    elapse__metric_add(text, "elapse_uptime_seconds %.3f\n", (double)server->uptime_ms / 1e3);
    gauge(text, "draining", server->draining, "1 if no jobs are taken any more.");
    gauge(text, "memory_bytes", metrics->memory_bytes, "Memory of the process.");
    elapse__metric_begin(text, "cpu_seconds_total", "counter", "Processor time of the process.");
    elapse__metric_add(text, "elapse_cpu_seconds_total{mode=\"user\"} %.6f\n",
                       (double)server->user_us / 1e6);
    elapse__metric_add(text, "elapse_cpu_seconds_total{mode=\"system\"} %.6f\n",
                       (double)server->system_us / 1e6);
}

void elapse__http_write_metrics(struct elapse__json *text,
                                const struct elapse__http_metrics *metrics)
{
    write_process(text, metrics);
    write_totals(text, &metrics->server->jobs);
    ELAPSE__ASSERT_THAT(metrics->tubes_left_out, <=, metrics->tubes);
    counter(text, "ended_lines_total", metrics->ended_written,
            "Jobs that have ended, in the file of --ended.");
    counter(text, "ended_lines_dropped_total", metrics->ended_dropped,
            "Jobs that have ended and are not in that file.");
    gauge(text, "tubes", metrics->tubes, "Tubes.");
    gauge(text, "tubes_left_out", metrics->tubes_left_out,
          "Tubes that elapse_jobs does not have, because there are too many.");
    histogram(text, "lateness_seconds", metrics->lateness, 0, 24, 1e3,
              "Time from the moment that a job was due to its hand-out.");
    elapse__metric_begin(text, "oldest_overdue_seconds", "gauge",
                         "For how long the oldest ready job has been due, rounded down.");
    elapse__metric_add(text, "elapse_oldest_overdue_seconds %.3f\n",
                       (double)metrics->oldest_overdue_ms / 1e3);
    write_storage(text, metrics);
    write_clients(text, metrics->server);
    write_commands(text, metrics->server);
}

/* ---- tubes ---- */

void elapse__http_begin_jobs(struct elapse__json *text)
{
    elapse__metric_begin(text, "jobs", "gauge", "Jobs of a tube in a state.");
}

/* Returns whether a label has the byte as its number: \xff. A backslash that would look like the
 * beginning of such a number is written as a number too. So no two names have the same label. */
static bool is_number(const unsigned char *name, size_t size, size_t at, bool is_text)
{
    if (name[at] == '\\')
        return at + 1 < size && name[at + 1] == 'x';
    return name[at] != '\n' && (name[at] < 0x20 || (!is_text && name[at] >= 0x80));
}

enum { NUMBER_BYTES = 5 }; /* \\xff, because the backslash is escaped */

/* tube="NAME", and a zero */
struct label {
    char text[sizeof "tube=\"\"" + ELAPSE__QUEUE_TUBE_BYTES_MAX * NUMBER_BYTES];
};

static void name_tube(struct label *label, struct elapse__queue_text tube)
{
    const unsigned char *name = tube.bytes;
    bool is_text = elapse__utf8_is(name, tube.size);
    size_t size = sizeof "tube=\"" - 1;
    char *text = label->text;

    memcpy(text, "tube=\"", size);
    for (size_t i = 0; i < tube.size; i++) {
        if (is_number(name, tube.size, i, is_text)) {
            size += (size_t)snprintf(text + size, NUMBER_BYTES + 1, "\\\\x%02x", name[i]);
            continue;
        }
        if (name[i] == '\\' || name[i] == '"' || name[i] == '\n')
            text[size++] = '\\';
        text[size++] = (char)(name[i] == '\n' ? 'n' : name[i]);
    }
    ELAPSE__ASSERT_THAT(size + sizeof "\"", <=, sizeof label->text);
    memcpy(text + size, "\"", sizeof "\"");
}

void elapse__http_write_jobs(struct elapse__json *text, struct elapse__queue_text tube,
                             const struct elapse__queue_statistics *counts)
{
    struct label label;

    name_tube(&label, tube);
    write_states(text, "jobs", label.text, counts);
}

/* ---- tubes in trouble ---- */

static void write_overdue(struct elapse__json *text, const struct elapse__http_trouble *trouble)
{
    elapse__metric_add(text, " %.3f\n", (double)trouble->overdue_ms / 1e3);
}

static void write_buried(struct elapse__json *text, const struct elapse__http_trouble *trouble)
{
    elapse__metric_add(text, " %" PRIu64 "\n", trouble->buried);
}

static void write_held(struct elapse__json *text, const struct elapse__http_trouble *trouble)
{
    elapse__metric_add(text, " %" PRIu64 "\n", trouble->held);
}

struct family {
    const char *name, *help, *rest_help;
    void (*write)(struct elapse__json *text, const struct elapse__http_trouble *trouble);
};

static const struct family families[] = {
    {"overdue_seconds", "For how long the oldest ready job of a tube in trouble has been due.",
     "The longest elapse_tube_overdue_seconds of the tubes in trouble that have none.",
     write_overdue},
    {"buried_jobs", "Buried jobs of a tube in trouble.",
     "Buried jobs of the tubes in trouble that elapse_tube_buried_jobs does not have.",
     write_buried},
    {"held_jobs", "Ready jobs of a tube in trouble that a limit holds back.",
     "Jobs held back of the tubes in trouble that elapse_tube_held_jobs does not have.",
     write_held},
};

static void write_family(struct elapse__json *text, const struct family *family,
                         const struct elapse__http_troubled *troubled)
{
    char name[sizeof "rest_overdue_seconds"];
    struct label label;

    (void)snprintf(name, sizeof name, "tube_%s", family->name);
    elapse__metric_begin(text, name, "gauge", family->help);
    for (size_t i = 0; i < troubled->count; i++) {
        const struct elapse__http_troubled_tube *tube = &troubled->kept[troubled->order[i]];
        name_tube(&label,
                  (struct elapse__queue_text){.bytes = tube->name, .size = tube->name_size});
        elapse__metric_add(text, "elapse_%s{", name);
        elapse__json_raw(text, label.text);
        elapse__json_raw(text, "}");
        family->write(text, &tube->trouble);
    }
    (void)snprintf(name, sizeof name, "rest_%s", family->name);
    elapse__metric_begin(text, name, "gauge", family->rest_help);
    elapse__metric_add(text, "elapse_%s", name);
    family->write(text, &troubled->rest);
}

void elapse__http_write_troubled(struct elapse__json *text,
                                 const struct elapse__http_troubled *troubled)
{
    ELAPSE__ASSERT_THAT(troubled->count, <=, troubled->tubes);
    gauge(text, "tubes_in_trouble", troubled->tubes,
          "Tubes with a buried job, a job overdue by 10 s, a job held back, or a pause.");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        write_family(text, &families[i], troubled);
}
