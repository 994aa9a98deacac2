/*
 * Reads a text character by character, from left to right. In every locale, only the letters and
 * digits of ASCII count as letters and digits. Small letters count as capitals.
 */
#ifndef ELAPSE__READER_H
#define ELAPSE__READER_H

#include <stdbool.h>
#include <stddef.h>

#include <elapse/cron.h>

struct elapse__reader {
    const char *text; /* ends with a terminator */
    size_t at;        /* the index of the next character */
    struct elapse_cron_fault fault;
};

bool elapse__is_blank(char c);
bool elapse__is_digit(char c);
bool elapse__is_letter(char c);

/* Returns the capital of a small letter, and any other character as it is. */
char elapse__capital(char c);

/* Returns the next character as a capital, and does not step over it. */
char elapse__reader_peek(const struct elapse__reader *reader);

/* Steps over the next character if it is `c`. Returns whether it was `c`. Requires that `c` is not
 * the terminator. */
bool elapse__reader_take(struct elapse__reader *reader, char c);

void elapse__reader_skip_blanks(struct elapse__reader *reader);

/* Returns whether the next `length` characters are those of `word`, which has only capitals. */
bool elapse__reader_follows(const struct elapse__reader *reader, const char *word, size_t length);

/* Reads a number from `low` to `high`. If there is no such number, fails with the text `fault`,
 * which says what the number should be. */
bool elapse__reader_number(struct elapse__reader *reader, unsigned low, unsigned high,
                           const char *fault, unsigned *number);

/* Records the fault. Always returns false, so that callers can return the result. */
bool elapse__reader_fail(struct elapse__reader *reader, size_t position, const char *text);

#endif
