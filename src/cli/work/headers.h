/*
 * The headers of a job, which by convention are an object of JSON whose members are texts. What
 * they have is a stranger's: only what can do no harm is handed on. Nothing here has an effect.
 */
#ifndef ELAPSE_CLI_WORK_HEADERS_H
#define ELAPSE_CLI_WORK_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "../common/buffer.h"
#include "handed.h"

/* Adds the variables of a program, each with its NUL: ELAPSE_HEADER_ and the name in capitals, with
 * `_` for `-`. Of two headers with one name the first counts. Headers with other characters in
 * their names, or with a NUL in their values, are left out. */
void headers_add_variables(struct elapse__buffer *out, const struct handed *handed);

/* Calls `add` with each line "Name: value" for a request of HTTP, until it returns false. Names
 * have letters, digits and `-` alone, and values no control character, so that no value can begin
 * another header. Left out are headers that say how the request travels or whose it is, and those
 * that `elapse work` sets itself. Returns what the last `add` returned, or true. */
bool headers_each_line(const struct handed *handed, bool (*add)(void *context, const char *line),
                       void *context);

#endif
