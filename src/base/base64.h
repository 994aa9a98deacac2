/*
 * Base64, as RFC 4648 has it.
 */
#ifndef ELAPSE__BASE_BASE64_H
#define ELAPSE__BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* The number of characters that `bytes` bytes become. */
#define ELAPSE__BASE64_ROOM(bytes) (((bytes) + 2) / 3 * 4)

/* Writes the characters, without a NUL. Returns the end of the output. */
char *elapse__base64_write(char *out, const unsigned char *bytes, size_t count);

/* Reads characters into `bytes`, which has room for `length` bytes. Returns false if they are no
 * base64 with its padding. */
bool elapse__base64_read(const char *text, size_t length, unsigned char *bytes, size_t *count);

#endif
