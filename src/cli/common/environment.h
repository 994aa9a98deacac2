/*
 * Makes the environment of a program that this one starts.
 */
#ifndef ELAPSE_CLI_COMMON_ENVIRONMENT_H
#define ELAPSE_CLI_COMMON_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

/* Returns a copy of this program's environment without the variables that begin with one of
 * `names`, such as "PATH=". NULL ends the copy, and there is room for `extra` more variables. The
 * caller frees the copy, but not its strings. Stores in `*count` how many variables the copy has.
 */
char **environment_without(const char *const *names, size_t name_count, size_t extra,
                           size_t *count);

/* Add the variable NAME=text, or NAME=number, and a NUL. `name` ends with '='. A text is cut at its
 * first NUL. */
void environment_add(struct elapse__buffer *variables, const char *name, const char *text,
                     size_t length);
void environment_add_number(struct elapse__buffer *variables, const char *name, uint64_t number);

/* Returns an environment: the variables of `inherited`, then those of `variables`. The caller frees
 * the array. The strings in it belong to the arguments. */
char **environment_with(char *const *inherited, const struct elapse__buffer *variables);

#endif
