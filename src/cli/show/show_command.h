/*
 * The subcommand "elapse show".
 */
#ifndef ELAPSE_CLI_SHOW_SHOW_COMMAND_H
#define ELAPSE_CLI_SHOW_SHOW_COMMAND_H

#include "../common/command.h"

command_function show_command;

#endif
