/*
 * UTF-8, as RFC 3629 defines it: no form that is longer than necessary, no surrogates, and nothing
 * above U+10FFFF.
 */
#ifndef ELAPSE__BASE_UTF8_H
#define ELAPSE__BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns how many bytes the character at the beginning of the text has; 0 if the text does not
 * begin with a character. Requires that `length` is not 0. Reads no more than `length` bytes. */
size_t elapse__utf8_size(const void *text, size_t length);

/* Returns whether all of the text is UTF-8. */
bool elapse__utf8_is(const void *text, size_t length);

#endif
