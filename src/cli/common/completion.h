/*
 * Writes completions for shells from the option tables of the subcommands. A subcommand that reads
 * its command line by options_read needs nothing else to be completed.
 */
#ifndef ELAPSE_CLI_COMMON_COMPLETION_H
#define ELAPSE_CLI_COMMON_COMPLETION_H

#include <stddef.h>

#include "command.h"

/* A subcommand. */
struct command {
    const char *name;
    const char *summary;
    command_function *run;
};

/* Writes the completion for a shell, "bash", "zsh" or "fish", to standard output. */
enum exit_status completion_print(const char *shell, const struct command *commands, size_t count);

#endif
