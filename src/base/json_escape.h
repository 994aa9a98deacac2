/*
 * Texts as JSON strings: which characters stand as they are, and how the other characters are
 * written.
 *
 * Control characters, the quote and the backslash are escaped. The line and paragraph separators of
 * Unicode are escaped, too, because some readers take them for the end of a line. Therefore a
 * string is always one line. Each byte that is not UTF-8 becomes U+FFFD.
 */
#ifndef ELAPSE__BASE_JSON_ESCAPE_H
#define ELAPSE__BASE_JSON_ESCAPE_H

#include <stddef.h>

enum { ELAPSE__JSON_ESCAPE_BYTES = 6 };

/* A piece is the beginning of a text: bytes that stand as they are, and behind them at most one
 * character that is written as an escape. */
struct elapse__json_piece {
    size_t plain;       /* how many bytes stand as they are; 0: the escape comes at once */
    size_t taken;       /* how many bytes the piece has, with the bytes of the character */
    size_t escape_size; /* 0: there is no escape, because the text ends here */
    char escape[ELAPSE__JSON_ESCAPE_BYTES];
};

/* Returns the first piece of a text. Requires that `length` is not 0, and reads no more bytes. */
struct elapse__json_piece elapse__json_escape_next(const void *text, size_t length);

#endif
