/*
 * Writes standard output. Text that is added stays in memory until it is a large piece, or until
 * output_finish is called. Then it is written. output_finish also reports an earlier error.
 */
#ifndef ELAPSE_CLI_COMMON_OUTPUT_H
#define ELAPSE_CLI_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "../../base/json_writer.h"
#include "message.h"

void output_add(const char *bytes, size_t length);
void output_add_text(const char *text);
/* Adds a string from elsewhere, made harmless for a terminal: see mask_text. */
void output_add_masked(const char *text);
void output_add_buffer(const struct elapse__buffer *buffer);

/* Adds text as printf would. */
__attribute__((format(printf, 1, 2))) void output_add_format(const char *format, ...);

/* output_begin_json begins a line of JSON, and returns its writer. output_end_json ends the line.
 */
struct elapse__json *output_begin_json(void);
void output_end_json(void);

/* Returns whether writing has failed, so that adding more is of no use. */
bool output_failed(void);

/* Writes what was added. Returns STATUS_OK, or STATUS_FAILED if any of it could not be written.
 * The first failure is printed, unless the reader has gone away. */
enum exit_status output_finish(void);

#endif
