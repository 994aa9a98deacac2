/*
 * With --answers: answers lines of the input, with lines of JSON on standard output.
 */
#ifndef ELAPSE_CLI_RUN_ANSWER_H
#define ELAPSE_CLI_RUN_ANSWER_H

#include <stdint.h>

#include "line.h"
#include "run.h"

/* Answers a line "cancel". */
void run_answer_cancel(struct run *run, const struct run_line *line, enum elapse_cancel answer);

/* Answers a line "list": prints a line for each pending timer in the order of their due times, and
 * a line with their number. Requires that all lines before are applied. */
void run_answer_list(struct run *run);

/* Print a line of the list, and the last line. */
struct run_list_entry {
    const char *key;
    size_t key_bytes;
    uint64_t due_unix_ns;
    bool is_running;
};
void run_answer_entry(struct run *run, const struct run_list_entry *entry);
void run_answer_listed(struct run *run, size_t count);

/* Reports an error in a line of the input: as a line of JSON with --answers, otherwise as a message
 * such as "line 3: TEXT". */
void run_report_line(struct run *run, uint64_t line_number, const char *text);

#endif
