/*
 * The commands that speak to a server: elapse put, cancel, reschedule, lookup, list, stats and top.
 */
#ifndef ELAPSE_CLI_CLIENT_CLIENT_COMMANDS_H
#define ELAPSE_CLI_CLIENT_CLIENT_COMMANDS_H

#include "../common/command.h"

enum exit_status put_command(int argc, char **argv);
enum exit_status cancel_command(int argc, char **argv);
enum exit_status reschedule_command(int argc, char **argv);
enum exit_status lookup_command(int argc, char **argv);
enum exit_status list_command(int argc, char **argv);
enum exit_status stats_command(int argc, char **argv);
enum exit_status top_command(int argc, char **argv);

#endif
