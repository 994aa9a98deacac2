/*
 * What a subcommand is: a function that gets its own argument vector, in which argv[0] is "elapse"
 * and its name, as in its messages.
 */
#ifndef ELAPSE_CLI_COMMON_COMMAND_H
#define ELAPSE_CLI_COMMON_COMMAND_H

#include "message.h"

typedef enum exit_status command_function(int argc, char **argv);

#endif
