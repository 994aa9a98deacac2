/*
 * elapse work: has the jobs of a server done by a program or a web hook.
 */
#ifndef ELAPSE_CLI_WORK_WORK_COMMAND_H
#define ELAPSE_CLI_WORK_WORK_COMMAND_H

#include "../common/command.h"

enum exit_status work_command(int argc, char **argv);

#endif
