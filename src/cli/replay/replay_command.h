/*
 * The subcommand "elapse replay".
 */
#ifndef ELAPSE_CLI_REPLAY_REPLAY_COMMAND_H
#define ELAPSE_CLI_REPLAY_REPLAY_COMMAND_H

#include "../common/command.h"

command_function replay_command;

#endif
