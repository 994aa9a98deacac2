/*
 * The subcommand "elapse cron".
 */
#ifndef ELAPSE_CLI_CRON_CRON_COMMAND_H
#define ELAPSE_CLI_CRON_CRON_COMMAND_H

#include "../common/command.h"

command_function cron_command;

#endif
