/*
 * Makes the environment of a program that this one starts.
 */
#include "environment.h"

#include <stdbool.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/decimal.h"
#include "../../os/program.h"
#include "message.h"

static bool has_name(const char *variable, const char *const *names, size_t name_count)
{
    for (size_t i = 0; i < name_count; i++) {
        ELAPSE__ASSERT(names[i][0] != '\0');
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

char **environment_without(const char *const *names, size_t name_count, size_t extra, size_t *count)
{
    char *const *all = elapse__os_environment();
    size_t all_count = 0;

    while (all[all_count] != NULL)
        all_count++;
    char **kept = allocate((all_count + extra + 1) * sizeof *kept);
    *count = 0;
    for (size_t i = 0; i < all_count; i++) {
        if (!has_name(all[i], names, name_count))
            kept[(*count)++] = all[i];
    }
    ELAPSE__ASSERT(*count <= all_count);
    kept[*count] = NULL;
    return kept;
}

void environment_add(struct elapse__buffer *variables, const char *name, const char *text,
                     size_t length)
{
    const char *end = memchr(text, '\0', length);

    ELAPSE__ASSERT(name[strlen(name) - 1] == '=');
    buffer_add_text(variables, name);
    buffer_add(variables, text, end != NULL ? (size_t)(end - text) : length);
    buffer_add(variables, "", 1);
}

void environment_add_number(struct elapse__buffer *variables, const char *name, uint64_t number)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    environment_add(variables, name, digits, elapse__decimal_write(digits, number));
}

char **environment_with(char *const *inherited, const struct elapse__buffer *variables)
{
    char *begin = (char *)elapse__buffer_first(variables);
    char *end = begin + elapse__buffer_size(variables);
    size_t count = 0;
    size_t added = 0;

    while (inherited[count] != NULL)
        count++;
    for (const char *at = begin; at < end; at += strlen(at) + 1)
        added++;
    char **environment = allocate((count + added + 1) * sizeof *environment);
    memcpy(environment, inherited, count * sizeof *environment);
    for (char *at = begin; at < end; at += strlen(at) + 1)
        environment[count++] = at;
    environment[count] = NULL;
    return environment;
}
