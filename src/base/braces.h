/*
 * The part of a tube's name that stands in braces: `eu` in `mails{eu}`. In a cluster it decides in
 * which partition the whole tube lies. It lies between the first { and the first } behind it.
 */
#ifndef ELAPSE__BASE_BRACES_H
#define ELAPSE__BASE_BRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Finds the part of a name that stands in braces. Returns false if there is none, or if it is
 * empty. */
static inline bool elapse__braces_find(const void *name, size_t size, const unsigned char **part,
                                       size_t *part_size)
{
    const unsigned char *bytes = name;
    const unsigned char *open = size == 0 ? NULL : memchr(bytes, '{', size);

    if (open == NULL)
        return false;
    const unsigned char *close = memchr(open, '}', size - (size_t)(open - bytes));
    if (close == NULL || close == open + 1)
        return false;
    *part = open + 1;
    *part_size = (size_t)(close - open) - 1;
    return true;
}

#endif
