#include "json_escape.h"

#include <stdbool.h>

#include "assert.h"
#include "utf8.h"

/* A character at the beginning of a text. */
struct character {
    size_t bytes;
    bool is_plain;
    unsigned code; /* the code point, if the character is written as an escape */
};

static struct character beyond_ascii(const unsigned char *text, size_t length)
{
    size_t bytes = elapse__utf8_size(text, length);

    ELAPSE__ASSERT_THAT(bytes, <=, length);
    if (bytes == 0)
        return (struct character){1, false, 0xfffd};
    /* U+0080 to U+009F are the other control characters. */
    if (text[0] == 0xc2 && text[1] < 0xa0)
        return (struct character){2, false, text[1]};
    /* U+2028 and U+2029 are the separators of lines and paragraphs. */
    if (text[0] == 0xe2 && text[1] == 0x80 && (text[2] & 0xfe) == 0xa8)
        return (struct character){3, false, 0x2000U | (text[2] & 0x3fU)};
    return (struct character){bytes, true, 0};
}

static struct character character_at(const unsigned char *text, size_t length)
{
    unsigned char byte = *text;

    if (byte >= 0x80)
        return beyond_ascii(text, length);
    return (struct character){1, byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f, byte};
}

/* Returns the letter that stands for a character behind a backslash; 0 if there is no such
 * letter. */
static char letter_of(unsigned code)
{
    switch (code) {
    case '"':
    case '\\':
        return (char)code;
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

static void write_escape(struct elapse__json_piece *piece, unsigned code)
{
    static const char digits[] = "0123456789abcdef";
    char letter = letter_of(code);
    char *out = piece->escape;

    *out++ = '\\';
    if (letter == 0)
        *out++ = 'u';
    else
        *out++ = letter;
    for (int shift = 12; letter == 0 && shift >= 0; shift -= 4)
        *out++ = digits[code >> shift & 15];
    piece->escape_size = (size_t)(out - piece->escape);
}

struct elapse__json_piece elapse__json_escape_next(const void *text, size_t length)
{
    const unsigned char *bytes = text;
    struct elapse__json_piece piece = {.plain = 0};

    ELAPSE__ASSERT_THAT(length, >, 0U);
    while (piece.taken < length) {
        struct character character = character_at(bytes + piece.taken, length - piece.taken);
        piece.taken += character.bytes;
        if (!character.is_plain) {
            write_escape(&piece, character.code);
            break;
        }
        piece.plain = piece.taken;
    }
    ELAPSE__ASSERT_THAT(piece.taken, >, 0U);
    ELAPSE__ASSERT_THAT(piece.taken, <=, length);
    return piece;
}
