/*
 * What every subcommand says on standard error, and how it ends.
 */
#ifndef ELAPSE_CLI_COMMON_MESSAGE_H
#define ELAPSE_CLI_COMMON_MESSAGE_H

#include <stddef.h>

/* Exit statuses of the program. */
enum exit_status {
    STATUS_OK = 0,
    STATUS_FAILED = 1, /* the machine or a structure failed */
    STATUS_USAGE = 2,  /* the command line or the input is wrong */
};

/* Prints "elapse: ", the message and a line end on standard error. Control
 * characters, as a file name may have, become '?': it is always one line. */
__attribute__((format(printf, 1, 2))) void print_error(const char *format, ...);

/* Prints the message as print_error does, without "elapse: " but with `program`
 * ("elapse replay"), then where help is to be had. Returns STATUS_USAGE. */
__attribute__((format(printf, 2, 3))) enum exit_status usage_error(const char *program,
                                                                   const char *format, ...);

/* The second half of usage_error, after getopt has said what is wrong. */
enum exit_status usage_hint(const char *program);

/* Writes out what standard output holds back. A failure is said, save that the
 * reader has gone away, and gives STATUS_FAILED. */
enum exit_status finish_output(void);

/* malloc that says so and ends the program when there is no memory. */
void *allocate(size_t bytes);

/* Says that there is no memory and ends the program. */
_Noreturn void out_of_memory(void);

#endif
