/*
 * The subcommand "elapse run".
 */
#ifndef ELAPSE_CLI_RUN_RUN_COMMAND_H
#define ELAPSE_CLI_RUN_RUN_COMMAND_H

#include "../common/command.h"

command_function run_command;

#endif
