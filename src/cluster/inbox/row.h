/*
 * Reads a row of the transactional inbox, as the function elapse.inbox_rows of sql/inbox.sql
 * returns it, and runs the command of the queue that the row asks for. Pure.
 *
 * The functions of SQL that made the row have checked its fields. This file checks them again,
 * because the row comes from another program: a row that no queue can run must not stop the rows
 * after it.
 */
#ifndef ELAPSE__CLUSTER_INBOX_ROW_H
#define ELAPSE__CLUSTER_INBOX_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "../../queue/queue.h"

/* The columns in their order. For a null a text has no bytes, and a number is 0. */
struct elapse__inbox_row {
    int64_t id;
    int64_t age_ms; /* since the function was called, by the clock of the database */
    struct elapse__queue_text what; /* put, put+headers, cancel, reschedule */
    struct elapse__queue_text tube, key, tag, token, body; /* put+headers: the length of the headers
                                                              in four bytes, they, and the body */
    struct elapse__queue_text due;                         /* in, at, every, cron */
    int64_t due_ms;
    struct elapse__queue_text cron, zone;
    struct elapse__queue_text if_key; /* replace, keep, fail, debounce */
    int64_t max_ms, priority, ttr_ms, expire_ms, retry, backoff_min_ms, backoff_max_ms;
};

enum elapse__inbox_what {
    ELAPSE__INBOX_PUT,
    ELAPSE__INBOX_CANCEL,
    ELAPSE__INBOX_RESCHEDULE,
};

struct elapse__inbox_command {
    enum elapse__inbox_what what;
    struct elapse__queue_put put;   /* for PUT; the other commands use its tube and key alone */
    struct elapse__queue_time time; /* for RESCHEDULE */
};

/*
 * Reads a row into a command, whose texts point to the row's. A delay began when the row was made,
 * so the command gets what is left of it. Returns NULL, or why the row is no command, as a static
 * text.
 */
const char *elapse__inbox_read(const struct elapse__inbox_row *row,
                               struct elapse__inbox_command *command);

/* Runs a command, a struct elapse__inbox_command. The function is an elapse__engine_command. */
struct elapse__queue_answer elapse__inbox_run(struct elapse__queue *queue,
                                              struct elapse__queue_now now, const void *command);

#endif
