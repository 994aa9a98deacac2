/*
 * The parts of a line of JSON. These are written here, not by printf, as millions of lines are.
 */
#include "json_line.h"

#include <stddef.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/timestamp.h"

char *json_line_text(char *out, const char *text)
{
    ELAPSE__ASSERT(text != NULL);
    while (*text != '\0')
        *out++ = *text++;
    return out;
}

char *json_line_number(char *out, uint64_t number)
{
    char digits[20];
    size_t first = sizeof digits;

    do {
        ELAPSE__ASSERT(first > 0);
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(out, digits + first, sizeof digits - first);
    return out + (sizeof digits - first);
}

char *json_line_time(char *out, uint64_t unix_ns)
{
    *out++ = '"';
    timestamp_write(out, unix_ns);
    out += TIMESTAMP_BYTES;
    *out++ = '"';
    return out;
}
