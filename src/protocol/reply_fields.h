/*
 * The fields of replies of RESP, one row for each field. There are fields of a job that is handed
 * out, of a job that is looked up, and of statistics. The server, HTTP, the router of a cluster and
 * the client use these rows. Each of them gives a macro of its own as X, and makes from the rows
 * what it needs. The order of the rows is the order of the fields in the reply.
 *
 * The columns:
 *
 *      field   the member of the structure that has the value
 *      name    the name in a reply of RESP, and in what the client prints
 *      kind    the kind of value, one of these:
 *
 *      | kind      | in RESP                   | in an answer of HTTP | statistics of a cluster |
 *      | ID        | integer                   | string               |                         |
 *      | NUMBER    | integer                   | number               | the sum                 |
 *      | MOMENT    | milliseconds since 1970   | number, name_ms      |                         |
 *      | INSTANT   | MOMENT, or null           | the same, or null    |                         |
 *      | DUE       | MOMENT, or null: none     | the same, or null    |                         |
 *      | LEFT      | DURATION, or null         | the same, or null    |                         |
 *      | DURATION  | milliseconds              | number, name_ms      | the greatest            |
 *      | YES_OR_NO | boolean                   | boolean              | yes if one says yes     |
 *      | TEXT      | bytes                     | string               |                         |
 *      | NAME      | bytes, or null if empty   | string or null       | the first that has one  |
 *      | LEASE     | text, or null             | string or null       |                         |
 *      | STATE     | text                      | string               |                         |
 *      | REASON    | text, or null: not buried | string or null       |                         |
 */
#ifndef ELAPSE__PROTOCOL_REPLY_FIELDS_H
#define ELAPSE__PROTOCOL_REPLY_FIELDS_H

#include <stddef.h>

enum {
    ELAPSE__LIST_PLACES = 4096
}; /* the most places of jobs that one LIST looks at; a block without a job to list counts as one */

/* clang-format off */

/* The fields of a job that RESERVE hands out, which is an array in RESP: X(field, kind). In HTTP the name is that of the field. */
#define ELAPSE__HANDED_FIELDS(X) \
    X(id,      ID)               \
    X(lease,   LEASE)            \
    X(tube,    TEXT)             \
    X(key,     NAME)             \
    X(body,    TEXT)             \
    X(due_ms,  MOMENT)           \
    X(attempt, NUMBER)           \
    X(missed,  NUMBER)

/* The details that RESERVE with DETAILS adds to a job as a map: X(field, name, kind). A detail without a value is left out. */
#define ELAPSE__DETAIL_FIELDS(X)                  \
    X(ttr_ms,        "ttr",           DURATION)   \
    X(tag,           "tag",           NAME)       \
    X(group,         "group",         NAME)       \
    X(headers,       "headers",       NAME)       \
    X(attempts_left, "attempts_left", NUMBER)     \
    X(recurring,     "recurring",     YES_OR_NO)  \
    X(error,         "error",         NAME)       \
    X(error_ms,      "error_at",      INSTANT)    \
    X(await,         "await",         NUMBER)

/* The fields of a job in LIST and in LOOKUP, which is a map: X(field, name, kind). */
#define ELAPSE__JOB_FIELDS(X)                    \
    X(id,             "id",          ID)         \
    X(tube,           "tube",        TEXT)       \
    X(state,          "state",       STATE)      \
    X(due_ms,         "due",         DUE)        \
    X(left_ms,        "left",        LEFT)       \
    X(priority,       "priority",    NUMBER)     \
    X(ttr_ms,         "ttr",         DURATION)   \
    X(expire_ms,      "expire",      DURATION)   \
    X(retry,          "attempts_max", NUMBER)    \
    X(retry,          "retry",       NUMBER)     \
    X(backoff_min_ms, "backoff_min", DURATION)   \
    X(backoff_max_ms, "backoff_max", DURATION)   \
    X(attempts,       "attempts",    NUMBER)     \
    X(recurring,      "recurring",   YES_OR_NO)  \
    X(missed,         "missed",      NUMBER)     \
    X(failures,       "failures",    NUMBER)     \
    X(lease,          "lease",       LEASE)      \
    X(holder,         "holder",      NAME)       \
    X(reason,         "reason",      REASON)     \
    X(await,          "await",       NUMBER)

