/*
 * Messages on standard error, and how a command ends.
 */
#ifndef ELAPSE_CLI_COMMON_MESSAGE_H
#define ELAPSE_CLI_COMMON_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of the program. */
enum exit_status {
    STATUS_OK = 0,
    STATUS_FAILED = 1, /* the machine or a structure failed */
    STATUS_USAGE = 2,  /* the command line or the input is wrong */
    /* The next six are statuses of the commands that speak to a server. */
    STATUS_GONE = 3,           /* another job or a worker prevents it: nothing has changed */
    STATUS_TAKEN = 4,          /* another job, or a worker, is in the way: nothing has changed */
    STATUS_FULL = 5,           /* the server takes no job now */
    STATUS_NO_SERVER = 6,      /* no connection, or no owner of a partition: nothing has changed */
    STATUS_NOT_AUTHORISED = 7, /* no right password, or no right to do it: nothing has changed */
    STATUS_UNKNOWN = 8,        /* a connection was lost while the program waited for a reply */
    /* A signal has ended the command, and something is lost. A shell shows these statuses for a
     * program that the signal has ended. */
    STATUS_HUNG_UP = 128 + 1,
    STATUS_INTERRUPTED = 128 + 2,
    STATUS_TERMINATED = 128 + 15,
};

/* Sets the words that every message begins with: "elapse replay". Until then they are "elapse".
 * The string must outlive all messages. */
void message_set_command(const char *command);

/* Returns the words that every message begins with. */
const char *message_command(void);

/* Keeps argv[0] of main. The string must live until the end of the program. */
void message_set_program(const char *path);

/* Returns argv[0] of main. */
const char *message_program(void);

/* Sets whether messages are left out, because the terminal shows a picture that they would spoil.
 * Returns the setting before. */
bool message_silence(bool silent);

/* Returns the last message that was left out, without the words that it begins with; "": none. */
const char *message_left_out(void);

/* Prints "elapse COMMAND: ", the message and a line end. Control characters, which a file name may
 * have, become '?', so that a message is always one line. */
/* NOLINTNEXTLINE(readability-redundant-declaration): cmocka, in tests, declares one of this name */
__attribute__((format(printf, 1, 2))) void print_error(const char *format, ...);

/* Prints the message as print_error does. Returns `status`. */
__attribute__((format(printf, 2, 3))) enum exit_status error_of(enum exit_status status,
                                                                const char *format, ...);

/* Prints the message as print_error does, and after it how to get help. Returns STATUS_USAGE. */
__attribute__((format(printf, 1, 2))) enum exit_status usage_error(const char *format, ...);

/* Prints how to get help, after getopt has printed the error. Returns STATUS_USAGE. */
enum exit_status usage_hint(void);

/* If `is_there` is false, says that there is no memory, and ends the program. */
void require_memory(bool is_there);

/* Return memory as malloc and realloc do. Without memory they end the program. */
void *allocate(size_t bytes);
void *reallocate(void *memory, size_t bytes);

#endif
