/*
 * Text that others wrote: made fit to be shown in one line, and read as numbers.
 */
#ifndef ELAPSE_CLI_COMMON_TEXT_H
#define ELAPSE_CLI_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes of the text are shown before it is cut. */
#define QUOTED_BYTES_MAX 40

/* A text between single quotes, cut to QUOTED_BYTES_MAX bytes (three dots say
 * so), with every byte outside printable ASCII as \xNN. */
struct quoted {
    char text[QUOTED_BYTES_MAX * 4 + sizeof "''..."];
};

struct quoted quote_text(const char *text, size_t length);

/* The same for a string that ends in a NUL. */
struct quoted quote_string(const char *string);

/* Makes every control character, as a file name may have, a '?'. */
void mask_control_characters(char *text);

/* Reads a whole decimal number from `least` to `most`. Returns false, and leaves
 * `*number` as it was, if the text is none. */
bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* Compares two uint64_t for qsort. */
int compare_numbers(const void *left, const void *right);

/* Room for any 64-bit number with its thousands apart: 20 digits, 6 commas. */
struct grouped {
    char text[27];
};

/* A number for people: 1234567 becomes 1,234,567. */
struct grouped group_digits(unsigned long long number);

/* Length in bytes of the UTF-8 character that the string begins with; 0: it begins
 * with none. */
size_t character_length(const char *string);

#endif
