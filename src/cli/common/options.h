/*
 * Reads the command line of a subcommand, and writes its help, from a table of its options. Every
 * subcommand also has --help, -h and --version.
 */
#ifndef ELAPSE_CLI_COMMON_OPTIONS_H
#define ELAPSE_CLI_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/assert.h"
#include "message.h"

enum option_kind {
    OPTION_FLAG,     /* takes no value: sets *flag */
    OPTION_TEXT,     /* stores the value in *text */
    OPTION_NUMBER,   /* stores a whole number from `least` to `most` in *number */
    OPTION_DURATION, /* stores a duration from `least` to `most`, in nanoseconds, in *number */
    OPTION_BYTES,    /* stores a number of bytes up to `most`; the value may end with K, M or G */
    OPTION_FUNCTION, /* calls read(context, value) */
    OPTION_REST,     /* takes the rest of the command line: *rest is its first word */
};

struct command_option {
    const char *name;  /* the name without the dashes; NULL: the option has only a letter */
    const char *value; /* the name of the value in the help; NULL: no value */
    const char *help;  /* one or two sentences, which are broken into lines for printing */
    enum option_kind kind;
    char letter; /* the short form of the option, or 0 */

    /* Where the value goes. The kind says which pointer is used. */
    bool *flag;
    const char **text;
    uint64_t *number;
    char ***rest;
    enum exit_status (*read)(void *context, const char *value);
    void *context;

    uint64_t least;
    uint64_t most;
    bool *given;       /* set when the option is given; may be NULL */
    const char *words; /* the possible values, with blanks between them; NULL: any value */
};

enum { OPTIONS_MAX = 48 };

/* Reads the value of an option. Returns STATUS_OK, or prints a message and returns another
 * status. */
typedef enum exit_status option_reader(void *context, const char *value);

/* These functions return options of each kind. If the name is NULL, the option has only a
 * letter. */
static inline struct command_option option_flag(const char *name, bool *flag, const char *help)
{
    return (struct command_option){.name = name, .kind = OPTION_FLAG, .flag = flag, .help = help};
}

static inline struct command_option option_text(const char *name, const char *value,
                                                const char **text, const char *help)
{
    return (struct command_option){
        .name = name, .value = value, .kind = OPTION_TEXT, .text = text, .help = help};
}

static inline struct command_option option_number(const char *name, const char *value,
                                                  uint64_t *number, uint64_t least, uint64_t most,
                                                  const char *help)
{
    ELAPSE__ASSERT_THAT(least, <=, most);
    return (struct command_option){.name = name,
                                   .value = value,
                                   .kind = OPTION_NUMBER,
                                   .number = number,
                                   .least = least,
                                   .most = most,
                                   .help = help};
}

static inline struct command_option option_duration(const char *name, uint64_t *duration_ns,
                                                    uint64_t least_ns, uint64_t most_ns,
                                                    const char *help)
{
    struct command_option option =
        option_number(name, "DURATION", duration_ns, least_ns, most_ns, help);

    option.kind = OPTION_DURATION;
    return option;
}

static inline struct command_option option_bytes(const char *name, uint64_t *bytes, uint64_t most,
                                                 const char *help)
{
    struct command_option option = option_number(name, "BYTES", bytes, 1, most, help);

    option.kind = OPTION_BYTES;
    return option;
}

static inline struct command_option option_function(const char *name, const char *value,
                                                    option_reader *read, void *context,
                                                    const char *help)
{
    return (struct command_option){.name = name,
                                   .value = value,
                                   .kind = OPTION_FUNCTION,
                                   .read = read,
                                   .context = context,
                                   .help = help};
}

static inline struct command_option option_rest(const char *name, const char *value, char ***rest,
                                                const char *help)
{
    return (struct command_option){
        .name = name, .value = value, .kind = OPTION_REST, .rest = rest, .help = help};
}

/* Returns the option with a letter added. */
static inline struct command_option option_letter(char letter, struct command_option option)
{
    ELAPSE__ASSERT((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'));
    ELAPSE__ASSERT(option.letter == 0);
    option.letter = letter;
    return option;
}

/* Returns the option, which also sets `*given` when it is given. */
static inline struct command_option option_noting(bool *given, struct command_option option)
{
    ELAPSE__ASSERT(option.given == NULL);
    option.given = given;
    return option;
}

/* Returns the option with the words that its value may be. Shells complete these words. They are
 * not checked here. */
static inline struct command_option option_words(const char *words, struct command_option option)
{
    ELAPSE__ASSERT(option.value != NULL && words[0] != '\0');
    option.words = words;
    return option;
}

/* The parts of a subcommand's help around the list of its options. */
struct command_help {
    const char *usage;   /* the first lines of the help */
    const char *purpose; /* the lines between the first lines and the options */
    const char *example; /* the last lines of the help */
};

struct command_line {
    const struct command_help *help;
    const struct command_option *options;
    size_t option_count; /* at most OPTIONS_MAX options */

    /* Results: the arguments that are not options. */
    char **arguments;
    int argument_count;
    bool seen[OPTIONS_MAX]; /* for each option whether it was on the command line */
    char *file_text;        /* the text of the file, which the caller frees; NULL: no file */
};

/* The initializer of a struct command_line whose options are an array. */
#define COMMAND_LINE(text, table)                                                             \
    {                                                                                         \
        .help = &(text), .options = (table), .option_count = sizeof(table) / sizeof(table)[0] \
    }

/*
 * Reads the command line. Options may come after other arguments, but not after "--". Returns true
 * if the command has to continue. If not, the help, the version or an error was printed, and the
 * command has to end with `*status`. Requires that argv[0] is message_command().
 */
bool options_read(struct command_line *line, int argc, char **argv, enum exit_status *status);

/* Returns STATUS_OK if there are at most `most` arguments. If not, prints which argument is one too
 * many. */
enum exit_status options_check_count(const struct command_line *line, int most);

/*
 * Reads options from a file. Each option is a line "NAME = VALUE". For a flag, VALUE is yes or no.
 * Ignores empty lines, and lines that begin with '#'. An option that was on the command line keeps
 * its value. Returns STATUS_OK, or prints a message with the file and the line and returns another
 * status. Texts of the options point into line->file_text. Requires that no file was read before.
 */
enum exit_status options_read_file(struct command_line *line, const char *path);

/* Returns the name of the option that is being read, for messages: "--tick" or "FILE:3: tick". */
const char *options_label(void);

/*
 * Makes options_read call call(context, line) instead of reading a command line, and return false,
 * so that the subcommand ends. With NULL, options_read reads command lines again.
 */
void options_observe(void (*call)(const void *context, const struct command_line *line),
                     const void *context);

/* Prints the version of the program. */
enum exit_status options_print_version(void);

#endif
