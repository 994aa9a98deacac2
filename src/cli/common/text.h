/*
 * Handles text that comes from a user: quotes it for messages, and reads numbers.
 */
#ifndef ELAPSE_CLI_COMMON_TEXT_H
#define ELAPSE_CLI_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes of the text are shown before it is cut. */
#define QUOTED_BYTES_MAX 40

/* Text between single quotes. */
struct quoted {
    char text[QUOTED_BYTES_MAX * 4 + sizeof "''..."];
};

/* Returns the text between single quotes, with every byte outside printable ASCII as \xNN. A text
 * longer than QUOTED_BYTES_MAX is cut, and "..." follows it. */
struct quoted quote_text(const char *text, size_t length);

/* Quotes a string as quote_text quotes a text. */
struct quoted quote_string(const char *string);

/* Makes a text of unknown origin, such as a file name or a reply, harmless for a terminal. Each
 * byte of a control character (U+0000 to U+001F, U+007F to U+009F), and each byte that is not
 * UTF-8, becomes '?'. */
void mask_text(char *text, size_t length);

/* Masks a string as mask_text masks a text. */
void mask_control_characters(char *text);

/* Returns how many bytes of the text fit into `columns` columns of a terminal, and stores how many
 * columns they take. Each character takes one column, and so does each byte that is not UTF-8. */
size_t text_fitting(const char *text, size_t length, size_t columns, size_t *used);

/* Returns how many columns a text takes. */
size_t text_columns(const char *text, size_t length);

/* Reads a whole decimal number from `least` to `most`. If the text is no such number, returns false
 * and does not change `*number`. */
bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* Compares two uint64_t for qsort. */
int compare_numbers(const void *left, const void *right);

/* Room for any 64-bit number with commas between its thousands: 20 digits, 6 commas. */
struct grouped {
    char text[27];
};

/* Returns a number with commas between its thousands: 1,234,567. */
struct grouped group_digits(unsigned long long number);

#endif
