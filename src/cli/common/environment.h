/*
 * The environment of a program that this one starts.
 */
#ifndef ELAPSE_CLI_COMMON_ENVIRONMENT_H
#define ELAPSE_CLI_COMMON_ENVIRONMENT_H

#include <stddef.h>

/* Returns a copy of this program's environment without the variables that begin with one of these
 * names ("PATH="). NULL ends the copy, and behind it there is room for `extra` more variables. The
 * caller frees the copy, but not its strings. Stores in `*count` how many variables there are. */
char **environment_without(const char *const *names, size_t name_count, size_t extra,
                           size_t *count);

#endif
