/*
 * Decimal numbers as text.
 */
#ifndef ELAPSE__BASE_DECIMAL_H
#define ELAPSE__BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELAPSE__DECIMAL_BYTES = 20 }; /* the digits of the greatest number */

/* Reads a text that has only digits, as a number. Returns false if the text has another character,
 * or if the number is greater than `greatest`; then `*number` does not change. */
bool elapse__decimal_read(const void *bytes, size_t size, uint64_t greatest, uint64_t *number);

/* Writes a number as digits, without a NUL. Returns how many bytes it has written, at most
 * ELAPSE__DECIMAL_BYTES. */
size_t elapse__decimal_write(char *bytes, uint64_t number);

#endif
