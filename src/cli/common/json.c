/*
 * JSON strings.
 */
#include "json.h"

#include <string.h>

static char *write_escape(char *out, unsigned character)
{
    static const char hex[] = "0123456789abcdef";

    *out++ = '\\';
    switch (character) {
    case '"':
    case '\\':
        *out++ = (char)character;
        return out;
    case '\n':
        *out++ = 'n';
        return out;
    case '\r':
        *out++ = 'r';
        return out;
    case '\t':
        *out++ = 't';
        return out;
    default:
        *out++ = 'u';
        for (int shift = 12; shift >= 0; shift -= 4)
            *out++ = hex[character >> shift & 15];
        return out;
    }
}

/* Length in bytes of the character at `text` if it is to be escaped, and the character; 0: it is
 * not. */
static size_t find_special(const unsigned char *text, size_t length, unsigned *character)
{
    *character = text[0];
    if (text[0] < 0x20 || text[0] == '"' || text[0] == '\\' || text[0] == 0x7f)
        return 1;
    /* U+0080 to U+009F, the other control characters. */
    if (text[0] == 0xc2 && length >= 2 && text[1] < 0xa0) {
        *character = text[1];
        return 2;
    }
    /* U+2028 and U+2029, which some readers take for ends of lines. */
    if (text[0] == 0xe2 && length >= 3 && text[1] == 0x80 && (text[2] & 0xfe) == 0xa8) {
        *character = 0x2000U | (text[2] & 0x3fU);
        return 3;
    }
    return 0;
}

char *json_write_string(char *out, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned character;
    size_t i = 0;

    *out++ = '"';
    while (i < length) {
        size_t special = find_special(bytes + i, length - i, &character);
        if (special > 0) {
            out = write_escape(out, character);
            i += special;
        } else {
            *out++ = text[i++];
        }
    }
    *out++ = '"';
    return out;
}
