/*
 * The subcommands of the program. Each is run with its own argument vector, in
 * which argv[0] is "elapse" and its name, as getopt shows it in its messages.
 */
#ifndef ELAPSE_CLI_COMMON_COMMAND_H
#define ELAPSE_CLI_COMMON_COMMAND_H

#include "message.h"

typedef enum exit_status command_function(int argc, char **argv);

command_function replay_command;
command_function generate_command;
command_function show_command;
command_function run_command;

#endif
