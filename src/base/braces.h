/*
 * A tube's name may have a part in braces, its hash tag: `eu` in `mails{eu}`. The hash tag is the
 * text between the first { and the first } behind it. In a cluster, the hash tag decides in which
 * partition the whole tube lies.
 */
#ifndef ELAPSE__BASE_BRACES_H
#define ELAPSE__BASE_BRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Finds the hash tag of a name. Returns false if the name has no hash tag, or if the hash tag is
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
