/*
 * The command line of a subcommand: a table of its options, from which the options are read and the
 * help is written. Every subcommand has --help, -h and --version as well.
 */
#ifndef ELAPSE_CLI_COMMON_OPTIONS_H
#define ELAPSE_CLI_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

enum option_kind {
    OPTION_FLAG,     /* takes no value: sets *flag */
    OPTION_TEXT,     /* stores the value in *text */
    OPTION_NUMBER,   /* stores a whole number from `least` to `most` in *number */
    OPTION_DURATION, /* the same for a duration, in nanoseconds */
    OPTION_FUNCTION, /* calls read(context, value) */
    OPTION_REST,     /* takes the rest of the command line: *rest is its first word */
};

struct command_option {
    const char *name;  /* without the dashes; NULL: it has only its letter */
    const char *value; /* what the help calls its value; NULL if it takes none */
    const char *help;  /* one or two sentences, broken into lines where it is printed */
    enum option_kind kind;
    char letter; /* the short form of the option, or 0 */

    /* Where the value goes: the one that belongs to `kind`. */
    bool *flag;
    const char **text;
    uint64_t *number;
    char ***rest;
    enum exit_status (*read)(void *context, const char *value);
    void *context;

    uint64_t least;
    uint64_t most;
    bool *given; /* set when the option is given; may be NULL */
};

enum { OPTIONS_MAX = 48 };

struct command_line {
    const char *usage;   /* the first lines of the help */
    const char *purpose; /* the lines between these and the options */
    const struct command_option *options;
    size_t option_count; /* at most OPTIONS_MAX */
    const char *example; /* the last lines of the help */

    /* Results: the arguments that are not options. */
    char **arguments;
    int argument_count;
    bool seen[OPTIONS_MAX]; /* the option was on the command line */
    char *file_text;        /* of the file of options, NULL without one; the caller releases it */
};

/*
 * Reads the command line. Options may come behind other arguments; "--" ends them. Returns true if
 * the command is to go on. Otherwise the help or the version was printed, or an error, and
 * `*status` is what the command ends with. Requires that argv[0] is message_command().
 */
bool options_read(struct command_line *line, int argc, char **argv, enum exit_status *status);

/*
 * Reads options from a file: a line each, "NAME = VALUE"; for a flag, VALUE is yes or no. Empty
 * lines, and those that begin with '#', say nothing. An option that was on the command line keeps
 * its value. Returns STATUS_OK; or, after a message that names the file and the line, another
 * status. Texts of the options point into line->file_text. Requires that no file was read before.
 */
enum exit_status options_read_file(struct command_line *line, const char *path);

/* Returns how messages call the option that is being read: "--tick", or "FILE:3: tick". */
const char *options_label(void);

/*
 * From now on options_read does call(context, line) in place of reading a command line, and
 * returns false, so that the subcommand ends. NULL ends this.
 */
void options_observe(void (*call)(const void *context, const struct command_line *line),
                     const void *context);

/* Prints the version of the program. */
enum exit_status options_print_version(void);

#endif
