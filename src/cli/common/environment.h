/*
 * The environment of a program that this one starts.
 */
#ifndef ELAPSE_CLI_COMMON_ENVIRONMENT_H
#define ELAPSE_CLI_COMMON_ENVIRONMENT_H

#include <stddef.h>

/* Returns a copy of this program's environment without the variables that begin with one of these
 * names ("PATH="). It ends with NULL, behind which there is room for `extra` more. The caller frees
 * it, but not its strings. Stores how many variables it has in `*count`. */
char **environment_without(const char *const *names, size_t name_count, size_t extra,
                           size_t *count);

#endif
