/*
 * Text that others wrote, made fit to be shown in a message of one line.
 */
#ifndef ELAPSE_CLI_TEXT_H
#define ELAPSE_CLI_TEXT_H

#include <stddef.h>

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
