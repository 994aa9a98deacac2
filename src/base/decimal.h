/*
 * Decimal numbers as text.
 */
#ifndef ELAPSE__BASE_DECIMAL_H
#define ELAPSE__BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELAPSE__DECIMAL_BYTES = 20 }; /* the digits of the greatest number */

/* Reads a number of digits alone, no greater than `greatest`. Returns false if the text is
 * no such number; then `*number` is as it was. */
bool elapse__decimal_read(const void *bytes, size_t size, uint64_t greatest, uint64_t *number);

/* Writes a number, up to ELAPSE__DECIMAL_BYTES bytes without a NUL. Returns the number of
 * bytes. */
size_t elapse__decimal_write(char *bytes, uint64_t number);

#endif
