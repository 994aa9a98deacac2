/*
 * The parts of a line of JSON. Each function writes without a NUL, and returns where the part ends.
 */
#ifndef ELAPSE_CLI_RUN_JSON_LINE_H
#define ELAPSE_CLI_RUN_JSON_LINE_H

#include <stdint.h>

char *json_line_text(char *out, const char *text);

/* Takes up to 20 bytes. */
char *json_line_number(char *out, uint64_t number);

/* Writes a wall-clock time between quotes. */
char *json_line_time(char *out, uint64_t unix_ns);

#endif