/* The texts of a job in LIST with KEYS and in LOOKUP. The texts come after the fields above. */
#define ELAPSE__JOB_NAMES(X)              \
    X(key,      "key",      NAME)         \
    X(tag,      "tag",      NAME)         \
    X(group,    "group",    NAME)         \
    X(error,    "error",    NAME)         \
    X(error_ms, "error_at", INSTANT)
#define ELAPSE__JOB_TEXTS(X)        \
    ELAPSE__JOB_NAMES(X)            \
    X(headers, "headers", NAME)     \
    X(body,    "body",    TEXT)

/* By which rule a job recurs. Only a job that recurs has these, at the end of LOOKUP, and of LIST with KEYS or BODY. */
#define ELAPSE__JOB_RULE(X)           \
    X(every_ms, "every", DURATION)    \
    X(cron,     "cron",  NAME)        \
    X(zone,     "zone",  NAME)

/* LIST with BODY adds these after the texts: the beginning of the body, and how long the whole body is. */
#define ELAPSE__JOB_BEGINNING(X)          \
    X(body,       "body",       TEXT)     \
    X(body_bytes, "body_bytes", NUMBER)

/* The counts of a tube in TUBES with COUNTS, which is a map: X(field, name, kind). The fields are those of struct elapse__queue_statistics. */
#define ELAPSE__TUBE_COUNTS(X)                \
    X(delayed,       "delayed",    NUMBER)    \
    X(ready,         "ready",      NUMBER)    \
    X(reserved,      "reserved",   NUMBER)    \
    X(buried,        "buried",     NUMBER)    \
    X(held,          "held",       NUMBER)    \
    X(running,       "running",    NUMBER)    \
    X(pause_left_ms, "pause_left", DURATION)  \
    X(overdue_ms,    "overdue",    DURATION)  \
    X(held_by,       "held_by",    NAME)

/* The jobs of the server or of one tube, at the beginning of STATS, which is a map: X(field, name, kind). The fields are those of struct elapse__queue_statistics. */
#define ELAPSE__JOBS_STATISTICS(X)                    \
    X(delayed,    "delayed",           NUMBER)        \
    X(ready,      "ready",             NUMBER)        \
    X(reserved,   "reserved",          NUMBER)        \
    X(buried,     "buried",            NUMBER)        \
    X(shadows,    "cancelled_running", NUMBER)        \
    X(total_jobs, "total_put",         NUMBER)        \
    X(deletes,    "total_done",        NUMBER)        \
    X(timeouts,   "total_timeouts",    NUMBER)        \
    X(cancelled,  "total_cancelled",   NUMBER)        \
    X(replaced,   "total_replaced",    NUMBER)        \
    X(expired,    "total_expired",     NUMBER)        \
    X(dead,       "total_dead",        NUMBER)        \
    X(buried_dropped, "total_buried_dropped", NUMBER) \
    X(missed,     "total_missed",      NUMBER)        \
    X(failures,   "total_failures",    NUMBER)        \
    X(pauses,     "total_pauses",      NUMBER)

/* The pause, the groups and the limits of a tube, which STATS of one tube has after the jobs. The fields are those of struct elapse__queue_statistics. */
#define ELAPSE__TUBE_STATISTICS(X)              \
    X(pause_ms,      "pause",      DURATION)    \
    X(pause_left_ms, "pause_left", DURATION)    \
    X(groups,        "groups",     NUMBER)      \
    X(held,          "held",       NUMBER)      \
    X(running,       "running",    NUMBER)      \
    X(held_by,       "held_by",    NAME)

/* What LIMIT of a tube shows, a map: X(field, name, kind): fields of struct elapse__queue_limits. A
 * number of 0, or a no, is null there: it does not limit. */
#define ELAPSE__LIMIT_FIELDS(X)                  \
    X(concurrency,    "concurrency", NUMBER)     \
    X(rate.count,     "rate",        NUMBER)     \
    X(rate.period_ms, "rate_per",    DURATION)   \
    X(rate.burst,     "rate_burst",  NUMBER)     \
    X(group_concurrency, "group_concurrency", NUMBER) \
    X(group_rate.count,  "group_rate", NUMBER)   \
    X(group_rate.period_ms, "group_rate_per", DURATION) \
    X(group_rate.burst,  "group_rate_burst", NUMBER) \
    X(group_order,       "group_order", YES_OR_NO) \
    X(buried,         "buried",      NUMBER)     \
    X(buried_age_ms,  "buried_age",  DURATION)

