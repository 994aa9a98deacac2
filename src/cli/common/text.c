/*
 * Quotes, reads and writes text for messages, options and reports.
 */
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/utf8.h"

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
    const char *end = shown < length ? "..." : "";
    ELAPSE__ASSERT((size_t)(out - quoted.text) + strlen(end) < sizeof quoted.text);
    memcpy(out, end, strlen(end) + 1);
    return quoted;
}

struct quoted quote_string(const char *string)
{
    return quote_text(string, strlen(string));
}

size_t text_fitting(const char *text, size_t length, size_t columns, size_t *used)
{
    size_t at = 0;

    for (*used = 0; at < length && *used < columns; (*used)++) {
        size_t character = elapse__utf8_size(text + at, length - at);
        at += character == 0 ? 1 : character;
    }
    ELAPSE__ASSERT_THAT(at, <=, length);
    return at;
}

size_t text_columns(const char *text, size_t length)
{
    size_t used;

    (void)text_fitting(text, length, SIZE_MAX, &used);
    return used;
}

bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;

    ELAPSE__ASSERT_THAT(least, <=, most);
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || value < least || value > most)
        return false;
    *number = value;
    return true;
}

int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
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
    ELAPSE__ASSERT((size_t)(out - grouped.text) < sizeof grouped.text);
    *out = '\0';
    return grouped;
}

/* Returns whether a terminal may treat the character as a command: U+0000 to U+001F, U+007F, and
 * U+0080 to U+009F. For example, U+009B means the same as an escape and '['. */
static bool is_control_character(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];

    if (length == 1)
        return first < 0x20 || first == 0x7f;
    return length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

void mask_text(char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t count = elapse__utf8_size(text + at, length - at);
        if (count == 0 || is_control_character(text + at, count)) {
            count = count == 0 ? 1 : count;
            memset(text + at, '?', count);
        }
        at += count;
    }
    ELAPSE__ASSERT_THAT(at, ==, length);
}

void mask_control_characters(char *text)
{
    mask_text(text, strlen(text));
}
