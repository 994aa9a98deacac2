/*
 * With --answers: answers lines of the input with lines of JSON on standard output.
 */
#ifndef ELAPSE_CLI_RUN_ANSWER_H
#define ELAPSE_CLI_RUN_ANSWER_H

#include <stdint.h>

#include "line.h"
#include "run.h"

/* Answers a line "cancel". */
void run_answer_cancel(struct run *run, const struct run_line *line, enum elapse_cancel answer);

/* Answers a line "list". Prints a line for each pending timer, in the order of their due times, and
 * a line with their number. Requires that all earlier lines were applied. */
void run_answer_list(struct run *run);

/* These functions print a line of the list, and the last line. */
struct run_list_entry {
    const char *key;
    size_t key_bytes;
    uint64_t due_unix_ns;
    bool is_running;
};
void run_answer_entry(struct run *run, const struct run_list_entry *entry);
void run_answer_listed(struct run *run, size_t count);

/* Reports an error in a line of the input. With --answers the report is a line of JSON, and else a
 * message such as "line 3: TEXT". */
void run_report_line(struct run *run, uint64_t line_number, const char *text);

#endif
