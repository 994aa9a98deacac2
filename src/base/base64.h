/*
 * Base64, as RFC 4648 defines it.
 */
#ifndef ELAPSE__BASE_BASE64_H
#define ELAPSE__BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* How many characters `bytes` bytes have in base64. */
#define ELAPSE__BASE64_ROOM(bytes) (((bytes) + 2) / 3 * 4)

/* Writes `count` bytes as base64 to `out`, without a NUL. Returns the end of the output. */
char *elapse__base64_write(char *out, const unsigned char *bytes, size_t count);

/* Reads `length` characters of base64. Stores the bytes in `bytes`, and how many they are in
 * `*count`. Requires that `bytes` has room for `length` bytes. Returns false if the characters are
 * not base64 with padding. */
bool elapse__base64_read(const char *text, size_t length, unsigned char *bytes, size_t *count);

#endif