/* HISTORY, which is a map from each name to an array: X(field, name, kind). The fields are those of struct
 * elapse__history_point. A value that is not known is null. */
#define ELAPSE__HISTORY_FIELDS(X)               \
    X(at_ms,       "at",         MOMENT)        \
    X(span_ms,     "span",       DURATION)      \
    X(delayed,     "delayed",    NUMBER)        \
    X(ready,       "ready",      NUMBER)        \
    X(reserved,    "reserved",   NUMBER)        \
    X(buried,      "buried",     NUMBER)        \
    X(overdue_ms,  "overdue",    DURATION)      \
    X(put,         "put",        NUMBER)        \
    X(came_due,    "came_due",   NUMBER)        \
    X(handed_out,  "handed_out", NUMBER)        \
    X(done,        "done",       NUMBER)        \
    X(cancelled,   "cancelled",  NUMBER)        \
    X(late_p99_ms, "late_p99",   DURATION)      \
    X(late_max_ms, "late_max",   DURATION)

/* A group in GROUPS, which is a map: X(field, name, kind). The fields are those of struct elapse__queue_group_view. */
#define ELAPSE__GROUP_FIELDS(X)            \
    X(name,         "group",     NAME)     \
    X(delayed,      "delayed",   NUMBER)   \
    X(ready,        "ready",     NUMBER)   \
    X(running,      "running",   NUMBER)   \
    X(buried,       "buried",    NUMBER)   \
    X(held,         "held",      NUMBER)   \
    X(held_by,      "held_by",   NAME)     \
    X(held_left_ms, "held_left", DURATION) \
    X(overdue_ms,   "overdue",   DURATION)

/* The figures of the server, which STATS without a tube has after the jobs. The fields are those of struct elapse__server_statistics. */
#define ELAPSE__SERVER_STATISTICS(X)                          \
    X(uptime_ms,         "uptime",                 DURATION)  \
    X(connections,       "connections",            NUMBER)    \
    X(producers,         "producers",              NUMBER)    \
    X(workers,           "workers",                NUMBER)    \
    X(waiting,           "waiting",                NUMBER)    \
    X(total_connections, "total_connections",      NUMBER)    \
    X(refused,           "total_refused",          NUMBER)    \
    X(undone,            "total_undone",           NUMBER)    \
    X(wrong_passwords,   "total_wrong_passwords",  NUMBER)    \
    X(draining,          "draining",               YES_OR_NO)

/* The figures of the journal, at the end of STATS without a tube. The fields are those of struct elapse__journal_figures. */
#define ELAPSE__JOURNAL_STATISTICS(X)                \
    X(log_bytes,      "log_bytes",      NUMBER)      \
    X(live_bytes,     "live_bytes",     NUMBER)      \
    X(spare_bytes,    "spare_bytes",    NUMBER)      \
    X(groups,         "groups",         NUMBER)      \
    X(damaged_bodies, "damaged_bodies", NUMBER)      \
    X(failed_reads,   "failed_reads",   NUMBER)      \
    X(unread_places,  "unread_places",  NUMBER)      \
    X(disk_is_full,   "disk_full",      YES_OR_NO)

/* clang-format on */

enum elapse__field_kind {
    ELAPSE__FIELD_NUMBER,
    ELAPSE__FIELD_ID,
    ELAPSE__FIELD_MOMENT,
    ELAPSE__FIELD_INSTANT,
    ELAPSE__FIELD_DUE, /* null for a job that waits for arrivals alone; then LEFT is null, too */
    ELAPSE__FIELD_LEFT,
    ELAPSE__FIELD_DURATION,
    ELAPSE__FIELD_YES_OR_NO,
    ELAPSE__FIELD_TEXT,
    ELAPSE__FIELD_NAME,
    ELAPSE__FIELD_LEASE,
    ELAPSE__FIELD_STATE,
    ELAPSE__FIELD_REASON,
};

/* Returns the kind of the value that has this name in a map. Returns NUMBER if no row has the name,
 * because a server of a later version may send new names. */
enum elapse__field_kind elapse__field_kind_of(const void *name, size_t size);

#endif
