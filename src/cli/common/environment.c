/*
 * The environment of a program that this one starts.
 */
#include "environment.h"

#include <stdbool.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "message.h"

static bool has_name(const char *variable, const char *const *names, size_t name_count)
{
    for (size_t i = 0; i < name_count; i++) {
        ELAPSE__ASSERT(strchr(names[i], '=') != NULL);
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
