/*
 * Quoting and numbers for messages and reports.
 */
#include "text.h"

#include <stdio.h>
#include <string.h>

struct quoted quote_text(const char *text, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    struct quoted quoted;
    size_t shown = length < QUOTED_BYTES_MAX ? length : QUOTED_BYTES_MAX;
    char *out = quoted.text;

    *out++ = '\'';
    for (size_t i = 0; i < shown; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte < 0x7f) {
            *out++ = (char)byte;
        } else {
            *out++ = '\\';
            *out++ = 'x';
            *out++ = hex[byte >> 4];
            *out++ = hex[byte & 15];
        }
    }
    *out++ = '\'';
    memcpy(out, shown < length ? "..." : "", shown < length ? 4 : 1);
    return quoted;
}

struct quoted quote_string(const char *string)
{
    return quote_text(string, strlen(string));
}

struct grouped group_digits(unsigned long long number)
{
    struct grouped grouped;
    char digits[21];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", number);
    char *out = grouped.text;

    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return grouped;
}
