/*
 * Reads a row of the transactional inbox, as the function elapse.inbox_rows of sql/inbox.sql
 * returns it. Runs the command of the queue that the row asks for. The functions are pure.
 *
 * The functions of SQL that made the row have checked its fields. This file checks them again,
 * because the row comes from another program. A row that no queue can run must not stop the rows
 * after it.
 */
#ifndef ELAPSE__CLUSTER_INBOX_ROW_H
#define ELAPSE__CLUSTER_INBOX_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "../../queue/arrivals.h"

/* The columns of a row in their order. A null is a text without bytes, or the number 0. */
struct elapse__inbox_row {
    int64_t id;
    int64_t age_ms; /* how long ago the row was made, by the clock of the database */
    /* put, put+headers, put+await, cancel, reschedule or arrive */
    struct elapse__queue_text what;
    /* The body of put+headers has a length in 4 bytes, headers and the body. That of put+await has
     * the number of arrivals in 8 bytes before all this. */
    struct elapse__queue_text tube, key, tag, token, body;
    struct elapse__queue_text due; /* in, at, every or cron; put+await may have none */
    int64_t due_ms;                /* arrive: how many arrive */
    struct elapse__queue_text cron, zone;
    struct elapse__queue_text if_key; /* replace, keep, fail or debounce */
    int64_t max_ms, priority, ttr_ms, expire_ms, retry, backoff_min_ms, backoff_max_ms;
};

enum elapse__inbox_what {
    ELAPSE__INBOX_PUT,
    ELAPSE__INBOX_CANCEL,
    ELAPSE__INBOX_RESCHEDULE,
    ELAPSE__INBOX_ARRIVE,
};

struct elapse__inbox_command {
    enum elapse__inbox_what what;
    struct elapse__queue_put put;         /* of PUT; the other commands use only its tube and key */
    struct elapse__queue_time time;       /* of RESCHEDULE */
    struct elapse__queue_arrival arrival; /* of ARRIVE */
};

/*
 * Reads a row into a command. The texts of the command point to those of the row. A delay began
 * when the row was made, so the command gets what is left of the delay. Returns NULL, or a static
 * text that says why the row is no command.
 */
const char *elapse__inbox_read(const struct elapse__inbox_row *row,
                               struct elapse__inbox_command *command);

/* Runs a command: `command` points to a struct elapse__inbox_command. The function is an
 * elapse__engine_command. */
struct elapse__queue_answer elapse__inbox_run(struct elapse__queue *queue,
                                              struct elapse__queue_now now, const void *command);

#endif
