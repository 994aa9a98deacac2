/*
 * The subcommand "elapse generate".
 */
#ifndef ELAPSE_CLI_REPLAY_GENERATE_COMMAND_H
#define ELAPSE_CLI_REPLAY_GENERATE_COMMAND_H

#include "../common/command.h"

command_function generate_command;

#endif
