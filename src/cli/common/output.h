/*
 * Writes standard output. Added text stays in memory until it is a large piece, or until
 * output_finish. output_finish also reports earlier errors.
 */
#ifndef ELAPSE_CLI_COMMON_OUTPUT_H
#define ELAPSE_CLI_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "../../base/json_writer.h"
#include "message.h"

void output_add(const char *bytes, size_t length);
void output_add_text(const char *text);
/* Adds a string of unknown origin, made harmless for a terminal (mask_text). */
void output_add_masked(const char *text);
void output_add_buffer(const struct elapse__buffer *buffer);

/* Adds text as printf would. */
__attribute__((format(printf, 1, 2))) void output_add_format(const char *format, ...);

/* output_begin_json begins a line of JSON, and returns its writer. output_end_json ends the line.
 */
struct elapse__json *output_begin_json(void);
void output_end_json(void);

/* Returns whether writing has failed. Then the caller need not add more. */
bool output_failed(void);

/* Writes what was added. Returns STATUS_OK, or STATUS_FAILED if some of it could not be written.
 * Prints the first error, unless it is that the reader has closed the pipe. */
enum exit_status output_finish(void);

#endif
