/*
 * Reads a line of the input of elapse run. The functions have no effect except their results.
 *
 *     in DURATION KEY [PAYLOAD]              cron "EXPRESSION" KEY [PAYLOAD]
 *     at TIME KEY [PAYLOAD]                  cancel KEY
 *     every DURATION KEY [PAYLOAD]           # a comment
 *     after-each DURATION KEY [PAYLOAD]       list
 *     cron[ZONE] "EXPRESSION" KEY [PAYLOAD]
 *
 * Blanks (spaces and tabs) separate the words. One blank ends the key, and the payload begins after
 * that blank.
 */
#ifndef ELAPSE_CLI_RUN_LINE_H
#define ELAPSE_CLI_RUN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/cron.h>

#include "../common/timestamp.h"

enum run_line_limits {
    RUN_LINE_BYTES_MAX = 1 << 20, /* without the line end */
    RUN_KEY_BYTES_MAX = 1024,
    RUN_PAYLOAD_BYTES_MAX = 64 << 10,
};

enum run_line_kind {
    RUN_LINE_NOTHING, /* an empty line, or a comment */
    RUN_LINE_IN,
    RUN_LINE_AT,
    RUN_LINE_EVERY,
    RUN_LINE_AFTER_EACH,
    RUN_LINE_CRON,
    RUN_LINE_CANCEL,
    RUN_LINE_LIST,
};

/* What a line says. Key and payload point into the line. */
struct run_line {
    enum run_line_kind kind;
    uint64_t duration_ns; /* for IN, EVERY and AFTER_EACH */
    uint64_t unix_ns;     /* for AT, unless the time is local */
    bool is_local;        /* for AT: `local` has the time, in the zone of the run */
    struct timestamp_local local;
    struct elapse_cron cron;             /* for CRON, bound to the zone if there is one */
    const struct elapse_time_zone *zone; /* for CRON: the zone in the line; NULL: none */
    const char *cron_text;               /* for CRON: the expression */
    size_t cron_bytes;
    const char *zone_text; /* for CRON with a zone: its name */
    size_t zone_bytes;
    const char *key; /* UTF-8 without blanks and NUL; not empty */
    size_t key_bytes;
    const char *payload; /* UTF-8 without NUL; may be empty */
    size_t payload_bytes;
};

/* The error in a line, as one phrase. */
struct run_line_fault {
    char text[256];
};

/* Reads a line without its end. If the line is wrong, returns false, `*fault` says why, and `*line`
 * is undefined. */
bool run_line_parse(struct run_line *line, const char *text, size_t length,
                    struct run_line_fault *fault);

/* Stores that a line is longer than RUN_LINE_BYTES_MAX. */
void run_line_too_long(struct run_line_fault *fault);

#endif
