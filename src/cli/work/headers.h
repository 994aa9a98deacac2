/*
 * The headers of a job. By convention they are an object of JSON whose members are texts. A
 * stranger may have written them, so only harmless headers are passed on. No function here has an
 * effect.
 */
#ifndef ELAPSE_CLI_WORK_HEADERS_H
#define ELAPSE_CLI_WORK_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "../common/buffer.h"
#include "handed.h"

/* Adds the variables of a program, each with its NUL. A name is ELAPSE_HEADER_ and the name of the
 * header in capitals, with `_` instead of `-`. Of two headers with one name the first counts.
 * Headers that have other characters in their names, or a NUL in their values, are left out. */
void headers_add_variables(struct elapse__buffer *out, const struct handed *handed);

/* Calls `add` with each line "Name: value" for a request of HTTP, until `add` returns false. Names
 * have only letters, digits and `-`, and values have no control characters, so that no value can
 * begin another header. Leaves out headers that say how the request travels or who sends it, and
 * those that `elapse work` sets itself. Returns what the last `add` returned, or true. */
bool headers_each_line(const struct handed *handed, bool (*add)(void *context, const char *line),
                       void *context);

#endif
