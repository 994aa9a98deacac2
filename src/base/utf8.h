/*
 * UTF-8, as RFC 3629 has it: no form that is longer than it need be, no surrogates, and nothing
 * above U+10FFFF.
 */
#ifndef ELAPSE__BASE_UTF8_H
#define ELAPSE__BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns how many bytes the character at the beginning of the text has; 0: there is no character.
 * Requires that `length` is not 0, and reads no more bytes. */
size_t elapse__utf8_size(const void *text, size_t length);

/* Returns whether all of the text is UTF-8. */
bool elapse__utf8_is(const void *text, size_t length);

#endif
