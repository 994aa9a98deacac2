/*
 * elapse serve: the server.
 */
#ifndef ELAPSE_CLI_SERVE_SERVE_COMMAND_H
#define ELAPSE_CLI_SERVE_SERVE_COMMAND_H

#include "../common/command.h"

enum exit_status serve_command(int argc, char **argv);

#endif
