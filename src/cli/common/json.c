/*
 * JSON strings.
 */
#include "json.h"

#include <stdbool.h>

#include "../../base/assert.h"
#include "../../protocol/utf8.h"

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

/* What is at the beginning of a text. */
struct piece {
    size_t length; /* in bytes */
    bool is_escaped;
    unsigned character; /* the character to be written as an escape */
};

static struct piece piece_beyond_ascii(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t count = elapse__utf8_size(text, length);

    ELAPSE__ASSERT(count <= length);
    if (count == 0)
        return (struct piece){1, true, 0xfffd};
    /* U+0080 to U+009F, the other control characters. */
    if (bytes[0] == 0xc2 && bytes[1] < 0xa0)
        return (struct piece){2, true, bytes[1]};
    /* U+2028 and U+2029, which some readers take for the end of a line. */
    if (bytes[0] == 0xe2 && bytes[1] == 0x80 && (bytes[2] & 0xfe) == 0xa8)
        return (struct piece){3, true, 0x2000U | (bytes[2] & 0x3fU)};
    return (struct piece){count, false, 0};
}

static struct piece piece_at(const char *text, size_t length)
{
    unsigned char byte = (unsigned char)*text;
    bool is_escaped = byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f;

    return byte < 0x80 ? (struct piece){1, is_escaped, byte} : piece_beyond_ascii(text, length);
}

char *json_write_string(char *out, const char *text, size_t length)
{
    const char *end = text + length;
    char *begin = out;

    *out++ = '"';
    while (text < end) {
        struct piece piece = piece_at(text, (size_t)(end - text));
        if (piece.is_escaped) {
            out = write_escape(out, piece.character);
            text += piece.length;
        } else {
            for (; piece.length > 0; piece.length--)
                *out++ = *text++;
        }
    }
    *out++ = '"';
    size_t written = (size_t)(out - begin);
    ELAPSE__ASSERT(written <= JSON_STRING_ROOM(length));
    return begin + written;
}
